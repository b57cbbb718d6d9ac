/*
 * NCCL and groups of processes, against a driver and an NCCL of our own (tests/fake_cuda,
 * tests/fake_nccl). Each rank is a process. usage: nccl_host_test LIBRARY, with the
 * stand-ins in LD_LIBRARY_PATH (tests/hosts/nccl_test.sh does that), and a library that is no
 * NCCL; or nccl_host_test real, for the NCCL of this machine.
 */
#include "tests/support/processes.h"
#include "tests/support/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- gathering and agreeing ------------------------------------------------------------- */

static bool gather_sizes(struct rank *r)
{
	static const size_t sizes[] = { 0, 1, 3, 64, 4095, 4096, 4097, 8192, 20001 };
	bool ok = rank_join(r) && group_comm(r->group);

	for (size_t i = 0; ok && i < sizeof(sizes) / sizeof(*sizes); i++)
		ok = rank_gathers(r, sizes[i]);
	group_leave(r->group, false);
	return ok;
}

/* The fake driver's, which libccs does not call. */
struct streams {
	int (*create)(void **, unsigned), (*destroy)(void *);
	void (*capture)(void *, int);
};

static bool gather_in_capture(struct rank *r)
{
	static const char *const names[] = { "cuStreamCreate", "cuStreamDestroy_v2",
					     "fake_capture" };
	void *stream = NULL;
	struct streams d;
	bool ok = stand_in("libcuda.so.1", names, 3, &d) && rank_join(r);
	int mode;

	if (!ok)
		return false;
	ok = !cuda_enter(&r->cuda, &mode) && !d.create(&stream, 1);
	cuda_leave(&r->cuda, mode);
	d.capture(stream, 1);
	ok = ok && rank_gathers(r, 5000) &&
	     is(group_agree(r->group, CCS_OK), CCS_OK, NULL, "group_agree in a capture");
	d.capture(stream, 0);
	ok = !cuda_enter(&r->cuda, &mode) && ok;
	d.destroy(stream);
	cuda_leave(&r->cuda, mode);
	group_leave(r->group, false);
	return ok;
}

/* The ranks fail whose bits are in k. */
static bool agree(struct rank *r)
{
	char text[64], want[64];
	ccs_status here = CCS_OK, s;
	int first = 0;
	bool ok = rank_join(r);

	if (!ok)
		return false;
	while (r->k && !(r->k >> first & 1))
		first++;
	if (r->k >> r->rank & 1)
		here = error_set(CCS_ENOPLAN, "trouble of rank %d", r->rank);
	s = group_agree(r->group, here);
	snprintf(text, sizeof(text), "trouble of rank %d", r->rank);
	snprintf(want, sizeof(want), "rank %d: trouble of rank %d", first, first);
	if (!r->k)
		ok = is(s, CCS_OK, NULL, "group_agree");
	else
		ok = is(s, CCS_ENOPLAN, here ? text : want, "group_agree");
	if (here) /* its own text, as it was */
		ok = ok && !strncmp(ccs_error(), text, strlen(text));
	/* the group goes on */
	ok = ok && rank_gathers(r, 10) && is(group_agree(r->group, CCS_OK), CCS_OK, NULL, "again");
	group_leave(r->group, false);
	return ok;
}

/* Rank 1 ends without a word. */
static bool dies(struct rank *r)
{
	unsigned char mine = 0, all[MOST];
	bool ok = rank_join(r);

	if (!ok)
		return false;
	if (r->rank == 1)
		_exit(0);
	ok = is(group_gather(r->group, &mine, all, 1), CCS_EABORTED, "ncclAllGather",
		"gathering with the dead") &&
	     is(group_gather(r->group, &mine, all, 1), CCS_EABORTED, "an earlier error",
		"gathering again") &&
	     is(group_agree(r->group, CCS_OK), CCS_EABORTED, "an earlier error", "agreeing") &&
	     is(group_agree(r->group, error_set(CCS_EINVAL, "my own")), CCS_EINVAL, "my own",
		"agreeing on what is worse here") &&
	     !group_comm(r->group);
	group_leave(r->group, true);
	return ok;
}

static void test_groups(void)
{
	bool ok = true;

	for (int n = 1; n <= 5; n++)
		ok = run_ranks(n, gather_sizes, 0) && ok;
	say(ok, "group_gather: 1 to 5 processes, 9 sizes");
	say(run_ranks(3, gather_in_capture, 0), "... while a stream of the thread is captured");
	ok = true;
	for (int k = 0; k < 16; k++)
		ok = run_ranks(4, agree, k) && ok;
	say(ok, "group_agree: nobody fails, any, all");
	say(run_ranks(1, agree, 0) && run_ranks(1, agree, 1), "... with one process");
	say(run_ranks(3, dies, 0), "a process that dies breaks the group, and nobody waits");
}

/* ---- sharing a GPU, and what is missing --------------------------------------------------- */

/* k 0: as it is; 1: shared. */
static bool duplicate(struct rank *r)
{
	nccl_comm comm = NULL;
	ccs_status s;
	int mode;

	cuda_enter(&r->cuda, &mode);
	s = nccl_join(&r->nccl, &comm, r->nranks, &r->id, r->rank);
	cuda_leave(&r->cuda, mode);
	if (s)
		return is(s, r->k ? CCS_OK : CCS_EUNSUPPORTED, "Duplicate GPU detected",
			  "nccl_join") &&
		       !comm;
	nccl_leave(&r->nccl, comm, false);
	return is(s, r->k ? CCS_OK : CCS_EUNSUPPORTED, NULL, "nccl_join");
}

/* Each on a GPU of its own, and no host made up; k 1: all on the second. */
static bool own_gpu(struct rank *r)
{
	nccl_comm comm = NULL;
	struct cuda cuda;
	ccs_status s;
	int mode;

	unsetenv("NCCL_HOSTID");
	s = cuda_open(&cuda, r->k ? 1 : r->rank);
	if (s || cuda_enter(&cuda, &mode))
		return false;
	s = nccl_join(&r->nccl, &comm, r->nranks, &r->id, r->rank);
	nccl_leave(&r->nccl, comm, false);
	cuda_leave(&cuda, mode);
	cuda_close(&cuda);
	return is(s, r->k ? CCS_EUNSUPPORTED : CCS_OK, "Duplicate GPU", "nccl_join");
}

static bool all_set(const char *const *names)
{
	for (; *names; names++)
		if (!getenv(*names))
			return false;
	return true;
}

static void test_share(void)
{
	static const char *const sockets[] = { "NCCL_HOSTID", "NCCL_NET", "NCCL_SOCKET_IFNAME",
					       "NCCL_MAX_NCHANNELS", NULL };
	static const char *const shared[] = { "NCCL_MULTI_RANK_GPU_ENABLE", NULL };
	struct nccl n;

	setenv("FAKE_CUDA_GPUS", "3", 1);
	say(run_ranks(3, own_gpu, 0), "processes with GPUs of their own");
	say(run_ranks(2, own_gpu, 1), "... and two on one, which NCCL refuses");
	unsetenv("FAKE_CUDA_GPUS");
	say(run_ranks(2, duplicate, 1), "two processes share a GPU: each passes for a host");
	setenv("NCCL_HOSTID", "one-for-both", 1);
	say(run_ranks(2, duplicate, 0), "what the user has set stays, and NCCL refuses");
	unsetenv("NCCL_HOSTID");
	setenv("FAKE_NCCL_VERSION", "23003", 1);
	say(run_ranks(2, duplicate, 1), "two processes share a GPU, from NCCL 2.30");
	setenv("NCCL_MULTI_RANK_GPU_ENABLE", "0", 1);
	say(run_ranks(2, duplicate, 0), "... unless the user will not have it");
	unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
	say(!nccl_open(&n) && !nccl_share_gpu(&n, 3) && all_set(shared) && !getenv("NCCL_HOSTID"),
	    "... by its variable alone");
	nccl_close(&n);
	unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
	unsetenv("FAKE_NCCL_VERSION");
	say(!nccl_open(&n) && !nccl_share_gpu(&n, 3) && all_set(sockets) && !getenv(*shared),
	    "before: by sockets on the loopback, few channels");
	nccl_close(&n);
	for (int i = 0; sockets[i]; i++)
		unsetenv(sockets[i]);
}

static void test_missing(const char *other)
{
	struct nccl n;

	say(!nccl_open(&n) && n.version == 22803 && strstr(n.path, "libnccl.so.2"),
	    "NCCL is found, with its version");
	nccl_close(&n);
	setenv("FAKE_NCCL_VERSION", "2708", 1);
	say(!nccl_open(&n) && n.version == 20708, "a version of the old kind");
	nccl_close(&n);
	unsetenv("FAKE_NCCL_VERSION");
	setenv("CCS_NCCL", "none", 1);
	say(is(nccl_open(&n), CCS_EUNSUPPORTED, "NCCL: CCS_NCCL is none", "no NCCL"),
	    "no NCCL: it is named");
	setenv("CCS_NCCL", "/nowhere/libnccl.so.2", 1);
	say(is(nccl_open(&n), CCS_EUNSUPPORTED, "CCS_NCCL is /nowhere/libnccl.so.2: ", "a path"),
	    "a path where there is none");
	setenv("CCS_NCCL", other, 1);
	say(is(nccl_open(&n), CCS_EUNSUPPORTED, "has no ncclGetVersion", "another library"),
	    "a library that is no NCCL");
	unsetenv("CCS_NCCL");
	setenv("FAKE_NCCL_FAIL", "ncclGetVersion:1:3", 1);
	say(is(nccl_open(&n), CCS_ESYSTEM, "ncclGetVersion failed: internal error", "version"),
	    "an NCCL that cannot tell its version");
	unsetenv("FAKE_NCCL_FAIL");
}

static void test_real(void)
{
	struct nccl n;

	if (nccl_open(&n)) {
		printf("skip - the real NCCL: %s\n", ccs_error());
		return;
	}
	say(n.version >= 20700 && n.version < 100000, "the real NCCL has what is called: %s, %d",
	    n.path, n.version);
	nccl_close(&n);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "real")) {
		test_real();
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "usage: nccl_host_test real|LIBRARY\n");
		return 2;
	}
	test_missing(argv[1]);
	test_groups();
	test_share();
	return 0;
}
