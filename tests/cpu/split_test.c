/*
 * Communicators of some ranks of a parent, meshes and barriers: their ranks and sizes, the results
 * of their calls, and that parent and child are independent; and errors, which every rank reports
 * in bounded time. The same for every engine on the CPU: a rank is a thread, a process of a team,
 * or a process that mpirun started.
 *
 * usage: split_test DIRECTORY-OF-MODULES tasks|procs|mpi
 */
#include "tests/support/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N = 6, SOON_MS = 300 };

/* One rank, in one case. */
struct part {
	struct ccs_comm *comm;
	struct ccs_module *ring;
	int rank;
};

typedef bool act(struct part *p);

/* ---- what a communicator is ---------------------------------------------------------------- */

/* NULL where want_rank is -1. Its ranks' numbers in the parent, as digits of base 10, say who they
 * are, in their order. */
static bool has(struct part *p, struct ccs_comm *c, int want_rank, int want_size, int digits)
{
	int32_t x, power = 1;

	if (want_rank < 0 || !c)
		return want_rank < 0 && !c;
	for (int i = ccs_comm_rank(c) + 1; i < ccs_comm_size(c); i++)
		power *= 10;
	x = p->rank * power;
	if (ccs_comm_rank(c) != want_rank || ccs_comm_size(c) != want_size) {
		printf("# rank %d is %d of %d there, not %d of %d\n", p->rank, ccs_comm_rank(c),
		       ccs_comm_size(c), want_rank, want_size);
		return false;
	}
	if (want_size > 1 && !is(ccs_run(p->ring, &x, &x, 1, CCS_INT32, CCS_SUM, 0, c, NULL),
				 CCS_OK, NULL, "a call of the new communicator"))
		return false;
	if (x != digits)
		printf("# rank %d sees ranks %d there, not %d\n", p->rank, x, digits);
	return x == digits;
}

/* The parent is unchanged. */
static bool goes_on(struct part *p)
{
	return has(p, p->comm, p->rank, N, 12345);
}

static bool splits(struct part *p, int color, int key, struct ccs_comm **out)
{
	return is(ccs_comm_split(p->comm, color, key, out), CCS_OK, NULL, "ccs_comm_split");
}

/* By whether a rank is odd, the highest first; rank 5 is in neither. */
static bool colors(struct part *p)
{
	struct ccs_comm *c = p->comm;
	int color = p->rank == 5 ? CCS_NO_COLOR : p->rank % 2;
	bool ok = splits(p, color, -p->rank, &c);

	if (color == 0)
		ok = ok && has(p, c, (4 - p->rank) / 2, 3, 420);
	else if (color == 1)
		ok = ok && has(p, c, (3 - p->rank) / 2, 2, 31);
	else
		ok = ok && has(p, c, -1, 0, 0);
	ok = ok && goes_on(p);
	ccs_comm_free(c);
	return ok && splits(p, 7, 3, &c) && has(p, c, p->rank, N, 12345) &&
	       (ccs_comm_free(c), true) && splits(p, CCS_NO_COLOR, 0, &c) && !c;
}

/* A communicator of one rank is split, too. */
static bool goes_alone(struct ccs_comm *one)
{
	struct ccs_comm *again;
	bool ok = is(ccs_comm_split(one, 3, 0, &again), CCS_OK, NULL, "a split of one rank") &&
		  ccs_comm_size(again) == 1 &&
		  is(ccs_barrier(again, NULL), CCS_OK, NULL, "a barrier of one rank");

	ccs_comm_free(again);
	return ok;
}

static bool lists(struct part *p)
{
	static const int one[] = { 4 }, three[] = { 5, 0, 3 };
	struct ccs_comm *a, *b;
	bool ok = is(ccs_comm_group(p->comm, three, 3, &a), CCS_OK, NULL, "ccs_comm_group") &&
		  is(ccs_comm_group(p->comm, one, 1, &b), CCS_OK, NULL, "... of one rank");

	ok = ok && has(p, b, p->rank == 4 ? 0 : -1, 1, 4) && (!b || goes_alone(b)) &&
	     has(p, a,
		 p->rank == 5	? 0
		 : p->rank == 0 ? 1
		 : p->rank == 3 ? 2
				: -1,
		 3, 503);
	ccs_comm_free(a);
	ccs_comm_free(b);
	return ok && goes_on(p);
}

/* A child's child has what was set of the first; and neither needs the one before. */
static bool children(struct part *p)
{
	struct ccs_comm *half, *pair = NULL;
	bool ok = splits(p, p->rank / 3, p->rank, &half);

	ok = ok && is(ccs_comm_split(half, ccs_comm_rank(half) / 2, 0, &pair), CCS_OK, NULL,
		      "a child's child");
	if (p->rank % 2) { /* in another order than the even ranks */
		ccs_comm_free(p->comm);
		ccs_comm_free(half);
	} else {
		ccs_comm_free(half);
		ccs_comm_free(p->comm);
	}
	p->comm = NULL;
	ok = ok && has(p, pair, p->rank % 3 % 2, p->rank % 3 == 2 ? 1 : 2,
		       p->rank < 2	  ? 1
		       : p->rank % 3 == 2 ? p->rank
					  : 34);
	ccs_comm_free(pair);
	return ok;
}

static bool is_at(const struct ccs_mesh *m, int rank)
{
	int at[3];

	return is(ccs_mesh_coordinates(m, rank, at), CCS_OK, NULL, "ccs_mesh_coordinates") &&
	       at[0] == rank / 3 && at[1] == rank % 3 && at[2] == 0;
}

static bool slice(struct part *p, const struct ccs_mesh *m, const int *along, int n, int rank,
		  int size, int digits)
{
	struct ccs_comm *c;
	bool ok = is(ccs_mesh_slice(m, along, n, &c), CCS_OK, NULL, "ccs_mesh_slice") &&
		  has(p, c, rank, size, digits);

	ccs_comm_free(c);
	return ok;
}

/* 2 x 3 x 1. */
static bool meshes(struct part *p)
{
	static const int dims[] = { 2, 3, 1 }, rows[] = { 0 }, columns[] = { 1 }, deep[] = { 2 },
			 all[] = { 0, 1, 2 }, turned[] = { 1, 0 };
	int row = p->rank / 3, column = p->rank % 3;
	struct ccs_mesh *m;
	bool ok = is(ccs_mesh_create(&m, p->comm, dims, 3), CCS_OK, NULL, "ccs_mesh_create") &&
		  is_at(m, 0) && is_at(m, p->rank) && is_at(m, 5);

	ok = ok && slice(p, m, columns, 1, column, 3, row ? 345 : 12) &&
	     slice(p, m, rows, 1, row, 2, column * 10 + column + 3) &&
	     slice(p, m, deep, 1, 0, 1, p->rank) && slice(p, m, all, 3, p->rank, N, 12345) &&
	     slice(p, m, turned, 2, column * 2 + row, N, 31425);
	ccs_mesh_free(m);
	return ok && goes_on(p);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Each comes later than the one before it, in turns. */
static bool barriers(struct part *p)
{
	bool ok = true;

	for (int i = 0; i < N && ok; i++) {
		int64_t last, went;

		usleep((useconds_t)((p->rank + i) % N) * 2000);
		last = now_ns();
		ok = is(ccs_barrier(p->comm, NULL), CCS_OK, NULL, "ccs_barrier");
		went = now_ns();
		ok = ok &&
		     is(ccs_run(p->ring, &last, &last, 1, CCS_INT64, CCS_MAX, 0, p->comm, NULL),
			CCS_OK, NULL, "when the last came");
		if (ok && went < last)
			printf("# rank %d left before the last came\n", p->rank);
		ok = ok && went >= last;
	}
	return ok;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Every rank fails with that text and gets no communicator; and the parent still works. */
static bool refused(struct part *p, ccs_status s, struct ccs_comm *out, const char *text)
{
	return is(s, CCS_EINVAL, text, "a wrong split") && !out && goes_on(p);
}

static bool wrong_lists(struct part *p)
{
	static const int twice[] = { 1, 2, 1 }, beyond[] = { 0, 6 }, below[] = { -1 };
	struct ccs_comm *c = p->comm;
	ccs_status s = ccs_comm_group(p->comm, twice, 3, &c);
	bool ok = refused(p, s, c, "ccs_comm_group: rank 1 is twice in the list");

	s = ccs_comm_group(p->comm, beyond, 2, &c);
	ok = ok && refused(p, s, c, "entry 1 of the list, 6, is not in the range 0 to 5");
	s = ccs_comm_group(p->comm, below, 1, &c);
	ok = ok && refused(p, s, c, "entry 0 of the list, -1");
	s = ccs_comm_group(p->comm, below, 0, &c);
	ok = ok && refused(p, s, c, "at least one rank, not 0");
	s = ccs_comm_group(p->comm, NULL, 1, &c);
	return ok && refused(p, s, c, "ranks is NULL");
}

/* All ranks report an error of rank 2 alone. */
static bool wrong_in_one(struct part *p)
{
	static const int right[] = { 0, 2 }, wrong[] = { 0, 9 };
	struct ccs_comm *c = p->comm;
	bool odd = p->rank == 2;
	ccs_status s = ccs_comm_group(p->comm, odd ? wrong : right, 2, &c);
	bool ok = refused(p, s, c, odd ? "ccs_comm_group: entry 1" : "rank 2: ccs_comm_group: ");

	s = ccs_comm_split(p->comm, odd ? -2 : 1, 0, &c);
	ok = ok && refused(p, s, c, odd ? "colour -2" : "rank 2: ccs_comm_split: colour -2");
	c = NULL;
	s = ccs_comm_split(p->comm, 1, 0, odd ? NULL : &c);
	return ok && refused(p, s, c, "ccs_comm_split: out is NULL");
}

static bool lists_differ(struct part *p)
{
	static const int right[] = { 0, 2, 3 }, order[] = { 0, 3, 2 };
	struct ccs_comm *c = p->comm;
	ccs_status s = ccs_comm_group(p->comm, p->rank == 4 ? order : right, 3, &c);
	bool ok = refused(p, s, c,
			  "ccs_comm_group: the ranks' lists differ: rank 0 gives 3 ranks: 0, 2, 3; "
			  "rank 4 gives 3 ranks: 0, 3, 2");

	s = ccs_comm_group(p->comm, right, p->rank == 4 ? 2 : 3, &c);
	return ok && refused(p, s, c, "rank 4 gives 2 ranks: 0, 2");
}

static bool meshes_differ(struct part *p)
{
	static const int one[] = { 2, 3 }, other[] = { 3, 2 }, along[] = { 0, 1 };
	struct ccs_comm *c = p->comm;
	struct ccs_mesh *m;
	bool ok = is(ccs_mesh_create(&m, p->comm, p->rank == 1 ? other : one, 2), CCS_OK, NULL,
		     "ccs_mesh_create");
	ccs_status s = ccs_mesh_slice(m, along + (p->rank != 1), 1, &c);

	ok = ok && refused(p, s, c,
			   "ccs_mesh_slice: the ranks' lists differ: rank 0 slices 2 x 3 along 1; "
			   "rank 1 slices 3 x 2 along 0");
	s = ccs_mesh_slice(m, p->rank == 3 ? (int[]){ 2 } : along, 1, &c);
	ok = ok && refused(p, s, c, "ccs_mesh_slice: dimension 2 is not in the range 0 to 1");
	s = ccs_mesh_slice(m, (int[]){ 1, 1 }, 2, &c);
	ok = ok && refused(p, s, c, "dimension 1 is given twice");
	ccs_mesh_free(m);
	return ok;
}

static bool wrong_meshes(struct part *p)
{
	struct ccs_mesh *m;

	return is(ccs_mesh_create(&m, p->comm, (int[]){ 2, 2 }, 2), CCS_EINVAL,
		  "must be the number of ranks, 6, and is 4", "a small mesh") &&
	       is(ccs_mesh_create(&m, p->comm, (int[]){ 70000, 70000, 2 }, 3), CCS_EINVAL,
		  "and is at least", "a large mesh") &&
	       is(ccs_mesh_create(&m, p->comm, (int[]){ -2, -3 }, 2), CCS_EINVAL,
		  "dimension 0 has length -2", "a negative mesh") &&
	       is(ccs_mesh_create(&m, p->comm, NULL, 0), CCS_EINVAL, "dims is NULL", "no mesh");
}

static bool calls_differ(struct part *p)
{
	struct ccs_comm *c = NULL;
	ccs_status s =
		p->rank == 3 ? ccs_barrier(p->comm, NULL) : ccs_comm_split(p->comm, 0, 0, &c);

	return refused(p, s, c,
		       "the ranks' calls differ: rank 0 calls ccs_comm_split; rank 3 calls "
		       "ccs_barrier") &&
	       is(ccs_barrier(p->comm, p), CCS_EINVAL, "stream must be NULL on the CPU",
		  "a stream");
}

/* All learn of it soon, and the communicator has failed. */
static bool times_out(struct part *p, ccs_status s, uint64_t since, const char *text)
{
	struct ccs_comm *c = p->comm;

	return is(s, CCS_ETIMEOUT, text, "somebody is missing") &&
	       now_ms() - since < 1000 * (uint64_t)TEAM_ENOUGH &&
	       is(ccs_comm_split(p->comm, 0, 0, &c), CCS_EABORTED, "failed before", "after it") &&
	       !c && is(ccs_barrier(p->comm, NULL), CCS_EABORTED, "failed before", "after it");
}

static bool missing(struct part *p)
{
	struct ccs_comm *c = p->comm;
	uint64_t since = now_ms();
	ccs_status s;

	if (p->rank == 1) {
		while (!ccs_comm_check(p->comm) && now_ms() - since < 1000 * (uint64_t)TEAM_ENOUGH)
			usleep(1000);
		return ccs_comm_check(p->comm) == CCS_EABORTED;
	}
	s = ccs_comm_split(p->comm, 0, 0, &c);
	return !c && times_out(p, s, since, "rank 1 has not called ccs_comm_split, as rank ");
}

/* The first rank that checks reports the missing part: the call, or the rank in it. */
static bool another_call(struct part *p)
{
	uint64_t since = now_ms();
	int32_t x = 1;
	ccs_status s = p->rank == 1
			       ? ccs_run(p->ring, &x, &x, 1, CCS_INT32, CCS_SUM, 0, p->comm, NULL)
			       : ccs_barrier(p->comm, NULL);

	return times_out(p, s, since, "has not called");
}

/* A child has its parent's timeout. Rank 1 waits with the parent until the others have given up. */
static bool missing_in_child(struct part *p)
{
	struct ccs_comm *c = NULL;
	bool ok = is(ccs_comm_split(p->comm, 0, 0, &c), CCS_OK, NULL, "ccs_comm_split");

	if (ok && p->rank != 1)
		ok = is(ccs_barrier(c, NULL), CCS_ETIMEOUT, "for 300 ms",
			"somebody is missing in a child");
	ccs_comm_set_timeout(p->comm, 1000 * TEAM_ENOUGH);
	ok = is(ccs_barrier(p->comm, NULL), CCS_OK, NULL, "the parent") && ok;
	ccs_comm_free(c);
	return ok;
}

struct a_case {
	const char *name;
	act *act;
	bool waits; /* until the timeout */
};

static const struct a_case cases[] = {
	{ "colours and keys", colors, false },
	{ "lists of ranks", lists, false },
	{ "children of children, and parents that are freed first", children, false },
	{ "meshes", meshes, false },
	{ "barriers", barriers, false },
	{ "wrong lists", wrong_lists, false },
	{ "what is wrong in one rank", wrong_in_one, false },
	{ "lists that differ", lists_differ, false },
	{ "meshes that differ", meshes_differ, false },
	{ "wrong meshes", wrong_meshes, false },
	{ "calls that differ", calls_differ, false },
	{ "a rank that does not come", missing, true },
	{ "a rank that does not come in a child", missing_in_child, true },
	{ "a rank in a call of another sort", another_call, true },
};
#define NCASES (sizeof(cases) / sizeof(*cases))

/* ---- ranks ---------------------------------------------------------------------------------------- */

static bool play(const struct a_case *c, struct ccs_comm *comm)
{
	struct part p = { comm, team_module("ring_allreduce"), ccs_comm_rank(comm) };
	bool ok = p.ring && is(ccs_comm_set_timeout(comm, c->waits ? SOON_MS : 20000), CCS_OK, NULL,
			       "a timeout");

	ok = ok && c->act(&p);
	ccs_comm_free(p.comm);
	ccs_module_free(p.ring);
	if (!ok)
		printf("# ... in rank %d\n", p.rank);
	return ok;
}

/* Tasks: a thread a rank. */
struct thread {
	const struct a_case *of;
	struct ccs_comm *comm;
	pthread_t id;
	bool ok;
};

static void *thread_main(void *of)
{
	struct thread *t = of;

	t->ok = play(t->of, t->comm);
	return NULL;
}

static bool play_tasks(const struct a_case *c)
{
	struct thread t[N];
	struct ccs_comm *comm[N];
	bool ok = is(ccs_comm_init_all(comm, N), CCS_OK, NULL, "ccs_comm_init_all");

	for (int r = 0; ok && r < N; r++) {
		t[r] = (struct thread){ .of = c, .comm = comm[r] };
		if (pthread_create(&t[r].id, NULL, thread_main, t + r))
			exit(1);
	}
	for (int r = 0, all = ok; all && r < N; r++) {
		pthread_join(t[r].id, NULL);
		ok = ok && t[r].ok;
	}
	return ok;
}

static bool play_member(struct member *m)
{
	struct ccs_comm *comm;
	bool ok = member_joins(m);

	comm = m->comm;
	m->comm = NULL;
	return ok && play(m->of, comm);
}

static bool play_procs(const struct a_case *c)
{
	return team_run(N, play_member, (void *)(uintptr_t)c);
}

/* One of them is there all the time: the last that is freed ends MPI. */
static bool play_mpi(void)
{
	struct ccs_comm *keeps, *comm;
	bool all = true;

	if (!is(ccs_comm_init_mpi(&keeps), CCS_OK, NULL, "ccs_comm_init_mpi"))
		return false;
	for (size_t i = 0; i < NCASES && all; i++) {
		all = is(ccs_comm_init_mpi(&comm), CCS_OK, NULL, "ccs_comm_init_mpi") &&
		      play(cases + i, comm);
		all = ccs_comm_agree(keeps, all ? CCS_OK : CCS_EINVAL) == CCS_OK;
		if (!ccs_comm_rank(keeps))
			say(all, "mpi: %s", cases[i].name);
	}
	ccs_comm_free(keeps);
	return all;
}

/* ---- one thread for all ranks ----------------------------------------------------------------------- */

static bool sums(struct ccs_module *ring, struct ccs_comm *const *comm, const int *want)
{
	int32_t x[N];
	bool ok = true;

	ccs_group_start();
	for (int r = 0; r < N; r++) {
		x[r] = r;
		ccs_run(ring, x + r, x + r, 1, CCS_INT32, CCS_SUM, 0, comm[r], NULL);
		ccs_barrier(comm[r], NULL);
	}
	ok = is(ccs_group_end(), CCS_OK, NULL, "a call and a barrier in a group");
	for (int r = 0; r < N; r++)
		ok = ok && x[r] == want[r];
	return ok;
}

static bool grouped(void)
{
	static const int want[N] = { 3, 3, 3, 12, 12, 12 }, pair[] = { 4, 1 };
	struct ccs_module *ring = team_module("ring_allreduce");
	struct ccs_comm *comm[N], *half[N], *two[N];
	bool ok = is(ccs_comm_init_all(comm, N), CCS_OK, NULL, "ccs_comm_init_all");

	ccs_group_start();
	for (int r = 0; r < N; r++) { /* two calls of a rank, which has not come with the first */
		ccs_comm_split(comm[r], r / 3, 0, half + r);
		ccs_comm_group(comm[r], pair, 2, two + r);
	}
	ok = ok && is(ccs_group_end(), CCS_OK, NULL, "splits in a group") && sums(ring, half, want);
	for (int r = 0; r < N; r++)
		ok = ok && (r == 4 || r == 1 ? ccs_comm_rank(two[r]) == (r == 1) : !two[r]);
	ccs_group_start();
	ccs_comm_split(NULL, 0, 0, two);
	ok = ok && is(ccs_group_end(), CCS_EINVAL, "the communicator is NULL", "no communicator") &&
	     sums(ring, half, want);
	for (int r = 0; r < N; r++) {
		ccs_comm_free(comm[r]);
		ccs_comm_free(half[r]);
		ccs_comm_free(two[r]);
	}
	ccs_module_free(ring);
	return ok;
}

int main(int argc, char **argv)
{
	bool tasks = argc == 3 && !strcmp(argv[2], "tasks");
	bool ok = true;

	if (argc != 3) {
		fprintf(stderr, "usage: split_test DIRECTORY-OF-MODULES tasks|procs|mpi\n");
		return 2;
	}
	setenv("MODULES", argv[1], 1);
	if (!strcmp(argv[2], "mpi"))
		return !play_mpi();
	for (size_t i = 0; i < NCASES; i++)
		ok &= say(tasks ? play_tasks(cases + i) : play_procs(cases + i), "%s: %s", argv[2],
			  cases[i].name);
	if (tasks)
		ok &= say(grouped(), "tasks: one thread for all ranks, in groups");
	return !ok;
}
