/*
 * Numbers as digits, and relations between ranks and chunks by their digits. See grid.h.
 *
 * The digits of a number are its remainders, by one factor after another; a number has digits only
 * if grid_divide() decides each of these for all sizes. O(factors) each.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

uint32_t grid_factor_of(const struct grid *g, uint32_t k, bool reversed)
{
	return reversed ? g->m - 1 - k : k;
}

bool grid_new_atom(struct grid *g, uint32_t factor)
{
	if (g->natoms == GRID_ATOMS)
		return false;
	g->context = grid_below(g->context, g->natoms - g->ranks, factor);
	g->below[g->natoms++] = factor;
	return true;
}

bool grid_digits(const struct grid *g, const struct polynomial *p, uint32_t used, bool reversed,
		 struct polynomial digit[GRID_FACTORS])
{
	struct polynomial v = *p, rest;

	for (uint32_t k = 0; k < g->m; k++) {
		uint32_t i = grid_factor_of(g, k, reversed);
		struct polynomial by = grid_atom(i);
		digit[i] = grid_number(0);
		if (!(used >> i & 1))
			continue;
		if (!grid_divide(g, &v, &by, &rest, &digit[i]))
			return false;
		v = rest;
	}
	return !v.n;
}

struct polynomial grid_of_digits(const struct grid *g, uint32_t first, uint32_t used, bool reversed)
{
	struct polynomial sum = grid_number(0), weight = grid_number(1);

	for (uint32_t k = 0; k < g->m; k++) {
		uint32_t i = grid_factor_of(g, k, reversed);
		if (!(used >> i & 1))
			continue;
		struct polynomial one = weight;
		one.v[0].power[first + i]++;
		grid_sum(&sum, 1, &one, &sum);
		weight.v[0].power[i]++;
	}
	return sum;
}

void grid_own(const struct grid *g, struct polynomial digit[GRID_FACTORS])
{
	for (uint32_t i = 0; i < g->m; i++)
		digit[i] = grid_atom(g->ranks + i);
}

isl_map *grid_put(isl_map *m, isl_aff *a)
{
	isl_map *one = isl_map_from_aff(a);

	return m ? isl_map_flat_range_product(m, one) : one;
}

/* Appends a number with any value. */
static isl_map *put_any(const struct grid *g, isl_map *m)
{
	isl_space *s = isl_space_from_domain(isl_set_get_space(g->context));
	isl_map *one = isl_map_universe(isl_space_add_dims(s, isl_dim_out, 1));

	return m ? isl_map_flat_range_product(m, one) : one;
}

isl_map *grid_put_digits(const struct grid *g, isl_map *m, const struct polynomial *digit,
			 uint32_t free)
{
	for (uint32_t i = 0; i < g->m; i++) {
		isl_aff *a = free >> i & 1 ? NULL : grid_affine(g, &digit[i]);
		if (!a && !(free >> i & 1))
			return isl_map_free(m);
		m = a ? grid_put(m, a) : put_any(g, m);
	}
	return m;
}

isl_set *grid_any(const struct grid *g)
{
	return isl_set_universe(isl_set_get_space(g->context));
}

isl_map *grid_possible(const struct grid *g, isl_map *m, isl_set *domain)
{
	m = isl_map_intersect_domain(m, domain);
	for (uint32_t atom = g->natoms; atom-- > g->ranks;) /* an atom depends on earlier ones */
		if (g->turned[atom] &&
		    isl_map_involves_dims(m, isl_dim_in, atom - g->ranks, 1) != isl_bool_false)
			m = isl_map_intersect_domain(m, isl_set_copy(g->turned[atom]));
	return isl_map_intersect_domain(m, isl_set_copy(g->context));
}

isl_map *grid_between(const struct grid *g, isl_map *a, isl_map *b, isl_set *domain)
{
	isl_map *both = grid_possible(g, isl_map_range_product(a, b), domain);

	return isl_set_unwrap(isl_map_range(both));
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
