/*
 * What follows from a plan's other rows (runtime/plan/plan.h): who receives a message, which
 * operations others wait for, when they are done between hosts. Found by comparing every
 * operation with every other, which does not scale; it shares no code with the
 * compiler or the prover.
 */
#ifndef CCS_TESTS_PLAN_FACTS_H
#define CCS_TESTS_PLAN_FACTS_H

#include "runtime/plan/load.h"

#include <stdbool.h>

/** A plan's tables, of which `ops` and `workers` can be written. */
struct facts_plan {
	struct ccs_plan *p;
	struct ccs_worker *workers;
	struct ccs_op *ops;
	const struct ccs_wait *waits;
	const struct ccs_fifo *fifos;
};

/** Writes what follows from the rest, with no message in place. False, and nothing is
 *  written: nothing does, since messages have no other end, or the plan never ends. */
bool plan_facts_fill(struct facts_plan *f);

/** Whether plan i of an open module says of itself what follows from it; messages need not
 *  be in place wherever they could. */
bool plan_facts_hold(const struct ccs_module *m, size_t i);

#endif
