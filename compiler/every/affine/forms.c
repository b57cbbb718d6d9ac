/*
 * A schedule's text -> forms of its operations.
 *
 * The text is walked once, for all ranks, trips and N together: `walk.domain` is the set of points
 * that reach a statement. For each condition that would make a statement an error (an index outside
 * its buffer, a peer that is no rank, a pair without a link, a failed assert), the walk proves that
 * it holds at no point (ccs(5) 4-6). Calls are walked in place. O(text with its calls) set
 * operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#include <string.h>

/* ---- operations ------------------------------------------------------------------------------ */

static bool enter(struct walk *w, struct span at, struct place_entry e)
{
	if (w->nplace == PLACES)
		return walk_fail(w, at, "statements are nested too deep");
	w->place[w->nplace++] = e;
	return true;
}

/* The points where a number is one of the ranks. */
static isl_set *where_rank(struct walk *w, isl_pw_aff *p)
{
	isl_set *s = isl_pw_aff_ge_set(isl_pw_aff_copy(p), forms_constant(w->f, 0));

	return isl_set_intersect(s,
				 isl_pw_aff_lt_set(isl_pw_aff_copy(p), isl_pw_aff_copy(w->here.n)));
}

static bool peer_of(struct walk *w, const struct stmt *s, struct form *o)
{
	isl_pw_aff *p = affine(w, s->e);

	if (!p)
		return false;
	isl_set *good = isl_set_intersect(
		where_rank(w, p),
		isl_pw_aff_ne_set(isl_pw_aff_copy(p), isl_pw_aff_copy(w->here.rank)));
	isl_pw_aff *step = affine_product(w, p, w->here.stride, s->e->span);
	isl_pw_aff_free(p);
	if (!walk_always(w, good, s->e->span, "a peer may be out of range, or the rank itself") ||
	    !step) {
		isl_pw_aff_free(step);
		return false;
	}
	o->peer = isl_pw_aff_add(step, isl_pw_aff_copy(w->here.first));
	o->channel = isl_pw_aff_copy(w->channel);
	return true;
}

/* The points of an operation; dimensions that do not apply are 0. */
static isl_set *points(const struct walk *w)
{
	isl_set *s = isl_set_copy(w->domain);

	for (uint32_t i = w->depth + 1; i < w->f->dims; i++)
		s = isl_set_fix_si(isl_set_eliminate(s, isl_dim_set, i, 1), isl_dim_set, i, 0);
	return isl_set_coalesce(s);
}

static bool same_number(struct walk *w, const struct form *o)
{
	isl_set *same = isl_pw_aff_eq_set(isl_pw_aff_copy(o->x.n), isl_pw_aff_copy(o->y.n));

	return walk_always(w, same, o->stmt->span, "a copy's two sides may differ in length");
}

static bool operation(struct walk *w, const struct stmt *s)
{
	struct forms *f = w->f;
	uint32_t waves = 0;

	if (isl_set_is_empty(w->domain) == isl_bool_true)
		return true;
	ARENA_PUSH(f->arena, f->ops, f->nops, f->capops) = (struct form){ .stmt = s };
	struct form *o = &f->ops[f->nops - 1];
	o->line = source_place(f->sources, s->span.lo).line;
	o->domain = points(w);
	o->place = ARENA_ARRAY(f->arena, struct place_entry, w->nplace + 1);
	memcpy(o->place, w->place, w->nplace * sizeof(*o->place));
	o->nplace = w->nplace;
	for (uint32_t i = 0; i < w->nplace; i++)
		waves += w->place[i].wave;
	if (!waves)
		o->place[o->nplace++] = (struct place_entry){ .wave = true };
	if (!forms_chunks(w, s->x, &o->x))
		return false;
	if (s->kind <= S_REDUCE_FROM)
		return peer_of(w, s, o);
	return forms_chunks(w, s->y, &o->y) && same_number(w, o);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool list(struct walk *w, const struct stmt *s);

/* Walks a body for some of the points; `points` is taken. */
static bool within_points(struct walk *w, isl_set *some, const struct stmt *body)
{
	isl_set *all = w->domain;
	uint32_t nplace = w->nplace;

	w->domain = isl_set_coalesce(some);
	bool ok = isl_set_is_empty(w->domain) == isl_bool_true || list(w, body);
	isl_set_free(w->domain);
	w->domain = all;
	w->nplace = nplace;
	return ok;
}

/* The step of a loop, a constant. */
static bool stride(struct walk *w, const struct stmt *s, int64_t *by)
{
	*by = 1;
	if (!s->e3)
		return true;
	isl_pw_aff *v = affine(w, s->e3);
	bool ok = v && affine_number(v, w->domain, by) && *by != 0;
	isl_pw_aff_free(v);
	return ok || walk_fail(w, s->span, "a loop with a `by` that is not one number");
}

/* The points of a loop's trips; the loop variable is bound. NULL: failed. */
static isl_set *trips(struct walk *w, const struct stmt *s, struct place_entry *e)
{
	struct forms *f = w->f;
	uint32_t dim = w->depth + 1;
	int64_t by;
	isl_pw_aff *lo = affine(w, s->e), *hi = lo ? affine(w, s->e2) : NULL;

	if (!hi || !stride(w, s, &by)) {
		isl_pw_aff_free(lo);
		isl_pw_aff_free(hi);
		return NULL;
	}
	e->by = affine_number(lo, w->domain, &e->start) ? by : 0;
	isl_pw_aff *t = isl_pw_aff_scale_val(forms_dim(f, dim), isl_val_int_from_si(f->isl, by));
	isl_pw_aff *value = isl_pw_aff_add(lo, t);
	isl_set *in = by > 0 ? isl_pw_aff_lt_set(isl_pw_aff_copy(value), hi)
			     : isl_pw_aff_gt_set(isl_pw_aff_copy(value), hi);
	forms_set(f, s->var, value);
	in = isl_set_lower_bound_si(in, isl_dim_set, dim, 0);
	return isl_set_intersect(in, isl_set_copy(w->domain));
}

static bool loop(struct walk *w, const struct stmt *s)
{
	uint32_t nplace = w->nplace;
	bool par = s->kind == S_PAR_FOR;
	struct place_entry e = { .trip = true,
				 .concurrent = par || w->waved,
				 .block = par,
				 .value = w->depth + 1,
				 .loop = s };
	isl_set *in = trips(w, s, &e);

	if (!in)
		return false;
	w->depth++;
	bool ok = enter(w, s->span, e) && within_points(w, in, s->body);
	if (!ok && w->nplace == nplace)
		isl_set_free(in);
	w->depth--;
	w->nplace = nplace;
	return ok;
}

static bool branch(struct walk *w, const struct stmt *s)
{
	isl_set *yes = affine_where(w, s->e);

	if (!yes)
		return false;
	isl_set *no = isl_set_subtract(isl_set_copy(w->domain), isl_set_copy(yes));
	bool ok = within_points(w, yes, s->body);
	return within_points(w, no, ok ? s->orelse : NULL) && ok;
}

static bool step(struct walk *w, const struct stmt *s)
{
	bool waved = w->waved;
	uint32_t nplace = w->nplace;

	w->waved = true;
	bool ok = enter(w, s->span, (struct place_entry){ .wave = true }) && list(w, s->body);
	w->waved = waved;
	w->nplace = nplace;
	return ok;
}

static bool par(struct walk *w, const struct stmt *s)
{
	uint32_t nplace = w->nplace, number = 0;
	bool ok = true;

	for (const struct stmt *b = s->body; b && ok; b = b->next, number++) {
		struct place_entry e = { .concurrent = true, .block = true, .value = number };
		ok = enter(w, b->span, e) && list(w, b->body);
		w->nplace = nplace;
	}
	return ok;
}

static bool channel(struct walk *w, const struct stmt *s)
{
	isl_pw_aff *outer = w->channel, *e = affine(w, s->e);

	if (!e)
		return false;
	isl_set *good = isl_pw_aff_ge_set(isl_pw_aff_copy(e), forms_constant(w->f, 0));
	good = isl_set_intersect(
		good, isl_pw_aff_le_set(isl_pw_aff_copy(e), forms_constant(w->f, UINT32_MAX)));
	bool ok = walk_always(w, good, s->span, "a channel number may be out of range");
	w->channel = e;
	ok = ok && list(w, s->body);
	w->channel = outer;
	isl_pw_aff_free(e);
	return ok;
}

static bool holds(struct walk *w, const struct stmt *s)
{
	isl_set *good = affine_where(w, s->e);

	return good && walk_always(w, good, s->span, "an assert may fail");
}

/* Whether the ends of a link are ranks, or equal: a link from a rank to itself is ignored. */
static bool ends_are_ranks(struct walk *w, const struct stmt *s, isl_pw_aff *from, isl_pw_aff *to)
{
	isl_set *good = isl_set_intersect(where_rank(w, from), where_rank(w, to));
	isl_set *none = isl_pw_aff_eq_set(isl_pw_aff_copy(from), isl_pw_aff_copy(to));

	return walk_always(w, isl_set_union(good, none), s->span, "a link may be out of range");
}

static bool link(struct walk *w, const struct stmt *s)
{
	isl_pw_aff *from = affine(w, s->e), *to = from ? affine(w, s->e2) : NULL;

	if (!to || !ends_are_ranks(w, s, from, to)) {
		isl_pw_aff_free(from);
		isl_pw_aff_free(to);
		return false;
	}
	isl_set *d = points(w);
	isl_map *a = isl_map_from_pw_aff(isl_pw_aff_intersect_domain(from, isl_set_copy(d)));
	isl_map *b = isl_map_from_pw_aff(isl_pw_aff_intersect_domain(to, d));
	isl_set *pairs = isl_map_range(isl_map_flat_range_product(a, b));
	w->link_pairs = isl_set_union(w->link_pairs, pairs);
	return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void free_members(struct members *m)
{
	isl_pw_aff_free(m->rank);
	isl_pw_aff_free(m->n);
	isl_pw_aff_free(m->first);
	isl_pw_aff_free(m->stride);
}

/* Whether every member of a group is a rank. ccs(5) 4, within */
static bool members_are_ranks(struct walk *w, const struct stmt *s, isl_pw_aff *first,
			      isl_pw_aff *count, int64_t by)
{
	struct forms *f = w->f;
	isl_pw_aff *last = isl_pw_aff_sub(isl_pw_aff_copy(count), forms_constant(f, 1));
	isl_set *good, *none = isl_pw_aff_eq_set(isl_pw_aff_copy(count), forms_constant(f, 0));
	isl_pw_aff *ends[2] = { isl_pw_aff_copy(first), NULL };

	last = isl_pw_aff_scale_val(last, isl_val_int_from_si(f->isl, by));
	ends[1] = isl_pw_aff_add(last, isl_pw_aff_copy(first));
	good = isl_pw_aff_ge_set(isl_pw_aff_copy(count), forms_constant(f, 1));
	for (int i = 0; i < 2; i++) {
		good = isl_set_intersect(
			good, isl_pw_aff_ge_set(isl_pw_aff_copy(ends[i]), forms_constant(f, 0)));
		good = isl_set_intersect(good,
					 isl_pw_aff_lt_set(ends[i], isl_pw_aff_copy(w->here.n)));
	}
	return walk_always(w, isl_set_union(good, none), s->span,
			   "a member of a group may be out of range");
}

/* The points of the group's members, and their numbers in it. The stride is a constant, not 0. */
static isl_set *group_members(struct walk *w, isl_pw_aff *first, isl_pw_aff *count, int64_t by,
			      struct members *to)
{
	struct forms *f = w->f;
	isl_pw_aff *away = isl_pw_aff_sub(isl_pw_aff_copy(w->here.rank), isl_pw_aff_copy(first));
	isl_pw_aff *number = affine_share(away, by);
	isl_pw_aff *back =
		isl_pw_aff_scale_val(isl_pw_aff_copy(number), isl_val_int_from_si(f->isl, by));
	isl_set *in = isl_pw_aff_eq_set(back, away);

	in = isl_set_intersect(in,
			       isl_pw_aff_ge_set(isl_pw_aff_copy(number), forms_constant(f, 0)));
	in = isl_set_intersect(in,
			       isl_pw_aff_lt_set(isl_pw_aff_copy(number), isl_pw_aff_copy(count)));
	to->rank = number;
	to->n = isl_pw_aff_copy(count);
	return isl_set_intersect(in, isl_set_copy(w->domain));
}

static bool in_group(struct walk *w, const struct stmt *s, isl_pw_aff *first, isl_pw_aff *count,
		     int64_t by)
{
	struct forms *f = w->f;
	struct members outer = w->here, m = { 0 };
	bool ok = false;

	if (!members_are_ranks(w, s, first, count, by))
		return false;
	isl_pw_aff *start = affine_product(w, first, outer.stride, s->span);
	if (!start)
		return false;
	isl_set *in = group_members(w, first, count, by, &m);
	m.first = isl_pw_aff_add(start, isl_pw_aff_copy(outer.first));
	m.stride = isl_pw_aff_scale_val(isl_pw_aff_copy(outer.stride),
					isl_val_int_from_si(f->isl, by));
	w->here = m;
	ok = within_points(w, in, s->body);
	w->here = outer;
	free_members(&m);
	return ok;
}

static bool within(struct walk *w, const struct stmt *s)
{
	int64_t by = 0;

	if (!s->e2)
		return walk_fail(w, s->span, "a group given by a table");
	isl_pw_aff *first = affine(w, s->e), *count = first ? affine(w, s->e2) : NULL;
	isl_pw_aff *e3 = count ? affine(w, s->e3) : NULL;
	bool ok = e3 && affine_number(e3, w->domain, &by) && by != 0;
	if (e3 && !ok)
		walk_fail(w, s->e3->span, "a group with a stride that is not one number");
	ok = ok && in_group(w, s, first, count, by);
	isl_pw_aff_free(first);
	isl_pw_aff_free(count);
	isl_pw_aff_free(e3);
	return ok;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Binds a let. Contents are guessed as sums of those of the main text that depend on the rank alone. */
static bool let(struct walk *w, const struct stmt *s)
{
	struct forms *f = w->f;

	if (!forms_let(w, s))
		return false;
	if (s->e->kind != E_TABLE && w->depth == 0 && w->calls == 0) {
		ARENA_PUSH(f->arena, f->lets, f->nlets, f->caplets) =
			isl_pw_aff_copy(f->bound[s->var->id].value);
		ARENA_PUSH(f->arena, f->let_names, f->nnames, f->capnames) = s->var->name;
	}
	return true;
}

static bool statement(struct walk *w, const struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO: return operation(w, s);
	case S_STEP: return step(w, s);
	case S_PAR: return par(w, s);
	case S_PAR_FOR:
	case S_FOR: return loop(w, s);
	case S_CHANNEL: return channel(w, s);
	case S_IF: return branch(w, s);
	case S_WITHIN: return within(w, s);
	case S_CALL: return forms_call(w, s, list);
	case S_ASSERT: return holds(w, s);
	case S_LET: return let(w, s);
	case S_FN:
	case S_COST: return true;
	case S_SCRATCH: return forms_scratch(w, s);
	case S_BLOCK: return list(w, s->body);
	case S_LINK: return w->link_pairs ? link(w, s) : switches_link(w, s);
	case S_SWITCH: return switches_made(w, s);
	}
	return false;
}

static bool list(struct walk *w, const struct stmt *s)
{
	uint32_t at = 0, nplace = w->nplace;

	for (; s; s = s->next, at++) {
		struct place_entry e = { .concurrent = w->waved, .value = at };
		if (!enter(w, s->span, e) || !statement(w, s))
			return false;
		w->nplace = nplace;
	}
	return true;
}

bool forms_walk(struct walk *w, const struct stmt *body)
{
	return list(w, body);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
