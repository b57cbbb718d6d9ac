/*
 * Mistakes, put into a plan that is right: the simulator of plan_sim.h must notice them.
 */
#ifndef TESTS_SUPPORT_PLAN_MUTATE_H
#define TESTS_SUPPORT_PLAN_MUTATE_H

#include "tests/support/plan_sim.h"

enum sim_mutation {
	DROP_OP,
	RETARGET,
	SWAP,
	LENGTH,
	REMOTE,
	NOT_FREE,
	UNMARK,
	NOT_HELD,
	UNHOLD,
	NOT_READ,
	UNREAD,
	WRONG_FIFO,
	DROP_WAIT,
	NO_SLOTS,
	MUTATIONS
};

/** Changes operation i, of worker w; with DROP_WAIT the last of its waits, which is `gone`.
 * False: there is nothing to change. */
bool sim_mutate(struct sim_plan *p, enum sim_mutation m, int w, int i, struct sim_wait *gone);

#endif
