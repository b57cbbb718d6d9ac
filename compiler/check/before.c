/*
 * Happens-before over the operations of a lowered program.
 *
 * In:  a lowered program, matched, without deadlock and races. Out: for two operations,
 * whether the one is over when the other begins, in every run and with FIFOs of any
 * depth. That is so exactly if a way leads from the one to the other along
 *   - the order of a worker,
 *   - waits: what is waited for comes before what waits,
 *   - messages: the send comes before its receive.
 * Free slots are no such order: a send may go on when its FIFO is deeper.
 *
 * All operations are put in one order that keeps to these (events). Then:
 *
 * One question at a time (before_ask). Most are settled nearby. Each operation takes
 * at most one message and sends at most one, so messages link operations to chains:
 * in a ring a chunk's whole way round is one chain. Operations on one cell are
 * ordered, too: whoever wrote a cell's first values comes before those who touch its
 * later ones, as there are no races; a sum of many messages is one such chain. So:
 * look back a few steps from the later operation; one in the worker, chain or cell of
 * the earlier one, or of the receive of its message, and at or behind that, says yes.
 * Nothing more to look at says no; so does the length of the longest way to each
 * (level), which grows along every way.
 *
 * The rest together (before_ask_all), by vector clocks (clocks.h): for LANES workers at a time
 * the events are gone through in order, each with LANES numbers: how far it knows those
 * workers to have come. (Only events that learn, that others learn from, or that were
 * asked about.) Vectors live as long as somebody needs them: a worker's own, and one
 * for each operation whose message or end others still wait for; these places are
 * used again, and are the same for every round of LANES. That is exact; it is
 * O(events) a round, and stops at LIMIT_STEPS.
 */
#include "compiler/check/before.h"
#include "compiler/check/clocks.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_STEPS (1ull << 24) /* events gone through, in all rounds: a second */
#define LIMIT_PLACES (1u << 19)	 /* vectors at a time: 128 MiB */

enum { LANES = 64, LOOKS = 48 };

/* ---- the order of events ---------------------------------------------------------- */

/* The last operation among a task's first rows: what a wait for them waits for. */
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

/* The next operation of a task happens, if it sends as it starts, else as it is over; the
 * WAIT rows before it hold. */
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

/* A counting sort, which keeps the order of a rank's events. */
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

/* What is known of a cell, for one rank. */
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

/* ---- one question ------------------------------------------------------------------- */

/* x is `early`, or behind it in its worker, its chain or its cell. */
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
		/* Its predecessors: others, and then the previous one. */
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

/* ---- all the rest --------------------------------------------------------------------- */

struct sweep {
	struct before *b;
	uint32_t *place; /* by event: where its vector is kept for others; NONE: nobody asks */
	uint32_t nplaces;
	struct clocks clocks; /* LANES wide */
	size_t own, kept;     /* rows: by task; by place */
	uint32_t *lane;	      /* by task: its number among those asked for; NONE: none */
	uint32_t nlanes;
	uint32_t *told; /* the events to go through */
	uint32_t ntold;
};

/* Places of vectors: one is free again when the last one who needs it has come. */
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

/* Those that learn, that others learn from, and that are asked about. */
static void pick_events(struct sweep *k, const struct question *q, uint32_t n)
{
	struct before *b = k->b;

	b->asked++;
	for (uint32_t i = 0; i < n; i++)
		b->seen[q[i].late] = b->asked;
	k->told = ARENA_ARRAY(b->ctx->scratch, uint32_t, b->n);
	for (uint32_t e = 0; e < b->n; e++)
		if (b->seen[e] == b->asked || k->place[e] != NONE ||
		    b->events[e].others < b->events[e + 1].others)
			k->told[k->ntold++] = e;
}

/* One round: lanes lane0 ..; the questions are about these, and ascend by `late`. */
static void run_round(struct sweep *k, uint32_t lane0, struct question *q, uint32_t n)
{
	const struct before *b = k->b;

	memset(clocks_row(&k->clocks, k->own), 0, b->p->ntasks * LANES * sizeof(uint32_t));
	for (uint32_t t = 0, i = 0; i < n; t++) {
		uint32_t e = k->told[t];
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
		if (lane < LANES) /* with it, those before it in its worker */
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
		steps += k.ntold;
		if (steps > b->most_steps)
			return;
		run_round(&k, q[i].round * LANES, q + i, end - i);
	}
}
