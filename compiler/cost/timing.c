/*
 * Runs a program on a machine, in time: see cost.h.
 *
 * Discrete events in the order of time, from a heap; events of one time in the order in which they were
 * made. Times are whole ticks, so that sums are exact and equal times compare as equal.
 *
 * A message's times are computed when it leaves, link by link, up to the first link that other tasks send
 * along, too, and that its head reaches later: there it waits for its turn as an event. So a message
 * of a network without contention is no event; a task is one when the message or slot that it waits for has a time.
 *
 * Why the result does not depend on the order of simultaneous events, but for links that carry messages of
 * several tasks: an operation that can proceed stays able to (program.h, Blocking), and its time is a
 * maximum of times of others.
 *
 * The chain that takes longest is summed up forwards: a message continues the chain of its task, or
 * that of the message that held a link of its path; a task continues the chain of the message that it
 * waited for last. O(events log events); events are at most operations + messages * links.
 */
#include "compiler/cost/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_LEAST 32768.0	/* bytes, of RCCL */
#define MOST_TILES 2147483648.0 /* of a call */

enum { SEND, RECV };
enum { TASK, HOP, ARRIVAL }; /* events; their rows are of tasks, flights, flights */

struct event {
	int64_t at;
	uint64_t order;
	uint32_t row;
	uint32_t kind;
};

/* The longest chain of messages up to an event. */
struct chain {
	int64_t latency;
	uint32_t messages;
	uint32_t last; /* row of the timeline's messages; NONE: there is none */
};

enum flight_state {
	FREE,
	FLYING,
	KNOWN,	 /* arrives, or has arrived, at `at` */
	THERE,	 /* has arrived, for a receiver that works */
	RETURNED /* its slot is free from `at` on */
};

/* A message, and its slot. */
struct flight {
	int64_t at;
	int64_t tail;  /* when the message has left the place that its head has reached */
	int64_t takes; /* the time that the receiver works, if it has started */
	double bytes;
	struct chain chain;
	uint32_t fifo, hop;
	uint32_t row; /* of the timeline */
	enum flight_state state;
};

struct flow {
	struct flight *flights; /* message k is in k % nflights */
	uint64_t nflights;
	uint64_t left;	     /* messages that left */
	uint64_t started[2]; /* sends and receives that started */
	bool waits[2];	     /* tiles: the task at that end waits for a slot, for a message */
};

struct link_run {
	int64_t free, busy;
	double takes; /* ticks a byte */
	int64_t latency;
	struct chain chain; /* of its last message, up to this link */
	uint32_t last;	    /* that message, of the timeline */
};

struct task_run {
	uint32_t row, end;    /* its wave; it waits for */
	uint32_t pending;     /* ... this number of operations */
	uint32_t waiters;     /* 1 + the first task that waits for it; 0: none */
	uint32_t next_waiter; /* 1 + the next one that waits for the same; and for its first */
	uint64_t need;	      /* ... rows, of all tiles */
	uint32_t tile, slice;
	int64_t ends;	    /* when those of its wave are over that have an end */
	struct chain chain; /* up to the start of its wave; */
	struct chain next;  /* ... of its next wave */
	bool waits;	    /* tiles: its operation had to wait */
	int64_t free[2];    /* its worker that sends, that receives */
	int64_t busy[2];
};

/* The search for a period of tiles. */
struct period {
	uint32_t task;	    /* that is watched; NONE: there is nothing to search */
	uint32_t tiles;	    /* of which all operations have the same bytes */
	uint32_t tile;	    /* of the watched task in the state that was kept, */
	int64_t at;	    /* ... and its time, */
	struct chain chain; /* ... the chain of that task, */
	int64_t *busy;	    /* ... by link, and by task and side */
	struct words {
		uint64_t *v;
		size_t n, cap;
	} kept, now;	    /* ... and the state */
	struct event *heap; /* sorted; its capacity is that of r->heap */
	uint32_t capheap;
	uint32_t skipped; /* tiles that were not run */
	int64_t skips;	  /* ... and their time */
};

struct timing {
	const struct simulation *s;
	const struct program *p;
	double block, scale; /* bytes; ticks a second */
	bool whole;	     /* messages; else tiles: */
	double tile;	     /* bytes of a cell */
	uint32_t ntiles;
	uint32_t slices; /* of an operation in a tile */
	int64_t now, step;
	double worker, reduce; /* ticks a byte */
	bool works;	       /* a receive takes time */
	struct event *heap;
	uint32_t n, cap;
	uint64_t order;
	struct flight *flights;
	struct task_run *tasks;
	struct flow *flows;
	struct link_run *links;
	struct chain chain; /* of the task that ends last */
	struct period period;
	struct arena *arena;
	struct timeline *noted; /* or NULL */
};

/* ---- events ---------------------------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void push(struct timing *r, int64_t at, uint32_t kind, uint32_t row)
{
	struct event e = { at > r->now ? at : r->now, r->order++, row, kind };
	uint32_t i;

	(void)ARENA_PUSH(r->arena, r->heap, r->n, r->cap);
	for (i = r->n - 1; i && before(&e, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = e;
}

static struct event pop(struct timing *r)
{
	struct event top = r->heap[0], e = r->heap[--r->n];
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < r->n) {
		k += k + 1 < r->n && before(&r->heap[k + 1], &r->heap[k]);
		if (!before(&r->heap[k], &e))
			break;
		r->heap[i] = r->heap[k];
		i = k;
	}
	r->heap[i] = e;
	return top;
}

static int64_t ticks(const struct timing *r, double seconds)
{
	return (int64_t)(seconds * r->scale + 0.5);
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- workers ----------------------------------------------------------------------------------------- */

/* The time that a worker takes to move the bytes of an operation. */
static int64_t moving(const struct timing *r, const struct op *o, double bytes)
{
	enum op_kind k = op_kind(o);
	bool reduces = k == OP_REDUCE_FROM || k == OP_REDUCE_INTO || k == OP_REDUCE_SEND;
	double rate = reduces && r->reduce > r->worker ? r->reduce : r->worker;

	return (int64_t)(bytes * rate + 0.5);
}

/* A worker of the task works for `takes`, when it is free. Returns the end. */
static int64_t work(struct timing *r, uint32_t task, int side, int64_t takes)
{
	struct task_run *t = &r->tasks[task];

	t->busy[side] += takes;
	return t->free[side] = most(r->now, t->free[side]) + takes;
}

/* ---- waits ---------------------------------------------------------------------------------------------- */

/* The rows that a task has finished, of all tiles. */
static uint64_t progress(const struct timing *r, uint32_t task)
{
	const struct task_run *t = &r->tasks[task];

	return (uint64_t)t->tile * r->p->tasks[task].nops + t->row;
}

/* Whether an OP_WAIT has to wait; then the task waits. */
static bool await(struct timing *r, uint32_t task, const struct op *o)
{
	struct task_run *t = &r->tasks[task], *other = &r->tasks[o->fifo];

	t->need = (uint64_t)t->tile * r->p->tasks[o->fifo].nops + o->other;
	if (progress(r, o->fifo) >= t->need)
		return false;
	t->next_waiter = other->waiters;
	other->waiters = task + 1;
	t->waits = true;
	return true;
}

/* The task has finished rows: tasks that wait for them go on. */
static void wake(struct timing *r, uint32_t task)
{
	struct task_run *t = &r->tasks[task];
	uint64_t done = progress(r, task);
	uint32_t waiters = t->waiters;

	t->waiters = 0;
	while (waiters) {
		uint32_t w = waiters - 1;
		struct task_run *x = &r->tasks[w];

		waiters = x->next_waiter;
		if (x->need > done) {
			x->next_waiter = t->waiters;
			t->waiters = w + 1;
			continue;
		}
		x->next = t->chain;
		x->pending = 0;
		push(r, r->now, TASK, w);
	}
}

/* ---- the timeline -------------------------------------------------------------------------------------- */

/* The row of message k of a FIFO. */
static uint32_t row_of(const struct timing *r, uint32_t f, uint64_t k)
{
	uint32_t n = r->p->fifos[f].nsends * r->slices;

	return (uint32_t)(k / n * r->s->nmessages * r->slices + r->s->loads[f].first * r->slices +
			  k % n);
}

static double seconds(const struct timing *r, int64_t at)
{
	return (double)at / r->scale;
}

/* An operation starts; `in`, `out`: rows of its messages, or NONE. */
static void note_op(struct timing *r, uint32_t task, uint32_t row, uint32_t tile, uint32_t in,
		    uint32_t out, double bytes)
{
	struct timeline *t = r->noted;

	if (in != NONE)
		t->messages[in].recv = t->nops;
	if (out != NONE)
		t->messages[out].send = t->nops;
	ARENA_PUSH(r->arena, t->ops, t->nops, t->capops) =
		(struct op_time){ .task = task,
				  .row = row,
				  .tile = tile,
				  .bytes = bytes,
				  .start = seconds(r, r->now),
				  .end = -1 };
}

static void note_end(struct timing *r, uint32_t op, int64_t at)
{
	struct op_time *x = &r->noted->ops[op];

	x->end = seconds(r, at) > x->end ? seconds(r, at) : x->end;
}

/* ---- messages ---------------------------------------------------------------------------------------- */

static void end_op(struct timing *r, uint32_t task, int64_t at, const struct chain *chain)
{
	struct task_run *t = &r->tasks[task];

	if (at >= t->ends) {
		t->ends = at;
		t->next = *chain;
	}
	if (!--t->pending)
		push(r, t->ends, TASK, task);
}

/* A receive that has started, of a message with a known time, in a chain. */
static void receive(struct timing *r, struct flight *x, const struct chain *chain)
{
	uint32_t task = r->p->fifos[x->fifo].dst_task;
	int64_t at = r->works ? work(r, task, RECV, x->takes) : most(x->at, r->now);

	if (r->noted)
		note_end(r, r->noted->messages[x->row].recv, at);
	end_op(r, task, at, chain);
}

/* The time of a message's arrival is known. */
static void arrives(struct timing *r, struct flight *x)
{
	struct flow *q = &r->flows[x->fifo];
	const struct fifo *f = &r->p->fifos[x->fifo];

	x->at = x->tail;
	x->state = KNOWN;
	x->chain.messages++;
	x->chain.last = x->row;
	if (r->noted)
		r->noted->messages[x->row].arrives = seconds(r, x->at);
	if (!r->whole) {
		if (q->waits[RECV])
			push(r, x->at, TASK, f->dst_task);
		q->waits[RECV] = false;
		return;
	}
	if (r->noted)
		note_end(r, r->noted->messages[x->row].send, x->at);
	end_op(r, f->src_task, x->at, &x->chain);
	x->chain.latency += r->step; /* the receiver's */
	if (r->works)
		push(r, x->at, ARRIVAL, (uint32_t)(x - r->flights));
	else if (q->started[RECV] > (uint64_t)(x - q->flights))
		receive(r, x, &x->chain);
}

/* The head of a message reaches its next link. */
static void hop(struct timing *r, struct flight *x, int64_t head)
{
	const struct machine_path *path = &r->s->loads[x->fifo].path;
	struct message_time *note = r->noted ? &r->noted->messages[x->row] : NULL;

	for (; x->hop < path->n; x->hop++) {
		struct link_run *l = &r->links[path->links[x->hop]];
		int64_t takes = (int64_t)(x->bytes * l->takes + 0.5);

		if (head > r->now && r->s->uses[path->links[x->hop]].shared) {
			push(r, head, HOP, (uint32_t)(x - r->flights));
			return;
		}
		if (l->free > head) {
			head = l->free;
			x->chain = l->chain;
			if (note) {
				note->held = true;
				note->after = l->last;
			}
		}
		if (note && !x->hop)
			note->leaves = seconds(r, head);
		l->free = head + takes;
		l->busy += takes;
		l->chain = x->chain;
		l->last = x->row;
		x->chain.latency += l->latency;
		x->tail = most(x->tail, l->free) + l->latency;
		head += l->latency;
	}
	arrives(r, x);
}

/* Message k of a FIFO leaves in the order of its task; its worker takes `takes`. */
static void leave(struct timing *r, uint32_t f, uint64_t k, const struct chain *chain,
		  int64_t takes)
{
	struct flow *q = &r->flows[f];
	struct flight *x = &q->flights[k % q->nflights];

	x->fifo = f;
	x->hop = 0;
	x->row = row_of(r, f, k);
	x->state = FLYING;
	x->chain = *chain;
	x->chain.latency += r->step;
	x->tail = work(r, r->p->fifos[f].src_task, SEND, takes);
	if (r->noted) {
		r->noted->messages[x->row].leaves = seconds(r, x->tail - takes + r->step);
		r->noted->messages[x->row].after = chain->last;
	}
	hop(r, x, x->tail - takes + r->step);
}

/* ---- messages whole ------------------------------------------------------------------------------------ */

/* Lets the messages of a FIFO leave that can, in a chain. */
static void let_go(struct timing *r, uint32_t f, const struct chain *chain)
{
	struct flow *q = &r->flows[f];

	while (q->left < q->started[SEND] && q->started[RECV] + r->s->slots > q->left) {
		double bytes = q->flights[q->left].bytes;

		q->left++;
		leave(r, f, q->left - 1, chain, r->step + (int64_t)(bytes * r->worker + 0.5));
	}
}

/* An operation inside the rank, which takes its worker `takes`. */
static void work_on(struct timing *r, uint32_t task, uint32_t row, double bytes, int64_t takes)
{
	int64_t at = work(r, task, RECV, takes);

	if (r->noted) {
		note_op(r, task, row, 0, NONE, NONE, bytes);
		note_end(r, r->noted->nops - 1, at);
	}
	end_op(r, task, at, &r->tasks[task].chain);
}

/* Starts an operation. Whether it has finished. */
static bool start_op(struct timing *r, uint32_t task, uint32_t row)
{
	const struct op *o = &r->p->tasks[task].ops[row];
	double bytes = r->s->shares[task][row] * r->block;
	struct task_run *t = &r->tasks[task];
	enum flight_state was;
	struct flow *q;
	struct flight *x;
	uint64_t k;

	switch (op_kind(o)) {
	case OP_SEND:
		q = &r->flows[o->fifo];
		k = q->started[SEND]++;
		q->flights[k].bytes = bytes;
		if (r->noted)
			note_op(r, task, row, 0, NONE, row_of(r, o->fifo, k), bytes);
		let_go(r, o->fifo, &t->chain);
		return false;
	case OP_RECV:
	case OP_REDUCE_FROM:
		q = &r->flows[o->fifo];
		k = q->started[RECV]++;
		x = &q->flights[k];
		x->takes = r->step + moving(r, o, bytes);
		was = x->state;
		if (r->noted)
			note_op(r, task, row, 0, row_of(r, o->fifo, k), NONE, bytes);
		let_go(r, o->fifo, &t->chain); /* may receive it */
		if (was == THERE)
			receive(r, x, &t->chain);
		else if (was == KNOWN && !r->works)
			receive(r, x, x->at > r->now ? &x->chain : &t->chain);
		return false;
	case OP_WAIT: return !await(r, task, o);
	case OP_COPY:
	case OP_REDUCE_INTO: work_on(r, task, row, bytes, moving(r, o, bytes)); return false;
	case OP_FRESH:
		if (!r->s->takes)
			return true;
		work_on(r, task, row, 0, ticks(r, r->s->shares[task][row]));
		return false;
	case OP_RECV_SEND:
	case OP_REDUCE_SEND: break;
	}
	return true; /* inside the rank; a program that is not lowered has no others */
}

/* Starts waves of a task, until one has to wait. */
static void go_on(struct timing *r, uint32_t task)
{
	const struct task *of = &r->p->tasks[task];
	struct task_run *t = &r->tasks[task];

	for (;;) {
		t->chain = t->next;
		if (t->row != t->end) {
			t->row = t->end;
			wake(r, task);
		}
		if (t->row == of->nops)
			break;
		t->end = t->row + wave_length(of, t->row);
		t->ends = r->now;
		t->pending = t->end - t->row + 1; /* until all are started */
		for (uint32_t i = t->row; i < t->end; i++)
			t->pending -= start_op(r, task, i);
		if (--t->pending)
			return;
		if (t->ends > r->now) {
			push(r, t->ends, TASK, task);
			return;
		}
	}
	r->chain = t->chain;
}

/* ---- tiles ------------------------------------------------------------------------------------------------ */

/* The bytes of an operation in the task's tile, of all slices. */
static double tile_bytes(const struct timing *r, uint32_t task)
{
	const struct task_run *t = &r->tasks[task];
	double all = r->s->shares[task][t->row] * r->block, n = r->p->tasks[task].ops[t->row].n,
	       cell;

	if (r->ntiles == 1 || n < 1)
		return all;
	cell = all / n - ((double)t->tile + r->period.skipped) * r->tile;
	return cell <= 0 ? 0 : n * (cell < r->tile ? cell : r->tile);
}

/* Whether the task has what it needs of a FIFO at this time: a message (RECV), or a free slot (SEND). If not,
 * it goes on then. */
static bool has(struct timing *r, uint32_t task, uint32_t f, int side)
{
	struct flow *q = &r->flows[f];
	struct flight *x = &q->flights[q->started[side] % q->nflights];
	struct task_run *t = &r->tasks[task];

	if (side == RECV ? x->state != KNOWN : x->state == FLYING || x->state == KNOWN) {
		q->waits[side] = true;
		t->waits = true;
		return false;
	}
	if (x->state != FREE && x->at > r->now) {
		push(r, x->at, TASK, task);
		t->waits = true;
		return false;
	}
	if (t->waits && x->state != FREE && x->at == r->now)
		t->chain = x->chain;
	return true;
}

/* The operation can start: it moves a tile. */
static void move(struct timing *r, uint32_t task, const struct op *o, uint32_t in, uint32_t out)
{
	struct task_run *t = &r->tasks[task];
	double bytes = tile_bytes(r, task) / r->slices;
	int64_t takes = (in != NONE || out != NONE ? r->step : 0) + moving(r, o, bytes);

	t->ends = r->now + takes;
	if (r->noted) {
		note_op(r, task, t->row, t->tile,
			in == NONE ? NONE : row_of(r, in, r->flows[in].started[RECV]),
			out == NONE ? NONE : row_of(r, out, r->flows[out].started[SEND]), bytes);
		r->noted->ops[r->noted->nops - 1].end = seconds(r, t->ends);
	}
	if (in != NONE) {
		struct flow *q = &r->flows[in];
		struct flight *x = &q->flights[q->started[RECV]++ % q->nflights];
		int64_t back = ticks(r, r->s->loads[in].latency);

		x->state = RETURNED;
		x->at = t->ends + back;
		x->chain = t->chain;
		x->chain.latency += back;
		if (q->waits[SEND])
			push(r, x->at, TASK, r->p->fifos[in].src_task);
		q->waits[SEND] = false;
	}
	if (out != NONE) {
		struct flow *q = &r->flows[out];
		uint64_t k = q->started[SEND]++;

		q->flights[k % q->nflights].bytes = bytes;
		leave(r, out, k, &t->chain, takes);
	} else {
		work(r, task, SEND, takes);
	}
}

/* ---- tiles that repeat ------------------------------------------------------------------------------------ */

/*
 * What follows from a state depends only on: where each task is, which slots are full or free and when, when links
 * are free, and the events to come; with times from now on, and tiles from that of one task on. If two states are
 * equal in all this, and the tiles in between and after them are full, then the tiles after the second state take the
 * time of those after the first one. So as many of these periods are left out as end before tiles that are not full.
 * A state is compared at each tile with one that was kept (Brent, An improved Monte Carlo factorization algorithm, BIT
 * 1980). Ticks are whole, so that equal means equal. O(tasks + slots + links + events log events) a tile.
 */

static void put(struct timing *r, uint64_t word)
{
	struct words *w = &r->period.now;

	ARENA_PUSH(r->arena, w->v, w->n, w->cap) = word;
}

/* A time from now on, or 0. */
static uint64_t ahead(const struct timing *r, int64_t at)
{
	return at > r->now ? (uint64_t)(at - r->now) : 0;
}

/* The place of a flight among those of its FIFO, from the next one that is received on. */
static uint64_t place_of(const struct flow *q, const struct flight *x)
{
	return ((uint64_t)(x - q->flights) + q->nflights - q->started[RECV] % q->nflights) %
	       q->nflights;
}

static bool same_so_far(const struct timing *r)
{
	const struct words *a = &r->period.kept, *b = &r->period.now;

	return a->n >= b->n && !memcmp(a->v, b->v, b->n * sizeof(*b->v));
}

static void put_flight(struct timing *r, const struct flight *x)
{
	put(r, (uint64_t)x->state << 32 | x->hop);
	put(r, ahead(r, x->state == FLYING ? x->tail : x->state == FREE ? 0 : x->at));
}

static int by_time(const void *a, const void *b)
{
	return before(a, b) ? -1 : 1;
}

static void put_events(struct timing *r)
{
	struct period *d = &r->period;

	if (d->capheap < r->n) {
		d->heap = ARENA_ARRAY(r->arena, struct event, r->cap);
		d->capheap = r->cap;
	}
	memcpy(d->heap, r->heap, r->n * sizeof(*r->heap));
	qsort(d->heap, r->n, sizeof(*d->heap), by_time);
	for (uint32_t i = 0; i < r->n; i++) {
		const struct event *e = &d->heap[i];
		const struct flight *x = &r->flights[e->row];

		put(r, ahead(r, e->at));
		put(r, e->kind == HOP ? (uint64_t)x->fifo << 32 |
						place_of(&r->flows[x->fifo], x) << 2 | HOP
				      : (uint64_t)e->row << 2 | e->kind);
	}
}

/* Writes the state to period.now. With `compare` false as soon as it differs from the one that was kept. */
static bool put_state(struct timing *r, bool compare)
{
	const struct task_run *t0 = &r->tasks[r->period.task];

	r->period.now.n = 0;
	for (uint32_t t = 0; t < r->p->ntasks; t++) {
		const struct task_run *t1 = &r->tasks[t];

		put(r, r->p->tasks[t].nops ? (uint64_t)(t1->tile - t0->tile) << 32 | t1->row : 0);
		put(r, (uint64_t)t1->waiters << 32 | t1->next_waiter);
		put(r, (uint64_t)t1->slice << 32 | t1->pending << 1 | t1->waits);
	}
	if (compare && !same_so_far(r))
		return false;
	for (uint32_t l = 0; l < r->s->m->nlinks; l++)
		put(r, ahead(r, r->links[l].free));
	if (compare && !same_so_far(r))
		return false;
	for (uint32_t f = 0; f < r->p->nfifos; f++) {
		const struct flow *q = &r->flows[f];

		put(r, (uint64_t)q->waits[SEND] << 1 | q->waits[RECV]);
		for (uint64_t i = 0; i < q->nflights; i++)
			put_flight(r, &q->flights[(q->started[RECV] + i) % q->nflights]);
	}
	if (compare && !same_so_far(r))
		return false;
	put_events(r);
	return !compare || (same_so_far(r) && r->period.kept.n == r->period.now.n);
}

/* The time that links and workers are busy, less that when the state was kept if it is to be added `times`. */
static void count_busy(struct timing *r, int64_t times)
{
	int64_t *kept = r->period.busy;

	for (uint32_t i = 0; i < r->s->m->nlinks + 2 * r->p->ntasks; i++) {
		uint32_t t = i - r->s->m->nlinks;
		int64_t *busy =
			i < r->s->m->nlinks ? &r->links[i].busy : &r->tasks[t / 2].busy[t % 2];

		if (times)
			*busy += times * (*busy - kept[i]);
		kept[i] = *busy;
	}
}

static void lengthen(struct chain *x, int64_t latency, uint32_t messages)
{
	x->latency += latency;
	x->messages += messages;
}

/* All chains grow alike from period to period, as each goes through what decides the period. */
static void lengthen_chains(struct timing *r, uint32_t times)
{
	struct chain now = r->tasks[r->period.task].chain, *before = &r->period.chain;
	int64_t latency = times * (now.latency - before->latency);
	uint32_t messages = times * (now.messages - before->messages);

	for (uint32_t t = 0; t < r->p->ntasks; t++)
		lengthen(&r->tasks[t].chain, latency, messages);
	for (uint32_t l = 0; l < r->s->m->nlinks; l++)
		lengthen(&r->links[l].chain, latency, messages);
	for (uint32_t f = 0; f < r->p->nfifos; f++)
		for (uint64_t i = 0; i < r->flows[f].nflights; i++)
			lengthen(&r->flows[f].flights[i].chain, latency, messages);
}

static void keep_state(struct timing *r)
{
	struct period *d = &r->period;
	struct words before = d->kept;

	put_state(r, false);
	d->kept = d->now;
	d->now = before;
	d->tile = r->tasks[d->task].tile;
	d->at = r->now;
	d->chain = r->tasks[d->task].chain;
	count_busy(r, 0);
}

/* The watched task begins a tile. */
static void find_period(struct timing *r)
{
	struct period *d = &r->period;
	struct task_run *t = &r->tasks[d->task];
	uint32_t first = t->tile, cycle = t->tile - d->tile, times;

	for (uint32_t i = 0; i < r->p->ntasks; i++)
		first = r->tasks[i].tile > first ? r->tasks[i].tile : first;
	if (first + d->skipped + cycle >= d->tiles) { /* too late for one more */
		d->task = NONE;
		return;
	}
	if (d->kept.n && put_state(r, true)) {
		times = (d->tiles - d->skipped - first - 1) / cycle;
		d->skipped += times * cycle;
		r->ntiles -= times * cycle;
		d->skips += times * (r->now - d->at);
		lengthen_chains(r, times);
		count_busy(r, times);
		d->task = NONE;
	} else if (!d->kept.n || (t->tile & (t->tile - 1)) == 0) {
		keep_state(r);
	}
}

/* Runs operations of a worker, tile after tile, until one takes time or has to wait. */
static void go_on_tiles(struct timing *r, uint32_t task)
{
	const struct task *of = &r->p->tasks[task];
	struct task_run *t = &r->tasks[task];

	while (of->nops) {
		const struct op *o;
		uint32_t in, out;

		if (t->pending) { /* its operation is over */
			t->pending = 0;
			if (op_kind(&of->ops[t->row]) != OP_WAIT && ++t->slice < r->slices)
				continue;
			t->slice = 0;
			t->tile += ++t->row == of->nops;
			t->row %= of->nops;
			wake(r, task);
			if (task == r->period.task && t->row == 0)
				find_period(r);
		}
		if (t->tile == r->ntiles)
			break;
		o = &of->ops[t->row];
		in = op_in(o);
		out = op_out(o);
		if (op_kind(o) == OP_WAIT) {
			if (await(r, task, o))
				return;
			t->chain = t->waits ? t->next : t->chain;
			t->ends = r->now;
		} else {
			if ((in != NONE && !has(r, task, in, RECV)) ||
			    (out != NONE && !has(r, task, out, SEND)))
				return;
			move(r, task, o, in, out);
		}
		t->waits = false;
		t->pending = 1;
		if (t->ends > r->now) {
			push(r, t->ends, TASK, task);
			return;
		}
	}
	r->chain = t->chain;
}

/* ---- the run ---------------------------------------------------------------------------------------------- */

bool simulation_fits(const struct simulation *s, double block)
{
	return !s->p->lowered || s->longest * block <= s->tile * MOST_TILES;
}

static void cut_tiles(struct timing *r)
{
	double longest = r->s->longest * r->block;

	r->ntiles = r->slices = 1;
	r->tile = longest;
	if (r->whole || longest <= r->s->tile)
		return;
	/* of equal size, in whole cache lines (runtime/cpu/core/layout.c) */
	r->tile = ceil(longest / ceil(longest / r->s->tile) / 64) * 64;
	r->ntiles = (uint32_t)ceil(longest / r->tile);
}

/* Ticks are as short as all times together allow. */
static void choose_ticks(struct timing *r)
{
	const struct simulation *s = r->s;
	const struct machine_cost *cost = &s->m->cost;
	double most, moves = (cost->worker > 0 ? 1 / cost->worker : 0) +
			     (cost->reduce > 0 ? 1 / cost->reduce : 0);
	int e;

	most = s->computes + s->moved * r->block * moves;
	for (uint32_t f = 0; f < r->p->nfifos; f++) {
		const struct load *x = &s->loads[f];
		double messages = (double)r->p->fifos[f].nsends * r->ntiles * r->slices;

		most += 2 * messages * (x->latency + cost->step);
		for (uint32_t i = 0; i < x->path.n; i++)
			most += x->share * r->block / s->m->links[x->path.links[i]].bandwidth;
	}
	frexp(most, &e);
	r->scale = ldexp(1, 61 - (e > -10 ? e : -10));
	r->step = ticks(r, cost->step);
	r->worker = cost->worker > 0 ? r->scale / cost->worker : 0;
	r->reduce = cost->reduce > 0 ? r->scale / cost->reduce : 0;
	r->works = r->step > 0 || r->worker > 0 || r->reduce > 0;
}

static void place_flights(struct timing *r)
{
	const struct simulation *s = r->s;
	const uint64_t slots = (uint64_t)s->slots * r->slices; /* as was checked */
	struct flight *flights;
	uint64_t n = 0;

	r->flows = ARENA_ARRAY(r->arena, struct flow, r->p->nfifos);
	for (uint32_t f = 0; f < r->p->nfifos; f++) {
		uint64_t all = (uint64_t)r->p->fifos[f].nsends * r->ntiles * r->slices;

		r->flows[f].nflights = r->whole || all < slots ? all : slots;
		n += r->flows[f].nflights;
	}
	r->flights = flights = ARENA_ARRAY(r->arena, struct flight, n);
	for (uint32_t f = 0; f < r->p->nfifos; f++) {
		r->flows[f].flights = flights;
		flights += r->flows[f].nflights;
	}
}

static void timing_init(struct timing *r, struct ctx *c, const struct simulation *s, double block,
			struct timeline *noted)
{
	const struct machine *m = s->m;

	*r = (struct timing){
		.s = s, .p = s->p, .block = block, .arena = c->scratch, .noted = noted
	};
	r->whole = !s->p->lowered;
	cut_tiles(r);
	if (!r->whole && s->slices && r->tile >= SLICE_LEAST * s->slices)
		r->slices = s->slices;
	choose_ticks(r);
	place_flights(r);
	r->tasks = ARENA_ARRAY(r->arena, struct task_run, r->p->ntasks);
	r->links = ARENA_ARRAY(r->arena, struct link_run, m->nlinks);
	for (uint32_t t = 0; t < r->p->ntasks; t++)
		r->tasks[t].chain.last = r->tasks[t].next.last = NONE;
	for (uint32_t l = 0; l < m->nlinks; l++) {
		r->links[l].takes = r->scale / m->links[l].bandwidth;
		r->links[l].latency = ticks(r, m->links[l].latency);
	}
	r->period.task = NONE;
	r->period.tiles = r->tile > 0 ? (uint32_t)(s->shortest * block / r->tile) : 0;
	r->period.busy = ARENA_ARRAY(r->arena, int64_t, m->nlinks + 2 * r->p->ntasks);
	if (noted) {
		noted->nmessages = s->nmessages * r->ntiles * r->slices;
		noted->messages = ARENA_ARRAY(r->arena, struct message_time, noted->nmessages);
		noted->last = NONE;
	}
}

/* Whether all tasks came to their ends. */
static bool is_over(const struct timing *r)
{
	for (uint32_t t = 0; t < r->p->ntasks; t++)
		if (r->whole ? r->tasks[t].row != r->p->tasks[t].nops
			     : r->p->tasks[t].nops && r->tasks[t].tile != r->ntiles)
			return false;
	return true;
}

static struct predicted result(const struct timing *r)
{
	struct predicted to = { .over = is_over(r), .link = NONE, .rank = NONE };
	int64_t busy = 0, working = 0;

	to.seconds = seconds(r, r->now + r->period.skips) + r->s->m->cost.call;
	to.latency = seconds(r, r->chain.latency);
	to.messages = r->chain.messages;
	for (uint32_t l = 0; l < r->s->m->nlinks; l++)
		if (r->links[l].busy > busy) {
			busy = r->links[l].busy;
			to.link = l;
		}
	for (uint32_t t = 0; t < r->p->ntasks; t++)
		for (int side = SEND; side <= RECV; side++)
			if (r->tasks[t].busy[side] > working) {
				working = r->tasks[t].busy[side];
				to.rank = r->p->tasks[t].rank;
			}
	to.busy = seconds(r, busy);
	to.working = seconds(r, working);
	return to;
}

struct predicted simulate(struct ctx *c, const struct simulation *s, double block,
			  struct timeline *noted)
{
	struct timing r;
	void (*go)(struct timing *, uint32_t);

	timing_init(&r, c, s, block, noted);
	go = r.whole ? go_on : go_on_tiles;
	for (uint32_t t = 0; t < s->p->ntasks; t++)
		go(&r, t);
	for (uint32_t t = 0; t < s->p->ntasks && r.ntiles > 2 && !noted; t++)
		if (s->p->tasks[t].nops) {
			r.period.task = t;
			break;
		}
	while (r.n) {
		struct event e = pop(&r);
		struct flight *x = &r.flights[e.row];

		r.now = e.at;
		switch (e.kind) {
		case TASK: go(&r, e.row); break;
		case HOP: hop(&r, x, r.now); break;
		case ARRIVAL:
			x->state = THERE;
			if (r.flows[x->fifo].started[RECV] >
			    (uint64_t)(x - r.flows[x->fifo].flights))
				receive(&r, x, &x->chain);
			break;
		}
	}
	if (noted)
		noted->last = r.chain.last;
	return result(&r);
}
