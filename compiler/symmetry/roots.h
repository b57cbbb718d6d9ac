/*
 * One root decides for all.
 *
 * In: an instance whose root is chosen at run time, and its program, which is right. Out: whether
 * the programs of all other roots are this one but for the names of ranks: rank r + c with root
 * R + c (mod N) does, chunk for chunk, what rank r does with root R. Then these are right, too, with
 * the same figures: matching, slots, races, values and bits do not ask which number a rank has.
 *
 * It is the text that says so (kinds.h): the turn is of the ranks and of the root, so the
 * parameter that is the root turns as `rank` does, and what is SAME on rank r for R, such as
 * (rank - R) % N, is the same on rank r + c for R + c. The contract must turn likewise. Chunks stay, as
 * in broadcasts and reductions, which the text tells; or they turn, as a gather's blocks, and then
 * each rank is run to see how (turns.h): that the index of what turns has N values, and that no
 * cell turns in two ways. What is in its place in its block must be so for all roots, as lengths
 * and bits hang on that. O(text), or O(operations) where chunks turn.
 */
#ifndef CCS_COMPILER_SYMMETRY_ROOTS_H
#define CCS_COMPILER_SYMMETRY_ROOTS_H

#include "compiler/ctx.h"
#include "compiler/program.h"

/** Reports nothing. */
bool roots_turn(struct ctx *c, const struct instance *in, struct program *p);

#endif
