/*
 * The prover: whether a module's plans are right, from their bytes alone.
 *
 * In: a module of checked form (verify.c). Out: CCS_OK, and what was proved, or the first mistake,
 * in words. It is for programs that must not trust the bytes: `ccc`, before it writes them, and
 * `ccrun --verify`. It knows plan.h and how executors run a plan, and shares no code with the
 * passes that make plans.
 *
 * Proved of each plan, for every number of tiles and replicas, for every timing, in
 * place and out of place:
 *   - it ends, with FIFOs of the module's slots (prove_run.c);
 *   - operations of a rank that touch the same cell, one of them to write it, are in an
 *     order by workers and waits alone; cells of a direct message are free when it is
 *     sent, and those of a held one stay as they are until it is received (prove_touch.c,
 *     prove_before.c);
 *   - every promised cell ends with the promised value (prove_cells.c);
 *   - no rank ends before the ranks that the plan names have begun (prove_after.c);
 *   - all parts of an operation, and both ends of a message, have the same length, for
 *     every count that can be run, and a message's receiver is the one in the plan (prove_step.c);
 *   - between hosts, operations keep their order, in as few rounds as can be, and messages
 *     in place are free to be (prove_rounds.c).
 * (A chunk `by column` is as long as another that is cut alike, or the count is refused; one that
 * is `sized` as others of its number in `sizes`, or the call's sizes are: prove_sizes.c.)
 * Not proved: `steps`, `choices` and source lines, which no result depends on.
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_H

#include "runtime/plan/load.h"

/* What was proved of a plan. */
struct prove_facts {
	uint64_t messages, direct;
	uint64_t promised;     /* final values */
	bool uneven;	       /* values move to chunks at other places in their block */
	uint64_t asked;	       /* orders of two operations that are not plain to see ... */
	uint64_t asked_direct; /* ... and the orders that direct and held messages need */
	uint64_t bytes;	       /* memory that it took */
};

/** Proves one plan within `memory` bytes of memory (0: three quarters of the machine's).
 *  CCS_EFILE: it is not right; CCS_ENOMEM. Thread-safe. Time: O(cells that operations touch +
 *  waits + nranks * cells + contributions), and where an order is not plain to see, O(operations)
 *  for each 64 workers that such questions are about. Memory: 24 bytes a cell of a rank, 12 an
 *  operation, 64 a worker, and the values held at a time; for questions 8 an operation more, 20 a
 *  question (a million at a time), and 256 for each worker, wait and message under way. */
ccs_status prove_plan(const struct ccs_module *m, const struct plan_view *v, uint64_t memory,
		      struct prove_facts *facts);

/** What the plans together say of the module: `uneven` is whether any of them is. */
ccs_status prove_flags(const struct ccs_module *m, bool uneven);

/** All plans, and the flags: see ccs_module_verify. */
ccs_status prove_module(const struct ccs_module *m, uint64_t memory, ccs_proved *proved, void *of);

#endif
