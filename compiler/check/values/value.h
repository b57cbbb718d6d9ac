/*
 * Symbolic values: the multiset of initial chunks from which a chunk's value was combined, and the
 * order of combination (the reduction tree). Exact: nothing is hashed.
 *
 * A value is a number. Numbers below `base` are initial values, of cell number % cells on rank
 * number / cells. Every other number is a reduction of two values with smaller numbers. A
 * reduction stores its contributions if they are one share: one cell of a range of ranks, as in
 * rings and trees. Otherwise they are summed up from its history on demand. So making a value
 * always takes O(1).
 */
#ifndef CCS_COMPILER_CHECK_VALUES_VALUE_H
#define CCS_COMPILER_CHECK_VALUES_VALUE_H

#include "compiler/check/check.h"

/* NONE (program.h): no value. POISON: unknown after a reported mistake. */
#define POISON (UINT32_MAX - 1)

/* A reduction. If it is one share: cell `cell` of ranks first .. first + more (mod N), each once.
 * more == 0: it is not; then the value has the length of cell `cell` of rank `first`. */
struct node {
	uint32_t left, right;
	uint32_t cell;
	uint16_t first, more;
};

/* A value as one share; n == 0: it is not one share. */
struct one_share {
	uint32_t cell, first, n;
};

/* A part of a history that is not yet summed up: value `id`, `times` times. */
struct pending {
	uint32_t id;
	uint32_t times;
};

struct values {
	struct arena *arena;
	uint32_t nranks, cells;
	uint32_t base;		 /* nranks * cells */
	uint32_t inverse, shift; /* for the division by cells, see value_home */
	struct node *nodes;
	uint32_t n, cap;
	struct pending *heap; /* for value_shares; the greatest number on top */
	size_t nheap, capheap;
	uint64_t *ranks; /* [nranks] bits, for value_shares; all 0 between calls */
	uint64_t work;	 /* parts summed up so far */
};

/** Begins without reductions, with room for `room` of them. False: nranks * cells is too large for
 *  the numbers. */
bool values_init(struct values *v, struct arena *a, uint32_t nranks, uint32_t cells, uint64_t room);

/** Returns a (+) b, of two values. *same_cell: both have the length of one cell. O(1). */
uint32_t value_combine(struct values *v, uint32_t a, uint32_t b, bool *same_cell);

/* The cell and rank of an initial value. The division by cells is a multiplication by inverse =
 * 2^shift / cells, rounded up (Granlund and Montgomery, PLDI 1994, theorem 4.2; numbers of initial
 * values are below 2^31). */
struct home {
	uint32_t cell, rank;
};

static inline struct home value_home(const struct values *v, uint32_t id)
{
	uint32_t rank = (uint32_t)((uint64_t)id * v->inverse >> v->shift);

	return (struct home){ id - rank * v->cells, rank };
}

static inline struct one_share value_share(const struct values *v, uint32_t id)
{
	if (id < v->base) {
		struct home h = value_home(v, id);
		return (struct one_share){ h.cell, h.rank, 1 };
	}
	const struct node *x = &v->nodes[id - v->base];
	return (struct one_share){ x->cell, x->first, x->more ? x->more + 1u : 0 };
}

/* value_combine, with the commonest case inline: two adjacent shares of one cell. */
static inline __attribute__((always_inline)) uint32_t value_combine_fast(struct values *v,
									 uint32_t a, uint32_t b,
									 bool *same_cell)
{
	struct one_share x = value_share(v, a), y = value_share(v, b);
	uint32_t n = x.n + y.n, first = y.first, end = y.first + y.n;

	if (end >= v->nranks)
		end -= v->nranks;
	if (end != x.first) {
		first = x.first;
		end = x.first + x.n;
		if (end >= v->nranks)
			end -= v->nranks;
		if (end != y.first)
			return value_combine(v, a, b, same_cell);
	}
	if (x.cell != y.cell || !x.n || !y.n || n >= v->nranks || v->n == v->cap)
		return value_combine(v, a, b, same_cell);
	*same_cell = true;
	v->nodes[v->n] = (struct node){ a, b, x.cell, (uint16_t)first, (uint16_t)(n - 1) };
	return v->base + v->n++;
}

/* The shares of a value, sorted by (cell, first), disjoint, none wrapping around. Begins as { 0 },
 * and may be reused for another value. */
struct shares {
	struct share *v;
	uint32_t n;
	size_t cap;
	struct edge *edges, *room; /* temporary */
	int64_t *counts;	   /* temporary, by place */
	size_t nedges, capedges, caproom, capcounts;
};

/** Adds a share to the input of shares_sum. */
void shares_add(struct arena *a, struct shares *out, uint32_t cell, uint32_t first, uint32_t n,
		uint32_t times);
/** Sums up the shares that were added since the last sum; they may overlap. O(n). */
void shares_sum(struct arena *a, struct shares *out);

/** Finds the shares of a value. O(1) for one share; O(h + nranks / 64) for a history of h values,
 *  of one cell and without repetitions; else O(h log h). A history that turns out to be one share
 *  is then stored as such. */
void value_shares(struct values *v, uint32_t id, struct shares *out);

/** Marks, by number - base, all reductions in the histories of the marked ones; returns the number
 *  of marks. */
uint32_t values_mark(const struct values *v, uint8_t *marks);

/** The code of the error if a value does not have exactly the contributions `want` (ccs(5) 8, Order
 *  of reports); else 0. `want` is sorted and disjoint, and may have adjacent shares. `room` as in
 *  value_shares. */
int value_error(struct values *v, uint32_t id, const struct share *want, uint32_t nwant,
		struct shares *room);

/* How two multisets differ. */
struct difference {
	bool lacks;   /* an element of b is missing in a, or there less often */
	bool foreign; /* an element of a is not in b */
	bool twice;   /* an element of b is in a more often */
};
struct difference shares_compare(const struct share *a, uint32_t na, const struct share *b,
				 uint32_t nb);

/** The shares of a that are not in b (with multiplicities if `times`), in `arena`. */
struct share *shares_without(struct arena *arena, const struct share *a, uint32_t na,
			     const struct share *b, uint32_t nb, bool times, uint32_t *n);

/** Whether a and b have a contribution in common. */
bool shares_overlap(const struct share *a, uint32_t na, const struct share *b, uint32_t nb);

/** "data[0] of ranks 0-2", "data[0] of ranks 0, 1 (rank 1 twice)", "no value". */
const char *shares_text(struct arena *arena, const struct program *p, const struct share *v,
			uint32_t n);
const char *value_text(struct arena *arena, const struct program *p, struct values *v, uint32_t id);

/* The cell from which the value came; it has the value's length. */
static inline uint32_t value_cell(const struct values *v, uint32_t id)
{
	return id < v->base ? value_home(v, id).cell : v->nodes[id - v->base].cell;
}

/* The rank of that cell, for buffers whose lengths differ by rank. */
static inline uint32_t value_rank(const struct values *v, uint32_t id)
{
	return id < v->base ? value_home(v, id).rank : v->nodes[id - v->base].first;
}

#endif
