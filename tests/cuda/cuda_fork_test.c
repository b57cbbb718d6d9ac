/*
 * A process with communicators on GPUs forks, against a driver and an NCCL of our own
 * (tests/fake_cuda, tests/fake_nccl), which no forked process may call: the child frees the
 * inherited communicators, and gets an error with the reason for every other use; the parent goes
 * on.
 *
 * usage: cuda_fork_test forks ring_allreduce.so; tests/cuda/cuda_places_test.sh does that, with
 *        the libraries in LD_LIBRARY_PATH and CCS_NCCL.
 */
#include "tests/support/places.h"
#include "tests/support/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a process has when it forks. */
struct estate {
	const struct ccs_module *m;
	struct ccs_comm **comm; /* [n]; NULL: another process's */
	int n, mine;		/* ... the first one made in this process */
	ccs_unique_id id;
};

static bool child_cpu(const struct estate *e)
{
	struct ccs_comm *comm[MOST];
	float x[MOST] = { 1, 2, 3, 4 };
	bool ok = is(ccs_comm_init_all(comm, e->n), CCS_OK, NULL, "on the CPU");

	ccs_group_start();
	for (int r = 0; ok && r < e->n; r++)
		ccs_run(e->m, x + r, x + r, 1, CCS_FLOAT32, CCS_MAX, 0, comm[r], NULL);
	ok = ok && is(ccs_group_end(), CCS_OK, NULL, "a call on the CPU") && x[0] == (float)e->n;
	for (int r = 0; r < e->n; r++)
		ccs_comm_free(comm[r]);
	return ok;
}

static int child(void *of, int index)
{
	static const char text[] = "was forked from the one that made the communicator";
	const struct estate *e = of;
	struct ccs_comm *c = e->comm[e->mine], *own[MOST];
	float x = 0;
	bool ok;

	(void)index;
	alarm(60);
	ok = is(ccs_run(e->m, &x, &x, 1, CCS_FLOAT32, CCS_SUM, 0, c, NULL), CCS_EABORTED, text,
		"ccs_run") &&
	     is(ccs_comm_check(c), CCS_EABORTED, text, "ccs_comm_check") &&
	     is(ccs_comm_set_timeout(c, 5), CCS_EABORTED, text, "ccs_comm_set_timeout") &&
	     is(ccs_comm_init_cuda(own, 2, 0), CCS_ESYSTEM,
		"was forked from a process that had already used a GPU",
		"a communicator on a GPU") &&
	     !own[0];
	for (int r = 0; r < e->n; r++)
		ccs_comm_free(e->comm[r]);
	ok = ok && child_cpu(e);
	exit(ok ? 0 : 1); /* with the leak checker, where there is one */
}

static bool run_all(const struct estate *e, const struct data *d)
{
	struct spot spots[MOST] = { { 0 } };
	bool right = true;

	for (int r = 0; r < e->n; r++)
		if (e->comm[r])
			right = spot_take(spots + r, e->comm[r], d) && right;
	ccs_group_start();
	for (int r = 0; r < e->n && right; r++)
		if (e->comm[r])
			spot_run(spots + r, e->comm[r], d);
	right = is(ccs_group_end(), CCS_OK, NULL, "a call on GPUs") && right;
	for (int r = 0; r < e->n; r++) {
		if (!e->comm[r])
			continue;
		right = right && spot_right(spots + r, r, d);
		spot_leave(spots + r);
	}
	return right && is(ccs_comm_check(e->comm[e->mine]), CCS_OK, NULL, "ccs_comm_check");
}

/* Before the first call, and after some, which made tables, kernels and segments. */
static bool fork_twice(struct estate *e)
{
	struct data small, large;
	bool ok = data_make(&small, e->m, e->n, 5) && data_make(&large, e->m, e->n, 840) &&
		  processes_run(1, child, e) && run_all(e, &small) && run_all(e, &large) &&
		  processes_run(1, child, e) && run_all(e, &small) && run_all(e, &large);

	data_free(&small);
	data_free(&large);
	for (int r = 0; r < e->n; r++)
		ccs_comm_free(e->comm[r]);
	return ok;
}

/* Each test runs in a separate process: this process must not have used a GPU. */
static int on_one(void *of, int index)
{
	struct ccs_comm *comm[MOST];
	struct estate e = *(struct estate *)of;

	(void)index;
	e.comm = comm;
	return !(is(ccs_comm_init_cuda(comm, e.n, 0), CCS_OK, NULL, "ccs_comm_init_cuda") &&
		 fork_twice(&e));
}

static int on_several(void *of, int index)
{
	static const int devices[] = { 0, 1, 1, 2 };
	struct ccs_comm *comm[MOST];
	struct estate e = *(struct estate *)of;

	(void)index;
	e.comm = comm;
	return !(is(ccs_comm_init_devices(comm, e.n, devices), CCS_OK, NULL,
		    "ccs_comm_init_devices") &&
		 fork_twice(&e));
}

static int one_of_several(void *of, int index)
{
	struct ccs_comm *comm[MOST] = { NULL };
	struct estate e = *(struct estate *)of;

	e.comm = comm;
	e.mine = index;
	return !(is(ccs_comm_init_rank(comm + index, e.n, &e.id, index, index), CCS_OK, NULL,
		    "ccs_comm_init_rank") &&
		 fork_twice(&e));
}

static int one_a_host(void *of, int index)
{
	char name[16];

	snprintf(name, sizeof(name), "host-%d", index / 2);
	setenv("CCS_HOSTID", name, 1);
	return one_of_several(of, index);
}

int main(int argc, char **argv)
{
	struct estate e = { .n = 4 };

	if (argc != 3 || modules_load(&e.m, 1, argv + 2, 1) != 1)
		return 2;
	say(processes_run(1, on_one, &e), "a process with a communicator on one GPU forks");
	say(processes_run(1, on_several, &e), "... on several GPUs");
	say(is(ccs_get_unique_id(&e.id), CCS_OK, NULL, "an id") &&
		    processes_run(4, one_of_several, &e),
	    "... among processes");
	say(is(ccs_get_unique_id(&e.id), CCS_OK, NULL, "an id") && processes_run(4, one_a_host, &e),
	    "... on several hosts");
	modules_free(&e.m, 1);
	return 0;
}
