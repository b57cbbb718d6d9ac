/*
 * A proof for every N as JSON, for whoever wants to check it by other means.
 *
 * In: forms, pairs, sources and holdings that were proved. Out: all of them as pieces:
 *
 *   piece   {"if": [constraint ...], "to": [sum ...]}, "to" is the value where all of "if" hold
 *   sum     [constant, of N, of the root, of the point's numbers ...]
 *   constraint  ["=" or ">=", sum], the sum is 0, or at least 0
 *
 * What needs a floor has no certificate: false is returned. tests/check/certificate.py checks
 * one; docs/internals.md, Every N, says what there is to check.
 */
#include "compiler/every/certificate.h"

#ifdef CCS_HAVE_ISL
#include <isl/constraint.h>
#include <jansson.h>
#include <stdlib.h>

/* A certificate while it is made. */
struct paper {
	struct forms *f;
	bool floors; /* something needs one */
	json_t *to;  /* of the list at hand */
};

static json_t *number(isl_val *v, bool *floors)
{
	*floors |= isl_val_is_int(v) != isl_bool_true;
	json_t *n = json_integer(isl_val_get_num_si(v));

	isl_val_free(v);
	return n;
}

/* A sum's coefficients; `in`: where the point's numbers are. */
static json_t *sum_of_aff(struct paper *p, isl_aff *a)
{
	json_t *s = json_array();

	p->floors |= isl_aff_dim(a, isl_dim_div) != 0;
	json_array_append_new(s, number(isl_aff_get_constant_val(a), &p->floors));
	for (int i = 0; i < 2; i++)
		json_array_append_new(
			s, i < (p->f->root ? 2 : 1)
				   ? number(isl_aff_get_coefficient_val(a, isl_dim_param, i),
					    &p->floors)
				   : json_integer(0));
	for (uint32_t i = 0; i < p->f->dims; i++)
		json_array_append_new(
			s, number(isl_aff_get_coefficient_val(a, isl_dim_in, (int)i), &p->floors));
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

/* Conditions of the parts of a set, each with the same "to" (taken), or none. */
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

/* A set as pieces without a value. */
static json_t *set_pieces(struct paper *p, isl_set *s)
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

/* A function as pieces. Takes it. */
static json_t *map_pieces(struct paper *p, isl_map *m)
{
	struct many x = { p, json_array() };
	isl_pw_multi_aff *f = isl_pw_multi_aff_from_map(m);

	p->floors |= !f;
	isl_pw_multi_aff_foreach_piece(f, add_multi, &x);
	isl_pw_multi_aff_free(f);
	return x.list;
}

static json_t *value_pieces(struct paper *p, isl_pw_aff *v, isl_set *domain)
{
	isl_map *m = isl_map_from_pw_aff(isl_pw_aff_copy(v));

	return map_pieces(p, isl_map_intersect_domain(m, isl_set_copy(domain)));
}

/* ---- parts ------------------------------------------------------------------------------------- */

static json_t *place_list(const struct form *o)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < o->nplace; i++) {
		const struct place_entry *e = &o->place[i];
		const char *kind = e->wave ? "wave" : e->trip ? "trip" : "at";
		json_array_append_new(list, json_pack("{s:s, s:i, s:b, s:b}", "kind", kind, "value",
						      (int)e->value, "concurrent",
						      (int)e->concurrent, "block", (int)e->block));
	}
	return list;
}

static json_t *access_entry(struct paper *p, const struct form *o, const struct chunks *c)
{
	return json_pack("{s:i, s:o, s:o}", "buffer", (int)c->buffer, "first",
			 value_pieces(p, c->lo, o->domain), "n", value_pieces(p, c->n, o->domain));
}

static json_t *operation(struct paper *p, const struct form *o)
{
	static const char *const kinds[] = { "send", "recv", "reduce", "copy", "reduce into" };
	json_t *j = json_pack("{s:s, s:i, s:o, s:o, s:o}", "kind", kinds[o->stmt->kind - S_SEND],
			      "line", (int)o->line, "points", set_pieces(p, o->domain), "place",
			      place_list(o), "x", access_entry(p, o, &o->x));

	if (o->stmt->kind >= S_COPY) {
		json_object_set_new(j, "y", access_entry(p, o, &o->y));
	} else {
		json_object_set_new(j, "peer", value_pieces(p, o->peer, o->domain));
		json_object_set_new(j, "channel", value_pieces(p, o->channel, o->domain));
	}
	return j;
}

static json_t *pair_entry(struct paper *p, const struct pair *x)
{
	return json_pack("{s:i, s:i, s:o, s:o}", "send", (int)x->send, "recv", (int)x->recv,
			 "to_recv", map_pieces(p, isl_map_copy(x->map)), "to_send",
			 map_pieces(p, isl_map_reverse(isl_map_copy(x->map))));
}

/* A read's source: {"read": "x3", "source": "w1", "pieces": ...} */
static isl_stat add_source(isl_map *m, void *arg)
{
	struct many *x = arg;
	json_t *j = json_pack("{s:s, s:s}", "read", isl_map_get_tuple_name(m, isl_dim_in), "source",
			      isl_map_get_tuple_name(m, isl_dim_out));

	m = isl_map_reset_tuple_id(isl_map_reset_tuple_id(m, isl_dim_in), isl_dim_out);
	json_object_set_new(j, "pieces", map_pieces(x->p, m));
	json_array_append_new(x->list, j);
	return isl_stat_ok;
}

static json_t *sources(struct paper *p, isl_union_map *see)
{
	struct many x = { p, json_array() };

	isl_union_map_foreach_map(see, add_source, &x);
	return x.list;
}

static json_t *holding(struct paper *p, const struct form *o, const struct holding *h)
{
	if (!h->writes)
		return json_null();
	const struct chunks *c = o->stmt->kind >= S_COPY ? &o->y : &o->x;
	isl_set *d = isl_map_domain(relation_access(p->f, o, c));
	json_t *j = json_pack("{s:s, s:i, s:o, s:o, s:o}", "words", h->text ? h->text : "",
			      "buffer", (int)h->buffer, "first", value_pieces(p, h->lo, d), "n",
			      value_pieces(p, h->n, d), "chunk", value_pieces(p, h->index, d));

	isl_set_free(d);
	return j;
}

static json_t *clock_list(struct paper *p, const struct clocks *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->n; i++)
		json_array_append_new(list,
				      json_pack("{s:i, s:i, s:o}", "at", (int)c->v[i].at, "before",
						(int)c->v[i].before, "clock",
						value_pieces(p, c->v[i].clock, p->f->context)));
	return list;
}

static json_t *buffer_list(struct paper *p)
{
	struct forms *f = p->f;
	json_t *list = json_array();

	for (uint32_t i = 0; i < f->nbuffers; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:b, s:i, s:o}", "name",
						f->buffers[i].def->name.name, "given",
						(int)(f->buffers[i].def->dir == DIR_IN ||
						      f->buffers[i].def->dir == DIR_INOUT),
						"loops", (int)f->buffers[i].depth, "chunks",
						value_pieces(p, f->buffers[i].count, f->context)));
	return list;
}

char *certificate_text(struct forms *f, const struct pairs *pairs, const struct clocks *clocks,
		       const struct flow *flow, const struct holding *h)
{
	struct paper p = { .f = f };
	const struct decl *d = f->in->schedule;
	json_t *ops = json_array(), *met = json_array(), *holds = json_array();

	for (uint32_t k = 0; k < f->nops; k++) {
		json_array_append_new(ops, operation(&p, &f->ops[k]));
		json_array_append_new(holds, holding(&p, &f->ops[k], &h[k]));
	}
	for (uint32_t i = 0; i < pairs->n; i++)
		json_array_append_new(met, pair_entry(&p, &pairs->v[i]));
	json_t *j = json_pack("{s:i, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			      "certificate", 1, "schedule", d->name.name, "contract",
			      d->contract_name.name, "numbers", (int)f->dims, "root",
			      f->root ? f->in->root_param->name : "", "possible",
			      set_pieces(&p, f->context), "buffers", buffer_list(&p), "operations",
			      ops, "pairs", met, "clocks", clock_list(&p, clocks), "sources",
			      sources(&p, flow->see), "holds", holds);
	char *text = j && !p.floors ? json_dumps(j, JSON_COMPACT) : NULL;
	json_decref(j);
	return text;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
