/*
 * Same bits (check/values/bits.h), decided on rank 0's values.
 *
 * In: values that were proved. Out: bits.ranks, bits.counts and bits.why as of the whole
 * program; or false, where that cannot be said here.
 *
 * A tree is a number and a turn: trees that are one another's turns have one number (trees.h,
 * with turns taken out). Two trees are equal if number and turn are, as no turn but 0 takes a
 * tree to itself: not a leaf, since it moves its rank; not a sum whose operands are of two
 * numbers, since it would take each to itself; and one whose operands are turns of one tree by
 * d only if it swaps them, 2 d = 0 (mod N), which is where this gives up. By bits, every turn
 * undoes itself, so such sums are the rule: the turns that take a tree to itself are a group, here
 * only ones of all turns by some bits, `still` (else this gives up), and a tree's turn is told
 * without these bits.
 *
 *     every rank    value y of rank r is that of rank 0 turned. So all values with the
 *                   contributions of one chunk are turned to where that chunk is the region's
 *                   first; they must be one tree there. A chunk that does not turn is promised
 *                   to all ranks, in trees that are turns of one another: not the same.
 *     every count   the chunks of rank 0's blocks, as on any rank
 *
 * O(chunks and sums of rank 0).
 */
#ifndef CCS_COMPILER_SYMMETRY_ALIKE_H
#define CCS_COMPILER_SYMMETRY_ALIKE_H

#include "compiler/check/values/bits.h"
#include "compiler/symmetry/turned.h"

bool alike(struct ctx *c, struct turned_run *r, const struct contract *k, struct bits *b);

#endif
