/*
 * The model of `ccc explain`: see explain.h.
 *
 * The program is run once on symbolic values; its stores are put in the order of steps, and of ranks
 * within each. That is a legal order, since a message from another rank began in an earlier step, and
 * it is the same one whatever order deadlock() found. Printers play the stores again. O(stores).
 */
#include "compiler/check/values/messages.h"
#include "compiler/explain/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- moves ---------------------------------------------------------------------------------- */

/* Adds the move of an operation, and of the sender's row `began`, if it is a message; else NONE. */
static struct move *add_move(struct script *x, uint32_t task, uint32_t row, uint32_t began)
{
	const struct program *p = x->r.p;
	const struct op *o = &p->tasks[task].ops[row];
	uint32_t rank = p->tasks[task].rank;
	struct move *m = &ARENA_PUSH(x->arena, x->moves, x->n, x->cap);

	*m = (struct move){ .task = task,
			    .row = row,
			    .rank = rank,
			    .first = x->nstores,
			    .from = rank,
			    .to = rank,
			    .send = o,
			    .recv = o,
			    .kind = began == NONE ? "local" : "message",
			    .source = { o->cell, o->n },
			    .target = { began == NONE ? o->other : o->cell, o->n } };
	if (began != NONE) {
		const struct fifo *f = &p->fifos[o->fifo];
		m->from = f->src;
		m->send = &p->tasks[f->src_task].ops[began];
		m->source.lo = m->send->cell;
	}
	return m;
}

/* Adds what the run stores to the moves. */
static void record(void *arg, const struct stored *s)
{
	struct script *x = arg;
	struct move *last = x->n ? &x->moves[x->n - 1] : NULL;

	if (!last || last->task != s->task || last->row != s->row) {
		last = add_move(x, s->task, s->row, s->from);
		last->depth = s->depth;
		last->combines = s->cell != NONE && s->reduced;
		x->combines |= last->combines;
	}
	if (s->cell == NONE)
		return;
	last->n++;
	ARENA_PUSH(x->arena, x->stores, x->nstores, x->capstores) = *s;
}

/* Adds the messages that were sent and that no rank has received. What has no slot was not sent: its
 * sender waits. */
static void add_lost(struct script *x)
{
	const struct program *p = x->r.p;

	for (uint32_t f = 0; f < p->nfifos; f++) {
		uint32_t i = x->r.queues[f].few[0].head;
		uint32_t received = x->far.flows ? x->far.flows[f].started[SENDS] : 0;

		if (x->r.queues[f].few[1].value != LISTED)
			continue;
		for (uint32_t j = i; j != NONE; j = x->r.sent[j].next)
			received--;
		for (uint32_t k = 0; i != NONE && k < x->r.c->slots; k++, i = x->r.sent[i].next) {
			struct sent *sent = &x->r.sent[i];
			struct move *m = add_move(x, p->fifos[f].src_task, sent->row, NONE);
			m->to = p->fifos[f].dst;
			m->recv = NULL;
			m->target.n = 0;
			m->depth = sent->depth + 1;
			m->lost = true;
			m->kind = "lost";
			m->unmatched = received + k >= p->fifos[f].nrecvs;
			m->carries =
				m->source.n ? *messages_values(&x->r, sent, m->source.n) : NONE;
		}
	}
}

static int in_order(const void *a, const void *b)
{
	const struct move *m = a, *n = b;

	if (m->depth != n->depth)
		return m->depth < n->depth ? -1 : 1;
	if (m->rank != n->rank)
		return m->rank < n->rank ? -1 : 1;
	return m->order < n->order ? -1 : 1;
}

/* By step, ranks within each; fills in their numbers and x->steps. */
static void sort(struct script *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		x->moves[i].order = i;
		x->steps = x->moves[i].depth > x->steps ? x->moves[i].depth : x->steps;
	}
	if (x->n)
		qsort(x->moves, x->n, sizeof(*x->moves), in_order);
}

uint32_t *explain_start(struct script *x)
{
	size_t n = (size_t)x->r.p->nranks * x->r.width;
	uint32_t *state = ARENA_ARRAY(x->arena, uint32_t, n);

	for (size_t i = 0; i < n; i++)
		state[i] =
			replay_start(&x->r, (uint32_t)(i / x->r.width), (uint32_t)(i % x->r.width));
	return state;
}

void explain_play(struct script *x, uint32_t *k, uint32_t end, uint32_t *state)
{
	for (; *k < end; ++*k) {
		const struct move *m = &x->moves[*k];
		for (uint32_t i = m->first; i < m->first + m->n; i++)
			state[(size_t)m->rank * x->r.width + x->stores[i].cell] =
				x->stores[i].after;
	}
}

/* ---- values -------------------------------------------------------------------------------- */

/* x->anywhere and x->into: rows of the contract for cells that it promises nothing of: first the rank's
 * cell itself on another rank, then one that the cell's data goes into. O(rows and their shares). */
static void find_promises(struct script *x)
{
	const struct program *p = x->r.p;
	const struct contract *k = x->contract;

	x->anywhere = none_array(x->arena, p->cells);
	x->into = none_array(x->arena, p->cells);
	for (uint32_t q = 0; q < p->nranks && k; q++)
		for (uint32_t i = contract_asks(k, q).lo; i < contract_asks(k, q).end; i++) {
			uint32_t row = contract_row(k, q, i);
			if (row == NONE)
				continue;
			struct expected e = contract_value(k, row);
			if (x->anywhere[i] == NONE)
				x->anywhere[i] = row;
			for (uint32_t j = 0; j < e.n; j++)
				if (x->into[e.v[j].cell] == NONE)
					x->into[e.v[j].cell] = row;
		}
}

static uint64_t contributions(const struct share *v, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (uint64_t)v[i].n * v[i].times;
	return sum;
}

struct holding explain_holding(struct script *x, uint32_t id, uint32_t rank, uint32_t cell)
{
	const struct program *p = x->r.p;
	bool buffer = cell < p->cells;
	uint32_t row = x->contract && buffer ? contract_row(x->contract, rank, cell) : NONE, n;
	bool promised = row != NONE;
	struct holding h = { .part = 1 };

	if (id >= POISON)
		return (struct holding){ 0 };
	value_shares(&x->r.values, id, &x->room);
	const struct share *v = x->room.v;
	uint32_t home = v->cell < p->cells ? p->buffers[x->r.buffer_of[v->cell]].cell : p->cells;
	h.colour = x->combines ? v->cell - home : v->first;
	if (!promised && buffer)
		row = x->anywhere[cell];
	if (row == NONE)
		row = x->into[v->cell];
	if (row == NONE)
		return h;
	struct expected want = contract_value(x->contract, row);
	const struct share *rest = shares_without(x->arena, v, x->room.n, want.v, want.n, true, &n);
	uint64_t all = contributions(want.v, want.n), other = contributions(rest, n);
	uint64_t have = contributions(v, x->room.n) - other;
	if (!promised && !have)
		return h;
	h.part = (double)have / (double)all;
	h.other = other > 0;
	h.whole = promised && have == all && !other;
	return h;
}

void explain_run(struct script *x, const struct order *order)
{
	x->r.silent = true;
	x->r.hook = record;
	x->r.arg = x;
	replay_run(&x->r, order);
	x->sent = ARENA_ARRAY(x->arena, double, x->r.p->nranks);
	replay_sent(&x->r, x->sent);
	add_lost(x);
	sort(x);
	find_promises(x);
}

/* ---- texts ---------------------------------------------------------------------------------- */

static const char *put_shares(struct script *x, const struct share *v, uint32_t n, uint32_t cell)
{
	struct arena *a = x->arena;
	const char *text = "";

	for (uint32_t i = 0; i < n; i++, v++) {
		if (i == 6)
			return arena_printf(a, "%s,...", text);
		bool other = i ? v[-1].cell != v->cell : v->cell != cell;
		text = arena_printf(a, "%s%s%s%s%u", text, i ? "," : "",
				    other ? program_cells_text(a, x->r.p, v->cell, 1) : "",
				    other ? "@" : "", v->first);
		if (v->n > 1)
			text = arena_printf(a, "%s%c%u", text,
					    v->n == 2 && v->times == 1 ? ',' : '-',
					    v->first + v->n - 1);
		if (v->times > 1)
			text = arena_printf(a, "%s(x%u)", text, v->times);
	}
	return text;
}

const char *explain_value_text(struct script *x, uint32_t id, uint32_t cell)
{
	if (id >= POISON)
		return "-";
	value_shares(&x->r.values, id, &x->room);
	return put_shares(x, x->room.v, x->room.n, cell);
}

const char *explain_promise_text(struct script *x, uint32_t row, uint32_t cell)
{
	struct expected e = contract_value(x->contract, row);

	return put_shares(x, e.v, e.n, cell);
}

const char *explain_ending_text(struct script *x, const struct ending *e)
{
	uint32_t id = e->kind == END_WRONG ? replay_value(&x->r, e->rank, e->cell) : NONE;

	if (e->kind == END_WRONG)
		return arena_printf(x->arena, "%s holds %s; promised is %s",
				    program_cells_text(x->arena, x->r.p, e->cell, 1),
				    id < POISON ? explain_value_text(x, id, e->cell) : "nothing",
				    explain_promise_text(x, e->row, e->cell));
	if (e->kind == END_STOPPED)
		return arena_printf(x->arena, "%s: %s",
				    explain_line_text(x, x->errors[e->error].at),
				    diag_code_text(e->code).s);
	/* The circle says the rest. */
	return arena_printf(x->arena, "%s, step %u: %.*s",
			    explain_line_text(x, explain_span(x, e->op)), e->step,
			    (int)strcspn(e->text, e->place != NONE ? ";," : ""), e->text);
}

const char *explain_move_text(struct script *x, const struct move *m)
{
	const char *from = explain_cells_text(x, m->source), *to = explain_cells_text(x, m->target);
	const char *ranks = arena_printf(x->arena, "rank %u", m->from);
	const char *into = m->combines ? " is combined into " : " is copied into ";

	if (m->from != m->to)
		ranks = arena_printf(x->arena, "%s -> rank %u", ranks, m->to);
	if (!m->target.n || (m->from != m->to && !m->combines && !strcmp(from, to)))
		into = to = "";
	return arena_printf(x->arena, "%s: %s%s%s", ranks, *from ? from : "an empty message", into,
			    to);
}

const char *explain_cells_text(struct script *x, struct cells c)
{
	return c.n ? program_cells_text(x->arena, x->r.p, c.lo, c.n) : "";
}

struct span explain_span(const struct script *x, const struct op *o)
{
	return x->r.p->sites[o->site].span;
}

const char *explain_line_text(struct script *x, struct span at)
{
	return program_line_text(x->r.c, x->r.p, at);
}

const char *explain_title(struct script *x)
{
	const struct program *p = x->r.p;
	const struct decl *d = p->instance.schedule;
	const char *root = p->instance.root >= 0
				   ? arena_printf(x->arena, ", root %" PRId64, p->instance.root)
				   : "";

	return arena_printf(x->arena, "%s: %s on %s%s", d->name.name, d->contract_name.name,
			    arena_count(x->arena, p->nranks, "rank"), root);
}
