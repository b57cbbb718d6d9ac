/*
 * The links of a topology, as pairs of ranks by their digits. See grid.h.
 *
 * The text may have lets, fns, links from the rank itself, `if`, and loops over all ranks, which
 * are evaluated for all iterations at once (ccs(5) 4, Topologies). O(text) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

struct linking {
	struct grid *g;
	isl_set *domain; /* of the atoms that reach this place; not of atoms made since */
	isl_map *pairs;
};

static bool list(struct linking *l, const struct stmt *s);

/* A target's digits, as functions of the atoms. NULL: not found. */
static isl_map *digits(const struct grid *g, const struct polynomial *target)
{
	struct polynomial digit[GRID_FACTORS];

	return grid_digits(g, target, ~0u, false, digit) ? grid_put_digits(g, NULL, digit, 0)
							 : NULL;
}

static bool link(struct linking *l, const struct stmt *s)
{
	struct grid *g = l->g;
	struct polynomial from, to;

	if (!grid_value(g, s->e, &from) || !grid_value(g, s->e2, &to))
		return false;
	isl_map *m = grid_equal(&from, &g->rank) ? digits(g, &to) : NULL;
	if (!m)
		return grid_fail(g, s->span, "a link that is not known for every size");
	m = grid_possible(g, m, isl_set_copy(l->domain));
	m = isl_map_project_out(m, isl_dim_in, g->m, GRID_ATOMS - g->ranks - g->m);
	l->pairs = l->pairs ? isl_map_union(l->pairs, m) : m;
	return true;
}

static bool branch(struct linking *l, const struct stmt *s)
{
	isl_set *all = l->domain, *so = grid_where(l->g, s->e);

	if (!so)
		return false;
	l->domain = isl_set_intersect(isl_set_copy(all), isl_set_copy(so));
	bool ok = list(l, s->body);
	isl_set_free(l->domain);
	l->domain = isl_set_subtract(isl_set_copy(all), so);
	ok = ok && list(l, s->orelse);
	isl_set_free(l->domain);
	l->domain = all;
	return ok;
}

/* for q in 0..N: q becomes a rank with new digits. */
static bool loop(struct linking *l, const struct stmt *s)
{
	struct grid *g = l->g;
	struct polynomial lo, hi, q;
	uint32_t first;

	if (!grid_value(g, s->e, &lo) || !grid_value(g, s->e2, &hi))
		return false;
	if (s->e3 || lo.n || !grid_equal(&hi, &g->n))
		return grid_fail(g, s->span, "a loop over something other than all ranks");
	if (!grid_fresh(g, s->span, &first))
		return false;
	q = grid_of_digits(g, first, ~0u, false);
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
	struct linking l = { .g = g, .domain = grid_any(g) };
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
