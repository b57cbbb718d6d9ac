/*
 * Streams of one's own, times, and graphs, for those who measure. See driver.h.
 * O(1) each, but for making a graph: O(what was captured).
 */
#include "runtime/cuda/api.h"

/* So that what other code of the thread does meanwhile spoils no capture. */
enum { CAPTURE_RELAXED = 2 };

ccs_status cuda_stream_new(struct cuda *d, cuda_stream *s)
{
	ccs_status rc = cuda_check(d, d->api->stream_new(s, CUDA_STREAM_NON_BLOCKING),
				   "cuStreamCreate", "a stream on %s", d->name);

	if (rc)
		*s = NULL;
	return rc;
}

void cuda_stream_free(struct cuda *d, cuda_stream s)
{
	if (s)
		d->api->stream_free(s);
}

ccs_status cuda_timer_new(struct cuda *d, cuda_event *e)
{
	ccs_status s = cuda_check(d, d->api->event_new(e, 0), "cuEventCreate", "an event");

	if (s)
		*e = NULL;
	return s;
}

ccs_status cuda_elapsed(struct cuda *d, cuda_event from, cuda_event to, double *us)
{
	float ms = 0;
	ccs_status s = cuda_has(d->api->o.elapsed != NULL, "cuEventElapsedTime", "measuring");

	if (!s)
		s = cuda_check(d, d->api->o.elapsed(&ms, from, to), "cuEventElapsedTime",
			       "measuring");
	*us = (double)ms * 1000;
	return s;
}

static ccs_status has_graphs(const struct cuda *d)
{
	const struct cuda_wanted *o = &d->api->o;

	return cuda_has(o->capture_begin && o->capture_end && o->instantiate && o->template_free &&
				o->graph_launch && o->graph_free,
			"cuGraphInstantiateWithFlags", "graphs");
}

ccs_status cuda_capture_begin(struct cuda *d, cuda_stream s)
{
	ccs_status rc = has_graphs(d);

	if (!rc)
		rc = cuda_check(d, d->api->o.capture_begin(s, CAPTURE_RELAXED),
				"cuStreamBeginCapture", "capturing a stream");
	return rc;
}

ccs_status cuda_capture_end(struct cuda *d, cuda_stream s, cuda_graph *g)
{
	cuda_template made = NULL;
	ccs_status rc = cuda_check(d, d->api->o.capture_end(s, &made), "cuStreamEndCapture",
				   "capturing a stream");

	*g = NULL;
	if (rc)
		return rc;
	rc = cuda_check(d, d->api->o.instantiate(g, made, 0), "cuGraphInstantiateWithFlags",
			"a captured graph");
	if (rc)
		*g = NULL;
	d->api->o.template_free(made);
	return rc;
}

ccs_status cuda_graph_launch(struct cuda *d, cuda_graph g, cuda_stream s)
{
	return cuda_check(d, d->api->o.graph_launch(g, s), "cuGraphLaunch", "a captured graph");
}

void cuda_graph_free(struct cuda *d, cuda_graph g)
{
	if (g)
		d->api->o.graph_free(g);
}
