/*
 * `ccc explain`: one instance is run again, and its moves, faults and promises are written as a model,
 * then as text, JSON, SVG or HTML. O(operations + chunks).
 */
#include "compiler/explain/explain.h"

#include <stdlib.h>

static void record(void *arg, const struct stored *s)
{
	struct script *x = arg;
	struct move *last = x->n ? &x->moves[x->n - 1] : NULL;

	if (!last || last->task != s->task || last->row != s->row) {
		last = &ARENA_PUSH(x->arena, x->moves, x->n, x->cap);
		*last = (struct move){
			.task = s->task,
			.row = s->row,
			.rank = x->r.runners[s->task].rank,
			.depth = s->depth,
			.first = x->nstores,
			.from = s->from,
		};
	}
	if (s->cell == NONE)
		return;
	x->combines |= s->reduced;
	last->n++;
	ARENA_PUSH(x->arena, x->stores, x->nstores, x->capstores) = *s;
}

/* Rows of the contract for cells that it promises nothing of: first the rank's cell itself on another
 * rank, then one that the cell's data goes into. O(rows of the contract and their shares). */
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

/* Step by step, within each by rank, and the moves of a rank as it runs: a legal order, as what comes
 * from another rank is of an earlier step, and the same one however deadlock() found its own. */
static int in_order(const void *a, const void *b)
{
	const struct move *m = a, *n = b;

	if (m->depth != n->depth)
		return m->depth < n->depth ? -1 : 1;
	if (m->rank != n->rank)
		return m->rank < n->rank ? -1 : 1;
	return m->order < n->order ? -1 : 1;
}

static void sort_by_step(struct script *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		x->moves[i].order = i;
		x->steps = x->moves[i].depth > x->steps ? x->moves[i].depth : x->steps;
	}
	if (x->n)
		qsort(x->moves, x->n, sizeof(*x->moves), in_order);
}

bool explain(struct ctx *c, struct program *p, const struct contract *contract,
	     const struct order *order, uint32_t first_diag, const struct shown *view, FILE *out,
	     const char **why)
{
	struct script *x = ARENA_NEW(c->scratch, struct script);

	x->arena = c->scratch;
	x->right = order != NULL;
	x->first_diag = first_diag;
	x->contract = contract;
	x->combines = contract && contract->any_reduced;
	if (!replay_init(&x->r, c, p, c->scratch))
		return true;
	if (!explain_view_read(x, view, why))
		return false;
	x->start = ARENA_ARRAY(x->arena, uint32_t, (size_t)p->nranks * x->r.width);
	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t i = 0; i < x->r.width; i++)
			x->start[(size_t)q * x->r.width + i] = replay_value(&x->r, q, i);
	if (!x->right)
		order = explain_run_far(x, p);
	x->r.silent = true;
	x->r.hook = record;
	x->r.arg = x;
	replay_run(&x->r, order);
	x->sent = ARENA_ARRAY(x->arena, double, p->nranks);
	replay_sent(&x->r, x->sent);
	explain_add_lost(x);
	sort_by_step(x);
	explain_find_faults(x);
	find_promises(x);
	if (view->format != FORMAT_TEXT && view->steps.n && view->steps.v[0] > x->last) {
		*why = arena_printf(c->arena, "--step: there is no step %u; the last is %u",
				    view->steps.v[0], x->last);
		return false;
	}
	switch (view->format) {
	case FORMAT_JSON: return explain_json(x, false, out, why);
	case FORMAT_SVG: return explain_svg(x, out, why);
	case FORMAT_HTML: return explain_html(x, out, why);
	case FORMAT_TEXT:
	case FORMAT_CSV:
	case NFORMATS: break;
	}
	explain_text(x, out);
	return true;
}
