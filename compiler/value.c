/*
 * Symbolic values: multisets of initial chunks with their reduction trees.
 *
 * In: two values. Out: their combination, exactly. Two adjacent runs of one
 * cell, each rank once, become one run in O(1): so it is in rings, chains and
 * trees. Everything else merges two sorted lists of runs in O(runs).
 */
#include "compiler/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool values_init(struct values *v, struct arena *a, uint32_t nranks, uint32_t cells, uint64_t room)
{
	uint64_t base = (uint64_t)nranks * cells;

	memset(v, 0, sizeof *v);
	v->arena = a;
	v->nranks = nranks;
	v->cells = cells;
	v->base = (uint32_t)base;
	if (room && room < VALUE_MANY) {
		v->nodes = ARENA_ARRAY(a, struct node, room);
		v->cap = (uint32_t)room;
	}
	return base < UINT32_MAX / 2;
}

/* ---- sets of runs --------------------------------------------------------------- */

/* Walks two sorted lists of runs together, piece by piece: within a piece all
 * ranks are in the same runs. */
struct walk {
	const struct run *a, *b;
	uint32_t na, nb;
	uint32_t cuta, cutb;	/* ranks of *a and *b that were walked over */
};

struct piece {
	uint32_t cell, first, n;
	uint32_t in_a, in_b;	/* times */
};

static bool walk_next(struct walk *w, struct piece *p)
{
	if (!w->na && !w->nb)
		return false;
	uint32_t fa = w->na ? w->a->first + w->cuta : 0, fb = w->nb ? w->b->first + w->cutb : 0;
	bool a_first = w->na && (!w->nb || w->a->cell < w->b->cell ||
				 (w->a->cell == w->b->cell && fa <= fb));
	bool same_cell = w->na && w->nb && w->a->cell == w->b->cell;
	bool both = same_cell && fa == fb;

	p->cell = a_first ? w->a->cell : w->b->cell;
	p->first = a_first ? fa : fb;
	p->in_a = a_first ? w->a->times : 0;
	p->in_b = both || !a_first ? w->b->times : 0;
	uint32_t n = a_first ? w->a->n - w->cuta : w->b->n - w->cutb;
	if (both && w->b->n - w->cutb < n)
		n = w->b->n - w->cutb;
	if (same_cell && !both) {	/* up to where the other one begins */
		uint32_t gap = a_first ? fb - fa : fa - fb;
		if (gap < n)
			n = gap;
	}
	p->n = n;
	if (p->in_a && (w->cuta += n) == w->a->n)
		w->a++, w->na--, w->cuta = 0;
	if (p->in_b && (w->cutb += n) == w->b->n)
		w->b++, w->nb--, w->cutb = 0;
	return true;
}

/* Appends a run to a sorted list, joined to the last one if it continues it. */
static uint32_t append(struct run *v, uint32_t n, uint32_t cell, uint32_t first, uint32_t len,
		       uint32_t times)
{
	if (n && v[n - 1].cell == cell && v[n - 1].times == times &&
	    v[n - 1].first + v[n - 1].n == first) {
		v[n - 1].n += len;
		return n;
	}
	v[n] = (struct run){ .cell = cell, .first = first, .n = len, .times = times };
	return n + 1;
}

struct difference runs_compare(const struct run *a, uint32_t na, const struct run *b, uint32_t nb)
{
	struct walk w = { .a = a, .b = b, .na = na, .nb = nb };
	struct difference d = { 0 };
	struct piece p;

	while (walk_next(&w, &p)) {
		d.lacks |= p.in_a < p.in_b;
		d.foreign |= p.in_b == 0;
		d.twice |= p.in_b > 0 && p.in_a > p.in_b;
	}
	return d;
}

bool runs_overlap(const struct run *a, uint32_t na, const struct run *b, uint32_t nb)
{
	struct walk w = { .a = a, .b = b, .na = na, .nb = nb };
	struct piece p;

	while (walk_next(&w, &p))
		if (p.in_a && p.in_b)
			return true;
	return false;
}

struct run *runs_without(struct arena *arena, const struct run *a, uint32_t na,
			 const struct run *b, uint32_t nb, bool times, uint32_t *n)
{
	struct walk w = { .a = a, .b = b, .na = na, .nb = nb };
	struct run *v = ARENA_ARRAY(arena, struct run, 2 * ((size_t)na + nb) + 1);
	struct piece p;

	*n = 0;
	while (walk_next(&w, &p)) {
		uint32_t left = p.in_a > p.in_b ? p.in_a - p.in_b : 0;
		if (left && (times || !p.in_b))
			*n = append(v, *n, p.cell, p.first, p.n, left);
	}
	return v;
}

/* ---- values ---------------------------------------------------------------------- */

void value_runs(const struct values *v, uint32_t id, struct runs *out)
{
	struct node x;

	out->v = out->own;
	out->n = 0;
	if (id >= POISON)
		return;
	if (id < v->base)
		x = (struct node){ .cell = id % v->cells, .first = id / v->cells, .n = 1 };
	else
		x = v->nodes[id - v->base];
	if (x.n & VALUE_MANY) {
		out->v = v->runs + x.first;
		out->n = x.n & ~VALUE_MANY;
		return;
	}
	uint32_t end = x.first + x.n;
	if (end > v->nranks) {
		out->own[0] = (struct run){ x.cell, 0, end - v->nranks, 1 };
		out->own[1] = (struct run){ x.cell, x.first, v->nranks - x.first, 1 };
		out->n = 2;
	} else {
		out->own[0] = (struct run){ x.cell, x.first, x.n, 1 };
		out->n = 1;
	}
}

bool value_is(const struct values *v, uint32_t id, const struct run *want, uint32_t nwant)
{
	struct runs have;

	value_runs(v, id, &have);
	struct difference d = runs_compare(have.v, have.n, want, nwant);
	return !d.lacks && !d.foreign && !d.twice;
}

/* Numbers have run out: the same as no memory. */
static void check_room(struct values *v, uint64_t nodes, uint64_t runs)
{
	if (nodes < POISON - 1 && runs < VALUE_MANY)
		return;
	if (v->arena->full)
		longjmp(*v->arena->full, 1);
}

static void reserve_runs(struct values *v, uint64_t more)
{
	uint64_t need = v->nruns + more, cap = v->capruns ? v->capruns : 256;

	check_room(v, 0, need * 2);
	while (cap < need)
		cap *= 2;
	if (cap > v->capruns) {
		v->runs = arena_grow(v->arena, v->runs, v->capruns * sizeof *v->runs,
				     cap * sizeof *v->runs);
		v->capruns = (uint32_t)cap;
	}
}

/* Merges the contributions of a and b into `x`. */
static void merge(struct values *v, uint32_t a, uint32_t b, struct node *x)
{
	struct runs ra, rb;

	value_runs(v, a, &ra);
	value_runs(v, b, &rb);
	reserve_runs(v, 2 * ((uint64_t)ra.n + rb.n));	/* may move v->runs: */
	value_runs(v, a, &ra);
	value_runs(v, b, &rb);

	struct walk w = { .a = ra.v, .b = rb.v, .na = ra.n, .nb = rb.n };
	struct run *out = v->runs + v->nruns;
	struct piece p;
	uint32_t n = 0;
	while (walk_next(&w, &p)) {
		uint32_t times = p.in_a + p.in_b;
		if (times < p.in_a)	/* more often than can be counted */
			times = UINT32_MAX;
		n = append(out, n, p.cell, p.first, p.n, times);
	}
	if (n == 1 && out[0].times == 1 && out[0].cell == x->cell) {
		x->first = out[0].first;
		x->n = out[0].n;
	} else if (n == 2 && out[0].times == 1 && out[1].times == 1 && out[0].cell == x->cell &&
		   out[1].cell == x->cell && out[0].first == 0 &&
		   out[1].first + out[1].n == v->nranks) {
		x->first = out[1].first;
		x->n = out[1].n + out[0].n;
	} else {
		x->first = v->nruns;
		x->n = n | VALUE_MANY;
		v->nruns += n;
	}
}

static inline struct node node_of(const struct values *v, uint32_t id)
{
	if (id >= v->base)
		return v->nodes[id - v->base];
	return (struct node){ .cell = id % v->cells, .first = id / v->cells, .n = 1 };
}

uint32_t value_combine(struct values *v, uint32_t a, uint32_t b, bool *same_cell)
{
	struct node x = node_of(v, a), y = node_of(v, b);
	struct node z = { .left = a, .right = b, .cell = x.cell };
	uint32_t n = x.n + y.n;	/* more than nranks if either is a list */
	*same_cell = x.cell == y.cell;
	uint32_t xend = x.first + x.n, yend = y.first + y.n;

	if (x.cell == y.cell && !((x.n | y.n) & VALUE_MANY) && n <= v->nranks &&
	    (xend == y.first || xend == y.first + v->nranks)) {
		z.first = x.first;
		z.n = n;
	} else if (x.cell == y.cell && !((x.n | y.n) & VALUE_MANY) && n <= v->nranks &&
		   (yend == x.first || yend == x.first + v->nranks)) {
		z.first = y.first;
		z.n = n;
	} else {
		merge(v, a, b, &z);
	}
	if (z.n == v->nranks)
		z.first = 0;
	if (v->n == v->cap)
		check_room(v, (uint64_t)v->base + 2 * (uint64_t)v->n, 0);
	ARENA_PUSH(v->arena, v->nodes, v->n, v->cap) = z;
	return v->base + (v->n - 1);
}

/* ---- as text ------------------------------------------------------------------------ */

/* "ranks 0-2, 5" of the runs of one cell; those counted more than once follow. */
static const char *cell_text(struct arena *arena, const struct program *p, const struct run *v,
			     uint32_t n)
{
	const char *text = "", *more = "";
	uint64_t ranks = 0;
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t lo = v[i].first, hi = lo + v[i].n - 1;
		/* adjacent runs that differ in times read as one */
		while (i + 1 < n && v[i + 1].first == hi + 1) {
			i++;
			hi += v[i].n;
		}
		const char *comma = *text ? ", " : "";
		ranks += hi - lo + 1;
		if (++pieces > 8) {
			text = arena_printf(arena, "%s, ...", text);
			break;
		}
		text = lo == hi ? arena_printf(arena, "%s%s%" PRIu32, text, comma, lo) :
		       hi == lo + 1 ? arena_printf(arena, "%s%s%" PRIu32 ", %" PRIu32, text, comma, lo, hi) :
		       arena_printf(arena, "%s%s%" PRIu32 "-%" PRIu32, text, comma, lo, hi);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (v[i].times < 2)
			continue;
		if (++pieces > 12) {
			more = arena_printf(arena, "%s, ...", more);
			break;
		}
		const char *comma = *more ? ", " : "";
		const char *who = v[i].n == 1 ? arena_printf(arena, "rank %" PRIu32, v[i].first) :
			arena_printf(arena, "ranks %" PRIu32 "-%" PRIu32, v[i].first,
				     v[i].first + v[i].n - 1);
		more = v[i].times == 2 ? arena_printf(arena, "%s%s%s twice", more, comma, who) :
			arena_printf(arena, "%s%s%s %" PRIu32 " times", more, comma, who, v[i].times);
	}
	return arena_printf(arena, "%s of %s %s%s%s%s", program_cells_text(arena, p, v->cell, 1),
			    ranks == 1 ? "rank" : "ranks", text, *more ? " (" : "", more,
			    *more ? ")" : "");
}

const char *runs_text(struct arena *arena, const struct program *p, const struct run *v, uint32_t n)
{
	const char *text = "";
	uint32_t shown = 0;

	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].cell == v[i].cell; k++)
			;
		if (++shown > 4)
			return arena_printf(arena, "%s, and more", text);
		const char *one = cell_text(arena, p, v + i, k - i);
		text = *text ? arena_printf(arena, "%s, %s", text, one) : one;
	}
	return *text ? text : "nothing";
}

const char *value_text(struct arena *arena, const struct program *p, const struct values *v,
		       uint32_t id)
{
	struct runs r;

	if (id >= POISON)
		return "no value";
	value_runs(v, id, &r);
	return runs_text(arena, p, r.v, r.n);
}
