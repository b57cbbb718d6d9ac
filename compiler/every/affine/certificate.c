/*
 * A proof for every N as JSON, for independent checkers.
 *
 * In: forms, pairs, sources and holdings that were proved. Out: all of them as pieces
 * (certificate_pieces.c) with the parameters N and the root (0 without a root). A part of a
 * schedule has no contract: the certificate covers all of its first buffer at the end. If all
 * admitted N were tried, the certificate only lists them, and a checker can try them again.
 * O(pieces of all sets and functions).
 *
 * A proof that needs a floor, such as rank / 2, has no certificate. tests/check/certificate.py and
 * certificate_text.py check certificates.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/certificate.h"

/* ---- parts ---------------------------------------------------------------------------- */

const char *certificate_verb(const struct stmt *s)
{
	static const char *const verbs[] = { "send", "recv", "reduce", "copy", "reduce into" };

	return verbs[s->kind - S_SEND];
}

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
	json_t *j = json_pack("{s:s, s:i, s:o, s:o, s:o}", "kind", certificate_verb(o->stmt),
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

/* The list of the reads' sources, while it is built. */
struct source_list {
	struct paper *p;
	json_t *list;
};

/* A read's source: {"read": "x3", "source": "w1", "pieces": ...} */
static isl_stat add_source(isl_map *m, void *arg)
{
	struct source_list *x = arg;
	json_t *j = json_pack("{s:s, s:s}", "read", isl_map_get_tuple_name(m, isl_dim_in), "source",
			      isl_map_get_tuple_name(m, isl_dim_out));

	m = isl_map_reset_tuple_id(isl_map_reset_tuple_id(m, isl_dim_in), isl_dim_out);
	json_object_set_new(j, "pieces", map_pieces(x->p, m));
	json_array_append_new(x->list, j);
	return isl_stat_ok;
}

static json_t *sources(struct paper *p, isl_union_map *see)
{
	struct source_list x = { p, json_array() };

	isl_union_map_foreach_map(see, add_source, &x);
	return x.list;
}

static json_t *holding(struct paper *p, struct forms *f, const struct form *o,
		       const struct holding *h)
{
	if (!h->writes)
		return json_null();
	const struct chunks *c = o->stmt->kind >= S_COPY ? &o->y : &o->x;
	isl_set *d = isl_map_domain(relation_access(f, o, c));
	json_t *j = json_pack("{s:s, s:i, s:o, s:o, s:o}", "words", h->text ? h->text : "",
			      "buffer", (int)h->buffer, "first", value_pieces(p, h->lo, d), "n",
			      value_pieces(p, h->n, d), "chunk", value_pieces(p, h->index, d));

	isl_set_free(d);
	return j;
}

/* The levels of each message of a segment: {"op": k, "start": ..., "end": ...} */
static json_t *segment_levels(struct paper *p, const struct forms *f, const struct levels *l)
{
	json_t *list = json_array();

	for (uint32_t k = 0; k < f->nops; k++)
		if (l->of[2 * k])
			json_array_append_new(
				list,
				json_pack("{s:i, s:o, s:o}", "op", (int)k, "start",
					  value_pieces(p, l->of[2 * k], f->ops[k].domain), "end",
					  value_pieces(p, l->of[2 * k + 1], f->ops[k].domain)));
	return list;
}

static json_t *level_list(struct paper *p, const struct forms *f, const struct level_list *l)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < l->n; i++)
		json_array_append_new(list, json_pack("{s:i, s:i, s:o}", "at", (int)l->v[i].at,
						      "before", (int)l->v[i].before, "of",
						      segment_levels(p, f, &l->v[i])));
	return list;
}

static json_t *buffer_list(struct paper *p, const struct forms *f)
{
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

char *certificate_text(struct forms *f, const struct pairs *pairs, const struct level_list *levels,
		       const struct flow *flow, const struct holding *h)
{
	struct paper p = { .params = 2 };
	const struct decl *d = f->in->schedule;
	json_t *ops = json_array(), *met = json_array(), *holds = json_array();

	for (uint32_t k = 0; k < f->nops; k++) {
		json_array_append_new(ops, operation(&p, &f->ops[k]));
		json_array_append_new(holds, holding(&p, f, &f->ops[k], &h[k]));
	}
	for (uint32_t i = 0; i < pairs->n; i++)
		json_array_append_new(met, pair_entry(&p, &pairs->v[i]));
	json_t *j = json_pack("{s:i, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			      "certificate", 1, "schedule", d->name.name, "contract",
			      f->part ? "" : d->contract_name.name, "numbers", (int)f->dims, "root",
			      f->root ? f->in->root_param->name : "", "possible",
			      set_pieces(&p, f->context), "buffers", buffer_list(&p, f),
			      "operations", ops, "pairs", met, "levels", level_list(&p, f, levels),
			      "sources", sources(&p, flow->see), "holds", holds);
	char *text = j && !p.floors ? json_dumps(j, JSON_COMPACT) : NULL;
	json_decref(j);
	return text;
}

char *certificate_of_tried(struct forms *f)
{
	struct paper p = { .params = 2 };
	const struct decl *d = f->in->schedule;
	json_t *j = json_pack("{s:i, s:s, s:s, s:i, s:o}", "certificate", 4, "schedule",
			      d->name.name, "contract", d->contract_name.name, "numbers",
			      (int)f->dims, "possible", set_pieces(&p, f->context));
	char *text = j && !p.floors ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
