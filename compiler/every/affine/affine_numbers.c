/*
 * Whether a piecewise affine value is constant, and a bound of it.
 *
 * Numbers of isl are unbounded, but in the language an overflow of 64 bits is an error (E0204) on
 * the rank where it happens. So a value must stay well below 2^63 for all N up to LIMIT_RANKS.
 * O(pieces) each.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#include <math.h>

#define TRIPS 0x1p32 /* most trips of a loop: more exceed every limit */
#define WIDE 0x1p60  /* greatest value: sums of a few such values fit 64 bits */

struct one {
	bool any, same;
	int64_t value;
};

static isl_stat piece_number(isl_set *s, isl_aff *a, void *arg)
{
	struct one *o = arg;
	isl_val *v = isl_aff_get_constant_val(a);
	bool number = isl_aff_is_cst(a) && isl_val_is_int(v);
	int64_t n = isl_val_get_num_si(v);

	o->same &= number && (!o->any || n == o->value) && n <= AFFINE_LARGE && n >= -AFFINE_LARGE;
	o->any = true;
	o->value = n;
	isl_val_free(v);
	isl_set_free(s);
	isl_aff_free(a);
	return isl_stat_ok;
}

bool affine_number(isl_pw_aff *v, isl_set *domain, int64_t *number)
{
	struct one o = { .same = true };
	isl_pw_aff *x = isl_pw_aff_intersect_domain(isl_pw_aff_copy(v), isl_set_copy(domain));

	x = isl_pw_aff_gist(isl_pw_aff_coalesce(x), isl_set_copy(domain));
	bool ok = x && isl_pw_aff_foreach_piece(x, piece_number, &o) == isl_stat_ok;
	isl_pw_aff_free(x);
	*number = o.value;
	return ok && o.any && o.same;
}

isl_pw_aff *affine_share(const isl_pw_aff *x, int64_t n)
{
	isl_pw_aff *v = isl_pw_aff_copy((isl_pw_aff *)x);
	isl_val *by = isl_val_int_from_si(isl_pw_aff_get_ctx(v), n < 0 ? -n : n);

	v = n < 0 ? isl_pw_aff_neg(v) : v; /* isl divides by positive numbers only */
	return isl_pw_aff_floor(isl_pw_aff_scale_down_val(v, by));
}

/* ---- size ------------------------------------------------------------------------------------ */

static double magnitude(isl_aff *a);

/* The bound of one variable of the value, times its factor. */
static double part(isl_aff *a, enum isl_dim_type type, int i)
{
	isl_val *v = isl_aff_get_coefficient_val(a, type, i);
	double factor = fabs(isl_val_get_d(v)), most = LIMIT_RANKS;

	isl_val_free(v);
	if (factor == 0)
		return 0;
	if (type == isl_dim_div) {
		isl_aff *div = isl_aff_get_div(a, i); /* in terms of earlier divs */
		most = magnitude(div);
		isl_aff_free(div);
	} else if (type == isl_dim_in && i > 0) {
		most = TRIPS;
	}
	return factor * most;
}

/* A bound of the value, for N up to LIMIT_RANKS. */
static double magnitude(isl_aff *a)
{
	static const enum isl_dim_type types[] = { isl_dim_param, isl_dim_in, isl_dim_div };
	isl_val *c = isl_aff_get_constant_val(a);
	double most = fabs(isl_val_get_d(c));

	isl_val_free(c);
	for (uint32_t t = 0; t < 3; t++)
		for (int i = 0; i < isl_aff_dim(a, types[t]); i++)
			most += part(a, types[t], i);
	return most;
}

static isl_stat piece_fits(isl_set *s, isl_aff *a, void *arg)
{
	bool *fits = arg;

	*fits &= magnitude(a) <= WIDE;
	isl_set_free(s);
	isl_aff_free(a);
	return isl_stat_ok;
}

bool affine_fits(isl_pw_aff *v)
{
	bool fits = true;

	return isl_pw_aff_foreach_piece(v, piece_fits, &fits) == isl_stat_ok && fits;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
