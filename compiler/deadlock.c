/*
 * deadlock: can the program finish? (ccs(5) 6, Blocking)
 *
 * In: a program after match. Out: whether it finishes at ctx.slots, the least
 * number of slots at which it does, and a linear order of all starts and
 * finishes of waves; E0304 if it is stuck (not for a lowered program).
 *
 * The idea: there is no wildcard receive, so what can happen stays possible
 * until it happens, and one greedy run decides for all. A run keeps two counters
 * a FIFO (program.h, Blocking). As an operation that has finished stays so, a task
 * looks at the operations of its wave in order and parks at the first that has not
 * finished; the peer that brings the FIFO's counter to the value needed wakes it.
 * So every operation is looked at a constant number of times: O(operations) a run
 * (O(log tasks) more for an OP_WAIT that has to wait).
 *
 * More slots never hurt, so the least number is found by bisection: 0 first, as
 * most programs need none, then 1, 2, 4 ...
 */
#include "compiler/deadlock.h"


/* ---- tasks that wait for tasks: leftist heaps --------------------------------- */

static uint32_t dist(const struct greedy *r, uint32_t h)
{
	return h == NONE ? 0 : r->waiters[h].dist;
}

/* Depth of the recursion is O(log tasks): right spines of leftist heaps are short. */
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

static void park_at_task(struct greedy *r, uint32_t t, uint32_t other, uint32_t need)
{
	r->waiters[t] = (struct waiter){NONE, NONE, 1, need};
	r->turns[other].waiters = meld(r, r->turns[other].waiters, t);
}

static void wake_waiters(struct greedy *r, struct turn *u)
{
	while (u->waiters != NONE && r->waiters[u->waiters].need <= u->row) {
		const struct waiter *w = &r->waiters[u->waiters];
		r->ready[r->nready++] = u->waiters;
		u->waiters = meld(r, w->left, w->right);
	}
}

/* ---- the run --------------------------------------------------------------------- */

static void grow_order(struct greedy *r)
{
	uint64_t cap = r->caporder ? 2 * r->caporder : r->p->nops + 1024;
	r->order.events = arena_grow(r->ctx->arena, r->order.events,
				     r->caporder * sizeof *r->order.events,
				     cap * sizeof *r->order.events);
	r->caporder = cap;
}

static inline void record(struct greedy *r, uint32_t event)
{
	if (!r->record)
		return;
	if (r->order.n == r->caporder)
		grow_order(r);
	r->order.events[r->order.n++] = event;
}

static inline void start_send(struct greedy *r, struct flow *f)
{
	if (++f->as == f->want_as) {
		f->want_as = 0;
		r->ready[r->nready++] = f->dst;
	}
}

static inline void start_recv(struct greedy *r, struct flow *f)
{
	if (++f->ar == f->want_ar) {
		f->want_ar = 0;
		r->ready[r->nready++] = f->src;
	}
}

/* Whether the next receive of `f` to finish has, or could (fused). If not, parks its task. */
static inline bool can_recv(struct flow *f)
{
	if (f->as > f->fr)
		return true;
	f->want_as = f->fr + 1;
	return false;
}

static inline bool can_send(const struct greedy *r, struct flow *f)
{
	if (f->ar + r->slots > f->fs)
		return true;
	f->want_ar = f->fs + 1 - r->slots;
	return false;
}

/* Starts the wave at u->row. False: a fused operation that cannot start yet;
 * its task is parked. */
static inline bool start_wave(struct greedy *r, const struct op *ops, uint32_t nops, uint32_t t,
			      struct turn *u)
{
	const struct op *o = &ops[u->row];
	uint32_t in = op_in(o), out = op_out(o), i = u->row;
	if (in != NONE && out != NONE &&
	    (!can_recv(&r->flows[in]) || !can_send(r, &r->flows[out])))
		return false;
	record(r, 2 * t);
	do {
		o = &ops[i];
		in = op_in(o);
		out = op_out(o);
		if (in != NONE)
			start_recv(r, &r->flows[in]);
		if (out != NONE)
			start_send(r, &r->flows[out]);
	} while (++i < nops && ops[i].kind & OP_JOINED);
	u->end = i;
	/* Many tasks are walked in turn: too many streams for the hardware to foresee. */
	if (i + 8 < nops)
		__builtin_prefetch(&ops[i + 8]);
	return true;
}

/* Whether the operation, next of its wave, has finished; if not, `t` is parked. */
static inline bool finish_op(struct greedy *r, const struct op *o, uint32_t t)
{
	if (op_kind(o) == OP_WAIT) {
		if (r->turns[o->fifo].row >= o->other)
			return true;
		park_at_task(r, t, o->fifo, o->other);
		return false;
	}
	uint32_t in = op_in(o), out = op_out(o);
	if (in != NONE) {
		struct flow *f = &r->flows[in];
		if (!can_recv(f))
			return false;
		f->fr++;
	}
	if (out != NONE) {
		struct flow *f = &r->flows[out];
		if (!can_send(r, f))
			return false;
		f->fs++;
	}
	return true;
}

/* Runs a task until it is parked or has finished. */
static void advance(struct greedy *r, uint32_t t)
{
	const struct op *ops = r->p->tasks[t].ops;
	uint32_t nops = r->p->tasks[t].nops;
	struct turn *u = &r->turns[t];
	for (;;) {
		if (u->row == u->end) {
			if (u->row == nops) {
				r->finished++;
				return;
			}
			if (!start_wave(r, ops, nops, t, u))
				return;
		}
		while (u->next < u->end) {
			if (!finish_op(r, &ops[u->next], t))
				return;
			u->next++;
		}
		record(r, 2 * t + 1);
		u->row = u->end;
		if (u->waiters != NONE)
			wake_waiters(r, u);
	}
}

bool deadlock_run(struct greedy *r, uint32_t slots)
{
	const struct program *p = r->p;
	r->slots = slots;
	r->finished = 0;
	if (r->record)
		r->order.n = 0;
	for (uint32_t f = 0; f < p->nfifos; f++)
		r->flows[f] = (struct flow){.src = p->fifos[f].src_task,
					    .dst = p->fifos[f].dst_task};
	for (uint32_t t = 0; t < p->ntasks; t++)
		r->turns[t] = (struct turn){.waiters = NONE};
	/* Task 0 on top. A task is on the stack or parked, so it has room. */
	for (uint32_t t = 0; t < p->ntasks; t++)
		r->ready[t] = p->ntasks - 1 - t;
	r->nready = p->ntasks;
	while (r->nready)
		advance(r, r->ready[--r->nready]);
	return r->finished == p->ntasks;
}

/* ---- the least number of slots ------------------------------------------------------ */

/* The most messages of one FIFO: as many slots are as good as any number. */
static uint32_t most_messages(const struct program *p)
{
	uint32_t most = 0;
	for (uint32_t f = 0; f < p->nfifos; f++)
		if (p->fifos[f].nsends > most)
			most = p->fifos[f].nsends;
	return most;
}

/* The least number of slots at which the program finishes, or -1. If the last
 * run was at that number, its order is in r->order. */
static int64_t least_slots(struct greedy *r, uint32_t most)
{
	if (deadlock_run(r, 0))
		return 0;
	if (most == 0)
		return -1;
	uint32_t bad = 0, good = 1;
	while (!deadlock_run(r, good)) {
		if (good == most)
			return -1;
		/* 2 fails too: find out whether there is a cure at all. */
		if (bad == 1 && !deadlock_run(r, most))
			return -1;
		bad = good;
		good = good > most / 2 ? most : 2 * good;
	}
	while (good - bad > 1) {
		uint32_t mid = bad + (good - bad) / 2;
		if (deadlock_run(r, mid))
			good = mid;
		else
			bad = mid;
	}
	return good;
}

static void run_init(struct greedy *r, struct ctx *c, struct program *p)
{
	*r = (struct greedy){.ctx = c, .p = p};
	r->flows = ARENA_ARRAY(c->scratch, struct flow, p->nfifos);
	r->turns = ARENA_ARRAY(c->scratch, struct turn, p->ntasks);
	r->waiters = ARENA_ARRAY(c->scratch, struct waiter, p->ntasks);
	r->ready = ARENA_ARRAY(c->scratch, uint32_t, p->ntasks);
}

struct deadlock_report deadlock(struct ctx *c, struct program *p)
{
	struct deadlock_report d = {.min_slots = -1};
	struct greedy r;
	uint32_t most = most_messages(p);
	uint32_t slots = c->slots < most ? c->slots : most;
	run_init(&r, c, p);
	r.record = true;
	if (p->lowered) {
		d.deadlocked = !deadlock_run(&r, slots);
		d.min_slots = d.deadlocked ? -1 : (int64_t)c->slots;
		if (!d.deadlocked)
			d.order = r.order;
		return d;
	}
	d.min_slots = least_slots(&r, most);
	d.deadlocked = d.min_slots < 0 || d.min_slots > slots;
	if (d.deadlocked) {
		r.record = false;
		deadlock_run(&r, slots);
		witness_report(&r, c->slots, d.min_slots);
		return d;
	}
	uint32_t least = (uint32_t)d.min_slots;
	if (r.slots != least)
		deadlock_run(&r, least);
	d.order = r.order;
	if (least > 0) {
		r.record = false;
		deadlock_run(&r, least - 1);
		d.below = witness_phrase(&r);
	}
	return d;
}
