/*
 * Forms as relations of isl: O(numbers of a point) set operations each. And the elements of a
 * relation for one N: O(elements).
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <isl/id.h>
#include <isl/point.h>

isl_id *relation_name(struct forms *f, char letter, uint32_t k)
{
	return isl_id_alloc(f->isl, arena_printf(f->arena, "%c%u", letter, k), NULL);
}

/* Appends a number to the tuple to which a point is mapped. */
static isl_map *and_then(isl_map *m, isl_pw_aff *v)
{
	isl_map *n = isl_map_from_pw_aff(v);

	return m ? isl_map_flat_range_product(m, n) : n;
}

isl_map *relation_access(struct forms *f, const struct form *o, const struct chunks *c)
{
	uint32_t last = f->dims - 1, depth = f->buffers[c->buffer].depth;
	isl_set *d = isl_set_eliminate(isl_set_copy(o->domain), isl_dim_set, last, 1);
	isl_pw_aff *e = forms_dim(f, last);
	isl_map *m = and_then(NULL, forms_dim(f, 0));

	d = isl_set_lower_bound_si(d, isl_dim_set, last, 0);
	d = isl_set_intersect(d, isl_pw_aff_lt_set(isl_pw_aff_copy(e), isl_pw_aff_copy(c->n)));
	for (uint32_t i = 1; i < last; i++)
		m = and_then(m, i <= depth ? forms_dim(f, i) : forms_constant(f, 0));
	m = and_then(m, isl_pw_aff_add(e, isl_pw_aff_copy(c->lo)));
	m = isl_map_coalesce(isl_map_intersect_domain(m, d));
	return isl_map_set_tuple_id(m, isl_dim_out, relation_name(f, 'b', c->buffer));
}

uint32_t relation_time_dims(const struct forms *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->nops; i++)
		n = f->ops[i].nplace > n ? f->ops[i].nplace : n;
	return n;
}

isl_pw_aff *relation_entry(struct forms *f, const struct form *o, uint32_t wave, uint32_t i)
{
	const struct place_entry *e = i < o->nplace ? &o->place[i] : NULL;

	return !e	 ? forms_constant(f, 0)
	       : e->wave ? forms_constant(f, wave)
	       : e->trip ? forms_dim(f, e->value)
			 : forms_constant(f, e->value);
}

isl_map *relation_time(struct forms *f, const struct form *o, uint32_t wave, isl_pw_aff *level,
		       uint32_t at)
{
	uint32_t n = relation_time_dims(f);
	isl_map *m = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (level && i == at)
			m = and_then(m, isl_pw_aff_copy(level));
		m = and_then(m, relation_entry(f, o, wave, i));
	}
	return isl_map_intersect_domain(m, isl_set_copy(o->domain));
}

isl_map *relation_not_before(isl_map *time)
{
	return isl_map_lex_ge(isl_space_range(isl_map_get_space(time)));
}

bool order_at(const struct form *a, const struct form *b, uint32_t i)
{
	return !(i < a->nplace && i < b->nplace && a->place[i].concurrent &&
		 b->place[i].concurrent);
}

/* The points of two operations on one rank with equal entries before entry i, and a lower one there. */
static isl_map *lower_at(struct forms *f, const struct form *a, const struct form *b, uint32_t i)
{
	isl_map *x = isl_map_from_pw_aff(forms_dim(f, 0)), *y = isl_map_copy(x);
	isl_pw_aff *s = relation_entry(f, a, 0, i), *t = relation_entry(f, b, 0, i);

	for (uint32_t k = 0; k < i; k++) {
		x = and_then(x, relation_entry(f, a, 0, k));
		y = and_then(y, relation_entry(f, b, 0, k));
	}
	x = isl_map_intersect_domain(x, isl_set_copy(a->domain));
	y = isl_map_intersect_domain(y, isl_set_copy(b->domain));
	return isl_map_intersect(isl_map_apply_range(x, isl_map_reverse(y)),
				 isl_pw_aff_lt_map(s, t));
}

isl_map *order_own(struct forms *f, const struct form *a, const struct form *b, uint32_t least)
{
	isl_map *m = isl_map_empty(isl_space_map_from_set(isl_space_copy(f->space)));

	for (uint32_t i = least; i < relation_time_dims(f); i++)
		if (order_at(a, b, i))
			m = isl_map_union(m, lower_at(f, a, b, i));
	return m;
}

/* ---- elements ------------------------------------------------------------------------------ */

struct each {
	uint32_t n;
	point_fn fn;
	void *arg;
};

static isl_stat one_point(isl_point *p, void *arg)
{
	struct each *e = arg;
	int64_t v[64];

	for (uint32_t i = 0; i < e->n && i < 64; i++) {
		isl_val *x = isl_point_get_coordinate_val(p, isl_dim_set, (int)i);
		v[i] = isl_val_get_num_si(x);
		isl_val_free(x);
	}
	isl_point_free(p);
	e->fn(v, e->n, e->arg);
	return isl_stat_ok;
}

void each_point(struct forms *f, isl_map *m, int64_t nranks, int64_t root, point_fn fn, void *arg)
{
	isl_set *s = isl_set_flatten(isl_map_wrap(isl_map_copy(m)));

	s = isl_set_fix_si(s, isl_dim_param, 0, (int)nranks);
	if (f->root)
		s = isl_set_fix_si(s, isl_dim_param, 1, (int)root);
	s = isl_set_project_out(s, isl_dim_param, 0, f->root ? 2 : 1);
	struct each e = { (uint32_t)isl_set_dim(s, isl_dim_set), fn, arg };
	if (e.n <= 64)
		isl_set_foreach_point(s, one_point, &e);
	isl_set_free(s);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
