/*
 * Ranks that are processes of MPI (ccs_comm_init_mpi), where ccrun does not reach. Calls in long
 * sequences, with changing layouts, in groups over two communicators; ranks that run ahead;
 * error reports; forks; and failures, which end the communicator.
 *
 * Started by mpirun; every process does all of it, and rank 0 reports the result of all.
 * usage: mpirun -np N net_calls_test MODULES
 *        mpirun -np 3 net_calls_test overwrites|touches MODULE
 */
#include "tests/support/named_module.h"
#include "tests/support/say.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 5000, CALLS = 400, LONG = 1 << 20 };

struct job {
	struct ccs_comm *told; /* only for the results of the test */
	struct ccs_module *ring, *direct, *bcast, *gather;
	int rank, size;
	bool ok;
	int32_t *send, *recv;
};

static ccs_status call(struct job *j, const struct ccs_module *m, size_t count, int root,
		       struct ccs_comm *c)
{
	return ccs_run(m, j->send, j->recv, count, CCS_INT32, CCS_SUM, root, c, NULL);
}

/* An allreduce, of values that each call has other ones of. */
static bool reduces(struct job *j, const struct ccs_module *m, size_t count, int salt,
		    struct ccs_comm *c)
{
	int32_t want = j->size * (j->size - 1) / 2;

	for (size_t i = 0; i < count; i++)
		j->send[i] = j->rank + salt + (int32_t)i;
	if (call(j, m, count, 0, c))
		return false;
	for (size_t i = 0; i < count; i++)
		if (j->recv[i] != want + j->size * (salt + (int32_t)i))
			return false;
	return true;
}

static struct ccs_comm *fresh(struct job *j)
{
	struct ccs_comm *c = NULL;

	if (!is(ccs_comm_init_mpi(&c), CCS_OK, NULL, "ccs_comm_init_mpi"))
		exit(1);
	ccs_comm_set_timeout(c, 20000);
	j->rank = ccs_comm_rank(c);
	j->size = ccs_comm_size(c);
	return c;
}

/* MPI is initialised for one thread at a time; some give more than was asked for. */
static bool threads(void)
{
	struct ccs_comm *c = NULL;
	ccs_status s = ccs_comm_init_mpi_threads(&c);
	bool ok = !s || (is(s, CCS_EUNSUPPORTED, "MPI_THREAD_MULTIPLE", "threads") && !c);

	ccs_comm_free(c);
	return ok;
}

static void sequences(struct job *j)
{
	static const size_t counts[] = { 1, 7, MOST, 64, 0, 1000 };
	struct ccs_comm *c = fresh(j);
	bool ok = true;

	for (int i = 0; i < CALLS && ok; i++)
		ok = reduces(j, i % 3 ? j->ring : j->direct, counts[i / 5 % 6], i, c);
	j->ok &= say_together(j->told, ok, "many calls, of layouts that change");
	for (int i = 0; i < CALLS && ok; i++) { /* the root waits for no rank */
		for (int k = 0; k < 64; k++)
			j->recv[k] = j->send[k] = j->rank ? -1 : i + k;
		if (j->rank && i % 50 == 0)
			usleep(2000);
		ok = !call(j, j->bcast, 64, 0, c) && j->recv[63] == i + 63;
	}
	j->ok &= say_together(j->told, ok, "ranks that run ahead");
	ccs_comm_free(c);
}

/* Ranks put the calls of two communicators into their groups in another order. */
static void groups(struct job *j)
{
	struct ccs_comm *c[] = { fresh(j), fresh(j) };
	int32_t *send = j->send, *recv = j->recv, *more = recv + MOST / 2;
	bool ok = true;

	for (int i = 0; i < 50 && ok; i++) {
		int first = j->rank % 2;

		for (int k = 0; k < 100; k++)
			send[k] = i + k;
		ccs_group_start();
		for (int k = 0; k < 2; k++)
			ccs_run(j->ring, send, (first + k) % 2 ? more : recv, 100, CCS_INT32,
				CCS_SUM, 0, c[(first + k) % 2], NULL);
		ok = !ccs_group_end() && recv[99] == j->size * (i + 99) &&
		     more[7] == j->size * (i + 7);
	}
	j->ok &= say_together(j->told, ok,
			      "groups over two communicators, in another order on each rank");
	ccs_comm_free(c[0]);
	ccs_comm_free(c[1]);
}

static void tells(struct job *j)
{
	struct ccs_comm *c = fresh(j);
	char text[200] = "", want[80];
	int own[700], *all = calloc((size_t)j->size, sizeof(own));
	ccs_status s;
	bool ok = all;

	for (int i = 0; i < 700; i++)
		own[i] = j->rank * 1000 + i;
	ok = ok && !ccs_comm_gather(c, own, all, sizeof(own));
	for (int i = 0; ok && i < j->size; i++)
		ok = all[i * 700 + 699] == i * 1000 + 699;
	j->ok &= say_together(j->told, ok && !ccs_comm_gather(c, NULL, NULL, 0),
			      "what ranks gather");
	free(all);
	s = ccs_comm_agree(c, j->rank == 1 ? ccs_error_set(CCS_EFILE, "a bad file") : CCS_OK);
	j->ok &= say_together(
		j->told,
		is(s, CCS_EFILE, j->rank == 1 ? "a bad file" : "rank 1: a bad file", "agree"),
		"a step that fails on one rank");
	snprintf(want, sizeof(want), "%d processes by MPI (", j->size);
	ok = !ccs_comm_describe(c, text, sizeof(text)) && !strncmp(text, want, strlen(want));
	j->ok &= say_together(j->told, ok && ccs_comm_device(c) == -1 && !ccs_comm_check(c),
			      "where ranks live");
	ccs_comm_free(c);
}

static void forks(struct job *j)
{
	struct ccs_comm *c = fresh(j);
	int how = 1;
	bool ok = reduces(j, j->ring, 100, 1, c);
	pid_t id = fork();

	if (!id) {
		ok = is(ccs_comm_check(c), CCS_EABORTED, "was forked", "a child's check");
		ccs_comm_free(c);
		_exit(!ok);
	}
	ok &= id > 0 && waitpid(id, &how, 0) == id && !how && reduces(j, j->ring, 100, 2, c);
	j->ok &= say_together(j->told, ok, "a forked process can free its copy");
	ccs_comm_free(c);
}

/* ---- what fails ----------------------------------------------------------------------------- */

/* All hear of it, and the communicator stays so. */
static void ends(struct job *j, struct ccs_comm *c, ccs_status s, ccs_status want, const char *text,
		 const char *what)
{
	bool ok = is(s, want, text, what);

	ok &= is(call(j, j->ring, 8, 0, c), CCS_EABORTED, "failed before", "the next call");
	j->ok &= say_together(j->told, ok && ccs_comm_check(c) == CCS_EABORTED, what);
	ccs_comm_free(c);
}

static void differs(struct job *j)
{
	struct ccs_comm *c = fresh(j);
	size_t count = j->rank ? 40 : 48;

	ends(j, c, call(j, j->ring, count, 0, c), CCS_EINVAL, "calls ring_allreduce with count 4",
	     "counts that differ, in the first call");
	c = fresh(j);
	for (int i = 0; i < 3; i++)
		j->ok &= reduces(j, j->ring, 40, i, c);
	ends(j, c, call(j, j->ring, count, 0, c), CCS_EINVAL,
	     "the ranks' calls differ: ", "... in a later one, which one of them repeats");
	c = fresh(j);
	ends(j, c, call(j, j->rank ? j->ring : j->gather, 40, 0, c), CCS_EINVAL, "(another module)",
	     "modules that differ");
}

/* The error that a rank without a call gets, once the other ranks have timed out. */
static ccs_status heard(struct ccs_comm *c)
{
	for (int i = 0; i < 2000 && !ccs_comm_check(c); i++)
		usleep(10000);
	return ccs_comm_check(c);
}

static void waits(struct job *j)
{
	struct ccs_comm *c = fresh(j);
	ccs_status s = CCS_ETIMEOUT;

	ccs_comm_set_timeout(c, 300);
	j->ok &= reduces(j, j->ring, 40, 1, c);
	if (j->rank) {
		s = call(j, j->ring, 40, 0, c);
		j->ok &= is(s, CCS_ETIMEOUT, "no progress for 300 ms: rank ", "a call");
	} else {
		j->ok &= is(heard(c), CCS_EABORTED, "no progress", "a check");
	}
	j->ok &= say_together(j->told, s == CCS_ETIMEOUT, "a rank that does not call");
	ccs_comm_free(c);
	c = fresh(j);
	ccs_comm_set_timeout(c, 300);
	s = CCS_ETIMEOUT;
	if (j->rank)
		s = ccs_comm_agree(c, CCS_OK);
	else
		usleep(700000);
	j->ok &=
		say_together(j->told,
			     is(s, CCS_ETIMEOUT,
				j->rank ? "has not called ccs_comm_agree, as rank" : NULL, "agree"),
			     "a rank that does not tell");
	ccs_comm_free(c);
}

/* This process stops for a while, without notice to the other ranks. */
static pid_t stand_still(void)
{
	pid_t parent = getpid(), id = fork();

	if (id)
		return id;
	usleep(150000);
	kill(parent, SIGSTOP);
	usleep(700000);
	kill(parent, SIGCONT);
	_exit(0);
}

static ccs_status bcast_long(struct job *j, int32_t *data, int32_t value, struct ccs_comm *c)
{
	for (int i = 0; i < LONG; i++)
		data[i] = j->rank == 1 ? value : -1;
	return ccs_run(j->bcast, data, data, LONG, CCS_INT32, CCS_SUM, 1, c, NULL);
}

static bool all_are(const int32_t *data, int32_t value)
{
	for (int i = 0; i < LONG; i++)
		if (data[i] != value)
			return false;
	return true;
}

/* Rank 0 stands still in a call, and the root gives up, and uses its buffer for something
 * else; what of that comes to rank 0 must not be taken for a result. */
static void reuses(struct job *j)
{
	struct ccs_comm *c = fresh(j);
	int32_t *data = malloc(LONG * sizeof(*data));
	bool ok = data && !bcast_long(j, data, 7, c) && all_are(data, 7);
	pid_t id = j->rank ? 0 : stand_still();
	ccs_status s;

	if (j->rank == 1) {
		ccs_comm_set_timeout(c, 300);
		usleep(300000);
	}
	s = data ? bcast_long(j, data, 8, c) : CCS_ENOMEM;
	ok &= s || all_are(data, 8);
	for (int i = 0; s && data && i < LONG; i++)
		data[i] = 9;
	if (id > 0)
		waitpid(id, NULL, 0);
	j->ok &= say_together(j->told, ok, "a root that gave up, and uses its buffer again");
	ccs_comm_free(c);
	free(data);
}

/* Rank 0 sends x to rank 1, which is late, and receives x from rank 2, which is not: what comes
 * may not be put where MPI is yet to send from. y becomes the sum of all x (net_test.sh). */
static bool overwrites(struct job *j, const struct ccs_module *m, int32_t *data, int salt,
		       struct ccs_comm *c)
{
	int32_t *x = data, *y = data + LONG;

	for (int i = 0; i < LONG; i++) {
		x[i] = salt << j->rank;
		y[i] = -1;
	}
	if (j->rank == 1)
		usleep(100000);
	if (ccs_run(m, data, data, LONG, CCS_INT32, CCS_SUM, 0, c, NULL))
		return false;
	return j->rank || (all_are(x, salt << 2) && all_are(y, 7 * salt));
}

/* Rank 0 is late, and has all messages of rank 2 before it does anything. In x and y, of three
 * chunks each, it has yet to read what later messages are stored over, in all of their cells or
 * some. Rank 1 gets what was read (net_test.sh). */
static bool touches(struct job *j, const struct ccs_module *m, int32_t *data, int salt,
		    struct ccs_comm *c)
{
	enum { CHUNK = 1500, ALL = 6 * CHUNK }; /* long enough to be received in cells */
	int of_0 = salt, of_2 = salt << 2, both = of_0 + of_2;
	const int want[2][6] = { { of_2, of_2, of_2, -1, both, of_2 },
				 { -1, both, both, -1, both, both } };
	bool ok = true;

	for (int i = 0; i < ALL; i++)
		data[i] = salt << j->rank;
	if (j->rank == 0)
		usleep(50000);
	if (ccs_run(m, data, data, CHUNK, CCS_INT32, CCS_SUM, 0, c, NULL))
		return false;
	for (int i = 0; i < ALL && j->rank < 2; i++)
		ok &= want[j->rank][i / CHUNK] < 0 || data[i] == want[j->rank][i / CHUNK];
	return ok;
}

/* A module's calls, one after the other: in the first, ranks wait for one another's notes. */
static int calls_of(struct job *j, const char *path,
		    bool (*once)(struct job *j, const struct ccs_module *m, int32_t *data, int salt,
				 struct ccs_comm *c),
		    const char *what)
{
	struct ccs_module *m;
	int32_t *data = malloc(2 * LONG * sizeof(*data));
	struct ccs_comm *c;
	bool ok = data && is(ccs_module_load(&m, path), CCS_OK, NULL, path);

	if (!ok)
		return 1;
	j->told = fresh(j);
	c = fresh(j);
	for (int i = 1; i < 4 && ok; i++)
		ok = once(j, m, data, i, c);
	j->ok &= say_together(j->told, ok, what);
	ccs_comm_free(c);
	ccs_comm_free(j->told);
	ccs_module_free(m);
	free(data);
	return j->ok ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct job j = { .ok = true };
	const char *folder = argc > 1 ? argv[1] : ".";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "overwrites"))
		return calls_of(&j, argv[2], overwrites,
				"a message into cells that are being sent");
	if (argc == 3 && !strcmp(argv[1], "touches"))
		return calls_of(&j, argv[2], touches,
				"messages into cells that are yet to be read");
	j.send = calloc(MOST, sizeof(*j.send));
	j.recv = calloc(MOST, sizeof(*j.recv));
	if (!j.send || !j.recv || !named_module_loads(&j.ring, folder, "ring_allreduce") ||
	    !named_module_loads(&j.direct, folder, "direct_allreduce") ||
	    !named_module_loads(&j.bcast, folder, "binomial_broadcast") ||
	    !named_module_loads(&j.gather, folder, "ring_allgather"))
		return 1;
	j.told = fresh(&j);
	j.ok &= say_together(j.told, ccs_comm_init_mpi(NULL) == CCS_EINVAL,
			     "without a place for the communicator");
	j.ok &= say_together(j.told, threads(), "for threads, after others");
	sequences(&j);
	groups(&j);
	tells(&j);
	forks(&j);
	differs(&j);
	waits(&j);
	reuses(&j);
	ccs_comm_free(j.told);
	ccs_module_free(j.ring);
	ccs_module_free(j.direct);
	ccs_module_free(j.bcast);
	ccs_module_free(j.gather);
	free(j.send);
	free(j.recv);
	return j.ok ? 0 : 1;
}
