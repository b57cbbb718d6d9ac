/*
 * Polynomials with integer factors. See grid.h.
 *
 * Nothing is rounded: polynomials that are too long, and undecided comparisons, are refused. A
 * polynomial is at least 0 if it is a sum of products without a minus, once each factor of N is
 * written as 1 + its digit + a rest of at least 0. O(terms^2) each.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

#include <string.h>

#define LARGE (INT64_C(1) << 40) /* greatest factor */
#define MOST_POWER 16u

struct polynomial grid_number(int64_t n)
{
	struct polynomial p = { .n = n != 0 };

	p.v[0].factor = n;
	return p;
}

struct polynomial grid_atom(uint32_t atom)
{
	struct polynomial p = grid_number(1);

	p.v[0].power[atom] = 1;
	return p;
}

/* Adds a term. False: too long. */
static bool add_term(struct polynomial *p, const struct grid_term *t)
{
	uint32_t k = 0;

	while (k < p->n && memcmp(p->v[k].power, t->power, sizeof(t->power)) != 0)
		k++;
	if (k == GRID_TERMS)
		return false;
	if (k == p->n) {
		p->v[p->n++] = *t;
		return true;
	}
	p->v[k].factor += t->factor;
	bool small = p->v[k].factor <= LARGE && p->v[k].factor >= -LARGE;
	if (!p->v[k].factor)
		p->v[k] = p->v[--p->n];
	return small;
}

bool grid_sum(const struct polynomial *a, int64_t factor, const struct polynomial *b,
	      struct polynomial *to)
{
	struct polynomial p = *a;
	bool ok = true;

	for (uint32_t i = 0; i < b->n && ok && factor; i++) {
		struct grid_term t = b->v[i];
		ok = !__builtin_mul_overflow(t.factor, factor, &t.factor) && t.factor <= LARGE &&
		     t.factor >= -LARGE && add_term(&p, &t);
	}
	*to = p;
	return ok;
}

static bool term_product(const struct grid_term *a, const struct grid_term *b, struct grid_term *to)
{
	bool ok = !__builtin_mul_overflow(a->factor, b->factor, &to->factor) &&
		  to->factor <= LARGE && to->factor >= -LARGE;

	for (uint32_t i = 0; i < GRID_ATOMS; i++) {
		to->power[i] = (uint8_t)(a->power[i] + b->power[i]);
		ok = ok && to->power[i] <= MOST_POWER;
	}
	return ok;
}

bool grid_product(const struct polynomial *a, const struct polynomial *b, struct polynomial *to)
{
	struct polynomial p = { .n = 0 };

	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++) {
			struct grid_term t;
			if (!term_product(&a->v[i], &b->v[k], &t) || !add_term(&p, &t))
				return false;
		}
	*to = p;
	return true;
}

bool grid_equal(const struct polynomial *a, const struct polynomial *b)
{
	struct polynomial d;

	return grid_sum(a, -1, b, &d) && d.n == 0;
}

struct polynomial grid_factors(uint32_t first, uint32_t end)
{
	struct polynomial p = grid_number(1);

	for (; first < end; first++)
		p.v[0].power[first]++;
	return p;
}

/* ---- at least 0 --------------------------------------------------------------------------- */

/* The digit of p below factor e; NONE: none. False: there are several. */
static bool only_number(const struct grid *g, const struct polynomial *p, uint32_t e,
			uint32_t *number)
{
	*number = NONE;
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t a = g->m; a < g->natoms; a++) {
			if (!p->v[i].power[a] || g->below[a] != e)
				continue;
			if (*number != NONE && *number != a)
				return false;
			*number = a;
		}
	return true;
}

/* Substitutes 1 + rest + digit for a factor, where the digit is the one below it, if p has one, and
 * rest >= 0. The atom of the factor then stands for `rest`. */
static bool put_in(const struct polynomial *p, uint32_t factor, uint32_t number,
		   struct polynomial *to)
{
	struct polynomial one = grid_number(1), by = grid_atom(factor), sum = { .n = 0 };

	if (!grid_sum(&by, 1, &one, &by))
		return false;
	if (number != NONE) {
		one = grid_atom(number);
		if (!grid_sum(&by, 1, &one, &by))
			return false;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		struct polynomial t = { .v = { p->v[i] }, .n = 1 };
		uint32_t power = t.v[0].power[factor];
		t.v[0].power[factor] = 0;
		for (uint32_t k = 0; k < power; k++)
			if (!grid_product(&t, &by, &t))
				return false;
		if (!grid_sum(&sum, 1, &t, &sum))
			return false;
	}
	*to = sum;
	return true;
}

bool grid_natural(const struct grid *g, const struct polynomial *p)
{
	struct polynomial q = *p;
	uint32_t number;

	for (uint32_t e = 0; e < g->m; e++)
		if (!only_number(g, p, e, &number) || !put_in(&q, e, number, &q))
			return false;
	for (uint32_t i = 0; i < q.n; i++)
		if (q.v[i].factor < 0)
			return false;
	return true;
}

/* ---- quotients ------------------------------------------------------------------------------- */

static bool divides(const struct grid_term *b, const struct grid_term *a)
{
	for (uint32_t i = 0; i < GRID_ATOMS; i++)
		if (a->power[i] < b->power[i])
			return false;
	return true;
}

bool grid_divide(const struct grid *g, const struct polynomial *a, const struct polynomial *b,
		 struct polynomial *q, struct polynomial *r)
{
	struct polynomial one = grid_number(1), most;
	const struct grid_term *by = &b->v[0];

	*q = *r = grid_number(0);
	if (b->n != 1 || by->factor != 1)
		return false;
	for (uint32_t i = g->m; i < GRID_ATOMS; i++)
		if (by->power[i])
			return false;
	for (uint32_t i = 0; i < a->n; i++) {
		struct grid_term t = a->v[i];
		bool whole = divides(by, &t);
		for (uint32_t k = 0; k < GRID_ATOMS && whole; k++)
			t.power[k] = (uint8_t)(t.power[k] - by->power[k]);
		if (!add_term(whole ? q : r, &t))
			return false;
	}
	return grid_natural(g, r) && grid_sum(b, -1, &one, &most) &&
	       grid_sum(&most, -1, r, &most) && grid_natural(g, &most);
}

/* ---- as integer sets ------------------------------------------------------------------------- */

isl_aff *grid_affine(const struct grid *g, const struct polynomial *p)
{
	isl_aff *a =
		isl_aff_zero_on_domain(isl_local_space_from_space(isl_set_get_space(g->context)));

	for (uint32_t i = 0; i < p->n; i++) {
		const struct grid_term *t = &p->v[i];
		uint32_t atom = NONE, degree = 0;
		for (uint32_t k = 0; k < GRID_ATOMS; k++) {
			degree += t->power[k];
			atom = t->power[k] ? k : atom;
		}
		if (degree > 1)
			return isl_aff_free(a);
		isl_val *factor = isl_val_int_from_si(g->isl, t->factor);
		if (atom == NONE)
			a = isl_aff_add_constant_val(a, factor);
		else if (atom < g->ranks)
			a = isl_aff_add_coefficient_val(a, isl_dim_param, (int)atom, factor);
		else
			a = isl_aff_add_coefficient_val(a, isl_dim_in, (int)(atom - g->ranks),
							factor);
	}
	return a;
}

isl_set *grid_below(isl_set *s, uint32_t dim, uint32_t factor)
{
	isl_local_space *l = isl_local_space_from_space(isl_set_get_space(s));
	isl_aff *end = isl_aff_var_on_domain(isl_local_space_copy(l), isl_dim_param, factor);
	isl_aff *number = isl_aff_var_on_domain(l, isl_dim_set, dim);

	s = isl_set_intersect(s, isl_aff_lt_set(number, end));
	return isl_set_lower_bound_si(s, isl_dim_set, dim, 0);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
