/*
 * Folds (runtime/cpu/play/fold.h) store what a sequence's pieces store, one after another: random
 * pieces that copy and combine parts of what was stored before, all outputs and those of some
 * ranks, apart and in place, through the caches and past them. And special cases: a value
 * computed once for all, a value that several need, averages, and an output that may not lie where its
 * input does. And passes: the folds that do an operation, of which a trace has the time.
 */
#include "runtime/cpu/play/fold.h"
#include "runtime/cpu/play/sequence.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, LENGTH = 24, MOST = 14, BASES = BASE_RANKS + NBUFFERS * RANKS };

struct buffers {
	int32_t of[BASES][LENGTH];
	bool written[BASES][LENGTH];
	_Alignas(CACHE_LINE) unsigned char temporaries[1 << 14];
};

static uint32_t base_of(uint32_t rank, uint32_t buffer)
{
	return BASE_RANKS + NBUFFERS * rank + buffer;
}

static struct place_at place(uint32_t base, uint32_t element)
{
	return (struct place_at){ base, element * 4 };
}

static void begin(struct sequence *q, struct piece_at *pieces, int op)
{
	const struct reduce *r = reduce_best()->types[CCS_INT32];

	*q = (struct sequence){ .pieces = pieces, .tile = LENGTH, .ntiles = 1 };
	q->layout.nranks = RANKS;
	q->layout.esize = 4;
	q->layout.key.op = op;
	q->layout.combine = r->combine[op];
	q->layout.fold = r->fold[op];
	q->layout.divide = r->divide;
}

static void copies(struct sequence *q, struct place_at to, struct place_at from, uint32_t n)
{
	q->pieces[q->n++] = (struct piece_at){ .a = from, .dst = to, .n = n, .kind = PIECE_COPY };
}

static void combines(struct sequence *q, struct place_at to, struct place_at a, struct place_at b,
		     uint32_t n)
{
	q->pieces[q->n++] =
		(struct piece_at){ .a = a, .b = b, .dst = to, .n = n, .kind = PIECE_COMBINE };
}

static void fill(struct buffers *m)
{
	memset(m, 0, sizeof(*m));
	for (int b = 0; b < BASES; b++)
		for (int i = 0; i < LENGTH; i++)
			m->of[b][i] = 1000 * b + 7 * i * (i % 3 - 1);
}

/* One piece after another. */
static void do_pieces(const struct sequence *q, struct buffers *m)
{
	for (uint32_t i = 0; i < q->n; i++) {
		const struct piece_at *p = q->pieces + i;
		int32_t *to = m->of[p->dst.base] + p->dst.at / 4;
		const int32_t *a = m->of[p->a.base] + p->a.at / 4;

		if (p->kind == PIECE_COMBINE)
			q->layout.combine(to, a, m->of[p->b.base] + p->b.at / 4, p->n);
		else if (p->kind == PIECE_COPY && a != to)
			memcpy(to, a, 4 * (size_t)p->n);
		else if (p->kind == PIECE_OTHER)
			q->layout.divide(to, p->n, RANKS);
		memset(m->written[p->dst.base] + p->dst.at / 4, true, p->n);
	}
}

/* For all ranks' buffers, or with outputs in the inputs' places. */
static void do_folds(const struct sequence *q, const struct folds *f, struct buffers *m,
		     bool in_place)
{
	unsigned char *bases[BASES] = { 0 };

	assert_true(f->temporaries <= sizeof(m->temporaries));
	bases[BASE_SLOTS] = m->temporaries;
	for (uint32_t r = 0; r < RANKS; r++) {
		bases[base_of(r, BUFFER_SEND)] = (unsigned char *)m->of[base_of(r, BUFFER_SEND)];
		bases[base_of(r, BUFFER_RECV)] =
			(unsigned char *)m->of[base_of(r, in_place ? BUFFER_SEND : BUFFER_RECV)];
	}
	folds_play(&q->layout, f, bases, 0, SIZE_MAX);
}

/* The outputs of these ranks are right, and those of all other ranks untouched. */
static void compare(const struct sequence *q, uint64_t ranks, bool in_place)
{
	static struct buffers wanted, before, got;
	struct folds *f = folds_find(q, ranks);

	fill(&wanted);
	fill(&before);
	fill(&got);
	do_pieces(q, &wanted);
	assert_non_null(f);
	if (in_place && f->apart) {
		folds_free(f);
		return;
	}
	do_folds(q, f, &got, in_place);
	folds_free(f);
	for (uint32_t r = 0; r < RANKS; r++) {
		uint32_t out = base_of(r, BUFFER_RECV), in = base_of(r, BUFFER_SEND);

		for (int i = 0; i < LENGTH; i++) {
			bool stored = wanted.written[out][i] && (ranks >> r & 1);

			assert_int_equal(got.of[in_place ? in : out][i],
					 stored	    ? wanted.of[out][i]
					 : in_place ? before.of[in][i]
						    : before.of[out][i]);
		}
	}
}

/* ---- random pieces ------------------------------------------------------------------------- */

static bool is_written(const struct buffers *m, struct place_at p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!m->written[p.base][p.at / 4 + i])
			return false;
	return true;
}

static struct place_at any_place(struct rng *g, uint32_t n)
{
	uint32_t r = (uint32_t)rng_below(g, RANKS), b = (uint32_t)rng_below(g, NBUFFERS);

	return place(rng_below(g, 6) ? base_of(r, b) : BASE_SLOTS,
		     (uint32_t)rng_below(g, LENGTH - (int)n + 1));
}

static struct place_at any_source(struct rng *g, const struct buffers *m, uint32_t n)
{
	for (int tries = 0; tries < 50; tries++) {
		struct place_at p = any_place(g, n);

		if (is_written(m, p, n))
			return p;
	}
	return place(base_of(0, BUFFER_SEND), 0);
}

static bool clashes(struct place_at x, struct place_at y, uint32_t n)
{
	return x.base == y.base && x.at != y.at && x.at < y.at + 4 * n && y.at < x.at + 4 * n;
}

static void make_pieces(struct rng *g, struct sequence *q)
{
	static struct buffers m;
	int pieces = 1 + rng_below(g, MOST);

	memset(&m, 0, sizeof(m));
	for (uint32_t r = 0; r < RANKS; r++)
		memset(m.written[base_of(r, BUFFER_SEND)], true, LENGTH);
	for (int i = 0; i < pieces; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(g, 8);
		struct place_at a = any_source(g, &m, n), b = any_source(g, &m, n);
		struct place_at to = any_place(g, n);

		if ((to.base >= BASE_RANKS && (to.base - BASE_RANKS) % NBUFFERS == BUFFER_SEND) ||
		    clashes(to, a, n) || clashes(to, b, n))
			continue;
		if (rng_below(g, 3))
			combines(q, to, a, b, n);
		else
			copies(q, to, a, n);
		memset(m.written[to.base] + to.at / 4, true, n);
	}
}

static void any(void **state)
{
	struct rng g = { 1 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct piece_at pieces[MOST];
		struct sequence q;

		begin(&q, pieces, i % 2 ? CCS_SUM : CCS_MAX);
		q.layout.past = i % 3 ? NULL : reduce_best()->stream;
		make_pieces(&g, &q);
		compare(&q, (1 << RANKS) - 1, false);
		compare(&q, (uint64_t)rng_below(&g, 1 << RANKS), false);
		compare(&q, (1 << RANKS) - 1, true);
	}
}

/* ---- long ones ----------------------------------------------------------------------------- */

enum { LONG = 3000, AROUND = 40 };

/* Rank r's output begins at element `at`: the sum of two inputs at two ranks, its own input at
 * the third, in the first n elements; and nothing else. */
static void compare_long(int32_t (*out)[LONG + AROUND], size_t at, uint32_t n)
{
	for (uint32_t r = 0; r < RANKS; r++)
		for (size_t i = 0; i < LONG + AROUND; i++) {
			int32_t x = (int32_t)(i - at) * 5;

			assert_int_equal(out[r][i], i - at >= n ? -1 : r < 2 ? 2 * x + 1 : x + 2);
		}
}

static void long_one(struct rng *g, bool past, uint32_t n)
{
	static int32_t in[RANKS][LONG + AROUND], out[RANKS][LONG + AROUND];
	unsigned char *bases[BASES] = { 0 };
	size_t at = 1 + (size_t)rng_below(g, AROUND - 1);
	struct piece_at pieces[3];
	struct sequence q;
	struct folds *f;

	begin(&q, pieces, CCS_SUM);
	q.tile = n;
	q.layout.past = past ? reduce_best()->stream : NULL;
	combines(&q, place(base_of(0, BUFFER_RECV), 0), place(base_of(0, BUFFER_SEND), 0),
		 place(base_of(1, BUFFER_SEND), 0), n);
	copies(&q, place(base_of(1, BUFFER_RECV), 0), place(base_of(0, BUFFER_RECV), 0), n);
	copies(&q, place(base_of(2, BUFFER_RECV), 0), place(base_of(2, BUFFER_SEND), 0), n);
	for (uint32_t r = 0; r < RANKS; r++) {
		for (int32_t i = 0; i < LONG + AROUND; i++)
			in[r][i] = i * 5 + (int32_t)r;
		memset(out[r], 0xff, sizeof(out[r]));
		bases[base_of(r, BUFFER_SEND)] = (unsigned char *)in[r];
		bases[base_of(r, BUFFER_RECV)] = (unsigned char *)(out[r] + at);
	}
	f = folds_find(&q, FOLDS_ALL);
	assert_non_null(f);
	folds_play(&q.layout, f, bases, 0, SIZE_MAX);
	compare_long(out, at, n);
	folds_free(f);
}

/* Longer than the blocks that go past the caches, to any element on. */
static void any_long(void **state)
{
	struct rng g = { 3 };

	(void)state;
	for (int i = 0; i < 100; i++)
		long_one(&g, i % 4, 1 + (uint32_t)rng_below(&g, LONG));
}

/* ---- special ones -------------------------------------------------------------------------- */

/* x + y at one rank, y + x at another, and a copy of it: one fold, if operands may change places. */
static void once_for_all(void **state)
{
	const int ops[] = { CCS_SUM, CCS_MIN };
	const uint32_t folds[] = { 1, 2 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct place_at x = place(base_of(0, BUFFER_SEND), 0);
		struct place_at y = place(base_of(1, BUFFER_SEND), 0);
		struct piece_at pieces[3];
		struct sequence q;
		struct folds *f;

		begin(&q, pieces, ops[i]);
		combines(&q, place(base_of(0, BUFFER_RECV), 0), x, y, 8);
		combines(&q, place(base_of(1, BUFFER_RECV), 0), y, x, 8);
		copies(&q, place(base_of(2, BUFFER_RECV), 0), place(base_of(0, BUFFER_RECV), 0), 8);
		f = folds_find(&q, FOLDS_ALL);
		assert_non_null(f);
		assert_int_equal(f->n, folds[i]);
		assert_int_equal(f->temporaries, 0);
		assert_int_equal(f->apart,
				 folds[i] > 1); /* the first stores what the second reads */
		folds_free(f);
		compare(&q, 7, false);
	}
}

/* What two outputs need is stored once; for one of them alone it is combined on the way. */
static void shared_value(void **state)
{
	struct piece_at pieces[3];
	struct sequence q;
	struct folds *f;

	(void)state;
	begin(&q, pieces, CCS_SUM);
	combines(&q, place(BASE_SLOTS, 0), place(base_of(0, BUFFER_SEND), 0),
		 place(base_of(1, BUFFER_SEND), 0), 8);
	combines(&q, place(base_of(0, BUFFER_RECV), 0), place(BASE_SLOTS, 0),
		 place(base_of(2, BUFFER_SEND), 0), 8);
	combines(&q, place(base_of(1, BUFFER_RECV), 0), place(BASE_SLOTS, 0),
		 place(base_of(1, BUFFER_SEND), 8), 8);
	f = folds_find(&q, FOLDS_ALL);
	assert_int_equal(f->n, 3);
	assert_int_equal(f->temporaries, CACHE_LINE);
	folds_free(f);
	f = folds_find(&q, 1);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->of[0].sources, 3);
	assert_int_equal(f->temporaries, 0);
	folds_free(f);
	compare(&q, 7, false);
	compare(&q, 1, false);
}

static void average(void **state)
{
	struct piece_at pieces[4];
	struct sequence q;

	(void)state;
	begin(&q, pieces, CCS_AVG);
	combines(&q, place(base_of(0, BUFFER_RECV), 0), place(base_of(0, BUFFER_SEND), 0),
		 place(base_of(1, BUFFER_SEND), 0), 8);
	q.pieces[q.n++] = (struct piece_at){ .dst = place(base_of(0, BUFFER_RECV), 0),
					     .n = 8,
					     .kind = PIECE_OTHER };
	copies(&q, place(base_of(2, BUFFER_RECV), 3), place(base_of(0, BUFFER_RECV), 0), 8);
	compare(&q, 7, false);
	compare(&q, 4, false);
}

/* Two chunks of one rank change places: in place the second would find the first. */
static void not_in_place(void **state)
{
	struct piece_at pieces[2];
	struct sequence q;
	struct folds *f;
	unsigned char buffer[2 * 8 * 4];

	(void)state;
	begin(&q, pieces, CCS_SUM);
	copies(&q, place(base_of(0, BUFFER_RECV), 0), place(base_of(0, BUFFER_SEND), 8), 8);
	copies(&q, place(base_of(0, BUFFER_RECV), 8), place(base_of(0, BUFFER_SEND), 0), 8);
	f = folds_find(&q, FOLDS_ALL);
	assert_true(f->apart);
	assert_int_equal(f->reach, sizeof(buffer));
	assert_false(folds_suit(f, buffer, buffer));
	assert_false(folds_suit(f, buffer, buffer + 32));
	assert_true(folds_suit(f, buffer, buffer + sizeof(buffer)));
	folds_free(f);
	compare(&q, 7, false);
}

/* The passes of pieces that are an operation each, without messages. */
static uint32_t passes_of(struct sequence *q, struct folds **f)
{
	static const struct ccs_op none = { .in = CCS_NONE };
	struct ccs_op rows[4] = { none, none, none, none };
	struct op_end ops[4] = { { 0, 0, 1 }, { 1, 0, 2 }, { 2, 0, 3 }, { 3, 0, 4 } };
	struct ccs_plan plan = { .ops.n = 4 };
	struct plan_view view = { .plan = &plan, .ops = rows };

	assert_int_equal(q->n, 4);
	q->layout.view = &view;
	q->ops = ops;
	q->nops = 4;
	*f = q->folds = folds_find(q, FOLDS_ALL);
	assert_non_null(*f);
	folds_find_passes(q);
	assert_int_equal((*f)->pass[(*f)->npasses].fold, (*f)->n);
	assert_int_equal((*f)->pass[(*f)->npasses].op, 4);
	return (*f)->npasses;
}

/* Two chunks, whose operations alternate: rank 0 combines, rank 2 copies, to `to` of another chunk or
 * of the same. */
static uint32_t passes_of_chunks(uint32_t n, uint32_t to, struct folds **f)
{
	struct piece_at pieces[4];
	struct sequence q;

	begin(&q, pieces, CCS_SUM);
	q.tile = n;
	for (uint32_t chunk = 0; chunk < 2; chunk++)
		combines(&q, place(base_of(0, BUFFER_RECV), chunk * n),
			 place(base_of(0, BUFFER_SEND), chunk * n),
			 place(base_of(1, BUFFER_SEND), chunk * n), n);
	for (uint32_t chunk = 0; chunk < 2; chunk++)
		copies(&q, place(base_of(2, BUFFER_RECV), chunk * to),
		       place(base_of(0, BUFFER_RECV), chunk * n), n);
	return passes_of(&q, f);
}

static void passes(void **state)
{
	enum { CHUNK = 1 << 13 };
	const uint32_t rows[] = { 0, 2, 1, 3 };
	struct folds *f;

	(void)state;
	assert_int_equal(passes_of_chunks(CHUNK, CHUNK, &f), 2);
	assert_int_equal(f->pass[1].fold, 1);
	assert_int_equal(f->pass[1].op, 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(f->ops[i].row, rows[i]);
	folds_free(f);
	assert_int_equal(passes_of_chunks(CHUNK, CHUNK - 1, &f), 1); /* rank 2's chunks overlap */
	for (int i = 0; i < 4; i++)
		assert_int_equal(f->ops[i].row, i);
	folds_free(f);
	assert_int_equal(passes_of_chunks(16, 16, &f), 1); /* too short to read the clock */
	folds_free(f);
}

/* A value that was never stored, or an input that is stored to, is reported; the pieces run then. */
static void unknown(void **state)
{
	struct piece_at pieces[1];
	struct sequence q;

	(void)state;
	begin(&q, pieces, CCS_SUM);
	copies(&q, place(base_of(0, BUFFER_RECV), 0), place(base_of(1, BUFFER_RECV), 0), 4);
	assert_null(folds_find(&q, FOLDS_ALL));
	begin(&q, pieces, CCS_SUM);
	copies(&q, place(base_of(0, BUFFER_SEND), 0), place(base_of(1, BUFFER_SEND), 0), 4);
	assert_null(folds_find(&q, FOLDS_ALL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any),		cmocka_unit_test(any_long),
		cmocka_unit_test(once_for_all), cmocka_unit_test(shared_value),
		cmocka_unit_test(average),	cmocka_unit_test(not_in_place),
		cmocka_unit_test(passes),	cmocka_unit_test(unknown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
