/*
 * Between match.c, deadlock.c, which runs a program greedily, and witness.c, which
 * explains the state in which such a run is stuck.
 */
#ifndef CCS_COMPILER_DEADLOCK_H
#define CCS_COMPILER_DEADLOCK_H

#include "compiler/compile.h"

/* The two sides of a FIFO. */
enum { SENDS, RECVS };

/* A FIFO in a run; index [SENDS] is of its sends, [RECVS] of its receives. */
struct flow {
	uint32_t started[2];	/* AS, AR of program.h, Blocking: their wave has started */
	uint32_t done[2];	/* of these, the ones that their task knows have finished */
	uint32_t want[2];	/* value of started[] that the other side's task is parked
				   for; 0: it is not */
	uint32_t task[2];
};

/* A task in a run: its current wave is rows row .. end. */
struct turn {
	uint32_t row;		/* == end: the wave has not started */
	uint32_t end;
	uint32_t next;		/* first operation not known to have finished */
	uint32_t waiters;	/* heap of the tasks that wait for this one's rows, or NONE */
};

/* A task parked at an OP_WAIT: node of a leftist heap, least need on top. */
struct waiter {
	uint32_t left, right, dist;
	uint32_t need;
};

struct greedy {
	struct ctx *ctx;
	struct program *p;
	uint32_t slots;
	struct flow *flows;
	struct turn *turns;
	struct waiter *waiters;
	uint32_t *ready, nready;	/* tasks that can go on, a stack */
	uint32_t finished;		/* tasks that have run all their rows */
	bool record;			/* into `order`, from its begin */
	struct order order;
	uint32_t caporder;
};

/* Runs the program from its begin with that many slots; returns whether it
 * finishes. If not, `r` holds the state in which it is stuck. O(operations). */
bool deadlock_run(struct greedy *r, uint32_t slots);

/* Runs a program, right or wrong, from its begin as far as it goes at ctx.slots; `r` holds
 * the state that it comes to, r->order the way there, in the compilation's arena. */
void deadlock_run_far(struct greedy *r, struct ctx *c, struct program *p);

/* Reports E0304 for a run that is stuck at `slots` (the number that the user
 * knows; r->slots may be less, as more than the messages of any FIFO are the same).
 * `least`: slots that cure it, or -1. */
void witness_report(struct greedy *r, uint32_t slots, int64_t least);

/* "at 0: every rank waits to send, line 9": what a stuck run is stuck at, in the
 * compilation's arena. */
const char *witness_phrase(struct greedy *r);

/* Makes p->messages, if match() did not: it only does so where it needs them. */
void match_messages(struct ctx *c, struct program *p);

/* "waits to send data[1] to rank 3; the FIFO's 8 slots are full", in the scratch arena: an
 * operation that is no OP_WAIT, at which a run is stuck. */
const char *witness_wait_text(const struct greedy *r, const struct op *o);

/* "par block 0.1", or "" for the main line. */
const char *witness_path_text(struct arena *a, const struct program *p, uint32_t path);

#endif
