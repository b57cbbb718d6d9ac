/*
 * Times: when each action of a pipeline runs.
 *
 * In: a sound text. Out: start and end of each action, where F, I and W take one unit, B two, and
 * messages none. The greedy run of deadlock.c gives an order in which all waves can start and
 * finish; along it, each task's clock is the latest end that its waves wait for. So times follow the
 * rules by which a deadlock is judged. The computations of a bracket end together: they take their time
 * one behind the other, whichever kernels overlap. O(actions log actions).
 */
#include "compiler/pipe/pipe.h"

#include <stdlib.h>

struct timing {
	const struct pipe *p;
	const struct program *prog;
	struct pipe_times *to;
	uint32_t slots;
	uint32_t *clock;		  /* [ntasks] */
	uint32_t **behind;		  /* [ntasks], by row: the clock behind its wave */
	uint32_t *(*started)[2];	  /* by FIFO and side, by message: when its wave started */
	uint32_t (*begun)[2], (*over)[2]; /* by FIFO and side: messages */
};

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* When the next message of that end has finished. */
static uint32_t message_end(struct timing *x, uint32_t fifo, uint32_t side)
{
	uint32_t k = x->over[fifo][side]++, mine = x->started[fifo][side][k];

	if (side == SENDS && k < x->slots)
		return mine;
	if (side == SENDS)
		k -= x->slots;
	return later(mine, x->started[fifo][!side][k]);
}

static void start_wave(struct timing *x, const struct op *ops, uint32_t n, uint32_t now)
{
	for (const struct op *o = ops; o < ops + n; o++) {
		uint32_t side = op_kind(o) == OP_SEND ? SENDS : RECVS;
		if (op_is_end(o))
			x->started[o->fifo][side][x->begun[o->fifo][side]++] = now;
		if (op_kind(o) != OP_WAIT)
			x->to->start[o->site] = now;
	}
}

static void run_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct timing *x = arg;
	const struct op *ops = &x->prog->tasks[task].ops[row];
	uint32_t now = x->clock[task];

	if (starts) {
		start_wave(x, ops, n, now);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct op *o = &ops[i];
		if (op_is_end(o))
			now = later(now,
				    message_end(x, o->fifo, op_kind(o) == OP_SEND ? SENDS : RECVS));
		else if (op_kind(o) == OP_WAIT)
			now = later(now, x->behind[o->fifo][o->other - 1]);
		else
			now += pipe_units(&x->p->v[o->site]);
	}
	for (uint32_t i = 0; i < n; i++)
		if (op_kind(&ops[i]) != OP_WAIT || pipe_waits(x->p->v[ops[i].site].kind))
			x->to->end[ops[i].site] = now;
	x->behind[task][row + n - 1] = x->clock[task] = now;
}

static struct timing begin(struct ctx *c, const struct pipe *p, struct program *prog,
			   struct pipe_times *to)
{
	struct timing x = { .p = p, .prog = prog, .to = to, .slots = c->slots };

	to->start = none_array(c->scratch, p->n);
	to->end = none_array(c->scratch, p->n);
	x.clock = ARENA_ARRAY(c->scratch, uint32_t, prog->ntasks);
	x.behind = ARENA_ARRAY(c->scratch, uint32_t *, prog->ntasks);
	for (uint32_t t = 0; t < prog->ntasks; t++)
		x.behind[t] = ARENA_ARRAY(c->scratch, uint32_t, prog->tasks[t].nops);
	x.started = arena_alloc(c->scratch, prog->nfifos * sizeof(*x.started));
	x.begun = arena_alloc(c->scratch, prog->nfifos * sizeof(*x.begun));
	x.over = arena_alloc(c->scratch, prog->nfifos * sizeof(*x.over));
	for (uint32_t f = 0; f < prog->nfifos; f++)
		for (int side = 0; side < 2; side++)
			x.started[f][side] =
				ARENA_ARRAY(c->scratch, uint32_t, prog->fifos[f].nsends);
	return x;
}

/* ---- what they come to ------------------------------------------------------------------ */

/* A rank holds what a forward made until its backward has ended, the weights' too. */
static void add_up(struct pipe_times *t, const struct pipe *p)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		uint32_t held = 0, work = 0;
		for (uint32_t i = p->first[r], end; i < p->first[r + 1]; i = end) {
			uint32_t ended = 0;
			end = pipe_bracket_end(p, i);
			for (uint32_t k = i; k < end; k++) {
				held += p->v[k].kind == PIPE_F;
				ended += p->v[k].kind == PIPE_B || p->v[k].kind == PIPE_W;
				work += pipe_units(&p->v[k]);
				if (t->end[k] == NONE || !pipe_computes(p->v[k].kind))
					continue;
				t->busy += pipe_units(&p->v[k]);
				t->length = later(t->length, t->end[k]);
			}
			t->held = later(t->held, held);
			held -= ended;
		}
		t->computing += work > 0;
	}
}

/* A message between two ranks, from the end of the computation that makes it to the start of the one
 * that takes it. */
struct flight {
	uint64_t pair;
	uint32_t time;
	int32_t change;
};

static int by_time(const void *a, const void *b)
{
	const struct flight *x = a, *y = b;

	if (x->pair != y->pair)
		return x->pair < y->pair ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->change - y->change;
}

static uint32_t most_in_flight(struct ctx *c, const struct pipe *p, const struct pipe_times *t)
{
	struct flight *v = ARENA_ARRAY(c->scratch, struct flight, 2 * (size_t)p->n);
	uint32_t n = 0;
	int32_t most = 0, now = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t from = pipe_far_maker(p, i);
		if (from == NONE)
			continue;
		uint64_t pair = (uint64_t)p->v[from].rank << 32 | p->v[i].rank;
		v[n++] = (struct flight){ pair, t->end[from], 1 };
		v[n++] = (struct flight){ pair, t->start[i], -1 };
	}
	qsort(v, n, sizeof(*v), by_time);
	for (uint32_t i = 0; i < n; i++) {
		now += v[i].change;
		most = now > most ? now : most;
	}
	return (uint32_t)most;
}

/* The computations of a bracket one behind the other. */
static void divide(struct pipe_times *t, const struct pipe *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (!pipe_computes(p->v[i].kind) || t->end[i] == NONE)
			continue;
		if (p->v[i].joined)
			t->start[i] = t->end[i - 1];
		t->end[i] = t->start[i] + pipe_units(&p->v[i]);
	}
}

struct pipe_times pipe_times(struct ctx *c, const struct pipe *p, enum pipe_streams streams)
{
	struct pipe_times t = { .length = 0 };
	struct program *prog = pipe_program(c, p, streams);

	if (!match(c, prog))
		return t;
	struct timing x = begin(c, p, prog, &t);
	deadlock_run_far(&t.run, c, prog);
	t.finishes = t.run.finished == prog->ntasks;
	order_walk(&t.run.order, prog, c->scratch, run_event, &x);
	add_up(&t, p);
	if (t.finishes)
		t.in_flight = most_in_flight(c, p, &t);
	divide(&t, p);
	return t;
}
