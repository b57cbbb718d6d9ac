/*
 * Pairs the sends and receives of every FIFO, for every N.
 *
 * In: forms. Out: the relation of ccs(5) 6, Matching: one to one between the sends and the receives
 * of every FIFO, and in their order. Exactly one relation has these properties. So a candidate is
 * guessed from small N, pairs of operations with trips that differ by constants (in a ring: by 0),
 * and then proved to have them. O(messages of small N), and O(pairs^2) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <isl/constraint.h>

#include <stdlib.h>
#include <string.h>

bool order_is_message(const struct form *o)
{
	return o->stmt->kind <= S_REDUCE_FROM;
}

static bool is_send(const struct form *o)
{
	return o->stmt->kind == S_SEND;
}

static bool fail(struct forms *f, const struct form *o, const char *why)
{
	forms_fail(f, o->stmt->span, "%s", why);
	return false;
}

/* ---- FIFOs ----------------------------------------------------------------------------------- */

/* The name of an operation's FIFO without its two ranks: blocks of pars, then the channel. */
static isl_map *fifo_name(struct forms *f, const struct form *o)
{
	isl_map *m = isl_map_from_pw_aff(isl_pw_aff_copy(o->channel));

	for (uint32_t i = 0; i < o->nplace; i++) {
		const struct place_entry *e = &o->place[i];
		if (e->block)
			m = isl_map_flat_range_product(
				m, isl_map_from_pw_aff(e->trip ? forms_dim(f, e->value)
							       : forms_constant(f, e->value)));
	}
	return isl_map_intersect_domain(m, isl_set_copy(o->domain));
}

/* a -> b where both are mapped to the same; NULL: never (they have different dimensions). Takes
 * both. */
static isl_map *same(isl_map *a, isl_map *b)
{
	if (isl_map_dim(a, isl_dim_out) != isl_map_dim(b, isl_dim_out)) {
		isl_map_free(a);
		isl_map_free(b);
		return NULL;
	}
	return isl_map_apply_range(a, isl_map_reverse(b));
}

/* The full name of the FIFO: sender, receiver, and the name above. */
static isl_map *ends(struct forms *f, const struct form *o, bool sender_first)
{
	isl_map *own = isl_map_from_pw_aff(forms_dim(f, 0));
	isl_map *peer = isl_map_from_pw_aff(isl_pw_aff_copy(o->peer));
	isl_map *m = sender_first == is_send(o) ? isl_map_flat_range_product(own, peer)
						: isl_map_flat_range_product(peer, own);

	return isl_map_flat_range_product(m, fifo_name(f, o));
}

/* a -> b on one FIFO; or NULL. */
static isl_map *one_fifo(struct forms *f, const struct form *a, const struct form *b)
{
	return same(ends(f, a, true), ends(f, b, true));
}

/* ---- guessing: the messages of a small N ----------------------------------------------------- */

/* An event: operation, its point, its FIFO, its time. */
struct event {
	uint32_t op, nfifo, ntime;
	int64_t point[16], fifo[16], time[PLACES];
};

struct events {
	struct forms *f;
	uint32_t op;
	struct event *v;
	uint32_t n, cap;
};

static void add_event(const int64_t *v, uint32_t n, void *arg)
{
	struct events *to = arg;
	uint32_t dims = to->f->dims, ntime = relation_time_dims(to->f), i = 0;
	struct event e = { .op = to->op, .ntime = ntime, .nfifo = n - dims - ntime };

	if (dims > 16 || e.nfifo > 16)
		return;
	for (; i < n; i++)
		if (i < dims)
			e.point[i] = v[i];
		else if (i < dims + e.nfifo)
			e.fifo[i - dims] = v[i];
		else
			e.time[i - dims - e.nfifo] = v[i];
	ARENA_PUSH(to->f->arena, to->v, to->n, to->cap) = e;
}

static int by_fifo(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	if (a->nfifo != b->nfifo)
		return a->nfifo < b->nfifo ? -1 : 1;
	for (uint32_t i = 0; i < a->nfifo; i++)
		if (a->fifo[i] != b->fifo[i])
			return a->fifo[i] < b->fifo[i] ? -1 : 1;
	for (uint32_t i = 0; i < a->ntime; i++)
		if (a->time[i] != b->time[i])
			return a->time[i] < b->time[i] ? -1 : 1;
	return 0;
}

static struct events events_of(struct forms *f, bool sends, int64_t nranks, int64_t root)
{
	struct events e = { .f = f };

	for (uint32_t i = 0; i < f->nops; i++) {
		const struct form *o = &f->ops[i];
		if (!order_is_message(o) || is_send(o) != sends)
			continue;
		isl_map *m = isl_map_flat_range_product(ends(f, o, true),
							relation_time(f, o, 0, NULL, 0));
		e.op = i;
		each_point(f, m, nranks, root, add_event, &e);
		isl_map_free(m);
	}
	if (e.n)
		qsort(e.v, e.n, sizeof(*e.v), by_fifo);
	return e;
}

/* A send and a receive that meet, and the difference of their trips. */
struct shift {
	uint32_t send, recv;
	int64_t by[16];
};

struct shifts {
	struct shift *v;
	uint32_t n, cap;
};

#define SHIFTS 64u

static void add_shift(struct forms *f, struct shifts *to, const struct event *s,
		      const struct event *r)
{
	struct shift x = { .send = s->op, .recv = r->op };

	for (uint32_t i = 1; i < f->dims; i++)
		x.by[i] = r->point[i] - s->point[i];
	for (uint32_t i = 0; i < to->n; i++)
		if (!memcmp(&to->v[i], &x, sizeof(x)))
			return;
	ARENA_PUSH(f->arena, to->v, to->n, to->cap) = x;
}

/* Finds the operations that meet at some N; false: some message is not paired. */
static bool shifts_at(struct forms *f, int64_t nranks, int64_t root, struct shifts *to)
{
	struct events s = events_of(f, true, nranks, root), r = events_of(f, false, nranks, root);

	if (s.n != r.n)
		return false;
	for (uint32_t i = 0; i < s.n; i++) {
		if (s.v[i].nfifo != r.v[i].nfifo ||
		    memcmp(s.v[i].fifo, r.v[i].fifo, sizeof(*s.v[i].fifo) * s.v[i].nfifo) != 0)
			return false;
		add_shift(f, to, &s.v[i], &r.v[i]);
		if (to->n > SHIFTS)
			return false;
	}
	return true;
}

/* ---- the proof of the relation --------------------------------------------------------------- */

/* Whether no FIFO has more than one message of the two operations. */
static bool alone(isl_map *m)
{
	return isl_map_is_single_valued(m) == isl_bool_true &&
	       isl_map_is_injective(m) == isl_bool_true;
}

/* `loose`: also pairs messages in different trips, if each is alone in its FIFO. */
static void add_pair(struct forms *f, struct pairs *to, const struct shift *x, bool loose)
{
	isl_map *m = one_fifo(f, &f->ops[x->send], &f->ops[x->recv]);

	loose = loose && m && alone(m);
	for (uint32_t i = 1; i < f->dims && m && !loose; i++) {
		isl_constraint *c = isl_constraint_alloc_equality(
			isl_local_space_from_space(isl_map_get_space(m)));
		c = isl_constraint_set_coefficient_si(c, isl_dim_in, (int)i, 1);
		c = isl_constraint_set_coefficient_si(c, isl_dim_out, (int)i, -1);
		c = isl_constraint_set_constant_si(c, (int)x->by[i]);
		m = isl_map_add_constraint(m, c);
	}
	for (uint32_t i = 0; i < to->n && m; i++)
		if (to->v[i].send == x->send && to->v[i].recv == x->recv) {
			to->v[i].map = isl_map_union(to->v[i].map, m);
			return;
		}
	if (m)
		ARENA_PUSH(f->arena, to->v, to->n, to->cap) = (struct pair){ x->send, x->recv, m };
}

/* Whether each event of one side is in exactly one pair. */
static bool each_once(struct forms *f, const struct pairs *p, uint32_t op, bool sends)
{
	isl_set *rest = isl_set_copy(f->ops[op].domain);
	bool ok = true;

	for (uint32_t i = 0; i < p->n && ok; i++) {
		if ((sends ? p->v[i].send : p->v[i].recv) != op)
			continue;
		isl_map *m = isl_map_copy(p->v[i].map);
		m = sends ? m : isl_map_reverse(m);
		ok = isl_map_is_single_valued(m) == isl_bool_true;
		isl_set *d = isl_map_domain(m);
		ok = ok && isl_set_is_subset(d, rest) == isl_bool_true;
		rest = isl_set_subtract(rest, d);
	}
	ok = ok && isl_set_is_empty(rest) == isl_bool_true;
	isl_set_free(rest);
	return ok;
}

/* s -> s', sends of one FIFO, the first before the second in the text. */
static isl_map *earlier(struct forms *f, const struct form *a, const struct form *b)
{
	isl_map *m = one_fifo(f, a, b);

	if (!m)
		return NULL;
	isl_map *t = relation_time(f, a, 0, NULL, 0), *u = relation_time(f, b, 0, NULL, 0);
	return isl_map_coalesce(isl_map_intersect(m, isl_map_lex_lt_map(t, u)));
}

bool order_grows(isl_map *m, isl_map *from, isl_map *to)
{
	isl_map *t = isl_map_apply_range(isl_map_apply_domain(m, from), to);

	t = isl_map_intersect(t, relation_not_before(t));
	bool ok = isl_map_is_empty(t) == isl_bool_true;
	isl_map_free(t);
	return ok;
}

isl_map *order_frees(struct forms *f, const struct pair *p, const struct form *later)
{
	isl_map *m = earlier(f, &f->ops[p->send], later);

	return m ? isl_map_apply_range(isl_map_reverse(isl_map_copy(p->map)), m) : NULL;
}

static bool keeps_order(struct forms *f, const struct pairs *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t j = 0; j < p->n; j++) {
			const struct form *r = &f->ops[p->v[i].recv], *q = &f->ops[p->v[j].recv];
			isl_map *m = order_frees(f, &p->v[i], &f->ops[p->v[j].send]);
			if (!m)
				continue;
			m = isl_map_apply_range(m, isl_map_copy(p->v[j].map));
			if (!order_grows(m, relation_time(f, r, 0, NULL, 0),
					 relation_time(f, q, 0, NULL, 0)))
				return fail(f, r, "messages may be received out of order");
		}
	return true;
}

static bool same_length(struct forms *f, const struct pair *p)
{
	const struct form *s = &f->ops[p->send], *r = &f->ops[p->recv];
	isl_map *n = isl_map_from_pw_aff(isl_pw_aff_copy(s->x.n));
	isl_map *m = isl_map_from_pw_aff(isl_pw_aff_copy(r->x.n));

	n = isl_map_intersect_domain(n, isl_set_copy(s->domain));
	m = isl_map_intersect_domain(m, isl_set_copy(r->domain));
	isl_map *agree = same(n, m);
	bool ok = isl_map_is_subset(p->map, agree) == isl_bool_true;
	isl_map_free(agree);
	return ok || fail(f, s, "the ends of a message may differ in length");
}

static bool links_hold(struct forms *f, const struct form *o)
{
	if (!f->links || !is_send(o))
		return true;
	isl_map *m = isl_map_flat_range_product(isl_map_from_pw_aff(forms_dim(f, 0)),
						isl_map_from_pw_aff(isl_pw_aff_copy(o->peer)));
	isl_set *used = isl_map_range(isl_map_intersect_domain(m, isl_set_copy(o->domain)));
	bool ok = isl_set_is_subset(used, f->links) == isl_bool_true;
	isl_set_free(used);
	return ok || fail(f, o, "a message may go where there is no link");
}

static bool all_once(struct forms *f, const struct pairs *p)
{
	for (uint32_t i = 0; i < f->nops; i++)
		if (order_is_message(&f->ops[i]) && !each_once(f, p, i, is_send(&f->ops[i])))
			return fail(f, &f->ops[i], "its messages follow no simple pattern");
	return true;
}

static void free_pairs(struct pairs *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		isl_map_free(p->v[i].map);
	p->n = 0;
}

static bool pairs_hold(struct forms *f, const struct pairs *p)
{
	f->why = NULL; /* the reason why the first candidate failed */
	for (uint32_t i = 0; i < f->nops; i++)
		if (order_is_message(&f->ops[i]) && !links_hold(f, &f->ops[i]))
			return false;
	for (uint32_t i = 0; i < p->n; i++)
		if (!same_length(f, &p->v[i]))
			return false;
	return keeps_order(f, p);
}

bool order_match(struct forms *f, struct pairs *to)
{
	struct shifts s = { 0 };

	uint32_t small[4], n = forms_small(f, small, 4, 3, 24);

	for (uint32_t i = 0; i < n; i++)
		for (int64_t root = 0; root < (f->root ? 2 : 1); root++)
			if (!shifts_at(f, small[i], root, &s)) {
				forms_fail(f, NOWHERE, "its messages follow no simple pattern");
				return false;
			}
	for (int loose = 0; loose < 2; loose++) {
		for (uint32_t i = 0; i < s.n; i++)
			add_pair(f, to, &s.v[i], loose);
		if (all_once(f, to))
			return pairs_hold(f, to);
		free_pairs(to);
	}
	return false;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
