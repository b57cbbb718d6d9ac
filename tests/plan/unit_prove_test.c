/*
 * The prover's parts that small modules do not reach (runtime/plan/proof): orders among hundreds of
 * workers, compared with sets of operations as bits; values, compared with plain tables of counts;
 * plans written by hand; and too little memory.
 */
#include "runtime/plan/proof/prove_value.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- a plan by hand -------------------------------------------------------------- */

enum { RANKS = 5, WORKERS = 260, OPS = 900, FIFOS = 40, WAITS = 2 * OPS };

struct hand {
	struct ccs_module m;
	struct ccs_module_head head;
	struct plan_view v;
	struct ccs_plan plan;
	struct ccs_file file;
	struct ccs_buffer buffers[2];
	struct ccs_shape shapes[2];
	struct ccs_rank ranks[RANKS + 1];
	struct ccs_worker workers[WORKERS];
	struct ccs_op ops[OPS];
	struct ccs_wait waits[WAITS];
	struct ccs_fifo fifos[FIFOS];
	uint32_t expect[64];
	struct ccs_sum sums[16];
	uint32_t worker[OPS];
	uint32_t order[OPS];
	uint32_t sender[OPS];
};

static struct hand *new_hand(void)
{
	struct hand *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->m = (struct ccs_module){ .head = &h->head,
				    .text = "hand\0a\0b",
				    .files = &h->file,
				    .buffers = h->buffers,
				    .nbuffers = 2 };
	h->head.slots = 8;
	h->v = (struct plan_view){ .plan = &h->plan,
				   .shapes = h->shapes,
				   .ranks = h->ranks,
				   .workers = h->workers,
				   .ops = h->ops,
				   .waits = h->waits,
				   .fifos = h->fifos,
				   .expect = h->expect,
				   .sums = h->sums };
	h->plan.root = CCS_NONE;
	memset(h->expect, 0xff, sizeof(h->expect));
	return h;
}

/* One rank with buffers in a[2], out b[2] and scratch; its workers have an operation each. */
static struct hand *local_hand(uint32_t workers, uint32_t scratch)
{
	struct hand *h = new_hand();

	h->buffers[0] = (struct ccs_buffer){ .name = 5, .direction = CCS_IN };
	h->buffers[1] = (struct ccs_buffer){ .name = 7, .direction = CCS_OUT };
	h->shapes[0] = (struct ccs_shape){ .chunks = 2, .blocks = 1, .cell = 0 };
	h->shapes[1] = (struct ccs_shape){ .chunks = 2, .blocks = 1, .cell = 2 };
	h->plan.nranks = 1;
	h->plan.cells = 4;
	h->plan.scratch = scratch;
	h->plan.workers.n = h->plan.ops.n = workers;
	h->plan.expect.n = 4;
	h->ranks[1].worker = workers;
	for (uint32_t w = 0; w < workers; w++) {
		h->workers[w] = (struct ccs_worker){ .op = w, .nops = 1 };
		h->ops[w] = (struct ccs_op){ .in = CCS_NONE,
					     .out = CCS_NONE,
					     .a = CCS_NONE,
					     .b = CCS_NONE,
					     .dst = CCS_NONE,
					     .n = 1,
					     .to = CCS_NONE,
					     .line = w + 1 };
	}
	return h;
}

static ccs_status prove(const struct hand *h)
{
	struct prove_facts facts;

	return prove_plan(&h->m, &h->v, 0, &facts);
}

/* Refused, and the text says so. */
static void refused(const struct hand *h, const char *text)
{
	assert_int_equal(prove(h), CCS_EFILE);
	if (!strstr(ccs_error(), text))
		fail_msg("says: %s", ccs_error());
}

static void values_of_two_lengths(void **state)
{
	struct hand *h = local_hand(1, 1);

	(void)state;
	h->ops[0].a = 0;
	h->ops[0].dst = 4;
	h->ops[0].flags = CCS_OP_A_INITIAL | CCS_OP_B_INITIAL;
	assert_int_equal(prove(h), CCS_OK);
	h->ops[0].b = 1;
	refused(h,
		"N = 1: rank 0, worker 0, operation 0 (hand:1): combines values of different lengths");
	h->ops[0].b = 0;
	assert_int_equal(prove(h), CCS_OK);
	h->head.flags = CCS_MODULE_EVEN_COUNTS;
	h->ops[0].b = 1;
	assert_int_equal(prove(h), CCS_OK);
	free(h);
}

/* Worker 0 stores; worker 1 waits for it, and worker 2 for that, and reads. Worker 3 reads, too,
 * and waits for no worker. */
static void one_order_of_two(void **state)
{
	struct hand *h = local_hand(4, 4);

	(void)state;
	for (uint32_t w = 0; w < 4; w++) {
		h->ops[w].a = w == 0 ? 0 : 4;
		h->ops[w].dst = 4 + w;
	}
	h->ops[0].flags = CCS_OP_A_INITIAL;
	h->ops[1].a = 0;
	h->ops[1].flags = CCS_OP_A_INITIAL;
	h->waits[0] = (struct ccs_wait){ 0, 1 };
	h->waits[1] = (struct ccs_wait){ 1, 1 };
	h->waits[2] = (struct ccs_wait){ 1, 1 };
	h->plan.waits.n = 3;
	h->ops[1].nwaits = h->ops[2].nwaits = h->ops[3].nwaits = 1;
	h->ops[2].wait = 1;
	h->ops[3].wait = 2;
	h->ops[2].level = h->ops[3].level = 1;
	assert_int_equal(prove(h), CCS_OK);
	h->ops[3].nwaits = 0;
	h->plan.waits.n = 2;
	refused(h,
		"worker 3, operation 0 (hand:4): it and worker 0, operation 0 (hand:1) both access "
		"scratch[0]");
	free(h);
}

static void two_workers_that_wait_for_one_another(void **state)
{
	struct hand *h = local_hand(2, 2);

	(void)state;
	for (uint32_t w = 0; w < 2; w++) {
		h->ops[w].a = 0;
		h->ops[w].flags = CCS_OP_A_INITIAL;
		h->ops[w].dst = 4 + w;
		h->ops[w].wait = w;
		h->waits[w] = (struct ccs_wait){ 1 - w, 1 };
	}
	h->plan.waits.n = 2;
	h->ops[0].nwaits = 1;
	h->ops[1].nwaits = 0;
	h->plan.waits.n = 1;
	assert_int_equal(prove(h), CCS_OK);
	h->ops[1].nwaits = 1;
	h->plan.waits.n = 2;
	refused(h, "worker 0, operation 0 (hand:1): waits forever for worker 1, operation 0 "
		   "(hand:2): a deadlock of 2 workers with 8 slots");
	free(h);
}

/* A chain of empty messages, rank 0 to 1 to 2. Rank 1 has another worker, which waits. */
static void ends_after_others_begin(void **state)
{
	static const uint32_t fifo[][2] = {
		{ CCS_NONE, 0 }, { 0, CCS_NONE }, { CCS_NONE, 1 }, { 1, CCS_NONE }
	};
	static const uint32_t rank[] = { 0, 1, 1, 2 };
	struct hand *h = new_hand();
	struct ccs_after after = { .rank = 2, .n = 3 };

	(void)state;
	h->m.nbuffers = 0;
	h->v.after = &after;
	h->plan.nranks = 3;
	h->plan.scratch = 1;
	h->plan.workers.n = h->plan.ops.n = 4;
	h->plan.fifos.n = 2;
	for (uint32_t w = 0; w < 4; w++) {
		h->workers[w] = (struct ccs_worker){ .rank = rank[w], .op = w, .nops = 1 };
		h->ranks[rank[w] + 1].worker = w + 1;
		h->ops[w] = (struct ccs_op){ .in = fifo[w][0],
					     .out = fifo[w][1],
					     .a = CCS_NONE,
					     .b = CCS_NONE,
					     .dst = CCS_NONE,
					     .to = fifo[w][1] == CCS_NONE ? CCS_NONE : w + 1,
					     .phase = (w + 1) / 2,
					     .level = w == 2 };
	}
	h->fifos[0] = (struct ccs_fifo){
		.src = 0, .dst = 1, .messages = 1, .src_worker = 0, .dst_worker = 1
	};
	h->fifos[1] = (struct ccs_fifo){
		.src = 1, .dst = 2, .messages = 1, .src_worker = 2, .dst_worker = 3
	};
	h->waits[0] = (struct ccs_wait){ 1, 1 };
	h->plan.waits.n = 1;
	h->ops[2].nwaits = 1;
	h->plan.after.n = 1;
	h->plan.rounds = 2;
	assert_int_equal(prove(h), CCS_OK);
	h->ops[2].nwaits = 0;
	h->plan.waits.n = 0;
	refused(h, "rank 2 may end before rank 0 has begun");
	after = (struct ccs_after){ .rank = 2, .first = 1, .n = 2 };
	refused(h, "done in phase 1, level 1, but can be from phase 0, level 0 on");
	h->ops[2].phase = h->ops[2].level = 0;
	h->ops[3].phase = 1;
	refused(h, "it has 2 rounds by its row, but needs 1");
	h->plan.rounds = 1;
	assert_int_equal(prove(h), CCS_OK);
	after = (struct ccs_after){ .rank = 1, .first = 2, .n = 1 };
	refused(h, "rank 1 may end before rank 2 has begun");
	free(h);
}

/* An output that no operation writes, and for which the module promises an empty sum. */
static void a_promise_of_nothing(void **state)
{
	struct hand *h = local_hand(1, 1);

	(void)state;
	h->ops[0].a = 0;
	h->ops[0].flags = CCS_OP_A_INITIAL;
	h->ops[0].dst = 4;
	h->plan.sums.n = 1;
	h->sums[0] = (struct ccs_sum){ .cell = 0, .n = 0, .times = 1, .last = 1, .reduced = 1 };
	assert_int_equal(prove(h), CCS_OK);
	h->expect[2] = 0;
	refused(h, "rank 0: b[0] is promised to be a sum without contributions, which no value is");
	h->ops[0].dst = 2;
	refused(h, "rank 0: b[0] is promised to be a sum without contributions, which no value is");
	h->sums[0].n = 1;
	assert_int_equal(prove(h), CCS_OK);
	h->ops[0].dst = 4;
	refused(h, "rank 0: b[0] ends with no value; the promised value is a[0] of rank 0");
	free(h);
}

static void odd_counts(void **state)
{
	struct hand *h = new_hand();

	(void)state;
	assert_int_equal(prove_flags(&h->m, false), CCS_OK);
	h->head.flags = CCS_MODULE_EVEN_COUNTS;
	assert_int_equal(prove_flags(&h->m, true), CCS_OK);
	assert_int_equal(prove_flags(&h->m, false), CCS_EFILE);
	h->head.flags |= CCS_MODULE_SIZED;
	assert_int_equal(prove_flags(&h->m, false), CCS_OK);
	free(h);
}

/* The peak memory is enough, and one byte less is not. */
static void memory_is_short(void **state)
{
	struct hand *h = local_hand(4, 4);
	struct prove_facts facts;
	uint64_t bytes;

	(void)state;
	for (uint32_t w = 0; w < 4; w++) {
		h->ops[w].a = 0;
		h->ops[w].flags = CCS_OP_A_INITIAL;
		h->ops[w].dst = 4 + w;
	}
	assert_int_equal(prove_plan(&h->m, &h->v, 0, &facts), CCS_OK);
	bytes = facts.bytes;
	assert_int_equal(prove_plan(&h->m, &h->v, bytes, &facts), CCS_OK);
	for (uint64_t less = bytes - 1; less > 0; less = less * 7 / 8) {
		assert_int_equal(prove_plan(&h->m, &h->v, less, &facts), CCS_ENOMEM);
		assert_true(facts.bytes <= less);
	}
	h->plan.scratch = 0x7fffffff;
	assert_int_equal(prove_plan(&h->m, &h->v, 1 << 20, &facts), CCS_ENOMEM);
	assert_non_null(strstr(ccs_error(), "more than 1 MiB"));
	free(h);
}

/* ---- orders ---------------------------------------------------------------------- */

/* A random plan that can be done, written down in the order in which it is. */
struct graph {
	struct rng g;
	struct hand *h;
	uint32_t nops[WORKERS]; /* of each worker, so far */
	uint32_t made;		/* operations in all */
	struct made_op {
		uint32_t worker, index, in, out, nwaits;
		struct ccs_wait waits[2];
	} v[OPS];
	uint32_t sent[FIFOS], got[FIFOS], pending;
	uint64_t before[2][OPS][(OPS + 63) / 64]; /* without messages, with them; by row */
};

static uint32_t below(struct graph *g, uint64_t n)
{
	return (uint32_t)rng_below(&g->g, (int)n);
}

static void make_op(struct graph *g, uint32_t w, uint32_t in, bool sends)
{
	const struct ccs_plan *p = &g->h->plan;
	uint32_t rank = g->h->workers[w].rank, first = g->h->ranks[rank].worker;
	uint32_t n = g->h->ranks[rank + 1].worker - first;
	struct made_op *o = &g->v[g->made++];

	*o = (struct made_op){ .worker = w, .index = g->nops[w]++, .in = in, .out = CCS_NONE };
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t other = first + below(g, n);

		if (below(g, 2) && other != w && g->nops[other])
			o->waits[o->nwaits++] =
				(struct ccs_wait){ other, 1 + below(g, g->nops[other]) };
	}
	for (uint32_t f = 0; f < p->fifos.n && o->out == CCS_NONE && sends; f++)
		if (g->h->fifos[f].src_worker == w && below(g, 3))
			o->out = f;
	if (o->out != CCS_NONE)
		g->sent[o->out]++;
	if (in != CCS_NONE)
		g->got[in]++;
	g->pending += (o->out != CCS_NONE ? 1u : 0) - (in != CCS_NONE ? 1u : 0);
}

static void make_graph(struct graph *g, uint32_t workers)
{
	struct ccs_plan *p = &g->h->plan;

	p->nranks = 1 + below(g, RANKS);
	p->workers.n = workers;
	for (uint32_t w = 0; w < workers; w++) {
		g->h->workers[w].rank = w * p->nranks / workers;
		g->h->ranks[g->h->workers[w].rank + 1].worker = w + 1;
	}
	p->fifos.n = p->nranks > 1 ? FIFOS : 0;
	for (uint32_t f = 0; f < p->fifos.n; f++)
		g->h->fifos[f] = (struct ccs_fifo){ .src_worker = below(g, workers),
						    .dst_worker = below(g, workers) };
	while (g->made + g->pending < OPS - 2) {
		uint32_t w = below(g, workers), in = CCS_NONE;

		for (uint32_t f = 0; f < p->fifos.n; f++)
			if (g->h->fifos[f].dst_worker == w && g->sent[f] > g->got[f])
				in = f;
		make_op(g, w, in, true);
	}
	for (uint32_t f = 0; f < p->fifos.n; f++)
		while (g->sent[f] > g->got[f])
			make_op(g, g->h->fifos[f].dst_worker, f, false);
}

/* The rows of its operations, and for each which are before it. */
static void make_rows(struct graph *g)
{
	struct hand *h = g->h;
	uint32_t sender[FIFOS][OPS], got[FIFOS] = { 0 }, sent[FIFOS] = { 0 }, row = 0, nwaits = 0;

	for (uint32_t w = 0; w < h->plan.workers.n; w++) {
		h->workers[w].op = row;
		h->workers[w].nops = g->nops[w];
		row += g->nops[w];
	}
	h->plan.ops.n = row;
	for (uint32_t i = 0; i < g->made; i++) {
		struct made_op *o = &g->v[i];

		row = h->workers[o->worker].op + o->index;
		h->worker[row] = o->worker;
		h->order[i] = row;
		h->ops[row] = (struct ccs_op){
			.in = o->in, .out = o->out, .nwaits = o->nwaits, .wait = nwaits
		};
		for (int messages = 0; messages < 2; messages++) {
			uint32_t edges[4], n = 0;

			if (o->index)
				edges[n++] = row - 1;
			for (uint32_t k = 0; k < o->nwaits; k++)
				edges[n++] =
					h->workers[o->waits[k].worker].op + o->waits[k].ops - 1;
			if (messages && o->in != CCS_NONE)
				edges[n++] = sender[o->in][got[o->in]];
			for (uint32_t k = 0; k < n; k++) {
				for (size_t word = 0; word < sizeof(**g->before) / 8; word++)
					g->before[messages][row][word] |=
						g->before[messages][edges[k]][word];
				g->before[messages][row][edges[k] / 64] |= 1ull << edges[k] % 64;
			}
		}
		for (uint32_t k = 0; k < o->nwaits; k++)
			h->waits[nwaits++] = o->waits[k];
		if (o->in != CCS_NONE)
			h->sender[row] = sender[o->in][got[o->in]++];
		if (o->out != CCS_NONE)
			sender[o->out][sent[o->out]++] = row;
	}
	h->plan.waits.n = nwaits;
}

/* Many questions that hold, and one more. */
static void ask(struct graph *g, struct prove *p, bool messages)
{
	static struct prove_question q[4000];
	const struct prove_question *open = NULL;
	uint64_t n = 0, held;

	for (int tries = 0; tries < 20000 && n < 3999; tries++) {
		struct prove_question x = { .x = below(g, g->made), .y = below(g, g->made) };

		if (g->before[messages][x.y][x.x / 64] >> x.x % 64 & 1)
			q[n++] = x;
	}
	held = n;
	assert_true(prove_before(p, q, n, messages, &open));
	for (int tries = 0; tries < 50; tries++) {
		struct prove_question x = { .x = below(g, g->made), .y = below(g, g->made) };

		if (g->before[messages][x.y][x.x / 64] >> x.x % 64 & 1 ||
		    (!messages && prove_rank(p, x.x) != prove_rank(p, x.y)))
			continue;
		q[held] = x;
		open = NULL;
		assert_false(prove_before(p, q, held + 1, messages, &open));
		assert_non_null(open);
		assert_true(open->x == x.x && open->y == x.y);
		for (uint64_t i = 0; i <= held; i++) /* they were sorted */
			if (q[i].x == x.x && q[i].y == x.y)
				q[i] = q[held];
	}
}

static void orders_among_many_workers(void **state)
{
	static struct graph g;

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct prove_facts facts = { 0 };
		struct prove p = { .facts = &facts, .limit = UINT64_MAX };

		memset(&g, 0, sizeof(g));
		g.g.state = (uint64_t)i * 2 + 1;
		g.h = new_hand();
		make_graph(&g, i % 3 == 0 ? 3 + below(&g, 10) : 40 + below(&g, WORKERS - 40));
		make_rows(&g);
		p.m = &g.h->m;
		p.v = &g.h->v;
		p.worker = g.h->worker;
		p.order = g.h->order;
		p.sender = g.h->sender;
		ask(&g, &p, false);
		ask(&g, &p, true);
		assert_null(p.blocks);
		free(g.h);
	}
}

/* ---- values ---------------------------------------------------------------------- */

enum { CELLS = 3, MEMBERS = 40, HELD = 12 };

struct counts {
	uint64_t of[CELLS * MEMBERS];
};

static uint64_t *count_of(struct counts *c, uint32_t cell, uint32_t rank)
{
	return &c->of[cell * MEMBERS + rank];
}

static bool is_value(const struct prove_values *s, struct prove_value v, struct counts *c)
{
	for (uint32_t cell = 0; cell < CELLS; cell++)
		for (uint32_t r = 0; r < MEMBERS; r++)
			if (prove_value_has(s, v, r, cell) != (*count_of(c, cell, r) > 0))
				return false;
	for (uint32_t r = 0; r < MEMBERS; r++) {
		uint32_t at = 0, cell = 0;

		while ((at = prove_value_next(s, v, r, at)) != CCS_NONE) {
			while (cell < at)
				if (*count_of(c, cell++, r))
					return false;
			cell = ++at;
		}
		while (cell < CELLS)
			if (*count_of(c, cell++, r))
				return false;
	}
	return true;
}

/* The same value, by rows of sums in any order. */
static struct prove_value by_rows(struct prove_values *s, struct rng *g, struct ccs_sum *sums,
				  struct counts *c)
{
	struct prove_value v;
	uint32_t n = 0;

	for (uint32_t cell = 0; cell < CELLS; cell++)
		for (uint32_t r = 0; r < MEMBERS; r++) {
			uint32_t first = r;
			uint64_t times = *count_of(c, cell, r);

			while (r + 1 < MEMBERS && *count_of(c, cell, r + 1) == times &&
			       rng_below(g, 3))
				r++;
			if (times > 1 && rng_below(g, 2)) /* in two rows */
				sums[n++] = (struct ccs_sum){
					cell, first, r + 1 - first, (uint32_t)times - 1, 0, 0, { 0 }
				};
			if (n && sums[n - 1].cell == cell && sums[n - 1].first == first)
				times = 1;
			sums[n++] = (struct ccs_sum){ cell, first, r + 1 - first, (uint32_t)times,
						      0,    0,	   { 0 } };
		}
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t k = (uint32_t)rng_below(g, (int)i + 1);
		struct ccs_sum x = sums[i];

		sums[i] = sums[k];
		sums[k] = x;
	}
	sums[n - 1].last = 1;
	assert_true(prove_value_promised(s, 0, &v));
	return v;
}

static void drop_values(struct prove *p, struct prove_values *s)
{
	prove_drop(p, s->units);
	prove_drop(p, s->merged);
	prove_drop(p, s->buckets);
	prove_drop(p, s->sums);
}

static void values_are_multisets(void **state)
{
	static struct ccs_sum sums[4 * CELLS * MEMBERS];
	struct hand *h = new_hand();
	struct prove_facts facts = { 0 };
	struct prove p = { .m = &h->m, .v = &h->v, .facts = &facts, .limit = UINT64_MAX };
	struct prove_value v[HELD] = { { 0, SET_NONE } }, other;
	struct rng g = { 11 };
	struct counts c[HELD];
	struct prove_values s;

	(void)state;
	h->plan.cells = CELLS;
	h->plan.nranks = MEMBERS;
	h->v.sums = sums;
	assert_true(prove_values_init(&s, &p));
	for (int i = 0; i < 4000; i++) {
		int x = rng_below(&g, HELD), y = rng_below(&g, HELD), z = rng_below(&g, HELD);
		uint32_t r = (uint32_t)rng_below(&g, MEMBERS),
			 cell = (uint32_t)rng_below(&g, CELLS);

		if (v[x].set == SET_NONE || v[y].set == SET_NONE || rng_below(&g, 60) == 0) {
			prove_value_drop(&s, v[x]);
			v[x] = prove_value_initial(r, cell);
			memset(&c[x], 0, sizeof(c[x]));
			*count_of(&c[x], cell, r) = 1;
		} else {
			struct counts sum;

			for (uint32_t k = 0; k < CELLS * MEMBERS; k++) {
				uint64_t t = c[x].of[k] + c[y].of[k];

				sum.of[k] = t < UINT32_MAX ? t : UINT32_MAX;
			}
			prove_value_own(&s, v[x]);
			prove_value_own(&s, v[y]);
			other = prove_value_add(&s, v[x], v[y]);
			prove_value_drop(&s, v[z]);
			v[z] = other;
			c[z] = sum;
			x = z;
		}
		assert_true(is_value(&s, v[x], &c[x]));
		other = by_rows(&s, &g, sums, &c[x]);
		assert_true(prove_value_same(other, v[x]));
		prove_value_drop(&s, other);
		*count_of(&c[x], cell, 3) ^= 1;
		other = by_rows(&s, &g, sums, &c[x]);
		assert_false(prove_value_same(other, v[x]));
		prove_value_drop(&s, other);
		*count_of(&c[x], cell, 3) ^= 1;
	}
	for (int i = 0; i < HELD; i++)
		prove_value_drop(&s, v[i]);
	for (uint32_t i = 0; i < VALUE_SUMS; i++) { /* remembered values are owned */
		prove_value_drop(&s, (struct prove_value){ 0, s.sums[i].x });
		prove_value_drop(&s, (struct prove_value){ 0, s.sums[i].y });
		prove_value_drop(&s, (struct prove_value){ 0, s.sums[i].sum });
	}
	assert_int_equal(s.nsets, 0);
	drop_values(&p, &s);
	assert_null(p.blocks);
	free(h);
}

/* Sums are remembered: by both sets, and how far apart their cells are. */
static void cells_far_apart(void **state)
{
	struct hand *h = new_hand();
	struct prove_facts facts = { 0 };
	struct prove p = { .m = &h->m, .v = &h->v, .facts = &facts, .limit = UINT64_MAX };
	struct prove_values s;

	(void)state;
	h->plan.cells = h->plan.nranks = 1 << 20;
	assert_true(prove_values_init(&s, &p));
	for (uint32_t i = 0; i < 200000; i++) {
		struct prove_value v = prove_value_add(&s, prove_value_initial(0, 7),
						       prove_value_initial(1, 7 + i));

		assert_true(prove_value_has(&s, v, 0, 7) && prove_value_has(&s, v, 1, 7 + i));
		assert_false(prove_value_has(&s, v, 1, 8 + i));
		assert_true(prove_value_next(&s, v, 1, 0) == 7 + i);
		prove_value_drop(&s, v);
	}
	assert_true(s.nsets <= VALUE_SUMS);
	drop_values(&p, &s);
	free(h);
}

/* Counts stop; they do not begin again at 0. */
static void counts_stop(void **state)
{
	struct hand *h = new_hand();
	struct prove_facts facts = { 0 };
	struct prove p = { .m = &h->m, .v = &h->v, .facts = &facts, .limit = UINT64_MAX };
	struct prove_values s;
	struct prove_value v;

	(void)state;
	h->plan.cells = 1;
	h->plan.nranks = 2;
	assert_true(prove_values_init(&s, &p));
	v = prove_value_initial(1, 0);
	for (int i = 0; i < 40; i++) {
		prove_value_own(&s, v);
		v = prove_value_add(&s, v, v);
		assert_int_equal(s.units[v.set + 1].run.times, i < 31 ? 2u << i : UINT32_MAX);
	}
	drop_values(&p, &s);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_two_lengths),
		cmocka_unit_test(one_order_of_two),
		cmocka_unit_test(two_workers_that_wait_for_one_another),
		cmocka_unit_test(ends_after_others_begin),
		cmocka_unit_test(a_promise_of_nothing),
		cmocka_unit_test(odd_counts),
		cmocka_unit_test(memory_is_short),
		cmocka_unit_test(orders_among_many_workers),
		cmocka_unit_test(values_are_multisets),
		cmocka_unit_test(cells_far_apart),
		cmocka_unit_test(counts_stop),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
