/*
 * One rank's part of a plan's rounds (plan.h, Rounds): rows for kernels, and the messages that it
 * exchanges with its peers in each round.
 */
#ifndef CCS_RUNTIME_HOSTS_ROUNDS_RANK_H
#define CCS_RUNTIME_HOSTS_ROUNDS_RANK_H

#include "runtime/cuda/device/args.h"
#include "runtime/plan/load.h"

enum rounds_where {
	ROUNDS_STAGE,  /* `at` is a cell of the stage */
	ROUNDS_CELLS,  /* ... of the receive buffer, or scratch */
	ROUNDS_INITIAL /* ... of the send buffer */
};

struct rounds_transfer {
	uint32_t peer;
	bool sends;
	bool adjacent; /* several cells, in place on both sides */
	bool len_same; /* as CCS_OP_LEN_SAME */
	enum rounds_where where;
	uint32_t at, n, len; /* cells; the operation's `len`, equal on both sides */
};

/* Rows [row, row + n). No two of them touch the same cell. */
struct rounds_launch {
	uint32_t row, n;
};

/* Each row is a worker with one operation on one cell. The tables have one rank, numbered 0.
 * Rows send from and receive into cells of the stage. One more row has no operations: it does the
 * work after all rounds. */
struct rounds_rank {
	uint32_t nrounds;
	uint32_t nrows;
	struct ccs_dev_op *ops;		/* [nrows + 1] */
	struct ccs_dev_worker *workers; /* [nrows + 1] */
	uint32_t stage_cells;
	struct rounds_launch *launches;
	uint32_t *phase; /* [nrounds + 2]: launches of phase i, in order */
	struct rounds_transfer *transfers;
	uint32_t *round; /* [nrounds + 2]: transfers of round i */
};

/** Makes the rank's part. `premul`: initial values are scaled, so they cannot be sent from the
 *  send buffer. Columns are not contiguous, so they go through the stage. CCS_ENOMEM.
 *  Cost: rounds_rank.c. */
ccs_status rounds_rank_make(struct rounds_rank *k, const struct ccs_module *m,
			    const struct plan_view *v, uint32_t rank, bool premul);
void rounds_rank_free(struct rounds_rank *k);

#endif
