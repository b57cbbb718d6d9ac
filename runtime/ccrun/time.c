/*
 * Calls, and how long they take.
 *
 * On the CPU a call is done when it returns, and the clock tells. On GPUs calls are put
 * into the lanes' streams, one behind another, with an event before and one after: the
 * longest lane tells. With -G the calls of --iters are captured, a graph a lane, and the
 * graphs are launched -G times between the events, so that the host's part is out of it.
 * O(calls).
 */
#include "runtime/base/clock.h"
#include "runtime/ccrun/bench.h"

static double now_us(void)
{
	return (double)clock_ns() * 1e-3;
}

static ccs_status put_all(struct bench *b, const struct row *r, put_call *put, unsigned n)
{
	ccs_status s = CCS_OK;

	for (unsigned i = 0; i < n && !s; i++)
		s = put(b, r);
	return s;
}

/* Each call may take that long, and one more: the ranks' own limit comes first, which
 * tells who waits for whom. */
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

static ccs_status begin(struct lane *l)
{
	int mode;
	ccs_status s = cuda_enter(l->cuda, &mode);

	if (s)
		return s;
	s = cuda_capture_begin(l->cuda, l->stream);
	cuda_leave(l->cuda, mode);
	return s;
}

static ccs_status end(struct lane *l)
{
	int mode;
	ccs_status s = cuda_enter(l->cuda, &mode);

	if (s)
		return s;
	s = cuda_capture_end(l->cuda, l->stream, &l->graph);
	cuda_leave(l->cuda, mode);
	return s;
}

ccs_status time_capture(struct bench *b, const struct row *r, put_call *put, struct lanes *l)
{
	ccs_status s = CCS_OK;
	int begun = 0;

	if (!l || !b->o->graphs)
		return CCS_OK;
	while (begun < l->n && !s) {
		s = begin(l->lane + begun);
		begun += !s;
	}
	if (!s)
		s = put_all(b, r, put, b->o->iters);
	for (int k = 0; k < begun; k++) {
		/* the first failure is the one to tell of; the rest follows from it */
		struct thread_state kept = *error_thread();
		ccs_status ended = end(l->lane + k);

		if (s)
			*error_thread() = kept;
		else
			s = ended;
	}
	return s;
}

void time_release(struct lanes *l)
{
	int mode;

	for (int k = 0; l && k < l->n; k++) {
		struct lane *x = l->lane + k;

		if (!x->graph || cuda_enter(x->cuda, &mode))
			continue;
		cuda_graph_free(x->cuda, x->graph);
		x->graph = NULL;
		cuda_leave(x->cuda, mode);
	}
}

static ccs_status launch_graphs(struct bench *b, struct lanes *l)
{
	ccs_status s = CCS_OK;
	int mode;

	for (unsigned i = 0; i < b->o->graphs; i++) {
		for (int k = 0; k < l->n && !s; k++) {
			struct lane *x = l->lane + k;

			s = cuda_enter(x->cuda, &mode);
			if (s)
				return s;
			s = cuda_graph_launch(x->cuda, x->graph, x->stream);
			cuda_leave(x->cuda, mode);
		}
	}
	return s;
}

/* ---- times ------------------------------------------------------------------------------- */

static ccs_status start(struct lanes *l)
{
	ccs_status s = CCS_OK;
	int mode;

	for (int k = 0; k < l->n && !s; k++) {
		struct lane *x = l->lane + k;

		s = cuda_enter(x->cuda, &mode);
		if (s)
			return s;
		s = cuda_record(x->cuda, x->from, x->stream);
		cuda_leave(x->cuda, mode);
	}
	return s;
}

/* Between the lanes' events; the longest. */
static ccs_status elapsed(struct lanes *l, double *us)
{
	ccs_status s = CCS_OK;
	double one = 0;
	int mode;

	*us = 0;
	for (int k = 0; k < l->n && !s; k++) {
		struct lane *x = l->lane + k;

		s = cuda_enter(x->cuda, &mode);
		if (s)
			return s;
		s = cuda_elapsed(x->cuda, x->from, x->to, &one);
		cuda_leave(x->cuda, mode);
		*us = one > *us ? one : *us;
	}
	return s;
}

ccs_status time_calls(struct bench *b, const struct row *r, put_call *put, struct lanes *l,
		      double *us)
{
	bool graph = l && b->o->graphs;
	double calls = (double)b->o->iters * (graph ? b->o->graphs : 1), from = now_us();
	ccs_status s = l ? start(l) : CCS_OK;

	if (!s)
		s = graph ? launch_graphs(b, l) : put_all(b, r, put, b->o->iters);
	if (!s)
		s = wait_all(b, l, calls);
	*us = now_us() - from;
	if (!s && l)
		s = elapsed(l, us);
	*us /= calls;
	return s;
}

/* From the first rank's one buffer to its other. */
static ccs_status put_copy(struct bench *b, const struct row *r)
{
	int first = b->at->first, mode;
	const struct lanes *l = device_lanes(b->at->device);
	struct cuda *cuda = device_cuda(b->at->device, first);
	ccs_status s = cuda_enter(cuda, &mode);

	if (s)
		return s;
	s = cuda_copy_async(cuda,
			    (uintptr_t)device_pointer(b->at->device, first, b->base[1][first]),
			    (uintptr_t)device_pointer(b->at->device, first, b->base[0][first]),
			    r->size, lanes_stream(l, first), "a rank's buffer");
	cuda_leave(cuda, mode);
	return s;
}

ccs_status time_copy(struct bench *b, const struct row *r, double *us)
{
	struct lanes *l = device_lanes(b->at->device);
	struct lanes one = { .lane = l->lane + l->of[b->at->first], .n = 1, .of = l->of };
	ccs_status s = time_run(b, r, put_copy, &one, b->o->warmup);

	*us = 0;
	if (!s)
		s = start(&one);
	if (!s)
		s = put_all(b, r, put_copy, b->o->iters);
	if (!s)
		s = wait_all(b, &one, b->o->iters);
	if (!s)
		s = elapsed(&one, us);
	*us /= b->o->iters;
	return s;
}
