/*
 * Messages that are sent from the cells of a rank, or received in them, without a copy in a slot.
 * See net.h.
 *
 * In: a layout, and which of its FIFOs are MPI's. Out: for each message whether it can do without
 * its slot, and from when on. Each end decides alone: to MPI a message is bytes, wherever they
 * are.
 *
 * A message is sent from cells if the plan holds it there (CCS_OP_HELD: no operation writes the
 * cells until it is received; MPI may report completion later still). It is received in cells if
 * its operation stores it unchanged, once all earlier operations of the rank on these cells are
 * done, and all messages from them are out. If the earlier operations are all of the receiving
 * worker, the last of them is known, and the receive is posted after that one. Otherwise it is
 * posted when the operation is its worker's next and its waits hold. Later receives of the FIFO
 * wait for it, as messages are matched in order, but no longer than their operations, which come
 * later anyway.
 *
 * O(operations + cells) a layout, O(cells + messages under way) a message.
 */
#include "runtime/cpu/mpi/net.h"

#include <stdlib.h>
#include <string.h>

/* ---- which receives can be posted ahead --------------------------------------------------- */

/* The worker that touches each cell of this rank, and when. */
struct touches {
	uint32_t *who;	/* the worker; CCS_NONE: none; MANY: several */
	uint32_t *last; /* the number of the current worker's operations up to its last on the
			   cell */
};

#define MANY (CCS_NONE - 1) /* no worker has this number, as a worker needs a row in the plan */

static void touch(struct touches *t, uint32_t first, uint32_t n, uint32_t worker, uint32_t ops)
{
	for (uint32_t cell = first; first != CCS_NONE && cell < first + n; cell++) {
		if (t->who[cell] == CCS_NONE)
			t->who[cell] = worker;
		else if (t->who[cell] != worker)
			t->who[cell] = MANY;
		t->last[cell] = ops;
	}
}

static void touch_all(struct touches *t, const struct ccs_op *o, uint32_t worker, uint32_t ops)
{
	touch(t, o->a, o->n, worker, ops);
	touch(t, o->b, o->n, worker, ops);
	touch(t, o->dst, o->n, worker, ops);
}

/* The number of its worker's operations that must be done before the receive can be posted. */
static uint32_t free_after(const struct touches *t, const struct ccs_op *o)
{
	uint32_t ops = 0;

	for (uint32_t j = 0; j < o->n; j++) {
		uint32_t cell = o->dst + j;

		if (t->who[cell] == MANY)
			return CCS_NONE;
		ops = t->last[cell] > ops ? t->last[cell] : ops;
	}
	return ops;
}

static bool only_stores(const struct ccs_op *o)
{
	return o->in != CCS_NONE && o->n && o->dst != CCS_NONE && o->a == CCS_NONE &&
	       o->b == CCS_NONE;
}

/* Lists the worker's receives of MPI messages, by FIFO. `next`: [FIFOs] the next place of each
 * list. */
static void list_receives(struct net *n, const struct plan_view *v, uint32_t worker,
			  struct touches *t, uint32_t *next)
{
	const struct ccs_worker *w = v->workers + worker;

	for (uint32_t i = 0; i < w->nops; i++) {
		const struct ccs_op *o = v->ops + w->op + i;

		if (o->in != CCS_NONE && n->row[o->in] != CCS_NONE)
			n->receives[next[n->row[o->in]]++] = (struct net_receive){
				.op = w->op + i,
				.after = only_stores(o) ? free_after(t, o) : 0,
			};
		touch_all(t, o, worker, i + 1);
	}
}

static void list_all(struct cpu *e, struct touches *t, uint32_t *next)
{
	const struct plan_view *v = e->layout.view;
	const struct ccs_rank *r = v->ranks + e->world->first;
	size_t cells = (size_t)v->plan->cells + v->plan->scratch;

	memset(t->who, 0xff, cells * sizeof(*t->who));
	for (uint32_t w = r[0].worker; w < r[1].worker; w++)
		for (uint32_t i = 0; i < v->workers[w].nops; i++)
			touch_all(t, v->ops + v->workers[w].op + i, w, 0);
	for (uint32_t w = r[0].worker; w < r[1].worker; w++) {
		memset(t->last, 0, cells * sizeof(*t->last));
		list_receives(e->net, v, w, t, next);
	}
}

/* Gives each FIFO that is received by MPI its part of n->receives. */
static size_t part_receives(struct net *n, const struct plan_view *v, uint32_t *next)
{
	size_t all = 0;

	for (uint32_t i = 0; i < n->nfifos; i++) {
		n->fifos[i].receive = next[i] = (uint32_t)all;
		all += n->fifos[i].sends ? 0 : v->fifos[n->fifos[i].fifo].messages;
	}
	return all;
}

ccs_status net_cells_lay_out(struct cpu *e)
{
	const struct layout *l = &e->layout;
	struct net *n = e->net;
	size_t cells = (size_t)l->view->plan->cells + l->view->plan->scratch;
	struct touches t = { calloc(cells + 1, sizeof(*t.who)),
			     calloc(cells + 1, sizeof(*t.last)) };
	uint32_t *next = calloc((size_t)n->nfifos + 1, sizeof(*next));

	n->cells = !l->premul && l->longest * l->esize >= HELD_BYTES;
	if (next)
		n->receives = calloc(part_receives(n, l->view, next) + 1, sizeof(*n->receives));
	if (t.who && t.last && n->receives)
		list_all(e, &t, next);
	free(t.who);
	free(t.last);
	free(next);
	if (!t.who || !t.last || !n->receives)
		return error_set(CCS_ENOMEM, "out of memory for %zu cells", cells);
	return CCS_OK;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Cells of a message that are contiguous so far. */
struct piece {
	const unsigned char *first;
	size_t bytes;
	bool broken;
};

static void add_part(void *of, uint32_t j, size_t at, const unsigned char *part, size_t bytes)
{
	struct piece *p = of;

	(void)j;
	if (!p->bytes)
		p->first = part;
	if (at != p->bytes || part != p->first + p->bytes)
		p->broken = true;
	p->bytes += bytes;
}

/* Finds the cells that hold the operation's message after it, if they are contiguous. */
static bool find_piece(const struct cpu *e, const struct ccs_op *o, size_t lo, struct net_place *p)
{
	const struct layout *l = &e->layout;
	struct piece whole = { .bytes = 0 };

	piece_held(l, l->ranks + e->world->first, o, lo, add_part, &whole);
	if (!whole.bytes || whole.broken ||
	    whole.bytes != piece_bytes(l, (uint32_t)e->world->first, o, lo))
		return false;
	p->cells = (unsigned char *)(uintptr_t)whole.first;
	p->bytes = whole.bytes;
	return true;
}

bool net_cells_out(const struct cpu *e, const struct ccs_op *o, size_t lo, struct net_place *p)
{
	return e->net->cells && o->flags & CCS_OP_HELD && find_piece(e, o, lo, p);
}

/* Whether MPI still has to read these cells. */
static bool is_leaving(const struct net *n, const struct net_place *in)
{
	for (uint32_t i = 0, left = n->leaving; left; i++) {
		const struct net_place *p = n->places + i;

		if (!p->cells || !n->fifos[p->of].sends)
			continue;
		if (p->cells < in->cells + in->bytes && in->cells < p->cells + p->bytes)
			return true;
		left--;
	}
	return false;
}

/* Whether no other operation touches the cells before the receive's operation. */
static bool is_free(const struct cpu *e, const struct net_receive *r, uint32_t worker,
		    uint64_t tile)
{
	const struct layout *l = &e->layout;
	const struct ccs_worker *w = l->view->workers + worker;
	struct fiber *t = l->fibers + worker;
	uint64_t begin = tile * w->nops, done = atomic_load(&t->done);

	if (atomic_load(&t->state) == FIBER_INACTIVE)
		return false;
	if (r->after != CCS_NONE)
		return done >= begin + r->after;
	return done == begin + (r->op - w->op) && fiber_has_waits(l, t, l->view->ops + r->op);
}

bool net_cells_in(const struct cpu *e, const struct net_fifo *f, uint64_t message,
		  struct net_place *p)
{
	const struct layout *l = &e->layout;
	const struct ccs_fifo *x = l->view->fifos + f->fifo;
	uint64_t number = message - f->begin, tile = number / x->messages;
	const struct net_receive *r = e->net->receives + f->receive + number % x->messages;
	const struct ccs_op *o = l->view->ops + r->op;

	if (!e->net->cells || !only_stores(o) || !find_piece(e, o, (size_t)tile * l->tile, p))
		return true;
	return is_free(e, r, x->dst_worker, tile) && !is_leaving(e->net, p);
}
