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
	uint32_t op;	   /* row of the waiting operation. It waits for the start of ... */
	uint32_t nth : 31; /* ... the FIFO's message with this number: ... */
	uint32_t send : 1; /* ... its send, or its receive. Unused for an OP_WAIT */
};

struct graph {
	struct greedy *r;
	uint32_t n;	 /* tasks */
	uint32_t *first; /* [n + 1]: rows of waits, by task */
	struct wait *waits;
	uint32_t nwaits, capwaits;
	uint32_t *back_first; /* [n + 1]: the reverse graph: the tasks that wait for a task */
	uint32_t *back;
	uint32_t *degree;	/* number of waits for tasks that are in the graph */
	bool *out;		/* left the graph, in this search */
	bool *gone;		/* removed for good */
	uint32_t *queue, *from; /* of a search: from[task]: row of the wait that led there */
	uint32_t *seen;		/* number of the search that visited the task */
	uint32_t searches;
	uint64_t work;
	struct wait **cycle; /* the best so far; each wait's `to` is the next one's task */
	uint32_t ncycle;
};

/* The graph of a stuck run. O(operations of the stuck waves). */
void graph_init(struct graph *g, struct greedy *r);

/* Finds a shortest cycle, and rotates it so that it begins at its smallest rank, and not with an
 * OP_WAIT, unless it has only these, as in MSCCL XML. False: there is none. */
bool graph_find_cycle(struct graph *g);

/* Removes the tasks of the cycle, and the tasks that wait for them, directly or indirectly, so that
 * the next search finds another cycle. behind[task] is set for all of these. */
void graph_remove_cycle(struct graph *g, bool *behind);

/* The operation of the cycle's wait `i`, and its rank. */
const struct op *graph_op(const struct graph *g, uint32_t i);
uint32_t graph_rank(const struct graph *g, uint32_t i);

/* The row of the operation of task `to` for which the cycle's wait `i` waits. O(its operations). */
uint32_t graph_needs(const struct graph *g, uint32_t i);

/* "waits to send data[1] to rank 3; the FIFO's 8 slots are full", in the scratch arena, for an
 * operation at which a run is stuck; an OP_WAIT only where operations have names (struct site). */
const char *witness_wait_text(const struct greedy *r, const struct op *o);

#endif
