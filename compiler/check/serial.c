/*
 * W0403: ranks that wait for one another although their data does not ask for it.
 *
 * In: a right program, and an order to run it in. Out: its longest chain, in the steps of the report
 * (replay.h: waves with messages), and the steps that would do.
 *
 *     rank 0: send a to next, then recv b from prev        rank 1 sends only when it has received, and
 *     others: recv b from prev, then send a to next        so on around the ring: N steps for each round
 *
 * What would do is the longest chain if each rank sends and receives at the same time: sends keep their
 * order, and so do receives; a send waits for the chunks that it reads, a receive until the chunks that it
 * writes are read. Here that is one step. (A send without chunks waits for all receives before it: it is
 * there for the order.) It is a warning from twice as many steps on, and four. A tree of any degree has
 * none: its sends are in one order, and its data takes as long.
 *
 * O(operations + chunks that they touch), only for programs whose chain is twice as long as the sends, or
 * receives, of each task.
 */
#include "compiler/check/check.h"

#include <string.h>

enum { FEWEST = 4, SHOWN = 5 };
#define LIMIT_SERIAL ((uint64_t)1 << 24) /* operations and cells of all ranks */

/* Depths after a wave. */
struct point {
	uint32_t depth, sends, recvs; /* as it is; if sends, and receives, were apart */
	uint32_t last;		      /* the wave whose depth that is, or NONE */
};

/* A wave with messages. */
struct link_of_chain {
	uint32_t before; /* the wave with messages that its rank waited for before it, or NONE */
	uint32_t sender; /* the wave of the message that it waited for; NONE: it waited for none */
};

struct flight {
	uint32_t wave, depth, least; /* of the sender when it began */
};

struct chain {
	const struct program *p;
	uint32_t *base;		     /* by task: the number of its first row */
	struct point *now;	     /* by task */
	struct point *after;	     /* by the last row of a wave */
	struct point *begun;	     /* by task: when its wave began */
	struct link_of_chain *waves; /* by first row */
	struct flight *flights;	     /* FIFO after FIFO */
	uint32_t *sent, *got;	     /* by FIFO */
	uint32_t *ready,
		*read; /* by rank and cell: since when it has its value; until when it is read */
	size_t width;
};

/* The most of v[0 .. n - 1] and `least`. */
static uint32_t most_of(const uint32_t *v, uint32_t n, uint32_t least)
{
	for (uint32_t i = 0; i < n; i++)
		least = v[i] > least ? v[i] : least;
	return least;
}

static void raise_all(uint32_t *v, uint32_t n, uint32_t to)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = v[i] > to ? v[i] : to;
}

static void send_begins(struct chain *x, uint32_t task, uint32_t wave, const struct op *o)
{
	const struct point *now = &x->begun[task];
	size_t cell = x->p->tasks[task].rank * x->width + o->cell;
	uint32_t least = most_of(x->ready + cell, o->n, now->sends);

	if (!o->n && now->recvs > least)
		least = now->recvs;
	x->flights[x->sent[o->fifo]++] = (struct flight){ wave, now->depth, least };
	raise_all(x->read + cell, o->n, least + 1);
	raise_all(&x->now[task].sends, 1, least + 1);
}

static void recv_ends(struct chain *x, uint32_t task, uint32_t wave, const struct op *o)
{
	struct point *now = &x->now[task];
	const struct flight *f = &x->flights[x->got[o->fifo]++];
	size_t cell = x->p->tasks[task].rank * x->width + o->cell;
	uint32_t least = most_of(x->read + cell, o->n, x->begun[task].recvs);

	if (op_kind(o) == OP_REDUCE_FROM)
		least = most_of(x->ready + cell, o->n, least);
	least = (f->least > least ? f->least : least) + 1;
	raise_all(x->ready + cell, o->n, least);
	raise_all(&now->recvs, 1, least);
	if (f->depth > x->begun[task].depth ? f->depth >= now->depth : now->last == NONE)
		x->waves[wave].sender = f->wave;
	if (f->depth >= now->depth)
		now->depth = f->depth + 1;
}

/* A copy or reduction inside the rank, which takes no step. */
static void move_ends(struct chain *x, uint32_t task, const struct op *o)
{
	size_t at = x->p->tasks[task].rank * x->width;
	uint32_t when = most_of(x->ready + at + o->cell, o->n, 0);

	when = most_of(x->read + at + o->other, o->n, when);
	if (op_kind(o) == OP_REDUCE_INTO)
		when = most_of(x->ready + at + o->other, o->n, when);
	raise_all(x->read + at + o->cell, o->n, when);
	raise_all(x->ready + at + o->other, o->n, when);
}

/* A scratch begins anew: its cells may be others. */
static void renew_cells(struct chain *x, uint32_t task, const struct op *o)
{
	size_t cell = x->p->tasks[task].rank * x->width + o->cell;

	memset(x->ready + cell, 0, o->n * sizeof(*x->ready));
	memset(x->read + cell, 0, o->n * sizeof(*x->read));
}

static void wait_ends(struct chain *x, uint32_t task, const struct op *o)
{
	struct point *now = &x->now[task];
	const struct point *other;

	if (!o->other)
		return;
	other = &x->after[x->base[o->fifo] + o->other - 1];
	raise_all(&now->sends, 1, other->sends);
	raise_all(&now->recvs, 1, other->recvs);
	if (other->depth <= now->depth)
		return;
	now->depth = other->depth;
	now->last = other->last;
}

static void wave_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct chain *x = arg;
	const struct op *ops = x->p->tasks[task].ops + row;
	const uint32_t wave = x->base[task] + row;
	struct point *now = &x->now[task];
	bool messages = false;

	if (starts) {
		x->begun[task] = *now;
		x->waves[wave] = (struct link_of_chain){ now->last, NONE };
		for (uint32_t i = 0; i < n; i++)
			if (op_kind(&ops[i]) == OP_SEND)
				send_begins(x, task, wave, &ops[i]);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		messages |= op_is_end(&ops[i]);
	now->depth += messages;
	for (uint32_t i = 0; i < n; i++)
		switch (op_kind(&ops[i])) {
		case OP_RECV:
		case OP_REDUCE_FROM: recv_ends(x, task, wave, &ops[i]); break;
		case OP_COPY:
		case OP_REDUCE_INTO: move_ends(x, task, &ops[i]); break;
		case OP_FRESH: renew_cells(x, task, &ops[i]); break;
		case OP_WAIT: wait_ends(x, task, &ops[i]); break;
		case OP_SEND:
		case OP_RECV_SEND: /* of lowered programs */
		case OP_REDUCE_SEND: break;
		}
	if (messages)
		now->last = wave;
	x->after[wave + n - 1] = *now;
}

/* ---- the verdict --------------------------------------------------------------------------------- */

bool serial_may_be(const struct program *p, uint32_t steps)
{
	uint32_t most = FEWEST / 2;

	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *k = &p->tasks[t];
		uint32_t waves[2] = { 0, 0 };

		for (uint32_t i = 0, end; i < k->nops; i = end) {
			bool any[2] = { false, false };

			for (end = i + wave_length(k, i); i < end; i++)
				if (op_is_end(&k->ops[i]))
					any[op_kind(&k->ops[i]) == OP_SEND] = true;
			waves[0] += any[0];
			waves[1] += any[1];
		}
		most = most_of(waves, 2, most);
	}
	return steps >= 2 * most;
}

static const char *wave_text(struct ctx *c, const struct chain *x, uint32_t wave)
{
	const struct program *p = x->p;
	uint32_t t = p->ntasks - 1;
	struct span span;

	while (x->base[t] > wave)
		t--;
	span = p->sites[p->tasks[t].ops[wave - x->base[t]].site].span;
	return arena_printf(c->scratch, "rank %u line %u", p->tasks[t].rank,
			    source_place(c->sources, span.lo).line);
}

/* The first waves of the chain that ends with `last`, in words; *first: the place of the first. */
static const char *chain_text(struct ctx *c, const struct chain *x, uint32_t last, uint32_t *first)
{
	uint32_t waves[SHOWN] = { 0 }, n = 0;
	const char *text = "";

	for (uint32_t w = last; w != NONE;) { /* backwards: the last SHOWN ones that are met stay */
		uint32_t sender = x->waves[w].sender;

		waves[n++ % SHOWN] = w;
		if (sender != NONE)
			waves[n++ % SHOWN] = sender;
		w = x->waves[sender != NONE ? sender : w].before;
	}
	for (uint32_t i = 0; i < SHOWN && i < n; i++)
		text = arena_printf(c->scratch, "%s%s%s", text, i ? ", " : "",
				    wave_text(c, x, waves[(n - 1 - i) % SHOWN]));
	*first = waves[(n - 1) % SHOWN];
	return n > SHOWN ? arena_printf(c->scratch, "%s, ...", text) : text;
}

void serial_find(struct ctx *c, const struct program *p, const struct order *order,
		 struct serial *to, struct arena *keep)
{
	struct chain x = { .p = p, .width = p->cells + p->scratch };
	struct point most = { 0 };
	uint32_t rows = 0, messages = 0, first, t = p->ntasks;

	if (p->nops + p->nranks * (uint64_t)x.width > LIMIT_SERIAL)
		return;
	x.base = ARENA_ARRAY(c->scratch, uint32_t, p->ntasks);
	for (uint32_t i = 0; i < p->ntasks; i++) {
		x.base[i] = rows;
		rows += p->tasks[i].nops;
	}
	x.sent = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	for (uint32_t f = 0; f < p->nfifos; f++) {
		x.sent[f] = messages;
		messages += p->fifos[f].nsends;
	}
	x.got = arena_copy(c->scratch, x.sent, p->nfifos * sizeof(*x.got));
	x.now = ARENA_ARRAY(c->scratch, struct point, p->ntasks);
	x.begun = ARENA_ARRAY(c->scratch, struct point, p->ntasks);
	x.after = ARENA_ARRAY(c->scratch, struct point, rows);
	x.waves = ARENA_ARRAY(c->scratch, struct link_of_chain, rows);
	x.flights = ARENA_ARRAY(c->scratch, struct flight, messages);
	x.ready = ARENA_ARRAY(c->scratch, uint32_t, p->nranks *x.width);
	x.read = ARENA_ARRAY(c->scratch, uint32_t, p->nranks *x.width);
	for (uint32_t i = 0; i < p->ntasks; i++)
		x.now[i].last = NONE;
	order_walk(order, p, c->scratch, wave_event, &x);
	for (uint32_t i = 0; i < p->ntasks; i++) {
		const struct point *now = &x.now[i];

		if (now->depth > most.depth) {
			most.depth = now->depth;
			most.last = now->last;
		}
		raise_all(&most.sends, 1, now->sends > now->recvs ? now->sends : now->recvs);
	}
	if (most.depth < FEWEST || most.depth < 2 * most.sends)
		return;
	*to = (struct serial){ .nranks = p->nranks, .steps = most.depth, .least = most.sends };
	to->chain = chain_text(c, &x, most.last, &first);
	to->chain = arena_strndup(keep, to->chain, strlen(to->chain));
	while (x.base[--t] > first)
		;
	to->span = p->sites[p->tasks[t].ops[first - x.base[t]].site].span;
}
