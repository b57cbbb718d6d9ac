/*
 * Calls, and their times.
 *
 * On the CPU a call is done when it returns, and the host's clock measures it. On GPUs calls are
 * put into the lanes' streams, one after another, with an event before and one after; the time is
 * that of the slowest lane. With -G the calls of --iters are captured as a graph for each lane,
 * and the graphs are launched -G times between the events, which excludes the host's part.
 * O(calls).
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"

static ccs_status put_all(struct bench *b, const struct row *r, put_call *put, unsigned n)
{
	ccs_status s = CCS_OK;

	for (unsigned i = 0; i < n && !s; i++)
		s = put(b, r);
	return s;
}

/* Waits for the timeout once for each call, and once more: the ranks' own limit comes first,
 * and its report says which rank waits for which. */
static ccs_status wait_all(const struct bench *b, struct lanes *l, double calls)
{
	return l ? lanes_wait(l, b->o->timeout * (calls + 1)) : CCS_OK;
}

ccs_status time_run(struct bench *b, const struct row *r, put_call *put, struct lanes *l,
		    unsigned n)
{
	ccs_status s = put_all(b, r, put, n);

	return s ? s : wait_all(b, l, n);
}

/* ---- graphs ------------------------------------------------------------------------------ */

ccs_status time_capture(struct bench *b, const struct row *r, put_call *put, struct lanes *l)
{
	ccs_status s = CCS_OK;
	int begun = 0;

	if (!l || !b->o->graphs)
		return CCS_OK;
	while (begun < l->n && !s) {
		struct lane *x = l->lane + begun;

		s = device_use(x->gpu);
		if (!s)
			s = driver_capture_begin(x->gpu->driver, x->stream);
		begun += !s;
	}
	if (!s)
		s = put_all(b, r, put, b->o->iters);
	for (int k = 0; k < begun; k++) {
		struct lane *x = l->lane + k;
		struct failure first = failure_keep(s); /* later errors are its consequence */

		s = device_use(x->gpu);
		if (!s)
			s = driver_capture_end(x->gpu->driver, x->stream, &x->graph);
		s = failure_first(&first, s);
	}
	return s;
}

void time_release(struct lanes *l)
{
	for (int k = 0; l && k < l->n; k++) {
		struct lane *x = l->lane + k;

		if (!x->graph || device_use(x->gpu))
			continue;
		driver_graph_free(x->gpu->driver, x->graph);
		x->graph = NULL;
	}
}

static ccs_status launch_graphs(struct bench *b, struct lanes *l)
{
	ccs_status s = CCS_OK;

	for (unsigned i = 0; i < b->o->graphs; i++) {
		for (int k = 0; k < l->n && !s; k++) {
			struct lane *x = l->lane + k;

			s = device_use(x->gpu);
			if (!s)
				s = driver_graph_launch(x->gpu->driver, x->graph, x->stream);
		}
	}
	return s;
}

/* ---- times ------------------------------------------------------------------------------- */

static ccs_status time_them(struct bench *b, const struct row *r, put_call *put, struct lanes *l,
			    bool graph, double *us)
{
	double calls = (double)b->o->iters * (graph ? b->o->graphs : 1), from = time_now();
	ccs_status s = l ? lanes_start(l) : CCS_OK;

	if (!s)
		s = graph ? launch_graphs(b, l) : put_all(b, r, put, b->o->iters);
	if (!s)
		s = wait_all(b, l, calls);
	*us = (time_now() - from) * 1e6;
	if (!s && l)
		s = lanes_elapsed(l, us);
	*us /= calls;
	return s;
}

ccs_status time_calls(struct bench *b, const struct row *r, put_call *put, struct lanes *l,
		      double *us)
{
	return time_them(b, r, put, l, l && b->o->graphs, us);
}

/* Copies from one of the first rank's buffers to its other. */
static ccs_status put_copy(struct bench *b, const struct row *r)
{
	struct device *at = b->at->device;
	int first = b->at->first;
	const struct gpu *g = at->of[first];
	ccs_status s = device_use(g);
	cuda_ptr to = (uintptr_t)device_pointer(at, first, b->base[1][first]);
	cuda_ptr from = (uintptr_t)device_pointer(at, first, b->base[0][first]);
	cuda_stream stream = lanes_stream(&at->lanes, first);

	return s ? s
		 : driver_check(g->driver, g->driver->copy(to, from, r->size, stream),
				"cuMemcpyDtoDAsync", "%zu bytes of a rank's buffer", r->size);
}

ccs_status time_copy(struct bench *b, const struct row *r, double *us)
{
	struct lanes *l = &b->at->device->lanes;
	struct lanes one = { .lane = l->lane + l->of[b->at->first], .n = 1, .of = l->of };
	ccs_status s = time_run(b, r, put_copy, &one, b->o->warmup);

	return s ? s : time_them(b, r, put_copy, &one, false, us);
}
