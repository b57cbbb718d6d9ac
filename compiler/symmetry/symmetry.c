/*
 * The line of symmetry: see symmetry.h.
 */
#include "compiler/symmetry/symmetry.h"
#include "compiler/symmetry/alike.h"
#include "compiler/symmetry/promise.h"
#include "compiler/witness/cycle.h"

/* What it says of fewer slots, if all that wait stand at one place: else a shortest cycle of
 * all ranks says it, which need not be the quotient's. */
static const char *below_text(struct ctx *c, const struct line *l, struct greedy *stuck)
{
	struct graph g;
	uint32_t site = NONE;
	bool sends = false;

	graph_init(&g, stuck);
	for (uint32_t i = 0; i < g.nwaits; i++) {
		const struct op *o = &l->one.tasks[g.waits[i].task].ops[g.waits[i].op];
		if (op_kind(o) == OP_WAIT)
			continue;
		if (site != NONE && o->site != site)
			return NULL;
		site = o->site;
		sends = op_out(o) != NONE;
	}
	if (site == NONE)
		return NULL;
	return arena_printf(c->arena, "at %u: every rank waits to %s, %s", stuck->slots,
			    sends ? "send" : "receive",
			    program_line_text(c, l->p, l->p->sites[site].span));
}

/* Whether the quotient finishes, and with which slots. */
static bool finishes(struct ctx *c, struct line *l, struct symmetric *s, struct order *order)
{
	if (!match(c, &l->one))
		return false;
	struct deadlock_report d = deadlock(c, &l->one);
	if (d.deadlocked)
		return false;
	s->min_slots = d.min_slots;
	*order = d.order;
	if (!d.stuck)
		return true;
	s->below = below_text(c, l, d.stuck);
	s->why = s->below ? NULL : "ranks wait for one another at several places";
	return s->below != NULL;
}

/* Whether each promised chunk of rank 0 has the contributions that it must. */
static bool keeps_promise(const struct turned_run *r, const struct contract *k)
{
	const struct program *p = r->l->p;

	for (uint32_t i = 0; i < p->cells; i++) {
		if (k->rows[i] == NONE)
			continue;
		const struct share *want = &k->shares[k->rows[i]];
		if (r->state[i].id == NONE || !want->last || want->times != 1)
			return false;
		struct share has = turned_share(r, r->state[i]);
		if (has.cell != want->cell || has.first != want->first || has.n != want->n)
			return false;
	}
	return true;
}

/* Whether nothing is stored in vain, where that is looked for. */
static bool all_needed(struct ctx *c, const struct line *l, const struct contract *k,
		       const struct order *order, const struct turned_run *run,
		       struct dead_list *list)
{
	struct dead_known known = { run->changes, run->from };
	struct program one = l->one;

	one.nops *= l->p->nranks; /* for its limit */
	dead_find(c, &one, k, order, &known, list, c->arena);
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].dead)
			return false;
	return true;
}

static bool decide(struct ctx *c, const struct instance *in, struct line *l, struct symmetric *s)
{
	struct order order;
	struct turned_run run;

	if (!line_make(l, c, in)) {
		s->why = l->why;
		return false;
	}
	s->program = l->p;
	const struct contract *k = contract_expand(c, l->p);
	s->contract = k;
	if (!k || !k->nshares || k->nafter || !promise_turns(l)) {
		s->why = "its contract does not turn with the ranks";
		return false;
	}
	if (!finishes(c, l, s, &order) || !race(c, &l->one))
		return false;
	turned_run(&run, l, &order, c->scratch);
	s->steps = run.steps;
	s->sent = run.sent;
	s->why = run.unclear;
	return !run.unclear && keeps_promise(&run, k) && alike(c, &run, k, &s->bits) &&
	       all_needed(c, l, k, &order, &run, &s->stores);
}

struct symmetric symmetry(struct ctx *c, const struct instance *in)
{
	struct diags none = { .arena = c->scratch,
			      .sources = c->diags->sources,
			      .where = c->diags->where,
			      .warn = c->diags->warn };
	struct ctx quiet = *c;
	struct symmetric s = { .right = false };
	struct line l;

	quiet.diags = &none;
	quiet.progress = NULL;
	if (in->nranks < 2 || in->nranks > LIMIT_RANKS)
		return s;
	s.right = decide(&quiet, in, &l, &s) && none.n == 0;
	return s;
}
