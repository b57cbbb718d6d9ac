/*
 * Matching: which receive takes which message. See p2p.h.
 *
 * Receives wait in their rank's inbox, in the order of their calls. A peer's next message is seen
 * before it is taken, with its tag and length. The first receive in the inbox that fits joins the
 * queue from that peer, and the data moves. If none fits, but one waits for another message of
 * that peer, the message is kept: it is received into memory of the inbox, so that messages after
 * it can come, and a later receive gets it from there. (MPI implementations call kept messages
 * unexpected messages.)
 *
 * A receive from any rank takes, of the peers with a fitting next message, the one that was
 * served least recently, so that no peer waits for ever. O(waiting receives + peers) a match.
 */
#include "runtime/p2p.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MOST ((size_t)256 << 20) /* most bytes that a rank keeps */

static struct inbox *inbox_of(const struct world *w, int rank)
{
	return w->p2p->inboxes + (rank - w->first);
}

static bool fits(const struct transfer *wanted, int peer, int tag)
{
	return wanted->tag == tag && (wanted->any || wanted->peer == peer);
}

/* ---- messages that have come ---------------------------------------------------------------- */

/* The next message for an empty queue of receives, if it has come. */
static bool head_of(const struct world *w, const struct queue *q, struct p2p_head *head)
{
	const struct transfer *from = q->twin ? q->twin->first : NULL;

	if (q->peer < w->first || q->peer - w->first >= w->nlocal) {
		*head = (struct p2p_head){ .tag = 0 };
		return !w->engine->progress->next || w->engine->progress->next(w, q, head);
	}
	if (from)
		*head = (struct p2p_head){ from->tag, p2p_shape_of(from) };
	return from != NULL;
}

/* Whether another rank's message with that tag has come, too, and that rank was served less
 * recently. */
static bool is_older(const struct world *w, const struct queue *than, int tag)
{
	struct p2p_head head;

	for (const struct queue *q = w->p2p->queues[than->rank - w->first]; q; q = q->next)
		if (!q->sends && !q->first && q->turn < than->turn && head_of(w, q, &head) &&
		    head.tag == tag)
			return true;
	return false;
}

/* ---- waiting receives ----------------------------------------------------------------------- */

/* The first receive that fits, with its predecessor. */
static struct transfer *find_wanted(const struct inbox *in, int peer, int tag,
				    struct transfer **before)
{
	struct transfer *m = in->wanted;

	*before = NULL;
	while (m && !fits(m, peer, tag)) {
		*before = m;
		m = m->behind;
	}
	return m;
}

static void take_out(struct inbox *in, struct transfer *m, struct transfer *before)
{
	if (before)
		before->behind = m->behind;
	else
		in->wanted = m->behind;
	if (in->wanted_last == m)
		in->wanted_last = before;
}

static bool waits_for(const struct inbox *in, int peer, bool any)
{
	const struct transfer *m = in->wanted;

	while (m && m->peer != peer && !(any && m->any))
		m = m->behind;
	return m != NULL;
}

/* ---- kept messages -------------------------------------------------------------------------- */

/* Keeps a message. NULL: no room. */
static struct transfer *keep(struct inbox *in, struct ccs_comm *comm, int peer,
			     const struct p2p_head *head)
{
	ccs_dtype type = (ccs_dtype)head->shape.type;
	size_t bytes = (size_t)head->shape.count * ccs_dtype_size(type);
	struct transfer *k = NULL;

	if (bytes <= KEPT_MOST - in->bytes)
		k = malloc(sizeof(*k) + bytes);
	in->full = !k;
	if (!k)
		return NULL;
	*k = (struct transfer){ .comm = comm, .peer = peer, .kept = true, .tag = head->tag };
	k->at = (unsigned char *)(k + 1);
	k->count = (size_t)head->shape.count;
	k->bytes = bytes;
	k->type = type;
	in->bytes += bytes;
	if (in->kept)
		in->kept_last->next = k;
	else
		in->kept = k;
	in->kept_last = k;
	return k;
}

/* The first kept message that a receive may have. */
static struct transfer *find_kept(const struct inbox *in, const struct transfer *m)
{
	struct transfer *k = in->kept;

	while (k && (k->taker || !fits(m, k->peer, k->tag)))
		k = k->next;
	return k;
}

static void unlist(struct inbox *in, const struct transfer *kept)
{
	struct transfer *before = NULL, *k = in->kept;

	while (k != kept) {
		before = k;
		k = k->next;
	}
	if (before)
		before->next = k->next;
	else
		in->kept = k->next;
	if (in->kept_last == k)
		in->kept_last = before;
	in->bytes -= k->bytes;
	in->full = false;
}

/* Matches the messages that have come from a rank; from all ranks, if it is negative. */
static void match_from(struct world *w, int rank, int peer)
{
	for (struct queue *q = w->p2p->queues[rank - w->first]; q; q = q->next)
		if (peer < 0 || q->peer == peer)
			p2p_match(w, q);
}

/* A receive gets a message that has come, or failed. */
static void hand_over(struct world *w, struct transfer *k, struct transfer *m)
{
	const struct p2p_shape sent = p2p_shape_of(k), own = p2p_shape_of(m);
	int rank = m->comm->rank;
	bool was_full = inbox_of(w, rank)->full;
	struct text why = { .len = 0 };
	ccs_status s = k->status;

	unlist(inbox_of(w, rank), k);
	m->peer = k->peer;
	if (s)
		text_add(&why, "%s", k->text ? k->text : "out of memory for a text");
	else
		s = p2p_same(k->peer, rank, &sent, &own, &why);
	if (!s && k->bytes) {
		pthread_mutex_unlock(&w->p2p->lock);
		memcpy(m->at, k->at, k->bytes);
		pthread_mutex_lock(&w->p2p->lock);
	}
	p2p_finish(w->p2p, m, s, why.buf);
	p2p_progress(w->p2p);
	free(k->text);
	free(k);
	if (was_full)
		match_from(w, rank, -1);
}

void p2p_kept_over(struct world *w, struct transfer *kept)
{
	if (kept->taker)
		hand_over(w, kept, kept->taker);
}

void p2p_drop_kept(struct world *w)
{
	for (int r = 0; r < w->nlocal; r++) {
		p2p_list_free(w->p2p->inboxes[r].kept);
		w->p2p->inboxes[r] = (struct inbox){ .all = false };
	}
}

/* ---- matching ---------------------------------------------------------------------------- */

void p2p_match(struct world *w, struct queue *q)
{
	struct inbox *in = inbox_of(w, q->rank);
	struct transfer *m, *before;
	struct p2p_head head;

	if (q->sends || q->first || !waits_for(in, q->peer, true) || !head_of(w, q, &head))
		return;
	m = find_wanted(in, q->peer, head.tag, &before);
	if (!m) {
		m = keep(in, in->wanted->comm, q->peer, &head);
	} else if (m->any && is_older(w, q, head.tag)) {
		return; /* the receive is for that rank */
	} else {
		take_out(in, m, before);
		if (m->any)
			q->turn = ++in->turns;
		m->peer = q->peer;
	}
	if (m)
		p2p_enter(w->p2p, q, m);
}

void p2p_receive(struct world *w, struct transfer *m)
{
	struct inbox *in = inbox_of(w, m->comm->rank);
	struct transfer *k = find_kept(in, m);

	if (k && message_is_over(k)) {
		hand_over(w, k, m);
		return;
	}
	if (k) {
		k->taker = m;
		return;
	}
	transfer_append(&in->wanted, &in->wanted_last, m);
	match_from(w, m->comm->rank, m->peer);
}

/* ---- ends -------------------------------------------------------------------------------- */

void p2p_end_wanted(struct world *w, ccs_status s, const char *text)
{
	for (int r = 0; r < w->nlocal; r++) {
		struct inbox *in = w->p2p->inboxes + r;
		struct transfer *m = in->wanted;

		in->wanted = in->wanted_last = NULL;
		while (m) {
			struct transfer *next = m->behind;

			p2p_finish(w->p2p, m, s, text);
			m = next;
		}
	}
}

bool p2p_awaits(const struct world *w, const struct queue *q)
{
	return q->first || (!q->sends && waits_for(inbox_of(w, q->rank), q->peer, false));
}

bool p2p_awaits_any(const struct world *w)
{
	for (int r = 0; r < w->nlocal; r++)
		if (waits_for(w->p2p->inboxes + r, -1, true))
			return true;
	return false;
}
