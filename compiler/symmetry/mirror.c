/*
 * Turns that are checked on the instance: see mirror.h.
 */
#include "compiler/symmetry/mirror.h"

/* ---- places ---------------------------------------------------------------------------- */

bool mirror_places(struct quotient *l, struct cursor *v)
{
	const struct place_fn *f = l->kinds.places;
	struct arena *a = v->ctx->arena;

	l->place = none_array(a, l->nranks);
	l->at = none_array(a, l->nranks);
	for (int64_t x = 0; x < l->nranks; x++) {
		int64_t place = x;
		if ((f && !eval_with(v, 1, &f->x, &x, f->body, &place)) || place < 0 ||
		    place >= l->nranks || l->at[place] != NONE)
			return false;
		l->place[x] = (uint32_t)place;
		l->at[place] = (uint32_t)x;
	}
	return true;
}

/* The two generators of all turns suffice. A range follows its first chunk. */
bool mirror_keeps(const struct quotient *l, uint32_t n)
{
	if (n == 0 || l->nranks % n)
		return false;
	for (uint32_t move = 1; move <= 2 && n > 1; move++)
		for (uint32_t i = 0; i < l->nranks; i++) {
			uint32_t x = l->at[i], first = l->at[i / n * n];
			if (l->place[rank_turned(l, x, move % l->nranks)] / n !=
			    l->place[rank_turned(l, first, move % l->nranks)] / n)
				return false;
		}
	return true;
}

uint32_t range_turned(const struct quotient *l, uint32_t lo, uint32_t n, uint32_t r)
{
	struct cell_turn g = l->regions[lo];
	uint32_t to = cell_turned(l, lo, r);

	if (n == 0 || g.unit == 0 || n == l->nranks * g.unit)
		return lo;
	if (l->by_bits)
		return cell_turned(l, lo, r & ~(n - 1));
	return g.unit == 1 ? g.base + (to - g.base) / n * n : to;
}

/* ---- the image on another rank -------------------------------------------------------------------- */

/* Whether another rank's FIFO `its` is the image of rank 0's FIFO `mine`. */
static bool same_fifo(const struct quotient *l, uint32_t mine, uint32_t its)
{
	const struct fifo *a = &l->p->fifos[mine], *b = &l->p->fifos[its];

	return a->path == b->path && a->channel == b->channel &&
	       l->ahead[mine] == rank_turned(l, b->dst, turn_back(l, b->src));
}

static bool same_operation(const struct quotient *l, const struct op *a, const struct op *b,
			   uint32_t r)
{
	enum op_kind kind = op_kind(a);
	bool same = a->kind == b->kind && a->n == b->n && a->site == b->site;

	if (!same)
		return false;
	if (kind == OP_FRESH || kind == OP_WAIT)
		return a->cell == b->cell && a->other == b->other &&
		       (kind == OP_FRESH || a->fifo == b->fifo);
	if (b->cell != range_turned(l, a->cell, a->n, r))
		return false;
	if (op_is_end(a))
		return same_fifo(l, a->fifo, b->fifo);
	return b->other == range_turned(l, a->other, a->n, r);
}

bool turned_image(const struct quotient *l, const struct cursor *v, uint32_t r)
{
	const struct program *p = l->p;

	if (v->nlanes != p->ntasks)
		return false;
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *mine = &p->tasks[t];
		const struct lane *its = &v->lanes[t];
		if (its->path != mine->path || its->n != mine->nops)
			return false;
		for (uint32_t i = 0; i < its->n; i++)
			if (!same_operation(l, &mine->ops[i], &its->ops[i], r))
				return false;
	}
	return true;
}
