/*
 * ccrun on GPUs: buffers there, mirrors of the host's; streams. See device.h.
 *
 * All goes through the communicator's own driver (cuda/driver.h), so that ccrun links no
 * CUDA either. O(bytes) to copy.
 */
#include "runtime/base/clock.h"
#include "runtime/ccrun/device.h"

#include <stdlib.h>
#include <time.h>

struct device {
	struct cuda **cuda; /* [rank] */
	int nranks, first, local;
	unsigned char **base[2]; /* the host's */
	cuda_ptr *dev[2];
	size_t bytes;
	struct lanes lanes;
};

struct device *device_open(struct cuda *const *cuda, int nranks, int first, int local)
{
	struct device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->nranks = nranks;
	d->first = first;
	d->local = local;
	d->cuda = calloc((size_t)nranks, sizeof(struct cuda *));
	for (int side = 0; side < 2; side++)
		d->dev[side] = calloc((size_t)nranks, sizeof(cuda_ptr));
	if (!d->cuda || !d->dev[0] || !d->dev[1]) {
		device_close(d);
		return NULL;
	}
	for (int i = first; i < first + local; i++)
		d->cuda[i] = cuda[i];
	if (lanes_open(&d->lanes, d, false)) {
		device_close(d);
		return NULL;
	}
	return d;
}

void device_close(struct device *d)
{
	if (!d)
		return;
	if (d->cuda && d->dev[0] && d->dev[1])
		device_free(d);
	lanes_close(&d->lanes);
	free(d->dev[0]);
	free(d->dev[1]);
	free(d->cuda);
	free(d);
}

struct lanes *device_lanes(struct device *d)
{
	return &d->lanes;
}

struct cuda *device_cuda(const struct device *d, int rank)
{
	return d->cuda[rank];
}

/* ---- buffers ---------------------------------------------------------------------- */

static ccs_status alloc(struct device *d, int rank)
{
	int mode;
	ccs_status s = cuda_enter(d->cuda[rank], &mode);

	if (s)
		return s;
	for (int side = 0; side < 2 && !s; side++)
		s = cuda_alloc(d->cuda[rank], &d->dev[side][rank], d->bytes, "a rank's buffer");
	cuda_leave(d->cuda[rank], mode);
	return s;
}

ccs_status device_alloc(struct device *d, unsigned char **const base[2], size_t bytes)
{
	ccs_status s = CCS_OK;

	d->bytes = bytes;
	d->base[0] = base[0];
	d->base[1] = base[1];
	for (int i = d->first; i < d->first + d->local && !s; i++)
		s = alloc(d, i);
	return s;
}

void device_free(struct device *d)
{
	int mode;

	for (int i = d->first; i < d->first + d->local; i++) {
		if (!d->cuda[i] || cuda_enter(d->cuda[i], &mode))
			continue;
		for (int side = 0; side < 2; side++) {
			cuda_free(d->cuda[i], d->dev[side][i]);
			d->dev[side][i] = 0;
		}
		cuda_leave(d->cuda[i], mode);
	}
}

static ccs_status copy(struct device *d, int rank, bool push)
{
	struct cuda *cuda = d->cuda[rank];
	int mode;
	ccs_status s = cuda_enter(cuda, &mode);

	if (s)
		return s;
	for (int side = 0; side < 2 && !s; side++) {
		cuda_ptr dev = d->dev[side][rank];
		unsigned char *host = d->base[side][rank];

		s = push ? cuda_upload(cuda, dev, host, d->bytes, "a rank's buffer")
			 : cuda_download(cuda, host, dev, d->bytes, "a rank's buffer");
	}
	cuda_leave(cuda, mode);
	return s;
}

static ccs_status copy_all(struct device *d, bool push)
{
	ccs_status s = CCS_OK;

	for (int i = d->first; i < d->first + d->local && !s; i++)
		s = copy(d, i, push);
	return s;
}

ccs_status device_push(struct device *d)
{
	return copy_all(d, true);
}

ccs_status device_pull(struct device *d)
{
	return copy_all(d, false);
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

static ccs_status lane_open(struct lane *l, struct cuda *cuda)
{
	int mode;
	ccs_status s = cuda_enter(cuda, &mode);

	if (s)
		return s;
	l->cuda = cuda;
	s = cuda_stream_new(cuda, &l->stream);
	if (!s)
		s = cuda_timer_new(cuda, &l->from);
	if (!s)
		s = cuda_timer_new(cuda, &l->to);
	cuda_leave(cuda, mode);
	return s;
}

ccs_status lanes_open(struct lanes *l, const struct device *d, bool each)
{
	ccs_status s = CCS_OK;

	*l = (struct lanes){ 0 };
	l->lane = calloc((size_t)d->local, sizeof(*l->lane));
	l->of = calloc((size_t)d->nranks, sizeof(*l->of));
	if (!l->lane || !l->of)
		return error_set(CCS_ENOMEM, "out of memory for streams");
	for (int i = 0; i < d->nranks; i++)
		l->of[i] = -1;
	for (int i = d->first; i < d->first + d->local && !s; i++) {
		int k = each ? l->n : 0;

		while (k < l->n && l->lane[k].cuda != d->cuda[i])
			k++;
		l->of[i] = k;
		if (k < l->n)
			continue;
		l->n++;
		s = lane_open(l->lane + k, d->cuda[i]);
	}
	return s;
}

void lanes_close(struct lanes *l)
{
	int mode;

	for (int k = 0; k < l->n; k++) {
		struct lane *x = l->lane + k;

		if (!x->cuda || cuda_enter(x->cuda, &mode))
			continue;
		cuda_graph_free(x->cuda, x->graph);
		cuda_event_free(x->cuda, x->from);
		cuda_event_free(x->cuda, x->to);
		cuda_stream_free(x->cuda, x->stream);
		cuda_leave(x->cuda, mode);
	}
	free(l->lane);
	free(l->of);
	*l = (struct lanes){ 0 };
}

cuda_stream lanes_stream(const struct lanes *l, int rank)
{
	return l->lane[l->of[rank]].stream;
}

/* The events tell the time: how often the host looks is all the same. */
static ccs_status wait_until(struct lane *l, double end, double timeout)
{
	struct timespec pause = { .tv_nsec = 20000 };
	bool done = false;
	ccs_status s;

	for (;;) {
		s = cuda_done(l->cuda, l->to, &done);
		if (s || done)
			return s;
		if (clock_seconds() > end)
			return error_set(CCS_ETIMEOUT,
					 "no call came to its end on %s for %g "
					 "seconds (--timeout)",
					 l->cuda->name, timeout);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000)
			pause.tv_nsec *= 2;
	}
}

static ccs_status end_one(struct lane *l, double end, double timeout, bool record)
{
	int mode;
	ccs_status s = cuda_enter(l->cuda, &mode);

	if (s)
		return s;
	if (record)
		s = cuda_record(l->cuda, l->to, l->stream);
	else
		s = timeout > 0 ? wait_until(l, end, timeout) : cuda_finish(l->cuda, l->to);
	cuda_leave(l->cuda, mode);
	return s;
}

ccs_status lanes_wait(struct lanes *l, double timeout)
{
	double end = clock_seconds() + timeout;
	ccs_status s = CCS_OK;

	/* all ends are marked before any is waited for */
	for (int k = 0; k < 2 * l->n && !s; k++)
		s = end_one(l->lane + k % l->n, end, timeout, k < l->n);
	return s;
}
