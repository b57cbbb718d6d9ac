/*
 * Symbolic values (compiler/check/values/value.h) against plain arrays of counts: random
 * histories of combinations over a few ranks and cells, and after each step every
 * question that the proof asks is answered twice.
 */
#include "compiler/check/values/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 7, CELLS = 3, ALL = RANKS * CELLS, VALUES = 120, HISTORIES = 600, MOST = 1000000 };

/* How often a value holds each contribution: by rank * CELLS + cell. */
struct counts {
	uint32_t n[ALL];
};

static struct counts count_shares(const struct share *v, uint32_t n)
{
	struct counts c = { { 0 } };

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < v[i].n; j++)
			c.n[(v[i].first + j) * CELLS + v[i].cell] += v[i].times;
	return c;
}

static void shares_are_sorted(const struct share *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		assert_true(
			v[i - 1].cell < v[i].cell ||
			(v[i - 1].cell == v[i].cell && v[i - 1].first + v[i - 1].n <= v[i].first));
}

static void compare(struct values *v, struct arena *a, uint32_t x, const struct counts *cx,
		    uint32_t y, const struct counts *cy)
{
	struct shares rx = { 0 }, ry = { 0 }, room = { 0 };
	bool lacks = false, foreign = false, twice = false, overlap = false;
	struct difference d;

	value_shares(v, y, &rx); /* room that was used before */
	value_shares(v, x, &rx);
	value_shares(v, y, &ry);
	shares_are_sorted(rx.v, rx.n);
	assert_memory_equal(count_shares(rx.v, rx.n).n, cx->n, sizeof(cx->n));
	for (int k = 0; k < ALL; k++) {
		lacks = lacks || cx->n[k] < cy->n[k];
		foreign = foreign || (cx->n[k] && !cy->n[k]);
		twice = twice || (cy->n[k] && cx->n[k] > cy->n[k]);
		overlap = overlap || (cx->n[k] && cy->n[k]);
	}
	d = shares_compare(rx.v, rx.n, ry.v, ry.n);
	assert_int_equal(d.lacks, lacks);
	assert_int_equal(d.foreign, foreign);
	assert_int_equal(d.twice, twice);
	assert_int_equal(shares_overlap(rx.v, rx.n, ry.v, ry.n), overlap);
	assert_int_equal(value_error(v, x, ry.v, ry.n, &room), foreign ? 405
							       : lacks ? 403
							       : twice ? 404
								       : 0);
	for (int times = 0; times < 2; times++) {
		uint32_t n;
		struct share *left = shares_without(a, rx.v, rx.n, ry.v, ry.n, times, &n);
		struct counts c = count_shares(left, n);

		for (int k = 0; k < ALL; k++) {
			uint32_t want = cy->n[k] ? 0 : cx->n[k];

			if (times)
				want = cx->n[k] > cy->n[k] ? cx->n[k] - cy->n[k] : 0;
			assert_int_equal(c.n[k], want);
		}
	}
}

/* Most combinations are of recent values: longer histories, and longer shares. */
static void history(unsigned seed)
{
	struct counts counts[VALUES];
	uint32_t id[VALUES], n = ALL;
	struct values v;
	struct arena a;

	arena_init(&a, 0, NULL);
	assert_true(values_init(&v, &a, RANKS, CELLS, 0));
	memset(counts, 0, sizeof(counts));
	for (uint32_t i = 0; i < n; i++) {
		id[i] = i;
		counts[i].n[i] = 1;
	}
	srand(seed);
	for (bool small = true; small && n < VALUES; n++) {
		uint32_t x = (uint32_t)rand() % n, y = (uint32_t)rand() % n;
		bool same_cell;

		if (rand() % 3)
			x = n - 1 - (uint32_t)rand() % 5;
		id[n] = value_combine(&v, id[x], id[y], &same_cell);
		assert_int_equal(same_cell, value_cell(&v, id[x]) == value_cell(&v, id[y]));
		for (int k = 0; k < ALL; k++) {
			counts[n].n[k] = counts[x].n[k] + counts[y].n[k];
			small = small && counts[n].n[k] < MOST;
		}
		y = (uint32_t)rand() % n;
		compare(&v, &a, id[n], &counts[n], id[y], &counts[y]);
	}
	arena_free(&a);
}

static void random_histories(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < HISTORIES; seed++)
		history(seed);
}

/* As a ring builds them: one share that grows, and goes round behind the last rank. */
static void shares_go_round(void **state)
{
	struct values v;
	struct shares r = { 0 };
	struct arena a;
	uint32_t sum = 5 * CELLS + 1;
	bool same_cell;

	(void)state;
	arena_init(&a, 0, NULL);
	assert_true(values_init(&v, &a, RANKS, CELLS, RANKS));
	for (uint32_t i = 1; i < RANKS; i++) {
		uint32_t next = (5 + i) % RANKS * CELLS + 1;

		sum = value_combine_fast(&v, next, sum, &same_cell);
		assert_true(same_cell);
		value_shares(&v, sum, &r);
		assert_int_equal(r.n, i >= 2 && i < RANKS - 1 ? 2 : 1);
	}
	assert_int_equal(r.v[0].cell, 1);
	assert_int_equal(r.v[0].first, 0);
	assert_int_equal(r.v[0].n, RANKS);
	assert_int_equal(r.v[0].times, 1);
	sum = value_combine(&v, sum, 0, &same_cell);
	assert_false(same_cell);
	arena_free(&a);
}

/* Numbers of values end at 2^32. */
static void too_many_initial_values(void **state)
{
	struct values v;
	struct arena a;

	(void)state;
	arena_init(&a, 0, NULL);
	assert_false(values_init(&v, &a, 65536, 65536, 0));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_histories),
		cmocka_unit_test(shares_go_round),
		cmocka_unit_test(too_many_initial_values),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
