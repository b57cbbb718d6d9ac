/*
 * Lockstep: programs in which both ends of every message are in waves of the same number.
 *
 * In: a matched program that is not lowered. Out: whether, for every message, the waves of send and
 * receive have the same number, counted from the begin of their tasks; and then an order.
 *
 * Why that has no deadlock: when all tasks have started their waves 0 .. k, both ends of every
 * message of these waves have started. So they can all finish, without slots (program.h, Blocking),
 * and all tasks can start wave k + 1. The program need not be run: each task is read once, in
 * order. The first end of a message that is read notes the number of its wave, and the other end
 * compares it. A fused operation is never in lockstep, as its two ends do not start together.
 * Rings, pairs, direct and doubling schedules are in lockstep; trees and chains mostly are not,
 * which shows within the first tasks. O(operations + FIFOs).
 */
#include "compiler/check/deadlock.h"

struct steps {
	const struct program *p;
	uint32_t (*next)[2]; /* by FIFO: the next message of each side, a row of `wave` */
	uint32_t *wave;	     /* by message, FIFO after FIFO: its wave, once an end was seen */
	uint32_t *waves;     /* by task: the number of its waves */
	uint64_t nwaves;     /* of all tasks */
	bool far;	     /* more FIFOs than the nearest caches hold */
};

/* Distance of prefetches of FIFOs, in operations. */
enum { STEPS_AHEAD = 16 };

/* Lays out the messages of the FIFOs one after another. */
static void steps_init(struct steps *x, const struct program *p, struct arena *scratch)
{
	uint32_t n = 0;

	*x = (struct steps){ .p = p, .far = p->nfifos > NEAR_FIFOS };
	x->next = arena_grow(scratch, NULL, 0, p->nfifos * sizeof(*x->next));
	for (uint32_t f = 0; f < p->nfifos; f++) {
		x->next[f][SENDS] = x->next[f][RECVS] = n;
		n += p->fifos[f].nsends;
	}
	x->wave = arena_grow(scratch, NULL, 0, n * sizeof(*x->wave));
	x->waves = ARENA_ARRAY(scratch, uint32_t, p->ntasks);
}

/* Notes an end in wave `wave`; false: the other end is in another wave. */
static inline bool in_step(struct steps *x, uint32_t fifo, uint32_t side, uint32_t wave)
{
	uint32_t *next = x->next[fifo], k = next[side]++;

	if (next[!side] > k)
		return x->wave[k] == wave;
	x->wave[k] = wave;
	return true;
}

/* Whether the task is in lockstep with the tasks before it. */
static bool task_in_step(struct steps *x, uint32_t t)
{
	const struct task *k = &x->p->tasks[t];
	const struct op *ops = k->ops; /* NULL if the task has no operations */
	uint32_t waves = 0;
	bool same = true;

	for (uint32_t i = 0; i < k->nops && same; i++) {
		const struct op *o = &ops[i];
		if (x->far && i + STEPS_AHEAD < k->nops && op_is_end(o + STEPS_AHEAD))
			__builtin_prefetch(x->next[o[STEPS_AHEAD].fifo], 1);
		waves += !(o->kind & OP_JOINED);
		if (op_is_fused(o)) /* its two ends start one after another */
			same = false;
		else if (op_is_end(o))
			same = in_step(x, o->fifo, op_kind(o) == OP_SEND ? SENDS : RECVS, waves);
		else
			same = op_kind(o) != OP_WAIT;
	}
	x->waves[t] = waves;
	x->nwaves += waves;
	return same;
}

/* Removes the tasks with at most `waves` waves; returns the number that is left. *until: the least
 * number of waves of these. */
static uint32_t drop_finished(const struct steps *x, uint32_t *tasks, uint32_t n, uint32_t waves,
			      uint32_t *until)
{
	uint32_t left = 0;

	*until = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = tasks[i], has = x->waves[t];
		if (has <= waves)
			continue;
		tasks[left++] = t;
		*until = has < *until ? has : *until;
	}
	return left;
}

/* Makes the order: wave by wave, and each wave task by task. */
static void put_order(const struct steps *x, struct arena *arena, struct arena *scratch,
		      struct order *to)
{
	uint32_t *tasks = ARENA_ARRAY(scratch, uint32_t, x->p->ntasks), n = x->p->ntasks, until;
	struct stretch *v;

	for (uint32_t t = 0; t < n; t++)
		tasks[t] = t;
	n = drop_finished(x, tasks, n, 0, &until);
	v = to->v = arena_grow(arena, NULL, 0, (x->nwaves + n) * sizeof(*v));
	for (uint32_t i = 0; i < n; i++)
		*v++ = (struct stretch){ tasks[i] & TASK_BITS, 1 };
	for (uint32_t wave = 1; n; wave++) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t more = wave < until || x->waves[tasks[i]] > wave;
			*v++ = (struct stretch){ tasks[i] & TASK_BITS, (1 + more) & MOST_EVENTS };
		}
		if (wave == until)
			n = drop_finished(x, tasks, n, wave, &until);
	}
	to->n = (uint32_t)(v - to->v);
}

bool deadlock_in_step(struct ctx *c, const struct program *p, struct order *to)
{
	struct steps x;

	if (p->lowered || p->alone)
		return false;
	steps_init(&x, p, c->scratch);
	for (uint32_t t = 0; t < p->ntasks; t++)
		if (!task_in_step(&x, t))
			return false;
	put_order(&x, c->arena, c->scratch, to);
	return true;
}
