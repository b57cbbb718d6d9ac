/*
 * Happens-before queries on a lowered program, for any depth of FIFOs and speed of workers: see
 * before.c.
 */
#ifndef CCS_COMPILER_CHECK_BEFORE_H
#define CCS_COMPILER_CHECK_BEFORE_H

#include "compiler/check/check.h"

#define LIMIT_EVENTS (1u << 22) /* about 80 bytes each */

/* An operation (no WAIT) of a worker. */
struct event {
	uint32_t task, row;
	uint32_t level;	       /* operations on the longest path to it */
	uint32_t next;	       /* the receive of its message, or NONE */
	uint32_t chain, place; /* its chain of messages, and its place there */
	uint32_t cell;	       /* the first cell that it writes, or else reads; NONE: none */
	uint32_t
		version : 31; /* of the cell: events with this `cell` that wrote it, with this one */
	uint32_t writes : 1;
	uint32_t previous; /* the previous event of its worker, or NONE */
	uint32_t others;   /* first row of before.others: its other predecessors, up to the rows
				   of the next event */
};

struct before {
	struct ctx *ctx;
	const struct program *p;
	struct event *events; /* sorted: after all that happen before it */
	uint32_t n;	      /* events[n] has the end of `others` */
	uint32_t *others;     /* events: sends of the messages, and awaited operations */
	uint32_t nothers, capothers;
	uint32_t *by_rank; /* the events of rank r: rows of_rank[r] .. of_rank[r + 1] - 1 */
	uint32_t *of_rank;
	uint32_t *first; /* by task: its first row of `at` */
	uint32_t *at;	 /* by row of a task: its event; NONE: a WAIT */
	uint32_t *got;	 /* by FIFO: messages that were received so far */
	uint32_t *seen;	 /* by event: the last query that visited it */
	uint32_t asked;
	uint64_t most_steps; /* the most events that before_ask_all visits, in all rounds */
};

enum answer { BEFORE_NO, BEFORE_YES, BEFORE_OPEN };

/* A query: has event `early` finished when event `late` begins? */
struct question {
	uint32_t early, late;
	uint32_t subject; /* for the caller */
	uint32_t round;	  /* for before_ask_all */
	enum answer answer;
};

/** Makes the events of a program, in an order that deadlock() found. False: it has more than
 *  LIMIT_EVENTS operations. O(operations + waits + cells of a rank). */
bool before_init(struct before *b, struct ctx *c, const struct program *p,
		 const struct order *order);

static inline uint32_t before_event(const struct before *b, uint32_t task, uint32_t row)
{
	return b->at[b->first[task] + row];
}

/** Answers a query if a short search decides it, else BEFORE_OPEN. O(1). */
enum answer before_ask(struct before *b, uint32_t early, uint32_t late);

/** Answers all queries, and changes their order; queries beyond the limit of work stay BEFORE_OPEN.
 *  O(queries log queries + events * workers asked about). */
void before_ask_all(struct before *b, struct question *q, uint32_t n);

#endif
