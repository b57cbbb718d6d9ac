/*
 * Removes copies of a rank's own value to scratch.
 *
 * In:  the line of a rank. Out: a line that computes the same trees of additions, with fewer
 * copies.
 *
 * A schedule that adds in the order of the ranks copies the rank's own value X to scratch S, sums
 * the values of lower ranks in X, and then adds S:
 *
 *     copy X into S;  X = first;  X += second;  ...;  X += S
 *
 * Addition commutes, so the partial sum can be made in S, and X keeps its value:
 *
 *     S = first;  S += second;  ...;  X += S
 *
 * The first rank's `copy X into S;  copy S into X` changes nothing: both copies are removed.
 *
 * Why this is right. All these operations are of one task, in its order. No other operation
 * touches S between the copy and the next write of S, and no other operation reads X while X holds
 * the partial sum. An operation that conflicts with a renamed one also conflicted with the copy, so
 * it was already ordered before or after the whole sequence. A read of the old X came before the
 * first write of X, which is now later. No wait is added, and the result is proved again (lower.c).
 *
 * One pass over the line with two marks for each cell: O(items + cells touched).
 */
#include "compiler/lower/parts.h"

enum state {
	UNCHANGED, /* X has the value that was copied */
	SUMMING,   /* X has a partial sum */
	ADDED,	   /* S was added to the partial sum */
	CHANGED,   /* X has another value: only copies of S back to X can be removed */
	NEEDED	   /* the copy has to stay */
};

/* An operation that copies a chunk's value to scratch. */
struct aside {
	uint32_t copy; /* item */
	uint32_t x, s, n;
	enum state state;
	bool back; /* S was copied back */
};

struct finder {
	struct rank_ops *l;
	struct aside *v;
	uint32_t n, cap;
	uint32_t *as_x, *as_s; /* by cell: the row of v that has it in X, in S; or NONE */
	uint32_t *part_of;     /* by item: the row of v that renames or removes it; or NONE */
};

static struct aside *at(struct finder *f, const uint32_t *marks, uint32_t cell)
{
	struct aside *a = marks[cell] == NONE ? NULL : &f->v[marks[cell]];

	return a && a->state != NEEDED ? a : NULL;
}

static void mark(uint32_t *marks, uint32_t cell, uint32_t n, uint32_t value)
{
	for (uint32_t c = cell; c < cell + n; c++)
		marks[c] = value;
}

static bool sets_aside(const struct rank_ops *l, const struct op *o)
{
	uint32_t cells = l->p->cells;

	return op_kind(o) == OP_COPY && o->n && o->cell + o->n <= cells && o->other >= cells;
}

/* Whether no cell of S was written since the copy. */
static bool is_whole(const struct finder *f, const struct aside *a)
{
	for (uint32_t c = a->s; c < a->s + a->n; c++)
		if (f->as_s[c] != (uint32_t)(a - f->v))
			return false;
	return true;
}

static bool is_sum(const struct op *o)
{
	return op_kind(o) == OP_REDUCE_FROM || op_kind(o) == OP_REDUCE_INTO;
}

/* Whether the operation is of the copy's task, writes exactly X, and reads nothing of X, and all
 * or nothing of S. */
static bool is_of(const struct finder *f, const struct aside *a, const struct item *it)
{
	struct touch t = op_touch(&it->op);
	bool all_s = t.rn && t.r == a->s && t.rn == a->n;

	return it->task == f->l->items[a->copy].task && t.w == a->x && t.wn == a->n &&
	       !cells_overlap(t.r, t.rn, a->x, a->n) &&
	       (all_s || !cells_overlap(t.r, t.rn, a->s, a->n)) && is_whole(f, a);
}

/* The state after item i has written cells of X. */
static enum state next_state(struct finder *f, struct aside *a, uint32_t i)
{
	const struct item *it = &f->l->items[i];
	bool of = is_of(f, a, it),
	     from_s = of && op_touch(&it->op).r == a->s && it->op.fifo == NONE;
	bool puts = op_kind(&it->op) == OP_RECV || op_kind(&it->op) == OP_COPY;

	if (a->state == UNCHANGED && of && puts) {
		f->part_of[i] = (uint32_t)(a - f->v);
		a->back |= from_s;
		return from_s ? UNCHANGED : SUMMING;
	}
	if (a->state == SUMMING && of && is_sum(&it->op)) {
		if (!from_s)
			f->part_of[i] = (uint32_t)(a - f->v);
		return from_s ? ADDED : SUMMING;
	}
	return a->state == UNCHANGED ? CHANGED : NEEDED;
}

static void writes(struct finder *f, uint32_t i)
{
	const struct op *o = &f->l->items[i].op;
	struct touch t = op_touch(o);

	for (uint32_t c = t.w; c < t.w + t.wn; c++) {
		struct aside *a = at(f, f->as_x, c), *s = at(f, f->as_s, c);

		if (s && (s->state == SUMMING || is_sum(o)))
			s->state = NEEDED;
		f->as_s[c] = NONE;
		if (!a)
			continue;
		a->state = next_state(f, a, i);
		if (a->state == ADDED || a->state == CHANGED)
			mark(f->as_x, a->x, a->n, NONE);
		if (op_kind(o) != OP_FRESH && t.w == a->x && t.wn == a->n)
			return; /* all of X was written; X is no scratch, so no part of an S */
	}
}

/* After `writes`. `own`: the row for which the item may read S. */
static void reads(struct finder *f, uint32_t i, uint32_t own)
{
	struct touch t = op_touch(&f->l->items[i].op);

	for (uint32_t c = t.r; c < t.r + t.rn; c++) {
		struct aside *x = at(f, f->as_x, c), *s = at(f, f->as_s, c);

		if (x && x->state == SUMMING)
			x->state = NEEDED;
		if (s && (uint32_t)(s - f->v) != own)
			s->state = NEEDED;
	}
}

/* The row for which the item copies S back to X, or adds S to X; or NONE. */
static uint32_t uses_s(struct finder *f, uint32_t i)
{
	const struct item *it = &f->l->items[i];
	struct touch t = op_touch(&it->op);
	struct aside *s = t.rn && t.wn ? at(f, f->as_s, t.r) : NULL;
	enum op_kind k = op_kind(&it->op);

	if (!s || t.w != s->x || at(f, f->as_x, t.w) != s || !is_of(f, s, it))
		return NONE;
	if ((k == OP_COPY && s->state == UNCHANGED) || (k == OP_REDUCE_INTO && s->state == SUMMING))
		return (uint32_t)(s - f->v);
	return NONE;
}

static void begins(struct finder *f, uint32_t i)
{
	const struct op *o = &f->l->items[i].op;

	if (!sets_aside(f->l, o))
		return;
	for (uint32_t c = o->cell; c < o->cell + o->n; c++) {
		struct aside *last = at(f, f->as_x, c);

		if (!last)
			continue;
		last->state = CHANGED; /* the new copy takes its place */
		mark(f->as_x, last->x, last->n, NONE);
	}
	mark(f->as_x, o->cell, o->n, f->n);
	mark(f->as_s, o->other, o->n, f->n);
	ARENA_PUSH(f->l->arena, f->v, f->n, f->cap) =
		(struct aside){ .copy = i, .x = o->cell, .s = o->other, .n = o->n };
}

/* Renames the operations of the partial sums, and removes the copies. */
static void settle(struct finder *f)
{
	struct rank_ops *l = f->l;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		struct aside *a = &f->v[i];

		if (a->state == SUMMING || (a->state != ADDED && !a->back))
			a->state = NEEDED;
		if (a->state != NEEDED)
			f->part_of[a->copy] = i;
	}
	for (uint32_t i = 0; i < l->nitems; i++) {
		const struct aside *a = f->part_of[i] == NONE ? NULL : &f->v[f->part_of[i]];
		struct op *o = &l->items[i].op;

		if (a && a->state != NEEDED) {
			if (i == a->copy || (op_kind(o) == OP_COPY && o->cell == a->s))
				continue;
			*(o->fifo == NONE ? &o->other : &o->cell) = a->s;
		}
		l->items[kept++] = l->items[i];
	}
	l->nitems = kept;
}

void aside_line(struct rank_ops *l)
{
	struct finder f = { .l = l };
	uint32_t copies = 0;

	for (uint32_t i = 0; i < l->nitems; i++)
		copies += sets_aside(l, &l->items[i].op);
	if (!copies)
		return;
	f.as_x = none_array(l->arena, l->ncells);
	f.as_s = none_array(l->arena, l->ncells);
	f.part_of = none_array(l->arena, l->nitems);
	for (uint32_t i = 0; i < l->nitems; i++) {
		uint32_t own = uses_s(&f, i);

		writes(&f, i);
		reads(&f, i, own);
		begins(&f, i);
	}
	settle(&f);
}
