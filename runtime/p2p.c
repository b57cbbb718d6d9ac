/*
 * Messages between two ranks: their queues, meeting and moving. See p2p.h.
 *
 * In: messages with checked arguments (p2p_call.c). Out: each is over, with its data or with an
 * error text. A post is O(peers of the rank so far + waiting receives), or of a receive from any
 * rank that many for each peer; a poll O(pairs that have met), plus a match (p2p_match) for each
 * queue to another process.
 */
#include "runtime/p2p.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* In a forked process the lock is not destroyed: threads that do not exist there may hold it, or
 * wait for it. */
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
		pthread_mutex_lock(&p->lock); /* wait until the last holder has unlocked it */
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

/* ---- queues ------------------------------------------------------------------------------ */

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

struct p2p_past p2p_past(const struct world *w, int peer, bool sends)
{
	struct p2p_past past = { .over = 0 };
	const struct queue *q;

	if (!w->p2p)
		return past;
	pthread_mutex_lock(&w->p2p->lock);
	q = queue_find(w, w->first, peer, sends);
	if (q)
		past = (struct p2p_past){ q->over, p2p_awaits(w, q) };
	pthread_mutex_unlock(&w->p2p->lock);
	return past;
}

/* The first transfers of two facing queues meet, if both are there. */
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

void p2p_progress(struct p2p *p)
{
	p->moves++;
	pthread_cond_broadcast(&p->moved);
}

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
	bool kept = m->kept; /* otherwise it belongs to its thread once it is over */

	q->first = m->behind;
	q->over++;
	p2p_finish(w->p2p, m, s, text);
	if (receives)
		p2p_match(w, receives);
	p2p_progress(w->p2p);
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

/* Makes queues from all ranks, once. */
static ccs_status make_all_queues(struct world *w, struct transfer *m)
{
	struct inbox *in = w->p2p->inboxes + (m->comm->rank - w->first);
	ccs_status s = CCS_OK;

	for (int peer = 0; peer < w->nranks && !s && !in->all; peer++)
		s = make_queue(w, m, peer);
	in->all = !s;
	return s;
}

/* Whether the message goes through streams to another process's GPU. */
static bool by_streams(const struct transfer *m)
{
	const struct world *w = m->comm->world;

	return w->engine->gpus && w->nlocal < w->nranks;
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
	p2p_progress(p);
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
		p2p_progress(p);
		return;
	}
	p2p_enter(p, m->queue, m);
	if (m->queue->twin)
		p2p_match(w, m->queue->twin);
}

/* Puts messages into their streams. They are over then; no other thread has seen them. */
static void exchange(struct transfer *list)
{
	ccs_status s = list->comm->world->engine->gpus->exchange(list);

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

		list = m->next; /* a message of a request may be freed as soon as it is over */
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

/* ---- moving ------------------------------------------------------------------------------ */

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

/* Copies between two messages of this process that have met. The lock is released while data
 * is copied. */
static void deliver(struct world *w, struct transfer *from)
{
	struct p2p *p = w->p2p;
	struct transfer *to = from->queue->twin->first;
	struct text why = { .len = 0 };
	const struct p2p_shape sent = p2p_shape_of(from), wanted = p2p_shape_of(to);
	ccs_status s = p2p_same(from->comm->rank, from->peer, &sent, &wanted, &why);

	if (!s && w->engine->gpus) {
		w->engine->gpus->deliver(w, from);
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
		if (q->first && w->engine->progress->carry(w, q->first)) {
			any = true;
			p2p_progress(p);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return any;
}
