/*
 * A rank's input and output that lie over one another as in MPI and NCCL.
 */
#ifndef CCS_RUNTIME_PLAN_IN_PLACE_H
#define CCS_RUNTIME_PLAN_IN_PLACE_H

#include "runtime/plan/load.h"

/* Cells [first, first + n). */
struct cell_range {
	uint32_t first, n;
};

/* The input begins so many blocks after the output's beginning. */
struct in_place {
	bool known; /* the contract has such a place, and it is known what it needs: */
	int32_t blocks;
	/* copies of these initial values before anything begins; all others are only copied to
	 * where they lie already. None: nothing is overwritten that is yet to be read. */
	uint32_t ncopied;
	struct cell_range *copied;
};

/** What a rank needs in place where its operations are done in the plan's orders (of workers and
 *  waits), with held messages. `copied` is the caller's to free. Not known: memory is short, too.
 *  O(the rank's operations x their cells and waits + cells) */
struct in_place plan_in_place(const struct ccs_module *m, const struct plan_view *v, uint32_t rank);

#endif
