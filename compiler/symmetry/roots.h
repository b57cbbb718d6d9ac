/*
 * One root decides for all roots.
 *
 * In: an instance that runs with any root, and its program for one root, which is right. Out:
 * whether the programs of all other roots are this one with ranks renumbered: rank r + c with root
 * R + c (mod N) does, chunk for chunk, what rank r does with root R. Then the other programs are
 * right, with the same figures: matching, slots, races, values and bits do not depend on the
 * numbers of ranks.
 *
 * The text decides (kinds.h). Here a turn moves the ranks and the root together, so the root
 * parameter is WITHIN, 1 as `rank` is, and an expression that is SAME, such as (rank - R) % N, has
 * equal values on rank r for R and on rank r + c for R + c. The contract must turn likewise. Chunks
 * stay, as in broadcasts and reductions, which the text shows; or they turn, as the blocks of a
 * gather. Then every rank is run (turns.h), to check that a turning index has N values and that no
 * cell turns in two ways. Two chunks at the same place of their blocks must stay so for all roots,
 * as lengths and bits depend on it.
 *
 * O(text), or O(operations) where chunks turn.
 */
#ifndef CCS_COMPILER_SYMMETRY_ROOTS_H
#define CCS_COMPILER_SYMMETRY_ROOTS_H

#include "compiler/ctx.h"
#include "compiler/program.h"

/** Whether the program stands for all roots. Reports nothing. */
bool roots_turn(struct ctx *c, const struct instance *in, struct program *p);

#endif
