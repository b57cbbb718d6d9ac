/*
 * Ranks by MPI: a failed call has released its buffers. Runs on held_mpi.c, which records the
 * memory that MPI holds: when a call returns, with any error, MPI holds none of the caller's
 * memory. Then the memory is unmapped, so that a message into it, or from it, ends the process.
 *
 * And failures of MPI, which held_mpi.c simulates: all ranks learn of the failure and its rank.
 *
 * Started by mpirun; every process does all of it, and rank 0 reports the result of all.
 * usage: mpirun -np 3 net_held_test MODULES [--long]
 */
#include "tests/fake_mpi/held_mpi.h"
#include "tests/support/named_module.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LONG = 1 << 20, ROUNDS = 3 };
#define BYTES (LONG * sizeof(int32_t))

struct job {
	struct ccs_comm *told; /* only for the results of the test */
	struct ccs_module *ring, *bcast;
	int (*held)(const void *at, size_t bytes);
	struct held_faults *faults;
	int rank, size;
	bool ok;
};

static struct ccs_comm *fresh(unsigned timeout)
{
	struct ccs_comm *c = NULL;

	if (is(ccs_comm_init_mpi(&c), CCS_OK, NULL, "ccs_comm_init_mpi"))
		ccs_comm_set_timeout(c, timeout);
	return c;
}

static int32_t *map(void)
{
	int32_t *data =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; data != MAP_FAILED && i < LONG; i++)
		data[i] = i;
	return data == MAP_FAILED ? NULL : data;
}

/* A call has returned: nothing of MPI's is in its buffer, nothing comes there, and it may go. */
static bool is_back(const struct job *j, int32_t *data)
{
	int held = j->held(data, BYTES);
	bool ok = !held;

	if (held)
		printf("# rank %d: MPI has %d messages in the buffer\n", j->rank, held);
	memset(data, 0x5a, BYTES);
	for (int i = 0; i < 50; i++)
		ok &= !ccs_comm_agree(j->told, CCS_OK);
	for (int i = 0; i < LONG; i++)
		ok &= data[i] == 0x5a5a5a5a;
	return !munmap(data, BYTES) && ok;
}

static bool told_so(const struct job *j, const int32_t *data, bool ok)
{
	return ok && data && !ccs_comm_agree(j->told, CCS_OK);
}

/* The root sends to a rank that comes after the root has given up. `lost`: and MPI does not release
 * the buffer, which the root reports after 10 s. */
static void late(struct job *j, bool lost)
{
	struct ccs_comm *c = fresh(j->rank == 1 ? 200 : 20000);
	int32_t *data = map();
	ccs_status s;
	bool ok = told_so(j, data, c) &&
		  !ccs_run(j->bcast, data, data, LONG, CCS_INT32, CCS_SUM, 1, c, NULL);

	if (j->rank != 1)
		usleep(2000000);
	j->faults->busy = lost && j->rank == 1;
	s = ccs_run(j->bcast, data, data, LONG, CCS_INT32, CCS_SUM, 1, c, NULL);
	if (j->rank == 1)
		ok &= is(s, CCS_ETIMEOUT, "no progress for 200 ms", "the root");
	ok &= !!strstr(ccs_error(), "MPI has not released the buffers") == j->faults->busy;
	j->faults->busy = false;
	ok &= is_back(j, data);
	j->ok &= say_together(j->told, ok,
			      lost ? "... and one that MPI does not give back"
				   : "a long message to ranks that come too late");
	ccs_comm_free(c);
}

/* One rank makes a different call, in the middle of long ones. */
static void differs(struct job *j)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct ccs_comm *c = fresh(20000);
		int32_t *data = map();
		ccs_status s = CCS_OK;
		bool ok = told_so(j, data, c);

		for (int i = 0; i < 4 && !s; i++)
			s = ccs_run(j->ring, data, data,
				    i == 3 && j->rank == round % j->size ? LONG - 1 : LONG,
				    CCS_INT32, CCS_SUM, 0, c, NULL);
		ok &= is(s, CCS_EINVAL, "the ranks' calls differ: ", "the fourth call");
		ok &= is_back(j, data);
		j->ok &= say_together(j->told, ok, "calls that differ, behind long ones");
		ccs_comm_free(c);
	}
}

/* Ranks 0 and 1 exchange long messages while another ends the communicator. */
static void messages(struct job *j)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct ccs_comm *c = fresh(j->rank == 2 ? 20 + 7 * (unsigned)round : 20000);
		int32_t *data = map();
		ccs_status s = CCS_OK;
		bool ok = told_so(j, data, c);

		if (j->rank == 2)
			s = ccs_run(j->ring, data, data, 8, CCS_INT32, CCS_SUM, 0, c, NULL);
		while (ok && j->rank < 2 && !s)
			s = (j->rank ? ccs_send(data, LONG, CCS_INT32, 0, c, NULL)
				     : ccs_recv(data, LONG, CCS_INT32, 1, c, NULL));
		/* it may have failed between two messages */
		ok &= is(s, s == CCS_EABORTED ? s : CCS_ETIMEOUT, "no progress", "a message");
		ok &= is_back(j, data);
		j->ok &= say_together(j->told, ok, "long messages when a third rank fails");
		ccs_comm_free(c);
	}
}

/* MPI fails on rank 1, sooner or later in a call. */
static void send_fails(struct job *j)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct ccs_comm *c = fresh(20000);
		int32_t *data = map();
		ccs_status s = CCS_OK;
		bool ok = told_so(j, data, c);

		j->faults->sends = j->rank == 1 ? 1 + 3 * round : 0;
		for (int i = 0; i < 4 && !s; i++)
			s = ccs_run(j->ring, data, data, LONG, CCS_INT32, CCS_SUM, 0, c, NULL);
		ok &= !j->faults->sends &&
		      is(s, CCS_ESYSTEM, "MPI failed for a message between ranks 1 and ", "a call");
		ok &= is_back(j, data);
		j->ok &= say_together(j->told, ok, "a message that MPI fails to send");
		ccs_comm_free(c);
	}
}

static void split_fails(struct job *j)
{
	struct ccs_comm *c = fresh(20000), *child = NULL;
	bool ok = c;

	j->faults->split = j->rank == 1;
	ok = ok &&
	     is(ccs_comm_split(c, 0, j->rank, &child), CCS_ESYSTEM,
		"MPI's MPI_Comm_split failed: ", "a split") &&
	     !child;
	ok = ok && is(ccs_comm_split(c, 0, j->rank, &child), CCS_OK, NULL, "the next") && child;
	j->ok &= say_together(j->told, ok, "a split that MPI fails at");
	ccs_comm_free(child);
	ccs_comm_free(c);
}

int main(int argc, char **argv)
{
	struct job j = { .ok = true };
	const char *folder = argc > 1 ? argv[1] : ".";
	void *library;

	setvbuf(stdout, NULL, _IOLBF, 0);
	j.told = fresh(20000);
	if (!j.told || !named_module_loads(&j.ring, folder, "ring_allreduce") ||
	    !named_module_loads(&j.bcast, folder, "binomial_broadcast") ||
	    ccs_mpi_library(&library))
		return 1;
	*(void **)&j.held = dlsym(library, "held_mpi");
	j.faults = dlsym(library, "held_faults");
	j.rank = ccs_comm_rank(j.told);
	j.size = ccs_comm_size(j.told);
	if (!j.held || !j.faults || j.size != 3)
		return 1;
	late(&j, false);
	differs(&j);
	messages(&j);
	send_fails(&j);
	split_fails(&j);
	if (argc > 2)
		late(&j, true);
	ccs_comm_free(j.told);
	ccs_module_free(j.ring);
	ccs_module_free(j.bcast);
	return j.ok ? 0 : 1;
}
