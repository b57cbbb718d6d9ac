/*
 * The main text as a row of calls in groups, and what all chunks hold after them. See grid.h.
 *
 * A cell is a rank and a chunk, both as m numbers: the rank is sum of r_i * X_0 .. X_i-1, and a
 * chunk, from the widest parts on, sum of c_i * X_i+1 .. X_m-1. That is a guess: a text that
 * cuts otherwise is not proved. What cells hold is a relation to the cells that were there at
 * first. O(calls) sets.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid.h"

#include <isl/ctx.h>
#include <isl/options.h>

#define STEPS 2000000ul /* of isl: about a second */

struct grid_run {
	struct grid *g;
	uint32_t slots;
	isl_set *cells;
	isl_map *links; /* NULL: all */
	isl_map *holds; /* cell -> cells */
	const char **words;
	uint32_t nwords, capwords;
};

/* ---- what is possible ------------------------------------------------------------------------ */

static isl_set *sizes(const struct grid *g, uint32_t dims)
{
	isl_space *s = isl_space_set_alloc(g->isl, g->m, dims);

	for (uint32_t i = 0; i < g->m; i++)
		s = isl_space_set_dim_name(s, isl_dim_param, i, g->names[i]);
	isl_set *all = isl_set_universe(s);
	for (uint32_t i = 0; i < g->m; i++)
		all = isl_set_lower_bound_si(all, isl_dim_param, i, 1);
	return all;
}

/* N is the product of the schedule's parameters, and of what is left. */
static bool factors(struct grid *g)
{
	const struct decl *d = g->in->schedule;

	for (const struct binding *p = d->params; p; p = p->next) {
		struct polynomial v = grid_atom(g->m);
		if (g->m == GRID_FACTORS - 1)
			return grid_fail(g, p->span, "a grid of many dimensions");
		grid_bind(g, p->sym, &v);
		g->names[g->m++] = p->name.name;
	}
	g->names[g->m++] = "the rest"; /* no parameter is called so */
	g->natoms = 2 * g->m;
	g->context = sizes(g, GRID_ATOMS - g->m);
	for (uint32_t i = 0; i < g->m; i++) {
		g->below[g->m + i] = i;
		g->context = grid_below(g->context, i, i);
		struct polynomial by = grid_factors(0, i);
		by.v[0].power[g->m + i] = 1;
		grid_sum(&g->rank, 1, &by, &g->rank);
	}
	g->n = grid_factors(0, g->m);
	return true;
}

/* Whether an expression is a product of parameters and numbers, in which N has no part. */
static bool is_product(const struct expr *e)
{
	return e->kind == E_INT || e->kind == E_NAME ||
	       (e->kind == E_BINARY && e->op == OP_MUL && is_product(e->a) && is_product(e->b));
}

/* Whether a `where` says that N is a multiple of all parameters' product: N % (X * Y) == 0. */
static bool cuts(struct grid *g, const struct expr *e)
{
	struct polynomial by, all = grid_factors(0, g->m - 1);

	if (!e || e->kind != E_BINARY)
		return false;
	if (e->op == OP_AND)
		return cuts(g, e->a) || cuts(g, e->b);
	const struct expr *rest = e->a;
	return e->op == OP_EQ && e->b->kind == E_INT && !e->b->value && rest->kind == E_BINARY &&
	       rest->op == OP_MOD && rest->a->kind == E_N && is_product(rest->b) &&
	       grid_value(g, rest->b, &by) && grid_equal(&by, &all);
}

/* Only sizes that `where` admits are looked at, so it must refuse all others. */
static bool admits_grids(struct grid *g, const struct decl *d)
{
	return (cuts(g, d->where) ||
		grid_fail(g, d->name.span, "a `where` that does not say that parameters cut N")) &&
	       grid_holds(g, d->where);
}

/* allreduce of N chunks: data[i] == sum(q in 0..N: data[i]@q) */
static bool sums_all(struct grid *g, const struct decl *d)
{
	const struct ensures *e = d->contract->ensures;
	const struct term *t = e && !e->next && !e->cond && e->left ? e->right : NULL;
	const struct term *of =
		t && t->kind == T_SUM && e->index && !e->block_index ? t->body : NULL;
	struct polynomial lo, hi, count;
	bool ok = of && of->kind == T_INITIAL && of->ref->sym == e->left->sym && !of->ref->block &&
		  of->ref->lo->kind == E_NAME && of->ref->lo->sym == e->index &&
		  of->at->kind == E_NAME && of->at->sym == t->var;

	ok = ok && !e->left->block && d->contract->buffers && !d->contract->buffers->next &&
	     e->left->sym == d->contract->buffers->sym;
	ok = ok && d->buffers && !d->buffers->next && d->buffers->dir == DIR_INOUT &&
	     !d->buffers->blocks && !d->buffers->sized && !d->buffers->by_column;
	if (!ok)
		return grid_fail(g, d->contract_name.span,
				 "a grid of any size, and another contract than a sum of all");
	return grid_value(g, t->lo, &lo) && grid_value(g, t->hi, &hi) &&
	       grid_value(g, d->buffers->count, &count) &&
	       ((!lo.n && grid_equal(&hi, &g->n) && grid_equal(&count, &g->n)) ||
		grid_fail(g, d->buffers->span, "other chunks than one for each rank"));
}

static bool topology(struct grid_run *r, const struct decl *d)
{
	struct grid *g = r->g;
	const struct decl *t = d->topology;
	const struct expr *a = d->topology_args;
	struct polynomial v;

	if (!t)
		return true;
	for (const struct binding *p = t->params; p; p = p->next, a = a ? a->next : NULL) {
		const struct expr *e = a ? a : p->value;
		if (e && !grid_value(g, e, &v))
			return false;
		if (e)
			grid_bind(g, p->sym, &v);
	}
	if (t->where && !grid_holds(g, t->where))
		return false;
	if (every_has_link(t->body))
		return (r->links = grid_links(g, t)) != NULL;
	for (const struct stmt *s = t->body; s; s = s->next)
		if (!grid_let(g, s))
			return false;
	return true;
}

/* ---- a call in groups ------------------------------------------------------------------------- */

/* The number of the rank by which a group's members differ, all of which are in it. */
static bool members(struct grid *g, const struct stmt *s, uint32_t *number)
{
	struct polynomial first, count, stride = grid_number(1), away, own;

	if (!s->e2)
		return grid_fail(g, s->span, "a group given by a table");
	if (!grid_value(g, s->e, &first) || !grid_value(g, s->e2, &count) ||
	    (s->e3 && !grid_value(g, s->e3, &stride)) || !grid_sum(&g->rank, -1, &first, &away))
		return false;
	for (uint32_t i = 0; i < g->m; i++) {
		struct polynomial size = grid_atom(i), step = grid_factors(0, i);
		own = step;
		own.v[0].power[g->m + i] = 1;
		*number = i;
		if (grid_equal(&size, &count) && grid_equal(&step, &stride) &&
		    grid_equal(&own, &away))
			return true;
	}
	return grid_fail(g, s->span, "a group that is no row or column of a grid");
}

/* Whether a view is that of the chunks whose numbers before `number` are the rank's. */
static bool view_is(struct grid *g, const struct ref *r, uint32_t number)
{
	struct polynomial lo = grid_number(0), hi = grid_factors(0, g->m), first = lo, end, n;

	if (r->sym != g->in->schedule->buffers->sym || r->block || r->kind == REF_ONE)
		return grid_fail(g, r->span, "a view that is no range of chunks");
	if (r->kind == REF_RANGE && (!grid_value(g, r->lo, &lo) || !grid_value(g, r->hi, &hi)))
		return false;
	for (uint32_t i = 0; i < number; i++) {
		struct polynomial by = grid_factors(i + 1, g->m);
		by.v[0].power[g->m + i] = 1;
		grid_sum(&first, 1, &by, &first);
	}
	n = grid_factors(number, g->m);
	return (grid_equal(&lo, &first) && grid_sum(&first, 1, &n, &end) &&
		grid_equal(&hi, &end)) ||
	       grid_fail(g, r->span, "a view whose parts are no part of a grid");
}

/* Between cells, or ranks: what changes one number of each, as `m` says; all others stay. */
static isl_map *lifted(const struct grid *g, isl_map *m, uint32_t number, bool cells,
		       isl_set *within)
{
	static const enum isl_dim_type ends[2] = { isl_dim_in, isl_dim_out };
	uint32_t rest = g->m - 1 - number, all = cells ? 2 * g->m : g->m;

	for (int k = 0; k < 2; k++) {
		m = isl_map_insert_dims(m, ends[k], 0, number);
		m = isl_map_insert_dims(m, ends[k], number + 1, cells ? g->m - 1 : rest);
		m = cells ? isl_map_insert_dims(m, ends[k], g->m + number + 1, rest) : m;
	}
	for (uint32_t i = 0; i < all; i++)
		if (i % g->m != number)
			m = isl_map_equate(m, isl_dim_in, (int)i, isl_dim_out, (int)i);
	m = isl_map_align_params(m, isl_set_get_space(within));
	m = isl_map_intersect_domain(m, isl_set_copy(within));
	return isl_map_intersect_range(m, within);
}

/* Whether a cell's new contributions, each from one of several cells, are there once. */
static bool counted_once(const struct grid_run *r, isl_map *from)
{
	isl_map *two = isl_map_range_product(isl_map_copy(from), isl_map_copy(from));
	isl_space *cell = isl_set_get_space(r->cells);
	isl_map *before = isl_map_lex_lt(isl_space_copy(cell));

	two = isl_map_intersect_range(two, isl_map_wrap(before));
	two = isl_map_apply_range(two,
				  isl_map_product(isl_map_copy(r->holds), isl_map_copy(r->holds)));
	isl_map *same = isl_map_identity(isl_space_map_from_set(cell));
	two = isl_map_intersect_range(two, isl_map_wrap(same));
	bool ok = isl_map_is_empty(two) == isl_bool_true;
	isl_map_free(two);
	return ok;
}

/* The cells of views whose parts are numbered by `number`. */
static isl_set *touched(const struct grid_run *r, uint32_t number)
{
	isl_set *s = isl_set_copy(r->cells);

	for (uint32_t i = 0; i < number; i++) {
		isl_local_space *l = isl_local_space_from_space(isl_set_get_space(s));
		isl_aff *rank = isl_aff_var_on_domain(isl_local_space_copy(l), isl_dim_set, i);
		isl_aff *chunk = isl_aff_var_on_domain(l, isl_dim_set, r->g->m + i);
		s = isl_set_intersect(s, isl_set_from_basic_set(isl_aff_eq_basic_set(rank, chunk)));
	}
	return s;
}

static bool linked(const struct grid_run *r, const struct grid_call *c, uint32_t number)
{
	struct grid *g = r->g;

	if (!r->links || !c->messages)
		return true;
	isl_set *ranks = isl_set_project_out(isl_set_copy(r->cells), isl_dim_set, g->m, g->m);
	isl_map *pairs = lifted(g, isl_map_copy(c->messages), number, false, ranks);
	bool ok = isl_map_is_subset(pairs, r->links) == isl_bool_true;
	isl_map_free(pairs);
	return ok;
}

/* All groups make the call: what cells hold then. */
static bool calls(struct grid_run *r, const struct grid_call *c, uint32_t number, struct span at)
{
	if (!linked(r, c, number))
		return grid_fail(r->g, at, "a message may go where there is no link");
	isl_set *mine = touched(r, number);
	isl_map *from = lifted(r->g, isl_map_copy(c->holds), number, true, isl_set_copy(mine));
	if (!counted_once(r, from)) {
		isl_map_free(from);
		isl_set_free(mine);
		return grid_fail(r->g, at, "a contribution may be counted twice");
	}
	isl_map *now = isl_map_apply_range(from, isl_map_copy(r->holds));
	r->holds = isl_map_union(isl_map_subtract_domain(r->holds, mine), now);
	r->holds = isl_map_coalesce(r->holds);
	return true;
}

static bool within(struct grid_run *r, const struct stmt *s)
{
	struct grid *g = r->g;
	struct polynomial rank = g->rank, n = g->n;
	struct grid_call c;
	const struct stmt *call = s->body;
	uint32_t number = 0;

	if (!call || call->kind != S_CALL || call->next)
		return grid_fail(g, s->span, "a group with other things than one call");
	if (!members(g, s, &number))
		return false;
	g->rank = grid_atom(g->m + number);
	g->n = grid_atom(number);
	bool ok = grid_call(g, call, r->slots, g->names[number], &c) &&
		  view_is(g, call->args->ref, number);
	g->rank = rank;
	g->n = n;
	ok = ok && calls(r, &c, number, call->span);
	grid_call_free(&c);
	ARENA_PUSH(g->arena, r->words, r->nwords, r->capwords) = arena_printf(
		g->arena, "%s is right for every N >= 1, so in the groups of line %u too",
		call->callee->name.name, source_place(g->sources, s->span.lo).line);
	return ok;
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* Every cell holds its chunk of all ranks. */
static bool as_asked(const struct grid_run *r)
{
	isl_map *all =
		isl_map_from_domain_and_range(isl_set_copy(r->cells), isl_set_copy(r->cells));
	uint32_t m = r->g->m;

	for (uint32_t i = m; i < 2 * m; i++)
		all = isl_map_equate(all, isl_dim_in, (int)i, isl_dim_out, (int)i);
	bool ok = isl_map_is_equal(all, r->holds) == isl_bool_true;
	isl_map_free(all);
	return ok ||
	       grid_fail(r->g, NOWHERE, "its results are not those of the contract for some size");
}

static bool prove(struct grid_run *r)
{
	struct grid *g = r->g;
	const struct decl *d = g->in->schedule;

	if (!factors(g) || !admits_grids(g, d) || !topology(r, d) || !sums_all(g, d))
		return false;
	r->cells = sizes(g, 2 * g->m);
	for (uint32_t i = 0; i < 2 * g->m; i++)
		r->cells = grid_below(r->cells, i, i % g->m);
	r->holds = isl_map_identity(isl_space_map_from_set(isl_set_get_space(r->cells)));
	r->holds = isl_map_intersect_domain(r->holds, isl_set_copy(r->cells));
	for (const struct stmt *s = d->body; s; s = s->next)
		if (!(s->kind == S_WITHIN ? within(r, s) : grid_let(g, s)))
			return false;
	return as_asked(r);
}

/* Whether a text has parameters, and calls in groups alone. */
static bool is_grid(const struct instance *in)
{
	bool groups = false;

	if (!in->schedule->params || in->root_param)
		return false;
	for (const struct stmt *s = in->schedule->body; s; s = s->next) {
		if (s->kind != S_WITHIN && s->kind != S_LET && s->kind != S_FN)
			return false;
		groups |= s->kind == S_WITHIN && s->body && s->body->kind == S_CALL;
	}
	return groups;
}

/* "every N >= 2 that `where` admits, and every X and Y" */
static const char *claim(struct arena *to, const struct grid *g)
{
	const char *text = "every N >= 2 that `where` admits, and every ";

	for (uint32_t i = 0; i + 1 < g->m; i++)
		text = arena_printf(to, "%s%s%s", text, i ? " and " : "", g->names[i]);
	return text;
}

static void keep(struct arena *to, const struct grid_run *r, struct every *e)
{
	const char **v = ARENA_ARRAY(to, const char *, r->nwords + 1);

	for (uint32_t i = 0; i < r->nwords; i++)
		v[i] = arena_printf(to, "%s", r->words[i]);
	e->invariants = v;
	e->ninvariants = r->nwords;
	e->of = claim(to, r->g);
	e->why = "procs that are used by what was proved of them have no words in one";
}

struct every grid_prove(struct ctx *c, const struct instance *in)
{
	struct arena arena; /* of its own, without a limit: isl's memory is held across it */
	struct grid g = { .arena = &arena, .sources = c->sources, .in = in };
	struct grid_run r = { .g = &g, .slots = c->slots };
	struct every e = { 0 };

	if (!is_grid(in))
		return e;
	arena_init(&arena, NULL, NULL);
	g.meaning = ARENA_ARRAY(&arena, struct polynomial *, in->module->nsymbols + 1);
	g.isl = isl_ctx_alloc();
	isl_options_set_on_error(g.isl, ISL_ON_ERROR_CONTINUE);
	isl_ctx_set_max_operations(g.isl, STEPS);
	bool ok = prove(&r);
	e.proved = ok && isl_ctx_last_error(g.isl) == isl_error_none;
	if (e.proved) {
		keep(c->arena, &r, &e);
	} else {
		e.why = arena_printf(c->arena, "%s",
				     isl_ctx_last_error(g.isl) == isl_error_quota
					     ? "it takes too long"
				     : g.why ? g.why
					     : "isl refuses it");
		e.line = g.line;
	}
	isl_set_free(r.cells);
	isl_map_free(r.links);
	isl_map_free(r.holds);
	isl_set_free(g.context);
	isl_ctx_free(g.isl);
	arena_free(&arena);
	return e;
}
#else
#include "compiler/every/every.h"

typedef int without_isl; /* a file needs a declaration */
#endif
