/*
 * Graphs of calls on the GPU, and full streams, against the stand-in for the driver
 * (tests/fake_cuda). usage: cuda_graphs_test RING.so, with the fake libcuda.so.1 in
 * LD_LIBRARY_PATH (tests/cuda/cuda_test.sh does that).
 */
#include "tests/support/rig.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- captures ------------------------------------------------------------------------------- */

/* Ends a capture; NULL, if nothing came of it. */
static void *captured(struct rig_api *a, void *stream)
{
	void *graph = NULL, *exec = NULL;

	if (a->capture_end(stream, &graph) || a->instantiate(&exec, graph, 0))
		return NULL;
	a->graph_free(graph);
	return exec;
}

static void test_capture(struct rig_api *a, const struct ccs_module *m)
{
	struct rig r;
	bool all = true;
	void *graph;

	rig_up(&r, a, 4, RIG_ONE);
	a->capture(r.stream[0], 0);
	says(rig_call(&r, m), CCS_OK, NULL, "a first call while its stream is captured");
	says(rig_call(&r, m), CCS_OK, NULL, "a second one in the same graph");
	graph = captured(a, r.stream[0]);
	say(!rig_right(&r, 0, 4), "nothing has run so far");
	for (int i = 0; i < 1000; i++) {
		rig_fill(&r);
		all &= !a->replay(graph, r.stream[0]) && rig_right(&r, 0, 4);
	}
	say(all, "1,000 replays give the right results");
	rig_fill(&r);
	says(rig_call(&r, m), CCS_OK, NULL, "a call between replays");
	say(rig_right(&r, 0, 4), "... with the right results");
	/* larger: the memory that the graph names must stay */
	for (unsigned count = 8; count < RIG_COUNT; count *= 2)
		rig_call_on(&r, m, count, NULL);
	rig_fill(&r);
	say(!a->replay(graph, r.stream[0]) && rig_right(&r, 0, 4), "a replay after other calls");
	a->exec_free(graph);
	rig_down(&r);
}

/* Two graphs of one capture, or of two captures of one call: the second one is launched when the
 * first has begun and is not over. */
static void test_graphs_beside(struct rig_api *a, const struct ccs_module *m, int captures)
{
	void *graph = NULL, *exec[2], *other;
	struct rig r;

	rig_up(&r, a, 4, RIG_ONE);
	rig_call(&r, m);
	a->stream_new(&other, 1);
	for (int i = 0; i < 2; i++) {
		if (i < captures) {
			a->capture(r.stream[0], 0);
			rig_call(&r, m);
			a->capture_end(r.stream[0], &graph);
		}
		a->instantiate(exec + i, graph, 0);
		if (i || captures == 2)
			a->graph_free(graph);
	}
	rig_fill(&r);
	say(!a->replay(exec[0], r.stream[0]) && !a->replay(exec[1], r.stream[0]) &&
		    !a->sync(r.stream[0]) && rig_right(&r, 0, 4) && !ccs_comm_check(r.comm[0]),
	    "graphs of %d captures, one behind the other", captures);
	a->hold(1);
	a->replay(exec[0], r.stream[0]);
	a->replay(exec[1], other);
	if (captures == 1)
		a->sync(r.stream[0]); /* who is found out ends the other one, too */
	a->hold(0);
	a->sync(r.stream[0]);
	a->sync(other);
	if (captures == 1)
		says(ccs_comm_check(r.comm[2]), CCS_EINVAL, "two graphs of one capture",
		     "... are refused side by side");
	else
		say(!ccs_comm_check(r.comm[2]) && rig_right(&r, 0, 4), "... also side by side");
	for (int i = 0; i < 2; i++)
		a->exec_free(exec[i]);
	a->stream_free(other);
	rig_down(&r);
}

/* A part of a GPU (MPS) refuses a captured launch when its graph is made, where nobody can take
 * less: so what fits is tried before a first capture. */
static void test_capture_part(struct rig_api *a, const struct ccs_module *m, bool eager)
{
	struct rig r;
	void *graph;

	setenv("FAKE_CUDA_SMS", "4", 1);
	setenv("FAKE_CUDA_SHARE", "16", 1);
	rig_up(&r, a, 4, RIG_ONE);
	if (eager) /* a small call, which takes one channel */
		says(rig_call_on(&r, m, 4, NULL), CCS_OK, NULL, "on a part of a GPU a small call");
	a->capture(r.stream[0], 0);
	says(rig_call(&r, m), CCS_OK, NULL, "... and one that is captured on a part of a GPU");
	graph = captured(a, r.stream[0]);
	say(graph != NULL, "... of which a graph is made");
	rig_fill(&r);
	say(graph && !a->replay(graph, r.stream[0]) && !a->sync(r.stream[0]) && rig_right(&r, 0, 4),
	    "... that gives the right results");
	rig_fill(&r);
	says(rig_call(&r, m), CCS_OK, NULL, "... also the call behind it");
	if (graph)
		a->exec_free(graph);
	rig_down(&r);
	unsetenv("FAKE_CUDA_SHARE");
	unsetenv("FAKE_CUDA_SMS");
}

static void test_capture_streams(struct rig_api *a, const struct ccs_module *m)
{
	struct rig r;
	void *graph;

	rig_up(&r, a, 4, RIG_OWN);
	a->capture(r.stream[0], 0);
	says(rig_call(&r, m), CCS_EINVAL, "stream of rank 0 is captured, and that of rank 1 is not",
	     "streams of which only one is captured are refused");
	graph = captured(a, r.stream[0]);
	say(graph != NULL, "... and the capture is not spoilt");
	a->exec_free(graph);
	a->capture(r.stream[2], 0);
	says(rig_call(&r, m), CCS_EINVAL, "stream of rank 2 is captured, and that of rank 0 is not",
	     "... also if it is not the first");
	graph = captured(a, r.stream[2]);
	a->exec_free(graph);
	says(rig_call_on(&r, m, RIG_COUNT, (void *)2), CCS_EINVAL, "cudaStreamPerThread",
	     "a stream that every thread has another of is refused");
	says(rig_call(&r, m), CCS_OK, NULL, "... and the communicator goes on");
	rig_down(&r);
}

/* ---- full streams --------------------------------------------------------------------------- */

static void *release_later(void *arg)
{
	const struct rig_api *a = arg;

	usleep(200000);
	a->hold(0);
	return NULL;
}

/* Calls of a stream that is full, because nothing in it goes on, do not return until it does. */
static void test_queue(struct rig_api *a, const struct ccs_module *m)
{
	struct timespec from, to;
	pthread_t other;
	struct rig r;
	bool all = true;

	rig_up(&r, a, 4, RIG_ONE);
	all &= !rig_call(&r, m);
	a->sync(r.stream[0]);
	setenv("FAKE_CUDA_QUEUE", "8", 1);
	a->hold(1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	pthread_create(&other, NULL, release_later, a);
	for (int i = 0; i < 40; i++)
		all &= !rig_call(&r, m);
	clock_gettime(CLOCK_MONOTONIC, &to);
	pthread_join(other, NULL);
	a->sync(r.stream[0]);
	unsetenv("FAKE_CUDA_QUEUE");
	say(all && rig_right(&r, 0, 4) && !ccs_comm_check(r.comm[0]), "40 calls in a queue of 8");
	say((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 > 100,
	    "... return when there is room in it");
	rig_down(&r);
}

/* ---- traces --------------------------------------------------------------------------------- */

/* Traced calls between replays, which take turns with them; ccrun/trace_test.sh looks at what they note. */
static void test_trace(struct rig_api *a, const struct ccs_module *m)
{
	struct ccs_trace_counts n = { 0 };
	struct ccs_trace *trace = NULL;
	bool all = true;
	struct rig r;
	void *graph;

	rig_up(&r, a, 4, RIG_ONE);
	a->capture(r.stream[0], 0);
	rig_call(&r, m);
	graph = captured(a, r.stream[0]);
	says(ccs_trace_create(&trace, r.comm[1], 1000), CCS_OK, NULL, "a trace of ranks on a GPU");
	for (int i = 0; i < 5; i++) {
		all &= !ccs_trace_start(trace, 0);
		for (int k = 0; k < 3; k++) {
			rig_fill(&r);
			all &= !rig_call(&r, m) && rig_right(&r, 0, 4);
			rig_fill(&r);
			all &= !a->replay(graph, r.stream[0]) && rig_right(&r, 0, 4);
		}
		all &= !ccs_trace_stop(trace);
		rig_fill(&r);
		all &= !rig_call(&r, m) && rig_right(&r, 0, 4);
	}
	ccs_trace_count(trace, &n);
	say(all && n.calls == 15 && !n.left_out,
	    "traced calls, others, and replays are right, in turn");
	ccs_trace_start(trace, 0);
	a->capture(r.stream[0], 0);
	says(rig_call(&r, m), CCS_EUNSUPPORTED, "the stream of rank 0 is captured: stop the trace",
	     "a traced call is not captured");
	a->exec_free(captured(a, r.stream[0]));
	rig_fill(&r);
	says(rig_call(&r, m), CCS_OK, NULL, "... and the next one is traced");
	ccs_trace_free(trace);
	say(rig_right(&r, 0, 4) && !rig_call(&r, m) && rig_right(&r, 0, 4) &&
		    !ccs_comm_check(r.comm[0]),
	    "calls go on without the trace");
	a->exec_free(graph);
	rig_down(&r);
}

int main(int argc, char **argv)
{
	struct ccs_module *ring;
	struct rig_api a;

	if (argc != 2 || !rig_load(&a) || a.init(0)) {
		fprintf(stderr, "usage: cuda_graphs_test RING.so, with the fake driver\n");
		return 2;
	}
	if (ccs_module_load(&ring, argv[1])) {
		fprintf(stderr, "%s\n", ccs_error());
		return 2;
	}
	test_capture(&a, ring);
	test_capture_part(&a, ring, false);
	test_capture_part(&a, ring, true);
	test_capture_streams(&a, ring);
	test_graphs_beside(&a, ring, 1);
	test_graphs_beside(&a, ring, 2);
	test_queue(&a, ring);
	test_trace(&a, ring);
	ccs_module_free(ring);
	dlclose(a.handle);
	return 0;
}
