/*
 * Communicators over several GPUs of one process, with our fake driver (tests/fake_cuda): results
 * equal those of the CPU's executor, byte by byte; graphs concurrent with calls; GPUs that get
 * stuck, or refuse a launch.
 *
 * usage: cuda_places_test devices|graphs|trouble MODULE...
 *        (trouble: ring_allreduce.so direct_all_to_all.so); tests/cuda/cuda_places_test.sh does that.
 */
#include "tests/support/places.h"
#include "tests/support/processes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- several GPUs, one process --------------------------------------------------------- */

static bool run_all(struct ccs_comm **comm, const struct data *d)
{
	struct spot spots[MOST] = { { 0 } };
	bool right = true;

	for (int r = 0; r < d->n; r++)
		right &= spot_take(spots + r, comm[r], d);
	for (int k = 0; k < 2 && right; k++) {
		ccs_group_start();
		for (int r = 0; r < d->n; r++)
			spot_run(spots + r, comm[r], d);
		right = !ccs_group_end();
	}
	for (int r = 0; r < d->n && right; r++)
		right = spot_right(spots + r, r, d);
	right = right && !ccs_comm_check(comm[0]);
	if (!right)
		printf("# count %zu: %s\n", d->count, ccs_error());
	for (int r = 0; r < d->n; r++)
		spot_leave(spots + r);
	return right;
}

static bool on_devices(const struct ccs_module *m, int n, const int *devices)
{
	struct ccs_comm *comm[MOST];
	ccs_status s = ccs_comm_init_devices(comm, n, devices);
	bool right = !s;
	struct data d;

	if (s) {
		printf("# %s\n", ccs_error());
		return false;
	}
	for (int i = 0; i < COUNTS && right; i++) {
		if (!data_make(&d, m, n, places_counts[i]))
			continue;
		right = run_all(comm, &d);
		data_free(&d);
	}
	for (int r = 0; r < n; r++)
		ccs_comm_free(comm[r]);
	return right;
}

static void test_devices(const struct ccs_module *m)
{
	int devices[MOST], ran = 0;
	bool right = true;

	for (int n = 2; n <= 8 && right; n *= 2) {
		if (!ccs_module_has(m, n))
			continue;
		for (int gpus = 2; gpus <= 4 && gpus <= n && right; gpus += 2) {
			for (int r = 0; r < n; r++)
				devices[r] = r * gpus / n;
			right = on_devices(m, n, devices);
			for (int r = 0; r < n; r++) /* not adjacent, not ascending */
				devices[r] = gpus - 1 - r % gpus;
			right = right && on_devices(m, n, devices);
			ran += 2;
		}
	}
	say(right && ran, "%s: %d placements on 2 and 4 GPUs, as on the CPU",
	    ccs_module_schedule(m), ran);
}

/* A type that is new to a plan which may still be running, when its kernel is there from another
 * root's: nothing but its order keeps the trial of what fits behind that call. */
static void test_unwaited(const struct ccs_module *m)
{
	static const int devices[] = { 0, 1 }, roots[] = { 1, 0, 1 };
	static const ccs_dtype types[] = { CCS_INT32, CCS_FLOAT32, CCS_FLOAT32 };
	struct ccs_comm *comm[2];
	struct spot spots[2];
	struct data d;
	ccs_status s;

	s = ccs_comm_init_devices(comm, 2, devices);
	if (s || !data_make(&d, m, 2, 840)) {
		say(false, "two GPUs: %s", ccs_error());
		return;
	}
	for (int r = 0; r < 2; r++)
		spot_take(spots + r, comm[r], &d);
	for (int k = 0; k < 3 && !s; k++) {
		ccs_group_start();
		for (int r = 0; r < 2; r++)
			ccs_run(m, (void *)(uintptr_t)spots[r].in, (void *)(uintptr_t)spots[r].out,
				d.count, types[k], CCS_SUM, roots[k], comm[r], NULL);
		s = ccs_group_end();
	}
	say(!s && spot_right(spots + 1, 1, &d), "%s: calls of two types and roots, none waited for",
	    ccs_module_schedule(m));
	for (int r = 0; r < 2; r++) {
		spot_leave(spots + r);
		ccs_comm_free(comm[r]);
	}
	data_free(&d);
}

/* ---- graphs concurrent with calls --------------------------------------------------------- */

/* Ranks of one GPU share a stream for calls and one for graphs. */
struct stage {
	int n;
	struct ccs_comm *comm[4];
	struct spot calls[4], graphs[4];
	struct cuda *cuda[4]; /* [gpus] */
	cuda_stream call[4], graph[4];
	cuda_graph replay[4];
	const int *devices;
	int gpus;
	struct data d;
};

static ccs_status each_rank(struct stage *t, bool graph)
{
	ccs_group_start();
	for (int r = 0; r < t->n; r++)
		spot_run_on(graph ? t->graphs + r : t->calls + r, t->comm[r], &t->d,
			    (graph ? t->graph : t->call)[t->devices[r]]);
	return ccs_group_end();
}

/* Does something with each GPU's stream. */
enum act { MAKE, BEGIN, END, REPLAY, SYNC, UNMAKE };
static ccs_status each_gpu(struct stage *t, enum act what)
{
	ccs_status s = CCS_OK;
	int mode;

	for (int g = 0; g < t->gpus && !s; g++) {
		struct cuda *d = t->cuda[g];

		s = cuda_enter(d, &mode);
		if (s)
			return s;
		switch (what) {
		case MAKE:
			s = driver_stream_new(the_driver(), t->call + g);
			s = s ? s : driver_stream_new(the_driver(), t->graph + g);
			break;
		case BEGIN: s = driver_capture_begin(the_driver(), t->graph[g]); break;
		case END: s = driver_capture_end(the_driver(), t->graph[g], t->replay + g); break;
		case REPLAY:
			s = driver_graph_launch(the_driver(), t->replay[g], t->graph[g]);
			break;
		case SYNC:
			s = cuda_sync(d, t->call[g]);
			s = s ? s : cuda_sync(d, t->graph[g]);
			break;
		case UNMAKE:
			driver_graph_free(the_driver(), t->replay[g]);
			driver_stream_free(the_driver(), t->call[g]);
			driver_stream_free(the_driver(), t->graph[g]);
			break;
		}
		cuda_leave(d, mode);
	}
	return s;
}

/* Nothing orders the graph's stream and the calls' but turns; the fake driver looks. */
static ccs_status mixed(struct stage *t)
{
	ccs_status s = each_gpu(t, MAKE);

	s = s ? s : each_rank(t, false);
	s = s ? s : each_gpu(t, BEGIN);
	s = s ? s : each_rank(t, true);
	s = s ? s : each_gpu(t, END);
	for (int k = 0; k < 5; k++) {
		s = s ? s : each_gpu(t, REPLAY);
		s = s ? s : each_rank(t, false);
	}
	return s ? s : each_gpu(t, SYNC);
}

static void test_turns(const struct ccs_module *m, const int *devices, int gpus)
{
	struct stage t = { .n = 4, .devices = devices, .gpus = gpus };
	bool right = true;
	ccs_status s;

	if (!data_make(&t.d, m, 4, 840) || ccs_comm_init_devices(t.comm, 4, devices)) {
		say(false, "%d GPUs: %s", gpus, ccs_error());
		return;
	}
	for (int r = 0; r < 4; r++) {
		t.cuda[devices[r]] = gpu_cuda_of(t.comm[0]->world, r);
		right &= spot_take(t.calls + r, t.comm[r], &t.d) &&
			 spot_take(t.graphs + r, t.comm[r], &t.d);
	}
	s = mixed(&t);
	if (s)
		printf("# %s\n", ccs_error());
	for (int r = 0; r < 4 && !s; r++)
		right &= spot_right(t.calls + r, r, &t.d) && spot_right(t.graphs + r, r, &t.d);
	say(!s && right && !ccs_comm_check(t.comm[0]),
	    "%s, %d GPUs: replays of a graph beside calls take turns", ccs_module_schedule(m),
	    gpus);
	each_gpu(&t, UNMAKE);
	for (int r = 0; r < 4; r++) {
		spot_leave(t.calls + r);
		spot_leave(t.graphs + r);
		ccs_comm_free(t.comm[r]);
	}
	data_free(&t.d);
}

static void test_graphs(const struct ccs_module *m)
{
	static const int one[] = { 0, 0, 0, 0 }, two[] = { 0, 1, 0, 1 };

	if (!ccs_module_has(m, 4))
		return;
	test_turns(m, one, 1);
	test_turns(m, two, 2);
}

/* ---- trouble ---------------------------------------------------------------------- */

/* Rank 1 of a ring never starts. Every other GPU reports the rank that it waits for; the first is
 * the GPU that waits for rank 1. */
static bool chain_told(const char *text, int n)
{
	static const char first[] = "no progress on the GPU: rank ";
	const char *culprit = strstr(text, "and the GPU of rank 1 waits for no rank");
	const char *next = strstr(text, "; rank ");
	char peer[40];

	for (int r = 0; r < n; r++) {
		snprintf(peer, sizeof(peer), "to receive from rank %d ", r);
		if (!!strstr(text, peer) != (r != 0))
			return false;
	}
	return !strncmp(text, first, strlen(first)) && culprit && (!next || culprit < next) &&
	       !strstr(culprit + 1, "and the GPU of rank");
}

static void stuck_devices(const struct ccs_module *m, int n)
{
	static const int devices[] = { 0, 1, 2, 3 };
	struct ccs_comm *comm[4];
	struct spot spots[4];
	struct data d;
	ccs_status s;

	if (ccs_comm_init_devices(comm, n, devices) || !data_make(&d, m, n, 840)) {
		say(false, "%d GPUs: %s", n, ccs_error());
		return;
	}
	ccs_comm_set_timeout(comm[0], 300);
	for (int r = 0; r < n; r++)
		spot_take(spots + r, comm[r], &d);
	setenv("FAKE_CUDA_STUCK", "1", 1);
	ccs_group_start();
	for (int r = 0; r < n; r++)
		spot_run(spots + r, comm[r], &d);
	s = ccs_group_end();
	unsetenv("FAKE_CUDA_STUCK");
	for (int r = 0; r < n; r++)
		spot_sync(spots + r);
	if (!say(!s && ccs_comm_check(comm[1]) == CCS_ETIMEOUT && chain_told(ccs_error(), n),
		 "a stuck GPU of %d is told of, and first who waits for it", n))
		printf("# %s\n", ccs_error());
	say(ccs_comm_check(comm[0]) == CCS_EABORTED, "... and the communicator is dead");
	for (int r = 0; r < n; r++) {
		spot_leave(spots + r);
		ccs_comm_free(comm[r]);
	}
	data_free(&d);
}

/* The third GPU's launch is refused, when two have been made; all four have tried before. */
static void refused_devices(const struct ccs_module *m)
{
	static const int devices[] = { 0, 1, 2, 3 };
	struct ccs_comm *comm[4];
	struct spot spots[4];
	struct data d;
	ccs_status s;

	if (ccs_comm_init_devices(comm, 4, devices) || !data_make(&d, m, 4, 840)) {
		say(false, "four GPUs: %s", ccs_error());
		return;
	}
	for (int r = 0; r < 4; r++)
		spot_take(spots + r, comm[r], &d);
	setenv("FAKE_CUDA_FAIL", "cuLaunchCooperativeKernel:7:999", 1);
	ccs_group_start();
	for (int r = 0; r < 4; r++)
		spot_run(spots + r, comm[r], &d);
	s = ccs_group_end();
	unsetenv("FAKE_CUDA_FAIL");
	say(s && strstr(ccs_error(), "cuLaunchCooperativeKernel"),
	    "a launch that is refused is told");
	for (int r = 0; r < 4; r++) /* without a timeout they would wait for ever */
		spot_sync(spots + r);
	say(ccs_comm_check(comm[0]) == CCS_EABORTED && strstr(ccs_error(), "cuLaunchCooperative"),
	    "... stops those that were made, and the communicator is dead");
	for (int r = 0; r < 4; r++) {
		spot_leave(spots + r);
		ccs_comm_free(comm[r]);
	}
	data_free(&d);
}

/* The second GPU takes no block at all, and later does. */
static void small_device(const struct ccs_module *m)
{
	static const int devices[] = { 0, 1 };
	struct ccs_comm *comm[2];
	struct spot spots[2];
	struct data d;
	ccs_status s;

	if (ccs_comm_init_devices(comm, 2, devices) || !data_make(&d, m, 2, 840)) {
		say(false, "two GPUs: %s", ccs_error());
		return;
	}
	setenv("FAKE_CUDA_SHARE", "100000@1", 1);
	ccs_group_start();
	for (int r = 0; r < 2; r++)
		if (spot_take(spots + r, comm[r], &d))
			spot_run(spots + r, comm[r], &d);
	s = ccs_group_end();
	unsetenv("FAKE_CUDA_SHARE");
	says(s, CCS_EUNSUPPORTED, "on Fake GPU 1: cuLaunchCooperativeKernel",
	     "a GPU that takes no channel at all is told of");
	say(run_all(comm, &d), "... before any has launched, so that the next call goes well");
	for (int r = 0; r < 2; r++) {
		spot_leave(spots + r);
		ccs_comm_free(comm[r]);
	}
	data_free(&d);
}

/* More workers on one GPU than it holds. */
static void test_fullest(const struct ccs_module *m)
{
	static const int devices[8] = { 1, 0, 0, 0, 0, 0, 0, 0 };
	struct ccs_comm *comm[8];
	struct spot spots[8];
	struct data d;
	ccs_status s;

	setenv("FAKE_CUDA_SMS", "1", 1);
	setenv("FAKE_CUDA_REGISTERS", "128", 1);
	if (ccs_comm_init_devices(comm, 8, devices) || !data_make(&d, m, 8, 840)) {
		say(false, "two GPUs: %s", ccs_error());
		return;
	}
	for (int r = 0; r < 8; r++)
		spot_take(spots + r, comm[r], &d);
	ccs_group_start();
	for (int r = 0; r < 8; r++)
		spot_run(spots + r, comm[r], &d);
	s = ccs_group_end();
	if (!say(s == CCS_EUNSUPPORTED && strstr(ccs_error(), "E0501") &&
			 strstr(ccs_error(), "blocks on the GPU of rank 1 ") &&
			 strstr(ccs_error(), "holds 16 "),
		 "E0501 names the fullest GPU"))
		printf("# %s\n", ccs_error());
	for (int r = 0; r < 8; r++) {
		spot_leave(spots + r);
		ccs_comm_free(comm[r]);
	}
	data_free(&d);
	unsetenv("FAKE_CUDA_SMS");
	unsetenv("FAKE_CUDA_REGISTERS");
}

/* The default placement of ranks: over all GPUs. */
static void test_spread(void)
{
	static const int want[2][5] = { { 0, 0, 1, 1, 2 }, { 0, 1 } }, ranks[] = { 5, 2 };
	struct ccs_comm *comm[5];
	bool right = true;
	void *library = NULL;
	const char *gpus = getenv("FAKE_CUDA_GPUS");
	char text[200], as_before[16];

	snprintf(as_before, sizeof(as_before), "%s", gpus ? gpus : "1");
	setenv("FAKE_CUDA_GPUS", "3", 1);
	for (int i = 0; i < 2; i++) {
		if (!is(ccs_comm_init_devices(comm, ranks[i], NULL), CCS_OK, NULL, "all GPUs")) {
			right = false;
			continue;
		}
		for (int r = 0; r < ranks[i]; r++)
			right &= ccs_comm_device(comm[r]) == want[i][r];
		right &= !ccs_comm_nccl(comm[0]) &&
			 !ccs_comm_describe(comm[0], text, sizeof(text)) &&
			 strstr(text, i ? "2 ranks on 2 GPUs" : "5 ranks on 3 GPUs");
		for (int r = 0; r < ranks[i]; r++)
			ccs_comm_free(comm[r]);
	}
	say(right, "without a list ranks are spread over all GPUs, in blocks");
	says(ccs_comm_init_devices(NULL, 2, NULL), CCS_EINVAL, "NULL", "... into an array");
	says(ccs_comm_init_devices(comm, 0, NULL), CCS_EINVAL, "at least one rank",
	     "... if there are any");
	setenv("FAKE_CUDA_GPUS", "0", 1);
	says(ccs_comm_init_devices(comm, 2, NULL), CCS_EUNSUPPORTED, "finds no GPU",
	     "... and there is a GPU");
	setenv("FAKE_CUDA_GPUS", as_before, 1);
	says(ccs_cuda_library(&library), CCS_OK, NULL, "the driver's handle");
	say(library && dlsym(library, "cuInit"), "... is the driver's");
	if (library)
		dlclose(library);
}

int main(int argc, char **argv)
{
	const struct ccs_module *m[64];
	int n = modules_load(m, 64, argv + 2, argc - 2);

	if (n < 1) {
		fprintf(stderr, "usage: cuda_places_test devices|graphs|trouble MODULE...\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		if (!strcmp(argv[1], "devices"))
			test_devices(m[i]);
		if (!strcmp(argv[1], "devices") && ccs_module_rooted(m[i]) &&
		    ccs_module_has(m[i], 2))
			test_unwaited(m[i]);
		else if (!strcmp(argv[1], "graphs"))
			test_graphs(m[i]);
	}
	if (!strcmp(argv[1], "trouble")) {
		test_spread();
		stuck_devices(m[0], 2);
		stuck_devices(m[0], 4);
		refused_devices(m[0]);
		small_device(m[0]);
		test_fullest(m[n - 1]);
	}
	modules_free(m, n);
	return 0;
}
