/*
 * Program -> lowered program: the plan as a program, and proved again.
 */
#ifndef CCS_COMPILER_LOWER_LOWERED_H
#define CCS_COMPILER_LOWER_LOWERED_H

#include "compiler/check/check.h"

/* The lowered program: workers, waits, fused forms. Verified (match, deadlock at ctx.slots, race,
 * proof, and the order of sums); where a candidate that merges or fuses would deadlock, the next
 * plainer one is taken. NULL: a bug of ours, reported as a diagnostic without a code; its message
 * begins "internal error". `order`: one that the program can run in. */
struct lowered {
	struct program *program;
	struct proof proof;
	struct order order; /* that it can be run in */
	/* By message, see direct(); NULL: none is. */
	const bool *direct, *held, *read;
};
struct lowered *lower(struct ctx *c, const struct program *p, const struct contract *k,
		      const struct order *order);

/* Finds the messages that may be written where their receiver stores them, as soon as they are
 * sent, and the messages that their receiver may read in the sender's cells (runtime/plan/plan.h,
 * Direct copies, Held messages, Direct reads). O(operations + cells touched), nearly always. */
void direct(struct ctx *c, struct lowered *l);

/* For which sizes which protocol pays on GPUs, and on how many channels. In c->arena. */
struct choice_list;
const struct choice_list *protocols_choose(struct ctx *c, const struct lowered *l);

#endif
