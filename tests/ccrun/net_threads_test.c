/*
 * Ranks that are processes of MPI, with several threads each (ccs_comm_init_mpi_threads):
 * communicators that their ranks alone make, calls of two threads that wait for each other, a
 * thread that ends the call of another one, and a rank that leaves while the rest wait for it.
 *
 * Started by mpirun; every process does all of it, and rank 0 reports the result of all.
 * usage: mpirun -np N net_threads_test MODULES, with N from 2 on
 */
#include "tests/support/named_module.h"
#include "tests/support/say.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 200, MADE = 100, LONG = 100003 };

struct job {
	struct ccs_comm *all;
	struct ccs_module *ring;
	int rank, size;
};

static bool ok_is(ccs_status s)
{
	return is(s, CCS_OK, NULL, "a call");
}

/* Whether the list's ranks, in its order, are the communicator's. */
static bool has(const struct job *j, struct ccs_comm *c, const int *ranks, int n)
{
	int32_t x[3] = { j->rank, 1, j->rank * (1 + ccs_comm_rank(c)) }, want[3] = { 0, n, 0 };

	for (int i = 0; i < n; i++) {
		want[0] += ranks[i];
		want[2] += ranks[i] * (1 + i);
	}
	return ccs_comm_size(c) == n &&
	       ok_is(ccs_run(j->ring, x, x, 3, CCS_INT32, CCS_SUM, 0, c, NULL)) &&
	       !memcmp(x, want, sizeof(want));
}

/* ---- communicators of some ranks -------------------------------------------------------------- */

static bool in_list(const struct job *j, const int *ranks, int n)
{
	for (int i = 0; i < n; i++)
		if (ranks[i] == j->rank)
			return true;
	return false;
}

/* Pairs of neighbours, one after another, and those of a pair as a child of theirs. */
static bool groups(const struct job *j)
{
	bool ok = true;

	for (int i = 0; i < j->size && ok; i++) {
		const int pair[] = { (i + 1) % j->size, i }, turned[] = { 1, 0 };
		struct ccs_comm *c = NULL, *child = NULL;

		if (!in_list(j, pair, 2))
			continue;
		ok = ok_is(ccs_comm_create_group(j->all, pair, 2, i, &c)) && has(j, c, pair, 2);
		ok = ok && ok_is(ccs_comm_create_group(c, turned, 2, 0, &child)) &&
		     has(j, child, (int[]){ pair[1], pair[0] }, 2);
		ccs_comm_free(c);
		ccs_comm_free(child);
	}
	return ok;
}

static bool refused(const struct job *j)
{
	const int own[] = { j->rank }, other[] = { (j->rank + 1) % j->size };
	struct ccs_comm *c, *tasks[2];
	bool ok;

	ok = is(ccs_comm_create_group(j->all, other, 1, 0, &c), CCS_EINVAL,
		"which is not in the list", "a list without this rank") &&
	     !c;
	ok &= is(ccs_comm_create_group(j->all, own, 1, -1, &c), CCS_EINVAL, "a tag is from 0",
		 "a negative tag");
	ok &= is(ccs_comm_create_group(j->all, own, 0, 0, &c), CCS_EINVAL, "at least one rank",
		 "an empty list");
	ok &= is(ccs_comm_create_group(j->all, own, 1, 0, NULL), CCS_EINVAL, "out is NULL",
		 "no place");
	ok &= is(ccs_comm_create_group(NULL, own, 1, 0, &c), CCS_EINVAL, "is NULL", "none");
	ccs_group_start();
	ok &= is(ccs_comm_create_group(j->all, own, 1, 0, &c), CCS_EINVAL, "within a group",
		 "in a group");
	ccs_group_end();
	ok &= ok_is(ccs_comm_init_all(tasks, 2));
	ok &= is(ccs_comm_create_group(tasks[0], (int[]){ 0 }, 1, 0, &c), CCS_EUNSUPPORTED,
		 "use ccs_comm_group", "tasks");
	ccs_comm_free(tasks[0]);
	ccs_comm_free(tasks[1]);
	ok &= is(ccs_comm_init_mpi_threads(NULL), CCS_EINVAL, "comm is NULL", "no place");
	return ok;
}

/* ---- two threads ----------------------------------------------------------------------------- */

/* The calls of the second thread. */
struct second {
	const struct job *j;
	struct ccs_comm *comm;
	_Atomic int may; /* of rank 0: calls that it may make */
	_Atomic bool inside;
	int by; /* the rank that gives up */
	bool ok;
};

static void *sums(void *of)
{
	struct second *s = of;
	int32_t *x = malloc(LONG * sizeof(*x));

	s->ok = x;
	for (int i = 0; i < TIMES && s->ok; i++) {
		size_t n = i % 20 ? 5 : LONG;

		while (!s->j->rank && atomic_load(&s->may) <= i)
			sched_yield();
		for (size_t k = 0; k < n; k++)
			x[k] = s->j->rank + i;
		s->ok = ok_is(ccs_run(s->j->ring, x, x, n, CCS_INT32, CCS_SUM, 0, s->comm, NULL)) &&
			x[n - 1] == s->j->size * (s->j->size - 1) / 2 + s->j->size * i;
	}
	free(x);
	return NULL;
}

/* A sum of all by the second threads, for which rank 0 comes when a message has gone round. */
static bool two_threads(const struct job *j)
{
	struct second s = { .j = j };
	struct ccs_comm *mail;
	pthread_t thread;
	int next = (j->rank + 1) % j->size, before = (j->rank + j->size - 1) % j->size;
	bool ok = ok_is(ccs_comm_split(j->all, 0, 0, &s.comm)) &&
		  ok_is(ccs_comm_split(j->all, 0, 0, &mail));

	if (!ok || pthread_create(&thread, NULL, sums, &s))
		return false;
	for (int i = 0; i < TIMES && ok; i++) {
		int32_t x = i, got = -1;

		if (!j->rank)
			ok = ok_is(ccs_send(&x, 1, CCS_INT32, next, mail, NULL));
		ok = ok && ok_is(ccs_recv(&got, 1, CCS_INT32, before, mail, NULL)) &&
		     got == i + (j->rank ? j->rank - 1 : j->size - 1);
		x = got + 1;
		if (j->rank)
			ok = ok && ok_is(ccs_send(&x, 1, CCS_INT32, next, mail, NULL));
		atomic_fetch_add(&s.may, 1);
	}
	pthread_join(thread, NULL);
	ccs_comm_free(s.comm);
	ccs_comm_free(mail);
	return ok && s.ok;
}

/* ---- communicators that come and go ----------------------------------------------------------------- */

/* Until the first threads of all ranks are through. */
static void *sums_until(void *of)
{
	struct second *s = of;
	int32_t through;

	do {
		through = atomic_load(&s->may);
		s->ok = ok_is(ccs_run(s->j->ring, &through, &through, 1, CCS_INT32, CCS_SUM, 0,
				      s->comm, NULL));
	} while (s->ok && through < s->j->size);
	return NULL;
}

static bool beside(const struct job *j)
{
	struct second s = { .j = j };
	int ranks[64];
	pthread_t thread;
	bool ok = j->size <= 64 && ok_is(ccs_comm_split(j->all, 0, 0, &s.comm));

	if (!ok || pthread_create(&thread, NULL, sums_until, &s))
		return false;
	for (int r = 0; r < j->size; r++)
		ranks[r] = j->size - 1 - r;
	for (int i = 0; i < MADE && ok; i++) {
		struct ccs_comm *c = NULL, *child = NULL;

		ok = ok_is(ccs_comm_create_group(j->all, ranks, j->size, i, &c)) &&
		     ok_is(ccs_comm_split(c, 0, 0, &child)) && has(j, child, ranks, j->size);
		ccs_comm_free(c);
		ccs_comm_free(child);
	}
	atomic_store(&s.may, 1);
	pthread_join(thread, NULL);
	ccs_comm_free(s.comm);
	return ok && s.ok;
}

/* ---- a thread that gives up -------------------------------------------------------------------- */

static void *waits(void *of)
{
	struct second *s = of;
	int32_t x = 0;
	char text[80];
	ccs_status got;

	snprintf(text, sizeof(text), "rank %d aborted the communicator: enough", s->by);
	atomic_store(&s->inside, true);
	if (s->j->rank) /* without rank 0 */
		got = ccs_run(s->j->ring, &x, &x, 1, CCS_INT32, CCS_SUM, 0, s->comm, NULL);
	else
		got = ccs_recv(&x, 1, CCS_INT32, 1, s->comm, NULL);
	s->ok = is(got, CCS_EABORTED, text, "its call");
	return NULL;
}

/* `by` is the rank of which the first thread gives up: the second one of rank 0 waits for a message,
 * and those of the other ranks in a run. */
static bool aborts(const struct job *j, int by)
{
	struct second s = { .j = j, .by = by };
	pthread_t thread;
	bool ok = ok_is(ccs_comm_split(j->all, 0, 0, &s.comm));

	if (!ok || pthread_create(&thread, NULL, waits, &s))
		return false;
	while (!atomic_load(&s.inside))
		sched_yield();
	if (j->rank == by) {
		usleep(50000); /* in most cases the call has begun */
		ok = ok_is(ccs_comm_abort(s.comm, "enough"));
	}
	pthread_join(thread, NULL);
	ok &= is(ccs_barrier(s.comm, NULL), CCS_EABORTED, "enough", "a call after that");
	ccs_comm_free(s.comm);
	return ok && s.ok;
}

/* ---- a rank that leaves ----------------------------------------------------------------------- */

enum where { IN_RUN, IN_MESSAGE, IN_BARRIER, NWHERE };
static const char *const too_early[] = { "a rank that leaves, with others in a run",
					 "... in a message", "... in a barrier" };

/* Rank 1 frees its communicator after a run, and the other ranks wait for it in one more call,
 * once all of them are through with the run: a rank that fails ends the calls of every rank. */
static bool leaves(const struct job *j, enum where where)
{
	struct ccs_comm *c, *stay;
	int32_t x = 1;
	ccs_status s = CCS_OK;
	bool ok = ok_is(ccs_comm_split(j->all, 0, 0, &c)) &&
		  ok_is(ccs_comm_split(j->all, j->rank == 1, 0, &stay));

	if (!ok)
		return false;
	ok = ok_is(ccs_run(j->ring, &x, &x, 1, CCS_INT32, CCS_SUM, 0, c, NULL));
	if (j->rank != 1)
		ok &= ok_is(ccs_barrier(stay, NULL));
	if (j->rank != 1 && where == IN_RUN)
		s = ccs_run(j->ring, &x, &x, 1, CCS_INT32, CCS_SUM, 0, c, NULL);
	else if (j->rank != 1 && where == IN_MESSAGE)
		s = j->rank ? ccs_send(&x, 1, CCS_INT32, 1, c, NULL)
			    : ccs_recv(&x, 1, CCS_INT32, 1, c, NULL);
	else if (j->rank != 1)
		s = ccs_barrier(c, NULL);
	if (j->rank != 1)
		ok = ok && is(s, CCS_EABORTED, "rank 1 has freed the communicator", "a call");
	ccs_comm_free(c);
	ccs_comm_free(stay);
	return ok;
}

int main(int argc, char **argv)
{
	struct job j = { 0 };
	bool ok;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!named_module_loads(&j.ring, argc > 1 ? argv[1] : ".", "ring_allreduce") ||
	    !is(ccs_comm_init_mpi_threads(&j.all), CCS_OK, NULL, "ccs_comm_init_mpi_threads"))
		return 1;
	ccs_comm_set_timeout(j.all, 20000);
	j.rank = ccs_comm_rank(j.all);
	j.size = ccs_comm_size(j.all);
	ok = say_together(j.all, groups(&j), "communicators that their ranks alone make");
	ok &= say_together(j.all, refused(&j), "wrong lists, and other communicators");
	ok &= say_together(j.all, two_threads(&j), "two threads, each in a communicator");
	ok &= say_together(j.all, beside(&j), "communicators made beside calls of another thread");
	ok &= say_together(j.all, aborts(&j, 0), "a thread ends the message of another one");
	ok &= say_together(j.all, aborts(&j, 1), "a thread ends the run of another one");
	for (enum where w = 0; w < NWHERE; w++)
		ok &= say_together(j.all, leaves(&j, w), too_early[w]);
	ccs_comm_free(j.all);
	ccs_module_free(j.ring);
	return ok ? 0 : 1;
}
