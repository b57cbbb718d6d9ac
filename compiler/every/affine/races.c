/*
 * Proves that there are no races, for every N (ccs(5) 6): no two operations of a step, or of two
 * blocks of a par, touch a chunk that one of them writes.
 *
 * Two points are unordered if the first entry in which their places differ is a concurrent one: a
 * step or a par. O(pairs of operations * depth) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <isl/constraint.h>

/* An operation's use of chunks. */
struct chunk_use {
	const struct form *o;
	const struct chunks *c;
	bool writes;
};

/* The uses of an operation: at most two. */
static uint32_t touches(const struct form *o, struct chunk_use *to)
{
	bool local = o->stmt->kind >= S_COPY;

	to[0] = (struct chunk_use){ o, &o->x, !local && o->stmt->kind != S_SEND };
	to[1] = (struct chunk_use){ o, &o->y, true };
	return local ? 2 : 1;
}

static isl_map *equate(isl_map *m, const struct place_entry *e, const struct place_entry *g)
{
	if (e->trip)
		return isl_map_equate(m, isl_dim_in, (int)e->value, isl_dim_out, (int)g->value);
	return m;
}

static bool same_entry(const struct place_entry *e, const struct place_entry *g)
{
	return e->trip == g->trip && (e->trip || e->wave || e->value == g->value);
}

/* Whether some points of two uses that differ first at a concurrent entry touch one chunk. */
static bool meet(struct forms *f, const struct chunk_use *a, const struct chunk_use *b)
{
	const struct form *o = a->o, *p = b->o;
	isl_map *m = isl_map_apply_range(relation_access(f, o, a->c),
					 isl_map_reverse(relation_access(f, p, b->c)));
	bool found = false;

	for (uint32_t i = 0; i < o->nplace && i < p->nplace && !found; i++) {
		const struct place_entry *e = &o->place[i], *g = &p->place[i];
		if (e->concurrent && g->concurrent && e->trip && g->trip) {
			isl_map *lt = isl_map_order_lt(isl_map_copy(m), isl_dim_in, (int)e->value,
						       isl_dim_out, (int)g->value);
			isl_map *gt = isl_map_order_gt(isl_map_copy(m), isl_dim_in, (int)e->value,
						       isl_dim_out, (int)g->value);
			found = isl_map_is_empty(lt) != isl_bool_true ||
				isl_map_is_empty(gt) != isl_bool_true;
			isl_map_free(lt);
			isl_map_free(gt);
		} else if (e->concurrent && g->concurrent && !same_entry(e, g)) {
			found = isl_map_is_empty(m) != isl_bool_true;
		}
		if (!same_entry(e, g))
			break;
		m = equate(m, e, g);
	}
	isl_map_free(m);
	return found;
}

bool races_none(struct forms *f)
{
	struct chunk_use u[2], v[2];

	for (uint32_t i = 0; i < f->nops; i++)
		for (uint32_t j = i; j < f->nops; j++) {
			uint32_t n = touches(&f->ops[i], u), k = touches(&f->ops[j], v);
			for (uint32_t a = 0; a < n; a++)
				for (uint32_t b = 0; b < k; b++)
					if ((u[a].writes || v[b].writes) &&
					    u[a].c->buffer == v[b].c->buffer &&
					    meet(f, &u[a], &v[b])) {
						forms_fail(f, f->ops[j].stmt->span,
							   "it may race with line %u",
							   f->ops[i].line);
						return false;
					}
		}
	return true;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
