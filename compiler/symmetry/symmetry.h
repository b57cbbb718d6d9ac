/*
 * Symmetry: checks rank 0 in place of all ranks.
 *
 * In: an instance of any schedule. Out: that it is right, with the same figures as the passes over
 * all ranks would give; or no answer, if the text is not symmetric, the rules here do not suffice,
 * or something is wrong. Then the passes over all ranks decide, so they report every mistake.
 *
 * In most schedules rank r does what rank 0 does, with peers and chunks moved on by r. The parts:
 *
 *   kinds     the text -> the value of each expression on other ranks
 *   turns     N -> the program of rank 0, and how its cells turn. The proof that it stands for all
 *             ranks is in turns.h
 *   promise   whether the contract turns in the same way
 *   mirror    ... where odd ranks mirror even ones: whether rank 1 mirrors rank 0
 *   begun     which ranks have begun when rank 0 ends, if the contract needs it
 *   turned    rank 0's values against the contract; arcs: sets of ranks
 *   alike     same bits; still: turns that take a tree of additions to itself, by mirrors
 *   roots     one root for all roots
 *
 * O(operations of rank 0 + chunks that they touch), for N ranks.
 */
#ifndef CCS_COMPILER_SYMMETRY_SYMMETRY_H
#define CCS_COMPILER_SYMMETRY_SYMMETRY_H

#include "compiler/check/values/bits.h"

struct symmetric {
	bool right;		 /* all below holds */
	const char *why;	 /* else: why one rank does not decide; NULL: something is wrong */
	struct program *program; /* of rank 0 alone; not for passes over all ranks */
	const struct program *one; /* its quotient (turns.h), if ranks turn by adding; else NULL */
	const struct contract *contract;
	int64_t min_slots;
	struct fewer_slots fewer; /* as in struct deadlock_report */
	uint32_t steps;
	double sent; /* by each rank, in blocks of `count` elements */
	struct bits bits;
	struct dead_list stores; /* for dead_add: the statements that store; none has a dead
				    operation */
};

/** Checks the instance. Reports nothing; results are in c->arena. */
struct symmetric symmetry(struct ctx *c, const struct instance *in);

#endif
