/*
 * The host's side of the GPU against a driver of our own (tests/fake_cuda), which checks
 * that every call is legal, runs the kernels by their contract, and can be told to fail
 * any call. usage: cuda_host_test RING.so REDUCE.so, with the fake libcuda.so.1 in
 * LD_LIBRARY_PATH (tests/cuda/cuda_test.sh does that).
 */
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 64
#define COUNT 1000u

struct api {
	void *handle;
	int (*init)(unsigned), (*retain)(void **, int), (*push)(void *), (*release)(int);
	int (*pop)(void **), (*alloc)(unsigned long long *, size_t), (*free)(unsigned long long);
	int (*stream_new)(void **, unsigned), (*stream_free)(void *), (*sync)(void *);
	int (*capture)(void *, int), (*capture_end)(void *, void **);
	int (*instantiate)(void **, void *, unsigned long long), (*replay)(void *, void *);
	int (*graph_free)(void *), (*exec_free)(void *);
	void (*work)(void *);
	int (*ordered)(void *, void *);
	void (*hold)(int);
};

static bool load(struct api *a)
{
	static const char *const names[] = {
		"cuInit",
		"cuDevicePrimaryCtxRetain",
		"cuCtxPushCurrent_v2",
		"cuDevicePrimaryCtxRelease_v2",
		"cuCtxPopCurrent_v2",
		"cuMemAlloc_v2",
		"cuMemFree_v2",
		"cuStreamCreate",
		"cuStreamDestroy_v2",
		"cuStreamSynchronize",
		"cuStreamBeginCapture_v2",
		"cuStreamEndCapture",
		"cuGraphInstantiateWithFlags",
		"cuGraphLaunch",
		"cuGraphDestroy",
		"cuGraphExecDestroy",
		"fake_work",
		"fake_ordered",
		"fake_hold",
	};

	a->handle = stand_in("libcuda.so.1", names, sizeof(names) / sizeof(*names),
			     (char *)a + sizeof(a->handle));
	return a->handle != NULL;
}

/* ---- a communicator with buffers ---------------------------------------------------- */

struct rig {
	struct api *a;
	int n;
	struct ccs_comm *comm[MOST];
	float *send[MOST], *recv[MOST]; /* the fake's device memory is the host's */
	void *stream[MOST];
};

static float *device_floats(struct api *a, size_t n)
{
	unsigned long long p = 0;

	return a->alloc(&p, n * sizeof(float)) ? NULL : (float *)(uintptr_t)p;
}

static void fill(struct rig *r)
{
	for (int i = 0; i < r->n; i++)
		for (unsigned k = 0; k < COUNT; k++) {
			r->send[i][k] = (float)(i + 1) * (float)(k % 7);
			r->recv[i][k] = -1;
		}
}

static bool right(const struct rig *r, int from, int to)
{
	float ranks = (float)(r->n * (r->n + 1)) / 2;

	for (int i = from; i < to; i++)
		for (unsigned k = 0; k < COUNT; k++)
			if (r->recv[i][k] != ranks * (float)(k % 7))
				return false;
	return true;
}

/* A stream of its own for each rank, or one for all, or the default one. */
enum streams { OWN, ONE, DEFAULT };

static ccs_status rig_up(struct rig *r, struct api *a, int n, enum streams streams)
{
	const char *plan = getenv("FAKE_CUDA_FAIL");
	char *kept = plan ? strdup(plan) : NULL;
	void *context;
	ccs_status s;

	*r = (struct rig){ .a = a, .n = n };
	s = ccs_comm_init_cuda(r->comm, n, 0);
	if (s) {
		free(kept);
		return s;
	}
	unsetenv("FAKE_CUDA_FAIL"); /* what follows are the test's own calls */
	a->retain(&context, 0);
	a->push(context);
	for (int i = 0; i < n; i++) {
		r->send[i] = device_floats(a, COUNT + 8);
		r->recv[i] = device_floats(a, COUNT + 8);
		if (streams == OWN || (streams == ONE && !i))
			a->stream_new(&r->stream[i], 1);
		else if (streams == ONE)
			r->stream[i] = r->stream[0];
	}
	fill(r);
	if (kept)
		setenv("FAKE_CUDA_FAIL", kept, 1);
	free(kept);
	return CCS_OK;
}

static void rig_down(struct rig *r)
{
	void *context;

	for (int i = 0; i < r->n; i++) {
		bool shared = i && r->stream[i] == r->stream[0];

		ccs_comm_free(r->comm[i]);
		r->a->free((uintptr_t)r->send[i]);
		r->a->free((uintptr_t)r->recv[i]);
		if (r->stream[i] && !shared)
			r->a->stream_free(r->stream[i]);
	}
	r->a->pop(&context);
	r->a->release(0);
}

static ccs_status call_on(struct rig *r, const struct ccs_module *m, unsigned count, void *stream)
{
	ccs_group_start();
	for (int i = 0; i < r->n; i++)
		ccs_run(m, r->send[i], r->recv[i], count, CCS_FLOAT32, CCS_SUM, 0, r->comm[i],
			stream ? stream : r->stream[i]);
	return ccs_group_end();
}

static ccs_status call(struct rig *r, const struct ccs_module *m)
{
	return call_on(r, m, COUNT, NULL);
}

/* ---- the tests ------------------------------------------------------------------------ */

static void test_streams(struct api *a, const struct ccs_module *m)
{
	struct rig r;
	struct ccs_run_shape shape;
	bool ordered = true, after = true;

	if (rig_up(&r, a, 4, OWN)) {
		says(CCS_EINVAL, CCS_OK, NULL, "a communicator on the GPU");
		return;
	}
	say(!ccs_comm_last_run(r.comm[1], &shape) && !shape.channels, "no run was cut yet");
	for (int i = 0; i < 4; i++)
		a->work(r.stream[i]);
	says(call(&r, m), CCS_OK, NULL, "a stream for each rank");
	say(right(&r, 0, 4), "... with the right results");
	say(!ccs_comm_last_run(r.comm[1], &shape) && shape.channels &&
		    shape.blocks == 4 * shape.channels &&
		    shape.tile * shape.tiles * shape.channels * 4 >= COUNT,
	    "... and tells how it was cut");
	for (int i = 0; i < 4; i++) {
		ordered &= a->ordered(r.stream[i], r.stream[0]) != 0;
		after &= a->ordered(r.stream[0], r.stream[i]) != 0;
	}
	say(ordered, "the launch comes after what is in every rank's stream");
	call(&r, m);
	say(after, "... and before what follows in them");
	for (int i = 0; i < 8; i++) {
		fill(&r);
		if (call_on(&r, m, COUNT, r.stream[i % 4]) || !right(&r, 0, 4))
			break;
		if (i == 7)
			say(true, "calls in changing streams are ordered");
	}
	says(ccs_comm_check(r.comm[2]), CCS_OK, NULL, "nothing failed meanwhile");
	rig_down(&r);
}

/* Ends a capture; NULL, if nothing came of it. */
static void *captured(struct api *a, void *stream)
{
	void *graph = NULL, *exec = NULL;

	if (a->capture_end(stream, &graph) || a->instantiate(&exec, graph, 0))
		return NULL;
	a->graph_free(graph);
	return exec;
}

static void test_capture(struct api *a, const struct ccs_module *m)
{
	struct rig r;
	bool all = true;
	void *graph;

	rig_up(&r, a, 4, ONE);
	a->capture(r.stream[0], 0);
	says(call(&r, m), CCS_OK, NULL, "a first call while its stream is captured");
	says(call(&r, m), CCS_OK, NULL, "a second one in the same graph");
	graph = captured(a, r.stream[0]);
	say(!right(&r, 0, 4), "nothing has run so far");
	for (int i = 0; i < 1000; i++) {
		fill(&r);
		all &= !a->replay(graph, r.stream[0]) && right(&r, 0, 4);
	}
	say(all, "1,000 replays give the right results");
	fill(&r);
	says(call(&r, m), CCS_OK, NULL, "a call between replays");
	say(right(&r, 0, 4), "... with the right results");
	/* larger: the memory that the graph names must stay */
	for (unsigned count = 8; count < COUNT; count *= 2)
		call_on(&r, m, count, NULL);
	fill(&r);
	say(!a->replay(graph, r.stream[0]) && right(&r, 0, 4), "a replay after other calls");
	a->exec_free(graph);
	rig_down(&r);
}

/* Two graphs of one capture, or of two captures of one call: the second one is launched when the
 * first has begun and is not over. */
static void test_graphs_beside(struct api *a, const struct ccs_module *m, int captures)
{
	void *graph = NULL, *exec[2], *other;
	struct rig r;

	rig_up(&r, a, 4, ONE);
	call(&r, m);
	a->stream_new(&other, 1);
	for (int i = 0; i < 2; i++) {
		if (i < captures) {
			a->capture(r.stream[0], 0);
			call(&r, m);
			a->capture_end(r.stream[0], &graph);
		}
		a->instantiate(exec + i, graph, 0);
		if (i || captures == 2)
			a->graph_free(graph);
	}
	fill(&r);
	say(!a->replay(exec[0], r.stream[0]) && !a->replay(exec[1], r.stream[0]) &&
		    !a->sync(r.stream[0]) && right(&r, 0, 4) && !ccs_comm_check(r.comm[0]),
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
		say(!ccs_comm_check(r.comm[2]) && right(&r, 0, 4), "... also side by side");
	for (int i = 0; i < 2; i++)
		a->exec_free(exec[i]);
	a->stream_free(other);
	rig_down(&r);
}

static void test_capture_streams(struct api *a, const struct ccs_module *m)
{
	struct rig r;
	void *graph;

	rig_up(&r, a, 4, OWN);
	a->capture(r.stream[0], 0);
	says(call(&r, m), CCS_EINVAL, "stream of rank 0 is captured, and that of rank 1 is not",
	     "streams of which only one is captured are refused");
	graph = captured(a, r.stream[0]);
	say(graph != NULL, "... and the capture is not spoilt");
	a->exec_free(graph);
	a->capture(r.stream[2], 0);
	says(call(&r, m), CCS_EINVAL, "stream of rank 2 is captured, and that of rank 0 is not",
	     "... also if it is not the first");
	graph = captured(a, r.stream[2]);
	a->exec_free(graph);
	says(call_on(&r, m, COUNT, (void *)2), CCS_EINVAL, "cudaStreamPerThread",
	     "a stream that every thread has another of is refused");
	says(call(&r, m), CCS_OK, NULL, "... and the communicator goes on");
	rig_down(&r);
}

static void never(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		  void *context)
{
	(void)result, (void)first, (void)second, (void)n, (void)type, (void)context;
	abort();
}

static bool sums_right(const struct rig *r, float (*factor)(int rank, unsigned k))
{
	bool right = true;

	for (unsigned k = 0; k < COUNT; k++) {
		float sum = 0;

		for (int i = 0; i < r->n; i++)
			sum += factor(i, k) * (float)(i + 1) * (float)(k % 7);
		for (int i = 0; i < r->n; i++)
			right &= r->recv[i][k] == sum;
	}
	return right;
}

static float of_rank(int rank, unsigned k)
{
	(void)k;
	return (float)rank - 2;
}

static float of_element(int rank, unsigned k)
{
	return (float)((int)(k % 5) - rank);
}

/* Ranks of one GPU, each with a factor of its own. */
static void test_scalars(struct api *a, const struct ccs_module *m)
{
	struct rig r;

	rig_up(&r, a, 4, OWN);
	ccs_group_start();
	for (int i = 0; i < 4; i++) {
		float scalar = of_rank(i, 0);

		ccs_run_premul(m, r.send[i], r.recv[i], COUNT, CCS_FLOAT32, &scalar, 0, r.comm[i],
			       r.stream[i]);
	}
	says(ccs_group_end(), CCS_OK, NULL, "a premul-sum with a scalar for each rank");
	say(sums_right(&r, of_rank), "... gives the right results");
	rig_down(&r);
}

/* ... or one for each element, which lies on the GPU, too. In place the input is copied aside. */
static void test_factors(struct api *a, const struct ccs_module *m)
{
	static const float host[COUNT];
	float *factors[4];
	struct rig r;

	rig_up(&r, a, 4, OWN);
	for (int i = 0; i < 4; i++) {
		factors[i] = device_floats(a, COUNT + 8) + i % 2;
		for (unsigned k = 0; k < COUNT; k++)
			factors[i][k] = of_element(i, k);
	}
	for (int in_place = 0; in_place < 2; in_place++) {
		ccs_group_start();
		for (int i = 0; i < 4; i++) {
			if (in_place)
				memcpy(r.recv[i], r.send[i], COUNT * sizeof(float));
			ccs_run_premul_vector(m, in_place ? r.recv[i] : r.send[i], r.recv[i], COUNT,
					      CCS_FLOAT32, factors[i], 0, r.comm[i], r.stream[i]);
		}
		says(ccs_group_end(), CCS_OK, NULL,
		     in_place ? "... in place" : "a premul-sum with a factor for each element");
		say(sums_right(&r, of_element), "... gives the right results");
	}
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run_premul_vector(m, r.send[i], r.recv[i], COUNT, CCS_FLOAT32,
				      i == 1 ? host : factors[i], 0, r.comm[i], r.stream[i]);
	says(ccs_group_end(), CCS_EINVAL, "factors is no memory that a GPU can reach",
	     "factors in memory of the host are refused");
	says(call(&r, m), CCS_OK, NULL, "... and the communicator goes on");
	for (int i = 0; i < 4; i++)
		a->free((uintptr_t)(factors[i] - i % 2));
	rig_down(&r);
}

/* What takes code of this process to combine. */
static void test_host_code(struct api *a, const struct ccs_module *m)
{
	struct ccs_user_op *op;
	struct rig r;

	rig_up(&r, a, 2, OWN);
	says(ccs_user_op_create(&op, never, NULL, 0, 1), CCS_OK, NULL, "an operator");
	says(ccs_run_user_op(m, r.send[0], r.recv[0], COUNT, CCS_FLOAT32, op, 0, r.comm[0], NULL),
	     CCS_EUNSUPPORTED, "which GPUs cannot call: it is for ranks on the CPU",
	     "an operator of the user's own is refused");
	says(ccs_user_op_free(op), CCS_OK, NULL, "... and no call has it");
	says(call(&r, m), CCS_OK, NULL, "... and the communicator goes on");
	rig_down(&r);
}

static void test_buffers(struct api *a, const struct ccs_module *ring,
			 const struct ccs_module *reduce)
{
	static float host[COUNT];
	struct rig r;
	ccs_status s;

	rig_up(&r, a, 4, DEFAULT);
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run(ring, i == 2 ? host : r.send[i], r.recv[i], COUNT, CCS_FLOAT32, CCS_SUM, 0,
			r.comm[i], NULL);
	s = ccs_group_end();
	says(s, CCS_EINVAL, "cudaMalloc", "memory of the host is refused");
	says(call(&r, ring), CCS_OK, NULL, "... and the communicator goes on");
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run(ring, r.send[i], r.recv[i], COUNT - (unsigned)(i == 3), CCS_FLOAT32,
			CCS_SUM, 0, r.comm[i], NULL);
	says(ccs_group_end(), CCS_EINVAL, "differ", "calls that disagree are refused");
	/* the output lies over the input, one element further */
	fill(&r);
	ccs_group_start();
	for (int i = 0; i < 4; i++) {
		memcpy(r.recv[i], r.send[i], COUNT * sizeof(float));
		ccs_run(ring, r.recv[i], r.recv[i] + 1, COUNT, CCS_FLOAT32, CCS_SUM, 0, r.comm[i],
			NULL);
	}
	s = ccs_group_end();
	for (int i = 0; i < 4; i++)
		memmove(r.recv[i], r.recv[i] + 1, COUNT * sizeof(float));
	says(s, CCS_OK, NULL, "input and output that overlap");
	say(right(&r, 0, 4), "... give the right results");
	fill(&r);
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run(reduce, r.send[i], i ? NULL : r.recv[i], COUNT, CCS_FLOAT32, CCS_SUM, 0,
			r.comm[i], NULL);
	says(ccs_group_end(), CCS_OK, NULL, "a reduce without buffers where there is no result");
	say(right(&r, 0, 1), "... gives the right result at the root");
	rig_down(&r);
}

static void test_many(struct api *a, const struct ccs_module *m)
{
	struct rig r;
	bool all = true;

	says(rig_up(&r, a, 40, DEFAULT), CCS_OK, NULL, "40 ranks");
	for (int i = 0; i < 200; i++) { /* more sets of pointers than are kept */
		float *first = r.send[0];

		memmove(r.send, r.send + 1, 39 * sizeof(*r.send));
		r.send[39] = first;
		if (i == 100)
			a->work(NULL);
		fill(&r);
		all &= !call(&r, m) && right(&r, 0, 40);
	}
	say(all, "more pointers than a launch's arguments hold, in 200 calls");
	rig_down(&r);
}

struct thread {
	struct rig *r;
	const struct ccs_module *m;
	int rank;
	ccs_status s;
};

static void *one_rank(void *arg)
{
	struct thread *t = arg;

	for (int i = 0; i < 50 && !t->s; i++)
		t->s = ccs_run(t->m, t->r->send[t->rank], t->r->recv[t->rank], COUNT, CCS_FLOAT32,
			       CCS_SUM, 0, t->r->comm[t->rank], t->r->stream[t->rank]);
	return NULL;
}

static void test_threads(struct api *a, const struct ccs_module *m)
{
	struct thread t[4];
	pthread_t id[4];
	struct rig r;
	bool all = true;

	rig_up(&r, a, 4, OWN);
	for (int i = 0; i < 4; i++) {
		t[i] = (struct thread){ &r, m, i, CCS_OK };
		pthread_create(id + i, NULL, one_rank, t + i);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(id[i], NULL);
		all &= !t[i].s;
	}
	say(all && right(&r, 0, 4), "a thread for each rank, 50 calls");
	ccs_comm_set_timeout(r.comm[0], 50);
	says(ccs_run(m, r.send[0], r.recv[0], COUNT, CCS_FLOAT32, CCS_SUM, 0, r.comm[0], NULL),
	     CCS_ETIMEOUT, "rank 3 has not called", "a rank that never calls is named");
	rig_down(&r);
}

static void *release_later(void *arg)
{
	const struct api *a = arg;

	usleep(200000);
	a->hold(0);
	return NULL;
}

/* Calls of a stream that is full, because nothing in it goes on, do not return until it does. */
static void test_queue(struct api *a, const struct ccs_module *m)
{
	struct timespec from, to;
	pthread_t other;
	struct rig r;
	bool all = true;

	rig_up(&r, a, 4, ONE);
	all &= !call(&r, m);
	a->sync(r.stream[0]);
	setenv("FAKE_CUDA_QUEUE", "8", 1);
	a->hold(1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	pthread_create(&other, NULL, release_later, a);
	for (int i = 0; i < 40; i++)
		all &= !call(&r, m);
	clock_gettime(CLOCK_MONOTONIC, &to);
	pthread_join(other, NULL);
	a->sync(r.stream[0]);
	unsetenv("FAKE_CUDA_QUEUE");
	say(all && right(&r, 0, 4) && !ccs_comm_check(r.comm[0]), "40 calls in a queue of 8");
	say((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 > 100,
	    "... return when there is room in it");
	rig_down(&r);
}

static void test_limits(struct api *a, const struct ccs_module *m)
{
	struct rig r;

	setenv("FAKE_CUDA_SMS", "1", 1);
	setenv("FAKE_CUDA_REGISTERS", "128", 1);
	rig_up(&r, a, 8, DEFAULT);
	says(call(&r, m), CCS_OK, NULL, "8 workers on a GPU that holds one block of 512 threads");
	say(right(&r, 0, 8), "... with the right results, in smaller blocks");
	rig_down(&r);
	rig_up(&r, a, 40, DEFAULT);
	says(call(&r, m), CCS_EUNSUPPORTED, "holds 16 ", "E0501 says how many blocks fit");
	say(!strncmp(ccs_error(), "E0501", 5), "... by its code");
	rig_down(&r);
	unsetenv("FAKE_CUDA_SMS");
	unsetenv("FAKE_CUDA_REGISTERS");
	says(ccs_comm_init_cuda(r.comm, 2, 7), CCS_EINVAL, "no GPU 7", "a GPU that is not there");
}

static void test_stuck(struct api *a, const struct ccs_module *m)
{
	struct rig r;

	rig_up(&r, a, 4, DEFAULT);
	ccs_comm_set_timeout(r.comm[0], 30000);
	setenv("FAKE_CUDA_STUCK", "1", 1);
	says(call(&r, m), CCS_OK, NULL, "a call that will get stuck is put into the stream");
	unsetenv("FAKE_CUDA_STUCK");
	says(ccs_comm_check(r.comm[1]), CCS_ETIMEOUT, "rank 2 waits at ring_allreduce.ccs:",
	     "what a kernel reports names rank, file and line");
	say(strstr(ccs_error(), "to receive from rank 1") != NULL, "... and the peer");
	says(call(&r, m), CCS_EABORTED, "rank 2 waits at", "after that the communicator is dead");
	says(ccs_comm_check(r.comm[1]), CCS_EABORTED, NULL, "... and stays so");
	rig_down(&r);
}

/* ---- every call fails once ----------------------------------------------------------------- */

/* In a child: 0: nothing failed; 1: it failed and the text names the call; 2: otherwise. */
static int scenario(struct api *a, const struct ccs_module *m, const char *name)
{
	struct rig r;
	ccs_status s = rig_up(&r, a, 4, OWN);
	char text[2048] = "", call_name[64];
	size_t len = strcspn(name, "_");

	if (s) {
		snprintf(text, sizeof(text), "%s", ccs_error());
	} else {
		for (int i = 0; i < 3 && !s; i++) {
			s = i == 1 ? call_on(&r, m, COUNT, r.stream[2]) : call(&r, m);
			if (!s && !right(&r, 0, 4))
				return 2;
		}
		if (!s) { /* by way of a copy of the input */
			float *send[4];

			memcpy(send, r.send, sizeof(send));
			for (int i = 0; i < 4; i++)
				r.send[i] = r.recv[i] + 1;
			s = call(&r, m);
			memcpy(r.send, send, sizeof(send));
		}
		if (!s)
			s = ccs_comm_check(r.comm[0]);
		if (s)
			snprintf(text, sizeof(text), "%s", ccs_error());
		unsetenv("FAKE_CUDA_FAIL");
		rig_down(&r);
	}
	snprintf(call_name, sizeof(call_name), "%.*s", (int)len, name);
	if (s && !strstr(text, call_name))
		fprintf(stderr, "the text does not name %s: %s\n", call_name, text);
	return !s ? 0 : strstr(text, call_name) ? 1 : 2;
}

/* The scenario, with the k-th call of `name` failing. */
struct failing {
	struct api *a;
	const struct ccs_module *m;
	const char *name;
	int k;
};

static int run_failing(void *of, int index)
{
	const struct failing *f = of;
	char plan[128];

	(void)index;
	snprintf(plan, sizeof(plan), "%s:%d:999", f->name, f->k);
	setenv("FAKE_CUDA_FAIL", plan, 1);
	return scenario(f->a, f->m, f->name);
}

static void test_failing(struct api *a, const struct ccs_module *m)
{
	static const char *const names[] = {
		"cuInit",
		"cuDriverGetVersion",
		"cuDeviceGetCount",
		"cuDeviceGet",
		"cuDeviceGetName",
		"cuDeviceGetAttribute",
		"cuDevicePrimaryCtxRetain",
		"cuCtxPushCurrent_v2",
		"cuThreadExchangeStreamCaptureMode",
		"cuMemAlloc_v2",
		"cuMemHostAlloc",
		"cuMemHostGetDevicePointer_v2",
		"cuMemcpyHtoDAsync_v2",
		"cuMemcpyDtoDAsync_v2",
		"cuMemsetD8Async",
		"cuModuleLoadData",
		"cuModuleGetFunction",
		"cuFuncLoad",
		"cuOccupancyMaxActiveBlocksPerMultiprocessor",
		"cuLaunchCooperativeKernel",
		"cuStreamCreate",
		"cuStreamSynchronize",
		"cuStreamIsCapturing",
		"cuStreamWaitEvent",
		"cuEventCreate",
		"cuEventRecord",
		"cuEventQuery",
	};

	setenv("CCS_TILE_BYTES", "2048", 1); /* the calls' chunks fit, and less memory is filled */
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct failing f = { a, m, names[i], 1 };
		int rc = 1, since = 0, places = 0;
		bool clean = true;

		/* until none was left to fail; one that is only made at the end may fail */
		for (; since < 8 && rc <= 1; f.k++) {
			FILE *log = tmpfile();
			int status = process_run(run_failing, &f, log);
			char line[512];

			rc = WIFEXITED(status) ? WEXITSTATUS(status) : 3;
			while (fgets(line, sizeof(line), log)) {
				printf("# %s:%d: %s", names[i], f.k, line);
				clean = false;
			}
			fclose(log);
			since = rc ? 0 : since + 1;
			places += rc == 1;
			if (rc > 1)
				printf("# %s:%d: the scenario ended with %d\n", names[i], f.k, rc);
		}
		say(rc == 0 && clean, "%s failing, at each of %d places, is said", names[i],
		    places);
	}
	unsetenv("CCS_TILE_BYTES");
}

int main(int argc, char **argv)
{
	struct ccs_module *ring, *reduce;
	struct api a;

	if (argc != 3 || !load(&a) || a.init(0)) {
		fprintf(stderr, "usage: cuda_host_test RING.so REDUCE.so, with the fake driver\n");
		return 2;
	}
	if (ccs_module_load(&ring, argv[1]) || ccs_module_load(&reduce, argv[2])) {
		fprintf(stderr, "%s\n", ccs_error());
		return 2;
	}
	test_streams(&a, ring);
	test_capture(&a, ring);
	test_capture_streams(&a, ring);
	test_graphs_beside(&a, ring, 1);
	test_graphs_beside(&a, ring, 2);
	test_scalars(&a, ring);
	test_factors(&a, ring);
	test_host_code(&a, ring);
	test_buffers(&a, ring, reduce);
	test_many(&a, ring);
	test_threads(&a, ring);
	test_queue(&a, ring);
	test_limits(&a, ring);
	test_stuck(&a, ring);
	test_failing(&a, ring);
	ccs_module_free(ring);
	ccs_module_free(reduce);
	dlclose(a.handle);
	return 0;
}
