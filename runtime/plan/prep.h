/*
 * What an executor wants to know of a plan, found once a plan and kept with the
 * module.
 */
#ifndef CCS_RUNTIME_PLAN_PREP_H
#define CCS_RUNTIME_PLAN_PREP_H

#include "runtime/plan/in_place.h"

struct prep_rank {
	bool send, recv; /* some operation touches the caller's buffer */
	bool wants;	 /* the contract says what some cell of recvbuff ends with */
	/* Rows of `ranges`. Cells of inout buffers that keep their value, though
	 * no operation writes them: [keep, reduced). Cells that end with what the
	 * contract calls a sum: [reduced, next rank's keep). */
	uint32_t keep, reduced;
	struct in_place in_place;
	uint64_t held; /* messages that it sends from cells that hold them (CCS_OP_HELD) */
};

struct prep {
	struct prep_rank *ranks; /* nranks + 1: the last closes */
	uint32_t nranks;
	struct cell_range *ranges;
	uint32_t nranges;
	uint32_t *from;	 /* by operation: the one that sends what it receives, or CCS_NONE */
	uint32_t *order; /* plan_order's; or NULL: there was no memory */
	bool *last;	 /* by operation: none of its rank reads what it stores */
	bool stored;	 /* each message is held by its sender, and by its receiver only stored */
	bool relayed;	 /* ... and some are no initial values: they were received before */
};

/** Whether the operation stores what it receives, as it is, and reads nothing else. */
static inline bool prep_only_stores(const struct ccs_op *o)
{
	return o->dst != CCS_NONE && o->a == CCS_NONE && o->b == CCS_NONE &&
	       !(o->flags & CCS_OP_SHIFTED);
}

/** The plan's facts, made now if there are none yet; NULL if memory is short.
 *  Thread-safe. O(operations + nranks x cells) once. */
const struct prep *prep_get(struct ccs_module *m, struct plan_view *v);
void prep_free(struct prep *p);

#endif
