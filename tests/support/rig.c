/*
 * See rig.h.
 */
#include "tests/support/rig.h"

#include "tests/support/processes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool rig_load(struct rig_api *a)
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

float *rig_floats(struct rig_api *a, size_t n)
{
	unsigned long long p = 0;

	return a->alloc(&p, n * sizeof(float)) ? NULL : (float *)(uintptr_t)p;
}

void rig_fill(struct rig *r)
{
	for (int i = 0; i < r->n; i++)
		for (unsigned k = 0; k < RIG_COUNT; k++) {
			r->send[i][k] = (float)(i + 1) * (float)(k % 7);
			r->recv[i][k] = -1;
		}
}

bool rig_right(const struct rig *r, int from, int to)
{
	float ranks = (float)(r->n * (r->n + 1)) / 2;

	for (int i = from; i < to; i++)
		for (unsigned k = 0; k < RIG_COUNT; k++)
			if (r->recv[i][k] != ranks * (float)(k % 7))
				return false;
	return true;
}

ccs_status rig_up(struct rig *r, struct rig_api *a, int n, enum rig_streams streams)
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
		r->send[i] = rig_floats(a, RIG_COUNT + 8);
		r->recv[i] = rig_floats(a, RIG_COUNT + 8);
		if (streams == RIG_OWN || (streams == RIG_ONE && !i))
			a->stream_new(&r->stream[i], 1);
		else if (streams == RIG_ONE)
			r->stream[i] = r->stream[0];
	}
	rig_fill(r);
	if (kept)
		setenv("FAKE_CUDA_FAIL", kept, 1);
	free(kept);
	return CCS_OK;
}

void rig_down(struct rig *r)
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

ccs_status rig_call_on(struct rig *r, const struct ccs_module *m, unsigned count, void *stream)
{
	ccs_group_start();
	for (int i = 0; i < r->n; i++)
		ccs_run(m, r->send[i], r->recv[i], count, CCS_FLOAT32, CCS_SUM, 0, r->comm[i],
			stream ? stream : r->stream[i]);
	return ccs_group_end();
}

ccs_status rig_call(struct rig *r, const struct ccs_module *m)
{
	return rig_call_on(r, m, RIG_COUNT, NULL);
}
