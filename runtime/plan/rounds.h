/*
 * A plan as rounds, for an engine that exchanges messages in groups (NCCL's grouped
 * send and receive): all of a round's messages go at once, and between two rounds each
 * rank does what it can. Pure: no CUDA here, no NCCL.
 *
 * Phases and levels. Phase p comes after round p (phase 0: before all) and holds the
 * operations that can be done then: an operation follows the message that it receives
 * and the operations of its rank that touch the same cells before it, at least one of
 * the two to write; those of one phase that follow one another have ascending levels.
 * The message that an operation of phase p sends goes in round p + 1. So a message's
 * round is one more than that of the latest message that its value, or the place where
 * the value is, depends on: no plan can do with fewer. All processes derive the same
 * numbers, since a plan without races has one order of conflicting operations, whatever
 * order they are looked at in.
 *
 * Rounds always exist. A plan that was proved to end with some slots ends with more
 * (more slots only remove waiting), so that orders of workers, waits and messages alone,
 * without the wait for free slots, have no cycle. Staging takes the place of slots.
 *
 * Order. Where a plan promises that ranks end after others have begun, each operation also
 * follows the one before it of its worker, and those that it waits for; and messages
 * without cells have rounds, too. Elsewhere only values count, and such messages are not
 * sent.
 *
 * In place. A message is received where its receiver stores it unchanged, if the cells
 * are free at that round, and sent from cells that hold it, if nobody writes there before
 * the round: then one side needs no staging. A message of several cells is in place on
 * both sides or on none, so that both cut it alike.
 */
#ifndef CCS_RUNTIME_PLAN_ROUNDS_H
#define CCS_RUNTIME_PLAN_ROUNDS_H

#include "runtime/plan/load.h"

struct rounds_message {
	uint32_t fifo, seq;
	uint32_t sends, receives;  /* rows of `events` */
	uint32_t round;		   /* from 1; 0: without cells, and not sent */
	bool from_cells, to_cells; /* in place, on the sending and the receiving side */
};

/* An operation of a worker. */
struct rounds_event {
	uint32_t op; /* row of the plan's ops */
	uint32_t rank;
	uint32_t phase, level;
	uint32_t in, out; /* rows of `messages`, or CCS_NONE */
};

struct rounds {
	uint32_t nrounds, nmessages, nevents;
	struct rounds_message *messages; /* by round, FIFO, number: on both sides alike */
	uint32_t *begin;		 /* [nrounds + 2]: round i's are [begin[i], begin[i + 1]) */
	struct rounds_event *events;	 /* by rank, worker, place */
	uint32_t *first;		 /* [nranks + 1]: a rank's events */
	bool premul;			 /* initial values are scaled, so not sent as they are */
};

/** CCS_EFILE: a plan that cannot be right; CCS_ENOMEM. O(cells of all operations +
 *  messages * log + nranks * cells). */
ccs_status rounds_make(struct rounds *r, const struct ccs_module *m, const struct plan_view *v,
		       bool premul);
void rounds_free(struct rounds *r);

/** What an operation sends lies in its cells once it is done: in `dst`, or where it read
 *  it. CCS_NONE: nowhere. */
uint32_t rounds_source(const struct rounds *r, const struct ccs_op *o, bool *initial);

#endif
