/*
 * Same bits: whether sums of floats are bitwise equal on every rank, and for every count.
 *
 *   on every rank     final values with the same contributions have one tree (trees.h) on all
 *                     ranks
 *   for every count   on each rank, all promised chunks of a block have one tree, as the count
 *                     determines in which chunk an element is. A `sized` chunk counts as a block.
 *                     No value may move to another place in its block: it would come from another
 *                     element for another count.
 *
 * For a lowered program, only checks that it kept the trees.
 */
#ifndef CCS_COMPILER_CHECK_VALUES_BITS_H
#define CCS_COMPILER_CHECK_VALUES_BITS_H

#include "compiler/check/values/replay.h"
#include "compiler/check/values/trees.h"

/* Two final values with different trees that should have one. */
struct apart {
	uint32_t rank[2], cell[2];
	uint32_t value[2]; /* of the run */
	bool moved;	   /* only [0] is set: its contributions are of chunk cell[1] */
};

struct bits {
	bool ranks, counts;
	struct apart by_rank, by_count; /* if false: the first difference that was found */
	const char *why; /* not for every count: "chunk 0 begins with rank 1, ..."; or
					   NULL; order_witness() */
	/* In the scratch arena: the trees that were numbered so far. */
	struct trees trees;
	struct history history;
};

/** Decides both for a program that is proved; `r`: the run that proved it. O(final values + their
 *  sums), less if the first chunks differ. */
struct bits bits(struct ctx *c, const struct contract *k, struct replay *r);

/** Whether the final values of the lowered run have the trees of the program's. `order`: one in
 *  which the program can run. O(operations + chunks touched). */
bool bits_kept(struct ctx *c, const struct program *p, const struct contract *k,
	       const struct order *order, struct replay *lowered);

#endif
