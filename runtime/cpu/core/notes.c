/*
 * Records pieces. See notes.h. O(1) a piece.
 */
#include "runtime/cpu/core/notes.h"

#include <stdlib.h>

unsigned char **notes_bases(struct cpu *e, unsigned thread)
{
	struct sequences *all = &e->sequences;
	size_t n = BASE_RANKS + NBUFFERS * (size_t)e->world->nranks;

	if (!all->bases)
		all->bases = calloc(n * (e->limit ? e->limit : 1), sizeof(*all->bases));
	return all->bases ? all->bases + n * thread : NULL;
}

void notes_set_bases(unsigned char **bases, const struct rank_io *io, uint32_t rank,
		     unsigned char *scratch, size_t bytes)
{
	unsigned char *send = (unsigned char *)(uintptr_t)io->send;

	bases[notes_base(rank, BUFFER_SEND)] = send ? send + bytes : NULL;
	bases[notes_base(rank, BUFFER_RECV)] = io->recv ? io->recv + bytes : NULL;
	bases[notes_base(rank, BUFFER_SCRATCH)] = scratch ? scratch + bytes : NULL;
}

static struct place_at place_of(const struct notes *notes, const unsigned char *p, uint32_t base)
{
	size_t at = p ? (size_t)(p - notes->e->sequences.bases[base]) : 0;

	notes->q->too_long |= at > UINT32_MAX;
	return (struct place_at){ p ? base : BASE_NONE, (uint32_t)at };
}

static bool make_room(struct sequence *q)
{
	uint32_t room = q->room ? 2 * q->room : 64;
	struct piece_at *more;

	if (q->n < q->room)
		return true;
	more = q->n < MOST_PIECES ? realloc(q->pieces, room * sizeof(*more)) : NULL;
	if (!more)
		return false;
	q->pieces = more;
	q->room = room;
	return true;
}

/* The base of a cell of a rank, with its initial value or not. */
static uint32_t cell_base(const struct notes *notes, uint32_t rank, uint32_t cell, bool initial)
{
	if (initial)
		return notes_base(rank, BUFFER_SEND);
	return notes_base(rank,
			  cell < notes->q->layout.view->plan->cells ? BUFFER_RECV : BUFFER_SCRATCH);
}

/* The base of a part that may be in a slot or a stage. */
static uint32_t slot_base(const struct notes *notes, const unsigned char *p, uint32_t other)
{
	const struct sequences *all = &notes->e->sequences;
	const unsigned char *slots = all->bases[BASE_SLOTS];

	if (notes->op)
		return other;
	return (uintptr_t)p - (uintptr_t)slots < notes->q->slot_bytes ? BASE_SLOTS : other;
}

/* The base of the received message, if it is not in a slot. */
static uint32_t held_base(const struct notes *notes, uint32_t j)
{
	const struct ccs_op *from = notes->held;

	if (!from)
		return BASE_IN;
	return cell_base(notes, notes->sender, ccs_plan_source(from) + j,
			 from->dst == CCS_NONE && from->flags & CCS_OP_A_INITIAL);
}

/* Marks pieces with two operands and one result, or one and one, which can be played directly. */
static void simplify(struct piece_at *p)
{
	int sources = !!p->in.base + !!p->a.base + !!p->b.base;

	p->kind = PIECE_OTHER;
	if (!sources || sources > 2 || (p->dst.base && p->out.base))
		return;
	p->kind = sources == 1 ? PIECE_COPY : PIECE_COMBINE;
	if (!p->dst.base)
		p->dst = p->out;
	if (p->in.base && p->a.base)
		p->b = p->a;
	if (p->in.base)
		p->a = p->in;
	if (!p->a.base)
		p->a = p->b;
}

bool notes_add(struct notes *notes, const struct ccs_op *o, uint32_t rank, const struct parts *s,
	       size_t n)
{
	struct sequence *q = notes->q;
	bool a_initial = !o || o->flags & CCS_OP_A_INITIAL;
	bool b_initial = o && o->flags & CCS_OP_B_INITIAL;

	if (n > UINT32_MAX || !make_room(q))
		q->too_long = true;
	if (q->too_long)
		return !notes->op;
	q->pieces[q->n++] = (struct piece_at){
		.in = place_of(notes, s->in, slot_base(notes, s->in, held_base(notes, s->cell))),
		.a = place_of(notes, s->a,
			      cell_base(notes, rank, o ? o->a + s->cell : 0, a_initial)),
		.b = place_of(notes, s->b,
			      cell_base(notes, rank, o ? o->b + s->cell : 0, b_initial)),
		.dst = place_of(notes, s->dst,
				cell_base(notes, rank, o ? o->dst + s->cell : 0, false)),
		.out = place_of(notes, s->out, slot_base(notes, s->out, BASE_OUT)),
		.n = (uint32_t)n,
	};
	simplify(q->pieces + q->n - 1);
	return !notes->op;
}

size_t notes_apart(const struct notes *notes)
{
	return notes->q->ntiles > 1 ? notes->q->short_tile : 0;
}
