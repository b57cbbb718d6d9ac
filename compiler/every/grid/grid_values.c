/*
 * Expressions -> polynomials. See grid.h.
 *
 * Quotients and remainders are by products of factors. x % X, where x is outside 0 .. X - 1 by a
 * few multiples of X (the neighbour on a ring), becomes a new atom; g->turned has its relation to
 * x. Other expressions are refused. O(nodes * terms^2).
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

#include <math.h>

#define CALLS 16u
#define ARGUMENTS 8u
#define WIDE 0x1p60
#define TURNS 2 /* x % X is supported for -TURNS * X <= x < (TURNS + 1) * X */

bool grid_fail(struct grid *g, struct span at, const char *why)
{
	if (!g->why) {
		g->why = why;
		g->line = every_line(g->sources, g->in, at);
	}
	return false;
}

void grid_bind(struct grid *g, const struct symbol *s, const struct polynomial *v)
{
	g->meaning[s->id] = arena_copy(g->arena, v, sizeof(*v));
}

/* ---- remainders ------------------------------------------------------------------------------ */

/* The set where `atom` = x - turn * factor is in its range, for one of a few turns. */
static isl_set *turned(const struct grid *g, isl_aff *x, uint32_t atom, uint32_t factor)
{
	isl_set *all = NULL;
	isl_local_space *l = isl_local_space_from_space(isl_set_get_space(g->context));
	isl_aff *p = isl_aff_var_on_domain(isl_local_space_copy(l), isl_dim_param, factor);
	isl_aff *t = isl_aff_var_on_domain(l, isl_dim_set, atom - g->ranks);

	for (int turn = -TURNS; turn <= TURNS; turn++) {
		isl_aff *far =
			isl_aff_scale_val(isl_aff_copy(p), isl_val_int_from_si(g->isl, turn));
		isl_aff *rest = isl_aff_sub(isl_aff_copy(x), far);
		isl_set *s = isl_set_from_basic_set(isl_aff_eq_basic_set(isl_aff_copy(t), rest));
		all = all ? isl_set_union(all, s) : s;
	}
	isl_aff_free(p);
	isl_aff_free(t);
	isl_aff_free(x);
	return grid_below(all, atom - g->ranks, factor);
}

static bool is_factor(const struct grid *g, const struct polynomial *b, uint32_t *factor)
{
	for (*factor = 0; *factor < g->m; ++*factor) {
		struct polynomial p = grid_atom(*factor);
		if (grid_equal(&p, b))
			return true;
	}
	return false;
}

/* a % b as a new atom. */
static bool turned_remainder(struct grid *g, const struct polynomial *a, const struct polynomial *b,
			     struct span at, struct polynomial *to)
{
	const char *why = "a remainder that is not known for every size";
	uint32_t factor, atom = g->natoms;

	for (uint32_t k = 0; k < g->natoms; k++)
		if (g->rest_of[k] && grid_equal(g->rest_of[k], a) && is_factor(g, b, &factor) &&
		    factor == g->below[k]) {
			*to = grid_atom(k);
			return true;
		}
	isl_aff *x = grid_affine(g, a);
	if (!x || !is_factor(g, b, &factor) || atom == GRID_ATOMS) {
		isl_aff_free(x);
		return grid_fail(g, at, why);
	}
	isl_map *of = isl_map_from_aff(isl_aff_copy(x)); /* all values of x */
	isl_set *asked = isl_map_domain(grid_possible(g, of, grid_any(g)));
	isl_set *with = turned(g, x, atom, factor);
	isl_set *known = isl_set_project_out(isl_set_copy(with), isl_dim_set, atom - g->ranks, 1);
	known = isl_set_insert_dims(known, isl_dim_set, atom - g->ranks, 1);
	bool ok = isl_set_is_subset(asked, known) == isl_bool_true;
	isl_set_free(known);
	isl_set_free(asked);
	if (!ok) {
		isl_set_free(with);
		return grid_fail(g, at, why);
	}
	g->turned[atom] = with;
	g->rest_of[atom] = ARENA_COPY(g->arena, a);
	grid_new_atom(g, factor);
	*to = grid_atom(atom);
	return true;
}

/* a % b. As b = w * factor and a = r + w * q with 0 <= r < w, it is r + w * (q % factor): of (rank + X) % N it
 * is x + X * ((y + 1) % Y). */
static bool remainder_of(struct grid *g, const struct polynomial *a, const struct polynomial *b,
			 struct span at, struct polynomial *to)
{
	struct polynomial w, q, r, rest;

	for (uint32_t k = 0; k < g->m; k++) {
		struct polynomial factor = grid_atom(k);
		if (grid_divide(g, b, &factor, &w, &rest) && !rest.n && !grid_equal(b, &factor) &&
		    grid_divide(g, a, &w, &q, &r) && turned_remainder(g, &q, &factor, at, &rest) &&
		    grid_product(&w, &rest, &rest))
			return grid_sum(&r, 1, &rest, to) || grid_fail(g, at, "a long sum");
	}
	return turned_remainder(g, a, b, at, to);
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Whether 64 bits hold sums of a few such values, for every size. The product of all factors is N,
 * and a digit is below its factor, so a term is at most a power of N. */
static bool fits(const struct grid *g, const struct polynomial *p)
{
	double all = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t power[GRID_FACTORS] = { 0 }, most = 0;
		for (uint32_t a = 0; a < g->natoms; a++)
			power[a < g->m ? a : g->below[a]] += p->v[i].power[a];
		for (uint32_t f = 0; f < g->m; f++)
			most = power[f] > most ? power[f] : most;
		all += fabs((double)p->v[i].factor) * pow(LIMIT_RANKS, most);
	}
	return all <= WIDE;
}

static bool fitting(struct grid *g, const struct expr *e, const struct polynomial *p)
{
	return fits(g, p) || grid_fail(g, e->span, "numbers that may be above 2^60");
}

static bool binary(struct grid *g, const struct expr *e, struct polynomial *to)
{
	struct polynomial a, b, q, r;
	const char *why = "a quotient that is not known for every size";

	if (!grid_value(g, e->a, &a) || !grid_value(g, e->b, &b))
		return false;
	if (e->op == OP_ADD || e->op == OP_SUB)
		return (grid_sum(&a, e->op == OP_ADD ? 1 : -1, &b, to) ||
			grid_fail(g, e->span, "a long sum")) &&
		       fitting(g, e, to);
	if (e->op == OP_MUL)
		return (grid_product(&a, &b, to) || grid_fail(g, e->span, "a long product")) &&
		       fitting(g, e, to);
	if (e->op != OP_DIV && e->op != OP_MOD)
		return grid_fail(g, e->span, "an operator that polynomials do not have");
	if (grid_divide(g, &a, &b, &q, &r)) {
		*to = e->op == OP_DIV ? q : r;
		return true;
	}
	return e->op == OP_MOD ? remainder_of(g, &a, &b, e->span, to) : grid_fail(g, e->span, why);
}

static bool call(struct grid *g, const struct expr *e, struct polynomial *to)
{
	const struct fn_def *fn = e->builtin == BUILTIN_NONE && e->sym ? e->sym->fn : NULL;
	struct polynomial v[ARGUMENTS], *before[ARGUMENTS];
	uint32_t n = 0;

	if (!fn || fn->nparams > ARGUMENTS || g->calls == CALLS)
		return grid_fail(g, e->span, "a function that polynomials do not have");
	for (const struct expr *a = e->args; a && n < fn->nparams; a = a->next, n++)
		if (!grid_value(g, a, &v[n]))
			return false;
	for (uint32_t i = 0; i < n; i++) {
		before[i] = g->meaning[fn->params[i]->id];
		grid_bind(g, fn->params[i], &v[i]);
	}
	g->calls++;
	bool ok = grid_value(g, fn->body, to);
	g->calls--;
	for (uint32_t i = 0; i < n; i++)
		g->meaning[fn->params[i]->id] = before[i];
	return ok;
}

static bool name(struct grid *g, const struct expr *e, struct polynomial *to)
{
	const struct symbol *s = e->sym;

	if (s && g->meaning[s->id]) {
		*to = *g->meaning[s->id];
		return true;
	}
	if (s && s->kind == SYM_LET && !s->owner && s->value && g->calls < CALLS) {
		struct polynomial rank = g->rank, n = g->n; /* ccs(5) 4: of the whole schedule */
		g->rank = grid_of_digits(g, g->ranks, ~0u, false);
		g->n = grid_factors(0, g->m);
		g->calls++;
		bool ok = grid_value(g, s->value, to);
		g->calls--;
		g->rank = rank;
		g->n = n;
		return ok;
	}
	return grid_fail(g, e->span, "a name whose value is not known for every size");
}

bool grid_value(struct grid *g, const struct expr *e, struct polynomial *to)
{
	struct polynomial zero = grid_number(0), v;

	*to = zero;
	switch (e->kind) {
	case E_INT:
		*to = grid_number(e->value);
		return (e->value < 1 << 30 && e->value > -(1 << 30)) ||
		       grid_fail(g, e->span, "a number above 2^30");
	case E_NAME: return name(g, e, to);
	case E_RANK: *to = g->rank; return true;
	case E_N: *to = g->n; return true;
	case E_UNARY:
		if (e->op != OP_NEG)
			break;
		return grid_value(g, e->a, &v) && grid_sum(&zero, -1, &v, to);
	case E_BINARY: return binary(g, e, to);
	case E_CALL: return call(g, e, to);
	case E_COND:
	case E_ENTRY:
	case E_TABLE:
	case E_TERM: break;
	}
	return grid_fail(g, e->span, "an expression that is not a polynomial");
}

/* The polynomial that is >= 0 exactly where a op b holds. False: another operator. */
static bool as_sum(enum expr_op op, const struct polynomial *a, const struct polynomial *b,
		   struct polynomial *to)
{
	struct polynomial one = grid_number(1);
	bool less = op == OP_LT || op == OP_LE;

	if (!less && op != OP_GT && op != OP_GE)
		return false;
	return grid_sum(less ? b : a, -1, less ? a : b, to) &&
	       (op == OP_LE || op == OP_GE || grid_sum(to, -1, &one, to));
}

bool grid_holds(struct grid *g, const struct expr *e)
{
	struct polynomial a, b, d;
	bool ok;

	if (e->kind == E_BINARY && e->op == OP_AND)
		return grid_holds(g, e->a) && grid_holds(g, e->b);
	if (e->kind != E_BINARY || e->op < OP_EQ || e->op > OP_GE)
		return grid_fail(g, e->span, "a condition that is not known for every size");
	if (!grid_value(g, e->a, &a) || !grid_value(g, e->b, &b))
		return false;
	ok = e->op == OP_EQ ? grid_equal(&a, &b) : as_sum(e->op, &a, &b, &d) && grid_natural(g, &d);
	return ok || grid_fail(g, e->span, "a condition that may not hold for some size");
}

isl_set *grid_where_equal(const struct grid *g, const struct polynomial *a,
			  const struct polynomial *b)
{
	struct polynomial x[GRID_FACTORS], y[GRID_FACTORS], d;
	isl_aff *sum = grid_sum(a, -1, b, &d) ? grid_affine(g, &d) : NULL;

	if (sum)
		return isl_set_from_basic_set(isl_aff_zero_basic_set(sum));
	if (!grid_digits(g, a, ~0u, false, x) || !grid_digits(g, b, ~0u, false, y))
		return NULL;
	isl_set *all = isl_set_universe(isl_set_get_space(g->context));
	for (uint32_t i = 0; i < g->m && all; i++) {
		sum = grid_sum(&x[i], -1, &y[i], &d) ? grid_affine(g, &d) : NULL;
		isl_set *one = sum ? isl_set_from_basic_set(isl_aff_zero_basic_set(sum)) : NULL;
		all = one ? isl_set_intersect(all, one) : isl_set_free(all);
	}
	return all;
}

static isl_set *where_compared(struct grid *g, const struct expr *e)
{
	struct polynomial a, b, d;
	isl_set *s = NULL;
	isl_aff *sum;

	if (!grid_value(g, e->a, &a) || !grid_value(g, e->b, &b))
		return NULL;
	if (e->op == OP_EQ || e->op == OP_NE)
		s = grid_where_equal(g, &a, &b);
	else if (as_sum(e->op, &a, &b, &d) && (sum = grid_affine(g, &d)))
		s = isl_aff_ge_set(sum, isl_aff_zero_on_domain(isl_local_space_from_space(
						isl_set_get_space(g->context))));
	if (!s)
		grid_fail(g, e->span, "a condition that is not known for every size");
	return s && e->op == OP_NE ? isl_set_complement(s) : s;
}

isl_set *grid_where(struct grid *g, const struct expr *e)
{
	isl_set *a, *b;

	if (e->kind == E_UNARY && e->op == OP_NOT) {
		a = grid_where(g, e->a);
		return a ? isl_set_complement(a) : NULL;
	}
	if (e->kind != E_BINARY ||
	    (e->op != OP_AND && e->op != OP_OR && (e->op < OP_EQ || e->op > OP_GE))) {
		grid_fail(g, e->span, "a condition that is not known for every size");
		return NULL;
	}
	if (e->op != OP_AND && e->op != OP_OR)
		return where_compared(g, e);
	a = grid_where(g, e->a);
	b = a ? grid_where(g, e->b) : NULL;
	if (!b)
		return isl_set_free(a);
	return e->op == OP_AND ? isl_set_intersect(a, b) : isl_set_union(a, b);
}

bool grid_let(struct grid *g, const struct stmt *s)
{
	struct polynomial v;

	if (s->kind == S_FN || s->kind == S_COST)
		return true;
	if (s->kind != S_LET)
		return grid_fail(g, s->span, "a statement next to procs in groups");
	if (s->e->kind == E_TABLE) { /* entries must have values, even if unused */
		bool ok = true;
		for (const struct expr *e = s->e->args; e && ok; e = e->next)
			ok = grid_value(g, e, &v);
		return ok;
	}
	if (!grid_value(g, s->e, &v))
		return false;
	grid_bind(g, s->var, &v);
	return true;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
