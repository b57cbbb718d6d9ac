/*
 * Communicators of some ranks of another one, and barriers, on GPUs, against a driver and an NCCL
 * of our own (tests/fake_cuda, tests/fake_nccl): several GPUs of one process; a process a rank, on
 * one host; and on several, of which those of a child are one, or not. See tests/cpu/split_test.c
 * for what is the same for all engines.
 *
 * usage: cuda_split_test devices|processes|hosts ring_allreduce.so, with FAKE_CUDA_GPUS=8;
 *        tests/cuda/cuda_places_test.sh and tests/hosts/hosts_test.sh do that
 */
#include "tests/support/order.h"
#include "tests/support/places.h"
#include "tests/support/processes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4, SOON_MS = 1000 };

/* ---- one process ------------------------------------------------------------------------ */

/* A call of all of them. */
static bool works(const struct ccs_module *m, struct ccs_comm *const *comm, int n)
{
	struct spot spot[N];
	struct data d;
	bool ok = data_make(&d, m, n, 13);

	for (int r = 0; ok && r < n; r++)
		ok = spot_take(spot + r, comm[r], &d);
	ccs_group_start();
	for (int r = 0; ok && r < n; r++)
		spot_run(spot + r, comm[r], &d);
	ok = is(ccs_group_end(), CCS_OK, NULL, "a call") && ok;
	for (int r = 0; ok && r < n; r++)
		ok = spot_right(spot + r, r, &d);
	for (int r = 0; r < n; r++)
		spot_leave(spot + r);
	data_free(&d);
	return ok;
}

/* Halves, the second in turned order; what is left is freed after the parent. */
static void test_devices(const struct ccs_module *m)
{
	static const int devices[N] = { 0, 1, 1, 3 };
	struct ccs_comm *comm[N], *half[N], *turned[2];
	bool ok = is(ccs_comm_init_devices(comm, N, devices), CCS_OK, NULL, "GPUs");

	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_comm_split(comm[r], r / 2, r < 2 ? r : -r, half + r);
	says(ccs_group_end(), CCS_OK, NULL, "ranks on GPUs are split");
	turned[0] = half[3];
	turned[1] = half[2];
	say(works(m, comm, N), "the parent works");
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
	say(ok && works(m, half, 2) && works(m, turned, 2), "the children work without it");
	say(ccs_comm_device(half[0]) == 0 && ccs_comm_device(half[1]) == 1 &&
		    ccs_comm_device(turned[0]) == 3 && ccs_comm_rank(half[2]) == 1,
	    "... on their parent's GPUs");
	for (int r = 0; r < N; r++)
		ccs_comm_free(half[r]);
}

/* ---- streams that meet -------------------------------------------------------------------- */

static void take_time(void *done)
{
	usleep(20000);
	*(volatile int *)done = 1;
}

static bool enter(struct ccs_comm *c, int *mode)
{
	return !cuda_enter(gpu_cuda_of(c->world, c->rank), mode);
}

static void leave(struct ccs_comm *c, int mode)
{
	cuda_leave(gpu_cuda_of(c->world, c->rank), mode);
}

static bool streams_make(struct ccs_comm *const *comm, cuda_stream *stream)
{
	bool ok = true;
	int mode;

	for (int r = 0; r < N && ok; r++) {
		ok = enter(comm[r], &mode) && !driver_stream_new(the_driver(), stream + r);
		leave(comm[r], mode);
	}
	return ok;
}

static ccs_status barrier_of(struct ccs_comm *const *comm, const cuda_stream *stream)
{
	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_barrier(comm[r], stream[r]);
	return ccs_group_end();
}

typedef int host_call(void *stream, void (*call)(void *), void *of);

/* Rank `late` has something to do in its stream; the others' go no further before. */
static bool waits(struct ccs_comm *const *comm, const cuda_stream *stream, int late)
{
	void *library = NULL;
	host_call *call;
	int mode, done = 0;
	bool ok = !ccs_cuda_library(&library) && enter(comm[late], &mode);

	*(void **)&call = dlsym(library, "cuLaunchHostFunc");
	ok = ok && call && !call(stream[late], take_time, &done);
	leave(comm[late], mode);
	ok = ok && is(barrier_of(comm, stream), CCS_OK, NULL, "ccs_barrier");
	for (int r = 0; r < N && ok; r++) {
		ok = r == late || !the_driver()->stream_sync(stream[r]);
		ok = ok && (r == late || *(volatile int *)&done);
	}
	return ok && !the_driver()->stream_sync(stream[late]);
}

static bool refuses_captures(struct ccs_comm *const *comm, const cuda_stream *stream)
{
	cuda_graph g = NULL;
	int mode;
	bool ok = enter(comm[2], &mode) && !driver_capture_begin(the_driver(), stream[2]) &&
		  is(barrier_of(comm, stream), CCS_EINVAL,
		     "the stream of rank 2 is captured, and that of rank 0 is not", "a capture") &&
		  !driver_capture_end(the_driver(), stream[2], &g);

	driver_graph_free(the_driver(), g);
	leave(comm[2], mode);
	return ok;
}

static void test_streams(void)
{
	static const int devices[N] = { 2, 0, 2, 3 };
	struct ccs_comm *comm[N];
	cuda_stream stream[N];
	bool ok = is(ccs_comm_init_devices(comm, N, devices), CCS_OK, NULL, "GPUs") &&
		  streams_make(comm, stream);

	for (int late = 0; ok && late < N; late++)
		ok = waits(comm, stream, late);
	say(ok, "nothing behind a barrier begins before all that is before it has ended");
	say(ok && refuses_captures(comm, stream) && barrier_of(comm, stream) == CCS_OK,
	    "streams of which one is captured do not meet, and the communicator goes on");
	for (int r = 0; r < N; r++) {
		driver_stream_free(the_driver(), stream[r]);
		ccs_comm_free(comm[r]);
	}
}

/* ---- a process a rank ------------------------------------------------------------------------ */

struct scene {
	const struct ccs_module *m;
	ccs_unique_id id;
	struct order *order;
	bool hosts; /* ranks 0 and 1 are on one, 2 and 3 on their own */
	bool late;  /* rank 1 does not come */
};

static bool one_works(const struct ccs_module *m, struct ccs_comm *c)
{
	struct spot spot;
	struct data d;
	bool ok = data_make(&d, m, ccs_comm_size(c), 840) && spot_take(&spot, c, &d);

	ok = ok && is(spot_run(&spot, c, &d), CCS_OK, NULL, "a call") &&
	     spot_right(&spot, ccs_comm_rank(c), &d);
	spot_leave(&spot);
	data_free(&d);
	return ok;
}

/* Ranks 0 and 1, and 3 before 2; rank 3 alone. */
static bool splits(const struct scene *s, struct ccs_comm *comm, int rank)
{
	static const int twice[] = { 2, 2 };
	struct ccs_comm *pair, *one = NULL, *none;
	bool ok = is(ccs_comm_split(comm, rank / 2, rank < 2 ? rank : -rank, &pair), CCS_OK, NULL,
		     "ccs_comm_split") &&
		  is(ccs_comm_group(comm, (int[]){ 3 }, 1, &one), CCS_OK, NULL, "ccs_comm_group");

	ok = ok && ccs_comm_rank(pair) == (rank < 2 ? rank : 3 - rank) && !one == (rank != 3);
	ok = ok && !strcmp(ccs_comm_engine(pair), s->hosts && rank >= 2 ? "hosts" : "cuda") &&
	     is(ccs_comm_group(comm, twice, 2, &none), CCS_EINVAL, "rank 2 is twice", "a list") &&
	     is(ccs_comm_split(comm, rank == 1 ? -7 : 0, 0, &none), CCS_EINVAL, "colour -7",
		"a colour") &&
	     one_works(s->m, comm) && one_works(s->m, pair);
	ccs_comm_free(one);
	ccs_comm_free(pair);
	return ok;
}

static bool orders(const struct scene *s, struct ccs_comm *comm)
{
	int early = -1;

	return is(order_try(s->order, NULL, comm, &early), CCS_OK, NULL, "ccs_barrier") && !early;
}

/* Whoever waits is told; and the one that did not come, when it does. The stand-in's calls do not
 * return before they are done, so that it is its own time that is over. */
static bool misses(struct ccs_comm *comm, int rank)
{
	struct ccs_comm *none;

	ccs_comm_set_timeout(comm, SOON_MS);
	if (rank == 1)
		usleep(2 * SOON_MS * 1000);
	return ccs_comm_split(comm, 0, 0, &none) != CCS_OK && !none;
}

static int act(void *of, int rank)
{
	const struct scene *s = of;
	struct ccs_comm *comm;
	bool ok;

	alarm(100);
	if (s->late)
		setenv("FAKE_NCCL_SECONDS", "1", 1);
	if (s->hosts)
		process_on_host(rank < 2 ? 0 : rank);
	if (!is(ccs_comm_init_rank(&comm, N, &s->id, rank, rank), CCS_OK, NULL, "a rank"))
		return 1;
	ok = s->late ? misses(comm, rank) : splits(s, comm, rank) && orders(s, comm);
	if (!ok)
		printf("# ... in rank %d: %s\n", rank, ccs_error());
	ccs_comm_free(comm);
	return !ok;
}

static void test_processes(const struct ccs_module *m, bool hosts)
{
	struct scene s = { .m = m, .order = order_make(N), .hosts = hosts };
	const char *where = hosts ? "on three hosts" : "on one host";

	ccs_get_unique_id(&s.id);
	say(processes_run(N, act, &s), "processes %s are split, and meet at a barrier", where);
	s.late = true;
	ccs_get_unique_id(&s.id);
	say(processes_run(N, act, &s),
	    "... and do not wait for ever for a rank that does not come");
	order_free(s.order);
}

int main(int argc, char **argv)
{
	const struct ccs_module *m;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3 || modules_load(&m, 1, argv + 2, 1) != 1) {
		fprintf(stderr, "usage: cuda_split_test devices|processes|hosts MODULE\n");
		return 2;
	}
	if (!strcmp(argv[1], "devices")) {
		test_devices(m);
		test_streams();
	} else {
		test_processes(m, !strcmp(argv[1], "hosts"));
	}
	modules_free(&m, 1);
	return 0;
}
