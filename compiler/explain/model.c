/*
 * The model of `ccc explain`: see explain.h.
 *
 * The program is run once on symbolic values; its stores are put in the order of steps, and of ranks
 * within each. That is a legal order, since a message from another rank began in an earlier step, and
 * it is the same one whatever order deadlock() found. Printers play the stores again. O(stores).
 */
#include "compiler/explain/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- moves ---------------------------------------------------------------------------------- */

struct move *explain_add_move(struct script *x, uint32_t task, uint32_t row, uint32_t began)
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

void explain_record(void *arg, const struct stored *s)
{
	struct script *x = arg;
	struct move *last = x->n ? &x->moves[x->n - 1] : NULL;

	if (!last || last->task != s->task || last->row != s->row) {
		last = explain_add_move(x, s->task, s->row, s->from);
		last->depth = s->depth;
		last->combines = s->cell != NONE && s->reduced;
		x->combines |= last->combines;
	}
	if (s->cell == NONE)
		return;
	last->n++;
	ARENA_PUSH(x->arena, x->stores, x->nstores, x->capstores) = *s;
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

void explain_sort_by_step(struct script *x)
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

	return memcpy(state, x->start, n * sizeof(*state));
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

/* Rows of the contract for cells that it promises nothing of: first the rank's cell itself on another
 * rank, then one that the cell's data goes into. O(rows of the contract and their shares). */
void explain_find_promises(struct script *x)
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

/* The promised contributions that a value has. */
static uint64_t common(const struct share *v, const struct share *w)
{
	uint32_t lo = v->first > w->first ? v->first : w->first;
	uint32_t end = v->first + v->n, wend = w->first + w->n, hi = end < wend ? end : wend;

	if (v->cell != w->cell || lo >= hi)
		return 0;
	return (uint64_t)(hi - lo) * (v->times < w->times ? v->times : w->times);
}

struct holding explain_holding(struct script *x, uint32_t id, uint32_t rank, uint32_t cell)
{
	const struct program *p = x->r.p;
	bool buffer = cell < p->cells;
	uint32_t row = x->contract && buffer ? contract_row(x->contract, rank, cell) : NONE;
	bool promised = row != NONE;
	struct holding h = { .part = 1 };
	uint64_t all = 0, have = 0, held = 0;

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
	for (uint32_t i = 0; i < x->room.n; i++)
		held += (uint64_t)v[i].n * v[i].times;
	for (uint32_t j = 0; j < want.n; j++) {
		all += (uint64_t)want.v[j].n * want.v[j].times;
		for (uint32_t i = 0; i < x->room.n; i++)
			have += common(&v[i], &want.v[j]);
	}
	if (!promised && !have)
		return h;
	h.part = (double)have / (double)all;
	h.other = held > have;
	h.whole = promised && have == all && !h.other;
	return h;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static const char *put_shares(struct script *x, const struct share *v, uint32_t n, uint32_t cell)
{
	struct arena *a = x->arena;
	const char *text = "";

	for (uint32_t i = 0; i < n; i++, v++) {
		if (i == 6)
			return arena_printf(a, "%s,...", text);
		if (i)
			text = arena_printf(a, "%s,", text);
		if (i ? v[-1].cell != v->cell : v->cell != cell)
			text = arena_printf(a, "%s%s@", text,
					    program_cells_text(a, x->r.p, v->cell, 1));
		text = arena_printf(a, "%s%u", text, v->first);
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

const char *explain_wrong_text(struct script *x, const struct ending *e)
{
	uint32_t id = replay_value(&x->r, e->rank, e->cell);

	return arena_printf(x->arena, "%s holds %s; promised is %s",
			    program_cells_text(x->arena, x->r.p, e->cell, 1),
			    id < POISON ? explain_value_text(x, id, e->cell) : "nothing",
			    explain_promise_text(x, e->row, e->cell));
}

const char *explain_ending_text(struct script *x, const struct ending *e)
{
	if (e->kind == END_WRONG)
		return explain_wrong_text(x, e);
	if (e->kind == END_STOPPED)
		return arena_printf(x->arena, "%s: %s",
				    explain_line_text(x, x->errors[e->error].at),
				    diag_code_text(e->code).s);
	if (e->place != NONE) /* the circle says the rest */
		return arena_strndup(x->arena, e->text, strcspn(e->text, ";,"));
	return arena_printf(x->arena, "%s, step %u: %s",
			    explain_line_text(x, explain_span(x, e->op)), e->step, e->text);
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
