/*
 * Levels: an order of waits for texts in which ranks do different things.
 *
 * In: a segment in which no one clock makes time grow along all waits (progress.c). Out: for the start
 * and the end of each message a level, a function of the rank, the trips, N and the root, which is
 * inserted before some entry of its place. Time grows along a wait if the level does.
 *
 *     if rank == 0 { for q in 1..N { recv t from q }  for q in 1..N { send t to q } }
 *     else         { send t to 0  recv t from 0 }
 *
 * has the levels 1, 1, 0 and 2: rank 0's statements are first in the text, but not in time.
 *
 * Levels are guessed from small N: the longest chain of waits that leads to an event (the earliest
 * schedule of Karp, Miller and Winograd, JACM 1967), fitted by sums of few terms (guess.c). Then it is
 * proved that they grow along all waits, and along each rank's own order. Only events with equal entries
 * before the level are compared, so the level may count from 0 in each trip of a loop around it.
 * O(entries * (events of small N)^2), and O(entries * messages^2) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <stdlib.h>
#include <string.h>

#define SIZES 3	      /* number of small N */
#define MOST_RANKS 12 /* the largest of them */
#define MOST_POINT 12u
#define MOST_TERMS 4u /* of a level */
#define MOST_EVENTS 2000u
#define MOST_EDGES (1u << 20)

/* A message's operation at a point, at one N. */
struct event {
	uint32_t op;
	int64_t point[MOST_POINT], time[PLACES];
	int64_t level[2]; /* of its start, of its end */
	uint32_t message; /* the place of its message's send in `run.v` */
};

/* Event `to` comes after `from`. Numbers: 2 * event + (0: start, 1: end). */
struct edge {
	uint32_t from, to;
	bool wait; /* else it is the rank's own order */
};

/* How levels are counted. They are not always a simple sum; in one of these ways they mostly are. */
struct count {
	bool together; /* the two ends of a message have one level, as if no send were buffered; then a start
			  has twice this level, an end 1 more */
	bool strict;   /* a rank's next operation has a higher level, not only no lower one */
	bool separate; /* the start and the end of an operation have two levels */
};

static const struct count counts[] = { { .together = true, .strict = true },
				       { 0 },
				       { .strict = true, .separate = true },
				       { .strict = true },
				       { .separate = true } };

/* The events of a segment at one N and root. */
struct graph {
	struct forms *f;
	int64_t nranks, root;
	uint32_t before; /* the entry before which levels stand */
	uint32_t op;	 /* while events are collected */
	struct event *v;
	uint32_t n, cap;
	struct edge *edges;
	uint32_t nedges, capedges;
	uint32_t from_op, to_op; /* while waits are collected: operations, */
	int from_end, to_end;	 /* ... start or end */
	bool ok;
};

static bool in_segment(const struct forms *f, const struct clock *g, uint32_t op)
{
	uint32_t at = f->ops[op].place[0].value;

	return order_is_message(&f->ops[op]) && (g->at == NONE || (at >= g->at && at <= g->last));
}

/* ---- events and edges at one N ----------------------------------------------------------------- */

static void add_event(const int64_t *v, uint32_t n, void *arg)
{
	struct graph *r = arg;
	uint32_t dims = r->f->dims;
	struct event e = { .op = r->op };

	memcpy(e.point, v, dims * sizeof(*v));
	memcpy(e.time, v + dims, (n - dims) * sizeof(*v));
	ARENA_PUSH(r->f->arena, r->v, r->n, r->cap) = e;
}

static int by_point(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	for (uint32_t i = 0; i < MOST_POINT; i++)
		if (a->point[i] != b->point[i])
			return a->point[i] < b->point[i] ? -1 : 1;
	return 0;
}

static struct event *find(const struct graph *r, uint32_t op, const int64_t *point)
{
	struct event key = { .op = op };

	memcpy(key.point, point, r->f->dims * sizeof(*point));
	return bsearch(&key, r->v, r->n, sizeof(*r->v), by_point);
}

static void add_edge(struct graph *r, uint32_t from, uint32_t to, bool wait)
{
	if (r->nedges == MOST_EDGES)
		r->ok = false;
	else
		ARENA_PUSH(r->f->arena, r->edges, r->nedges, r->capedges) =
			(struct edge){ from, to, wait };
}

/* The first entry in which two times differ; `most`: none before it. */
static uint32_t difference(const struct event *a, const struct event *b, uint32_t most)
{
	uint32_t i = 0;

	while (i < most && a->time[i] == b->time[i])
		i++;
	return i;
}

/* A wait: levels grow along it, unless an entry before them does. */
static void add_wait(const int64_t *v, uint32_t n, void *arg)
{
	struct graph *r = arg;
	const struct event *a = find(r, r->from_op, v);
	struct event *b = find(r, r->to_op, v + r->f->dims);
	uint32_t i;

	(void)n;
	if (!a || !b) {
		r->ok = false;
		return;
	}
	if (r->from_end == 0 && r->to_end == 1 && r->f->ops[a->op].stmt->kind == S_SEND)
		b->message = (uint32_t)(a - r->v);
	i = difference(a, b, r->before);
	if (i < r->before)
		r->ok &= a->time[i] < b->time[i];
	else
		add_edge(r, (uint32_t)(2 * (a - r->v) + r->from_end),
			 (uint32_t)(2 * (b - r->v) + r->to_end), true);
}

/* Takes m. */
static void add_waits(struct graph *r, isl_map *m, uint32_t from, int from_end, uint32_t to,
		      int to_end)
{
	r->from_op = from;
	r->from_end = from_end;
	r->to_op = to;
	r->to_end = to_end;
	if (m && r->ok)
		each_point(r->f, m, r->nranks, r->root, add_wait, r);
	isl_map_free(m);
}

/* Each rank's own order, among events with equal entries before the level. */
static void add_own(struct graph *r)
{
	uint32_t dims = relation_time_dims(r->f);

	for (uint32_t x = 0; x < r->n && r->ok; x++) {
		const struct event *a = &r->v[x];

		add_edge(r, 2 * x, 2 * x + 1, false);
		for (uint32_t y = 0; y < r->n; y++) {
			const struct event *b = &r->v[y];
			uint32_t i = a->point[0] == b->point[0] ? difference(a, b, dims) : 0;

			if (a->point[0] == b->point[0] && i >= r->before && i < dims &&
			    a->time[i] < b->time[i] &&
			    order_at(&r->f->ops[a->op], &r->f->ops[b->op], i))
				add_edge(r, 2 * x + 1, 2 * y, false);
		}
	}
}

/* The level of an event, which several events may share. */
static int64_t *level_of(struct graph *r, const struct count *c, uint32_t event)
{
	struct event *e = &r->v[event / 2];

	if (c->together)
		return &r->v[e->message].level[0];
	return &e->level[c->separate && event % 2];
}

/* The longest chain to each event. False: there is a circle. */
static bool find_levels(struct graph *r, const struct count *c)
{
	bool more = true;

	for (uint32_t i = 0; i < r->n; i++)
		r->v[i].level[0] = r->v[i].level[1] = 0;
	for (uint32_t turn = 0; more; turn++) {
		if (turn > 2 * r->n)
			return false;
		more = false;
		for (uint32_t i = 0; i < r->nedges; i++) {
			const struct edge *e = &r->edges[i];
			int64_t *from = level_of(r, c, e->from), *to = level_of(r, c, e->to);
			int64_t least = *from + (e->wait || c->strict);

			/* together, a wait for a slot is in the sender's own order too */
			if (from != to && *to < least && !(c->together && e->wait)) {
				*to = least;
				more = true;
			}
		}
	}
	for (uint32_t i = 0; i < r->n && c->together; i++)
		r->v[i].level[0] = *level_of(r, c, 2 * i);
	return true;
}

static bool graph_make(struct graph *r, const struct pairs *p, const struct clock *g)
{
	struct forms *f = r->f;

	r->before = g->before;
	r->ok = true;
	for (uint32_t k = 0; k < f->nops; k++) {
		if (!in_segment(f, g, k))
			continue;
		isl_map *m = relation_time(f, &f->ops[k], 0, NULL, 0);
		r->op = k;
		each_point(f, m, r->nranks, r->root, add_event, r);
		isl_map_free(m);
	}
	if (r->n == 0 || r->n > MOST_EVENTS)
		return false;
	qsort(r->v, r->n, sizeof(*r->v), by_point);
	for (uint32_t i = 0; i < r->n; i++)
		r->v[i].message = i;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pair *a = &p->v[i];
		if (!in_segment(f, g, a->recv))
			continue;
		if (in_segment(f, g, a->send)) {
			add_waits(r, isl_map_copy(a->map), a->send, 0, a->recv, 1);
			if (f->rendezvous)
				add_waits(r, isl_map_reverse(isl_map_copy(a->map)), a->recv, 0,
					  a->send, 1);
		}
		for (uint32_t k = 0; k < f->nops && !f->rendezvous; k++)
			if (f->ops[k].stmt->kind == S_SEND && in_segment(f, g, k))
				add_waits(r, order_frees(f, a, &f->ops[k]), a->recv, 0, k, 1);
	}
	add_own(r);
	return r->ok;
}

/* ---- fits and their proof ---------------------------------------------------------------------- */

/* The level of an operation's start or end; NULL: no simple sum fits. */
static isl_pw_aff *fit_level(struct forms *f, const struct graph *graphs, uint32_t ngraphs,
			     uint32_t op, bool end, const struct count *c)
{
	struct samples s = { .f = f, .steep = true };
	const struct form *o = &f->ops[op];
	struct walk w = forms_begin(f);
	struct term_sum u;
	isl_pw_aff *level = NULL;

	isl_set_free(w.domain);
	w.domain = isl_set_copy(o->domain);
	fit_term(&s, forms_dim(f, 0), "rank", 0);
	if (f->root)
		fit_term(&s, forms_param(f, 1), "root", 0);
	for (uint32_t i = 0; i < o->nplace && s.nterms < MOST_TERMS; i++)
		if (o->place[i].trip)
			fit_term(&s, forms_dim(f, o->place[i].value), "trip", 0);
	for (uint32_t i = 0; i < ngraphs; i++)
		for (uint32_t k = 0; k < graphs[i].n; k++) {
			const struct event *e = &graphs[i].v[k];
			struct sample x = { .nranks = graphs[i].nranks,
					    .index = e->level[c->separate && end] };
			uint32_t n = 0;

			if (e->op != op)
				continue;
			x.term[n++] = e->point[0];
			if (f->root)
				x.term[n++] = graphs[i].root;
			for (uint32_t j = 0; j < o->nplace && n < s.nterms; j++)
				if (o->place[j].trip)
					x.term[n++] = e->point[o->place[j].value];
			ARENA_PUSH(f->arena, s.v, s.n, s.cap) = x;
		}
	if (s.n && (fit(&s, &u, WHAT_INDEX, false) || fit(&s, &u, WHAT_INDEX, true)))
		level = fit_value(&w, &s, &u);
	if (level && c->together) {
		level = isl_pw_aff_scale_val(level, isl_val_int_from_si(f->isl, 2));
		level = isl_pw_aff_add(level, isl_pw_aff_intersect_domain(forms_constant(f, end),
									  isl_set_copy(o->domain)));
	}
	for (uint32_t t = 0; t < s.nterms; t++)
		isl_pw_aff_free(s.terms[t]);
	forms_end(&w);
	return level;
}

/* Whether levels do not fall along each rank's own order. */
static bool own_order_holds(struct forms *f, const struct clock *g)
{
	bool ok = true;

	for (uint32_t a = 0; a < f->nops && ok; a++) {
		if (!in_segment(f, g, a))
			continue;
		isl_set *falls = isl_pw_aff_gt_set(isl_pw_aff_copy(g->levels[2 * a]),
						   isl_pw_aff_copy(g->levels[2 * a + 1]));
		ok = isl_set_is_empty(falls) == isl_bool_true;
		isl_set_free(falls);
		for (uint32_t b = 0; b < f->nops && ok; b++)
			if (in_segment(f, g, b)) {
				isl_map *m = order_own(f, &f->ops[a], &f->ops[b], g->before);
				m = isl_map_intersect(
					m, isl_pw_aff_gt_map(isl_pw_aff_copy(g->levels[2 * a + 1]),
							     isl_pw_aff_copy(g->levels[2 * b])));
				ok = isl_map_is_empty(m) == isl_bool_true;
				isl_map_free(m);
			}
	}
	return ok;
}

/* Tries levels that are counted in one way. */
static bool counted_grows(struct forms *f, const struct pairs *p, struct clock *g,
			  struct graph *graphs, uint32_t ngraphs, const struct count *c,
			  waits_grow *grow)
{
	bool ok = true;

	for (uint32_t i = 0; i < ngraphs && ok; i++)
		ok = find_levels(&graphs[i], c);
	if (!ok)
		return false;
	g->levels = ARENA_ARRAY(f->arena, isl_pw_aff *, 2 * (size_t)f->nops);
	for (uint32_t k = 0; k < 2 * f->nops && ok; k++)
		if (in_segment(f, g, k / 2))
			ok = (g->levels[k] = fit_level(f, graphs, ngraphs, k / 2, k % 2, c)) !=
			     NULL;
	ok = ok && own_order_holds(f, g) && grow(f, p, g);
	for (uint32_t k = 0; k < 2 * f->nops && !ok; k++)
		isl_pw_aff_free(g->levels[k]);
	if (!ok)
		g->levels = NULL;
	return ok;
}

/* Tries levels before the entry g->before. */
static bool grows_at(struct forms *f, const struct pairs *p, struct clock *g, waits_grow *grow)
{
	struct graph graphs[2 * SIZES];
	uint32_t n = 0, small[SIZES], nsmall = forms_small(f, small, SIZES, 3, MOST_RANKS);
	bool ok = nsmall > 1;

	for (uint32_t i = 0; i < nsmall && ok; i++)
		for (int64_t root = 0; root < (f->root ? 2 : 1) && ok; root++) {
			graphs[n] =
				(struct graph){ .f = f, .nranks = small[i], .root = root ? 2 : 0 };
			ok = graph_make(&graphs[n++], p, g);
		}
	if (!ok)
		return false;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (counted_grows(f, p, g, graphs, n, &counts[i], grow))
			return true;
	return false;
}

bool levels_grow(struct forms *f, const struct pairs *p, struct clock *g, waits_grow *grow)
{
	uint32_t dims = relation_time_dims(f);

	if (f->dims > MOST_POINT || dims > PLACES)
		return false;
	for (g->before = g->at != NONE && g->at == g->last; g->before < dims; g->before++)
		if (grows_at(f, p, g, grow))
			return true;
	return false;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
