/*
 * The state of a greedy run of a program (deadlock.c); witness/ explains a run that is stuck.
 */
#ifndef CCS_COMPILER_CHECK_DEADLOCK_H
#define CCS_COMPILER_CHECK_DEADLOCK_H

#include "compiler/check/check.h"

/* The two sides of a FIFO. Inner loops are compiled once for each, with a constant side. */
enum { SENDS, RECVS };
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Number of FIFOs that fit the nearest caches. */
enum { NEAR_FIFOS = 1 << 14 };

/* A FIFO in a run; index [SENDS] is of its sends, [RECVS] of its receives. */
struct flow {
	uint32_t started[2]; /* AS, AR of program.h, Blocking: their wave has started */
	uint32_t done[2];    /* of these, the ones that their task has seen finish */
	uint32_t want[2];    /* the value of started[] for which the other side's task is parked;
				   0: it is not */
	uint32_t task[2];
};

/* Counts a started send or receive; true: the peer was parked for it, and can go on. */
ALWAYS_INLINE bool flow_start(struct flow *f, uint32_t side)
{
	if (++f->started[side] != f->want[side])
		return false;
	f->want[side] = 0;
	return true;
}

/* Whether the next send or receive has finished (or, if fused, could finish). If not, parks its
 * task. Slots are for sends only. */
ALWAYS_INLINE bool flow_done(struct flow *f, uint32_t side, uint32_t all_slots)
{
	uint32_t slots = side == SENDS ? all_slots : 0;
	if (f->started[!side] + slots > f->done[side])
		return true;
	f->want[!side] = f->done[side] + 1 - slots;
	return false;
}

/* A task in a run: its current wave is rows row .. end. Half a cache line with everything that a
 * running task needs, as there are too many tasks for the nearest cache. */
struct progress {
	const struct op *ops; /* the task's */
	uint32_t nops;
	uint32_t row; /* == end: the wave has not started */
	uint32_t end;
	uint32_t next;	  /* first operation not known to have finished */
	uint32_t waiters; /* heap of the tasks that wait for rows of this task, or NONE */
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
	struct progress *progress;
	struct waiter *waiters;	 /* [ntasks]; NULL: none was parked yet */
	uint32_t *ready, nready; /* tasks that can go on, a stack */
	uint32_t finished;	 /* tasks that have run all their rows */
	bool record;		 /* records `order`, from its begin */
	struct order order;
	uint32_t caporder;
};

/* Runs the program from its begin with `slots` slots; returns whether it finishes. If not, `r`
 * holds the state in which it is stuck. O(operations). */
bool deadlock_run(struct greedy *r, uint32_t slots);

/* Whether all tasks go in lockstep (lockstep.c), so that the matched program finishes with any
 * number of slots; *to: an order, in c->arena. O(operations + FIFOs). */
bool deadlock_in_step(struct ctx *c, const struct program *p, struct order *to);

/* Runs a program, right or wrong, from its begin as far as it goes at ctx.slots. `r` holds the
 * final state, r->order the order up to there, in c->arena. */
void deadlock_run_far(struct greedy *r, struct ctx *c, struct program *p);

/* Number of tasks that wait for ever with `slots` slots. O(operations). */
uint32_t deadlock_blocked(struct ctx *c, struct program *p, uint32_t slots);

/* Makes p->messages, if match() did not need them itself. */
void match_messages(struct ctx *c, struct program *p);

#endif
