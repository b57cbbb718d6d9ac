/*
 * Programs whose ranks go in step (compiler/check/lockstep.c): random ones, and such whose rows
 * were moved, against the plainest answers that there are.
 *
 *   which are    every message's two ends are looked up, and the numbers of their waves compared
 *   verdict      one that goes in step finishes in a run without slots, step by step as program.h,
 *                Blocking, says; and deadlock() says of each what that run does
 *   order        each start and finish of it is legal without slots; orders that were spoiled are not
 */
#include "compiler/check/deadlock.h"
#include "compiler/compile.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 5, ROWS = 64, CHANNELS = 2, PROGRAMS = 4000 };

struct made {
	struct arena arena, scratch;
	struct diags diags;
	struct ctx ctx;
	struct program p;
	struct task tasks[RANKS];
	struct op ops[RANKS][ROWS];
	struct fifo fifos[RANKS * RANKS * CHANNELS];
	struct site site;
};

/* ---- random programs ---------------------------------------------------------------------- */

static void add(struct made *m, uint32_t rank, uint32_t kind, uint32_t fifo, uint32_t joined)
{
	struct task *t = &m->tasks[rank];

	assert_true(t->nops < ROWS);
	t->ops[t->nops++] = (struct op){ .kind = (kind | joined) & 0xff, .fifo = fifo, .n = 1 };
	m->p.nops++;
}

/* A wave of messages between any ranks; some ranks copy instead, or have none and fall out of
 * step. */
static void add_wave(struct made *m, struct rng *g)
{
	uint32_t n = m->p.nranks, joined[RANKS] = { 0 };

	for (int k = 1 + rng_below(g, 4); k > 0; k--) {
		uint32_t a = (uint32_t)rng_below(g, (int)n), b = (uint32_t)rng_below(g, (int)n);
		uint32_t fifo = (a * n + b) * CHANNELS + (uint32_t)rng_below(g, CHANNELS);
		add(m, a, OP_SEND, fifo, joined[a]);
		joined[a] = OP_JOINED;
		add(m, b, rng_below(g, 2) ? OP_RECV : OP_REDUCE_FROM, fifo, joined[b]);
		joined[b] = OP_JOINED;
	}
	for (uint32_t q = 0; q < n; q++)
		if (!joined[q] && rng_below(g, 8))
			add(m, q, OP_COPY, NONE, 0);
}

/* Cuts a wave, joins two, or exchanges rows: each FIFO has as many of both ends as before. */
static void move_rows(struct made *m, struct rng *g)
{
	struct task *t = &m->tasks[rng_below(g, (int)m->p.nranks)];

	if (t->nops < 2)
		return;
	struct op *o = &t->ops[1 + rng_below(g, (int)t->nops - 1)];
	if (rng_below(g, 2)) {
		if (op_is_end(o) && op_is_end(o - 1))
			o->kind ^= OP_JOINED;
		return;
	}
	struct op was = *o;
	uint32_t joined = o->kind & OP_JOINED, before = o[-1].kind & OP_JOINED;
	if (!op_is_end(o) || !op_is_end(o - 1))
		return;
	*o = o[-1];
	o[-1] = was;
	o->kind = (op_kind(o) | joined) & 0xff;
	o[-1].kind = (op_kind(o - 1) | before) & 0xff;
}

static struct made *random_made(struct rng *g)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	arena_init(&m->arena, 0, NULL);
	arena_init(&m->scratch, 0, NULL);
	m->diags.arena = &m->arena;
	m->ctx = (struct ctx){ .arena = &m->arena, .scratch = &m->scratch, .diags = &m->diags };
	m->p = (struct program){ .arena = &m->arena,
				 .nranks = 2 + (uint32_t)rng_below(g, RANKS - 1),
				 .cells = 1,
				 .tasks = m->tasks,
				 .fifos = m->fifos,
				 .sites = &m->site,
				 .nsites = 1 };
	uint32_t n = m->p.ntasks = m->p.nranks;
	for (uint32_t q = 0; q < n; q++)
		m->tasks[q] = (struct task){ .rank = q, .ops = m->ops[q] };
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++)
			for (uint32_t c = 0; c < CHANNELS; c++)
				m->fifos[m->p.nfifos++] = (struct fifo){ .src = (uint16_t)a,
									 .dst = (uint16_t)b,
									 .channel = c };
	for (int k = rng_below(g, 7); k > 0; k--)
		add_wave(m, g);
	for (int k = rng_below(g, 4); k > 0; k--)
		move_rows(m, g);
	assert_true(match(&m->ctx, &m->p));
	return m;
}

static void drop(struct made *m)
{
	arena_free(&m->scratch);
	arena_free(&m->arena);
	free(m);
}

/* ---- the plainest answers ------------------------------------------------------------------- */

static uint32_t wave_of(const struct task *t, uint32_t row)
{
	uint32_t wave = 0;

	for (uint32_t i = 0; i <= row; i++)
		wave += !(t->ops[i].kind & OP_JOINED);
	return wave;
}

/* The wave of the other end of a row's message, and whose it is. */
static uint32_t peer_wave(const struct made *m, uint32_t rank, uint32_t row, uint32_t *peer)
{
	const struct op *o = &m->tasks[rank].ops[row];
	const struct fifo *q = &m->fifos[o->fifo];
	bool sends = op_kind(o) == OP_SEND;
	uint32_t k = 0, i;

	for (const struct op *b = m->tasks[rank].ops; b < o; b++)
		k += op_is_end(b) && b->fifo == o->fifo && (op_kind(b) == OP_SEND) == sends;
	*peer = sends ? q->dst : q->src;
	const struct task *t = &m->tasks[*peer];
	for (i = 0; i < t->nops; i++)
		if (op_is_end(&t->ops[i]) && t->ops[i].fifo == o->fifo &&
		    (op_kind(&t->ops[i]) == OP_SEND) != sends && k-- == 0)
			break;
	assert_true(i < t->nops);
	return wave_of(t, i);
}

static bool all_in_step(const struct made *m)
{
	uint32_t peer;

	for (uint32_t q = 0; q < m->p.nranks; q++)
		for (uint32_t i = 0; i < m->tasks[q].nops; i++)
			if (op_is_end(&m->tasks[q].ops[i]) &&
			    peer_wave(m, q, i, &peer) != wave_of(&m->tasks[q], i))
				return false;
	return true;
}

/* What has happened: by rank, waves that have started and that have finished. */
struct state {
	uint32_t started[RANKS], finished[RANKS];
};

static uint32_t waves_of(const struct task *t)
{
	return t->nops ? wave_of(t, t->nops - 1) : 0;
}

/* Whether the rank's next start or finish is legal, without slots; if so it happens. */
static bool step(const struct made *m, struct state *s, uint32_t rank)
{
	const struct task *t = &m->tasks[rank];
	uint32_t wave = s->started[rank], peer;

	if (wave == s->finished[rank]) {
		s->started[rank] += wave < waves_of(t);
		return s->started[rank] != wave;
	}
	for (uint32_t i = 0; i < t->nops; i++)
		if (wave_of(t, i) == wave && op_is_end(&t->ops[i])) {
			uint32_t other = peer_wave(m, rank, i, &peer);
			if (other > s->started[peer])
				return false;
		}
	s->finished[rank]++;
	return true;
}

static bool is_over(const struct made *m, const struct state *s)
{
	for (uint32_t q = 0; q < m->p.nranks; q++)
		if (s->finished[q] != waves_of(&m->tasks[q]))
			return false;
	return true;
}

static bool finishes(const struct made *m)
{
	struct state s = { 0 };
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t q = 0; q < m->p.nranks; q++)
			more |= step(m, &s, q);
	}
	return is_over(m, &s);
}

static bool is_legal(const struct made *m, const struct order *order)
{
	struct state s = { 0 };

	for (uint32_t i = 0; i < order->n; i++)
		for (uint32_t k = 0; k < order->v[i].events; k++)
			if (!step(m, &s, order->v[i].task))
				return false;
	return is_over(m, &s);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The first rank finishes a wave with another rank's message before that has started anything. */
static bool spoil(const struct made *m, struct order *order)
{
	uint32_t rank = order->n ? order->v[0].task : 0, peer;

	for (uint32_t i = 0; i < m->tasks[rank].nops && wave_of(&m->tasks[rank], i) == 1; i++)
		if (op_is_end(&m->tasks[rank].ops[i])) {
			peer_wave(m, rank, i, &peer);
			if (peer == rank)
				continue;
			order->v[0].events++;
			return true;
		}
	return false;
}

static void programs_in_step(void **state)
{
	struct rng g = { 20261 };
	uint32_t in_step = 0, live = 0, spoilt = 0;

	(void)state;
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		struct made *m = random_made(&g);
		struct order order = { 0 };
		bool goes = deadlock_in_step(&m->ctx, &m->p, &order), alive = finishes(m);
		struct deadlock_report d = deadlock(&m->ctx, &m->p);

		assert_int_equal(goes, all_in_step(m));
		assert_true(alive || !goes);
		assert_int_equal(d.min_slots == 0, alive);
		if (alive)
			assert_true(is_legal(m, &d.order));
		if (goes) {
			assert_true(is_legal(m, &order));
			in_step++;
			if (spoil(m, &order)) {
				assert_false(is_legal(m, &order));
				spoilt++;
			}
		}
		live += alive && !goes;
		drop(m);
	}
	/* Of each kind there are many. */
	assert_true(in_step > PROGRAMS / 10 && live > PROGRAMS / 20 && spoilt > PROGRAMS / 20);
	assert_true(in_step + live < PROGRAMS - PROGRAMS / 20);
}

/* A rank alone, or workers, are not for this way. */
static void not_of_others(void **state)
{
	struct rng g = { 7 };
	struct order order = { 0 };
	struct made *m;

	(void)state;
	do
		m = random_made(&g);
	while (!all_in_step(m) && (drop(m), true));
	assert_true(deadlock_in_step(&m->ctx, &m->p, &order));
	m->p.lowered = true;
	assert_false(deadlock_in_step(&m->ctx, &m->p, &order));
	m->p.lowered = false;
	m->p.alone = true;
	assert_false(deadlock_in_step(&m->ctx, &m->p, &order));
	drop(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_in_step),
		cmocka_unit_test(not_of_others),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
