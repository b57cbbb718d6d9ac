/*
 * Facts of a plan that executors need, computed at first use and kept with the module.
 */
#ifndef CCS_RUNTIME_PLAN_PREP_H
#define CCS_RUNTIME_PLAN_PREP_H

#include "runtime/plan/in_place.h"

struct prep_rank {
	bool send, recv; /* some operation touches the caller's buffer */
	bool wants;	 /* the contract defines the final value of some cell of recvbuff */
	/* Rows of `ranges`. [keep, reduced): cells of inout buffers that keep their value
	 * without a write. [reduced, next rank's keep): cells that the contract defines as a
	 * sum. */
	uint32_t keep, reduced;
	struct in_place in_place;
	uint64_t held; /* messages that it sends from the cells that hold them (CCS_OP_HELD) */
};

struct prep {
	struct prep_rank *ranks; /* nranks + 1: the last ends the ranges */
	uint32_t nranks;
	struct cell_range *ranges;
	uint32_t nranges;
	uint32_t *from;	 /* by operation: the operation that sends its message, or CCS_NONE */
	uint32_t *order; /* as from plan_order; NULL: no memory */
	bool *last;	 /* by operation: no operation of its rank reads what it stores */
	bool stored;	 /* each message is held by its sender and only stored by its receiver */
	bool relayed;	 /* ... and some messages are not initial values */
};

/** Whether the operation only stores its message, unchanged. */
static inline bool prep_only_stores(const struct ccs_op *o)
{
	return o->dst != CCS_NONE && o->a == CCS_NONE && o->b == CCS_NONE &&
	       !(o->flags & CCS_OP_SHIFTED);
}

/** The facts of the plan, computed at the first call; NULL if memory is short. Thread-safe. Cost
 *  of the first call: see prep.c. */
const struct prep *prep_get(struct ccs_module *m, struct plan_view *v);
void prep_free(struct prep *p);

#endif
