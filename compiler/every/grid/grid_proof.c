/*
 * Runs the main text as a sequence of calls in groups and of steps, on the contents of all chunks.
 * See grid.h.
 *
 * The rank is the sum of its digits r_i times X_0 .. X_i-1. The number of a chunk is the sum of c_i
 * times X_i+1 .. X_m-1, the widest parts first, or is composed as the rank. Both orders are tried;
 * a text that cuts otherwise is not proved. The contents of cells are a relation: cell -> cells
 * with their initial values. O(calls) sets.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <stdlib.h>

/* ---- possible values ------------------------------------------------------------------------- */

/* Factors of N are at least 1, and the root's digits below them. */
static isl_set *sizes(const struct grid *g, uint32_t dims)
{
	isl_space *s = isl_space_set_alloc(g->isl, g->ranks, dims);

	for (uint32_t i = 0; i < g->ranks; i++) {
		const char *name = arena_printf(g->arena, "%s%s", i < g->m ? "" : "root's ",
						g->names[i % g->m]);
		s = isl_space_set_dim_name(s, isl_dim_param, i, name);
	}
	isl_set *all = isl_set_universe(s);
	for (uint32_t i = 0; i < g->ranks; i++)
		all = isl_set_lower_bound_si(all, isl_dim_param, i, i < g->m);
	for (uint32_t i = g->m; i < g->ranks; i++) {
		isl_local_space *l = isl_local_space_from_space(isl_set_get_space(all));
		isl_aff *end =
			isl_aff_var_on_domain(isl_local_space_copy(l), isl_dim_param, i - g->m);
		all = isl_set_intersect(
			all, isl_aff_lt_set(isl_aff_var_on_domain(l, isl_dim_param, i), end));
	}
	return all;
}

/* N is the product of the schedule's parameters, without the root, and of one more factor. */
static bool factors(struct grid *g)
{
	const struct decl *d = g->in->schedule;
	const struct symbol *root = g->in->root_param;

	for (const struct binding *p = d->params; p; p = p->next) {
		struct polynomial v = grid_atom(g->m);
		if (p->sym == root)
			continue;
		if (g->m == GRID_FACTORS - 1)
			return grid_fail(g, p->span, "a grid of too many dimensions");
		grid_bind(g, p->sym, &v);
		g->names[g->m++] = p->name.name;
	}
	g->names[g->m++] = "the rest"; /* no parameter is called so */
	g->ranks = root ? 2 * g->m : g->m;
	g->natoms = g->ranks + g->m;
	for (uint32_t i = g->m; i < g->natoms; i++)
		g->below[i] = i % g->m;
	g->context = sizes(g, GRID_ATOMS - g->ranks);
	for (uint32_t i = 0; i < g->m; i++)
		g->context = grid_below(g->context, i, i);
	g->rank = grid_of_digits(g, g->ranks, ~0u, false);
	g->n = grid_factors(0, g->m);
	if (root) {
		struct polynomial v = grid_of_digits(g, g->m, ~0u, false);
		grid_bind(g, root, &v);
	}
	return true;
}

/* Whether an expression is a product of parameters and numbers, without N. */
static bool is_product(const struct expr *e)
{
	return e->kind == E_INT || e->kind == E_NAME ||
	       (e->kind == E_BINARY && e->op == OP_MUL && is_product(e->a) && is_product(e->b));
}

/* Whether a `where` requires that N is a multiple of a product of parameters: N % (X * Y) == 0. */
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

/* Whether `where` refuses all other sizes, as only products are considered here. */
static bool admits_grids(struct grid *g, const struct decl *d)
{
	return (cuts(g, d->where) ||
		grid_fail(g, d->name.span,
			  "a `where` that does not say that parameters divide N")) &&
	       grid_holds(g, d->where);
}

/* Binds the contract's parameters; the root must be a rank. */
static bool contract_parameters(struct grid *g, const struct decl *d)
{
	struct polynomial v, digit[GRID_FACTORS];

	for (const struct binding *p = d->contract->params; p; p = p->next) {
		const struct expr *e = p->value;
		for (const struct binding *b = d->contract_args; b; b = b->next)
			if (b->sym == p->sym)
				e = b->value;
		if (!e || !grid_value(g, e, &v) || !grid_digits(g, &v, ~0u, false, digit))
			return grid_fail(g, d->contract_name.span,
					 "a rank in the contract may be out of range");
		grid_bind(g, p->sym, &v);
	}
	return true;
}

static bool topology(struct grid_run *r, const struct decl *d)
{
	struct grid *g = r->g;
	const struct decl *t = d->topology;
	struct polynomial v;

	if (!t)
		return true;
	for (const struct binding *p = d->on; p; p = p->next) {
		if (!grid_value(g, p->value, &v))
			return false;
		grid_bind(g, p->sym, &v);
	}
	if (t->where && !grid_holds(g, t->where))
		return false;
	if (lang_has_stmt(t->body, S_LINK) && !g->work->joined)
		return (r->links = grid_links(g, t)) != NULL;
	for (const struct stmt *s = t->body; s; s = s->next)
		if ((s->kind == S_LET || !g->work->joined) && !grid_let(g, s))
			return false;
	return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The initial values: each chunk is its own contribution. */
static isl_map *initial(const struct grid_run *r)
{
	isl_space *cell = isl_set_get_space(r->cells);
	isl_map *all = isl_map_empty(isl_space_map_from_set(isl_space_copy(cell)));

	for (uint32_t b = 0; b < r->g->nbuffers; b++) {
		enum direction dir = r->g->buffers[b].def->dir;
		if (dir != DIR_IN && dir != DIR_INOUT)
			continue;
		isl_set *own =
			isl_set_fix_si(isl_set_copy(r->cells), isl_dim_set, 2 * r->g->m, (int)b);
		all = isl_map_union(all, isl_set_identity(own));
	}
	isl_space_free(cell);
	return all;
}

static bool as_asked(struct grid_run *r)
{
	struct grid *g = r->g;
	const struct decl *k = g->in->schedule->contract;

	for (const struct stmt *s = k->body; s; s = s->next)
		if (!grid_let(g, s))
			return false;
	for (const struct ensures *e = k->ensures; e; e = e->next) {
		isl_map *asked = grid_promise(g, e);
		if (!asked)
			return false;
		isl_map *held = isl_map_intersect_domain(isl_map_copy(r->holds),
							 isl_map_domain(isl_map_copy(asked)));
		bool ok = isl_map_is_equal(asked, held) == isl_bool_true;
		isl_map_free(asked);
		isl_map_free(held);
		if (!ok)
			return grid_fail(g, NOWHERE,
					 "its results do not match the contract for some size");
	}
	return true;
}

/* Whether it is a copy before messages: it may fill the scratch that these send. */
static bool fills_messages(const struct stmt *s)
{
	bool copy = s->kind == S_COPY;

	while (s && (s->kind == S_COPY || s->kind == S_LET || s->kind == S_FN))
		s = s->next;
	return copy && s && s->kind != S_STEP && grid_has_messages(s);
}

/* Runs the statement *s of the main text, and perhaps those after it: *s becomes the last of them. */
static bool statement(struct grid_run *r, const struct stmt **at)
{
	const struct stmt *s = *at;

	if (s->kind == S_WITHIN)
		return grid_within(r, s);
	if (s->kind != S_STEP && grid_has_messages(s))
		return grid_rows(r, at);
	if (fills_messages(s) && grid_rows(r, at))
		return true;
	r->g->why = NULL;
	if (s->kind == S_STEP || s->kind == S_COPY || s->kind == S_REDUCE_INTO ||
	    s->kind == S_FOR || s->kind == S_IF)
		return grid_step(r, s);
	return s->kind == S_LET || s->kind == S_SCRATCH /* done: names() */ || grid_let(r->g, s);
}

/* Binds lets and scratches. A scratch may exist from the start, as its cells have no value. */
static bool names(struct grid *g, const struct decl *d)
{
	for (const struct stmt *s = d->body; s; s = s->next)
		if (s->kind == S_SCRATCH ? !grid_add_buffer(g, s->buffer)
					 : s->kind == S_LET && !grid_let(g, s))
			return false;
	return true;
}

static bool prove(struct grid_run *r)
{
	struct grid *g = r->g;
	const struct decl *d = g->in->schedule;

	if (!factors(g) || !admits_grids(g, d) || !topology(r, d) || !contract_parameters(g, d) ||
	    !grid_buffers(g, d) || !names(g, d))
		return false;
	r->cells = grid_all_cells(g);
	r->holds = initial(r);
	for (const struct stmt *s = grid_branches(g, d->body); s; s = s->next)
		if (!statement(r, &s))
			return false;
	return as_asked(r);
}

/* Whether some `where` divides N, and the text consists of calls in groups, steps and messages. */
static bool is_grid(const struct instance *in)
{
	bool some = false, numbers = false;

	for (const struct binding *p = in->schedule->params; p; p = p->next)
		numbers |= p->sym != in->root_param;
	for (const struct stmt *s = in->schedule->body; s; s = s->next) {
		some |= grid_has_messages(s) ||
			(s->kind == S_WITHIN && s->body && s->body->kind == S_CALL);
		if (s->kind != S_WITHIN && s->kind != S_LET && s->kind != S_FN &&
		    s->kind != S_STEP && s->kind != S_SCRATCH && s->kind > S_REDUCE_INTO &&
		    s->kind != S_FOR && s->kind != S_IF)
			return false;
	}
	return some && numbers && in->schedule->where;
}

/* ", and every X and Y": a topology admits all of these. */
static const char *and_every(struct arena *to, const struct grid *g)
{
	const char *text = "";

	for (uint32_t i = 0; i + 1 < g->m; i++)
		text = arena_printf(to, "%s%s%s", text, i ? " and " : ", and every ", g->names[i]);
	return text;
}

static void keep(struct arena *to, const struct grid_run *r, struct every *e)
{
	const char **v = ARENA_ARRAY(to, const char *, r->nwords + 1);

	for (uint32_t i = 0; i < r->nwords; i++)
		v[i] = arena_printf(to, "%s", r->words[i]);
	e->invariants = v;
	e->ninvariants = r->nwords;
	e->by = BY_WHERE;
	e->and = and_every(to, r->g);
}

/* Makes the certificate, if it is requested. */
static void keep_certificate(struct arena *to, struct grid_run *r, struct every *e)
{
	if (!r->moves)
		return;
	isl_ctx_set_max_operations(r->g->isl, 0);
	char *text = grid_certificate(r);
	e->certificate = text ? arena_printf(to, "%s\n", text) : NULL;
	e->why = text ? NULL : r->wordless;
	free(text);
	isl_ctx_set_max_operations(r->g->isl, r->g->work->isl_most);
}

static struct grid begin(struct ctx *c, const struct instance *in, struct arena *arena,
			 bool reversed, struct every_work *work)
{
	struct grid g = { .ctx = c,
			  .arena = arena,
			  .sources = c->sources,
			  .in = in,
			  .work = work,
			  .isl = work->isl,
			  .reversed = reversed };

	g.meaning = ARENA_ARRAY(arena, struct polynomial *, in->module->nsymbols + 1);
	isl_ctx_reset_error(g.isl);
	return g;
}

/* Tries the proof with one order of the digits of chunks. */
static struct every prove_so(struct ctx *c, const struct instance *in, bool reversed,
			     bool certificate, struct every_work *work)
{
	struct arena arena; /* without a limit, as running out would leak isl's memory */
	struct every e = { 0 };

	arena_init(&arena, NULL, NULL);
	struct grid g = begin(c, in, &arena, reversed, work);
	struct grid_run r = { .g = &g,
			      .slots = c->slots,
			      .moves = certificate ? json_array() : NULL };
	bool ok = prove(&r);
	e.proved = ok && isl_ctx_last_error(g.isl) == isl_error_none;
	e.some = true;
	if (e.proved) {
		keep(c->arena, &r, &e);
		keep_certificate(c->arena, &r, &e);
	} else {
		e.why = arena_printf(c->arena, "%s",
				     isl_ctx_last_error(g.isl) == isl_error_quota
					     ? "it takes too long"
				     : g.why ? g.why
					     : "isl cannot handle it");
		e.line = g.line;
	}
	isl_set_free(r.cells);
	isl_map_free(r.links);
	isl_map_free(r.holds);
	json_decref(r.moves);
	isl_set_free(g.context);
	for (uint32_t i = 0; i < GRID_ATOMS; i++)
		isl_set_free(g.turned[i]);
	arena_free(&arena);
	return e;
}

struct every grid_prove(struct ctx *c, const struct instance *in, bool certificate,
			struct every_work *w)
{
	struct every e = { 0 };

	if (!is_grid(in))
		return e;
	e = prove_so(c, in, true, certificate, w);
	struct every other = e.proved ? e : prove_so(c, in, false, certificate, w);
	return other.proved || other.line > e.line ? other : e;
}
#else
#include "compiler/every/every.h"

typedef int without_isl; /* a file needs a declaration */
#endif
