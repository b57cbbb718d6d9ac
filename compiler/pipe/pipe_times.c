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
	uint32_t *clock;     /* [ntasks] */
	uint32_t **behind;   /* [ntasks], by row: the clock behind its wave */
	uint32_t (*over)[2]; /* by FIFO and side: messages */
};

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* When the next message of that end has finished: both ends have started, but of a send that has a slot. */
static uint32_t message_end(struct timing *x, const struct op *o)
{
	const struct fifo *q = &x->prog->fifos[o->fifo];
	bool sends = op_kind(o) == OP_SEND;
	uint32_t k = x->over[o->fifo][sends ? SENDS : RECVS]++, mine = x->to->start[o->site];

	if (sends && k < x->slots)
		return mine;
	const struct message *m = &x->prog->messages[q->first + k - (sends ? x->slots : 0)];
	const struct op *other = sends ? &x->prog->tasks[q->dst_task].ops[m->recv]
				       : &x->prog->tasks[q->src_task].ops[m->send];
	return later(mine, x->to->start[other->site]);
}

static void run_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct timing *x = arg;
	const struct op *ops = &x->prog->tasks[task].ops[row];
	uint32_t now = x->clock[task];

	for (uint32_t i = 0; i < n && starts; i++)
		if (op_kind(&ops[i]) != OP_WAIT)
			x->to->start[ops[i].site] = now;
	if (starts)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct op *o = &ops[i];
		if (op_is_end(o))
			now = later(now, message_end(x, o));
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
	match_messages(c, prog);
	struct timing x = { .p = p, .prog = prog, .to = &t, .slots = c->slots };
	t.start = none_array(c->scratch, p->n);
	t.end = none_array(c->scratch, p->n);
	x.clock = ARENA_ARRAY(c->scratch, uint32_t, prog->ntasks);
	x.over = arena_alloc(c->scratch, prog->nfifos * sizeof(*x.over));
	x.behind = ARENA_ARRAY(c->scratch, uint32_t *, prog->ntasks);
	for (uint32_t k = 0; k < prog->ntasks; k++)
		x.behind[k] = ARENA_ARRAY(c->scratch, uint32_t, prog->tasks[k].nops);
	deadlock_run_far(&t.run, c, prog);
	t.finishes = t.run.finished == prog->ntasks;
	order_walk(&t.run.order, prog, c->scratch, run_event, &x);
	add_up(&t, p);
	if (t.finishes)
		t.in_flight = most_in_flight(c, p, &t);
	divide(&t, p);
	return t;
}
