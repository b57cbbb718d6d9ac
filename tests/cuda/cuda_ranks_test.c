/*
 * Communicators of several processes, against a driver and an NCCL of our own (tests/fake_cuda,
 * tests/fake_nccl): results equal the CPU executor's, byte by byte; an error in one process is
 * reported in all.
 *
 * usage: cuda_ranks_test processes|trouble MODULE...
 *        (trouble: ring_allreduce.so); tests/cuda/cuda_places_test.sh does that, with the
 *        libraries in LD_LIBRARY_PATH and CCS_NCCL.
 */
#include "tests/support/order.h"
#include "tests/support/places.h"
#include "tests/support/peers.h"
#include "tests/support/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- a process a rank --------------------------------------------------------------------- */

/* The report of each process of a test to the process that started it. */
struct told {
	ccs_status status;
	char text[1000];
	bool bad; /* results, or anything else */
	int seen; /* the other processes may go on */
};

struct scene {
	const struct ccs_module **m;
	int nm, n;
	ccs_unique_id id;
	struct told *told; /* [n], shared */
	struct order *order;
	const char *fail; /* FAKE_CUDA_FAIL of rank 2 ... */
	bool late;	  /* ... once the communicator is made */
	bool odd;	  /* rank 3 has another setting */
	int port;	  /* they meet there, by torchrun's variables; 0: by the id */
	unsigned timeout;
	bool stolen;
	void (*play)(struct scene *, struct ccs_comm *, int rank);
};

static void tell(struct scene *s, int rank, ccs_status status)
{
	s->told[rank].status = status;
	snprintf(s->told[rank].text, sizeof(s->told[rank].text), "%s", status ? ccs_error() : "");
}

static ccs_status join_by_env(const struct scene *s, struct ccs_comm **comm, int rank)
{
	const char *const names[] = { "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
				      "MASTER_PORT" };
	const int values[] = { rank, rank, s->n, s->n, s->port };
	char text[16];

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		snprintf(text, sizeof(text), "%d", values[i]);
		setenv(names[i], text, 1);
	}
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	return ccs_comm_init_env(comm);
}

static int act(void *scene, int rank)
{
	struct scene *s = scene;
	struct ccs_comm *comm;
	ccs_status status;

	alarm(100); /* the other ranks report nothing of one that hangs */
	if (s->fail && rank == 2 && !s->late)
		setenv("FAKE_CUDA_FAIL", s->fail, 1);
	peers_pretend((struct peers){ .other_owner = s->stolen && rank == 2 });
	if (s->odd)
		setenv("CCS_TILE_BYTES", rank == 3 ? "128" : "256", 1);
	status = s->port ? join_by_env(s, &comm, rank)
			 : ccs_comm_init_rank(&comm, s->n, &s->id, rank, rank);
	if (status) {
		tell(s, rank, status);
		return 0;
	}
	if (s->timeout)
		ccs_comm_set_timeout(comm, s->timeout);
	s->play(s, comm, rank);
	unsetenv("FAKE_CUDA_FAIL");
	ccs_comm_free(comm);
	return 0;
}

/* Whether all have ended by themselves. */
static bool perform(struct scene *s)
{
	s->told = processes_share(MOST * sizeof(*s->told));
	s->order = order_make(s->n);
	return is(ccs_get_unique_id(&s->id), CCS_OK, NULL, "an id") && processes_run(s->n, act, s);
}

static void end(struct scene *s)
{
	munmap(s->told, MOST * sizeof(*s->told));
	order_free(s->order);
}

/* Segments that the processes share have no name any more. */
static bool nameless(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	bool gone = f != NULL;
	char line[600];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "/dev/shm/ccs-") && !strstr(line, "(deleted)"))
			gone = false;
	if (f)
		fclose(f);
	return gone;
}

static ccs_status play_one(struct scene *s, struct ccs_comm *comm, int rank, const struct data *d,
			   int calls)
{
	ccs_status status = CCS_OK;
	struct spot seat;

	if (!spot_take(&seat, comm, d))
		status = CCS_ENOMEM;
	for (int k = 0; k < calls && !status; k++)
		status = spot_run(&seat, comm, d);
	if (!status && !spot_right(&seat, rank, d)) {
		status = ccs_comm_check(comm);
		s->told[rank].bad |= !status;
		if (!status)
			printf("# rank %d, %s, count %zu: wrong\n", rank, ccs_module_schedule(d->m),
			       d->count);
	}
	if (!status)
		status = ccs_comm_check(comm);
	if (status)
		tell(s, rank, status);
	spot_leave(&seat);
	return status;
}

/* A module without buffers: only its order counts. */
static ccs_status play_order(struct scene *s, const struct ccs_module *m, struct ccs_comm *comm,
			     int rank)
{
	int early;
	ccs_status status = order_try(s->order, m, comm, &early);

	s->told[rank].bad |= early > 0;
	if (early)
		printf("# rank %d, %s: did not wait\n", rank, ccs_module_schedule(m));
	if (status)
		tell(s, rank, status);
	return status;
}

static void play_all(struct scene *s, struct ccs_comm *comm, int rank)
{
	ccs_status status = CCS_OK;
	struct data d;

	for (int i = 0; i < s->nm && !status; i++)
		if (ccs_module_has(s->m[i], s->n) && !s->m[i]->nbuffers)
			status = play_order(s, s->m[i], comm, rank);
	for (int i = 0; i < s->nm * COUNTS && !status; i++) {
		if (!ccs_module_has(s->m[i / COUNTS], s->n) ||
		    !data_make(&d, s->m[i / COUNTS], s->n, places_counts[i % COUNTS]))
			continue;
		status = play_one(s, comm, rank, &d, 3);
		data_free(&d);
	}
	s->told[rank].bad |= !nameless();
}

/* The very first call is captured; its replays run concurrently with calls in another stream. */
static ccs_status mix(struct ccs_comm *comm, const struct spot *direct, const struct spot *graph,
		      const struct data *d)
{
	struct cuda *gpu = direct->cuda;
	cuda_stream a, b;
	cuda_graph g = NULL;
	ccs_status s;
	int mode;

	s = cuda_enter(gpu, &mode);
	s = s ? s : driver_stream_new(the_driver(), &a);
	s = s ? s : driver_stream_new(the_driver(), &b);
	s = s ? s : driver_capture_begin(the_driver(), b);
	s = s ? s : spot_run_on(graph, comm, d, b);
	s = s ? s : driver_capture_end(the_driver(), b, &g);
	for (int k = 0; k < 3; k++) {
		s = s ? s : driver_graph_launch(the_driver(), g, b);
		s = s ? s : cuda_sync(gpu, b); /* all ranks in the same order */
		s = s ? s : spot_run_on(direct, comm, d, a);
	}
	s = s ? s : cuda_sync(gpu, a);
	if (s)
		return s; /* the test has failed: whatever is left */
	driver_graph_free(the_driver(), g);
	driver_stream_free(the_driver(), a);
	driver_stream_free(the_driver(), b);
	cuda_leave(gpu, mode);
	return CCS_OK;
}

static void play_graph(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct spot direct, graph;
	ccs_status status;
	struct data d;

	if (!data_make(&d, s->m[0], s->n, 840) || !spot_take(&direct, comm, &d) ||
	    !spot_take(&graph, comm, &d)) {
		s->told[rank].bad = true;
		return;
	}
	status = mix(comm, &direct, &graph, &d);
	tell(s, rank, status ? status : ccs_comm_check(comm));
	s->told[rank].bad = !spot_right(&direct, rank, &d) || !spot_right(&graph, rank, &d);
	spot_leave(&direct);
	spot_leave(&graph);
	data_free(&d);
}

static bool went_well(const struct scene *s)
{
	bool well = true;

	for (int r = 0; r < s->n; r++) {
		if (s->told[r].status)
			printf("# rank %d: %s\n", r, s->told[r].text);
		well &= !s->told[r].status && !s->told[r].bad;
	}
	return well;
}

static void test_processes(const struct ccs_module **m, int nm)
{
	for (int i = 0; i < nm; i++) {
		struct scene s = { .m = m + i, .nm = 1, .n = 4, .play = play_all };
		bool all;

		if (!ccs_module_has(m[i], 4))
			continue;
		all = perform(&s);
		say(all && went_well(&s), "%s: 4 processes, as on the CPU",
		    ccs_module_schedule(m[i]));
		end(&s);
	}
	struct scene graphs = { .m = m, .nm = 1, .n = 4, .play = play_graph };

	say(perform(&graphs) && went_well(&graphs), "4 processes replay a graph beside calls");
	end(&graphs);
	for (int n = 2; n <= 8; n += 6) {
		struct scene s = { .m = m, .nm = nm, .n = n, .play = play_all };
		bool all = perform(&s);

		say(all && went_well(&s), "%d processes run all schedules in one communicator", n);
		end(&s);
	}
}

/* ---- trouble --------------------------------------------------------------------------- */

/* One call, the status that it left, and one more call. */
static void play_stuck(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct spot seat;
	struct data d;
	ccs_status status;

	if (!data_make(&d, s->m[0], s->n, 840) || !spot_take(&seat, comm, &d)) {
		s->told[rank].bad = true;
		return;
	}
	setenv("FAKE_CUDA_STUCK", s->n == 2 ? "1" : "2", 1);
	status = spot_run(&seat, comm, &d);
	unsetenv("FAKE_CUDA_STUCK");
	s->told[rank].bad = status != CCS_OK;
	spot_sync(&seat);
	/* the rank that timed out first reported before it aborted the other ranks */
	tell(s, rank, ccs_comm_check(comm));
	s->told[rank].bad |= spot_run(&seat, comm, &d) != CCS_EABORTED;
	spot_leave(&seat);
	data_free(&d);
}

static bool all_say(const struct scene *s, int except, ccs_status status, const char *text,
		    const char *also)
{
	bool all = true;

	for (int r = 0; r < s->n; r++) {
		const struct told *t = s->told + r;

		if (r == except || (t->status == status && !t->bad && strstr(t->text, text) &&
				    strstr(t->text, also)))
			continue;
		printf("# rank %d: %s, %s%s\n", r, ccs_status_name(t->status), t->text,
		       t->bad ? " (and more is wrong)" : "");
		all = false;
	}
	return all;
}

/* Of a chain of waits, the first that times out is reported; of two ranks only one waits. */
static void test_stuck(const struct ccs_module *m)
{
	struct scene s = { .m = &m, .nm = 1, .n = 2, .timeout = 300, .play = play_stuck };
	bool all = perform(&s);

	say(all && all_say(&s, -1, CCS_ETIMEOUT,
			   "rank 0 waits at ring_allreduce.ccs:", "to receive from rank 1"),
	    "a stuck rank is told of in both processes, with rank, line and peer");
	end(&s);
	s.n = 4;
	all = perform(&s);
	say(all && all_say(&s, -1, CCS_ETIMEOUT,
			   "waits at ring_allreduce.ccs:", "to receive from rank"),
	    "... and in all four");
	end(&s);
}

/* Rank 1 comes when rank 0 has said that it waits. */
static void play_late(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct told *first = s->told;
	struct spot seat;
	struct data d;
	ccs_status status;

	if (!data_make(&d, s->m[0], s->n, 840) || !spot_take(&seat, comm, &d)) {
		s->told[rank].bad = true;
		return;
	}
	status = spot_run(&seat, comm, &d);
	spot_sync(&seat);
	comm->world->timeout = 50; /* no user can set it without its ending kernels */
	for (int i = 0; rank && i < 10000 && !__atomic_load_n(&first->seen, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	status = status ? status : spot_run(&seat, comm, &d);
	for (int i = 0; !rank && !status && i < 10000 && !*first->text; i++) {
		usleep(1000);
		status = ccs_comm_waits(comm, first->text, sizeof(first->text));
	}
	if (!rank)
		__atomic_store_n(&first->seen, 1, __ATOMIC_RELEASE);
	spot_sync(&seat);
	s->told[rank].status = status ? status : ccs_comm_check(comm);
	s->told[rank].bad |= !spot_right(&seat, rank, &d);
	spot_leave(&seat);
	data_free(&d);
}

static void test_late(const struct ccs_module *m)
{
	struct scene s = { .m = &m, .nm = 1, .n = 2, .play = play_late };
	bool all = perform(&s);

	if (!say(all && went_well(&s) &&
			 strstr(s.told[0].text, "rank 0 waits at ring_allreduce.ccs:") &&
			 strstr(s.told[0].text, "to receive from rank 1"),
		 "a rank that waits for a late one says so, and the call goes on"))
		printf("# %s\n", s.told[0].text);
	end(&s);
}

static void play_refused(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct spot spot;
	struct data d;
	ccs_status status;

	if (!data_make(&d, s->m[0], s->n, 840) || !spot_take(&spot, comm, &d)) {
		s->told[rank].bad = true;
		return;
	}
	if (rank == 2)
		setenv("FAKE_CUDA_FAIL", "cuLaunchCooperativeKernel:2:999", 1); /* it has tried */
	status = spot_run(&spot, comm, &d);
	unsetenv("FAKE_CUDA_FAIL");
	s->told[rank].bad = (rank == 2) != (status != CCS_OK);
	spot_sync(&spot);
	tell(s, rank, ccs_comm_check(comm));
	spot_leave(&spot);
	data_free(&d);
}

static void test_refused(const struct ccs_module *m)
{
	struct scene s = { .m = &m, .nm = 1, .n = 4, .play = play_refused };
	bool all = perform(&s);

	say(all && !s.told[2].bad &&
		    all_say(&s, 2, CCS_EABORTED,
			    "rank 2 has given up: ", "cuLaunchCooperativeKernel"),
	    "a launch that is refused in one process ends those of all, with its text");
	end(&s);
}

/* The GPU of rank 1 takes no block at all, and later does. */
static void play_small(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct spot seat;
	struct data d;
	ccs_status status;

	if (!data_make(&d, s->m[0], s->n, 840) || !spot_take(&seat, comm, &d))
		return;
	setenv("FAKE_CUDA_SHARE", "100000@1", 1);
	tell(s, rank, spot_run(&seat, comm, &d));
	unsetenv("FAKE_CUDA_SHARE");
	status = spot_run(&seat, comm, &d);
	s->told[rank].bad = status || !spot_right(&seat, rank, &d);
	spot_leave(&seat);
	data_free(&d);
}

static void test_small(const struct ccs_module *m)
{
	struct scene s = { .m = &m, .nm = 1, .n = 4, .play = play_small };
	bool all = perform(&s), right = true;

	for (int r = 0; r < s.n; r++)
		right &= !s.told[r].bad;
	say(all && right &&
		    all_say(&s, 1, CCS_EUNSUPPORTED, "rank 1: ", "cuLaunchCooperativeKernel"),
	    "a GPU that takes no channel at all is told of in all processes, which go on");
	end(&s);
}

static void play_death(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct data d;

	if (!data_make(&d, s->m[0], s->n, 840))
		return;
	play_one(s, comm, rank, &d, 1);
	if (rank == 1)
		_exit(0);
	play_one(s, comm, rank, &d, 1);
	data_free(&d);
}

static void test_death(const struct ccs_module *m)
{
	struct scene s = { .m = &m, .nm = 1, .n = 4, .timeout = 400, .play = play_death };
	bool all = perform(&s);

	say(all && all_say(&s, 1, CCS_ETIMEOUT, "waits at ring_allreduce.ccs:", "rank"),
	    "a process that died is told of in all others, and none hangs");
	end(&s);
}

/* The first calls differ: refused in all; then they go on. */
static void play_mismatch(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct spot seat;
	struct data d, other;
	ccs_status status;

	if (!data_make(&d, s->m[0], s->n, 840) || !data_make(&other, s->m[0], s->n, 13) ||
	    !spot_take(&seat, comm, &d))
		return;
	status = spot_run(&seat, comm, rank == 1 ? &other : &d);
	tell(s, rank, status);
	status = spot_run(&seat, comm, &d);
	s->told[rank].bad = status || !spot_right(&seat, rank, &d);
	spot_leave(&seat);
	data_free(&d);
	data_free(&other);
}

/* The processes exchange bytes, and report the result here and in the other processes. */
static void play_words(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct word {
		int rank;
		char text[5000];
	} mine = { .rank = 10 + rank }, *all = calloc((size_t)s->n, sizeof(*all));
	ccs_status status;
	bool right = all != NULL;
	char text[200];

	memset(mine.text, 'a' + rank, sizeof(mine.text));
	right = right &&
		is(ccs_comm_gather(comm, &mine, all, sizeof(mine)), CCS_OK, NULL, "gather");
	for (int r = 0; right && r < s->n; r++)
		right = all[r].rank == 10 + r && all[r].text[0] == 'a' + r &&
			all[r].text[4999] == 'a' + r;
	right = right && !ccs_comm_gather(comm, NULL, NULL, 0) && !ccs_comm_agree(comm, CCS_OK) &&
		ccs_comm_device(comm) == rank && ccs_comm_nccl(comm) &&
		!ccs_comm_describe(comm, text, sizeof(text)) &&
		strstr(text, "4 processes on 1 host");
	free(all);
	status = ccs_comm_agree(comm, rank == 2 ? ccs_error_set(CCS_EFILE, "of its own") : CCS_OK);
	right = right && status == CCS_EFILE &&
		!strcmp(ccs_error(), rank == 2 ? "of its own" : "rank 2: of its own");
	s->told[rank].bad = !right || ccs_comm_agree(comm, CCS_OK);
}

static void test_words(void)
{
	struct scene s = { .n = 4, .play = play_words };
	bool all = perform(&s);

	for (int r = 0; r < s.n; r++)
		all = all && !s.told[r].status && !s.told[r].bad;
	say(all, "processes tell one another bytes, and what fails in one, between calls");
	end(&s);
}

static void play_nothing(struct scene *s, struct ccs_comm *comm, int rank)
{
	(void)comm;
	tell(s, rank, CCS_OK);
}

static void test_mismatch(const struct ccs_module *m)
{
	struct scene s = { .m = &m, .nm = 1, .n = 4, .play = play_mismatch };
	bool all = perform(&s);

	say(all && all_say(&s, -1, CCS_EINVAL, "rank 0 calls ring_allreduce with count 840",
			   "rank 1 calls ring_allreduce with count 13"),
	    "first calls that differ are refused in all processes, which go on");
	end(&s);
}

/* One rank is set otherwise. */
/* Rank 2 finds another user's segment where rank 0's should be. */
static void test_stolen(void)
{
	struct scene s = { .n = 4, .play = play_nothing, .stolen = true };
	bool all = perform(&s);

	say(all && all_say(&s, 2, CCS_ESYSTEM, "rank 2: /dev/shm/ccs-", "belongs to another user"),
	    "memory that is another user's is not shared");
	end(&s);
}

static void test_settings(void)
{
	struct scene s = { .n = 4, .odd = true, .play = play_nothing };
	bool all = perform(&s);

	say(all && all_say(&s, -1, CCS_EINVAL, "CCS_TILE_BYTES 256", "rank 3 has"),
	    "settings that differ are refused in all processes");
	end(&s);
}

static void play_failing(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct data d;

	if (!data_make(&d, s->m[0], s->n, 840))
		return;
	if (s->fail && rank == 2 && s->late)
		setenv("FAKE_CUDA_FAIL", s->fail, 1);
	/* the test's own allocations must not fail: they are made before */
	play_one(s, comm, rank, &d, 2);
	data_free(&d);
}

/* Each call with that name that rank 2 makes fails once: then either no rank fails, or all fail
 * alike. `skip`: the number of such calls that the test itself makes. */
static void test_failing(const struct ccs_module *m, const char *name, bool late, int skip)
{
	int places = 0, since = 0;
	bool right = true;

	for (int k = 1 + skip; right && since < 3 && k < 60; k++) {
		char fail[80], named[40];
		struct scene s = { .m = &m,
				   .nm = 1,
				   .n = 4,
				   .fail = fail,
				   .late = late,
				   .timeout = 1000,
				   .play = play_failing };
		bool failed;

		snprintf(fail, sizeof(fail), "%s:%d:999", name, k);
		snprintf(named, sizeof(named), "%.*s", (int)strcspn(name, "_"), name);
		right = perform(&s);
		failed = s.told[0].status != CCS_OK;
		if (failed)
			right = right && all_say(&s, 2, s.told[2].status, "rank 2", named) &&
				all_say(&s, 0, s.told[2].status, named, "");
		else
			right = right && went_well(&s);
		if (!right)
			printf("# %s\n", fail);
		places += failed;
		since = failed ? 0 : since + 1;
		end(&s);
	}
	say(right && places, "%s failing in one process, at %d places, fails in all with its text",
	    name, places);
}

static void test_env(const struct ccs_module *m)
{
	struct scene s = { .m = &m, .nm = 1, .n = 4, .play = play_all, .port = free_port() };
	bool all = perform(&s);
	struct ccs_comm *comm;

	say(all && went_well(&s), "4 processes meet by torchrun's variables");
	end(&s);
	say(ccs_comm_init_env(&comm) == CCS_EINVAL && strstr(ccs_error(), "torchrun") && !comm,
	    "without a launcher's variables that is said");
}

static void test_trouble(const struct ccs_module *m)
{
	test_stuck(m);
	test_late(m);
	test_refused(m);
	test_small(m);
	test_death(m);
	test_mismatch(m);
	test_words();
	test_stolen();
	test_settings();
	test_env(m);
	test_failing(m, "cuMemHostRegister_v2", false, 0);
	test_failing(m, "cuModuleLoadData", true, 0);
	test_failing(m, "cuOccupancyMaxActiveBlocksPerMultiprocessor", true, 0);
	test_failing(m, "cuMemAlloc_v2", true, 2);
	if (!getenv("CCS_P2P_DISABLE")) {
		test_failing(m, "cuIpcGetMemHandle", true, 0);
		test_failing(m, "cuIpcOpenMemHandle_v2", true, 0);
	}
}

int main(int argc, char **argv)
{
	const struct ccs_module *m[64];
	int n = modules_load(m, 64, argv + 2, argc - 2);

	if (n < 1) {
		fprintf(stderr, "usage: cuda_ranks_test processes|trouble MODULE...\n");
		return 2;
	}
	if (!strcmp(argv[1], "processes"))
		test_processes(m, n);
	else if (!strcmp(argv[1], "trouble"))
		test_trouble(m[0]);
	modules_free(m, n);
	return 0;
}
