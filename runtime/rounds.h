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
#ifndef CCS_RUNTIME_ROUNDS_H
#define CCS_RUNTIME_ROUNDS_H

#include "runtime/device/args.h"
#include "runtime/load.h"

struct rounds_message {
	uint32_t fifo, seq;
	uint32_t sends, receives;	/* rows of `events` */
	uint32_t round;			/* from 1; 0: without cells, and not sent */
	bool from_cells, to_cells;	/* in place, on the sending and the receiving side */
};

/* An operation of a worker. */
struct rounds_event {
	uint32_t op;			/* row of the plan's ops */
	uint32_t rank;
	uint32_t phase, level;
	uint32_t in, out;		/* rows of `messages`, or CCS_NONE */
};

struct rounds {
	uint32_t nrounds, nmessages, nevents;
	struct rounds_message *messages; /* by round, FIFO, number: on both sides alike */
	uint32_t *begin;		/* [nrounds + 2]: round i's are [begin[i], begin[i + 1]) */
	struct rounds_event *events;	/* by rank, worker, place */
	uint32_t *first;		/* [nranks + 1]: a rank's events */
	bool premul;			/* initial values are scaled, so not sent as they are */
};

/** CCS_EFILE: a plan that cannot be right; CCS_ENOMEM. O(cells of all operations +
 *  messages * log + nranks * cells). */
ccs_status rounds_make(struct rounds *r, const struct ccs_module *m, const struct plan_view *v,
		       bool premul);
void rounds_free(struct rounds *r);

/* ---- one rank's part (rounds_rank.c) ----------------------------------------------- */

enum rounds_where {
	ROUNDS_STAGE,		/* `at` is a cell of the stage */
	ROUNDS_CELLS,		/* ... of the receive buffer, or scratch */
	ROUNDS_INITIAL		/* ... of the send buffer */
};

struct rounds_transfer {
	uint32_t peer;
	bool sends;
	bool adjacent;		/* several cells, in place on both sides */
	bool len_same;		/* as CCS_OP_LEN_SAME */
	enum rounds_where where;
	uint32_t at, n, len;	/* cells; the sender's `len` */
};

/* Rows [row, row + n), which do not touch one another's cells. */
struct rounds_launch {
	uint32_t row, n;
};

/* Rows are workers of one operation of one cell, of rank 0, the only one in these
 * tables. What they send and receive is cells of the stage; one without operations is
 * behind the last. */
struct rounds_rank {
	uint32_t nrounds;
	uint32_t nrows;
	struct ccs_dev_op *ops;		/* [nrows + 1] */
	struct ccs_dev_worker *workers;	/* [nrows + 1] */
	uint32_t stage_cells;
	struct rounds_launch *launches;
	uint32_t *phase;		/* [nrounds + 2]: launches of phase i, in order */
	struct rounds_transfer *transfers;
	uint32_t *round;		/* [nrounds + 2]: transfers of round i */
};

ccs_status rounds_rank_make(struct rounds_rank *k, const struct rounds *r,
			    const struct plan_view *v, uint32_t rank);
void rounds_rank_free(struct rounds_rank *k);

/** What an operation sends lies in its cells once it is done: in `dst`, or where it read
 *  it. CCS_NONE: nowhere. */
uint32_t rounds_source(const struct rounds *r, const struct ccs_op *o, bool *initial);

#endif
