/*
 * Ranks that free the communicator. See net.h.
 *
 * A rank that frees it announces that to all other ranks, with the numbers of its calls, gathers
 * and messages. A rank that waits for it in a later call then fails. Without the note it would
 * wait until the timeout, and the process that left would wait for it in MPI_Finalize. The
 * numbers are needed because data sent earlier may arrive after the note.
 *
 * Freeing waits a little for the notes of the other ranks, so that all are received before MPI's
 * communicator is freed. O(ranks).
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/mpi/net.h"
#include "runtime/p2p.h"

#include <stdlib.h>

#define LEAVE_MS 200u

bool net_has_left(const struct net *n, int rank)
{
	return n->left && n->left[rank].kind == NET_NOTE_LEAVES;
}

bool net_all_left(const struct world *w)
{
	for (int i = 0; i < w->nranks; i++)
		if (i != w->first && !net_has_left(net_of(w), i))
			return false;
	return true;
}

/* ---- hearing -------------------------------------------------------------------------------- */

/* Without memory the note is ignored. */
void net_leaves(struct world *w, int rank, const struct net_note *x)
{
	struct net *n = net_of(w);

	if (!n->left)
		n->left = calloc((size_t)w->nranks, sizeof(*n->left));
	if (n->left)
		n->left[rank] = *x;
}

/* Whether the current run includes a call of the rank that it has not made. */
static bool is_in_run(const struct world *w, int rank)
{
	const struct net *n = net_of(w);

	if (!w->runs || !n->laid || w->runs->seq < n->left[rank].call)
		return false;
	for (uint32_t i = 0; i < n->nfifos; i++)
		if (n->fifos[i].rank == rank)
			return true;
	return false;
}

static bool is_in_message(const struct world *w, int rank)
{
	const struct net_note *x = net_of(w)->left + rank;
	struct p2p_past to = p2p_past(w, rank, true), from = p2p_past(w, rank, false);

	return (to.waits && to.over >= x->received) || (from.waits && from.over >= x->sent);
}

void net_miss(struct world *w, int rank)
{
	const struct net *n = net_of(w);
	struct text why = { .len = 0 };

	if (w->dead || !net_has_left(n, rank))
		return;
	if (n->gathers <= n->left[rank].gathers && !is_in_run(w, rank) && !is_in_message(w, rank))
		return;
	text_add(&why, "rank %d has freed the communicator, and rank %d waits for it", rank,
		 w->first);
	net_fail(w, CCS_EABORTED, why.buf);
}

/* ---- leaving ----------------------------------------------------------------------------- */

static void announce(struct world *w, struct net_note *x, struct mpi_messages *messages, int rank)
{
	struct net *n = net_of(w);

	x->kind = NET_NOTE_LEAVES;
	x->call = n->begun;
	x->gathers = n->gathers;
	x->sent = p2p_past(w, rank, true).over;
	x->received = p2p_past(w, rank, false).over;
	(void)n->calls->send(messages, rank, x, net_note_bytes(x), rank, NET_NOTE);
}

static bool is_sending(const struct world *w, struct mpi_messages *messages)
{
	const struct mpi_calls *calls = net_of(w)->calls;
	const int *places;
	int count;

	(void)calls->test(messages, &places, &count);
	for (int i = 0; i < w->nranks; i++)
		if (calls->busy(messages, i))
			return true;
	return false;
}

static void wait_for_all(struct world *w, struct mpi_messages *messages)
{
	uint64_t end = clock_ms() + LEAVE_MS;

	pthread_mutex_lock(&w->lock);
	for (unsigned idle = 0; clock_ms() < end; idle++) {
		bool sending = is_sending(w, messages);

		net_hear(w);
		if (!sending && (w->dead || net_all_left(w)))
			break;
		pthread_mutex_unlock(&w->lock);
		net_rest(net_of(w), idle);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
}

void net_leave(struct world *w)
{
	struct net *n = net_of(w);
	struct net_note *notes = calloc((size_t)w->nranks, sizeof(*notes));
	struct mpi_messages *messages = NULL;

	if (notes && !n->calls->messages_new(n->world, w->nranks, &messages)) {
		for (int i = 0; i < w->nranks; i++)
			if (i != w->first)
				announce(w, notes + i, messages, i);
		wait_for_all(w, messages);
		if (n->calls->messages_free(messages))
			n->leaks = true; /* MPI still reads them */
	}
	if (!n->leaks)
		free(notes);
}
