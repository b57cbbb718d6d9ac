/*
 * Streams and events. See fake.h.
 *
 * A stream's work is done in its order: by the thread that calls, where nothing is left
 * to be done before it and nothing has to be waited for; else by a thread that lives as
 * long as there is something to do. Clocks are of the calls, whenever the work is done.
 * O(streams) a call.
 */
#include "tests/fake_cuda/fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <time.h>

long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

uint64_t clock_ahead(int device)
{
	return 1700000000000000000u + (uint64_t)device * 1000000000000u;
}

struct stream *any_stream(const void *handle, const char *name)
{
	struct stream *s = (struct stream *)(uintptr_t)handle;

	if (!s) {
		s = fake.streams + need_context(name);
		s->number = s->device = (int)(s - fake.streams);
	} else if (s < fake.streams + DEVICES || s >= fake.streams + STREAMS || !s->used) {
		illegal("%s: %p is no live stream", name, handle);
	}
	if (!s->capture)
		merge(&s->clock, &fake.host); /* what was waited for is before what comes */
	return s;
}

struct stream *stream_of(const void *handle, const char *name)
{
	struct stream *s = any_stream(handle, name);
	int d = need_context(name);

	if (s->device != d)
		illegal("%s: a stream of device %d while device %d is current", name, s->device, d);
	return s;
}

void tick(struct stream *s)
{
	s->clock.at[s->number]++;
}

void merge(struct clock *to, const struct clock *from)
{
	for (int i = 0; i < STREAMS; i++)
		if (to->at[i] < from->at[i])
			to->at[i] = from->at[i];
}

void drain(const struct stream *s)
{
	while (s->busy)
		pthread_cond_wait(&fake.change, &fake.lock);
}

void drain_device(int device)
{
	for (int i = 0; i < STREAMS; i++)
		if (fake.streams[i].device == device)
			drain(fake.streams + i);
}

/* ---- work ----------------------------------------------------------------------------- */

static void event_release(struct event *e)
{
	if (--e->refs)
		return;
	free(e->ahead);
	free(e);
}

/* Its place among those that are not done; nahead: it is done. */
static int place_ahead(const struct event *e, unsigned long seq)
{
	int i = 0;

	while (i < e->nahead && e->ahead[i] != seq)
		i++;
	return i;
}

static bool is_done(const struct event *e, unsigned long seq)
{
	return place_ahead(e, seq) == e->nahead;
}

static void expect(struct event *e, unsigned long seq)
{
	e->ahead = realloc(e->ahead, (size_t)(e->nahead + 1) * sizeof(*e->ahead));
	e->ahead[e->nahead++] = seq;
}

static void work_free(struct work *w)
{
	free(w->aside);
	free(w->launch);
	if (w->event)
		event_release(w->event);
	if (w->exec)
		exec_release(w->exec);
}

/* Stores zeros over whole pages of device memory by giving the pages back: most are never used, and
 * cost nothing then. What is no file in memory is stored to. */
static void set(char *to, int value, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before = -(uintptr_t)to % page;
	size_t whole = n > before ? (n - before) / page * page : 0;

	if (value || !whole || madvise(to + before, whole, MADV_REMOVE)) {
		memset(to, value, n);
		return;
	}
	memset(to, 0, before);
	memset(to + before + whole, 0, n - before - whole);
}

void perform(const struct work *w)
{
	switch (w->what) {
	case COPY: memmove(w->to, w->from, w->n); break;
	case SET: set(w->to, w->value, w->n); break;
	case CALL: w->call(w->data); break;
	case LAUNCH: fake_run(w->launch); break;
	case RECORD:
		lock();
		w->event->ahead[place_ahead(w->event, w->seq)] =
			w->event->ahead[--w->event->nahead];
		w->event->ns = now();
		pthread_cond_broadcast(&fake.change);
		unlock();
		break;
	case WAIT:
		lock();
		while (!is_done(w->event, w->seq))
			pthread_cond_wait(&fake.change, &fake.lock);
		unlock();
		break;
	case REPLAY: exec_run(w->exec); break;
	}
}

/* Whether nothing of others has to be waited for. */
static bool at_once(const struct work *w)
{
	if (number("FAKE_CUDA_ASYNC", 0))
		return false;
	switch (w->what) {
	case COPY:
	case SET:
	case RECORD: return true;
	case CALL: /* by contract not in the caller's thread */ return false;
	case LAUNCH: return w->launch->alone && may_start(w->launch);
	case WAIT: return is_done(w->event, w->seq);
	case REPLAY: return exec_alone(w->exec);
	}
	return false;
}

static void *serve(void *arg)
{
	struct stream *s = arg;
	struct work *w;

	lock();
	while ((w = s->first)) {
		s->first = w->next;
		unlock();
		perform(w);
		lock();
		work_free(w);
		free(w);
		s->pending--;
		pthread_cond_broadcast(&fake.change);
	}
	s->busy = false;
	pthread_cond_broadcast(&fake.change);
	unlock();
	return NULL;
}

static void start_thread(struct stream *s)
{
	pthread_t t;

	s->busy = true;
	if (pthread_create(&t, NULL, serve, s))
		illegal("no thread for a stream");
	pthread_detach(t);
}

int submit(struct stream *s, struct work w)
{
	struct work *kept;

	if (w.what != WAIT)
		tick(s);
	if (w.what == RECORD)
		w.event->clock = s->clock;
	if (s->capture && (w.what == RECORD || w.what == WAIT)) {
		work_free(&w); /* the clocks have it */
		return 0;
	}
	if (s->capture) {
		capture_add(s, &w);
		return 0;
	}
	if (!s->busy && at_once(&w)) {
		s->busy = true; /* other threads wait for their turn */
		unlock();
		perform(&w);
		lock();
		work_free(&w);
		s->busy = false;
		if (s->first)
			start_thread(s);
		pthread_cond_broadcast(&fake.change);
		return 0;
	}
	while (s->pending >= number("FAKE_CUDA_QUEUE", 1024))
		pthread_cond_wait(&fake.change, &fake.lock);
	s->pending++;
	kept = malloc(sizeof(*kept));
	*kept = w;
	kept->next = NULL;
	if (s->first)
		s->last->next = kept;
	else
		s->first = kept;
	s->last = kept;
	if (!s->busy)
		start_thread(s);
	return 0;
}

/* ---- streams ----------------------------------------------------------------------------- */

EXPORT int cuStreamCreate(void **s, unsigned flags)
{
	int d, i = DEVICES;

	ENTER("cuStreamCreate");
	d = need_context("cuStreamCreate");
	(void)flags;
	lock();
	while (i < STREAMS && fake.streams[i].used)
		i++;
	if (i == STREAMS)
		illegal("more than %d streams", STREAMS - DEVICES);
	fake.streams[i].used = true;
	fake.streams[i].number = i;
	fake.streams[i].device = d;
	*s = fake.streams + i;
	unlock();
	return 0;
}

EXPORT int cuStreamDestroy_v2(void *s)
{
	struct stream *at;

	ENTER("cuStreamDestroy_v2");
	if (!s)
		illegal("cuStreamDestroy of the default stream");
	lock();
	at = any_stream(s, "cuStreamDestroy");
	drain(at);
	at->used = false;
	unlock();
	return 0;
}

EXPORT int cuStreamSynchronize(void *s)
{
	struct stream *at;
	bool capturing;

	ENTER("cuStreamSynchronize");
	lock();
	at = any_stream(s, "cuStreamSynchronize");
	capturing = at->capture != NULL;
	if (!capturing) {
		drain(at);
		merge(&fake.host, &at->clock);
	}
	unlock();
	return capturing ? CAPTURE_UNSUPPORTED : 0;
}

EXPORT int cuStreamQuery(void *s)
{
	bool busy;

	ENTER("cuStreamQuery");
	lock();
	busy = any_stream(s, "cuStreamQuery")->busy;
	unlock();
	return busy ? NOT_READY : 0;
}

EXPORT int cuStreamWaitEvent(void *s, void *event, unsigned flags)
{
	struct event *e = event;
	struct work w = { .what = WAIT, .event = e };
	struct stream *at;
	int rc = 0;

	ENTER("cuStreamWaitEvent");
	(void)flags;
	lock();
	at = any_stream(s, "cuStreamWaitEvent");
	find(EVENT, e, "cuStreamWaitEvent");
	if (e->recorded && capture_id(at->capture) != e->capture)
		rc = at->capture ? CAPTURE_ISOLATION : capture_join(at, e);
	if (e->recorded && !rc) {
		merge(&at->clock, &e->clock);
		w.seq = e->recorded;
		e->refs++;
		rc = submit(at, w);
	}
	unlock();
	return rc;
}

EXPORT int cuLaunchHostFunc(void *s, void (*call)(void *), void *data)
{
	struct work w = { .what = CALL, .call = call, .data = data };
	int e;

	ENTER("cuLaunchHostFunc");
	lock();
	e = submit(stream_of(s, "cuLaunchHostFunc"), w);
	unlock();
	return e;
}

/* ---- events ------------------------------------------------------------------------------- */

EXPORT int cuEventCreate(void **event, unsigned flags)
{
	struct event *e;
	int d;

	ENTER("cuEventCreate");
	d = need_context("cuEventCreate");
	e = calloc(1, sizeof(*e));
	*e = (struct event){ .device = d, .refs = 1, .timed = !(flags & 2) };
	lock();
	add(EVENT, e, sizeof(*e), d);
	unlock();
	*event = e;
	return 0;
}

EXPORT int cuEventDestroy_v2(void *e)
{
	ENTER("cuEventDestroy_v2");
	need_context("cuEventDestroy");
	lock();
	drop(find(EVENT, e, "cuEventDestroy"));
	event_release(e);
	unlock();
	return 0;
}

EXPORT int cuEventRecord(void *event, void *s)
{
	struct event *e = event;
	struct work w = { .what = RECORD, .event = e };
	struct stream *at;
	int rc;

	ENTER("cuEventRecord");
	lock();
	at = stream_of(s, "cuEventRecord");
	find(EVENT, e, "cuEventRecord");
	if (e->device != at->device)
		illegal("cuEventRecord: an event of device %d in a stream of device %d", e->device,
			at->device);
	e->capture = capture_id(at->capture);
	w.seq = ++e->recorded;
	if (!e->capture) /* else nothing that runs waits for it */
		expect(e, w.seq);
	e->refs++;
	rc = submit(at, w);
	unlock();
	return rc;
}

EXPORT int cuEventQuery(void *event)
{
	const struct event *e = event;
	int rc;

	ENTER("cuEventQuery");
	rc = unsafe("cuEventQuery");
	lock();
	find(EVENT, e, "cuEventQuery");
	if (e->capture)
		rc = CAPTURED_EVENT;
	else if (!rc && !is_done(e, e->recorded))
		rc = NOT_READY;
	else if (!rc)
		merge(&fake.host, &e->clock);
	unlock();
	return rc;
}

EXPORT int cuEventSynchronize(void *event)
{
	struct event *e = event;
	int rc;

	ENTER("cuEventSynchronize");
	rc = unsafe("cuEventSynchronize");
	lock();
	find(EVENT, e, "cuEventSynchronize");
	if (e->capture)
		rc = CAPTURED_EVENT;
	e->refs++;
	for (unsigned long seq = e->recorded; !rc && !is_done(e, seq);)
		pthread_cond_wait(&fake.change, &fake.lock);
	if (!rc)
		merge(&fake.host, &e->clock);
	event_release(e);
	unlock();
	return rc;
}

EXPORT int cuEventElapsedTime(float *ms, void *first, void *last)
{
	const struct event *a = first, *b = last;
	int rc = 0;

	ENTER("cuEventElapsedTime");
	need_context("cuEventElapsedTime");
	lock();
	find(EVENT, a, "cuEventElapsedTime");
	find(EVENT, b, "cuEventElapsedTime");
	if (!a->timed || !b->timed || !a->recorded || !b->recorded)
		rc = BAD_HANDLE;
	else if (!is_done(a, a->recorded) || !is_done(b, b->recorded))
		rc = NOT_READY;
	else
		*ms = (float)(b->ns - a->ns) / 1e6f + 0.001f;
	unlock();
	return rc;
}

/* ---- for tests -------------------------------------------------------------------------- */

/* Whether what comes into `later` runs after all that is in `before` now. */
EXPORT int fake_ordered(void *before, void *later)
{
	const struct stream *a, *b;
	bool ordered;

	lock();
	a = any_stream(before, "fake_ordered");
	b = any_stream(later, "fake_ordered");
	ordered = a == b || b->clock.at[a->number] >= a->clock.at[a->number];
	unlock();
	return ordered;
}

/* Puts work into a stream. */
EXPORT void fake_work(void *s)
{
	lock();
	tick(any_stream(s, "fake_work"));
	unlock();
}
