/*
 * Same bits (check/values/bits.h), decided on rank 0's values.
 *
 * In: values that were proved. Out: bits.ranks, bits.counts and bits.why as for the whole
 * program; or false, if this check cannot decide.
 *
 * A tree of additions is represented by a number and a turn: trees that are turns of each other
 * have the same number (hash-consing as in trees.h, without turns). In a ring of 4 ranks, the sum
 * ((2+3)+0)+1 of chunk 1 is the sum ((1+2)+3)+0 of chunk 0, turned by 1. Two trees are equal if
 * their numbers and turns are, provided that no turn except 0 takes a tree to itself. By sums this
 * holds for a leaf, as the turn moves its rank. It holds for a sum of operands with two numbers, as
 * the turn would take each operand to itself. If the operands are one tree and its turn by d, the
 * turn must swap them, so 2 d = 0 (mod N): in this case the check gives up.
 *
 * By bits every turn is its own inverse, so such sums are common. The turns that take a tree to
 * itself then form a group. It must be the group of all turns by some set of bits, `still`
 * (otherwise the check gives up), and a tree's turn is stored without these bits. By mirrors, see
 * still.h.
 *
 *     every rank    a value of rank r is rank 0's value, turned. So all values with the
 *                   contributions of one chunk are turned back until that chunk is the first of
 *                   its region; they must then be one tree. A chunk that does not turn has, on
 *                   the ranks, all turns of one tree: these are equal only if every turn takes
 *                   the tree to itself.
 *     every count   the chunks of rank 0's blocks, as on any rank
 *
 * O(chunks and sums of rank 0).
 */
#ifndef CCS_COMPILER_SYMMETRY_ALIKE_H
#define CCS_COMPILER_SYMMETRY_ALIKE_H

#include "compiler/check/values/bits.h"
#include "compiler/symmetry/turned.h"

/** Sets *b. False: this check cannot decide, or a property that ctx.require has does not hold; the
 *  passes over all ranks then decide and report. */
bool alike(struct ctx *c, struct turned_run *r, const struct contract *k, struct bits *b);

#endif
