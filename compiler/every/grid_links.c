/*
 * The links of a topology, as pairs of ranks' numbers. See grid.h.
 *
 * The text may have lets, fns, links from the rank itself, `if` on whether two numbers are
 * equal, and loops over all ranks, whose trips are taken at once. ccs(5) 4, topologies
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid.h"

struct linking {
	struct grid *g;
	isl_set *domain; /* of the atoms that come here; of those made since, nothing */
	isl_map *pairs;
};

static bool list(struct linking *l, const struct stmt *s);

/* A target's numbers, as functions of the atoms. NULL: not found. */
static isl_map *numbers(const struct grid *g, const struct polynomial *target)
{
	struct polynomial v = *target, digit, rest;
	isl_map *m = NULL;

	for (uint32_t i = 0; i < g->m; i++) {
		struct polynomial by = grid_atom(i);
		isl_aff *a = NULL;
		if (grid_divide(g, &v, &by, &rest, &digit))
			a = grid_affine(g, &digit);
		if (!a) {
			isl_map_free(m);
			return NULL;
		}
		isl_map *one = isl_map_from_aff(a);
		m = m ? isl_map_flat_range_product(m, one) : one;
		v = rest;
	}
	if (!v.n)
		return m;
	isl_map_free(m);
	return NULL;
}

static bool link(struct linking *l, const struct stmt *s)
{
	struct grid *g = l->g;
	struct polynomial from, to;

	if (!grid_value(g, s->e, &from) || !grid_value(g, s->e2, &to))
		return false;
	isl_map *m = grid_equal(&from, &g->rank) ? numbers(g, &to) : NULL;
	if (!m)
		return grid_fail(g, s->span, "a link that is not known for every size");
	m = isl_map_intersect_domain(
		m, isl_set_intersect(isl_set_copy(l->domain), isl_set_copy(g->context)));
	m = isl_map_project_out(m, isl_dim_in, g->m, GRID_ATOMS - 2 * g->m);
	l->pairs = l->pairs ? isl_map_union(l->pairs, m) : m;
	return true;
}

/* if a == b, if a != b */
static bool branch(struct linking *l, const struct stmt *s)
{
	struct grid *g = l->g;
	struct polynomial a, b;
	const struct expr *e = s->e;
	isl_set *all = l->domain;

	if (e->kind != E_BINARY || (e->op != OP_EQ && e->op != OP_NE))
		return grid_fail(g, e->span, "a condition that is not known for every size");
	if (!grid_value(g, e->a, &a) || !grid_value(g, e->b, &b))
		return false;
	isl_aff *x = grid_affine(g, &a), *y = x ? grid_affine(g, &b) : NULL;
	if (!y) {
		isl_aff_free(x);
		return grid_fail(g, e->span, "a condition that is not known for every size");
	}
	isl_set *same = isl_set_from_basic_set(isl_aff_eq_basic_set(x, y));
	isl_set *other = isl_set_subtract(isl_set_copy(all), isl_set_copy(same));
	same = isl_set_intersect(same, isl_set_copy(all));
	l->domain = e->op == OP_EQ ? same : other;
	bool ok = list(l, s->body);
	l->domain = e->op == OP_EQ ? other : same;
	ok = ok && list(l, s->orelse);
	isl_set_free(same);
	isl_set_free(other);
	l->domain = all;
	return ok;
}

/* for q in 0..N: q is a rank, with numbers of its own. */
static bool loop(struct linking *l, const struct stmt *s)
{
	struct grid *g = l->g;
	struct polynomial lo, hi, q = grid_number(0);

	if (!grid_value(g, s->e, &lo) || !grid_value(g, s->e2, &hi))
		return false;
	if (s->e3 || lo.n || !grid_equal(&hi, &g->n) || g->natoms + g->m > GRID_ATOMS)
		return grid_fail(g, s->span, "a loop over other things than all ranks");
	for (uint32_t i = 0; i < g->m; i++) {
		uint32_t atom = g->natoms++;
		g->below[atom] = i;
		g->context = grid_below(g->context, atom - g->m, i);
		struct polynomial by = grid_factors(0, i);
		by.v[0].power[atom] = 1;
		grid_sum(&q, 1, &by, &q);
	}
	grid_bind(g, s->var, &q);
	return list(l, s->body);
}

static bool list(struct linking *l, const struct stmt *s)
{
	bool ok = true;

	for (; s && ok; s = s->next)
		ok = s->kind == S_LINK	? link(l, s)
		     : s->kind == S_IF	? branch(l, s)
		     : s->kind == S_FOR ? loop(l, s)
					: grid_let(l->g, s);
	return ok;
}

isl_map *grid_links(struct grid *g, const struct decl *topology)
{
	struct linking l = { .g = g, .domain = isl_set_copy(g->context) };
	bool ok = list(&l, topology->body);

	isl_set_free(l.domain);
	if (ok && l.pairs)
		return isl_map_coalesce(l.pairs);
	isl_map_free(l.pairs);
	grid_fail(g, topology->span, "a topology without a link");
	return NULL;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
