/*
 * What happens before what in a lowered program, whatever the depth of FIFOs and the
 * speed of workers: see before.c.
 */
#ifndef CCS_COMPILER_CHECK_BEFORE_H
#define CCS_COMPILER_CHECK_BEFORE_H

#include "compiler/check/check.h"

#define LIMIT_EVENTS (1u << 22) /* some 80 bytes each */

/* An operation (no WAIT) of a worker. */
struct event {
	uint32_t task, row;
	uint32_t level;	       /* operations on the longest way to it */
	uint32_t next;	       /* the receive of its message, or NONE */
	uint32_t chain, place; /* of the chain of messages that it is on, and where */
	uint32_t cell;	       /* (the first) that it writes, or else reads; NONE: none */
	uint32_t
		version : 31; /* of the cell: events with this `cell` that wrote it, with this one */
	uint32_t writes : 1;
	uint32_t previous; /* of its worker, or NONE */
	uint32_t others;   /* row of before.others: what else it waits for, up to the next
				   event's */
};

struct before {
	struct ctx *ctx;
	const struct program *p;
	struct event *events; /* whatever happens before an event stands before it */
	uint32_t n;	      /* and events[n] closes `others` */
	uint32_t *others;     /* events: senders of the messages, workers' ends of waits */
	uint32_t nothers, capothers;
	uint32_t *by_rank; /* the events of rank r: rows of_rank[r] .. of_rank[r + 1] */
	uint32_t *of_rank;
	uint32_t *first; /* by task: its first row of `at` */
	uint32_t *at;	 /* by row of a task: its event; NONE: a WAIT */
	uint32_t *got;	 /* by FIFO: messages that were received so far */
	uint32_t *seen;	 /* by event: the last question that came by */
	uint32_t asked;
	uint64_t most_steps; /* events that before_ask_all goes through, in all rounds */
};

enum answer { BEFORE_NO, BEFORE_YES, BEFORE_OPEN };

/* Is event `early` over when event `late` begins? */
struct question {
	uint32_t early, late;
	uint32_t subject; /* the asker's */
	uint32_t round;	  /* before_ask_all's */
	enum answer answer;
};

/** All events of a program, in an order that deadlock() found. False: it has more than
 *  LIMIT_EVENTS operations. O(operations + waits + cells of a rank). */
bool before_init(struct before *b, struct ctx *c, const struct program *p,
		 const struct order *order);

static inline uint32_t before_event(const struct before *b, uint32_t task, uint32_t row)
{
	return b->at[b->first[task] + row];
}

/** Answers what can be answered at once, else BEFORE_OPEN. O(1). */
enum answer before_ask(struct before *b, uint32_t early, uint32_t late);

/** Answers all questions, in another order; those beyond the limit on work stay
 *  BEFORE_OPEN. O(questions log questions + events * workers asked for). */
void before_ask_all(struct before *b, struct question *q, uint32_t n);

#endif
