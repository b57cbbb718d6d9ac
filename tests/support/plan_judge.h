/*
 * Whether a module's plans are right, for the second time: as runtime/plan/proof/prove.h does, but by
 * the simulator, sets of operations as bits, and real runs, none of which scales. It shares
 * no code with the prover or the compiler.
 */
#ifndef CCS_TESTS_PLAN_JUDGE_H
#define CCS_TESTS_PLAN_JUDGE_H

#include "tests/support/plan_bytes.h"

enum verdict {
	RIGHT,
	FORMAL,	   /* it runs right, but a number of it is not true, or only messages put
			   two operations in order, which waits must */
	NOT_PROVED /* it does not */
};

/** Plan i, alone. */
enum verdict judge_plan(const struct ccs_module *m, size_t i, struct sim_failure *why);
/** Whether the module must refuse odd counts just if it does; its plans are right. */
bool judge_counts(const struct ccs_module *m);

/** Runs plan i for some counts, in place and out of place, with sums and premul-sums.
 *  False, and why: some element is not what the module promises, or a run fails. */
bool judge_runs(struct ccs_module *m, size_t i, struct sim_failure *why);

#endif
