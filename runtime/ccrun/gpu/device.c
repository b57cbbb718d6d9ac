/*
 * ccrun on GPUs: buffers that mirror the host's, and streams. See device.h.
 *
 * In: communicators, which know the ranks' GPUs. All calls go to the driver's functions
 * (cuda_calls.h), so ccrun does not link CUDA either. O(bytes) to copy.
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- GPUs ------------------------------------------------------------------------------ */

ccs_status device_use(const struct gpu *g)
{
	return driver_check(g->driver, g->driver->use(g->context), "cuCtxSetCurrent", "GPU %s",
			    g->name);
}

static ccs_status gpu_open(struct gpu *g, const struct driver *d, int number)
{
	ccs_status s;

	*g = (struct gpu){ .driver = d, .number = number };
	s = driver_check(d, d->device_name(g->name, (int)sizeof(g->name) - 1, number),
			 "cuDeviceGetName", "GPU %d", number);
	if (!s)
		s = driver_check(d, d->retain(&g->context, number), "cuDevicePrimaryCtxRetain",
				 "GPU %d (%s)", number, g->name);
	if (s) {
		g->context = NULL;
		return s;
	}
	s = device_use(g);
	return s ? s : driver_stream_new(d, &g->setup);
}

static void gpu_close(struct gpu *g)
{
	if (!g->context)
		return;
	if (!device_use(g))
		driver_stream_free(g->driver, g->setup);
	g->driver->release(g->number);
}

static ccs_status open_gpus(struct device *d)
{
	const struct home *at = d->at;
	ccs_status s = CCS_OK;

	for (int i = at->first; i < at->first + at->local && !s; i++) {
		int number = ccs_comm_device(at->comm[i]), k = 0;

		while (k < d->ngpus && d->gpus[k].number != number)
			k++;
		d->of[i] = d->gpus + k;
		if (k == d->ngpus)
			s = gpu_open(d->gpus + d->ngpus++, &d->driver, number);
	}
	return s;
}

ccs_status device_open(struct device **out, const struct home *at)
{
	struct device *d = calloc(1, sizeof(*d));
	size_t nranks = (size_t)at->ranks;
	ccs_status s;

	*out = d;
	if (!d)
		return ccs_error_set(CCS_ENOMEM, "out of memory for %d ranks' buffers", at->ranks);
	d->at = at;
	d->gpus = calloc((size_t)at->local, sizeof(*d->gpus));
	d->of = calloc(nranks, sizeof(*d->of));
	for (int side = 0; side < 2; side++)
		d->dev[side] = calloc(nranks, sizeof(cuda_ptr));
	if (!d->gpus || !d->of || !d->dev[0] || !d->dev[1])
		return ccs_error_set(CCS_ENOMEM, "out of memory for %d ranks' buffers", at->ranks);
	s = driver_open(&d->driver);
	if (!s)
		s = open_gpus(d);
	return s ? s : lanes_open(&d->lanes, d, false);
}

void device_close(struct device *d)
{
	if (!d)
		return;
	if (d->dev[0] && d->dev[1])
		device_free(d);
	lanes_close(&d->lanes);
	for (int k = 0; k < d->ngpus; k++)
		gpu_close(d->gpus + k);
	free(d->dev[0]);
	free(d->dev[1]);
	free(d->gpus);
	free(d->of);
	free(d);
}

/* ---- buffers ---------------------------------------------------------------------- */

ccs_status device_alloc(struct device *d, unsigned char **const base[2], size_t bytes)
{
	ccs_status s = CCS_OK;

	d->bytes = bytes;
	d->base[0] = base[0];
	d->base[1] = base[1];
	for (int k = 0; k < 2 * d->at->local && !s; k++) {
		int rank = d->at->first + k / 2;
		cuda_ptr *p = d->dev[k & 1] + rank;

		s = device_use(d->of[rank]);
		if (!s)
			s = driver_check(&d->driver, d->driver.alloc(p, bytes), "cuMemAlloc",
					 "%zu bytes on %s for a rank's buffer", bytes,
					 d->of[rank]->name);
		if (s)
			*p = 0;
	}
	return s;
}

void device_free(struct device *d)
{
	for (int k = 0; k < 2 * d->at->local; k++) {
		int rank = d->at->first + k / 2;
		cuda_ptr *p = d->dev[k & 1] + rank;

		if (*p && !device_use(d->of[rank]))
			d->driver.free(*p);
		*p = 0;
	}
}

static ccs_status copy(struct device *d, int rank, int side, bool push)
{
	const struct gpu *g = d->of[rank];
	unsigned char *host = d->base[side][rank];
	cuda_ptr dev = d->dev[side][rank];
	ccs_status s = device_use(g);

	if (s)
		return s;
	if (push)
		s = driver_check(&d->driver, d->driver.upload(dev, host, d->bytes, g->setup),
				 "cuMemcpyHtoDAsync", "%zu bytes of a rank's buffer to %s",
				 d->bytes, g->name);
	else
		s = driver_check(&d->driver, d->driver.download(host, dev, d->bytes, g->setup),
				 "cuMemcpyDtoHAsync", "%zu bytes of a rank's buffer from %s",
				 d->bytes, g->name);
	return s ? s
		 : driver_check(&d->driver, d->driver.stream_sync(g->setup), "cuStreamSynchronize",
				"the stream");
}

ccs_status device_copy(struct device *d, bool push)
{
	ccs_status s = CCS_OK;

	for (int k = 0; k < 2 * d->at->local && !s; k++)
		s = copy(d, d->at->first + k / 2, k & 1, push);
	return s;
}

void *device_pointer(const struct device *d, int rank, const void *host)
{
	uintptr_t p = (uintptr_t)host;

	for (int side = 0; side < 2; side++) {
		uintptr_t from = (uintptr_t)d->base[side][rank];

		if (p >= from && p <= from + d->bytes)
			return (void *)(uintptr_t)(d->dev[side][rank] + (p - from));
	}
	return NULL;
}

/* ---- lanes ---------------------------------------------------------------------------- */

static ccs_status lane_open(struct lane *l, struct gpu *g)
{
	ccs_status s = device_use(g);

	l->gpu = g;
	if (!s)
		s = driver_stream_new(g->driver, &l->stream);
	if (!s)
		s = driver_timer_new(g->driver, &l->from);
	if (!s)
		s = driver_timer_new(g->driver, &l->to);
	return s;
}

ccs_status lanes_open(struct lanes *l, const struct device *d, bool each)
{
	ccs_status s = CCS_OK;

	*l = (struct lanes){ 0 };
	l->lane = calloc((size_t)d->at->local, sizeof(*l->lane));
	l->of = calloc((size_t)d->at->ranks, sizeof(*l->of));
	if (!l->lane || !l->of)
		return ccs_error_set(CCS_ENOMEM, "out of memory for streams");
	for (int i = 0; i < d->at->ranks; i++)
		l->of[i] = -1;
	for (int i = d->at->first; i < d->at->first + d->at->local && !s; i++) {
		int k = each ? l->n : 0;

		while (k < l->n && l->lane[k].gpu != d->of[i])
			k++;
		l->of[i] = k;
		if (k < l->n)
			continue;
		l->n++;
		s = lane_open(l->lane + k, d->of[i]);
	}
	return s;
}

static void lane_close(struct lane *l)
{
	const struct driver *d = l->gpu->driver;

	if (device_use(l->gpu))
		return;
	driver_graph_free(d, l->graph);
	driver_timer_free(d, l->from);
	driver_timer_free(d, l->to);
	driver_stream_free(d, l->stream);
}

void lanes_close(struct lanes *l)
{
	for (int k = 0; k < l->n; k++)
		lane_close(l->lane + k);
	free(l->lane);
	free(l->of);
	*l = (struct lanes){ 0 };
}

cuda_stream lanes_stream(const struct lanes *l, int rank)
{
	return l->lane[l->of[rank]].stream;
}

/* ---- times ------------------------------------------------------------------------------ */

static ccs_status record(const struct lane *l, cuda_event e)
{
	const struct driver *d = l->gpu->driver;
	ccs_status s = device_use(l->gpu);

	return s ? s
		 : driver_check(d, d->event_record(e, l->stream), "cuEventRecord", "the stream");
}

ccs_status lanes_start(struct lanes *l)
{
	ccs_status s = CCS_OK;

	for (int k = 0; k < l->n && !s; k++)
		s = record(l->lane + k, l->lane[k].from);
	return s;
}

/* The events measure the time: how often the host polls has no effect. */
static ccs_status wait_until(const struct lane *l, double end, double timeout)
{
	useconds_t pause = 20;
	const struct driver *d = l->gpu->driver;

	for (;;) {
		int e = d->event_query(l->to);

		if (e != DRIVER_NOT_READY)
			return driver_check(d, e, "cuEventQuery", "an earlier call");
		if (time_now() > end)
			return ccs_error_set(CCS_ETIMEOUT,
					     "no call ended on %s for %g seconds (--timeout)",
					     l->gpu->name, timeout);
		usleep(pause);
		if (pause < 1000)
			pause *= 2;
	}
}

static ccs_status wait_for(const struct lane *l, double end, double timeout)
{
	const struct driver *d = l->gpu->driver;
	ccs_status s = device_use(l->gpu);

	if (!s && timeout > 0)
		return wait_until(l, end, timeout);
	return s ? s
		 : driver_check(d, d->event_sync(l->to), "cuEventSynchronize", "an earlier call");
}

ccs_status lanes_wait(struct lanes *l, double timeout)
{
	double end = time_now() + timeout;
	ccs_status s = CCS_OK;

	/* record the end in all lanes before waiting for any */
	for (int k = 0; k < l->n && !s; k++)
		s = record(l->lane + k, l->lane[k].to);
	for (int k = 0; k < l->n && !s; k++)
		s = wait_for(l->lane + k, end, timeout);
	return s;
}

ccs_status lanes_elapsed(struct lanes *l, double *us)
{
	ccs_status s = CCS_OK;
	double one = 0;

	*us = 0;
	for (int k = 0; k < l->n && !s; k++) {
		const struct lane *x = l->lane + k;

		s = device_use(x->gpu);
		if (!s)
			s = driver_elapsed(x->gpu->driver, x->from, x->to, &one);
		*us = one > *us ? one : *us;
	}
	return s;
}
