/*
 * Whether a rank's input and output may lie over one another as in MPI and NCCL.
 */
#ifndef CCS_RUNTIME_PLAN_IN_PLACE_H
#define CCS_RUNTIME_PLAN_IN_PLACE_H

#include "runtime/plan/load.h"

/* The input begins so many blocks after the output's beginning. */
struct in_place {
	bool safe; /* no initial value is overwritten that some operation has yet to read */
	int32_t blocks;
};

/** Where the rank's input lies in place, and whether a plan that is done in its orders (of
 *  workers and waits), with held messages, keeps what it needs; not safe: memory is short, too.
 *  O(the rank's operations x their cells and waits + cells) */
struct in_place plan_in_place(const struct ccs_module *m, const struct plan_view *v, uint32_t rank);

#endif
