/*
 * The prover: whether a module's plans are right, from their bytes alone.
 *
 * In: a module of checked form (verify.c). Out: CCS_OK and what was proved, or the first mistake,
 * in words. It is for programs that must not trust the bytes: `ccc` before it writes them, and
 * `ccrun --verify`. It knows plan.h and how executors run a plan, and shares no code with the
 * passes that make plans.
 *
 * Proved of each plan, for every number of tiles and replicas, for every timing, in place and out
 * of place:
 *   - it ends, with FIFOs of the module's slots (prove_run.c);
 *   - operations of a rank that touch the same cell, one of them to write it, are ordered by
 *     workers and waits alone; cells of a direct message are free when it is sent, and cells of a
 *     held message do not change until it is received (prove_touch.c, prove_before.c);
 *   - every promised cell ends with the promised value (prove_cells.c);
 *   - no rank ends before the ranks that the plan names have begun (prove_after.c);
 *   - all parts of an operation, and both ends of a message, have the same length for every count
 *     that can be run, and the receiver of a message is the one in the plan (prove_step.c);
 *   - between hosts, operations keep their order, in as few rounds as possible, and messages in
 *     place are free to be in place (prove_rounds.c).
 * (A `by column` chunk is as long as another with the same cut, or the count is refused. `sized`
 * chunks with one number in `sizes` are equally long, or the call's sizes are refused:
 * prove_sizes.c.)
 *
 * Not proved: `steps`, `choices` and source lines, on which no result depends.
 *
 * The idea: one run with symbolic values (prove_value.c) decides for all runs, because every order that a result
 * depends on is proved to be the same in all of them.
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_H

#include "runtime/plan/load.h"

/* What was proved of a plan. */
struct prove_facts {
	uint64_t messages, direct;
	uint64_t promised;     /* final values */
	bool uneven;	       /* values move to chunks at other places in their block */
	uint64_t asked;	       /* orders of two operations that need a search (prove_before.c)
			          ... */
	uint64_t asked_direct; /* ... and such orders for direct and held messages */
	uint64_t bytes;	       /* bytes used */
};

/** Proves one plan within `memory` bytes (0: three quarters of the machine's). CCS_EFILE: it is
 *  not right; CCS_ENOMEM. Thread-safe. Time: O(cells that operations touch + waits + nranks *
 *  cells + contributions); orders that need a search add O(operations) for each 64 workers in
 *  the questions. Memory: 24 bytes a cell of a rank, 12 an operation, 64 a worker, and the
 *  values alive at a time; questions add 8 an operation, 20 a question (a million at a time),
 *  and 256 for each worker, wait and message under way. */
ccs_status prove_plan(const struct ccs_module *m, const struct plan_view *v, uint64_t memory,
		      struct prove_facts *facts);

/** Checks the module's flags. `uneven`: as proved of any of its plans. */
ccs_status prove_flags(const struct ccs_module *m, bool uneven);

/** Proves all plans, and the flags, one plan at a time: see ccs_module_verify. */
ccs_status prove_module(const struct ccs_module *m, uint64_t memory, ccs_proved *proved, void *of);

#endif
