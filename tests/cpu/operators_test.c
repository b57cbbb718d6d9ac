/*
 * What is combined otherwise than by an operator alone: premul-sums with a factor of each rank's
 * own, or with one for each element. On every engine of the CPU, the same cases: tasks, processes,
 * and with --mpi processes of MPI.
 *
 * usage: operators_test MODULES
 *        mpirun -np 4 operators_test MODULES --mpi
 */
#include "tests/support/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, LONG = 40003 };

/* Where the ranks are: those of this process, of N. */
struct place {
	const char *name;
	struct ccs_comm **comm; /* [N] */
	int first, last;
};

/* Memory of a rank. */
struct room {
	int64_t *in, *out, *factors;
};

static bool open_room(struct room *m, size_t n)
{
	m->in = calloc(n, sizeof(*m->in));
	m->out = calloc(n, sizeof(*m->out));
	m->factors = calloc(n, sizeof(*m->factors));
	return m->in && m->out && m->factors;
}

static void close_room(struct room *m)
{
	free(m->in);
	free(m->out);
	free(m->factors);
}

/* It is right if it is in every process; the first says so. */
static bool all_say(const struct place *at, bool here, const char *what, const char *of)
{
	struct ccs_comm *c = at->comm[at->first];
	ccs_status s = ccs_comm_agree(c, here ? CCS_OK : ccs_error_set(CCS_EINVAL, "not so"));

	if (!at->first)
		say(!s, "%s: %s, %s", at->name, what, of);
	return !s;
}

/* ---- premul-sums ------------------------------------------------------------------------ */

static int64_t value(int rank, size_t i)
{
	return (int64_t)(i % 1000) * 3 + rank - 5;
}

static int64_t factor(int rank, size_t i, bool vector)
{
	return vector ? (int64_t)(i % 7) - 3 * rank : 2 * rank - 3;
}

static int64_t wanted(size_t i, bool vector)
{
	int64_t sum = 0;

	for (int r = 0; r < N; r++)
		sum += value(r, i) * factor(r, i, vector);
	return sum;
}

static ccs_status premul(const struct place *at, const struct ccs_module *m, struct room *room,
			 size_t count, bool vector, bool in_place)
{
	ccs_group_start();
	for (int r = at->first; r < at->last; r++) {
		int64_t *in = in_place ? room[r].out : room[r].in, one = factor(r, 0, false);

		if (vector)
			ccs_run_premul_vector(m, in, room[r].out, count, CCS_INT64, room[r].factors,
					      0, at->comm[r], NULL);
		else
			ccs_run_premul(m, in, room[r].out, count, CCS_INT64, &one, 0, at->comm[r],
				       NULL);
	}
	return ccs_group_end();
}

/* `send` elements to a rank, of which it gets `count` from its own on, or all. */
static bool sums(const struct place *at, const struct ccs_module *m, size_t send, size_t count,
		 bool vector, bool in_place)
{
	struct room room[N] = { 0 };
	bool right = true;

	for (int r = at->first; r < at->last; r++) {
		right &= open_room(room + r, send);
		for (size_t i = 0; i < send && right; i++) {
			room[r].in[i] = room[r].out[i] = value(r, i);
			room[r].factors[i] = factor(r, i, true);
		}
	}
	right = right && is(premul(at, m, room, count, vector, in_place), CCS_OK, NULL, "premul");
	for (int r = at->first; r < at->last && right; r++)
		for (size_t i = 0; i < count && right; i++)
			right = room[r].out[i] ==
				wanted(send > count ? (size_t)r * count + i : i, vector);
	for (int r = at->first; r < at->last; r++)
		close_room(room + r);
	return right;
}

static void test_premul(const struct place *at)
{
	static const struct {
		const char *module;
		size_t blocks;
	} of[] = {
		{ "ring_allreduce", 1 },	{ "recursive_doubling_allreduce", 1 },
		{ "fixed_order_allreduce", 1 }, { "ring_reduce_scatter", N },
		{ "one_shot_allreduce", 1 },
	};
	static const size_t counts[] = { 1, 7, LONG };

	for (size_t k = 0; k < 2 * sizeof(of) / sizeof(*of); k++) {
		struct ccs_module *m = team_module(of[k / 2].module);
		bool right = m != NULL, vector = k % 2;

		for (size_t i = 0; i < 6 && right; i++)
			right = (i % 2 && of[k / 2].blocks > 1) ||
				sums(at, m, counts[i / 2] * of[k / 2].blocks, counts[i / 2], vector,
				     i % 2);
		all_say(at, right,
			vector ? "a factor for each element" : "a factor for each rank",
			of[k / 2].module);
		ccs_module_free(m);
	}
}

static void test_premul_refused(const struct place *at)
{
	struct ccs_module *m = team_module("ring_allreduce");
	struct ccs_comm *c = at->comm[at->first];
	int64_t x[4] = { 0 };
	struct ccs_run_options both = { .scalar = x, .factors = x };

	says(ccs_run_premul_vector(m, x, x, 1, CCS_INT64, NULL, 0, c, NULL), CCS_EINVAL,
	     "the factors are NULL", "no factors");
	says(ccs_run_premul_vector(m, x, x, 1, CCS_INT64, (char *)x + 4, 0, c, NULL), CCS_EINVAL,
	     "not aligned to their elements' 8 bytes", "factors between elements");
	says(ccs_run_with(m, &both, x, x, 1, CCS_INT64, CCS_SUM, 0, c, NULL), CCS_EINVAL,
	     "not both", "a scalar, and factors");
	ccs_module_free(m);
}

/* ---- engines ---------------------------------------------------------------------------- */

static void test_all(const struct place *at)
{
	test_premul(at);
}

static void test_tasks(void)
{
	struct ccs_comm *comm[N];
	struct place at = { "tasks", comm, 0, N };

	if (!says(ccs_comm_init_all(comm, N), CCS_OK, NULL, "tasks"))
		return;
	test_all(&at);
	test_premul_refused(&at);
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
}

static bool act(struct member *m)
{
	struct ccs_comm *comm[N] = { NULL };
	struct place at = { "processes", comm, m->rank, m->rank + 1 };

	if (!member_joins(m))
		return false;
	comm[m->rank] = m->comm;
	test_all(&at);
	return true;
}

static int test_mpi(void)
{
	struct ccs_comm *comm[N] = { NULL }, *mine;
	struct place at = { "MPI", comm, 0, 0 };

	if (!is(ccs_comm_init_mpi(&mine), CCS_OK, NULL, "MPI") || ccs_comm_size(mine) != N)
		return 1;
	at.first = ccs_comm_rank(mine);
	at.last = at.first + 1;
	comm[at.first] = mine;
	test_all(&at);
	ccs_comm_free(mine);
	return 0;
}

int main(int argc, char **argv)
{
	setenv("MODULES", argc > 1 ? argv[1] : "build/tests/modules", 1);
	if (argc > 2 && !strcmp(argv[2], "--mpi"))
		return test_mpi();
	test_tasks();
	return !say(team_run(N, act, NULL), "processes come to their end");
}
