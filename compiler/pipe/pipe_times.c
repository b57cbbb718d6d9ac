/*
 * Times: when each action of a pipeline runs.
 *
 * By the run that times every schedule (cost/timing.c, messages whole); of a deadlock, up to where it stops. The
 * computations of a bracket end together: they take their time one behind the other, whichever kernels overlap.
 */
#include "compiler/pipe/pipe.h"

#include <math.h>
#include <stdlib.h>

const struct pipe_cost pipe_in_units = {
	.work = { [PIPE_F] = 1, [PIPE_B] = 2, [PIPE_I] = 1, [PIPE_W] = 1 }
};

/* In us, without what is lost in seconds, so that equal times compare as equal. */
static double in_us(double seconds)
{
	return seconds < 0 ? -1 : round(seconds * 1e12) / 1e6;
}

/* A rank holds what a forward made until its backward has ended, the weights' too. */
static void add_up(struct pipe_times *t, const struct pipe *p, const struct pipe_cost *cost)
{
	double busy = 0, work = 0; /* of all; of the rank */
	uint32_t computing = 0, held = 0, ended = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		if (i && a->rank != p->v[i - 1].rank)
			work = held = ended = 0;
		held -= a->joined ? 0 : ended;
		ended = a->joined ? ended : 0;
		if (!(a->does & PIPE_COMPUTES))
			continue;
		held += a->kind == PIPE_F;
		ended += a->kind == PIPE_B || a->kind == PIPE_W;
		t->held = held > t->held ? held : t->held;
		computing += work == 0 && cost->work[a->kind] > 0;
		work += cost->work[a->kind];
		busy += t->end[i] < 0 ? 0 : cost->work[a->kind];
		t->most = fmax(t->most, work);
		t->length = fmax(t->length, t->end[i]);
	}
	double all = computing * t->length;
	t->idle = all > 0 ? 1 - busy / all : 0;
}

/* A message between two ranks is sent (1), or taken (-1). */
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
	return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->change - y->change;
}

/* From the end of the computation that makes it to the start of the one that takes it. */
static void count_flights(struct ctx *c, const struct pipe *p, struct pipe_times *t)
{
	struct flight *v = ARENA_ARRAY(c->scratch, struct flight, 2 * (size_t)p->n);
	uint32_t n = 0;
	int32_t now = 0, most = 0; /* what is taken as it is sent counts as taken first */

	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t from = p->takes[i].far;
		if (from == NONE || !(p->v[i].does & PIPE_COMPUTES))
			continue;
		uint64_t pair = (uint64_t)p->v[from].rank << 32 | p->v[i].rank;
		v[n++] = (struct flight){ pair, t->end[pipe_bracket_end(p, from) - 1], 1 };
		v[n++] = (struct flight){ pair, t->start[i], -1 };
	}
	qsort(v, n, sizeof(*v), by_time);
	for (uint32_t i = 0; i < n; i++) {
		now += v[i].change;
		most = now > most ? now : most;
	}
	t->in_flight = (uint32_t)most;
}

struct pipe_times pipe_times(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
			     const struct pipe_cost *cost)
{
	struct pipe_times t = { .streams = streams, .program = pipe_program(c, p, streams) };
	struct ctx apart = *c;
	struct timeline line = { .last = NONE };
	double *work = ARENA_ARRAY(c->scratch, double, p->n);
	const struct simulation *s;

	apart.arena = c->scratch;
	t.start = ARENA_ARRAY(c->scratch, double, p->n);
	t.end = ARENA_ARRAY(c->scratch, double, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		work[i] = p->v[i].does & PIPE_COMPUTES ? cost->work[p->v[i].kind] * 1e-6 : 0;
		t.start[i] = t.end[i] = -1;
	}
	s = simulation_of_pipeline(&apart, t.program, work, cost->machine);
	if (!s) /* a message has no path on the machine */
		return t;
	t.predicted = simulate(&apart, s, cost->bytes, &line);
	t.whole = in_us(t.predicted.seconds);
	for (uint32_t i = 0; i < line.nops; i++) {
		uint32_t at = timeline_op(t.program, &line.ops[i])->site;
		t.start[at] = in_us(line.ops[i].start);
		if (p->v[at].does & PIPE_COMPUTES)
			t.end[at] = in_us(line.ops[i].end);
	}
	add_up(&t, p, cost);
	if (t.predicted.over)
		count_flights(c, p, &t);
	for (uint32_t i = 1; i < p->n; i++)
		if (p->v[i].joined && p->v[i].does & PIPE_COMPUTES)
			t.start[i] = t.end[i - 1];
	return t;
}
