/*
 * Depths of tasks after each wave, for messages without buffers (--slots 0).
 *
 * In: a program, and an order of its waves that needs no slots. Out: the depths (replay.h): the
 * depth after a wave with messages is one more than the greatest depth, before their waves, of its
 * own task and of the tasks at the other ends. With slots (replay.c) only a receive depends on its
 * send; here a send also depends on its receive:
 *
 *     rank 0: send to 1, send to 2      rank 1: receive from 2, receive from 0
 *     rank 2: send to 1, receive from 0
 *
 * are 2 steps with slots, and 3 without, as rank 0 sends to rank 2 after rank 1's second receive.
 *
 * When a wave ends, the waves of all other ends have begun, so their depths are known.
 * O(operations).
 */
#include "compiler/check/deadlock.h"
#include "compiler/check/values/replay.h"

struct unbuffered {
	const struct program *p;
	uint32_t *depth;		   /* [ntasks] */
	uint32_t **behind;		   /* [ntasks], by row: the result */
	uint32_t (*begun)[2], (*ended)[2]; /* by FIFO and side: the next rows of `before` */
	uint32_t (*before)[2]; /* by message and side: the task's depth before the wave */
};

static void begin(struct unbuffered *x, uint32_t fifo, uint32_t side, uint32_t depth)
{
	x->before[x->begun[fifo][side]++][side] = depth;
}

/* The depth after a wave with this end of a message. */
static uint32_t end(struct unbuffered *x, uint32_t fifo, uint32_t side, uint32_t depth)
{
	uint32_t other = x->before[x->ended[fifo][side]++][!side];

	return (depth > other ? depth : other) + 1;
}

static void run_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct unbuffered *x = arg;
	const struct op *ops = x->p->tasks[task].ops;
	uint32_t was = x->depth[task], depth = was;

	for (uint32_t i = row; i < row + n; i++) {
		const struct op *o = &ops[i];
		uint32_t side = op_kind(o) == OP_SEND ? SENDS : RECVS, at = 0;
		if (op_is_end(o) && starts)
			begin(x, o->fifo, side, was);
		else if (op_is_end(o))
			at = end(x, o->fifo, side, was);
		else if (op_kind(o) == OP_WAIT && o->other && !starts)
			at = x->behind[o->fifo][o->other - 1];
		depth = at > depth ? at : depth;
	}
	if (!starts)
		x->behind[task][row + n - 1] = x->depth[task] = depth;
}

uint32_t **unbuffered_depths(const struct program *p, const struct order *order,
			     struct arena *arena)
{
	struct unbuffered x = { .p = p };
	uint32_t messages = 0;

	x.depth = ARENA_ARRAY(arena, uint32_t, p->ntasks);
	x.behind = ARENA_ARRAY(arena, uint32_t *, p->ntasks);
	for (uint32_t t = 0; t < p->ntasks; t++)
		x.behind[t] = ARENA_ARRAY(arena, uint32_t, p->tasks[t].nops);
	x.begun = arena_alloc(arena, p->nfifos * sizeof(*x.begun));
	x.ended = arena_alloc(arena, p->nfifos * sizeof(*x.ended));
	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		for (int side = 0; side < 2; side++)
			x.begun[f][side] = x.ended[f][side] = messages;
		messages += q->nsends > q->nrecvs ? q->nsends : q->nrecvs;
	}
	x.before = arena_alloc(arena, messages * sizeof(*x.before));
	order_walk(order, p, arena, run_event, &x);
	return x.behind;
}
