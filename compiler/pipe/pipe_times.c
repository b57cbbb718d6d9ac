/*
 * Times: when each action of a pipeline runs.
 *
 * In: a sound text. Out: start and end of each action, where F, I and W take one unit, B two, and
 * messages none. For a picture (pipe_times) with the queues and slots that were asked for: the greedy
 * run of deadlock.c gives an order in which all waves can start and finish; along it, each task's
 * clock is the latest end that its waves wait for. So times follow the rules by which a deadlock is
 * judged. O(actions).
 *
 * For the table (pipe_measures) of the computations alone, in the order of the text: each starts when
 * the one before it and its input have ended, as if all messages were buffered. O(actions log actions).
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

	if (side == SENDS && k < x->slots && x->slots > 0)
		return mine;
	if (side == SENDS)
		k -= x->slots;
	return later(mine, x->started[fifo][!side][k]);
}

static uint32_t units(const struct pipe_action *a)
{
	return a->kind == PIPE_B ? 2 : pipe_computes(a->kind);
}

static void run_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct timing *x = arg;
	const struct op *ops = x->prog->tasks[task].ops;
	uint32_t was = x->clock[task], now = was;

	for (uint32_t i = row; i < row + n; i++) {
		const struct op *o = &ops[i];
		uint32_t side = op_kind(o) == OP_SEND ? SENDS : RECVS;
		bool end = op_is_end(o), wait = op_kind(o) == OP_WAIT;
		if (starts && end)
			x->started[o->fifo][side][x->begun[o->fifo][side]++] = was;
		if (starts && !wait)
			x->to->start[o->site] = was;
		if (starts)
			continue;
		uint32_t at = end		 ? message_end(x, o->fifo, side)
			      : wait && o->other ? x->behind[o->fifo][o->other - 1]
			      : wait		 ? 0
						 : was + units(&x->p->v[o->site]);
		if (!wait || pipe_waits(x->p->v[o->site].kind))
			x->to->end[o->site] = later(at, was);
		now = later(now, at);
	}
	if (!starts)
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

/* The computations of the two on one rank that start together take their time one behind the
 * other, whichever kernels overlap. */
static void add_up(struct pipe_times *t, const struct pipe *p)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		bool computes = false;
		for (uint32_t i = p->first[r]; i < p->first[r + 1]; i++) {
			uint32_t n = units(&p->v[i]);
			computes |= n > 0;
			if (!n || t->end[i] == NONE)
				continue;
			t->busy += n;
			t->length = later(t->length, t->end[i]);
		}
		t->computing += computes;
	}
}

/* A rank holds what a forward made until its backward has ended, the weights' too. */
static void count_held(struct pipe_times *t, const struct pipe *p)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		uint32_t held = 0;
		for (uint32_t i = p->first[r], end; i < p->first[r + 1]; i = end) {
			uint32_t ended = 0;
			for (end = i; end == i || (end < p->first[r + 1] && p->v[end].joined);
			     end++) {
				held += p->v[end].kind == PIPE_F;
				ended += p->v[end].kind == PIPE_B || p->v[end].kind == PIPE_W;
			}
			t->held = later(t->held, held);
			held -= ended;
		}
	}
}

/* ---- of computations alone ---------------------------------------------------------------- */

struct measuring {
	const struct pipe *p;
	struct pipe_times *t;
	uint32_t *at, *clock; /* by rank */
	uint32_t *ready, nready;
	bool *queued;
};

static bool is_backward(const struct pipe_action *a)
{
	return a->kind == PIPE_B || a->kind == PIPE_I;
}

/* The computation that makes its input, or the one that takes its result; NONE: there is none. */
static uint32_t input_of(const struct pipe *p, const struct pipe_action *a)
{
	if (a->kind == PIPE_F)
		return a->stage ? pipe_at(p, PIPE_F, a->stage - 1, a->mb) : NONE;
	if (!is_backward(a))
		return NONE;
	return a->stage + 1 < p->nstages ? pipe_backward(p, a->stage + 1, a->mb)
					 : pipe_at(p, PIPE_F, a->stage, a->mb);
}

static uint32_t taker_of(const struct pipe *p, const struct pipe_action *a)
{
	if (a->kind == PIPE_F)
		return a->stage + 1 < p->nstages ? pipe_at(p, PIPE_F, a->stage + 1, a->mb) : NONE;
	return is_backward(a) && a->stage ? pipe_backward(p, a->stage - 1, a->mb) : NONE;
}

static void look_at(struct measuring *x, uint32_t rank)
{
	if (!x->queued[rank])
		x->ready[x->nready++] = rank;
	x->queued[rank] = true;
}

/* The computation at row i, with those in its bracket, up to row `end`. False: it lacks an input. */
static bool measure(struct measuring *x, uint32_t i, uint32_t end)
{
	const struct pipe *p = x->p;
	uint32_t rank = p->v[i].rank, start = x->clock[rank], stop;

	for (uint32_t k = i; k < end; k++) {
		uint32_t from = input_of(p, &p->v[k]);
		if (from == NONE || (from >= i && from < end))
			continue;
		if (x->t->end[from] == NONE)
			return false;
		start = later(start, x->t->end[from]);
	}
	stop = start;
	for (uint32_t k = i; k < end; k++)
		stop += units(&p->v[k]);
	x->clock[rank] = stop;
	for (uint32_t k = i; k < end; k++) {
		uint32_t to = taker_of(p, &p->v[k]);
		x->t->start[k] = start;
		x->t->end[k] = stop;
		if (to != NONE)
			look_at(x, p->v[to].rank);
	}
	return true;
}

static void measure_rank(struct measuring *x, uint32_t rank)
{
	uint32_t *i = &x->at[rank], last = x->p->first[rank + 1], end;

	for (; *i < last; *i = end) {
		for (end = *i + 1; end < last && x->p->v[end].joined; end++)
			;
		if (pipe_computes(x->p->v[*i].kind) && !measure(x, *i, end))
			return;
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
	uint32_t n = 0, most = 0, now = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t to = pipe_computes(p->v[i].kind) ? taker_of(p, &p->v[i]) : NONE;
		if (to == NONE || p->v[to].rank == p->v[i].rank)
			continue;
		uint64_t pair = (uint64_t)p->v[i].rank << 32 | p->v[to].rank;
		v[n++] = (struct flight){ pair, t->end[i], 1 };
		v[n++] = (struct flight){ pair, t->start[to], -1 };
	}
	qsort(v, n, sizeof(*v), by_time);
	for (uint32_t i = 0; i < n; i++) {
		now += (uint32_t)v[i].change;
		most = now < UINT32_MAX / 2 ? later(most, now) : most;
	}
	return most;
}

struct pipe_times pipe_measures(struct ctx *c, const struct pipe *p)
{
	struct pipe_times t = { .finishes = true };
	struct measuring x = { .p = p, .t = &t };

	t.start = none_array(c->scratch, p->n);
	t.end = none_array(c->scratch, p->n);
	x.at = arena_copy(c->scratch, p->first, p->nranks * sizeof(*x.at));
	x.clock = ARENA_ARRAY(c->scratch, uint32_t, p->nranks);
	x.ready = ARENA_ARRAY(c->scratch, uint32_t, p->nranks);
	x.queued = ARENA_ARRAY(c->scratch, bool, p->nranks);
	for (uint32_t r = p->nranks; r-- > 0;)
		look_at(&x, r);
	while (x.nready) {
		uint32_t rank = x.ready[--x.nready];
		x.queued[rank] = false;
		measure_rank(&x, rank);
	}
	for (uint32_t r = 0; r < p->nranks; r++)
		t.finishes &= x.at[r] == p->first[r + 1];
	add_up(&t, p);
	count_held(&t, p);
	if (t.finishes)
		t.in_flight = most_in_flight(c, p, &t);
	return t;
}

struct pipe_times pipe_times(struct ctx *c, const struct pipe *p, enum pipe_streams streams)
{
	struct pipe_times t = { .length = 0 };
	struct program *prog = pipe_program(c, p, streams);
	struct greedy r;

	if (!match(c, prog))
		return t;
	struct timing x = begin(c, p, prog, &t);
	deadlock_run_far(&r, c, prog);
	t.finishes = r.finished == prog->ntasks;
	order_walk(&r.order, prog, c->scratch, run_event, &x);
	add_up(&t, p);
	count_held(&t, p);
	return t;
}
