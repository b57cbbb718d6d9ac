/*
 * What is known of a piecewise affine value: that it is one number, and how large it may be.
 *
 * isl's numbers have no end, those of the language do: an overflow is an error for whom it happens
 * to (E0204). So no value may come near to one, with as many ranks as ccc takes. O(pieces) each.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#include <math.h>

#define TRIPS 0x1p32 /* of a loop: more are over every limit */
#define WIDE 0x1p60  /* what a value may come to: 64 bits hold it, and sums of a few such */

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

	v = n < 0 ? isl_pw_aff_neg(v) : v; /* isl divides by what is above 0 */
	return isl_pw_aff_floor(isl_pw_aff_scale_down_val(v, by));
}

/* ---- size ------------------------------------------------------------------------------------ */

static double magnitude(isl_aff *a);

/* ... of one number of it, times its factor. */
static double part(isl_aff *a, enum isl_dim_type type, int i)
{
	isl_val *v = isl_aff_get_coefficient_val(a, type, i);
	double factor = fabs(isl_val_get_d(v)), most = LIMIT_RANKS;

	isl_val_free(v);
	if (factor == 0)
		return 0;
	if (type == isl_dim_div) {
		isl_aff *div = isl_aff_get_div(a, i); /* of those before it */
		most = magnitude(div);
		isl_aff_free(div);
	} else if (type == isl_dim_in && i > 0) {
		most = TRIPS;
	}
	return factor * most;
}

/* At most so large, with N up to what ccc takes. */
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
