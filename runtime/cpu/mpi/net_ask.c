/*
 * Asks the other ranks what they wait for, for the report of a time-out. See net.h.
 *
 * A rank sees only its own waits. When nothing has moved for the timeout, it asks all other
 * ranks, and each rank inside a call answers with its current wait. So the report shows the whole
 * cycle, if ranks wait in one. Before a time-out nothing is sent or allocated. A rank outside any
 * call does not answer: run_time_out waits for a limited time. An answer has the number of its
 * question, so an answer to an earlier question is recognised. O(ranks) a question, and a message
 * each way for each rank.
 */
#include "runtime/cpu/mpi/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORTED 16 /* ranks that a report names; the rest are only counted */

struct peer {
	struct net_note question, answer; /* notes to that rank, while MPI sends them */
	char *waits;			  /* its answer to the last question; NULL: none yet */
};

struct net_asking {
	struct mpi_messages *messages; /* questions to rank i at i, answers at ranks + i */
	uint64_t number;	       /* of the last question */
	int owed;		       /* missing answers, to all questions; */
	int missing;		       /* ... to the last */
	struct peer peers[];	       /* [ranks] */
};

/* NULL: no memory; then the report has only this rank's waits. */
static struct net_asking *opened(struct world *w)
{
	struct net *n = net_of(w);
	size_t ranks = (size_t)w->nranks;
	const int *places;
	int count;

	if (!n->asking)
		n->asking = calloc(1, sizeof(*n->asking) + ranks * sizeof(*n->asking->peers));
	if (n->asking && !n->asking->messages &&
	    n->calls->messages_new(n->world, 2 * w->nranks, &n->asking->messages))
		n->asking->messages = NULL;
	if (!n->asking || !n->asking->messages)
		return NULL;
	(void)n->calls->test(n->asking->messages, &places, &count);
	return n->asking;
}

/* False: an earlier note to that rank is still being sent, or MPI fails. */
static bool send_note(struct world *w, int place, struct net_note *x, enum net_note_kind kind,
		      uint64_t number, const char *text)
{
	struct net *n = net_of(w);
	struct mpi_messages *messages = n->asking->messages;

	if (n->calls->busy(messages, place))
		return false;
	x->kind = (int32_t)kind;
	x->call = number;
	snprintf(x->text, sizeof(x->text), "%s", text);
	return !n->calls->send(messages, place, x, net_note_bytes(x), place % w->nranks, NET_NOTE);
}

void net_ask(struct world *w)
{
	struct net_asking *a = opened(w);

	if (!a || w->dead)
		return;
	a->number++;
	a->missing = 0;
	for (int i = 0; i < w->nranks; i++) {
		free(a->peers[i].waits);
		a->peers[i].waits = NULL;
		if (i != w->first &&
		    send_note(w, i, &a->peers[i].question, NET_NOTE_ASKS, a->number, ""))
			a->missing++;
	}
	a->owed += a->missing;
}

void net_answer(struct world *w, int rank, uint64_t number)
{
	struct net_asking *a = opened(w);
	struct text waits = { .len = 0 };

	if (!a || w->dead)
		return;
	run_waits(w, &waits);
	(void)send_note(w, w->nranks + rank, &a->peers[rank].answer, NET_NOTE_WAITS, number,
			waits.buf);
}

void net_answered(struct world *w, int rank, uint64_t number, const char *text)
{
	struct net_asking *a = net_of(w)->asking;
	struct peer *p = a->peers + rank;

	a->owed--;
	if (number != a->number || p->waits)
		return;
	p->waits = strdup(text);
	a->missing--;
}

bool net_answers(const struct world *w, struct text *t)
{
	const struct net_asking *a = net_of(w)->asking;
	int named = 0, more = 0;

	for (int i = 0; t && a && i < w->nranks; i++) {
		const char *waits = a->peers[i].waits;

		if (!waits || !*waits)
			continue;
		if (named++ < REPORTED)
			text_add(t, "%s%s", t->len ? "; " : "", waits);
		else
			more++;
	}
	if (more)
		text_add(t, "; and %d more ranks", more);
	return !a || !a->missing;
}

bool net_is_owed(const struct net *n)
{
	return n->asking && n->asking->owed;
}

int net_end_asking(struct net *n, int nranks)
{
	struct net_asking *a = n->asking;
	int left = a && a->messages ? n->calls->messages_free(a->messages) : 0;

	for (int i = 0; a && i < nranks; i++)
		free(a->peers[i].waits);
	if (a)
		a->messages = NULL;
	return left;
}
