/*
 * Rank 0 of a symmetric schedule, for all: what of it stands for what of the other ranks.
 *
 * The turn by r takes rank q to q + r (mod N), and cell c to cell_turned(c, r). It is a
 * bijection of cells, and turns add up: the cells are cut into regions, and in each
 *
 *     unit == 0    the cell stays
 *     unit == u    N units of u cells from `base` on turn: base + (c - base + r u) mod N u
 *
 * Where ranks turn by bits, r -> r ^ c, which takes N to be a power of two, units turn as ranks do;
 * all that follows holds for both, with r ^ p in the place of r + p and of r - p.
 *
 * kinds.h has it from the text that rank r's operations are those of rank 0, turned; quotient_make()
 * sees to it, on the instance, that what turns has N units, and that no cell is in two regions.
 *
 * A range of n > 1 chunks turns by bits if n is a power of two, it begins at a multiple of n, and
 * ranks 1, 2, 4 ... have it where the bits of the rank above n take it: then its chunks are the
 * images of rank 0's, in an order that the bits of the rank below n permute. Both ends of a
 * message permute alike if their ranks have equal bits there, which is looked at, too; all
 * operands of more than one chunk must be such ranges then.
 *
 * **By mirrors**, an even r takes x to x + r and an odd one, to r - x: g_r, the one of the 2 N/2 moves of
 * a polygon that takes 0 to r. In a region with unit 1, place[x] - the chunk of rank x - turns into
 * place[g_r(x)]; without a PLACE in the text, place[x] = x. In what follows r + p is g_r(p), turns
 * are made one after the other from right to left, and the turn that undoes g_r is itself for odd r.
 * All moves come from two, x -> x + 2 and x -> 1 - x. kinds.h has from the text that rank q + 2k runs
 * what rank q does, turned; mirror.c sees to the rest: that rank 1 runs the mirror image of
 * what rank 0 runs, and that for each length n of a range that turns, both moves take the ranges
 * of n chunks at multiples of n to such ranges, so that all moves do. The order of chunks in a range
 * is another on each rank: a message's two ends must be at the same places of their names, and a
 * copy's two ranges, too.
 *
 * Of a copy in two pieces (kinds.h), one is empty on rank 0, and the other has all N chunks: the
 * image of what both together copy on any rank. An empty copy is never in vain (dead.c), there
 * and here.
 *
 * **The quotient.** The FIFO from 0 to p, and that from N - p to 0, are one another's images, so
 * they get one row, `ahead` p: what rank 0 receives there is what it sent there itself, turned
 * by N - p. The result is a program of one rank that sends to itself.
 *
 * It starts and finishes the same operations, for any number of slots. The rule of program.h
 * (Blocking) is monotone, so what can ever happen is its least fixpoint, which is unique; as the
 * rule is the same for all ranks, the fixpoint is the same on all, turned. But for such sets the
 * rule of FIFO 0 -> p on N ranks, which counts sends of rank 0 and receives of rank p, is the
 * quotient's rule word for word, as rank p has started as many receives as rank 0 on the same
 * row. So the sets are the quotient's fixpoint: matching, deadlock, least slots and races of the
 * quotient are the program's. An order of its events is one of the program's, too, each event on
 * all ranks one after another.
 *
 * O(operations of rank 0 + cells).
 */
#ifndef CCS_COMPILER_SYMMETRY_TURNS_H
#define CCS_COMPILER_SYMMETRY_TURNS_H

#include "compiler/check/check.h"
#include "compiler/symmetry/kinds/kinds.h"

struct cell_turn {
	uint32_t base, unit; /* unit NONE: nobody has said yet */
};

struct quotient {
	struct program *p;  /* nranks is N; `alone` is set: only rank 0's tasks are there */
	struct program one; /* the quotient: nranks is 1, for passes that ask nothing of ranks */
	struct kinds kinds;
	struct cell_turn *regions; /* by cell, scratch included */
	uint32_t nregions;
	uint32_t nranks; /* N; for inner loops, as p->nranks */
	uint32_t *ahead; /* by FIFO: the rank that rank 0 sends to there */
	bool by_bits;	 /* ranks turn r -> r ^ c */
	bool by_mirror;	 /* ... or as the corners of a polygon; */
	uint32_t *place; /* ... by rank: its place in a region */
	uint32_t *at;	 /* ... by place: whose it is */
	const char *why; /* not symmetric: why; NULL: a mistake of the text, for others to find */
};

/** Makes the program of rank 0, whose FIFOs know how many ends they have. False: it does not stand
 *  for all, or it has a mistake; q->why.
 *  What it reports has to be thrown away. */
bool quotient_make(struct quotient *l, struct ctx *c, const struct instance *in);

/** The regions alone, of an instance with a root that turns with the ranks (roots.h): l->kinds is
 *  known. Runs all ranks, and stores no operation. False: not so, or a mistake. */
bool turns_of_root(struct quotient *l, struct ctx *c, const struct instance *in);

/** Whether the bounds of kinds, which are for parameters of some size, hold. */
bool parameters_are_small(const struct program *p);

static inline uint32_t rank_turned(const struct quotient *l, uint32_t rank, uint32_t r)
{
	if (l->by_bits)
		return rank ^ r;
	if (l->by_mirror && r & 1)
		return r >= rank ? r - rank : r + l->nranks - rank;
	return rank + r >= l->nranks ? rank + r - l->nranks : rank + r;
}

/** The first of n adjacent ranks, turned: where they begin then. By bits: as one rank. */
static inline uint32_t arc_turned(const struct quotient *l, uint32_t first, uint32_t n, uint32_t r)
{
	uint32_t to = rank_turned(l, first, r);

	if (l->by_mirror && r & 1) /* it ends where it began */
		return to + 1 >= n ? to + 1 - n : to + 1 + l->nranks - n;
	return to;
}

/** Where the turn by r takes a cell. */
static inline uint32_t cell_turned(const struct quotient *l, uint32_t cell, uint32_t r)
{
	struct cell_turn g = l->regions[cell];
	uint64_t at, n = (uint64_t)l->nranks * g.unit;

	if (g.unit == 0)
		return cell;
	at = cell - g.base;
	if (l->by_bits)
		return g.base + ((uint32_t)at / g.unit ^ r) * g.unit + (uint32_t)at % g.unit;
	if (l->by_mirror)
		return g.base + l->place[rank_turned(l, l->at[at / g.unit], r)] * g.unit +
		       (uint32_t)at % g.unit;
	at += (uint64_t)r * g.unit;
	return g.base + (uint32_t)(at >= n ? at - n : at);
}

/** The turn that takes rank 0's cell of a region to this one; 0 where cells stay. */
static inline uint32_t cell_ahead(const struct quotient *l, uint32_t cell)
{
	struct cell_turn g = l->regions[cell];
	uint32_t at = g.unit ? (cell - g.base) / g.unit : 0;

	return l->by_mirror && g.unit ? l->at[at] : at;
}

/** The first cell behind `cell` that may be of another region: one that turns is noted as a whole. */
static inline uint32_t region_end(const struct quotient *l, uint32_t cell)
{
	struct cell_turn g = l->regions[cell];

	return g.unit ? g.base + l->nranks * g.unit : cell + 1;
}

/** The turn that undoes the turn by r. */
static inline uint32_t turn_back(const struct quotient *l, uint32_t r)
{
	return l->by_bits || r == 0 || (l->by_mirror && r & 1) ? r : l->nranks - r;
}

#endif
