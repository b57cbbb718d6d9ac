/*
 * The host's side of the GPU against a fake driver (tests/fake_cuda). It checks that every call is
 * legal, runs the kernels by their contract, and can be set to fail any call. usage: cuda_host_test
 * RING.so REDUCE.so, with the fake libcuda.so.1 in LD_LIBRARY_PATH (tests/cuda/cuda_test.sh does
 * that).
 */
#include "tests/support/processes.h"
#include "tests/support/rig.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the tests ------------------------------------------------------------------------ */

static void test_streams(struct rig_api *a, const struct ccs_module *m)
{
	struct rig r;
	struct ccs_run_shape shape;
	bool ordered = true, after = true;

	if (rig_up(&r, a, 4, RIG_OWN)) {
		says(CCS_EINVAL, CCS_OK, NULL, "a communicator on the GPU");
		return;
	}
	say(!ccs_comm_last_run(r.comm[1], &shape) && !shape.channels, "no run was cut yet");
	says(ccs_comm_set_late(r.comm[1], NULL, NULL), CCS_EUNSUPPORTED, "use ccs_comm_waits",
	     "kernels wait for ever");
	for (int i = 0; i < 4; i++)
		a->work(r.stream[i]);
	says(rig_call(&r, m), CCS_OK, NULL, "a stream for each rank");
	say(rig_right(&r, 0, 4), "... with the right results");
	say(!ccs_comm_last_run(r.comm[1], &shape) && shape.channels &&
		    shape.blocks == 4 * shape.channels &&
		    shape.tile * shape.tiles * shape.channels * 4 >= RIG_COUNT,
	    "... and tells how it was cut");
	for (int i = 0; i < 4; i++) {
		ordered &= a->ordered(r.stream[i], r.stream[0]) != 0;
		after &= a->ordered(r.stream[0], r.stream[i]) != 0;
	}
	say(ordered, "the launch comes after what is in every rank's stream");
	rig_call(&r, m);
	say(after, "... and before what follows in them");
	for (int i = 0; i < 8; i++) {
		rig_fill(&r);
		if (rig_call_on(&r, m, RIG_COUNT, r.stream[i % 4]) || !rig_right(&r, 0, 4))
			break;
		if (i == 7)
			say(true, "calls in changing streams are ordered");
	}
	says(ccs_comm_check(r.comm[2]), CCS_OK, NULL, "nothing failed meanwhile");
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

	for (unsigned k = 0; k < RIG_COUNT; k++) {
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

/* Ranks of one GPU, each with a different factor. */
static void test_scalars(struct rig_api *a, const struct ccs_module *m)
{
	struct rig r;

	rig_up(&r, a, 4, RIG_OWN);
	ccs_group_start();
	for (int i = 0; i < 4; i++) {
		float scalar = of_rank(i, 0);

		ccs_run_premul(m, r.send[i], r.recv[i], RIG_COUNT, CCS_FLOAT32, &scalar, 0,
			       r.comm[i], r.stream[i]);
	}
	says(ccs_group_end(), CCS_OK, NULL, "a premul-sum with a scalar for each rank");
	say(sums_right(&r, of_rank), "... gives the right results");
	rig_down(&r);
}

/* ... or one for each element, which is on the GPU, too. In place the input is copied aside. */
static void test_factors(struct rig_api *a, const struct ccs_module *m)
{
	static const float host[RIG_COUNT];
	float *factors[4];
	struct rig r;

	rig_up(&r, a, 4, RIG_OWN);
	for (int i = 0; i < 4; i++) {
		factors[i] = rig_floats(a, RIG_COUNT + 8) + i % 2;
		for (unsigned k = 0; k < RIG_COUNT; k++)
			factors[i][k] = of_element(i, k);
	}
	for (int in_place = 0; in_place < 2; in_place++) {
		ccs_group_start();
		for (int i = 0; i < 4; i++) {
			if (in_place)
				memcpy(r.recv[i], r.send[i], RIG_COUNT * sizeof(float));
			ccs_run_premul_vector(m, in_place ? r.recv[i] : r.send[i], r.recv[i],
					      RIG_COUNT, CCS_FLOAT32, factors[i], 0, r.comm[i],
					      r.stream[i]);
		}
		says(ccs_group_end(), CCS_OK, NULL,
		     in_place ? "... in place" : "a premul-sum with a factor for each element");
		say(sums_right(&r, of_element), "... gives the right results");
	}
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run_premul_vector(m, r.send[i], r.recv[i], RIG_COUNT, CCS_FLOAT32,
				      i == 1 ? host : factors[i], 0, r.comm[i], r.stream[i]);
	says(ccs_group_end(), CCS_EINVAL, "factors is not memory that a GPU can access",
	     "factors in memory of the host are refused");
	says(rig_call(&r, m), CCS_OK, NULL, "... and the communicator goes on");
	for (int i = 0; i < 4; i++)
		a->free((uintptr_t)(factors[i] - i % 2));
	rig_down(&r);
}

/* Operators that need code of this process. */
static void test_host_code(struct rig_api *a, const struct ccs_module *m)
{
	struct ccs_user_op *op;
	struct rig r;

	rig_up(&r, a, 2, RIG_OWN);
	says(ccs_user_op_create(&op, never, NULL, 0, 1), CCS_OK, NULL, "an operator");
	says(ccs_run_user_op(m, r.send[0], r.recv[0], RIG_COUNT, CCS_FLOAT32, op, 0, r.comm[0],
			     NULL),
	     CCS_EUNSUPPORTED, "which GPUs cannot call: it is for ranks on the CPU",
	     "an operator of the user's own is refused");
	says(ccs_user_op_free(op), CCS_OK, NULL, "... and no call has it");
	says(rig_call(&r, m), CCS_OK, NULL, "... and the communicator goes on");
	rig_down(&r);
}

static void test_buffers(struct rig_api *a, const struct ccs_module *ring,
			 const struct ccs_module *reduce)
{
	static float host[RIG_COUNT];
	struct rig r;
	ccs_status s;

	rig_up(&r, a, 4, RIG_DEFAULT);
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run(ring, i == 2 ? host : r.send[i], r.recv[i], RIG_COUNT, CCS_FLOAT32, CCS_SUM,
			0, r.comm[i], NULL);
	s = ccs_group_end();
	says(s, CCS_EINVAL, "cudaMalloc", "memory of the host is refused");
	says(rig_call(&r, ring), CCS_OK, NULL, "... and the communicator goes on");
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run(ring, r.send[i], r.recv[i], RIG_COUNT - (unsigned)(i == 3), CCS_FLOAT32,
			CCS_SUM, 0, r.comm[i], NULL);
	says(ccs_group_end(), CCS_EINVAL, "differ", "calls that disagree are refused");
	/* the output overlaps the input, one element further */
	rig_fill(&r);
	ccs_group_start();
	for (int i = 0; i < 4; i++) {
		memcpy(r.recv[i], r.send[i], RIG_COUNT * sizeof(float));
		ccs_run(ring, r.recv[i], r.recv[i] + 1, RIG_COUNT, CCS_FLOAT32, CCS_SUM, 0,
			r.comm[i], NULL);
	}
	s = ccs_group_end();
	for (int i = 0; i < 4; i++)
		memmove(r.recv[i], r.recv[i] + 1, RIG_COUNT * sizeof(float));
	says(s, CCS_OK, NULL, "input and output that overlap");
	say(rig_right(&r, 0, 4), "... give the right results");
	rig_fill(&r);
	ccs_group_start();
	for (int i = 0; i < 4; i++)
		ccs_run(reduce, r.send[i], i ? NULL : r.recv[i], RIG_COUNT, CCS_FLOAT32, CCS_SUM, 0,
			r.comm[i], NULL);
	says(ccs_group_end(), CCS_OK, NULL, "a reduce without buffers where there is no result");
	say(rig_right(&r, 0, 1), "... gives the right result at the root");
	rig_down(&r);
}

static void test_many(struct rig_api *a, const struct ccs_module *m)
{
	struct rig r;
	bool all = true;

	says(rig_up(&r, a, 40, RIG_DEFAULT), CCS_OK, NULL, "40 ranks");
	for (int i = 0; i < 200; i++) { /* more sets of pointers than are kept */
		float *first = r.send[0];

		memmove(r.send, r.send + 1, 39 * sizeof(*r.send));
		r.send[39] = first;
		if (i == 100)
			a->work(NULL);
		rig_fill(&r);
		all &= !rig_call(&r, m) && rig_right(&r, 0, 40);
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
		t->s = ccs_run(t->m, t->r->send[t->rank], t->r->recv[t->rank], RIG_COUNT,
			       CCS_FLOAT32, CCS_SUM, 0, t->r->comm[t->rank], t->r->stream[t->rank]);
	return NULL;
}

static void test_threads(struct rig_api *a, const struct ccs_module *m)
{
	struct thread t[4];
	pthread_t id[4];
	struct rig r;
	bool all = true;

	rig_up(&r, a, 4, RIG_OWN);
	for (int i = 0; i < 4; i++) {
		t[i] = (struct thread){ &r, m, i, CCS_OK };
		pthread_create(id + i, NULL, one_rank, t + i);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(id[i], NULL);
		all &= !t[i].s;
	}
	say(all && rig_right(&r, 0, 4), "a thread for each rank, 50 calls");
	ccs_comm_set_timeout(r.comm[0], 50);
	says(ccs_run(m, r.send[0], r.recv[0], RIG_COUNT, CCS_FLOAT32, CCS_SUM, 0, r.comm[0], NULL),
	     CCS_ETIMEOUT, "rank 3 has not called", "a rank that never calls is named");
	rig_down(&r);
}

static void test_limits(struct rig_api *a, const struct ccs_module *m)
{
	struct rig r;

	setenv("FAKE_CUDA_SMS", "1", 1);
	setenv("FAKE_CUDA_REGISTERS", "128", 1);
	rig_up(&r, a, 8, RIG_DEFAULT);
	says(rig_call(&r, m), CCS_OK, NULL,
	     "8 workers on a GPU that holds one block of 512 threads");
	say(rig_right(&r, 0, 8), "... with the right results, in smaller blocks");
	rig_down(&r);
	rig_up(&r, a, 40, RIG_DEFAULT);
	says(rig_call(&r, m), CCS_EUNSUPPORTED, "holds 16 ", "E0501 says how many blocks fit");
	say(!strncmp(ccs_error(), "E0501", 5), "... by its code");
	rig_down(&r);
	unsetenv("FAKE_CUDA_SMS");
	unsetenv("FAKE_CUDA_REGISTERS");
	says(ccs_comm_init_cuda(r.comm, 2, 7), CCS_EINVAL, "no GPU 7", "a GPU that is not there");
}

static void test_stuck(struct rig_api *a, const struct ccs_module *m)
{
	struct rig r;

	rig_up(&r, a, 4, RIG_DEFAULT);
	ccs_comm_set_timeout(r.comm[0], 30000);
	setenv("FAKE_CUDA_STUCK", "1", 1);
	says(rig_call(&r, m), CCS_OK, NULL, "a call that will get stuck is put into the stream");
	unsetenv("FAKE_CUDA_STUCK");
	says(ccs_comm_check(r.comm[1]), CCS_ETIMEOUT, "rank 2 waits at ring_allreduce.ccs:",
	     "what a kernel reports names rank, file and line");
	say(strstr(ccs_error(), "to receive from rank 1") != NULL, "... and the peer");
	says(rig_call(&r, m), CCS_EABORTED, "rank 2 waits at",
	     "after that the communicator is dead");
	says(ccs_comm_check(r.comm[1]), CCS_EABORTED, NULL, "... and stays so");
	rig_down(&r);
}

/* ---- every call fails once ----------------------------------------------------------------- */

/* In a child: 0: nothing failed; 1: it failed and the text names the call; 2: otherwise. */
static int scenario(struct rig_api *a, const struct ccs_module *m, const char *name)
{
	struct rig r;
	ccs_status s = rig_up(&r, a, 4, RIG_OWN);
	char text[2048] = "", call_name[64];
	size_t len = strcspn(name, "_");

	if (s) {
		snprintf(text, sizeof(text), "%s", ccs_error());
	} else {
		for (int i = 0; i < 3 && !s; i++) {
			s = i == 1 ? rig_call_on(&r, m, RIG_COUNT, r.stream[2]) : rig_call(&r, m);
			if (!s && !rig_right(&r, 0, 4))
				return 2;
		}
		if (!s) { /* by way of a copy of the input */
			float *send[4];

			memcpy(send, r.send, sizeof(send));
			for (int i = 0; i < 4; i++)
				r.send[i] = r.recv[i] + 1;
			s = rig_call(&r, m);
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
	struct rig_api *a;
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

static void test_failing(struct rig_api *a, const struct ccs_module *m)
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
	struct rig_api a;

	if (argc != 3 || !rig_load(&a) || a.init(0)) {
		fprintf(stderr, "usage: cuda_host_test RING.so REDUCE.so, with the fake driver\n");
		return 2;
	}
	if (ccs_module_load(&ring, argv[1]) || ccs_module_load(&reduce, argv[2])) {
		fprintf(stderr, "%s\n", ccs_error());
		return 2;
	}
	test_streams(&a, ring);
	test_scalars(&a, ring);
	test_factors(&a, ring);
	test_host_code(&a, ring);
	test_buffers(&a, ring, reduce);
	test_many(&a, ring);
	test_threads(&a, ring);
	test_limits(&a, ring);
	test_stuck(&a, ring);
	test_failing(&a, ring);
	ccs_module_free(ring);
	ccs_module_free(reduce);
	dlclose(a.handle);
	return 0;
}
