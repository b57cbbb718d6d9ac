/*
 * Waiting inside a call, with a watch over the communicator: whether there is progress, and after a
 * timeout without progress, a report of which rank waits for which.
 *
 * Progress is counted in the calls and by the engine. Where a process sees only its own waits
 * (MPI), it asks the other processes after the timeout, and its report waits for their answers, for
 * a quarter of the timeout at most. O(ranks) a report, plus the engine's part.
 */
#include "runtime/base/clock.h"
#include "runtime/comm.h"
#include "runtime/p2p.h"
#include "runtime/rendezvous.h"

#include <errno.h>

#define REPORTED 16	 /* ranks that a text names; the rest are only counted */
#define ANSWERS_MS 2000u /* most time that a report waits for answers */

/* Describes why a rank is not done. `first`: reasons for which other ranks wait; otherwise
 * reasons for which none does. False: unknown, or of the other kind. */
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

/* Ranks that others wait for come first. */
void run_waits(const struct world *w, struct text *out)
{
	int named = rendezvous_report(w, out), more = 0;

	if (!named && w->gathers) {
		text_add(out, "rank %d waits in %s", w->first, w->gathers);
		named++;
	}
	for (int i = 0; w->runs && i < 2 * w->nranks; i++) {
		struct text why = { .len = 0 };

		if (!reason(w, i % w->nranks, i < w->nranks, &why))
			continue;
		if (named < REPORTED)
			text_add(out, "%s%s", named++ ? "; " : "", why.buf);
		else
			more++;
	}
	if (more)
		text_add(out, "; and %d more ranks", more);
	p2p_report(w, out);
}

static void report(const struct world *w, struct text *out)
{
	const struct progress_engine *e = w->engine->progress;
	struct text waits = { .len = 0 };

	run_waits(w, &waits);
	if (e && e->answers)
		(void)e->answers(w, &waits);
	text_add(out, "no progress for %u ms%s%s", w->timeout, waits.len ? ": " : "", waits.buf);
}

bool run_is_late(const struct world *w, const char *text)
{
	if (w->late)
		w->late(w->late_of, text);
	return w->late;
}

/* Whether the other processes have been asked, and may still answer. */
static bool is_asking(struct world *w, uint64_t *until)
{
	const struct progress_engine *e = w->engine->progress;
	unsigned ms = w->timeout / 4 < ANSWERS_MS ? w->timeout / 4 : ANSWERS_MS;

	if (!e || !e->ask)
		return false;
	if (!*until) {
		*until = clock_ns() + ms * UINT64_C(1000000);
		e->ask(w);
	}
	return !e->answers(w, NULL) && clock_ns() < *until;
}

bool run_time_out(struct world *w, uint64_t *until)
{
	struct text out = { .len = 0 };

	if (is_asking(w, until))
		return false;
	report(w, &out);
	if (!run_is_late(w, out.buf))
		run_fail_all(w, CCS_ETIMEOUT, out.buf);
	return true;
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
		v->until = 0;
	} else if (w->timeout && !v->told &&
		   clock_ns() - v->since >= w->timeout * UINT64_C(1000000)) {
		v->told = run_time_out(w, &v->until);
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
