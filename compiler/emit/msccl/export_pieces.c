/*
 * Cuts operations into pieces that one step can move.
 *
 * In:  the places of cells. Out: for every operation, in order, its pieces: chunks that are
 * adjacent in each place that it reads or writes, fewer than MSCCL_MAX_COUNT.
 *
 * Both ends of a message must be cut alike, or the executors' messages would not match. So a send,
 * its receive, the send of the same operation, and so on to the last receive form a chain, which is
 * cut wherever one of its operations has to be. O(cells of all operations).
 */
#include "compiler/emit/msccl/export.h"

/* A chain, and the position of the walk in it. */
struct chain {
	const struct msccl_export *x;
	bool *cut; /* by cell of an operation: a piece begins there */
};

static void cut_part(const struct chain *k, uint32_t rank, const struct ccs_op *o, uint32_t first,
		     bool initial)
{
	struct export_at last = { EX_I, 0 };

	for (uint32_t j = 0; first != CCS_NONE && j < o->n; j++) {
		struct export_at at = export_place(k->x, rank, first + j, initial);

		k->cut[j] |= j && !export_same(at, last);
		last = at;
		last.chunk += export_width(k->x, o, j);
	}
}

static void cut_op(const struct chain *k, uint32_t rank, const struct ccs_op *o)
{
	cut_part(k, rank, o, o->a, o->flags & CCS_OP_A_INITIAL);
	cut_part(k, rank, o, o->b, o->flags & CCS_OP_B_INITIAL);
	cut_part(k, rank, o, o->dst, false);
}

/* The operation that receives what this one sends, or CCS_NONE. */
static uint32_t next_of(const struct msccl_export *x, uint32_t row)
{
	return x->v->ops[row].out == CCS_NONE ? CCS_NONE : x->v->ops[row].to;
}

/* Ends the piece, if it is not empty, and begins the next one after it. */
static void end_piece(struct msccl_export *x, struct export_piece *p)
{
	if (!p->n)
		return;
	ARENA_PUSH(x->arena, x->pieces, x->npieces, x->cappieces) = *p;
	*p = (struct export_piece){ p->at + p->n, 0 };
}

static void add_pieces(struct msccl_export *x, const struct ccs_op *o, const bool *cut)
{
	struct export_piece p = { 0, 0 };

	for (uint32_t j = 0; j < o->n; j++) {
		if (cut[j])
			end_piece(x, &p);
		for (uint32_t left = export_width(x, o, j); left;) {
			uint32_t room = MSCCL_MAX_COUNT - 1 - p.n, n = left < room ? left : room;

			p.n += n;
			left -= n;
			if (n == room)
				end_piece(x, &p);
		}
	}
	end_piece(x, &p);
}

static void add_chain(struct chain *k, struct msccl_export *x, uint32_t row, const uint32_t *ranks)
{
	uint32_t first = x->npieces;

	memset(k->cut, 0, x->v->ops[row].n);
	for (uint32_t i = row; i != CCS_NONE; i = next_of(x, i))
		cut_op(k, ranks[i], x->v->ops + i);
	add_pieces(x, x->v->ops + row, k->cut);
	for (uint32_t i = row; i != CCS_NONE; i = next_of(x, i)) {
		x->piece[i] = first;
		x->pieces_of[i] = x->npieces - first;
	}
}

void export_pieces(struct msccl_export *x)
{
	const struct plan_view *v = x->v;
	uint32_t n = (uint32_t)v->plan->ops.n, most = 0;
	uint32_t *ranks = ARENA_ARRAY(x->arena, uint32_t, n);
	struct chain k = { .x = x };

	for (uint32_t w = 0; w < v->plan->workers.n; w++)
		for (uint32_t i = 0; i < v->workers[w].nops; i++)
			ranks[v->workers[w].op + i] = v->workers[w].rank;
	for (uint32_t i = 0; i < n; i++)
		most = v->ops[i].n > most ? v->ops[i].n : most;
	k.cut = ARENA_ARRAY(x->arena, bool, most);
	x->piece = ARENA_ARRAY(x->arena, uint32_t, n);
	x->pieces_of = ARENA_ARRAY(x->arena, uint32_t, n);
	for (uint32_t i = 0; i < n; i++)
		if (v->ops[i].in == CCS_NONE) /* the first of its chain */
			add_chain(&k, x, i, ranks);
}
