/*
 * Runs a plan that is cut into rounds (runtime/plan/plan.h, Rounds) on symbolic values: every rank's
 * rows, launch by launch, and its transfers, matched as NCCL matches them: of one group,
 * the k-th that a rank sends to a peer is the k-th that the peer receives from it. Rows of
 * one launch may run in any order, so they must not touch one another's cells; nor may
 * transfers of one group.
 *
 * A value is a sum of contributions, held as one number: each (rank, cell) weighs a number
 * of its own, modulo 2^64. O(rows + messages of a group * ranks) a group.
 */
#ifndef TESTS_SUPPORT_ROUNDS_SIM_H
#define TESTS_SUPPORT_ROUNDS_SIM_H

#include "runtime/plan/prep.h"
#include "runtime/hosts/rounds_rank.h"

#include <stdbool.h>

struct rounds_value {
	uint64_t sum;
	uint32_t depth; /* most messages that a part of it went through */
	bool has;
};

struct rounds_node {
	struct rounds_rank k;
	struct rounds_value *cells, *initial, *stage;
	/* the row (or transfer) that last wrote or read there, in this launch (group) */
	uint32_t *wrote, *reads, *stage_wrote;
	uint32_t *shared; /* the launch in which several rows last read it */
};

struct rounds_sim {
	const struct ccs_module *m;
	const struct plan_view *v;
	const struct prep *prep;
	bool in_place, premul;
	uint32_t nmessages;
	struct rounds_node *nodes;
	uint32_t width, mark, step;
	char why[160];
};

/** A plan's rounds, of all ranks. False: `why` says what is wrong, here and below; it is
 * to be closed either way. */
bool rounds_sim_open(struct rounds_sim *s, struct ccs_module *m, struct plan_view *v, bool premul);
void rounds_sim_close(struct rounds_sim *s);
/** Whether all ranks end with what the contract says; `depth`: of the values, the most
 * messages that one went through. */
bool rounds_sim_run(struct rounds_sim *s, uint32_t *depth);

#endif
