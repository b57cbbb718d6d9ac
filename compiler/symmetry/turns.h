/*
 * The program of rank 0 of a symmetric schedule, and why it stands for the programs of all ranks.
 *
 * The turn by r takes rank q to q + r (mod N), and cell c to cell_turned(c, r). It is a bijection
 * of cells, and the turn by r after the turn by s is the turn by r + s. The cells are cut into
 * regions, and in each region
 *
 *     unit == 0    the cell stays
 *     unit == u    N units of u cells from `base` on turn: base + (c - base + r u) mod N u
 *
 * By kinds.h, the text shows that rank r's operations are those of rank 0, turned by r.
 * quotient_make() checks on the instance that a turning index has N units, and that no cell is in
 * two regions.
 *
 * **By bits** the turn is r -> r ^ c, N is a power of two, and units turn as ranks do. All below
 * holds for it, too, with r ^ p in place of both r + p and r - p. A range of n > 1 chunks turns by
 * bits if n is a power of two, the range begins at a multiple of n, and on ranks 1, 2, 4 ... it
 * begins where the rank's bits from n on take it. Then its chunks are the images of rank 0's
 * chunks, permuted by the rank's bits below n. The two ends of a message permute alike if their
 * ranks have equal bits there, which is checked, too; all operands of more than one chunk must be
 * such ranges.
 *
 * **By mirrors** the turn g_r takes x to x + r for an even r, and to r - x for an odd r. It is the
 * symmetry of a polygon with N corners, of one set of N, that takes 0 to r. In a region with unit
 * 1, the chunk place[x] of rank x turns into place[g_r(x)]; without a PLACE in the text, place[x] =
 * x. In what follows r + p means g_r(p), products are applied from right to left, and g_r is its
 * own inverse for odd r. All turns are products of two, x -> x + 2 and x -> 1 - x. By kinds.h, the
 * text shows that rank q + 2k runs the operations of rank q, turned. mirror.c checks that rank 1
 * runs the mirror image of rank 0, and that for each length n of a turning range, both generators
 * take the ranges of n chunks at multiples of n to such ranges; so all turns do. The order of the
 * chunks in a range differs from rank to rank, so the two ends of a message must be at the same
 * places of their names, and the two ranges of a copy, too.
 *
 * Of a copy in two pieces (kinds.h), one piece is empty on rank 0, and the other has all N chunks:
 * the image of both pieces together on any rank. An empty copy is never dead (dead.c), on all ranks
 * and here.
 *
 * **The quotient.** The FIFO from 0 to p and the FIFO from N - p to 0 are images of each other, so
 * they get one row, with `ahead` p: rank 0 receives there its own message, turned by N - p. The
 * result is a program of one rank that sends to itself: of a ring, one FIFO from 0 to 1.
 *
 * It starts and finishes the same operations, for any number of slots. The rule of program.h
 * (Blocking) is monotone, so the operations that can ever start and finish are its least fixpoint,
 * which is unique. The rule is the same for all ranks, so the fixpoint on rank r is that on rank 0,
 * turned. For such sets, the rule of FIFO 0 -> p on N ranks, which counts sends of rank 0 and
 * receives of rank p, is the quotient's rule, as rank p has started as many receives as rank 0 on
 * the same row. So the sets are the quotient's fixpoint, and matching, deadlock, least slots and
 * races of the quotient are those of the program. An order of the quotient's events, with each
 * event on all ranks one after another, is an order of the program's.
 *
 * O(operations of rank 0 + cells).
 */
#ifndef CCS_COMPILER_SYMMETRY_TURNS_H
#define CCS_COMPILER_SYMMETRY_TURNS_H

#include "compiler/check/check.h"
#include "compiler/symmetry/kinds/kinds.h"

struct cell_turn {
	uint32_t base, unit; /* unit NONE: not known yet */
};

struct quotient {
	struct program *p;  /* rank 0's tasks only, so `alone` is set; nranks is N */
	struct program one; /* the quotient: nranks is 1, for passes that do not need N */
	struct kinds kinds;
	struct cell_turn *regions; /* by cell, scratch included */
	uint32_t nregions;
	uint32_t nranks; /* N; for inner loops, as p->nranks */
	uint32_t *ahead; /* by FIFO: the rank to which rank 0 sends */
	bool by_bits;	 /* ranks turn r -> r ^ c */
	bool by_mirror;	 /* ... or as the corners of a polygon; */
	uint32_t *place; /* ... by rank: its place in a region */
	uint32_t *at;	 /* ... by place: its rank */
	const char *why; /* why it is not symmetric; NULL: the text has a mistake */
};

/** Makes the program of rank 0, with the numbers of sends and receives of its FIFOs. False: it does
 *  not stand for all ranks, or it has a mistake; see l->why. The caller must discard
 *  diagnostics. */
bool quotient_make(struct quotient *l, struct ctx *c, const struct instance *in);

/** Makes only the regions, of an instance with a root that turns with the ranks (roots.h); l->kinds
 *  is set. Runs all ranks, and stores no operation. False: not symmetric, or a mistake. */
bool turns_of_root(struct quotient *l, struct ctx *c, const struct instance *in);

static inline uint32_t rank_turned(const struct quotient *l, uint32_t rank, uint32_t r)
{
	if (l->by_bits)
		return rank ^ r;
	if (l->by_mirror && r & 1)
		return r >= rank ? r - rank : r + l->nranks - rank;
	return rank + r >= l->nranks ? rank + r - l->nranks : rank + r;
}

/** The first of n adjacent ranks after the turn by r. By bits: the turned rank `first`. */
static inline uint32_t arc_turned(const struct quotient *l, uint32_t first, uint32_t n, uint32_t r)
{
	uint32_t to = rank_turned(l, first, r);

	if (l->by_mirror && r & 1) /* a reflection: `to` is the last rank of the arc */
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

/** The turn that takes the region's cell of rank 0 to this cell; 0 if the cell stays. */
static inline uint32_t cell_ahead(const struct quotient *l, uint32_t cell)
{
	struct cell_turn g = l->regions[cell];
	uint32_t at = g.unit ? (cell - g.base) / g.unit : 0;

	return l->by_mirror && g.unit ? l->at[at] : at;
}

/** The first cell after `cell` that may be in another region. */
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
