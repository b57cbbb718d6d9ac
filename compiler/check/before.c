/*
 * Happens-before over the operations of a lowered program.
 *
 * In:  a lowered program, matched, without deadlock and races. Out: for two operations, whether the
 * first has finished when the second begins, in every run and with FIFOs of any depth. This holds
 * exactly if there is a path from the first to the second (Lamport, CACM 1978) along
 *   - the order of a worker,
 *   - waits: from the last operation that is awaited to the one that waits,
 *   - messages: from the send to its receive.
 * Free slots give no order, as a deeper FIFO lets a send proceed earlier.
 *
 * All operations are sorted in one order that respects these edges (events). Queries are answered
 * in two ways.
 *
 * before_ask() searches a few steps back from the later operation, which settles most queries. It
 * uses three kinds of chains, along which operations are ordered: a worker; messages (an operation
 * takes and sends at most one message, so the way of a chunk around a ring is one chain); and
 * operations on one cell (the write that makes a version of the cell precedes all reads of this
 * version and all accesses to later ones, as there are no races). Yes: the search meets an
 * operation in a chain of the earlier operation, or of the receive of its message, at or after that
 * operation. No: the search ends, or the level, the length of the longest path to an operation,
 * rules out a path, as it grows along every path.
 *
 * before_ask_all() answers the remaining queries exactly, by vector clocks (clocks.h). In each
 * round it sweeps over the events in order, with clocks of LANES workers only, and skips events
 * that neither learn nor are learnt from nor are asked about. A clock is kept for each worker, and
 * for each operation for which later events still wait; these places are reused, and are the same
 * in every round. O(events) a round, up to LIMIT_STEPS in all.
 */
#include "compiler/check/before.h"
#include "compiler/check/clocks.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_STEPS (1ull << 24) /* events visited in all rounds: a second */
#define LIMIT_PLACES (1u << 19)	 /* clocks at a time: 128 MiB */

enum {
	LANES = 64, /* workers in a clock */
	LOOKS = 48  /* events that before_ask() visits */
};

/* ---- the order of events ---------------------------------------------------------- */

/* The last operation among a task's first `rows` rows: the one that a wait for them awaits. */
static uint32_t last_event(const struct before *b, uint32_t task, uint32_t rows)
{
	while (rows > 0) {
		uint32_t e = before_event(b, task, --rows);
		if (e != NONE)
			return e;
	}
	return NONE;
}

static void add_other(struct before *b, struct event *e, uint32_t other)
{
	if (other == NONE)
		return;
	ARENA_PUSH(b->ctx->scratch, b->others, b->nothers, b->capothers) = other;
	if (b->events[other].level >= e->level)
		e->level = b->events[other].level + 1;
}

/* Adds the next operation of a task: a send when it starts, any other when it finishes. The WAIT
 * rows before it are satisfied. */
static void add_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct before *b = arg;
	const struct op *ops = b->p->tasks[task].ops, *o = &ops[row];
	struct event *e = &b->events[b->n];
	uint32_t in = op_in(o), wait = row;

	(void)n; /* a lowered wave has one operation */
	if (op_kind(o) == OP_WAIT || starts != (op_out(o) != NONE))
		return;
	*e = (struct event){ .task = task,
			     .row = row,
			     .next = NONE,
			     .chain = b->n,
			     .cell = NONE,
			     .others = b->nothers };
	e->previous = last_event(b, task, row);
	if (e->previous != NONE)
		e->level = b->events[e->previous].level + 1;
	while (wait > 0 && op_kind(&ops[wait - 1]) == OP_WAIT) {
		wait--;
		add_other(b, e, last_event(b, ops[wait].fifo, ops[wait].other));
	}
	if (in != NONE) {
		const struct fifo *f = &b->p->fifos[in];
		uint32_t k = f->first + b->got[in]++;
		uint32_t from = before_event(b, f->src_task, b->p->messages[k].send);
		add_other(b, e, from);
		b->events[from].next = b->n;
		e->chain = b->events[from].chain;
		e->place = b->events[from].place + 1;
	}
	b->at[b->first[task] + row] = b->n++;
}

/* Counting sort; stable, so it keeps the order of a rank's events. */
static void sort_ranks(struct before *b)
{
	const struct program *p = b->p;
	uint32_t *first = ARENA_ARRAY(b->ctx->scratch, uint32_t, p->nranks + 2);

	b->by_rank = ARENA_ARRAY(b->ctx->scratch, uint32_t, b->n);
	for (uint32_t e = 0; e < b->n; e++)
		first[p->tasks[b->events[e].task].rank + 2]++;
	for (uint32_t r = 2; r <= p->nranks; r++)
		first[r] += first[r - 1];
	for (uint32_t e = 0; e < b->n; e++)
		b->by_rank[first[p->tasks[b->events[e].task].rank + 1]++] = e;
	b->of_rank = first;
}

/* A cell of the current rank. */
struct history {
	uint32_t age, version;
};

static void number_versions(struct before *b)
{
	const struct program *p = b->p;
	struct history *cells =
		ARENA_ARRAY(b->ctx->scratch, struct history, (size_t)p->cells + p->scratch);

	for (uint32_t r = 0; r < p->nranks; r++)
		for (uint32_t i = b->of_rank[r]; i < b->of_rank[r + 1]; i++) {
			struct event *v = &b->events[b->by_rank[i]];
			struct touch t = op_touch(&p->tasks[v->task].ops[v->row]);
			if (!t.wn && !t.rn)
				continue;
			v->cell = t.wn ? t.w : t.r;
			struct history *h = &cells[v->cell];
			if (h->age != r + 1)
				*h = (struct history){ .age = r + 1 };
			h->version += t.wn > 0;
			v->version = h->version & 0x7fffffff;
			v->writes = t.wn > 0;
		}
}

bool before_init(struct before *b, struct ctx *c, const struct program *p,
		 const struct order *order)
{
	uint32_t rows = 0;

	*b = (struct before){ .ctx = c, .p = p, .most_steps = LIMIT_STEPS };
	if (p->nops > LIMIT_EVENTS)
		return false;
	b->first = ARENA_ARRAY(c->scratch, uint32_t, (size_t)p->ntasks + 1);
	for (uint32_t t = 0; t < p->ntasks; t++) {
		b->first[t] = rows;
		rows += p->tasks[t].nops;
	}
	b->at = none_array(c->scratch, rows);
	b->events = ARENA_ARRAY(c->scratch, struct event, p->nops + 1);
	b->seen = ARENA_ARRAY(c->scratch, uint32_t, (uint32_t)p->nops);
	b->got = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	order_walk(order, p, c->scratch, add_event, b);
	b->events[b->n].others = b->nothers;
	sort_ranks(b);
	number_versions(b);
	return true;
}

/* ---- one query ---------------------------------------------------------------------- */

/* Whether x is `early`, or after it in its worker, its chain of messages or its cell. */
static bool follows(const struct before *b, uint32_t x, uint32_t early)
{
	const struct event *v = &b->events[x], *e = &b->events[early];

	return (v->task == e->task && v->row >= e->row) ||
	       (v->chain == e->chain && v->place >= e->place) ||
	       (e->writes && v->cell == e->cell && v->version >= e->version &&
		b->p->tasks[v->task].rank == b->p->tasks[e->task].rank);
}

enum answer before_ask(struct before *b, uint32_t early, uint32_t late)
{
	uint32_t queue[LOOKS], n = 0, least = b->events[early].level;
	uint32_t next = b->events[early].next;
	bool all = true;

	if (late <= early || b->events[late].level <= least)
		return BEFORE_NO;
	b->asked++;
	queue[n++] = late;
	for (uint32_t k = 0; k < n; k++) {
		const struct event *v = &b->events[queue[k]];
		if (follows(b, queue[k], early) || (next != NONE && follows(b, queue[k], next)))
			return BEFORE_YES;
		/* Its predecessors: `others`, and then the previous one of its worker. */
		for (uint32_t i = v->others; i <= v[1].others; i++) {
			uint32_t x = i < v[1].others ? b->others[i] : v->previous;
			if (x == NONE || b->events[x].level < least || b->seen[x] == b->asked)
				continue;
			b->seen[x] = b->asked;
			if (n == LOOKS)
				all = false;
			else
				queue[n++] = x;
		}
	}
	return all ? BEFORE_NO : BEFORE_OPEN;
}

/* ---- the remaining queries -------------------------------------------------------------- */

struct sweep {
	struct before *b;
	uint32_t *place; /* by event: the place of its clock; NONE: no later event needs it */
	uint32_t nplaces;
	struct clocks clocks; /* LANES wide */
	size_t own, kept;     /* first rows of the clocks by task, and by place */
	uint32_t *lane;	      /* by task: its number among the tasks asked about, or NONE */
	uint32_t nlanes;
	uint32_t *visits; /* the events to visit */
	uint32_t nvisits;
};

/* Assigns places to clocks; a place is free after the last event that needs its clock. */
static void give_places(struct sweep *k)
{
	struct before *b = k->b;
	struct arena *a = b->ctx->scratch;
	uint32_t *left = ARENA_ARRAY(a, uint32_t, b->n), *spare = ARENA_ARRAY(a, uint32_t, b->n),
		 nspare = 0;

	k->place = none_array(a, b->n);
	for (uint32_t i = 0; i < b->nothers; i++)
		left[b->others[i]]++;
	for (uint32_t e = 0; e < b->n; e++) {
		for (uint32_t i = b->events[e].others; i < b->events[e + 1].others; i++)
			if (--left[b->others[i]] == 0)
				spare[nspare++] = k->place[b->others[i]];
		if (left[e])
			k->place[e] = nspare ? spare[--nspare] : k->nplaces++;
	}
}

static void give_lanes(struct sweep *k, struct question *q, uint32_t n)
{
	const struct before *b = k->b;

	k->lane = none_array(b->ctx->scratch, b->p->ntasks);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *lane = &k->lane[b->events[q[i].early].task];
		if (*lane == NONE)
			*lane = k->nlanes++;
	}
}

/* Picks the events that learn, that others learn from, and that are asked about. */
static void pick_events(struct sweep *k, const struct question *q, uint32_t n)
{
	struct before *b = k->b;

	b->asked++;
	for (uint32_t i = 0; i < n; i++)
		b->seen[q[i].late] = b->asked;
	k->visits = ARENA_ARRAY(b->ctx->scratch, uint32_t, b->n);
	for (uint32_t e = 0; e < b->n; e++)
		if (b->seen[e] == b->asked || k->place[e] != NONE ||
		    b->events[e].others < b->events[e + 1].others)
			k->visits[k->nvisits++] = e;
}

/* One round, of the lanes from lane0 on; the queries are about these, and sorted by `late`. */
static void run_round(struct sweep *k, uint32_t lane0, struct question *q, uint32_t n)
{
	const struct before *b = k->b;

	memset(clocks_row(&k->clocks, k->own), 0, b->p->ntasks * LANES * sizeof(uint32_t));
	for (uint32_t t = 0, i = 0; i < n; t++) {
		uint32_t e = k->visits[t];
		const struct event *v = &b->events[e];
		uint32_t *own = clocks_row(&k->clocks, k->own + v->task);
		uint32_t lane = k->lane[v->task] - lane0;
		for (uint32_t j = v->others; j < v[1].others; j++)
			clocks_join(&k->clocks, k->own + v->task, k->kept + k->place[b->others[j]]);
		for (; i < n && q[i].late == e; i++) {
			const struct event *early = &b->events[q[i].early];
			bool over = own[k->lane[early->task] - lane0] > early->row;
			q[i].answer = over ? BEFORE_YES : BEFORE_NO;
		}
		if (lane < LANES) /* and so are the operations before it in its worker */
			own[lane] = v->row + 1;
		if (k->place[e] != NONE)
			memcpy(clocks_row(&k->clocks, k->kept + k->place[e]), own,
			       LANES * sizeof(*own));
	}
}

static int by_round(const void *x, const void *y)
{
	const struct question *a = x, *b = y;

	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	return a->late < b->late ? -1 : a->late > b->late;
}

void before_ask_all(struct before *b, struct question *q, uint32_t n)
{
	struct sweep k = { .b = b };
	uint64_t steps = 0;

	for (uint32_t i = 0; i < n; i++)
		q[i].answer = BEFORE_OPEN;
	if (n == 0)
		return;
	give_places(&k);
	if (k.nplaces > LIMIT_PLACES || b->p->ntasks > LIMIT_PLACES)
		return;
	give_lanes(&k, q, n);
	pick_events(&k, q, n);
	clocks_begin(&k.clocks, b->ctx->scratch, LANES);
	k.own = clocks_add(&k.clocks, b->p->ntasks);
	k.kept = clocks_add(&k.clocks, k.nplaces);
	for (uint32_t i = 0; i < n; i++)
		q[i].round = k.lane[b->events[q[i].early].task] / LANES;
	qsort(q, n, sizeof(*q), by_round);
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && q[end].round == q[i].round;)
			end++;
		steps += k.nvisits;
		if (steps > b->most_steps)
			return;
		run_round(&k, q[i].round * LANES, q + i, end - i);
	}
}
