/*
 * Levels: an order of waits for texts in which ranks do different things.
 *
 * In: a segment in which places in the text do not grow along all waits (progress.c). Out: for the start
 * and the end of each message a level, a function of the rank, the trips, N and the root, which is
 * inserted before some entry of its place. Time grows along a wait if the level does.
 *
 *     if rank == 0 { for q in 1..N { recv t from q }  for q in 1..N { send t to q } }
 *     else         { send t to 0  recv t from 0 }
 *
 * has the levels 1, 1, 0 and 2: rank 0's statements are first in the text, but not in time.
 *
 * To find them is to schedule a loop nest whose dependences are the waits and each rank's own order
 * (Feautrier, "Some efficient solutions to the affine scheduling problem", IJPP 1992), which isl's
 * scheduler does. Its time has several dimensions, of which the outer ones are folded into one level.
 * Then it is proved that times grow along all waits, and that levels do not fall along each rank's own
 * order; so nothing rests on the scheduler. Only events with equal entries before the level are compared, so the level may
 * count from 0 in each trip of a loop around it.
 * O(entries) schedules of 2 * messages statements, and O(entries * messages^2) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <isl/schedule.h>

#include <limits.h>

#define WIDE 4		     /* the range of a varying dimension, in N: a guess */
#define MOST_RANGE (1 << 20) /* of folded dimensions */
#define MOST_PARTS 100	     /* convex parts of the order: isl takes long for many */

bool levels_cover(const struct forms *f, const struct levels *l, uint32_t op)
{
	uint32_t at = f->ops[op].place[0].value;

	return order_is_message(&f->ops[op]) && (l->at == NONE || (at >= l->at && at <= l->last));
}

/* The order of a segment's events. An event is a point with the name of its operation's start or end. */
struct graph {
	struct forms *f;
	const struct levels *l;
	isl_union_map *own, *waits;
};

static isl_id *event_name(const struct graph *r, uint32_t op, bool end)
{
	return relation_name(r->f, end ? 'e' : 's', op);
}

/* The points of two operations with equal entries before the level. */
static isl_map *equal_before(const struct graph *r, uint32_t a, uint32_t b)
{
	struct forms *f = r->f;
	isl_map *m = isl_map_from_domain_and_range(isl_set_copy(f->ops[a].domain),
						   isl_set_copy(f->ops[b].domain));

	for (uint32_t i = 0; i < r->l->before; i++)
		m = isl_map_intersect(m, isl_pw_aff_eq_map(relation_entry(f, &f->ops[a], 0, i),
							   relation_entry(f, &f->ops[b], 0, i)));
	return m;
}

/* Adds to a relation: event `to` comes after `from`. Takes m; NULL: never. */
static void add(const struct graph *r, isl_union_map **relation, isl_map *m, uint32_t from,
		bool from_end, uint32_t to, bool to_end)
{
	if (!m || !levels_cover(r->f, r->l, from) || !levels_cover(r->f, r->l, to)) {
		isl_map_free(m);
		return;
	}
	m = isl_map_intersect(m, equal_before(r, from, to));
	m = isl_map_set_tuple_id(m, isl_dim_in, event_name(r, from, from_end));
	m = isl_map_set_tuple_id(m, isl_dim_out, event_name(r, to, to_end));
	*relation = isl_union_map_add_map(*relation, m);
}

static void add_waits(struct graph *r, const struct pairs *p)
{
	struct forms *f = r->f;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct pair *a = &p->v[i];
		add(r, &r->waits, isl_map_copy(a->map), a->send, false, a->recv, true);
		if (f->rendezvous)
			add(r, &r->waits, isl_map_reverse(isl_map_copy(a->map)), a->recv, false,
			    a->send, true);
		for (uint32_t k = 0; k < f->nops && !f->rendezvous; k++)
			if (f->ops[k].stmt->kind == S_SEND)
				add(r, &r->waits, order_frees(f, a, &f->ops[k]), a->recv, false, k,
				    true);
	}
}

static void add_own(struct graph *r)
{
	struct forms *f = r->f;

	for (uint32_t a = 0; a < f->nops; a++) {
		if (!levels_cover(f, r->l, a))
			continue;
		add(r, &r->own, isl_set_identity(isl_set_copy(f->ops[a].domain)), a, false, a,
		    true);
		for (uint32_t b = 0; b < f->nops; b++)
			if (levels_cover(f, r->l, b))
				add(r, &r->own, order_own(f, &f->ops[a], &f->ops[b], r->l->before),
				    a, true, b, false);
	}
}

/* ---- the scheduler ------------------------------------------------------------------------------ */

struct split {
	const struct graph *r;
	isl_union_map *to; /* event -> point of the scheduler */
	uint32_t op, n;	   /* the operation at hand; names so far */
	bool end;
};

/* Adds a convex piece of an operation's events. Entries before the level are equal, so the scheduler does
 * not see them. */
static isl_stat add_piece(isl_basic_set *b, void *arg)
{
	struct split *s = arg;
	const struct form *o = &s->r->f->ops[s->op];
	isl_map *m = isl_set_identity(isl_set_from_basic_set(b));

	for (uint32_t i = 0; i < s->r->l->before && i < o->nplace; i++)
		if (o->place[i].trip) {
			m = isl_map_eliminate(m, isl_dim_out, o->place[i].value, 1);
			m = isl_map_fix_si(m, isl_dim_out, o->place[i].value, 0);
		}
	m = isl_map_set_tuple_id(m, isl_dim_in, event_name(s->r, s->op, s->end));
	m = isl_map_set_tuple_id(m, isl_dim_out, relation_name(s->r->f, 'p', s->n++));
	s->to = isl_union_map_add_map(s->to, m);
	return isl_stat_ok;
}

static isl_stat add_parts(isl_map *m, void *arg)
{
	*(int *)arg += (int)isl_map_n_basic_map(m);
	isl_map_free(m);
	return isl_stat_ok;
}

/* event -> time. The scheduler finds one affine time for all points of a name, so each convex piece of an
 * operation's points has a name: those of `rank != R` have two. NULL: isl finds none, or it would take
 * long, as its simplex steps are not among those that are counted. */
static isl_union_map *times_make(const struct graph *r)
{
	struct split s = { .r = r, .to = isl_union_map_empty(isl_union_map_get_space(r->own)) };
	isl_union_map *order =
		isl_union_map_union(isl_union_map_copy(r->own), isl_union_map_copy(r->waits));
	int parts = 0;

	for (s.op = 0; s.op < r->f->nops; s.op++) {
		if (!levels_cover(r->f, r->l, s.op))
			continue;
		isl_set *points = isl_set_make_disjoint(
			isl_set_coalesce(isl_set_copy(r->f->ops[s.op].domain)));
		for (int end = 0; end < 2; end++) {
			s.end = end;
			isl_set_foreach_basic_set(points, add_piece, &s);
		}
		isl_set_free(points);
	}
	order = isl_union_map_apply_domain(order, isl_union_map_copy(s.to));
	order = isl_union_map_coalesce(isl_union_map_apply_range(order, isl_union_map_copy(s.to)));
	isl_union_map_foreach_map(order, add_parts, &parts);
	if (parts > MOST_PARTS) {
		forms_fail(r->f, NOWHERE, "the order of its waits has too many parts");
		isl_union_map_free(order);
		isl_union_map_free(s.to);
		return NULL;
	}
	isl_schedule *found =
		isl_schedule_constraints_compute_schedule(isl_schedule_constraints_set_validity(
			isl_schedule_constraints_on_domain(
				isl_union_map_range(isl_union_map_copy(s.to))),
			order));
	isl_union_map *times = isl_union_map_apply_range(s.to, isl_schedule_get_map(found));
	isl_schedule_free(found);
	return times;
}

/* ---- times as levels ---------------------------------------------------------------------------- */

/* The times of a segment's events. */
struct times {
	struct forms *f;
	isl_pw_multi_aff **of; /* [2 * nops]; NULL: not of the segment */
	uint32_t dims;
};

/* The values of a dimension, which is constant on each piece of an event. */
struct values {
	bool constant;
	long least, most;
};

static isl_stat widen(isl_set *piece, isl_aff *v, void *arg)
{
	struct values *of = arg;
	isl_val *x = isl_aff_get_constant_val(v);
	long n = isl_val_get_num_si(x);

	of->constant = of->constant && isl_aff_is_cst(v) == isl_bool_true;
	of->least = n < of->least ? n : of->least;
	of->most = n > of->most ? n : of->most;
	isl_val_free(x);
	isl_aff_free(v);
	isl_set_free(piece);
	return isl_stat_ok;
}

/* The number of values that a dimension takes, if it is constant on each piece; else 0. */
static int64_t values_of(const struct times *t, uint32_t dim)
{
	struct values of = { .constant = true, .least = LONG_MAX, .most = LONG_MIN };

	for (uint32_t k = 0; k < 2 * t->f->nops; k++)
		if (t->of[k]) {
			isl_pw_aff *v = isl_pw_multi_aff_get_pw_aff(t->of[k], (int)dim);
			isl_pw_aff_foreach_piece(v, widen, &of);
			isl_pw_aff_free(v);
		}
	return of.constant ? of.most - of.least + 1 : 0;
}

/* The number of outer dimensions that an affine level can hold: up to a second one that varies. */
static uint32_t dims_of_level(const struct times *t, const int64_t *values)
{
	uint32_t n = 0;

	for (bool varies = false; n < t->dims && (values[n] || !varies); n++)
		varies |= !values[n];
	return n;
}

/* Folds the outer dimensions into levels: dimension * (the range of the inner ones) + the inner ones. A range
 * is a number, or a number times N. The text decides in place of dimensions that are left out. */
static void fold(const struct times *t, isl_pw_aff **levels)
{
	struct forms *f = t->f;
	int64_t *values = ARENA_ARRAY(f->arena, int64_t, t->dims + 1), range = 1;
	bool wide = false; /* range is times N */

	for (uint32_t i = 0; i < t->dims; i++)
		values[i] = values_of(t, i);
	for (uint32_t i = dims_of_level(t, values); i-- > 0 && range <= MOST_RANGE;) {
		for (uint32_t k = 0; k < 2 * f->nops && values[i] != 1; k++) {
			if (!t->of[k])
				continue;
			isl_pw_aff *v = isl_pw_multi_aff_get_pw_aff(t->of[k], (int)i);
			isl_pw_aff *by = wide ? forms_param(f, 0) : forms_constant(f, 1);
			v = isl_pw_aff_mul(
				v, isl_pw_aff_scale_val(by, isl_val_int_from_si(f->isl, range)));
			levels[k] = levels[k] ? isl_pw_aff_add(levels[k], v) : v;
		}
		range *= values[i] ? values[i] : WIDE;
		wide = wide || !values[i];
	}
}

/* Makes levels of times. NULL: isl failed. */
static isl_pw_aff **levels_make(const struct graph *r, isl_union_map *times)
{
	struct forms *f = r->f;
	isl_pw_aff **levels = ARENA_ARRAY(f->arena, isl_pw_aff *, 2 * (size_t)f->nops);
	struct times t = { .f = f };
	bool ok = true;

	t.of = ARENA_ARRAY(f->arena, isl_pw_multi_aff *, 2 * (size_t)f->nops);
	for (uint32_t k = 0; k < 2 * f->nops && ok; k++) {
		if (!levels_cover(f, r->l, k / 2))
			continue;
		isl_set *event = isl_set_set_tuple_id(isl_set_copy(f->ops[k / 2].domain),
						      event_name(r, k / 2, k % 2));
		isl_map *m = isl_map_from_union_map(isl_union_map_intersect_domain(
			isl_union_map_copy(times), isl_union_set_from_set(event)));
		t.of[k] = isl_pw_multi_aff_from_map(isl_map_reset_tuple_id(m, isl_dim_in));
		ok = t.of[k] != NULL;
		t.dims = ok ? (uint32_t)isl_pw_multi_aff_dim(t.of[k], isl_dim_out) : 0;
	}
	if (ok)
		fold(&t, levels);
	for (uint32_t k = 0; k < 2 * f->nops; k++)
		isl_pw_multi_aff_free(t.of[k]);
	return ok ? levels : NULL;
}

/* Whether levels do not fall along each rank's own order. */
static bool own_order_holds(const struct graph *r, isl_pw_aff *const *levels)
{
	struct forms *f = r->f;
	isl_union_map *level = isl_union_map_empty(isl_union_map_get_space(r->own));

	for (uint32_t k = 0; k < 2 * f->nops; k++)
		if (levels[k]) {
			isl_map *m = isl_map_from_pw_aff(isl_pw_aff_copy(levels[k]));
			m = isl_map_set_tuple_id(m, isl_dim_in, event_name(r, k / 2, k % 2));
			level = isl_union_map_add_map(level, m);
		}
	isl_union_map *steps =
		isl_union_map_apply_domain(isl_union_map_copy(r->own), isl_union_map_copy(level));
	isl_map *m = isl_map_from_union_map(isl_union_map_apply_range(steps, level));
	isl_map *falls = isl_map_intersect(isl_map_lex_gt(isl_space_range(isl_map_get_space(m))),
					   isl_map_copy(m));
	bool ok = isl_map_is_empty(falls) == isl_bool_true;
	isl_map_free(falls);
	isl_map_free(m);
	return ok;
}

/* Whether each event has a level. */
static bool levels_known(const struct graph *r, isl_pw_aff *const *levels)
{
	bool ok = true;

	for (uint32_t k = 0; k < 2 * r->f->nops && ok; k++)
		if (levels_cover(r->f, r->l, k / 2)) {
			isl_set *known = isl_pw_aff_domain(isl_pw_aff_copy(levels[k]));
			ok = isl_set_is_subset(r->f->ops[k / 2].domain, known) == isl_bool_true;
			isl_set_free(known);
		}
	return ok;
}

/* Tries levels before the entry l->before. */
static bool grows_at(struct forms *f, const struct pairs *p, struct levels *l, waits_grow *grow)
{
	isl_space *params = isl_space_params(isl_space_copy(f->space));
	struct graph r = { .f = f,
			   .l = l,
			   .own = isl_union_map_empty(isl_space_copy(params)),
			   .waits = isl_union_map_empty(params) };

	add_own(&r);
	add_waits(&r, p);
	isl_union_map *times = times_make(&r);
	l->of = times ? levels_make(&r, times) : NULL;
	bool ok = l->of && levels_known(&r, l->of) && own_order_holds(&r, l->of) && grow(f, p, l);
	for (uint32_t k = 0; k < 2 * f->nops && l->of && !ok; k++)
		isl_pw_aff_free(l->of[k]);
	if (!ok)
		l->of = NULL;
	isl_union_map_free(times);
	isl_union_map_free(r.own);
	isl_union_map_free(r.waits);
	return ok;
}

bool levels_grow(struct forms *f, const struct pairs *p, struct levels *l, waits_grow *grow)
{
	uint32_t dims = relation_time_dims(f);

	if (dims > PLACES)
		return false;
	for (l->before = l->at != NONE && l->at == l->last; l->before < dims; l->before++)
		if (grows_at(f, p, l, grow)) {
			f->why = NULL;
			return true;
		}
	return false;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
