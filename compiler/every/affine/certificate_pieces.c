/*
 * Functions and sets as pieces, for certificates.
 *
 *   piece   {"if": [constraint ...], "to": [sum ...]}, "to" is the value where all of "if" hold
 *   sum     [constant, of each parameter ..., of each of the point's numbers ...]
 *   constraint  ["=" or ">=", sum], the sum is 0, or at least 0
 *
 * A set has an empty "to". Functions and sets that need a floor cannot be expressed.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/certificate.h"

#include <isl/constraint.h>

static json_t *number(isl_val *v, bool *floors)
{
	*floors |= isl_val_is_int(v) != isl_bool_true;
	json_t *n = json_integer(isl_val_get_num_si(v));

	isl_val_free(v);
	return n;
}

/* A sum's coefficients. */
static json_t *sum_of_aff(struct paper *p, isl_aff *a)
{
	json_t *s = json_array();
	isl_size params = isl_aff_dim(a, isl_dim_param), numbers = isl_aff_dim(a, isl_dim_in);

	p->floors |= isl_aff_dim(a, isl_dim_div) != 0;
	json_array_append_new(s, number(isl_aff_get_constant_val(a), &p->floors));
	for (int i = 0; i < (int)p->params; i++)
		json_array_append_new(
			s, i < params ? number(isl_aff_get_coefficient_val(a, isl_dim_param, i),
					       &p->floors)
				      : json_integer(0));
	for (int i = 0; i < numbers; i++)
		json_array_append_new(
			s, number(isl_aff_get_coefficient_val(a, isl_dim_in, i), &p->floors));
	return s;
}

static isl_stat add_constraint(isl_constraint *c, void *arg)
{
	struct paper *p = arg;
	bool equal = isl_constraint_is_equality(c) == isl_bool_true;
	isl_aff *a = isl_constraint_get_aff(c);

	json_array_append_new(p->to, json_pack("[s, o]", equal ? "=" : ">=", sum_of_aff(p, a)));
	isl_aff_free(a);
	isl_constraint_free(c);
	return isl_stat_ok;
}

/* The pieces of the parts of a set, all with the same "to" (taken), or none. */
struct parts {
	struct paper *p;
	json_t *to, *list;
};

static isl_stat add_part(isl_basic_set *b, void *arg)
{
	struct parts *x = arg;
	json_t *conditions = json_array();

	x->p->floors |= isl_basic_set_dim(b, isl_dim_div) != 0;
	x->p->to = conditions;
	isl_basic_set_foreach_constraint(b, add_constraint, x->p);
	isl_basic_set_free(b);
	json_array_append_new(x->list, json_pack("{s:o, s:O}", "if", conditions, "to", x->to));
	return isl_stat_ok;
}

static void add_pieces(struct paper *p, json_t *list, isl_set *s, json_t *to)
{
	struct parts x = { p, to, list };

	s = isl_set_coalesce(isl_set_remove_redundancies(isl_set_make_disjoint(s)));
	isl_set_foreach_basic_set(s, add_part, &x);
	isl_set_free(s);
	json_decref(to);
}

json_t *set_pieces(struct paper *p, isl_set *s)
{
	json_t *list = json_array();

	add_pieces(p, list, isl_set_copy(s), json_array());
	return list;
}

struct many {
	struct paper *p;
	json_t *list;
};

static isl_stat add_multi(isl_set *s, isl_multi_aff *m, void *arg)
{
	struct many *x = arg;
	json_t *to = json_array();
	isl_size n = isl_multi_aff_dim(m, isl_dim_out);

	for (int i = 0; i < n; i++) {
		isl_aff *a = isl_multi_aff_get_aff(m, i);
		json_array_append_new(to, sum_of_aff(x->p, a));
		isl_aff_free(a);
	}
	isl_multi_aff_free(m);
	add_pieces(x->p, x->list, s, to);
	return isl_stat_ok;
}

json_t *map_pieces(struct paper *p, isl_map *m)
{
	struct many x = { p, json_array() };
	isl_pw_multi_aff *f = isl_pw_multi_aff_from_map(m);

	p->floors |= !f;
	isl_pw_multi_aff_foreach_piece(f, add_multi, &x);
	isl_pw_multi_aff_free(f);
	return x.list;
}

json_t *value_pieces(struct paper *p, isl_pw_aff *v, isl_set *domain)
{
	isl_map *m = isl_map_from_pw_aff(isl_pw_aff_copy(v));

	return map_pieces(p, isl_map_intersect_domain(m, isl_set_copy(domain)));
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
