/*
 * Walks the tasks of a rank in an order that their waits allow: each task up to a wait for rows that
 * are not walked yet, then first the task with these. O(operations) for all ranks.
 */
#ifndef CCS_COMPILER_CHECK_WALK_H
#define CCS_COMPILER_CHECK_WALK_H

#include "compiler/check/check.h"

struct rank_walk {
	const struct program *p;
	uint32_t *first, *tasks; /* of rank r: tasks[first[r]] .. tasks[first[r + 1] - 1] */
	uint32_t *done;		 /* by task: rows walked */
	struct goal *stack;
	uint32_t depth, size;
};

/** Sorts the tasks by rank. O(ranks + tasks). */
void rank_walk_init(struct rank_walk *w, struct arena *a, const struct program *p);

/** Calls `wave` for each wave of `n` operations of the rank, after all rows for which it waits; an
 *  OP_WAIT is a wave, too. A rank can be walked once. False: tasks wait in a cycle. */
bool rank_walk(struct rank_walk *w, uint32_t rank,
	       void (*wave)(void *arg, uint32_t task, uint32_t row, uint32_t n), void *arg);

#endif
