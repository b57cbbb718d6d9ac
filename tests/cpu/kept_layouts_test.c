/*
 * Layouts that processes keep (runtime/cpu/shm/procs_layouts.c): calls of several kinds in turn are laid
 * out once each, and go ahead of others as calls of one kind do; more kinds than there are places, in
 * any order, some of them large, at random paces, come to what they should; and a rank that makes
 * another call than the rest is seen where both calls are kept.
 *
 * usage: kept_layouts_test DIRECTORY-OF-MODULES
 */
#include "runtime/cpu/shm/procs.h"
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 4, ODD = 2, FEW = 4, LARGE_COUNT = 300000, KINDS = 24, CALLS = 2000, PAUSES = 40 };
enum { AHEAD = 1, THROUGH }; /* steps */

/* Of a buffer, with some elements more than the longest call has. */
#define ROOM ((LARGE_COUNT + 8) * sizeof(int32_t))

/* A sort of call: a sum of all, or a broadcast from a root. */
struct kind {
	const struct ccs_module *module;
	bool sum;
	size_t count;
	int root;
};

struct modules {
	struct ccs_module *sum, *broadcast;
};

static bool modules_load(struct modules *m)
{
	m->sum = team_module("ring_allreduce");
	m->broadcast = team_module("binomial_broadcast");
	return m->sum && m->broadcast;
}

static void modules_free(struct modules *m)
{
	ccs_module_free(m->sum);
	ccs_module_free(m->broadcast);
}

static struct kind kind_of(const struct modules *m, int i)
{
	static const size_t counts[] = { 1, 2, 3, 7, 64, 501, 1900, 5000 };
	size_t count = i == 2 ? LARGE_COUNT : counts[i / 3 % 8];

	if (i % 3)
		return (struct kind){ m->broadcast, false, count, i % N };
	return (struct kind){ m->sum, true, count, 0 };
}

static int32_t input(int rank, int call, size_t i)
{
	return (int32_t)(i % 1000) * 3 + rank * 100000 + call;
}

static int32_t output(const struct kind *k, int call, size_t i)
{
	int32_t sum = 0;

	if (!k->sum)
		return input(k->root, call, i);
	for (int r = 0; r < N; r++)
		sum += input(r, call, i);
	return sum;
}

static bool call(const struct member *m, const struct kind *k, int number, int32_t *in,
		 int32_t *out)
{
	ccs_status s;

	for (size_t i = 0; i < k->count; i++) {
		in[i] = input(m->rank, number, i);
		out[i] = -1;
	}
	s = ccs_run(k->module, in, out, k->count, CCS_INT32, CCS_SUM, k->root, m->comm, NULL);
	if (!is(s, CCS_OK, NULL, "a call"))
		return false;
	for (size_t i = 0; i < k->count; i++) {
		if (out[i] == output(k, number, i))
			continue;
		printf("# rank %d, call %d, element %zu of %zu: %d, not %d\n", m->rank, number, i,
		       k->count, out[i], output(k, number, i));
		return false;
	}
	return true;
}

static uint64_t made(const struct member *m)
{
	return cpu_of(m->comm->world)->layouts;
}

/* ---- calls in turn ---------------------------------------------------------------------------- */

/* All of a few kinds, five times, and each is laid out but once; the long one, if it is read where it
 * lies as well as copied (runtime/cpu/shm/procs_ways.c), once for either. */
static bool laid_out_once(const struct member *m, const struct modules *all, int32_t *in,
			  int32_t *out)
{
	uint64_t before = made(m);
	bool ok = true;

	for (int i = 0; i < 5 * FEW && ok; i++) {
		struct kind k = kind_of(all, i % FEW);

		ok = call(m, &k, i, in, out);
	}
	if (ok && made(m) != before + FEW && made(m) != before + FEW + 1)
		printf("# rank %d made %d layouts\n", m->rank, (int)(made(m) - before));
	return ok && (made(m) == before + FEW || made(m) == before + FEW + 1);
}

/* A root's broadcasts of two kinds, in turn, before others have called. */
static bool goes_ahead(struct member *m, const struct modules *all, int32_t *in, int32_t *out)
{
	bool ok = true;

	for (int i = 0; i < 6 && ok; i++) {
		struct kind k = { all->broadcast, false, i % 2 ? 3 : 64, 0 };

		if (i == 2 && m->rank) /* both are laid out */
			ok = member_await(m, 0, AHEAD);
		ok = ok && call(m, &k, i, in, out);
	}
	member_step(m, AHEAD);
	return ok;
}

static bool in_turn(struct member *m)
{
	struct modules all = { 0 };
	int32_t *in = malloc(ROOM), *out = malloc(ROOM);
	bool ok = in && out && modules_load(&all) && member_joins(m) &&
		  laid_out_once(m, &all, in, out) && goes_ahead(m, &all, in, out);

	modules_free(&all);
	free(in);
	free(out);
	return ok;
}

/* ---- many kinds ------------------------------------------------------------------------------- */

/* Kinds that are near one another for a while, so that some are kept and some are not; or, in turns
 * with them, one root's alone, who runs ahead. All ranks draw the same. */
static struct kind draw(const struct modules *all, struct rng *g, int number)
{
	int phase = number / 100;
	int i = rng_below(g, 20) ? phase * 5 + rng_below(g, 7) : rng_below(g, KINDS);

	if (phase % 2)
		return (struct kind){ all->broadcast, false, (size_t)rng_below(g, KINDS) * 37 + 1,
				      phase / 2 % N };
	return kind_of(all, i % KINDS);
}

static bool at_random(struct member *m)
{
	struct modules all = { 0 };
	int32_t *in = malloc(ROOM), *out = malloc(ROOM);
	struct rng same = { 7 }, own = { 100 + (uint64_t)m->rank };
	bool ok = in && out && modules_load(&all) && member_joins(m);

	for (int i = 0; i < CALLS && ok; i++) {
		struct kind k = draw(&all, &same, i);

		if (!rng_below(&own, PAUSES))
			usleep((useconds_t)rng_below(&own, 300));
		/* (buffers of its own) */
		ok = call(m, &k, i, in + k.count % 5, out + k.count % 7);
	}
	/* else nothing was evicted, or nothing kept */
	if (ok && (made(m) <= KINDS || made(m) > CALLS / 2))
		printf("# rank %d made %d layouts\n", m->rank, (int)made(m));
	ok = ok && made(m) > KINDS && made(m) < CALLS / 2;
	modules_free(&all);
	free(in);
	free(out);
	return ok;
}

/* ---- calls that differ ------------------------------------------------------------------------ */

/* Both are kept, after many others; one rank makes the other: all fail, and say why. */
static bool differ(struct member *m)
{
	struct modules all = { 0 };
	int32_t in[64] = { 0 }, out[64];
	bool ok = modules_load(&all) && member_joins(m);
	struct kind two[] = { kind_of(&all, 0), kind_of(&all, 3) };
	ccs_status s = CCS_OK;

	for (int i = 0; i < 100 && ok; i++) {
		struct kind other = { all.sum, true, (size_t)(i * 7 % 45 + 3), 0 };

		ok = call(m, i % 9 ? &other : two + i % 2, i, in, out);
	}
	for (int i = 0; i < 5 && ok; i++)
		ok = call(m, two + i % 2, i, in, out);
	ok = ok && ccs_comm_set_timeout(m->comm, 5000) == CCS_OK && member_meet(m, THROUGH);
	for (int i = 0; i < 2 && ok && !s; i++) /* what a rank needs of others may all be there */
		s = ccs_run(all.sum, in, out, two[m->rank == ODD].count, CCS_INT32, CCS_SUM, 0,
			    m->comm, NULL);
	ok = ok && is(s, CCS_EINVAL, "the ranks' calls differ", "a call") &&
	     is(s, CCS_EINVAL, " with count 1 of int32", "the rule") &&
	     is(s, CCS_EINVAL, " with count 2 of int32", "the exception");
	modules_free(&all);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok;

	if (argc != 2) {
		fprintf(stderr, "usage: kept_layouts_test DIRECTORY-OF-MODULES\n");
		return 2;
	}
	setenv("MODULES", argv[1], 1);
	ok = say(team_run(N, in_turn, NULL), "calls in turn are laid out once, and go ahead");
	ok &= say(team_run(N, at_random, NULL), "calls of many kinds, in any order");
	for (int i = 0; i < 20 && ok; i++)
		ok = team_run(N, differ, NULL);
	ok = say(ok, "kept calls that differ");
	return !ok;
}
