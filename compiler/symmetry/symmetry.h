/*
 * Symmetry: one rank decides for all.
 *
 *   kinds     the text -> the value of each expression on other ranks
 *   turns     N -> the program of rank 0, and how its cells turn; it stands for all ranks
 *   promise   whether the contract turns in the same way
 *   begun     which ranks have begun when rank 0 ends, if the contract needs it
 *   turned    rank 0's values against the contract; arcs: sets of ranks
 *   alike     same bits
 *   roots     one root for all of a schedule that has one
 *
 * In: an instance of any schedule. Out: that it is right, with the same figures as the passes
 * over all ranks give; or no answer, and those passes have to decide: the text is not symmetric,
 * the rules here do not suffice, or something is wrong. So mistakes are always reported by the
 * passes over all ranks. O(operations of rank 0 + chunks that they touch), for N ranks.
 */
#ifndef CCS_COMPILER_SYMMETRY_SYMMETRY_H
#define CCS_COMPILER_SYMMETRY_SYMMETRY_H

#include "compiler/check/values/bits.h"

struct symmetric {
	bool right;		 /* all below holds */
	const char *why;	 /* else: why one rank does not decide; NULL: something is wrong */
	struct program *program; /* of rank 0 alone; no pass over all ranks may have it */
	const struct contract *contract;
	int64_t min_slots;
	struct fewer_slots fewer; /* as in struct deadlock_report */
	uint32_t steps;
	double sent; /* by each rank, in blocks of `count` elements */
	struct bits bits;
	struct dead_list stores; /* the statements that store; none has a dead operation. For
				    dead_add */
};

/** Tries it. Reports nothing; results are in c->arena. */
struct symmetric symmetry(struct ctx *c, const struct instance *in);

#endif
