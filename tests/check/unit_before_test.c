/*
 * Happens-before (compiler/check/before.h) against the plainest answer there is: for random
 * lowered programs, the set of everything before each operation. Both ways of asking:
 * one question, which may stay open, and all at once, which may not.
 *
 * Programs grow as they would run, so they cannot deadlock: a random task does its
 * next operation, which may take a message that is there, or wait for what another
 * task of the rank has done. Before a task touches a cell that another one touched, it
 * waits for that: so there are no races.
 */
#include "compiler/check/before.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_TASKS = 200, MOST_ROWS = 400, MOST_OPS = 3000, CELLS = 4, MOST_RANKS = 100 };

struct shape {
	int ranks, tasks, ops, cells; /* tasks of a rank; in all */
};

struct made {
	struct arena arena;
	struct ctx ctx;
	struct program p;
	struct rng g;
	uint32_t got[MOST_TASKS]; /* task t sends on fifo t, to task fifos[t].dst_task */
	struct {
		uint32_t task, rows;
	} last[MOST_RANKS][CELLS]; /* who touched a cell */
	bool *before;		   /* [late * nops + early] */
};

static int below(struct made *m, uint32_t n)
{
	return rng_below(&m->g, (int)n);
}

static struct op *add_row(struct made *m, uint32_t task, enum op_kind kind)
{
	struct task *t = &m->p.tasks[task];
	struct op *o = &t->ops[t->nops++];

	assert_true(t->nops <= MOST_ROWS);
	*o = (struct op){ .kind = kind & 0xff, .fifo = NONE, .other = NONE };
	return o;
}

static void wait_for(struct made *m, uint32_t task, uint32_t other, uint32_t rows)
{
	struct op *o = add_row(m, task, OP_WAIT);

	o->fifo = other;
	o->other = rows;
}

/* The operation's cells; others that touched them are waited for first. Returns the first. */
static uint32_t pick_cells(struct made *m, uint32_t task, int cells, uint32_t *n)
{
	uint32_t rank = m->p.tasks[task].rank, cell = 0;

	*n = 0;
	if (cells == 0)
		return 0;
	cell = (uint32_t)below(m, (uint32_t)cells);
	*n = 1 + (uint32_t)below(m, (uint32_t)cells - cell);
	for (uint32_t c = cell; c < cell + *n; c++)
		if (m->last[rank][c].rows && m->last[rank][c].task != task)
			wait_for(m, task, m->last[rank][c].task, m->last[rank][c].rows);
	return cell;
}

static void touched(struct made *m, uint32_t task, uint32_t cell, uint32_t n)
{
	for (uint32_t c = cell; c < cell + n; c++) {
		m->last[m->p.tasks[task].rank][c].task = task;
		m->last[m->p.tasks[task].rank][c].rows = m->p.tasks[task].nops;
	}
	m->p.nops++;
}

/* A task's next operation: it sends, or takes a message of one that sends to it. */
static void grow(struct made *m, uint32_t task, const struct shape *s)
{
	uint32_t rank = m->p.tasks[task].rank, n, cell, from = NONE;
	struct op *o;

	for (uint32_t f = 0; f < m->p.nfifos && from == NONE; f++)
		if (m->p.fifos[f].dst_task == task && m->got[f] < m->p.fifos[f].nsends &&
		    below(m, 3))
			from = f;
	if (m->p.tasks[task].nops + CELLS + 2 > MOST_ROWS)
		return;
	if (below(m, 4) == 0) { /* for a task of the rank */
		uint32_t other = rank * (uint32_t)s->tasks + (uint32_t)below(m, (uint32_t)s->tasks);
		if (other != task && m->p.tasks[other].nops)
			wait_for(m, task, other, m->p.tasks[other].nops);
	}
	cell = pick_cells(m, task, s->cells, &n);
	if (from != NONE) {
		bool fuse = below(m, 3) == 0, sum = below(m, 2);
		o = add_row(m, task,
			    fuse  ? (sum ? OP_REDUCE_SEND : OP_RECV_SEND)
			    : sum ? OP_REDUCE_FROM
				  : OP_RECV);
		o->fifo = from;
		o->other = fuse ? task : NONE;
		if (fuse && below(m, 3) == 0)
			o->kind |= OP_NOSTORE;
		m->p.messages[from * MOST_ROWS + m->got[from]++].recv = m->p.tasks[task].nops - 1;
		if (fuse)
			m->p.messages[task * MOST_ROWS + m->p.fifos[task].nsends++].send =
				m->p.tasks[task].nops - 1;
	} else {
		bool local = below(m, 4) == 0;
		o = add_row(m, task, local ? (below(m, 2) ? OP_COPY : OP_REDUCE_INTO) : OP_SEND);
		o->fifo = local ? NONE : task;
		o->other = cell; /* local ones: onto themselves, which is enough here */
		if (!local)
			m->p.messages[task * MOST_ROWS + m->p.fifos[task].nsends++].send =
				m->p.tasks[task].nops - 1;
	}
	o->cell = cell;
	o->n = n;
	touched(m, task, cell, n);
}

static void make_program(struct made *m, const struct shape *s, uint64_t seed)
{
	uint32_t ntasks = (uint32_t)(s->ranks * s->tasks);

	memset(m, 0, sizeof(*m));
	arena_init(&m->arena, 0, NULL);
	m->ctx = (struct ctx){ .arena = &m->arena, .scratch = &m->arena, .slots = MOST_ROWS };
	m->g.state = seed * 2 + 1;
	m->p = (struct program){
		.arena = &m->arena,
		.nranks = (uint32_t)s->ranks,
		.cells = CELLS,
		.lowered = true,
		.ntasks = ntasks,
		.nfifos = ntasks,
		.tasks = ARENA_ARRAY(&m->arena, struct task, ntasks),
		.fifos = ARENA_ARRAY(&m->arena, struct fifo, ntasks),
		.messages = ARENA_ARRAY(&m->arena, struct message, (size_t)ntasks * MOST_ROWS),
	};
	for (uint32_t t = 0; t < ntasks; t++) {
		m->p.tasks[t].rank = t / (uint32_t)s->tasks;
		m->p.tasks[t].ops = ARENA_ARRAY(&m->arena, struct op, MOST_ROWS);
		m->p.fifos[t].src_task = t;
		m->p.fifos[t].dst_task = (uint32_t)below(m, ntasks);
		m->p.fifos[t].first = t * MOST_ROWS;
	}
	while (m->p.nops < (uint64_t)s->ops)
		grow(m, (uint32_t)below(m, ntasks), s);
	for (uint32_t f = 0; f < ntasks; f++) { /* what nobody has taken */
		uint32_t to = m->p.fifos[f].dst_task;
		while (m->got[f] < m->p.fifos[f].nsends) {
			uint32_t k = f * MOST_ROWS + m->got[f]++;
			m->p.messages[k].recv = m->p.tasks[to].nops;
			add_row(m, to, OP_RECV)->fifo = f;
			m->p.nops++;
		}
		m->p.fifos[f].nrecvs = m->p.fifos[f].nsends;
	}
}

/* Everything before each event, in the order of events; and that is an order. */
static void close_before(struct made *m, const struct before *b)
{
	uint32_t n = b->n;

	m->before = ARENA_ARRAY(&m->arena, bool, (size_t)n *n);
	for (uint32_t e = 0; e < n; e++) {
		const struct event *v = &b->events[e];
		bool *mine = m->before + (size_t)e * n;
		for (uint32_t i = v->others; i <= v[1].others; i++) {
			uint32_t x = i < v[1].others ? b->others[i] : v->previous;
			if (x == NONE)
				continue;
			assert_true(x < e);
			for (uint32_t k = 0; k < n; k++)
				mine[k] |= m->before[(size_t)x * n + k];
			mine[x] = true;
		}
	}
}

/* The ways that events have to others are those of the program. */
static void ways_are_right(const struct made *m, const struct before *b)
{
	const struct program *p = &m->p;

	for (uint32_t t = 0; t < p->ntasks; t++) {
		uint32_t last = NONE, need = 0;
		for (uint32_t r = 0; r < p->tasks[t].nops; r++) {
			const struct op *o = &p->tasks[t].ops[r];
			uint32_t e = before_event(b, t, r), others;
			if (op_kind(o) == OP_WAIT) {
				assert_true(e == NONE);
				need++;
				continue;
			}
			assert_true(b->events[e].previous == last);
			others = b->events[e + 1].others - b->events[e].others;
			assert_int_equal(others, need + (op_in(o) != NONE));
			need = 0;
			last = e;
		}
	}
}

static void check_program(struct made *m)
{
	struct before b;
	struct deadlock_report d = deadlock(&m->ctx, &m->p);

	assert_false(d.deadlocked);
	assert_true(before_init(&b, &m->ctx, &m->p, &d.order));
	ways_are_right(m, &b);
	close_before(m, &b);
	uint32_t n = b.n, nq = 0, cap = 0, open = 0;
	struct question *q = NULL;
	for (uint32_t k = 0; k < 20000; k++) {
		uint32_t x = (uint32_t)below(m, n), y = (uint32_t)below(m, n);
		bool truth = m->before[(size_t)y * n + x];
		enum answer a = before_ask(&b, x, y);
		if (a != BEFORE_OPEN)
			assert_int_equal(a == BEFORE_YES, truth);
		open += a == BEFORE_OPEN;
		if (x != y)
			ARENA_PUSH(&m->arena, q, nq, cap) =
				(struct question){ .early = x, .late = y, .subject = truth };
	}
	before_ask_all(&b, q, nq);
	for (uint32_t k = 0; k < nq; k++) {
		assert_true(q[k].answer != BEFORE_OPEN);
		assert_int_equal(q[k].answer == BEFORE_YES, q[k].subject);
	}
	assert_true(open < nq);
	/* Beyond the limit questions stay open; what is answered is right. */
	uint32_t left = 0;
	b.most_steps = n + n / 2;
	before_ask_all(&b, q, nq);
	for (uint32_t k = 0; k < nq; k++) {
		left += q[k].answer == BEFORE_OPEN;
		if (q[k].answer != BEFORE_OPEN)
			assert_int_equal(q[k].answer == BEFORE_YES, q[k].subject);
	}
	assert_true(left < nq);
	assert_true(left > 0 || m->p.ntasks <= 128);
	arena_free(&m->arena);
}

static void random_programs(void **state)
{
	/* Few and many workers, more than vectors have lanes; with and without cells. */
	static const struct shape shapes[] = {
		{ 2, 1, 30, CELLS }, { 3, 2, 60, CELLS }, { 4, 3, 300, CELLS },
		{ 4, 3, 300, 0 },    { 8, 1, 600, 1 },	  { 50, 1, 1500, CELLS },
		{ 40, 4, 1500, 2 },  { 97, 2, 2500, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (uint64_t seed = 0; seed < (shapes[i].ops < 500 ? 40 : 3); seed++) {
			struct made *m = malloc(sizeof(*m));
			assert_non_null(m);
			make_program(m, &shapes[i], seed * 8 + i);
			check_program(m);
			free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_programs) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
