/*
 * Messages in flight, while a program runs on symbolic values (replay.c).
 *
 * A FIFO is a queue of values. Nearly always it has at most two messages of one chunk, which are in
 * the queue itself. Otherwise, and if a hook needs the rows of the sends, messages are in a list
 * (messages.c). O(1) a message and chunk.
 */
#ifndef CCS_COMPILER_CHECK_VALUES_MESSAGES_H
#define CCS_COMPILER_CHECK_VALUES_MESSAGES_H

#include "compiler/check/values/replay.h"

/** From now on the FIFO's messages are in a list. */
void messages_list(struct replay *r, struct queue *q);

/** Appends a message of n cells to the list; the caller fills in its values. */
struct sent *messages_post(struct replay *r, uint32_t fifo, uint32_t n, uint32_t depth,
			   uint32_t row);

/** Takes the next message of a list that is not empty. */
struct sent messages_take(struct replay *r, struct queue *q);

/** The n values of a message; n may be 0. */
static inline uint32_t *messages_values(struct replay *r, struct sent *m, uint32_t n)
{
	return n <= 1 ? &m->value : r->more + m->at;
}

/** Sends a message of one cell. If a hook needs rows, all messages are in lists. */
static inline void messages_post_one(struct replay *r, uint32_t fifo, uint32_t value,
				     uint32_t depth, uint32_t row)
{
	struct queue *q = &r->queues[fifo];

	if (__builtin_expect(q->few[1].value != NONE, 0)) {
		messages_post(r, fifo, 1, depth, row)->value = value;
		return;
	}
	uint32_t i = q->few[0].value != NONE;
	q->few[i].value = value;
	q->few[i].depth = depth;
}

/** Takes the next message of one cell: its value, and in *depth the sender's. */
static inline uint32_t messages_take_one(struct replay *r, uint32_t fifo, uint32_t *depth,
					 uint32_t *row)
{
	struct queue *q = &r->queues[fifo];
	uint32_t value = q->few[0].value;

	*depth = q->few[0].depth;
	*row = 0;
	if (__builtin_expect(q->few[1].value == NONE, 1)) {
		q->few[0].value = NONE;
		return value;
	}
	if (q->few[1].value == LISTED) {
		struct sent m = messages_take(r, q);
		*depth = m.depth;
		*row = m.row;
		return m.value;
	}
	q->few[0] = q->few[1];
	q->few[1].value = NONE;
	return value;
}

#endif
