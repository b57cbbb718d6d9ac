/*
 * Control messages between ranks, apart from the data: notes and gathered bytes. See net.h.
 *
 * One receive is posted for each other rank, and anew after each of its notes, so a rank's notes
 * are read in order. A note of a call is kept until this rank begins that call. O(ranks) a poll.
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/mpi/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sending -------------------------------------------------------------------------------- */

size_t net_note_bytes(const struct net_note *x)
{
	bool has_text = x->kind == NET_NOTE_FAILED || x->kind == NET_NOTE_WAITS;

	return offsetof(struct net_note, text) + (has_text ? strlen(x->text) + 1 : 0);
}

static int send_note(struct world *w, int place, const struct net_note *x, int rank)
{
	struct net *n = net_of(w);

	return n->calls->send(n->notes, place, x, net_note_bytes(x), rank, NET_NOTE);
}

void net_announce(struct world *w)
{
	struct net *n = net_of(w);
	const struct run *r = w->runs;

	n->before = n->said.name;
	n->said.call = r->seq;
	run_name(&r->params, r->first, &n->said.name);
	for (uint32_t i = 0; i < n->nfifos; i++) {
		int rank = n->fifos[i].rank, error = 0;

		if (n->asked[rank])
			continue;
		n->asked[rank] = true;
		n->answers++;
		n->saying++;
		error = send_note(w, w->nranks + rank, &n->said, rank);
		if (error)
			net_break(n, rank, error);
	}
}

void net_tell(struct world *w, ccs_status s, const char *text)
{
	struct net *n = net_of(w);

	if (n->said_last.status) /* that note is on its way already */
		return;
	n->said_last.kind = NET_NOTE_FAILED;
	n->said_last.status = s;
	snprintf(n->said_last.text, sizeof(n->said_last.text), "%s", text);
	for (int i = 0; i < w->nranks; i++)
		if (i != w->first) /* a rank that cannot be reached will time out */
			(void)send_note(w, 2 * w->nranks + i, &n->said_last, i);
}

static void die(struct world *w, ccs_status s, const char *text)
{
	net_of(w)->died = s;
	run_fail_all(w, s, text);
}

void net_fail(struct world *w, ccs_status s, const char *text)
{
	if (w->dead)
		return;
	net_tell(w, s, text);
	die(w, s, text);
}

/* The fibers of a run belong to its thread, which sees the announcement when it reads notes. */
ccs_status net_abort(struct world *w, ccs_status s, const char *text)
{
	if (!net_of(w)->threads)
		return error_set(CCS_EUNSUPPORTED,
				 "ccs_comm_abort: only one thread at a time may call MPI: end the "
				 "process, or call MPI_Abort");
	net_tell(w, s, text);
	if (!w->runs)
		die(w, s, text);
	return CCS_OK;
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void listen_to(struct world *w, int rank)
{
	struct net *n = net_of(w);
	int error =
		n->calls->recv(n->notes, rank, n->heard + rank, sizeof(*n->heard), rank, NET_NOTE);

	if (error)
		net_break(n, rank, error);
}

void net_listen(struct world *w)
{
	net_of(w)->listens = true;
	for (int i = 0; i < w->nranks; i++)
		if (i != w->first)
			listen_to(w, i);
}

/* Compares a note about a call that this rank has begun. If the call is the current one and
 * the note agrees, it is the expected note. Every other note proves that the calls differ. */
static void compare(struct world *w, int rank)
{
	struct net *n = net_of(w);
	const struct net_note *x = n->kept + rank;
	const struct call_name *own = x->call < n->said.call ? &n->before : &n->said.name;

	if (x->call == n->said.call && n->asked[rank] && run_same(own, &x->name)) {
		n->asked[rank] = false;
		n->answers--;
		return;
	}
	run_differ(own, &x->name);
	net_fail(w, CCS_EINVAL, error_thread()->text);
}

/* After a note of a call, listens for the next note, which may report that the call failed. A
 * second call cannot follow, as the sender waits for this rank's note. Nothing follows a
 * failure or a leave. */
static void take_in(struct world *w, int rank)
{
	struct net *n = net_of(w);
	const struct net_note *x = n->heard + rank;

	switch ((enum net_note_kind)x->kind) {
	case NET_NOTE_FAILED: n->end.told[rank] = true; return;
	case NET_NOTE_CALL:
		n->kept[rank] = *x;
		n->holds[rank] = true;
		break;
	case NET_NOTE_ASKS: net_answer(w, rank, x->call); break;
	case NET_NOTE_WAITS: net_answered(w, rank, x->call, x->text); break;
	case NET_NOTE_LEAVES: net_leaves(w, rank, x); return;
	}
	listen_to(w, rank);
}

/* Takes in the notes that have come. True: there were some. */
static bool take_in_all(struct world *w)
{
	struct net *n = net_of(w);
	const int *places;
	int count, error = n->calls->test(n->notes, &places, &count);

	if (error)
		net_break(n, count ? *places % w->nranks : -1, error);
	for (int i = 0; i < count && !error; i++) {
		if (places[i] < w->nranks)
			take_in(w, places[i]);
		n->saying -= places[i] >= w->nranks && places[i] < 2 * w->nranks;
	}
	return count > 0;
}

/* A note of a later call is kept until that call. */
static void look_at(struct world *w, int rank)
{
	struct net *n = net_of(w);
	const struct net_note *x = n->heard + rank;

	if (n->end.told[rank]) {
		die(w, error_of_peer(x->status), x->text);
	} else if (n->holds[rank] && n->kept[rank].call < n->begun) {
		n->holds[rank] = false;
		compare(w, rank);
	}
	net_miss(w, rank);
}

bool net_hear(struct world *w)
{
	struct net *n = net_of(w);
	bool any;

	if (w->dead)
		return false;
	if (n->said_last.status) /* by another thread */
		die(w, n->said_last.status, n->said_last.text);
	any = take_in_all(w);
	for (int i = 0; i < w->nranks && !w->dead; i++)
		look_at(w, i);
	if (n->broken.len)
		net_fail(w, CCS_ESYSTEM, n->broken.buf);
	return any;
}

void net_hear_ends(struct world *w)
{
	(void)take_in_all(w);
}

/* ---- gathering ------------------------------------------------------------------------------ */

/* The exchanged bytes while under way. They stay allocated until MPI has finished. */
struct gathering {
	struct mpi_messages *messages; /* from rank i at i, to it at ranks + i */
	unsigned char *all;
	bool *come; /* [places] */
	int left;
};

static void gathering_free(struct world *w, struct gathering *g)
{
	struct net *n = net_of(w);

	free(g->come);
	if (g->messages && n->calls->messages_free(g->messages))
		n->leaks = true; /* MPI may still write to `all` */
	else
		free(g->all);
}

static ccs_status gathering_start(struct world *w, struct gathering *g, const void *mine,
				  size_t bytes)
{
	struct net *n = net_of(w);
	unsigned char *own;
	int error = 0;

	g->all = calloc((size_t)w->nranks, bytes + !bytes);
	g->come = calloc((size_t)w->nranks, 2 * sizeof(*g->come));
	if (!g->all || !g->come || n->calls->messages_new(n->world, 2 * w->nranks, &g->messages))
		return error_set(CCS_ENOMEM, "out of memory for the exchange of %d ranks",
				 w->nranks);
	own = g->all + (size_t)w->first * bytes;
	if (bytes)
		memcpy(own, mine, bytes);
	for (int i = 0; i < w->nranks && !error; i++) {
		if (i == w->first)
			continue;
		g->left += 2;
		error = n->calls->recv(g->messages, i, g->all + (size_t)i * bytes, bytes, i,
				       NET_GATHER);
		if (!error)
			error = n->calls->send(g->messages, w->nranks + i, own, bytes, i,
					       NET_GATHER);
		if (error)
			net_break(n, i, error);
	}
	return CCS_OK;
}

/* True: something has come. */
static bool gathering_look(struct world *w, struct gathering *g)
{
	struct net *n = net_of(w);
	const int *places;
	int count, error = n->calls->test(g->messages, &places, &count);

	if (error)
		net_break(n, count ? *places % w->nranks : -1, error);
	for (int i = 0; i < count && !error; i++) {
		g->come[places[i]] = true;
		g->left--;
	}
	return count > 0;
}

static void give_up(struct world *w, const struct gathering *g)
{
	struct text why = { .len = 0 };
	int late = 0;

	while (late == w->first || (late < w->nranks - 1 && g->come[late]))
		late++;
	world_tell_late(w, late, &why);
	if (!run_is_late(w, why.buf))
		net_fail(w, CCS_ETIMEOUT, why.buf);
}

static ccs_status gathering_wait(struct world *w, struct gathering *g)
{
	uint64_t end = w->timeout ? clock_ms() + w->timeout : UINT64_MAX;
	unsigned idle = 0;

	while (g->left && !w->dead) {
		if (gathering_look(w, g)) {
			idle = 0;
			continue;
		}
		net_hear(w);
		pthread_mutex_unlock(&w->lock);
		net_rest(net_of(w), ++idle);
		pthread_mutex_lock(&w->lock);
		if (clock_ms() >= end && !w->dead) {
			end = UINT64_MAX;
			give_up(w, g);
		}
	}
	if (w->dead && net_of(w)->died && w->dead_text)
		return error_set(net_of(w)->died, "%s", w->dead_text);
	return world_alive(w);
}

ccs_status net_gather(struct world *w, const void *mine, void *all, size_t bytes)
{
	struct gathering g = { 0 };
	ccs_status s = world_alive(w);

	if (s)
		return s;
	net_of(w)->gathers++;
	s = gathering_start(w, &g, mine, bytes);
	if (!s)
		s = gathering_wait(w, &g);
	if (!s && bytes)
		memcpy(all, g.all, (size_t)w->nranks * bytes);
	if (w->dead) /* other ranks may wait for this rank to receive their messages */
		net_end_wait(w);
	gathering_free(w, &g);
	return s;
}
