/*
 * Waiting inside a call, with a watch over the communicator: whether there is progress, and after a
 * timeout without progress, a report of which rank waits for which.
 *
 * Progress is counted in the calls and by the engine. O(ranks) a report, plus the engine's part.
 */
#include "runtime/base/clock.h"
#include "runtime/comm.h"
#include "runtime/p2p.h"
#include "runtime/rendezvous.h"

#include <errno.h>

#define REPORTED 16 /* ranks that the text names; the rest are counted */

/* Why a rank is not done, if that is a reason for others to wait, or (`first` is false) if it is none.
 * False: it is not known, or of the other sort. */
static bool reason(const struct world *w, int rank, bool first, struct text *why)
{
	const struct watched_engine *e = w->engine->watched;
	const struct run *r = w->runs;
	enum whereabouts where = WHERE_IN_TURN;

	if (r->seats[rank].done)
		return false;
	if (e && e->whereabouts)
		where = e->whereabouts(w, rank, why);
	if (where == WHERE_STILL)
		return first;
	if (where == WHERE_BEFORE)
		text_add(why, "rank %d is in an earlier call", rank);
	else if (!r->seats[rank].called)
		text_add(why, "rank %d has not called", rank);
	else
		return !first && r->started && !r->failed && e && e->stuck(w, rank, why);
	return first == (where == WHERE_IN_TURN);
}

/* The ranks that other ranks wait for come first. */
static void report(const struct world *w, struct text *out)
{
	struct text meets = { .len = 0 };
	int named = 0, more = 0;

	text_add(out, "no progress for %u ms", w->timeout);
	if (rendezvous_report(w, &meets)) {
		text_add(out, ": %s", meets.buf);
		named++;
	}
	for (int i = 0; w->runs && i < 2 * w->nranks; i++) {
		struct text why = { .len = 0 };

		if (!reason(w, i % w->nranks, i < w->nranks, &why))
			continue;
		if (named < REPORTED)
			text_add(out, "%s%s", named++ ? "; " : ": ", why.buf);
		else
			more++;
	}
	if (more)
		text_add(out, "; and %d more ranks", more);
	p2p_report(w, named > 0, out);
}

bool run_is_late(const struct world *w, const char *text)
{
	if (w->late)
		w->late(w->late_of, text);
	return w->late;
}

void run_time_out(struct world *w)
{
	struct text out = { .len = 0 };

	report(w, &out);
	if (!run_is_late(w, out.buf))
		run_fail_all(w, CCS_ETIMEOUT, out.buf);
}

static bool moved(const struct world *w, struct vigil *v)
{
	bool calls = w->arrivals != v->arrivals;

	v->arrivals = w->arrivals;
	return (w->engine->watched && w->engine->watched->moved(w, &v->mark)) || calls;
}

void run_watch(struct world *w, struct vigil *v)
{
	if (moved(w, v) || !v->set) {
		v->set = true;
		v->told = false;
		v->since = clock_ns();
	} else if (w->timeout && !v->told &&
		   clock_ns() - v->since >= w->timeout * UINT64_C(1000000)) {
		v->told = true;
		run_time_out(w);
	}
}

void run_nap(struct world *w, struct vigil *v)
{
	struct timespec until = clock_after(w->timeout ? w->timeout / 8 + 1 : 3600000);
	int rc;

	if (!v->set)
		run_watch(w, v);
	w->idle_calls++;
	rc = pthread_cond_timedwait(&w->calls, &w->lock, &until);
	w->idle_calls--;
	if (rc == ETIMEDOUT)
		run_watch(w, v);
}

bool run_poll_others(const struct world *w, const struct call *calls)
{
	bool any = false;

	for (; calls; calls = calls->next) {
		struct world *x = calls->comm->world;

		if (x == w || call_is_over(calls) || !x->engine->progress)
			continue;
		x->engine->progress->poll(x);
		any = true;
	}
	return any;
}

void run_wait(struct world *w, struct call *calls, ccs_status *first)
{
	struct vigil v = { 0 };

	pthread_mutex_lock(&w->lock);
	while (calls) {
		if (calls->comm->world != w || run_call_over(w, calls, first))
			calls = calls->next;
		else
			run_nap(w, &v);
	}
	pthread_mutex_unlock(&w->lock);
}
