/*
 * Messages between two ranks: waiting for them, ending all of them, and the report of waiting
 * ones. See p2p.h.
 *
 * In: messages that were posted (p2p.c). Out: each has ended, or the communicator has died and
 * has ended them. One pass over a list is O(its messages), plus the polls.
 */
#include "runtime/base/clock.h"
#include "runtime/p2p.h"

#include <limits.h>

#define REPORTED 16 /* messages that a text names; the rest are only counted */
#define SPINS 1000u /* polls of a message before its thread sleeps */
#define NAP_MS 20   /* after this time, check whether the communicator has died */

/* ---- ends -------------------------------------------------------------------------------- */

static void end_queue(struct world *w, struct queue *q, ccs_status s, const char *text)
{
	struct transfer *m = q->first;

	if (m && m->busy) { /* a thread works on it, or will */
		m = m->behind;
		q->first->behind = NULL;
		q->last = q->first;
	} else {
		q->first = NULL;
	}
	while (m) {
		struct transfer *next = m->behind;
		bool kept = m->kept;

		q->over++;
		p2p_finish(w->p2p, m, s, text);
		if (kept)
			p2p_kept_over(w, m);
		m = next;
	}
}

/* The communicator has died: all its messages are over. */
static void end_all(struct world *w, ccs_status s, const char *text)
{
	struct p2p *p = w->p2p;

	pthread_mutex_lock(&p->lock);
	for (int r = 0; r < w->nlocal; r++)
		for (struct queue *q = p->queues[r]; q; q = q->next)
			end_queue(w, q, s, text);
	p2p_end_wanted(w, s, text);
	p2p_progress(p);
	pthread_mutex_unlock(&p->lock);
}

/* Whether the communicator has died. If so, sets *s and adds the reason to `why`. */
static bool has_died(struct world *w, ccs_status *s, struct text *why)
{
	bool dead;

	pthread_mutex_lock(&w->lock);
	dead = w->dead;
	*s = w->died ? w->died : CCS_EABORTED;
	if (dead)
		text_add(why, "%s", world_why(w));
	pthread_mutex_unlock(&w->lock);
	return dead;
}

/* Whether no message's memory is in use any more. `why` becomes the complete reason of the
 * death. */
static bool is_given_back(struct world *w, struct text *why)
{
	bool all;

	pthread_mutex_lock(&w->lock);
	all = run_halt(w);
	why->len = 0;
	text_add(why, "%s", world_why(w));
	pthread_mutex_unlock(&w->lock);
	return all;
}

static void time_out(struct world *w, struct p2p_vigil *v)
{
	pthread_mutex_lock(&w->lock);
	if (w->timeout && !w->dead && !v->told &&
	    clock_ns() - v->since >= w->timeout * UINT64_C(1000000))
		v->told = run_time_out(w, &v->until);
	pthread_mutex_unlock(&w->lock);
}

bool p2p_still(struct world *w, struct p2p_vigil *v)
{
	struct p2p *p = w->p2p;
	struct text why = { .len = 0 };
	ccs_status s;
	uint64_t moves;

	pthread_mutex_lock(&p->lock);
	moves = p->moves;
	pthread_mutex_unlock(&p->lock);
	if (!v->set || moves != v->moves) {
		*v = (struct p2p_vigil){ .set = true, .moves = moves, .since = clock_ns() };
		return false;
	}
	v->idle++;
	time_out(w, v);
	if (!has_died(w, &s, &why))
		return true;
	if (w->engine->progress) { /* informs the other ranks */
		w->engine->progress->rest(w, UINT_MAX);
		if (!is_given_back(w, &why))
			return true;
	}
	end_all(w, s, why.buf);
	return true;
}

/* ---- waiting ----------------------------------------------------------------------------- */

static void sleep_a_little(struct world *w, const struct p2p_vigil *v)
{
	struct p2p *p = w->p2p;
	struct timespec until = clock_after(NAP_MS);

	pthread_mutex_lock(&p->lock);
	if (p->moves == v->moves && !p->ready)
		(void)pthread_cond_timedwait(&p->moved, &p->lock, &until);
	pthread_mutex_unlock(&p->lock);
}

void p2p_nap(struct world *w, struct p2p_vigil *v)
{
	if (!p2p_still(w, v))
		return;
	if (w->engine->progress)
		w->engine->progress->rest(w, v->idle);
	else
		sleep_a_little(w, v);
}

/* Continues the communicators of the list's messages that are not over. */
static bool poll_list(const struct transfer *list)
{
	const struct world *last = NULL;
	bool any = false;

	for (const struct transfer *m = list; m; m = m->next) {
		struct world *w = m->comm->world;

		if (w == last || message_is_over(m))
			continue;
		last = w;
		any |= p2p_poll(w);
		if (w->engine->lone) /* runs of requests, which the peer may wait for */
			w->engine->progress->poll(w);
	}
	return any;
}

/* Polls briefly for the end of a message that other threads carry. */
static bool spin(const struct transfer *m)
{
	for (unsigned i = 0; i < SPINS && !message_is_over(m); i++) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
	}
	return message_is_over(m);
}

static void wait_first(struct transfer *list)
{
	struct p2p_vigil v = { 0 };
	struct world *w;

	if (message_is_over(list)) /* its communicator may be freed */
		return;
	w = list->comm->world;
	while (!message_is_over(list)) {
		if (poll_list(list))
			v.idle = 0;
		else if (w->idle && w->idle(w->idle_of) < NAP_MS)
			p2p_still(w, &v);
		else if (w->engine->progress || !spin(list))
			p2p_nap(w, &v);
	}
}

void p2p_wait(struct transfer *list, ccs_status *first)
{
	for (struct transfer *m = list; m; m = m->next) {
		wait_first(m);
		if (m->status && !*first)
			*first = error_set(m->status, "%s",
					   m->text ? m->text : "out of memory for a text");
	}
}

/* ---- reports ----------------------------------------------------------------------------- */

static void add_message(int rank, int peer, bool sends, const struct p2p_head *m, struct text *t)
{
	const char *type = ccs_dtype_name((ccs_dtype)m->shape.type);

	text_add(t, "%srank %d waits for ", t->len ? "; " : "", rank);
	if (peer < 0)
		text_add(t, "any rank");
	else
		text_add(t, "rank %d", peer);
	text_add(t, " to %s %zu of %s %s it", sends ? "receive" : "send", (size_t)m->shape.count,
		 type, sends ? "from" : "to");
	if (m->tag)
		text_add(t, ", with tag %d", m->tag);
}

static void add_kept(const struct inbox *in, int rank, struct text *t)
{
	text_add(t,
		 "; rank %d keeps %zu bytes of messages without a receive, the first with tag %d "
		 "from rank %d, and has no room for the next",
		 rank, in->bytes, in->kept->tag, in->kept->peer);
}

/* Reports the messages of a rank, after `n` others. Returns the number of all. */
static int report_rank(const struct world *w, int local, int n, struct text *t)
{
	const struct inbox *in = w->p2p->inboxes + local;
	const struct queue *q = w->p2p->queues[local];
	const struct transfer *m = in->wanted;

	while (q || m) {
		const struct transfer *next = q ? q->first : m;

		if (next && !next->kept && n++ < REPORTED) {
			const struct p2p_head head = { next->tag, p2p_shape_of(next) };

			add_message(next->comm->rank, next->peer, next->sends, &head, t);
		}
		m = q ? m : m->behind;
		q = q ? q->next : NULL;
	}
	if (in->full && in->kept)
		add_kept(in, w->first + local, t);
	return n;
}

/* Reports messages of other processes, as far as known here: ranks may wait in a cycle. */
static int report_others(const struct world *w, int n, struct text *t)
{
	const struct progress_engine *e = w->engine->progress;
	struct p2p_head head;

	for (int from = 0; e && e->posted && from < w->nranks; from++)
		for (int to = 0; from != w->first && to < w->nranks; to++)
			if (e->posted(w, from, to, &head) && n++ < REPORTED)
				add_message(from, to, true, &head, t);
	return n;
}

void p2p_report(const struct world *w, struct text *t)
{
	int n = 0;

	if (!w->p2p)
		return;
	pthread_mutex_lock(&w->p2p->lock);
	for (int r = 0; r < w->nlocal; r++)
		n = report_rank(w, r, n, t);
	n = report_others(w, n, t);
	pthread_mutex_unlock(&w->p2p->lock);
	if (n > REPORTED)
		text_add(t, "; and %d more messages", n - REPORTED);
}
