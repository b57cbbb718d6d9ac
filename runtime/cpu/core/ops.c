/*
 * Plays recorded pieces, and the operations of a process.
 *
 * If ranks are processes, each does its own operations. With short chunks, an operation's pieces
 * are recorded when it is first done in a layout, and played after that. The record holds for any
 * buffers and slots, as its places are relative to bases (notes.h). O(pieces), plus their data.
 */
#include "runtime/cpu/core/notes.h"

#include <stdlib.h>

static unsigned char *find(unsigned char *const *bases, struct place_at p)
{
	return p.base ? bases[p.base] + p.at : NULL;
}

static void play_piece(const struct layout *l, unsigned char *const *bases,
		       const struct piece_at *p, size_t n)
{
	const unsigned char *a = find(bases, p->a);
	unsigned char *dst = find(bases, p->dst);
	struct parts s;

	switch (p->kind) {
	case PIECE_COPY:
		if (l->stream && p->dst.base == BASE_OUT)
			piece_put(l, dst, a, n * l->esize);
		else if (a != dst)
			piece_copy(l, dst, a, n * l->esize);
		break;
	case PIECE_COMBINE:
		s = (struct parts){ .a = a, .b = find(bases, p->b), .out = dst };
		if (l->stream && p->dst.base == BASE_OUT)
			piece_again(l, &s, n);
		else
			piece_combine(l, dst, a, s.b, n, n);
		break;
	case PIECE_OTHER:
		s = (struct parts){ .in = find(bases, p->in),
				    .a = a,
				    .b = find(bases, p->b),
				    .dst = dst,
				    .out = find(bases, p->out) };
		piece_again(l, &s, n);
		break;
	}
}

void ops_play(const struct layout *l, const struct piece_at *p, const struct piece_at *end,
	      unsigned char *const *bases, size_t lo, size_t most)
{
	for (; p < end; p++) {
		size_t n = p->n > lo ? p->n - lo : 0;

		n = n < most ? n : most;
		if (n)
			play_piece(l, bases, p, n);
	}
}

/* ---- operations of a process ---------------------------------------------------------------- */

static uint32_t own_ops(const struct layout *l, uint32_t rank, uint64_t *first)
{
	const struct ccs_rank *r = l->view->ranks + rank;
	uint32_t n = 0;

	for (uint32_t i = r[0].worker; i < r[1].worker; i++)
		n += l->view->workers[i].nops;
	*first = n ? l->view->workers[r[0].worker].op : 0;
	return n;
}

void ops_begin(struct cpu *e)
{
	struct laid *all = e->laid;
	const struct layout *l = &e->layout;
	struct op_pieces *more = all->ops;
	size_t n = own_ops(l, (uint32_t)e->world->first, &all->op0);

	all->nops = 0;
	all->own.n = 0;
	all->own.layout = *l;
	all->own.tile = l->longest;
	all->own.ntiles = 1;
	all->own.too_long = false;
	/* notes are of the first tile; there is only one, unless the call asks for small tiles */
	if (!layout_is_short(e, l) || l->ntiles > 1 || l->premul || l->user || n > MOST_PIECES)
		return;
	if (n > all->ops_room) {
		more = realloc(all->ops, n * sizeof(*more));
		if (!more)
			return;
		all->ops = more;
		all->ops_room = n;
	}
	for (size_t i = 0; i < n; i++)
		more[i].n = OP_UNKNOWN;
	all->nops = n;
}

void ops_place(struct cpu *e)
{
	unsigned char **bases = notes_bases(e, 0);
	uint32_t rank = (uint32_t)e->world->first;

	/* the call's module may be another copy */
	e->laid->own.layout.view = e->layout.view;
	if (bases)
		notes_set_bases(bases, e->ranks + rank, rank, e->ranks[rank].scratch, 0);
	else
		e->laid->nops = 0;
}

/* Does an operation that is not recorded yet, and records it if possible. */
static void do_and_note(struct cpu *e, const struct fiber *t, const struct ccs_op *o, size_t lo,
			struct ends ends)
{
	struct laid *all = e->laid;
	uint64_t i = (uint64_t)(o - e->layout.view->ops) - all->op0;
	struct notes notes = { .e = e, .q = &all->own, .op = true };

	if (i >= all->nops || all->own.too_long || o->flags & CCS_OP_SHIFTED) {
		piece_op(&e->layout, t, o, lo, ends, NULL);
		return;
	}
	all->ops[i].first = all->own.n;
	piece_op(&e->layout, t, o, lo, ends, &notes);
	all->ops[i].n = all->own.too_long ? OP_UNKNOWN : all->own.n - all->ops[i].first;
}

/* Notes are of whole chunks. */
void ops_do(struct cpu *e, const struct fiber *t, const struct ccs_op *o, size_t lo,
	    struct ends ends)
{
	const struct laid *all = e->laid;
	unsigned char **bases = e->sequences.bases;
	uint64_t i = (uint64_t)(o - e->layout.view->ops) - all->op0;
	const struct piece_at *p;

	if (i < all->nops) {
		bases[BASE_IN] = (unsigned char *)(uintptr_t)ends.in;
		bases[BASE_OUT] = ends.out;
	}
	if (i >= all->nops || all->ops[i].n == OP_UNKNOWN) {
		do_and_note(e, t, o, lo, ends);
		return;
	}
	p = all->own.pieces + all->ops[i].first;
	ops_play(&e->layout, p, p + all->ops[i].n, bases, 0, SIZE_MAX);
}
