/*
 * Program -> lowered program: each task is a worker of the plan, and all checks have passed again.
 */
#ifndef CCS_COMPILER_LOWER_LOWERED_H
#define CCS_COMPILER_LOWER_LOWERED_H

#include "compiler/check/check.h"

struct lowered {
	struct program *program;
	struct proof proof;
	struct order order; /* an order in which it can run */
	/* By message, see direct(); NULL: none is. */
	const bool *direct, *held, *read;
};
/* Lowers the program and verifies the result: match, deadlock at ctx.slots, race, proof, the order
 * of sums, after. `order`: an order in which the program can run. NULL: a bug of the compiler,
 * reported as E0704, "internal error ...". */
struct lowered *lower(struct ctx *c, const struct program *p, const struct contract *k,
		      const struct order *order);

/* Finds the messages that the sender may write into the receiver's cells, and the messages that the
 * receiver may read from the sender's cells (runtime/plan/plan.h, Direct copies, Held messages,
 * Direct reads). O(operations + cells touched), nearly always. */
void direct(struct ctx *c, struct lowered *l);

/* The protocol to use on GPUs, by size. In c->arena. */
struct choice_list;
const struct choice_list *protocols_choose(struct ctx *c, const struct lowered *l);

#endif
