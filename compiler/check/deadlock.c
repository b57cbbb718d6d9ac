/*
 * deadlock: can the program finish? (ccs(5) 6, Blocking)
 *
 * In: a program after match. Out: whether it finishes at ctx.slots; the least number of slots at
 * which it does (not for a lowered program); a linear order of all starts and finishes of waves; or
 * the state in which it is stuck, which witness() reports as E0304.
 *
 * Why one run suffices: there is no wildcard receive, so an operation that can proceed stays able
 * to until it does, and two that can proceed commute. One greedy run therefore decides for all
 * interleavings (Kahn, IFIP 1974; Siegel and Avrunin, PPoPP 2005, for MPI without wildcards).
 *
 * The run keeps two counters a FIFO (program.h, Blocking). A finished operation stays finished, so
 * a task visits the operations of its wave in order and parks at the first that has not finished.
 * The peer that brings the FIFO's counter to the needed value wakes it. So each operation is
 * visited a constant number of times: O(operations) a run (O(log tasks) more for an OP_WAIT that
 * has to wait).
 *
 * Most programs need no run: their tasks go in lockstep (lockstep.c). A single task that sends to
 * itself, the quotient of symmetry/turns.h, mostly needs none either: is_even().
 *
 * More slots never cause a deadlock, so the least number is found by bisection: 0 first, as most
 * programs need none, then 1, 2, 4 ...
 */
#include "compiler/check/deadlock.h"

/* ---- tasks that wait for tasks: leftist heaps (Crane, 1972) -------------------- */

static uint32_t dist(const struct greedy *r, uint32_t h)
{
	return h == NONE ? 0 : r->waiters[h].dist;
}

/* The recursion has depth O(log tasks), the length of the right spine of a leftist heap. */
static uint32_t meld(struct greedy *r, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	if (r->waiters[b].need < r->waiters[a].need) {
		uint32_t t = a;
		a = b;
		b = t;
	}
	struct waiter *w = &r->waiters[a];
	w->right = meld(r, w->right, b);
	if (dist(r, w->left) < dist(r, w->right)) {
		uint32_t t = w->left;
		w->left = w->right;
		w->right = t;
	}
	w->dist = dist(r, w->right) + 1;
	return a;
}

/* Most programs have no tasks that wait for others. */
static void park_at_task(struct greedy *r, uint32_t t, uint32_t other, uint32_t need)
{
	if (!r->waiters)
		r->waiters = ARENA_ARRAY(r->ctx->scratch, struct waiter, r->p->ntasks);
	r->waiters[t] = (struct waiter){ NONE, NONE, 1, need };
	r->progress[other].waiters = meld(r, r->progress[other].waiters, t);
}

/* Distances of prefetches, in operations of a task. */
enum { FLOWS_AHEAD = 6, OPS_AHEAD = 8 };

/* ---- the run --------------------------------------------------------------------- */

/* State of the inner loop, small enough for registers. */
struct pace {
	struct greedy *r;
	struct flow *flows;
	uint32_t *ready, nready;
	uint32_t slots;
	struct stretch *at, *end; /* free part of the order; NULL: not recorded */
	bool far;		  /* more FIFOs than the nearest caches hold */
};

static __attribute__((noinline)) void more_order(struct pace *c)
{
	struct greedy *r = c->r;
	size_t n = (size_t)(c->at - r->order.v), cap = 2 * (size_t)r->caporder;
	r->order.v = arena_grow(r->ctx->arena, r->order.v, r->caporder * sizeof(*c->at),
				cap * sizeof(*c->at));
	r->caporder = (uint32_t)cap;
	c->at = r->order.v + n;
	c->end = r->order.v + cap;
}

/* Records that task `t` has run `events` events. */
static inline void record(struct pace *c, uint32_t t, uint32_t events)
{
	if (!c->at)
		return;
	while (events) {
		uint32_t n = events < MOST_EVENTS ? events : MOST_EVENTS;
		*c->at++ = (struct stretch){ t & TASK_BITS, n & MOST_EVENTS };
		if (c->at == c->end)
			more_order(c);
		events -= n;
	}
}

/* Counts a started send or receive, and wakes its peer if that waited for it. */
ALWAYS_INLINE void start_end(struct pace *c, uint32_t fifo, uint32_t side)
{
	struct flow *f = &c->flows[fifo];
	if (flow_start(f, side))
		c->ready[c->nready++] = f->task[!side];
}

ALWAYS_INLINE bool finish_end(const struct pace *c, uint32_t fifo, uint32_t side)
{
	struct flow *f = &c->flows[fifo];
	if (!flow_done(f, side, c->slots))
		return false;
	f->done[side]++;
	return true;
}

static inline void start_op(struct pace *c, const struct op *o)
{
	if (op_kind(o) == OP_SEND) {
		start_end(c, o->fifo, SENDS);
	} else if (op_is_end(o)) {
		start_end(c, o->fifo, RECVS);
	} else if (op_is_fused(o)) {
		start_end(c, o->fifo, RECVS);
		start_end(c, o->other, SENDS);
	}
}

/* Whether an operation that is not an end of a message has finished. */
static __attribute__((noinline)) bool finish_other(struct pace *c, const struct op *o, uint32_t t)
{
	if (op_is_fused(o))
		return finish_end(c, o->fifo, RECVS) && finish_end(c, o->other, SENDS);
	if (op_kind(o) != OP_WAIT || c->r->progress[o->fifo].row >= o->other)
		return true;
	park_at_task(c->r, t, o->fifo, o->other);
	return false;
}

/* Whether the operation, next of its wave, has finished; if not, `t` is parked. */
static inline bool finish_op(struct pace *c, const struct op *o, uint32_t t)
{
	if (op_kind(o) == OP_SEND)
		return finish_end(c, o->fifo, SENDS);
	return op_is_end(o) ? finish_end(c, o->fifo, RECVS) : finish_other(c, o, t);
}

static void wake_waiters(struct pace *c, struct progress *u)
{
	const struct waiter *waiters = c->r->waiters;
	while (u->waiters != NONE && waiters[u->waiters].need <= u->row) {
		const struct waiter *w = &waiters[u->waiters];
		c->ready[c->nready++] = u->waiters;
		u->waiters = meld(c->r, w->left, w->right);
	}
}

/* Whether the wave that begins with `o` must wait to start: a fused operation starts
 * only when both its ends could finish. */
static inline bool must_wait(struct pace *c, const struct op *o)
{
	return op_is_fused(o) && (!flow_done(&c->flows[o->fifo], RECVS, c->slots) ||
				  !flow_done(&c->flows[o->other], SENDS, c->slots));
}

/* Prefetches the FIFO of a later operation: the FIFOs of a rank with many peers are far apart. */
static inline void fetch_flow(const struct pace *c, const struct op *o)
{
	if (op_is_end(o))
		__builtin_prefetch(&c->flows[o->fifo], 1);
}

/* Runs a task until it is parked or has finished; returns the number of starts plus finishes of
 * waves. */
static inline uint32_t advance(struct pace *c, uint32_t t)
{
	struct greedy *r = c->r;
	struct progress *u = &r->progress[t];
	const struct op *ops = u->ops;
	const uint32_t nops = u->nops;
	uint32_t i = u->next, end = u->end, events = 0;
	if (u->row != end)
		goto wave; /* it was parked within a wave */
	while (i < nops) {
		if (must_wait(c, &ops[i]))
			return events;
		events++;
		u->row = end = i;
		do {
			if (c->far && end + FLOWS_AHEAD < nops)
				fetch_flow(c, &ops[end + FLOWS_AHEAD]);
			start_op(c, &ops[end++]);
		} while (end < nops && ops[end].kind & OP_JOINED);
		/* Tasks alternate: too many streams for the hardware prefetcher. */
		__builtin_prefetch(&ops[end + OPS_AHEAD < nops ? end + OPS_AHEAD : nops - 1]);
	wave:
		for (; i < end; i++)
			if (!finish_op(c, &ops[i], t)) {
				u->next = i;
				u->end = end;
				return events;
			}
		events++;
		u->row = u->end = u->next = end;
		if (u->waiters != NONE)
			wake_waiters(c, u);
	}
	r->finished++;
	return events;
}

bool deadlock_run(struct greedy *r, uint32_t slots)
{
	const struct program *p = r->p;
	struct pace c = {
		.r = r, .flows = r->flows, .ready = r->ready, .nready = p->ntasks, .slots = slots
	};
	c.far = p->nfifos > NEAR_FIFOS;
	if (r->record) {
		c.at = r->order.v;
		c.end = r->order.v + r->caporder;
	}
	r->slots = slots;
	r->finished = 0;
	for (uint32_t f = 0; f < p->nfifos; f++)
		r->flows[f] =
			(struct flow){ .task = { p->fifos[f].src_task, p->fifos[f].dst_task } };
	for (uint32_t t = 0; t < p->ntasks; t++)
		r->progress[t] = (struct progress){ .ops = p->tasks[t].ops,
						    .nops = p->tasks[t].nops,
						    .waiters = NONE };
	/* Task 0 on top. A task is on the stack or parked, so there is room. */
	for (uint32_t t = 0; t < p->ntasks; t++)
		r->ready[t] = p->ntasks - 1 - t;
	while (c.nready) {
		uint32_t t = c.ready[--c.nready];
		const struct progress *then = &r->progress[c.ready[c.nready ? c.nready - 1 : 0]];
		if (then->nops) /* a task without any has no array */
			__builtin_prefetch(&then->ops[then->next]);
		record(&c, t, advance(&c, t));
	}
	if (r->record)
		r->order.n = (uint32_t)(c.at - r->order.v);
	return r->finished == p->ntasks;
}

/* ---- the least number of slots ------------------------------------------------------ */

/* The most messages of one FIFO: more slots than that change nothing. */
static uint32_t most_messages(const struct program *p)
{
	uint32_t most = 0;
	for (uint32_t f = 0; f < p->nfifos; f++)
		if (p->fifos[f].nsends > most)
			most = p->fifos[f].nsends;
	return most;
}

static void run_init(struct greedy *r, struct ctx *c, struct program *p)
{
	*r = (struct greedy){ .ctx = c, .p = p };
	r->flows = ARENA_ARRAY(c->scratch, struct flow, p->nfifos);
	r->progress = ARENA_ARRAY(c->scratch, struct progress, p->ntasks);
	r->ready = ARENA_ARRAY(c->scratch, uint32_t, p->ntasks);
}

/* Prepares for recording, with room for stretches of a few operations each. */
static void order_init(struct greedy *r)
{
	const struct program *p = r->p;
	uint64_t rows = 64;
	r->record = true;
	for (uint32_t t = 0; t < p->ntasks; t++)
		rows += p->tasks[t].nops;
	r->caporder = (uint32_t)(rows / 4);
	r->order.v = arena_grow(r->ctx->arena, NULL, 0, r->caporder * sizeof(*r->order.v));
}

/* For a single task that sends to itself (symmetry/turns.h): whether each wave has as many sends as
 * receives of each FIFO. Then AS = AR after each start, and both exceed the number of every started
 * end, so each wave finishes before the next starts, with any number of slots. A wave of one pair
 * of ends, such as a step of a ring, needs no counters. O(operations) */
static bool is_even(struct greedy *r, uint32_t *waves)
{
	const struct task *t = r->p->tasks;
	uint32_t apart = 0; /* FIFOs with different numbers of sends and receives */

	*waves = 0;
	for (uint32_t i = 0, end; i < t->nops && !apart; i = end, ++*waves) {
		const struct op *o = &t->ops[i];
		end = i + wave_length(t, i);
		if (end == i + 2 && op_is_end(o) && op_is_end(o + 1) && o->fifo == o[1].fifo &&
		    (op_kind(o) == OP_SEND) != (op_kind(o + 1) == OP_SEND))
			continue;
		for (; i < end; i++, o++) {
			if (!op_is_end(o))
				continue;
			uint32_t *n = r->flows[o->fifo].started;
			apart -= n[SENDS] != n[RECVS];
			n[op_kind(o) == OP_SEND ? SENDS : RECVS]++;
			apart += n[SENDS] != n[RECVS];
		}
	}
	return !apart;
}

/* Records the order of a single task: wave after wave. */
static void record_waves(struct greedy *r, uint32_t waves)
{
	struct pace c = { .r = r, .at = r->order.v, .end = r->order.v + r->caporder };

	record(&c, 0, 2 * waves);
	r->order.n = (uint32_t)(c.at - r->order.v);
}

/* Returns the order, and frees the unused part of its memory. */
static struct order take_order(struct greedy *r)
{
	struct order *o = &r->order;
	o->v = arena_grow(r->ctx->arena, o->v, r->caporder * sizeof(*o->v), o->n * sizeof(*o->v));
	return *o;
}

void order_walk(const struct order *order, const struct program *p, struct arena *scratch,
		void (*event)(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts),
		void *arg)
{
	uint32_t *row = ARENA_ARRAY(scratch, uint32_t, p->ntasks);
	bool *running = ARENA_ARRAY(scratch, bool, p->ntasks);

	for (uint32_t i = 0; i < order->n; i++) {
		uint32_t t = order->v[i].task;
		for (uint32_t left = order->v[i].events; left > 0; left--) {
			uint32_t n = wave_length(&p->tasks[t], row[t]);
			running[t] = !running[t];
			event(arg, t, row[t], n, running[t]);
			row[t] += running[t] ? 0 : n;
		}
	}
}

void deadlock_run_far(struct greedy *r, struct ctx *c, struct program *p)
{
	uint32_t most = most_messages(p);

	run_init(r, c, p);
	order_init(r);
	deadlock_run(r, c->slots < most ? c->slots : most);
}

uint32_t deadlock_blocked(struct ctx *c, struct program *p, uint32_t slots)
{
	uint32_t most = most_messages(p);
	struct greedy r;

	run_init(&r, c, p);
	deadlock_run(&r, slots < most ? slots : most);
	return p->ntasks - r.finished;
}

/* Runs with several numbers of slots: the last run, and the last one that got stuck. */
struct search {
	struct greedy *r, *stuck; /* stuck->ctx is NULL: none was */
};

static bool run_with(struct search *s, uint32_t slots)
{
	struct greedy *r = s->r;
	if (deadlock_run(r, slots))
		return true;
	s->r = s->stuck;
	s->stuck = r;
	if (!s->r->ctx)
		run_init(s->r, r->ctx, r->p);
	s->r->order = r->order; /* there is one */
	s->r->caporder = r->caporder;
	s->r->record = true;
	return false;
}

/* The least number of slots with which it finishes, or -1; more than `most` slots change nothing.
 * The search keeps the last run. */
static int64_t least_slots(struct search *s, uint32_t most)
{
	if (run_with(s, 0))
		return 0;
	if (most == 0)
		return -1;
	uint32_t bad = 0, good = 1;
	while (!run_with(s, good)) {
		if (good == most)
			return -1;
		/* 2 fails too: check first whether any number suffices. */
		if (bad == 1 && !run_with(s, most))
			return -1;
		bad = good;
		good = good > most / 2 ? most : 2 * good;
	}
	while (good - bad > 1) {
		uint32_t mid = bad + (good - bad) / 2;
		if (run_with(s, mid))
			good = mid;
		else
			bad = mid;
	}
	return good;
}

struct deadlock_report deadlock(struct ctx *c, struct program *p)
{
	struct deadlock_report d = { .min_slots = -1 };
	struct greedy *r = ARENA_ARRAY(c->scratch, struct greedy, 2);
	struct search s = { r, r + 1 };
	uint32_t most = most_messages(p), waves;
	uint32_t slots = c->slots < most ? c->slots : most;
	if (deadlock_in_step(c, p, &d.order)) {
		d.min_slots = 0;
		return d;
	}
	run_init(r, c, p);
	order_init(r);
	if (!p->lowered && p->ntasks == 1 && is_even(r, &waves)) {
		record_waves(r, waves);
		d.min_slots = 0;
		d.order = take_order(r);
		return d;
	}
	if (p->lowered) {
		d.deadlocked = !deadlock_run(r, slots);
		d.min_slots = d.deadlocked ? -1 : (int64_t)c->slots;
		if (!d.deadlocked)
			d.order = take_order(r);
		return d;
	}
	d.min_slots = least_slots(&s, most);
	d.deadlocked = d.min_slots < 0 || d.min_slots > slots;
	if (!d.deadlocked) {
		uint32_t least = (uint32_t)d.min_slots;
		if (s.r->slots != least)
			deadlock_run(s.r, least);
		d.order = take_order(s.r);
		if (least == 0)
			return d;
		slots = least - 1;
	}
	d.stuck = s.stuck;
	d.stuck->record = false;
	if (d.stuck->slots != slots)
		deadlock_run(d.stuck, slots);
	return d;
}

void deadlock_help_slots(struct diags *ds, struct diag *d, int64_t least)
{
	bool of_n = ds->where && *ds->where == 'N'; /* not of a pipeline's streams */

	d->has_slots = 1;
	d->min_slots = least;
	if (least < 0)
		diag_note(ds, d, NOWHERE, "no number of slots cures it");
	else
		diag_cure(ds, d, "%lld slot%s or more cure%s it%s%s (--slots %lld)",
			  (long long)least, least == 1 ? "" : "s", least == 1 ? "s" : "",
			  of_n ? " at " : "", of_n ? ds->where : "", (long long)least);
}
