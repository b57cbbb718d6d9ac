/*
 * Same bits: whether floats come out the same on every rank, and for every count.
 *
 *   on every rank     final values with the same contributions have one tree (trees.h), on
 *                     whatever rank
 *   for every count   all promised chunks of a block have one tree, on their rank: which chunk
 *                     an element is in depends on the count. A chunk that is `sized` is a block
 *                     of its own, and a value that moves to another place in its block comes
 *                     from another element for another count.
 *
 * Of a lowered program only that it kept the trees.
 */
#ifndef CCS_COMPILER_CHECK_VALUES_BITS_H
#define CCS_COMPILER_CHECK_VALUES_BITS_H

#include "compiler/check/values/replay.h"
#include "compiler/check/values/trees.h"

/* Two final values that need one tree and have two. */
struct apart {
	uint32_t rank[2], cell[2];
	uint32_t value[2]; /* of the run */
	bool moved;	   /* there is only [0], whose contributions are of chunk cell[1] */
};

struct bits {
	bool ranks, counts;
	struct apart by_rank, by_count; /* where these are false: the first that was found */
	const char *why; /* not for every count: "chunk 0 begins with rank 1, ..."; or
					   NULL; order_witness() */
	/* In the scratch arena: the trees, as far as it took to find that out. */
	struct trees trees;
	struct history history;
};

/** Decides both for a program that is proved; `r`: the run that proved it. O(final values +
 *  the sums that they are made of), less where the first chunks differ. */
struct bits bits(struct ctx *c, const struct contract *k, struct replay *r);

/** Whether the lowered run's final values have the trees of the program's, `order` one that this
 *  can run in. O(operations + chunks touched). */
bool bits_kept(struct ctx *c, const struct program *p, const struct contract *k,
	       const struct order *order, struct replay *lowered);

#endif
