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
 * (rank - R) % N, is the same on rank r + c for R + c. The contract must turn likewise. Here all
 * chunks must stay: broadcasts and reductions, but no gathers. O(text).
 */
#ifndef CCS_COMPILER_SYMMETRY_ROOTS_H
#define CCS_COMPILER_SYMMETRY_ROOTS_H

#include "compiler/ctx.h"
#include "compiler/program.h"

/** Reports nothing. */
bool roots_turn(struct ctx *c, const struct instance *in, struct program *p);

#endif
