/*
 * Which initial values a rank must copy aside when its input and output overlap as in MPI and
 * NCCL.
 */
#ifndef CCS_RUNTIME_PLAN_IN_PLACE_H
#define CCS_RUNTIME_PLAN_IN_PLACE_H

#include "runtime/plan/load.h"

/* Cells [first, first + n). */
struct cell_range {
	uint32_t first, n;
};

/* in blocks, from the start of the output to the start of the input */
struct in_place {
	bool known; /* the overlap exists, and its copies are known: */
	int32_t blocks;
	/* initial values to copy before the call. All other values are at most copied to their
	 * own place. None: no value is overwritten before its last read. */
	uint32_t ncopied;
	struct cell_range *copied;
};

/** What a rank needs in place if its operations run in the plan's orders (of workers and
 *  waits), with held messages. The caller frees `copied`. Not known: also if memory is short.
 *  O(cells that its operations read x (its operations + waits) + its cells) */
struct in_place plan_in_place(const struct ccs_module *m, const struct plan_view *v, uint32_t rank);

#endif
