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

/* ---- values -------------------------------------------------------------------------------- */

const char *explain_shares_text(struct script *x, const struct share *v, uint32_t n, uint32_t cell)
{
	struct arena *a = x->arena;
	const char *text = "";

	for (uint32_t i = 0; i < n; i++, v++) {
		if (i == 6)
			return arena_printf(a, "%s,...", text);
		const char *comma = i ? "," : "";
		if (i ? v[-1].cell != v->cell : v->cell != cell)
			text = arena_printf(a, "%s%s%s@", text, comma,
					    program_cells_text(a, x->r.p, v->cell, 1)),
			comma = "";
		uint32_t end = v->first + v->n - 1;
		text = v->n == 1 ? arena_printf(a, "%s%s%u", text, comma, v->first)
		       : v->n == 2 && v->times == 1
			       ? arena_printf(a, "%s%s%u,%u", text, comma, v->first, end)
			       : arena_printf(a, "%s%s%u-%u", text, comma, v->first, end);
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
	return explain_shares_text(x, x->room.v, x->room.n, cell);
}

/* The cell of a buffer that a value's data is of, as a number within that buffer. */
static uint32_t number_of(const struct script *x, uint32_t cell)
{
	const struct program *p = x->r.p;

	return cell < p->cells ? cell - p->buffers[x->r.buffer_of[cell]].cell : cell - p->cells;
}

struct holding explain_holding(struct script *x, uint32_t id, uint32_t rank, uint32_t cell)
{
	bool buffer = cell < x->r.p->cells;
	uint32_t row = x->contract && buffer ? contract_row(x->contract, rank, cell) : NONE;
	bool promised = row != NONE;
	struct holding h = { .part = 1 };
	uint64_t all = 0, have = 0, held = 0;

	if (id >= POISON)
		return (struct holding){ 0 };
	value_shares(&x->r.values, id, &x->room);
	const struct share *v = x->room.v;
	h.colour = x->combines ? number_of(x, v[0].cell) : v[0].first;
	if (!promised && buffer)
		row = x->anywhere[cell];
	if (row == NONE)
		row = x->into[v[0].cell];
	if (row == NONE)
		return h;
	struct expected want = contract_value(x->contract, row);
	for (uint32_t i = 0; i < x->room.n; i++)
		held += (uint64_t)v[i].n * v[i].times;
	for (uint32_t j = 0; j < want.n; j++) {
		const struct share *w = &want.v[j];
		all += (uint64_t)w->n * w->times;
		for (uint32_t i = 0; i < x->room.n; i++) {
			uint32_t lo = v[i].first > w->first ? v[i].first : w->first;
			uint32_t end = v[i].first + v[i].n, wend = w->first + w->n;
			uint32_t hi = end < wend ? end : wend;
			if (v[i].cell == w->cell && lo < hi)
				have += (uint64_t)(hi - lo) *
					(v[i].times < w->times ? v[i].times : w->times);
		}
	}
	if (!promised && !have)
		return h;
	h.part = (double)have / (double)all;
	h.other = held > have;
	h.whole = promised && have == all && !h.other;
	return h;
}

/* ---- moves ---------------------------------------------------------------------------------- */

struct ends explain_ends(const struct script *x, const struct move *m)
{
	const struct program *p = x->r.p;
	const struct op *o = &p->tasks[m->task].ops[m->row];
	struct ends e = { m->rank, m->rank, o, o, { o->cell, o->n }, { 0 }, false };

	if (m->lost) {
		e.to = p->fifos[op_out(o)].dst;
		e.recv = NULL;
		return e;
	}
	e.combines = m->n && x->stores[m->first].reduced;
	e.target = (struct cells){ m->from == NONE ? o->other : o->cell, o->n };
	if (m->from != NONE) {
		const struct fifo *f = &p->fifos[o->fifo];
		e.from = f->src;
		e.send = &p->tasks[f->src_task].ops[m->from];
		e.source.lo = e.send->cell;
	}
	return e;
}

const char *explain_move_text(struct script *x, const struct ends *e)
{
	const char *from = explain_cells_text(x, e->source), *to = explain_cells_text(x, e->target);
	const char *ranks = e->from == e->to
				    ? arena_printf(x->arena, "rank %u", e->from)
				    : arena_printf(x->arena, "rank %u -> rank %u", e->from, e->to);
	const char *into = e->combines ? " is combined into " : " is copied into ";

	if (!e->target.n || (e->from != e->to && !e->combines && !strcmp(from, to)))
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

/* ---- playing it ------------------------------------------------------------------------------ */

uint32_t *explain_start(struct script *x)
{
	size_t n = (size_t)x->r.p->nranks * x->r.width;
	uint32_t *state = ARENA_ARRAY(x->arena, uint32_t, n);

	return memcpy(state, x->start, n * sizeof(*state));
}

/* ---- all of it -------------------------------------------------------------------------------- */

const char *explain_quotes(struct script *x, const char *format)
{
	char *text = arena_strndup(x->arena, format, strlen(format));

	for (char *c = text; (c = strchr(c, '\''));)
		*c = '"';
	return text;
}

const char *explain_count(struct script *x, uint64_t n, const char *one)
{
	return arena_printf(x->arena, "%" PRIu64 " %s%s", n, one, n == 1 ? "" : "s");
}

const char *explain_title(struct script *x)
{
	const struct program *p = x->r.p;
	const struct decl *d = p->instance.schedule;
	const char *root = p->instance.root >= 0
				   ? arena_printf(x->arena, ", root %" PRId64, p->instance.root)
				   : "";

	return arena_printf(x->arena, "%s: %s on %s%s", d->name.name, d->contract_name.name,
			    explain_count(x, p->nranks, "rank"), root);
}

const struct diag *explain_diag(const struct script *x)
{
	const struct diags *d = x->r.c->diags;

	for (uint32_t i = x->first_diag; i < d->n && !x->right; i++)
		if (d->v[i]->severity == SEV_ERROR)
			return d->v[i];
	return NULL;
}

struct span explain_diag_span(const struct script *x, const struct diag *g)
{
	return g->span.lo ? g->span : x->r.p->instance.schedule->name.span;
}

const char *explain_wrong_text(struct script *x, const struct wrong *w)
{
	struct expected e = contract_value(x->contract, w->row);
	uint32_t id = replay_value(&x->r, w->rank, w->cell);
	const char *holds = id < POISON ? explain_value_text(x, id, w->cell) : "nothing";

	return arena_printf(x->arena, "%s holds %s; promised is %s",
			    program_cells_text(x->arena, x->r.p, w->cell, 1), holds,
			    explain_shares_text(x, e.v, e.n, w->cell));
}
