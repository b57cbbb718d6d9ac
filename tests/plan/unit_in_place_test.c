/*
 * What a rank must copy aside in place (runtime/plan/in_place.h), beside the plainest answer: of
 * random rows, which need be no program that is right, and with both buffers cut and ordered in
 * every way. Which cells are copied is compared to the cell: one too many would only cost time, and
 * no run would show it.
 */
#include "runtime/plan/in_place.h"
#include "runtime/plan/plan.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 3, WORKERS = 3, OPS = 4, WAITS = 2, CELLS = 64, SCRATCH = 3, PLANS = 60000 };

struct hand {
	struct ccs_module m;
	struct plan_view v;
	struct ccs_buffer buffers[3];
	struct ccs_shape shapes[3];
	const struct ccs_shape *in, *out;
	struct ccs_rank ranks[RANKS + 1];
	struct ccs_worker workers[RANKS * WORKERS];
	struct ccs_op ops[RANKS * WORKERS * OPS];
	struct ccs_wait waits[RANKS * WORKERS * OPS * WAITS];
	uint32_t nops, nwaits;
};

/* ---- random rows ------------------------------------------------------------------------------ */

static uint32_t below(struct rng *g, uint32_t n)
{
	return (uint32_t)rng_below(g, (int)n);
}

/* As contracts have them: one block and one, or one for each rank; in either order. */
static void draw_buffers(struct rng *g, struct hand *h)
{
	uint32_t chunks = 1 + below(g, 4), first = below(g, 2), at = 0;
	bool both = below(g, 4) == 0;

	h->buffers[first].direction = CCS_IN;
	h->buffers[!first].direction = CCS_OUT;
	h->in = h->shapes + first;
	h->out = h->shapes + !first;
	h->shapes[first].blocks = both || below(g, 2) ? RANKS : 1;
	h->shapes[!first].blocks = both || h->in->blocks == 1 ? RANKS : 1;
	for (int i = 0; i < 2; i++) {
		if (below(g, 6) == 0)
			h->shapes[i].blocks = 1 + below(g, 3);
		h->shapes[i].chunks = chunks;
		h->shapes[i].cell = at;
		at += chunks * h->shapes[i].blocks;
	}
	h->m = (struct ccs_module){ .buffers = h->buffers, .nbuffers = 2 };
}

static uint32_t cells_of(const struct ccs_shape *s)
{
	return s->blocks * s->chunks;
}

/* The first of n cells of a buffer; CCS_NONE: it has not so many. */
static uint32_t draw_range(struct rng *g, const struct ccs_shape *s, uint32_t n)
{
	return n <= cells_of(s) ? s->cell + below(g, cells_of(s) - n + 1) : CCS_NONE;
}

/* What is read: of the input, or of scratch, which stands behind the buffers. */
static uint32_t draw_read(struct rng *g, const struct hand *h, uint32_t n, uint16_t initial,
			  struct ccs_op *o)
{
	uint32_t scratch = cells_of(h->in) + cells_of(h->out), at;

	if (below(g, 4) == 0)
		return scratch + below(g, SCRATCH);
	at = draw_range(g, h->in, n);
	if (at != CCS_NONE)
		o->flags |= initial;
	return at;
}

/* The cells where the input's lie in the output's memory, if it has them. */
static uint32_t draw_twins(const struct hand *h, uint32_t a, uint32_t n, int32_t blocks)
{
	int64_t at = (int64_t)a - h->in->cell + (int64_t)blocks * h->out->chunks;

	return at >= 0 && at + n <= cells_of(h->out) ? h->out->cell + (uint32_t)at : CCS_NONE;
}

static void draw_op(struct rng *g, const struct hand *h, int32_t blocks, struct ccs_op *o)
{
	*o = (struct ccs_op){ .in = below(g, 4) ? CCS_NONE : 0,
			      .out = CCS_NONE,
			      .a = CCS_NONE,
			      .b = CCS_NONE,
			      .dst = CCS_NONE,
			      .n = 1 + below(g, 3) };
	if (below(g, 5))
		o->a = draw_read(g, h, o->n, CCS_OP_A_INITIAL, o);
	if (below(g, 4) == 0)
		o->b = draw_read(g, h, o->n, CCS_OP_B_INITIAL, o);
	switch (below(g, 4)) {
	case 0: break;
	case 1:
		if (o->flags & CCS_OP_A_INITIAL) {
			o->dst = draw_twins(h, o->a, o->n, blocks);
			break;
		}
	/* fallthrough */
	case 2: o->dst = draw_range(g, h->out, o->n); break;
	default: o->dst = cells_of(h->in) + cells_of(h->out) + below(g, SCRATCH); break;
	}
	if (o->dst == CCS_NONE || below(g, 2)) {
		o->out = 0;
		o->flags |= below(g, 2) ? CCS_OP_HELD : 0;
	}
}

/* Of operations of the rank's other workers that are done. */
static void draw_waits(struct rng *g, struct hand *h, uint32_t rank, uint32_t worker,
		       struct ccs_op *o)
{
	o->wait = h->nwaits;
	o->nwaits = below(g, WAITS + 1);
	for (uint32_t i = 0; i < o->nwaits; i++) {
		uint32_t other = h->ranks[rank].worker +
				 below(g, h->ranks[rank + 1].worker - h->ranks[rank].worker);

		h->waits[h->nwaits++] = (struct ccs_wait){ other, 1 + below(g, OPS) };
		if (other == worker)
			h->waits[h->nwaits - 1].ops = 0;
	}
}

/* Blocks of the output before the input's, where the rank's own block is the other's place. */
static int32_t blocks_before(const struct hand *h, uint32_t rank)
{
	if (h->in->blocks == h->out->blocks || (h->in->blocks > 1 && h->out->blocks > 1))
		return 0;
	return h->in->blocks == 1 ? (int32_t)rank : -(int32_t)rank;
}

static void draw_plan(struct rng *g, struct hand *h)
{
	uint32_t worker = 0;

	memset(h, 0, sizeof(*h));
	draw_buffers(g, h);
	for (uint32_t r = 0; r < RANKS; r++) {
		h->ranks[r].worker = worker;
		worker += below(g, WORKERS + 1);
	}
	h->ranks[RANKS].worker = worker;
	for (uint32_t r = 0; r < RANKS; r++)
		for (uint32_t w = h->ranks[r].worker; w < h->ranks[r + 1].worker; w++) {
			h->workers[w] = (struct ccs_worker){ r, h->nops, below(g, OPS + 1), 0 };
			for (uint32_t i = 0; i < h->workers[w].nops; i++) {
				struct ccs_op *o = h->ops + h->nops++;

				draw_op(g, h, blocks_before(h, r), o);
				draw_waits(g, h, r, w, o);
			}
		}
	h->v = (struct plan_view){ .shapes = h->shapes,
				   .ranks = h->ranks,
				   .workers = h->workers,
				   .ops = h->ops,
				   .waits = h->waits };
}

/* ---- the plainest answer ----------------------------------------------------------------------- */

/* An operation of the rank, by its place in its worker; and which of its cells it is about. */
struct deed {
	uint32_t worker, index, cell;
	const struct ccs_op *o;
};

struct deeds {
	struct deed v[2 * WORKERS * OPS * 3]; /* at most 3 cells each, read twice */
	uint32_t n;
};

static bool covers(uint32_t first, uint32_t n, uint32_t cell)
{
	return first != CCS_NONE && cell >= first && cell < first + n;
}

static void add(struct deeds *to, const struct hand *h, uint32_t worker, uint32_t index,
		uint32_t cell)
{
	to->v[to->n++] =
		(struct deed){ worker, index, cell, h->ops + h->workers[worker].op + index };
}

/* It does nothing but to copy cell x's initial value to y. */
static bool only_copies(const struct ccs_op *o, uint32_t x, uint32_t y)
{
	return o->in == CCS_NONE && o->b == CCS_NONE && o->flags & CCS_OP_A_INITIAL &&
	       o->dst != CCS_NONE && covers(o->a, o->n, x) && y - o->dst == x - o->a;
}

/* Who reads x's initial value, and who writes y, where it lies; y: CCS_NONE: nowhere. */
static void deeds_of(const struct hand *h, uint32_t rank, uint32_t x, uint32_t y,
		     struct deeds *reads, struct deeds *writes, bool *copied)
{
	for (uint32_t w = h->ranks[rank].worker; w < h->ranks[rank + 1].worker; w++)
		for (uint32_t i = 0; i < h->workers[w].nops; i++) {
			const struct ccs_op *o = h->ops + h->workers[w].op + i;

			if (o->flags & CCS_OP_A_INITIAL && covers(o->a, o->n, x))
				add(reads, h, w, i, x - o->a);
			if (o->flags & CCS_OP_B_INITIAL && covers(o->b, o->n, x))
				add(reads, h, w, i, x - o->b);
			if (y == CCS_NONE || !covers(o->dst, o->n, y))
				continue;
			if (only_copies(o, x, y))
				*copied = true;
			else
				add(writes, h, w, i, y - o->dst);
		}
}

/* By the worker's order, or by a wait of the later one's worker. */
static bool is_before(const struct hand *h, const struct deed *first, const struct deed *then)
{
	if (first->worker == then->worker)
		return first->index < then->index;
	for (uint32_t i = 0; i <= then->index; i++) {
		const struct ccs_op *o = h->ops + h->workers[then->worker].op + i;

		for (uint32_t k = o->wait; k < o->wait + o->nwaits; k++)
			if (h->waits[k].worker == first->worker && h->waits[k].ops > first->index)
				return true;
	}
	return false;
}

static bool in_time(const struct hand *h, const struct deed *read, const struct deeds *writes)
{
	bool ok = !(read->o->flags & CCS_OP_HELD && read->o->dst == CCS_NONE);

	for (uint32_t i = 0; i < writes->n; i++) {
		const struct deed *w = writes->v + i;

		if (w->o != read->o)
			ok &= is_before(h, read, w);
		else /* element by element; what it writes later is not what it read */
			ok &= w->cell == read->cell;
	}
	return ok;
}

/* What becomes of a cell's initial value. */
struct verdict {
	bool safe, moves, mixed; /* mixed: it is copied to its place, which is written, too */
};

static struct verdict verdict_of(const struct hand *h, uint32_t rank, int32_t blocks, uint32_t x)
{
	uint32_t y = draw_twins(h, h->in->cell + x, 1, blocks);
	struct deeds reads = { .n = 0 }, writes = { .n = 0 };
	struct verdict is = { .safe = true };
	bool copied = false;

	deeds_of(h, rank, h->in->cell + x, y, &reads, &writes, &copied);
	for (uint32_t i = 0; i < writes.n; i++)
		is.safe &= writes.v[i].worker == writes.v[0].worker; /* else side by side */
	for (uint32_t i = 0; i < reads.n; i++) {
		const struct ccs_op *o = reads.v[i].o;

		is.safe &= !writes.n || in_time(h, reads.v + i, &writes);
		is.moves |= y == CCS_NONE || !only_copies(o, h->in->cell + x, y);
	}
	is.mixed = copied && writes.n;
	return is;
}

static void compare(const struct hand *h, uint32_t rank)
{
	struct in_place got = plan_in_place(&h->m, &h->v, rank);
	int32_t blocks = blocks_before(h, rank);
	bool want[CELLS] = { false }, have[CELLS] = { false }, safe = true, mixed = false;

	for (uint32_t x = 0; x < cells_of(h->in); x++) {
		struct verdict is = verdict_of(h, rank, blocks, x);

		want[h->in->cell + x] = is.moves;
		safe &= is.safe;
		mixed |= is.mixed;
	}
	assert_int_equal(got.known, safe || !mixed);
	assert_int_equal(got.blocks, blocks);
	for (uint32_t i = 0; i < got.ncopied; i++) {
		assert_true(got.copied[i].n > 0);
		/* ranges ascend, and do not touch one another */
		assert_true(!i ||
			    got.copied[i].first > got.copied[i - 1].first + got.copied[i - 1].n);
		for (uint32_t k = 0; k < got.copied[i].n; k++)
			have[got.copied[i].first + k] = true;
	}
	if (got.known)
		for (uint32_t i = 0; i < CELLS; i++)
			assert_int_equal(have[i], !safe && want[i]);
	free(got.copied);
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void random_plans(void **state)
{
	static struct hand h;
	struct rng g = { 5 };
	int unsafe = 0;

	(void)state;
	for (int i = 0; i < PLANS; i++) {
		draw_plan(&g, &h);
		for (uint32_t r = 0; r < RANKS; r++) {
			struct in_place p = plan_in_place(&h.m, &h.v, r);

			unsafe += p.ncopied > 0;
			free(p.copied);
			compare(&h, r);
		}
	}
	assert_in_range(unsafe, PLANS / 8, 3 * PLANS - PLANS / 8);
}

/* All is overwritten first, and then each other cell read: as many ranges as there can be. */
static void every_other_cell(void **state)
{
	static struct hand h;
	const struct ccs_op gone = { .a = CCS_NONE, .b = CCS_NONE, .dst = 5, .n = 5 };
	struct in_place p;

	(void)state;
	memset(&h, 0, sizeof(h));
	h.buffers[0].direction = CCS_IN;
	h.buffers[1].direction = CCS_OUT;
	h.shapes[0] = (struct ccs_shape){ .chunks = 5, .blocks = 1 };
	h.shapes[1] = (struct ccs_shape){ .chunks = 5, .blocks = 1, .cell = 5 };
	h.m = (struct ccs_module){ .buffers = h.buffers, .nbuffers = 2 };
	h.v = (struct plan_view){
		.shapes = h.shapes, .ranks = h.ranks, .workers = h.workers, .ops = h.ops
	};
	h.ranks[1].worker = 1;
	h.workers[0].nops = 4;
	h.ops[0] = gone;
	for (uint32_t i = 0; i < 3; i++)
		h.ops[1 + i] = (struct ccs_op){ .in = CCS_NONE,
						.out = CCS_NONE,
						.a = 2 * i,
						.b = CCS_NONE,
						.dst = 10 + i,
						.n = 1,
						.flags = CCS_OP_A_INITIAL };
	p = plan_in_place(&h.m, &h.v, 0);
	assert_true(p.known);
	assert_int_equal(p.ncopied, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(p.copied[i].first, 2 * i);
		assert_int_equal(p.copied[i].n, 1);
	}
	free(p.copied);
}

/* Other contracts have no such place. */
static void contracts(void **state)
{
	static const uint32_t directions[][2] = { { CCS_IN, CCS_IN },
						  { CCS_OUT, CCS_OUT },
						  { CCS_INOUT, CCS_OUT },
						  { CCS_IN, CCS_INOUT } };
	static struct hand h;
	struct rng g = { 7 };

	(void)state;
	draw_plan(&g, &h);
	h.m.nbuffers = 1;
	assert_false(plan_in_place(&h.m, &h.v, 0).known);
	h.m.nbuffers = 3;
	assert_false(plan_in_place(&h.m, &h.v, 0).known);
	h.m.nbuffers = 2;
	h.shapes[0].chunks++;
	assert_false(plan_in_place(&h.m, &h.v, 0).known);
	h.shapes[0].chunks--;
	for (size_t i = 0; i < sizeof(directions) / sizeof(*directions); i++) {
		h.buffers[0].direction = directions[i][0];
		h.buffers[1].direction = directions[i][1];
		assert_false(plan_in_place(&h.m, &h.v, 0).known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_plans),
		cmocka_unit_test(every_other_cell),
		cmocka_unit_test(contracts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
