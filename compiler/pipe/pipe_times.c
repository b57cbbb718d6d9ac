/*
 * Times: when each action of a pipeline runs.
 *
 * In: a sound text, and what computations and messages take; without that F, I and W take one unit, B two, and
 * messages none. Out: start and end of each action, by the run that times every schedule (cost/timing.c, messages
 * whole); of a deadlock, up to where it stops. The computations of a bracket end together: they take their
 * time one behind the other, whichever kernels overlap. O(actions log actions).
 */
#include "compiler/pipe/pipe.h"

#include <stdlib.h>

const struct pipe_cost pipe_in_units = {
	.work = { [PIPE_F] = 1, [PIPE_B] = 2, [PIPE_I] = 1, [PIPE_W] = 1 }
};

static double takes(const struct pipe_cost *cost, const struct pipe_action *a)
{
	return pipe_computes(a->kind) ? cost->work[a->kind] : 0;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* By action: whether its operation, or its wait for a send, has ended in that run. */
static bool *ended(struct ctx *c, const struct pipe *p, const struct greedy *run)
{
	bool *to = ARENA_ARRAY(c->scratch, bool, p->n);

	for (uint32_t t = 0; t < run->p->ntasks; t++)
		for (uint32_t i = 0; i < run->progress[t].row; i++)
			if (op_kind(&run->progress[t].ops[i]) != OP_WAIT ||
			    pipe_waits(p->v[run->progress[t].ops[i].site].kind))
				to[run->progress[t].ops[i].site] = true;
	return to;
}

/* Runs it in time. False: a message has no path on the machine, which is reported. */
static bool run_in_time(struct ctx *c, const struct pipe *p, const struct program *prog,
			const struct pipe_cost *cost, struct pipe_times *to)
{
	struct ctx apart = *c;
	struct timeline line = { .last = NONE };
	double *work = ARENA_ARRAY(c->scratch, double, p->n);
	const bool *end = ended(c, p, &to->run);
	const struct simulation *s;

	apart.arena = c->scratch;
	for (uint32_t i = 0; i < p->n; i++) {
		work[i] = takes(cost, &p->v[i]);
		to->start[i] = -1;
		to->end[i] = end[i] ? 0 : -1;
	}
	s = simulation_of_pipeline(&apart, prog, work, cost->machine);
	if (!s)
		return false;
	to->predicted = simulate(&apart, s, cost->bytes, &line);
	for (uint32_t i = 0; i < line.nops; i++) {
		uint32_t at = timeline_op(prog, &line.ops[i])->site;

		to->start[at] = line.ops[i].start;
		to->end[at] = end[at] ? line.ops[i].end : -1;
	}
	for (uint32_t i = p->n; i-- > 1;)
		if (p->v[i].joined && pipe_computes(p->v[i].kind)) /* their wave ends */
			to->end[i - 1] = to->end[i];
	return true;
}

/* ---- what they come to ------------------------------------------------------------------ */

/* A rank holds what a forward made until its backward has ended, the weights' too. */
static void add_up(struct pipe_times *t, const struct pipe *p, const struct pipe_cost *cost)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		uint32_t held = 0;
		double work = 0;
		for (uint32_t i = p->first[r], end; i < p->first[r + 1]; i = end) {
			uint32_t ended = 0;
			end = pipe_bracket_end(p, i);
			for (uint32_t k = i; k < end; k++) {
				held += p->v[k].kind == PIPE_F;
				ended += p->v[k].kind == PIPE_B || p->v[k].kind == PIPE_W;
				work += takes(cost, &p->v[k]);
				if (t->end[k] < 0 || !pipe_computes(p->v[k].kind))
					continue;
				t->busy += takes(cost, &p->v[k]);
				t->length = later(t->length, t->end[k]);
			}
			t->held = held > t->held ? held : t->held;
			held -= ended;
		}
		t->most = later(t->most, work);
		t->computing += work > 0;
	}
}

/* A message between two ranks, from the end of the computation that makes it to the start of the one
 * that takes it. */
struct flight {
	uint64_t pair;
	double time;
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
static void divide(struct pipe_times *t, const struct pipe *p, const struct pipe_cost *cost)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (!pipe_computes(p->v[i].kind) || t->end[i] < 0)
			continue;
		if (p->v[i].joined)
			t->start[i] = t->end[i - 1];
		t->end[i] = t->start[i] + takes(cost, &p->v[i]);
	}
}

struct pipe_times pipe_times(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
			     const struct pipe_cost *cost)
{
	struct pipe_times t = { .length = 0 };
	struct program *prog = pipe_program(c, p, streams);

	if (!match(c, prog))
		return t;
	t.start = ARENA_ARRAY(c->scratch, double, p->n);
	t.end = ARENA_ARRAY(c->scratch, double, p->n);
	deadlock_run_far(&t.run, c, prog);
	if (!run_in_time(c, p, prog, cost, &t))
		return t;
	t.finishes = t.run.finished == prog->ntasks;
	add_up(&t, p, cost);
	if (t.finishes)
		t.in_flight = most_in_flight(c, p, &t);
	divide(&t, p, cost);
	return t;
}
