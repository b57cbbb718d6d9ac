/*
 * The least times of collectives (compiler/cost/bound.c) on random small machines, against every set of
 * nodes and every division of them.
 *
 *   flows      allgather and its kin: exactly the narrowest set
 *   allreduce  at least what the narrowest set says, at most what the narrowest division says; twice
 *              allgather where all ranks are alike
 *   pairs      all_to_all: at most what a schedule over shortest paths takes, each link's share by hand
 *   nowhere    a rank without a path is reported
 */
#include "compiler/cost/bound.h"
#include "tests/support/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { NODES = 7, MACHINES = 3000 };

struct made {
	struct arena arena, scratch;
	struct diags diags;
	struct ctx ctx;
	struct machine m;
	struct machine_link links[NODES * NODES];
	uint32_t first[NODES + 1];
};

static struct made *new_made(uint32_t nranks, uint32_t nnodes)
{
	struct made *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	arena_init(&x->arena, 0, NULL);
	arena_init(&x->scratch, 0, NULL);
	x->diags.arena = &x->arena;
	x->ctx = (struct ctx){ .arena = &x->arena, .scratch = &x->scratch, .diags = &x->diags };
	x->m = (struct machine){ .nranks = nranks,
				 .nnodes = nnodes,
				 .name = "made",
				 .links = x->links,
				 .first = x->first,
				 .arena = &x->arena };
	return x;
}

static void drop(struct made *x)
{
	arena_free(&x->scratch);
	arena_free(&x->arena);
	free(x);
}

/* Links in the order of a machine; some machines have every link both ways. */
static struct made *random_made(struct rng *g)
{
	uint32_t nranks = 2 + (uint32_t)rng_below(g, 4),
		 nnodes = nranks + (uint32_t)rng_below(g, 3);
	struct made *x = new_made(nranks, nnodes);
	double wide[NODES][NODES] = { { 0 } };
	bool both = rng_below(g, 2), same = !rng_below(g, 3);

	for (uint32_t a = 0; a < nnodes; a++)
		for (uint32_t b = 0; b < nnodes; b++)
			if (a != b && rng_below(g, 3))
				wide[a][b] = same ? 1e9 : (1 + rng_below(g, 9)) * 1e9;
	for (uint32_t a = 0; a < nnodes; a++)
		for (uint32_t b = 0; b < nnodes; b++) {
			double w = both && b < a ? wide[b][a] : wide[a][b];

			if (w > 0)
				x->links[x->m.nlinks++] =
					(struct machine_link){ a, b, w,
							       (1 + rng_below(g, 5)) * 1e-6 };
			x->first[a + 1] = x->m.nlinks;
		}
	return x;
}

/* Bandwidth of the links into, or out of, a set of nodes. */
static double width(const struct machine *m, uint32_t set, bool out)
{
	double sum = 0;

	for (uint32_t i = 0; i < m->nlinks; i++) {
		uint32_t to = out ? m->links[i].src : m->links[i].dst;
		uint32_t from = out ? m->links[i].dst : m->links[i].src;

		sum += set >> to & 1 && !(set >> from & 1) ? m->links[i].bandwidth : 0;
	}
	return sum;
}

/* Seconds a byte that a set says, for a collective of flows. */
static double set_says(const struct machine *m, enum collective k, uint32_t root, uint32_t set)
{
	const bool out = k == REDUCE_SCATTER || k == REDUCE || k == SCATTER;
	uint32_t in = (uint32_t)__builtin_popcount(set & ((1u << m->nranks) - 1));
	double need = 0;

	if (k == ALLGATHER || k == REDUCE_SCATTER)
		need = in ? (double)(m->nranks - in) / m->nranks : 0;
	else if (k == BROADCAST || k == REDUCE)
		need = in && !(set >> root & 1);
	else
		need = set >> root & 1 ? (double)(m->nranks - in) / m->nranks : 0;
	return need > 0 ? need / width(m, set, out) : 0;
}

static double sets_say(const struct machine *m, enum collective k, uint32_t root)
{
	double most = 0;

	for (uint32_t set = 1; set < 1u << m->nnodes; set++)
		most = fmax(most, set_says(m, k, root, set));
	return most;
}

/* The most that a division into disjoint sets says: `part` are those of nodes 0 .. n - 1, 0: none. */
static double divisions_say(const struct machine *m, uint32_t n, uint32_t *part, uint32_t nparts,
			    bool out)
{
	double most = 0, all = 0;

	if (n == m->nnodes) {
		for (uint32_t p = 1; p <= nparts; p++) {
			uint32_t set = 0;

			for (uint32_t i = 0; i < n; i++)
				set |= part[i] == p ? 1u << i : 0;
			all += width(m, set, out);
		}
		return nparts > 1 ? 2.0 * (nparts - 1) / all : 0;
	}
	for (uint32_t p = n < m->nranks; p <= nparts + (n < m->nranks); p++) {
		part[n] = p;
		most = fmax(most, divisions_say(m, n + 1, part, p > nparts ? p : nparts, out));
	}
	return most;
}

static void same(double a, double b)
{
	if (!(fabs(a - b) <= 1e-12 * fabs(b)) && a != b)
		fail_msg("%.17g, not %.17g", a, b);
}

static void flows(void **state)
{
	static const enum collective kinds[] = { ALLGATHER, REDUCE_SCATTER, BROADCAST,
						 REDUCE,    GATHER,	    SCATTER };
	struct rng g = { 1 };
	uint32_t known = 0, unknown = 0;

	(void)state;
	for (int i = 0; i < MACHINES; i++) {
		struct made *x = random_made(&g);

		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			uint32_t root = (uint32_t)rng_below(&g, (int)x->m.nranks);
			uint32_t before = x->diags.errors;
			double want = sets_say(&x->m, kinds[k], root);
			struct bound b;
			bool found = bound_find(&x->ctx, &x->m, kinds[k], root, UINT64_MAX, &b);

			arena_free(&x->scratch);
			assert_int_equal(found, !isinf(want));
			assert_true(found ? x->diags.errors == before : x->diags.errors > 0);
			known += found;
			unknown += !found;
			if (!found)
				continue;
			same(b.per_byte, want);
			for (uint64_t most = 0; most < 100; most += 11) { /* flows that end early */
				assert_true(bound_find(&x->ctx, &x->m, kinds[k], root, most, &b));
				assert_true(b.per_byte > 0 && b.per_byte <= want * (1 + 1e-12));
				arena_free(&x->scratch);
			}
		}
		drop(x);
	}
	assert_true(known > MACHINES && unknown > MACHINES / 10);
}

static void allreduce(void **state)
{
	struct rng g = { 2 };
	uint32_t twice = 0, less = 0;

	(void)state;
	for (int i = 0; i < MACHINES; i++) {
		struct made *x = random_made(&g);
		uint32_t part[NODES];
		double gathers = sets_say(&x->m, ALLGATHER, 0), cut = 0, most;
		struct bound b;

		if (isinf(gathers) || !bound_find(&x->ctx, &x->m, ALLREDUCE, 0, UINT64_MAX, &b)) {
			drop(x);
			continue;
		}
		for (uint32_t r = 0; r < x->m.nranks; r++)
			cut = fmax(cut,
				   fmax(sets_say(&x->m, BROADCAST, r), sets_say(&x->m, REDUCE, r)));
		most = fmax(cut, fmax(divisions_say(&x->m, 0, part, 0, false),
				      divisions_say(&x->m, 0, part, 0, true)));
		assert_true(b.per_byte >= cut * (1 - 1e-12));
		assert_true(b.per_byte <= most * (1 + 1e-12));
		twice += b.per_byte >= 2 * gathers * (1 - 1e-12);
		less += b.per_byte < 2 * gathers * (1 - 1e-12);
		drop(x);
	}
	assert_true(twice > 100 && less > 100);
}

/* A ring of equal ranks, some with a switch that all have. */
static void alike(void **state)
{
	(void)state;
	for (uint32_t n = 2; n < NODES; n++)
		for (int hub = 0; hub < 2; hub++) {
			struct made *x = new_made(n, n + (uint32_t)hub);
			struct bound reduces, gathers;

			for (uint32_t a = 0; a < n + (uint32_t)hub; a++) {
				for (uint32_t b = 0; b < n + (uint32_t)hub; b++)
					if (a != b && (a == n || b == n || b == (a + 1) % n ||
						       a == (b + 1) % n))
						x->links[x->m.nlinks++] =
							(struct machine_link){ a, b, 3e9, 1e-6 };
				x->first[a + 1] = x->m.nlinks;
			}
			assert_true(bound_find(&x->ctx, &x->m, ALLREDUCE, 0, UINT64_MAX, &reduces));
			assert_true(bound_find(&x->ctx, &x->m, ALLGATHER, 0, UINT64_MAX, &gathers));
			same(gathers.per_byte, sets_say(&x->m, ALLGATHER, 0));
			same(reduces.per_byte, 2 * gathers.per_byte);
			drop(x);
		}
}

/* Sends each pair's data along one shortest path, and looks at the busiest link. */
static double by_shortest_paths(const struct machine *m)
{
	double load[NODES * NODES] = { 0 }, most = 0;

	for (uint32_t from = 0; from < m->nranks; from++) {
		uint32_t by[NODES], far[NODES], queue[NODES], n = 0;

		memset(far, 0xff, sizeof(far));
		far[from] = 0;
		queue[n++] = from;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t l = 0; l < m->nlinks; l++)
				if (m->links[l].src == queue[i] && far[m->links[l].dst] == NONE) {
					far[m->links[l].dst] = far[queue[i]] + 1;
					by[m->links[l].dst] = l;
					queue[n++] = m->links[l].dst;
				}
		for (uint32_t to = 0; to < m->nranks; to++)
			for (uint32_t at = to; at != from; at = m->links[by[at]].src) {
				if (far[at] == NONE)
					return INFINITY;
				load[by[at]] += 1.0 / m->nranks;
			}
	}
	for (uint32_t l = 0; l < m->nlinks; l++)
		most = fmax(most, load[l] / m->links[l].bandwidth);
	return most;
}

static void pairs(void **state)
{
	struct rng g = { 3 };
	uint32_t reached = 0;

	(void)state;
	for (int i = 0; i < MACHINES; i++) {
		struct made *x = random_made(&g);
		double by = by_shortest_paths(&x->m);
		struct bound b;

		if (!isinf(by)) {
			assert_true(bound_find(&x->ctx, &x->m, ALL_TO_ALL, 0, UINT64_MAX, &b));
			assert_true(b.per_byte > 0 && b.per_byte <= by * (1 + 1e-12));
			reached += b.per_byte >= by * (1 - 1e-12);
		}
		drop(x);
	}
	assert_true(reached > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows),
		cmocka_unit_test(allreduce),
		cmocka_unit_test(alike),
		cmocka_unit_test(pairs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
