/*
 * Messages between two ranks that are processes of MPI. See net.h and p2p.h.
 *
 * Each end sends the other a description of its message (sender by tag NET_SENDS, receiver by
 * NET_WANTS), and waits for the other's. If they agree, the data follows in an MPI_Isend and an
 * MPI_Irecv; otherwise both ends know that it does not. Each pair and direction has one message
 * under way at a time, so MPI's order by sender and tag keeps them in order.
 *
 * O(ranks) a poll.
 */
#include "runtime/cpu/mpi/net.h"
#include "runtime/p2p.h"

#include <stdlib.h>

enum { NEW, TELLING, MOVING };	     /* transfer.state */
enum { OWN, THEIRS, DATA, NPLACES }; /* places of an end */

#define PIECE ((size_t)1 << 28) /* most bytes of one MPI message */

/* This rank's end of a pair in one direction. */
struct net_end {
	struct p2p_shape own, theirs;
	bool busy[NPLACES]; /* an MPI message is under way there */
	size_t bytes;	    /* of the data under way */
};

struct net_p2p {
	struct mpi_messages *messages; /* end e's at NPLACES e + 0 .. 2; NULL: it has ended */
	struct net_end ends[];	       /* [2][ranks]: from each rank, and to each rank */
};

/* ---- making, and what has come ----------------------------------------------------------- */

static struct net_p2p *opened(struct world *w)
{
	struct net *n = net_of(w);
	size_t ends = 2 * (size_t)w->nranks;

	if (n->p2p)
		return n->p2p;
	n->p2p = calloc(1, sizeof(*n->p2p) + ends * sizeof(*n->p2p->ends));
	if (n->p2p && !n->calls->messages_new(n->world, NPLACES * (int)ends, &n->p2p->messages))
		return n->p2p;
	free(n->p2p);
	n->p2p = NULL;
	if (!n->broken.len)
		text_add(&n->broken, "out of memory for messages of %d ranks", w->nranks);
	return NULL;
}

static void collect(struct world *w, struct net_p2p *p)
{
	struct net *n = net_of(w);
	const int *places;
	int count, error = n->calls->test(p->messages, &places, &count);

	if (error)
		net_break(n, count ? *places / NPLACES % w->nranks : -1, error);
	for (int i = 0; i < count && !error; i++)
		p->ends[places[i] / NPLACES].busy[places[i] % NPLACES] = false;
}

/* ---- a message --------------------------------------------------------------------------- */

static void start(struct world *w, const struct transfer *m, int place, bool sends, void *at,
		  size_t bytes, int tag)
{
	struct net *n = net_of(w);
	int end = m->peer + (m->sends ? w->nranks : 0);
	int at_place = NPLACES * end + place, error;

	n->p2p->ends[end].busy[place] = true;
	error = sends ? n->calls->send(n->p2p->messages, at_place, at, bytes, m->peer, tag)
		      : n->calls->recv(n->p2p->messages, at_place, at, bytes, m->peer, tag);
	if (error)
		net_break(n, m->peer, error);
}

static void exchange_shapes(struct world *w, struct transfer *m, struct net_end *e)
{
	e->own = p2p_shape_of(m);
	start(w, m, OWN, true, &e->own, sizeof(e->own), m->sends ? NET_SENDS : NET_WANTS);
	start(w, m, THEIRS, false, &e->theirs, sizeof(e->theirs), m->sends ? NET_WANTS : NET_SENDS);
	m->state = TELLING;
}

/* Sends or receives the next piece. The message is over after the last. */
static void move(struct world *w, struct transfer *m, struct net_end *e)
{
	size_t most = net_of(w)->calls->most < PIECE ? net_of(w)->calls->most : PIECE;
	size_t left = m->bytes - m->moved;

	if (!left) {
		p2p_over(w, m, CCS_OK, "");
		return;
	}
	m->state = MOVING;
	e->bytes = left < most ? left : most;
	start(w, m, DATA, m->sends, m->at + m->moved, e->bytes, NET_DATA);
}

/* Both descriptions are there. */
static void compare(struct world *w, struct transfer *m, struct net_end *e)
{
	struct text why = { .len = 0 };
	ccs_status s = m->sends ? p2p_same(w->first, m->peer, &e->own, &e->theirs, &why)
				: p2p_same(m->peer, w->first, &e->theirs, &e->own, &why);

	if (s)
		p2p_over(w, m, s, why.buf);
	else
		move(w, m, e);
}

bool net_carry(struct world *w, struct transfer *m)
{
	struct net_p2p *p = opened(w);
	struct net_end *e;

	if (!p || !p->messages || net_of(w)->end.begun || net_of(w)->broken.len)
		return false;
	collect(w, p);
	e = p->ends + m->peer + (m->sends ? w->nranks : 0);
	if (e->busy[OWN] || e->busy[THEIRS] || e->busy[DATA])
		return false;
	if (m->state == NEW) {
		exchange_shapes(w, m, e);
	} else if (m->state == TELLING) {
		compare(w, m, e);
	} else {
		m->moved += e->bytes;
		move(w, m, e);
	}
	return true;
}

/* ---- waiting ----------------------------------------------------------------------------- */

void net_cancel_p2p(struct net *n)
{
	if (n->p2p && n->p2p->messages)
		n->calls->cancel(n->p2p->messages);
}

bool net_holds_p2p(struct net *n, int nranks)
{
	const int *places;
	int count;

	if (!n->p2p || !n->p2p->messages)
		return false;
	(void)n->calls->test(n->p2p->messages, &places, &count); /* a failed message has ended,
								    too */
	for (int end = 0; end < 2 * nranks; end++)
		if (n->calls->busy(n->p2p->messages, NPLACES * end + DATA))
			return true;
	return false;
}

void net_forget_p2p(struct net *n)
{
	if (n->p2p && n->p2p->messages && n->calls->messages_free(n->p2p->messages))
		n->leaks = true;
	if (n->p2p)
		n->p2p->messages = NULL;
}

/* Reads notes. After a failure, announces it and ends the messages under way. */
static void look_for_notes(struct world *w)
{
	struct net *n = net_of(w);

	net_hear(w);
	if (n->broken.len)
		net_fail(w, CCS_ESYSTEM, n->broken.buf);
	if (w->dead)
		net_end(w);
}

void net_rest_p2p(struct world *w, unsigned idle)
{
	pthread_mutex_lock(&w->lock);
	if (w->dead || net_is_due(net_of(w), idle) || net_of(w)->broken.len)
		look_for_notes(w);
	pthread_mutex_unlock(&w->lock);
	net_rest(net_of(w), idle);
}
