/*
 * FIFOs between processes, as messages of MPI. See net.h.
 *
 * In: a layout with FIFOs to other processes. Out: the same counts and events as if both ends were
 * here (exec.c). At the sending end, a slot's line is cleared when MPI has sent its message, and
 * `tail` follows in the order of messages. At the receiving end, `head` counts the posted receives.
 * O(FIFOs + slots) a layout; O(1) a message, plus net_cells.c.
 */
#include "runtime/cpu/mpi/net.h"

#include <limits.h>
#include <stdlib.h>

void net_break(struct net *n, int rank, int error)
{
	char text[200];

	if (n->broken.len)
		return;
	n->calls->error(error, text, sizeof(text));
	text_add(&n->broken, "MPI failed for a message between ranks %d and %d: %s",
		 n->calls->rank(n->world), rank, text);
}

/* ---- laying out ----------------------------------------------------------------------------- */

static bool is_ours(const struct cpu *e, const struct ccs_fifo *f)
{
	return is_here(e, f->src) != is_here(e, f->dst);
}

void net_forget(struct net *n)
{
	if (n->messages && n->calls->messages_free(n->messages))
		n->leaks = true;
	n->messages = NULL;
	free(n->fifos);
	free(n->row);
	free(n->places);
	free(n->receives);
	n->receives = NULL;
	n->leaving = 0;
	n->fifos = NULL;
	n->row = NULL;
	n->places = NULL;
	n->nfifos = 0;
	n->nplaces = 0;
}

/* Lists the FIFOs and counts their slots. `next`: [2][ranks] tags, from here and to here. */
static size_t list_fifos(struct cpu *e, int *next)
{
	const struct layout *l = &e->layout;
	struct net *n = e->net;
	size_t places = 0;

	for (uint32_t i = 0; i < l->view->plan->fifos.n; i++) {
		const struct ccs_fifo *f = l->view->fifos + i;
		bool sends = is_here(e, f->src);
		uint32_t rank = sends ? f->dst : f->src;

		n->row[i] = CCS_NONE;
		if (!is_ours(e, f))
			continue;
		n->row[i] = n->nfifos;
		n->fifos[n->nfifos++] = (struct net_fifo){
			.fifo = i,
			.sends = sends,
			.rank = (int)rank,
			.tag = next[rank + (sends ? l->nranks : 0)]++,
			.place = (int)places,
		};
		places += l->slots[i].n;
	}
	return places;
}

static ccs_status make_room(struct net *n, size_t places)
{
	for (uint32_t i = 0; i < n->nfifos; i++)
		if (n->fifos[i].tag >= NET_SENDS || places > INT_MAX)
			return error_set(CCS_EUNSUPPORTED,
					 "more than %d FIFOs between two ranks, or %d slots per "
					 "FIFO",
					 NET_SENDS, INT_MAX);
	n->places = calloc(places + 1, sizeof(*n->places));
	if (!n->places || n->calls->messages_new(n->world, (int)places, &n->messages))
		return error_set(CCS_ENOMEM, "out of memory for %zu messages", places);
	n->nplaces = (int)places;
	return CCS_OK;
}

ccs_status net_lay_out(struct cpu *e)
{
	const struct layout *l = &e->layout;
	struct net *n = e->net;
	size_t all = (size_t)l->view->plan->fifos.n, own = 0;
	int *next = calloc(l->nranks, 2 * sizeof(*next));
	ccs_status s = CCS_OK;

	net_forget(n);
	for (size_t i = 0; i < all; i++)
		own += is_ours(e, l->view->fifos + i);
	n->fifos = calloc(own + 1, sizeof(*n->fifos));
	n->row = calloc(all + 1, sizeof(*n->row));
	if (next && n->fifos && n->row)
		s = make_room(n, list_fifos(e, next));
	else
		s = error_set(CCS_ENOMEM, "out of memory for %zu FIFOs", all);
	free(next);
	return s ? s : net_cells_lay_out(e);
}

/* ---- messages -------------------------------------------------------------------------------- */

static unsigned char *place_at(const struct slots *s, const struct net_place *p)
{
	return p->cells ? p->cells : slot_of(s, p->message);
}

/* Posts receives for the messages that the call still expects, as far as slots are free. */
static void post(struct cpu *e, uint32_t row)
{
	struct net *n = e->net;
	struct net_fifo *f = n->fifos + row;
	const struct slots *s = e->layout.slots + f->fifo;
	struct fifo *c = e->layout.fifos + f->fifo;
	uint64_t head = atomic_load_explicit(&c->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&c->tail, memory_order_relaxed);

	f->late = false;
	for (; head < f->end && head - tail < s->n; head++) {
		int place = f->place + (int)(head % s->n), error;
		struct net_place p = { .of = row,
				       .message = head,
				       .bytes = s->data ? s->bytes : LINE_BYTES };

		f->late = !net_cells_in(e, f, head, &p);
		if (f->late)
			break;
		error = n->calls->recv(n->messages, place, place_at(s, &p), p.bytes, f->rank,
				       f->tag);
		if (error) {
			net_break(n, f->rank, error);
			break;
		}
		n->places[place] = p;
	}
	atomic_store_explicit(&c->head, head, memory_order_relaxed);
}

/* The number of messages of the FIFO in a call. */
static uint64_t messages_of(const struct layout *l, const struct net_fifo *f)
{
	return l->view->fifos[f->fifo].messages * l->ntiles;
}

void net_begin(struct cpu *e)
{
	struct net *n = e->net;

	for (uint32_t i = 0; i < n->nfifos; i++) {
		struct net_fifo *f = n->fifos + i;

		f->begin = e->layout.fifos[f->fifo].tail;
		f->end = f->begin + messages_of(&e->layout, f);
		if (!f->sends)
			post(e, i);
	}
}

static uint64_t outgoing(const struct cpu *e)
{
	const struct net *n = e->net;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n->nfifos; i++)
		sum += n->fifos[i].sends ? messages_of(&e->layout, n->fifos + i) : 0;
	return sum;
}

static void sent(struct cpu *e, const struct ccs_op *o, size_t lo)
{
	const struct layout *l = &e->layout;
	struct net *n = e->net;
	uint32_t row = n->row[o->out];
	const struct slots *s = l->slots + o->out;
	uint64_t message = atomic_load_explicit(&l->fifos[o->out].head, memory_order_relaxed) - 1;
	struct net_place p = { .of = row,
			       .message = message,
			       .bytes = piece_bytes(l, (uint32_t)e->world->first, o, lo) };
	int place, error;

	if (row == CCS_NONE)
		return;
	net_cells_out(e, o, lo, &p);
	place = n->fifos[row].place + (int)(message % s->n);
	n->places[place] = p;
	n->leaving += p.cells != NULL;
	error = n->calls->send(n->messages, place, place_at(s, &p), p.bytes, n->fifos[row].rank,
			       n->fifos[row].tag);
	if (error)
		net_break(n, n->fifos[row].rank, error);
}

static void received(struct cpu *e, uint32_t fifo)
{
	if (e->net->row[fifo] != CCS_NONE)
		post(e, e->net->row[fifo]);
}

static struct net_place *place_of(const struct cpu *e, uint32_t fifo, uint64_t message)
{
	const struct net *n = e->net;

	return n->places + n->fifos[n->row[fifo]].place + message % e->layout.slots[fifo].n;
}

static bool sends_cells(struct cpu *e, const struct ccs_op *o, size_t lo)
{
	struct net_place p;

	return e->net->row[o->out] != CCS_NONE && net_cells_out(e, o, lo, &p);
}

static const unsigned char *in_cells(struct cpu *e, uint32_t fifo, const unsigned char *slot)
{
	uint64_t message = atomic_load_explicit(&e->layout.fifos[fifo].tail, memory_order_relaxed);
	const struct net_place *p;

	if (e->net->row[fifo] == CCS_NONE)
		return slot;
	p = place_of(e, fifo, message);
	return p->cells ? p->cells : slot;
}

/* Frees the slot of a sent message. Slots become free in order, so it may wait for earlier
 * ones. */
static void out(struct cpu *e, uint32_t fifo, uint64_t message)
{
	struct net_place *p = place_of(e, fifo, message);
	const struct slots *s = e->layout.slots + fifo;
	struct fifo *c = e->layout.fifos + fifo;
	uint64_t head = atomic_load_explicit(&c->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&c->tail, memory_order_relaxed), first = tail;

	e->net->leaving -= p->cells != NULL;
	p->cells = NULL;
	atomic_store(&slot_line_of(s, message)->there, 0);
	while (tail < head && !atomic_load(&slot_line_of(s, tail)->there))
		tail++;
	if (tail > first)
		fifo_freed(e, fifo, tail);
	rank_less(e, (uint32_t)e->world->first);
}

bool net_progress(struct cpu *e)
{
	struct net *n = e->net;
	const int *places;
	int count, error = n->calls->test(n->messages, &places, &count);

	if (error) {
		net_break(n, count ? n->fifos[n->places[*places].of].rank : -1, error);
		return false;
	}
	for (int i = 0; i < count; i++) {
		struct net_place p = n->places[places[i]];
		const struct net_fifo *f = n->fifos + p.of;

		n->through++;
		if (f->sends)
			out(e, f->fifo, p.message);
		else
			fifo_filled(e, f->fifo, p.message);
	}
	for (uint32_t i = 0; i < n->nfifos; i++)
		if (n->fifos[i].late)
			post(e, i);
	return count > 0;
}

/* A rank whose call failed may reuse cells that MPI has not yet sent; it sends its note first.
 * So a rank that could have received such bytes checks for notes before it ends its call. */
static void done(struct cpu *e)
{
	if (e->net->cells)
		net_hear(e->world);
}

bool net_stuck(const struct cpu *e, struct text *t)
{
	const struct net *n = e->net;

	for (uint32_t i = 0; i < n->nfifos; i++) {
		const struct net_fifo *f = n->fifos + i;
		const struct fifo *c = e->layout.fifos + f->fifo;

		if (!f->sends || atomic_load(&c->tail) == atomic_load(&c->head))
			continue;
		text_add(t, "rank %d waits for MPI to deliver its message to rank %d",
			 e->world->first, f->rank);
		return true;
	}
	return false;
}

bool net_holds(const struct net *n)
{
	const int *places;
	int count;

	if (!n->messages)
		return false;
	(void)n->calls->test(n->messages, &places, &count); /* a failed message has ended, too */
	for (int i = 0; i < n->nplaces; i++)
		if (n->places[i].cells && n->calls->busy(n->messages, i))
			return true;
	return false;
}

/* A message between hosts costs much more than one in memory, and cells that are not
 * contiguous (tiles of several chunks) need a copy. */
const struct wire net_wire = {
	.tile = (size_t)1 << 20,
	.outgoing = outgoing,
	.sent = sent,
	.received = received,
	.sends_cells = sends_cells,
	.in_cells = in_cells,
	.done = done,
};
