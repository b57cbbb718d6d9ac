/*
 * The graph of waits between tasks in a run that is stuck, and a shortest cycle in it: cycle.c
 * makes it, witness.c reports it.
 */
#ifndef CCS_COMPILER_WITNESS_CYCLE_H
#define CCS_COMPILER_WITNESS_CYCLE_H

#include "compiler/check/deadlock.h"

/* A task's wait for another task. */
struct wait {
	uint32_t task, to;
	uint32_t op;	   /* row of the operation that waits: for the start of */
	uint32_t nth : 31; /* the FIFO's message with this number, */
	uint32_t send : 1; /* its send or its receive; of an OP_WAIT both mean nothing */
};

struct graph {
	struct greedy *r;
	uint32_t n;	 /* tasks */
	uint32_t *first; /* [n + 1]: rows of waits, by task */
	struct wait *waits;
	uint32_t nwaits, capwaits;
	uint32_t *back_first; /* [n + 1]: the same turned round: who waits for a task */
	uint32_t *back;
	uint32_t *degree;	/* waits for tasks that are still in */
	bool *out;		/* left the graph, in this search */
	bool *gone;		/* left it for good: removed */
	uint32_t *queue, *from; /* of a search: from[task]: row of waits that led there */
	uint32_t *seen;		/* number of the search that met the task */
	uint32_t searches;
	uint64_t work;
	struct wait **cycle; /* the best so far; each wait's `to` is the next one's task */
	uint32_t ncycle;
};

/* The graph of a stuck run. O(operations of the stuck waves). */
void graph_init(struct graph *g, struct greedy *r);

/* Finds a shortest cycle, and turns it so that it begins at its smallest rank (and
 * not with an OP_WAIT: no cycle is of these alone). False: there is none. */
bool graph_find_cycle(struct graph *g);

/* Takes out the tasks that wait, directly or not, for one of the cycle, so that the
 * next search finds another one. behind[task] is set for them, and the cycle's own. */
void graph_remove_cycle(struct graph *g, bool *behind);

/* The operation of the cycle's wait `i`, and its rank. */
const struct op *graph_op(const struct graph *g, uint32_t i);
uint32_t graph_rank(const struct graph *g, uint32_t i);

/* Row of the operation of task `to` that has to start for the cycle's wait `i`. O(its operations). */
uint32_t graph_needs(const struct graph *g, uint32_t i);

/* "waits to send data[1] to rank 3; the FIFO's 8 slots are full", in the scratch arena: an
 * operation that is no OP_WAIT, at which a run is stuck. */
const char *witness_wait_text(const struct greedy *r, const struct op *o);

#endif
