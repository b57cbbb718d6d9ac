/*
 * Messages between two ranks: their queues, meeting, moving, and waiting. See p2p.h.
 *
 * In: messages whose arguments were checked (p2p_call.c). Out: each is over, with its data, or with
 * a text. A post is O(peers of the rank so far + receives that wait); a poll O(pairs that have met +
 * queues to other processes).
 */
#include "runtime/p2p.h"
#include "runtime/base/clock.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REPORTED 16 /* messages that a text names; the rest are counted */
#define SPINS 1000u /* looks at a message before its thread sleeps */
#define NAP_MS 20   /* then it looks whether the communicator has died */

/* ---- making and freeing ------------------------------------------------------------------- */

static struct p2p *p2p_new(int nlocal)
{
	struct p2p *p = calloc(1, sizeof(*p));

	if (p)
		p->queues = calloc((size_t)nlocal, sizeof(*p->queues));
	if (p)
		p->inboxes = calloc((size_t)nlocal, sizeof(*p->inboxes));
	if (p && p->queues && p->inboxes && !pthread_mutex_init(&p->lock, NULL)) {
		if (world_cond_init(&p->moved)) {
			if (world_cond_init(&p->work))
				return p;
			pthread_cond_destroy(&p->moved);
		}
		pthread_mutex_destroy(&p->lock);
	}
	free(p ? p->queues : NULL);
	free(p ? p->inboxes : NULL);
	free(p);
	return NULL;
}

ccs_status p2p_open(struct world *w)
{
	ccs_status s;

	pthread_mutex_lock(&w->lock);
	s = world_alive(w);
	if (!s && !w->p2p)
		w->p2p = p2p_new(w->nlocal);
	if (!s && !w->p2p)
		s = error_set(CCS_ENOMEM, "out of memory for messages of %d ranks", w->nlocal);
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* In a forked process threads that are not here may hold the lock, and wait. */
void p2p_free(struct world *w)
{
	struct p2p *p = w->p2p;

	if (!p)
		return;
	p2p_drop_kept(w);
	for (int r = 0; r < w->nlocal; r++)
		while (p->queues[r]) {
			struct queue *next = p->queues[r]->next;

			free(p->queues[r]);
			p->queues[r] = next;
		}
	if (origin_here(&w->origin)) {
		pthread_mutex_lock(&p->lock); /* whoever was the last to hold it is through */
		pthread_mutex_unlock(&p->lock);
		pthread_cond_destroy(&p->work);
		pthread_cond_destroy(&p->moved);
		pthread_mutex_destroy(&p->lock);
	}
	free(p->queues);
	free(p->inboxes);
	free(p);
	w->p2p = NULL;
}

void p2p_list_free(struct transfer *list)
{
	while (list) {
		struct transfer *next = list->next;

		free(list->text);
		free(list);
		list = next;
	}
}

/* ---- queues ----------------------------------------------------------------------------------- */

static bool is_here(const struct world *w, int rank)
{
	return rank >= w->first && rank - w->first < w->nlocal;
}

static struct queue *queue_find(const struct world *w, int rank, int peer, bool sends)
{
	struct queue *q = w->p2p->queues[rank - w->first];

	while (q && (q->peer != peer || q->sends != sends))
		q = q->next;
	return q;
}

/* NULL: no memory. */
static struct queue *queue_of(struct world *w, int rank, int peer, bool sends)
{
	struct p2p *p = w->p2p;
	struct queue *q = queue_find(w, rank, peer, sends);

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	*q = (struct queue){ .rank = rank, .peer = peer, .sends = sends };
	q->next = p->queues[rank - w->first];
	p->queues[rank - w->first] = q;
	if (is_here(w, peer)) {
		q->twin = queue_find(w, peer, rank, !sends);
		if (q->twin)
			q->twin->twin = q;
	} else {
		q->next_foreign = p->foreign;
		p->foreign = q;
	}
	return q;
}

/* If the firsts of two queues face one another they have met. */
static void meet(struct p2p *p, const struct queue *q)
{
	struct transfer *a = q->first, *b = q->twin ? q->twin->first : NULL;
	struct transfer *from = q->sends ? a : b;

	if (!a || !b || a->busy || b->busy)
		return;
	a->busy = b->busy = true;
	from->ready = NULL;
	if (p->ready)
		p->ready_last->ready = from;
	else
		p->ready = from;
	p->ready_last = from;
}

static void progress(struct p2p *p)
{
	p->moves++;
	pthread_cond_broadcast(&p->moved);
}

/* The last that is done with a message. */
void p2p_finish(struct p2p *p, struct transfer *m, ccs_status s, const char *text)
{
	m->status = s;
	if (m->source && !s)
		*m->source = m->peer;
	if (s)
		m->text = strdup(text);
	if (m->request) {
		p->messages--;
		m->comm->pending--;
	}
	atomic_store_explicit(&m->over, true, memory_order_release);
}

void p2p_over(struct world *w, struct transfer *m, ccs_status s, const char *text)
{
	struct queue *q = m->queue;
	struct queue *receives = q->sends ? q->twin : q;
	bool kept = m->kept; /* what is not is its thread's when it is over */

	q->first = m->behind;
	q->over++;
	p2p_finish(w->p2p, m, s, text);
	if (receives)
		p2p_match(w, receives);
	progress(w->p2p);
	if (kept)
		p2p_kept_over(w, m);
}

static ccs_status make_queue(struct world *w, struct transfer *m, int peer)
{
	struct queue *q = queue_of(w, m->comm->rank, peer, m->sends);

	if (m->sends)
		m->queue = q;
	return q ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a message");
}

/* Those from all ranks, once. */
static ccs_status make_all_queues(struct world *w, struct transfer *m)
{
	struct inbox *in = w->p2p->inboxes + (m->comm->rank - w->first);
	ccs_status s = CCS_OK;

	for (int peer = 0; peer < w->nranks && !s && !in->all; peer++)
		s = make_queue(w, m, peer);
	in->all = !s;
	return s;
}

/* Whether streams carry its messages, by way of other processes' GPUs. */
static bool by_streams(const struct transfer *m)
{
	const struct world *w = m->comm->world;

	return w->engine->exchange && w->nlocal < w->nranks;
}

static ccs_status make_queues(struct transfer *list)
{
	ccs_status s = CCS_OK;

	for (struct transfer *m = list; m && !s; m = m->next) {
		struct world *w = m->comm->world;

		if (by_streams(m))
			continue;
		s = p2p_open(w);
		if (s)
			break;
		pthread_mutex_lock(&w->p2p->lock);
		s = m->any ? make_all_queues(w, m) : make_queue(w, m, m->peer);
		pthread_mutex_unlock(&w->p2p->lock);
	}
	return s;
}

void p2p_enter(struct p2p *p, struct queue *q, struct transfer *m)
{
	m->queue = q;
	transfer_append(&q->first, &q->last, m);
	meet(p, q);
	progress(p);
}

static void begin(struct world *w, struct transfer *m)
{
	struct p2p *p = w->p2p;

	if (m->request) {
		p->messages++;
		m->comm->pending++;
		pthread_cond_signal(&p->work);
	}
	if (!m->sends) {
		p2p_receive(w, m);
		progress(p);
		return;
	}
	p2p_enter(p, m->queue, m);
	if (m->queue->twin)
		p2p_match(w, m->queue->twin);
}

/* Ends those of streams: their thread alone knows of them. */
static void exchange(struct transfer *list)
{
	ccs_status s = list->comm->world->engine->exchange(list);

	while (list) {
		struct transfer *m = list;

		list = m->behind;
		m->status = s;
		if (s)
			m->text = strdup(error_thread()->text);
		atomic_store_explicit(&m->over, true, memory_order_release);
	}
}

ccs_status p2p_post(struct transfer *list)
{
	struct transfer *apart = NULL, **last = &apart;
	ccs_status s = make_queues(list);

	for (struct transfer *m = list; m && !s; m = m->next)
		if (by_streams(m)) {
			*last = m;
			last = &m->behind;
		}
	while (list && !s) {
		struct world *w = list->comm->world;
		struct transfer *m = list;

		list = m->next; /* a message of a request may be over, and gone, at once */
		if (by_streams(m))
			continue;
		pthread_mutex_lock(&w->p2p->lock);
		begin(w, m);
		pthread_mutex_unlock(&w->p2p->lock);
	}
	if (apart && !s)
		exchange(apart);
	return s;
}

/* ---- moving ----------------------------------------------------------------------------------- */

ccs_status p2p_same(int from, int to, const struct p2p_shape *sent, const struct p2p_shape *wanted,
		    struct text *why)
{
	if (sent->count == wanted->count && sent->type == wanted->type)
		return CCS_OK;
	text_add(why,
		 "rank %d sends %" PRIu64 " of %s to rank %d, which receives %" PRIu64
		 " of %s from it: both must be the same",
		 from, sent->count, ccs_dtype_name((ccs_dtype)sent->type), to, wanted->count,
		 ccs_dtype_name((ccs_dtype)wanted->type));
	return CCS_EINVAL;
}

/* Two messages of this process that have met. The lock is given back while data is copied. */
static void deliver(struct world *w, struct transfer *from)
{
	struct p2p *p = w->p2p;
	struct transfer *to = from->queue->twin->first;
	struct text why = { .len = 0 };
	const struct p2p_shape sent = p2p_shape_of(from), wanted = p2p_shape_of(to);
	ccs_status s = p2p_same(from->comm->rank, from->peer, &sent, &wanted, &why);

	if (!s && w->engine->streams) {
		w->engine->carry(w, from);
		return;
	}
	if (!s && from->bytes && from->at != to->at) {
		pthread_mutex_unlock(&p->lock);
		memmove(to->at, from->at, from->bytes);
		pthread_mutex_lock(&p->lock);
	}
	p2p_over(w, from, s, why.buf);
	p2p_over(w, to, s, why.buf);
}

bool p2p_poll(struct world *w)
{
	struct p2p *p = w->p2p;
	bool any = false;

	pthread_mutex_lock(&p->lock);
	for (; p->ready; any = true) {
		struct transfer *from = p->ready;

		p->ready = from->ready;
		deliver(w, from);
	}
	for (struct queue *q = p->foreign; q; q = q->next_foreign) {
		p2p_match(w, q);
		if (q->first && w->engine->carry(w, q->first)) {
			any = true;
			progress(p);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return any;
}

/* ---- ends ------------------------------------------------------------------------------------- */

static void end_queue(struct world *w, struct queue *q, ccs_status s, const char *text)
{
	struct transfer *m = q->first;

	if (m && m->busy) { /* somebody is at work on it, or will be */
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
	progress(p);
	pthread_mutex_unlock(&p->lock);
}

/* Whether it has died; then why. */
static bool has_died(struct world *w, ccs_status *s, struct text *why)
{
	bool dead;

	pthread_mutex_lock(&w->lock);
	dead = w->dead;
	*s = w->died ? w->died : CCS_EABORTED;
	if (dead)
		text_add(why, "%s", w->dead_text ? w->dead_text : "no memory for the text");
	pthread_mutex_unlock(&w->lock);
	return dead;
}

/* Whether no message's memory is in use any more; then the whole text of why it has died. */
static bool is_given_back(struct world *w, struct text *why)
{
	bool all;

	pthread_mutex_lock(&w->lock);
	all = run_halt(w);
	why->len = 0;
	text_add(why, "%s", w->dead_text ? w->dead_text : "no memory for the text");
	pthread_mutex_unlock(&w->lock);
	return all;
}

static void time_out(struct world *w, const struct p2p_vigil *v)
{
	pthread_mutex_lock(&w->lock);
	if (w->timeout && !w->dead && clock_ns() - v->since >= w->timeout * UINT64_C(1000000))
		run_time_out(w);
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
	if (w->engine->rest) { /* tells the others */
		w->engine->rest(w, UINT_MAX);
		if (!is_given_back(w, &why))
			return true;
	}
	end_all(w, s, why.buf);
	return true;
}

/* ---- waiting ---------------------------------------------------------------------------------- */

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
	if (w->engine->rest)
		w->engine->rest(w, v->idle);
	else
		sleep_a_little(w, v);
}

/* Goes on with all worlds of a list, of which the first message is not over. */
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
			w->engine->poll(w);
	}
	return any;
}

/* Looks for the end of a message that others carry, a little. */
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

	if (message_is_over(list)) /* its communicator may be gone */
		return;
	w = list->comm->world;
	while (!message_is_over(list)) {
		if (poll_list(list))
			v.idle = 0;
		else if (w->idle && w->idle(w->idle_of) < NAP_MS)
			p2p_still(w, &v);
		else if (w->engine->rest || !spin(list))
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

/* ---- reports ---------------------------------------------------------------------------------- */

static void say(const struct transfer *m, struct text *t)
{
	const char *type = ccs_dtype_name(m->type);

	text_add(t, "rank %d waits for ", m->comm->rank);
	if (m->peer < 0)
		text_add(t, "any rank");
	else
		text_add(t, "rank %d", m->peer);
	text_add(t, " to %s %zu of %s %s it", m->sends ? "receive" : "send", m->count, type,
		 m->sends ? "from" : "to");
	if (m->tag)
		text_add(t, ", with tag %d", m->tag);
}

static void say_kept(const struct inbox *in, int rank, struct text *t)
{
	text_add(t,
		 "; rank %d keeps %zu bytes of messages that no receive has asked for, the first "
		 "with tag %d from rank %d, and has no room for the next",
		 rank, in->bytes, in->kept->tag, in->kept->peer);
}

/* Those of a rank, behind the `n` that were said. */
static int report_rank(const struct world *w, int local, bool more, int n, struct text *t)
{
	const struct inbox *in = w->p2p->inboxes + local;
	const struct queue *q = w->p2p->queues[local];
	const struct transfer *m = in->wanted;

	while (q || m) {
		const struct transfer *next = q ? q->first : m;

		if (next && !next->kept && n++ < REPORTED) {
			text_add(t, "%s", n == 1 && !more ? ": " : "; ");
			say(next, t);
		}
		m = q ? m : m->behind;
		q = q ? q->next : NULL;
	}
	if (in->full && in->kept)
		say_kept(in, w->first + local, t);
	return n;
}

void p2p_report(const struct world *w, bool more, struct text *t)
{
	int n = 0;

	if (!w->p2p)
		return;
	pthread_mutex_lock(&w->p2p->lock);
	for (int r = 0; r < w->nlocal; r++)
		n = report_rank(w, r, more, n, t);
	pthread_mutex_unlock(&w->p2p->lock);
	if (n > REPORTED)
		text_add(t, "; and %d more messages", n - REPORTED);
}
