/*
 * Proves that every wait ends, for every N.
 *
 * In: forms, and pairs of sends and receives. Out: clocks with which time grows along every wait.
 *
 * The events are the start and the end of each wave (compiler/program.h). A receive ends once the
 * wave of its send has started. With one slot, a send ends once the waves of all earlier receives
 * of its FIFO have started (more slots only remove waits). With 0 slots, a send ends once the wave
 * of its receive has started.
 *
 * If some function of the events grows along every wait, waits have no cycle, so every wait ends
 * (Lamport's clocks, CACM 1978). The function is the place in the text. Where that does not grow, a
 * clock is inserted before some entry of the place: a value of the rank, the rank itself or a
 * `let`, ascending or descending. (A chain needs the rank first: each rank waits for the rank
 * before it.) With 0 slots the clock may also be added to the entry: in a chain a rank sends when
 * the next rank receives, which is one statement, or one rank, later. The order of each rank's own
 * events is kept by construction, so only messages have to be checked.
 *
 * A segment is a run of statements of the main list. Clocks are tried for each segment alone, as
 * waits between segments lead forward in the text: single statements first, then one segment for
 * the whole text, then statements joined where messages connect them. O(clocks * entries * pairs^2)
 * set operations. If no clock is found, each message gets a level (levels.c).
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

static bool fail(struct forms *f, const struct form *o, const char *why)
{
	forms_fail(f, o->stmt->span, "%s", why);
	return false;
}

/* The time at which the wave of an operation starts, or has finished. */
static isl_map *segment_time(struct forms *f, const struct clock *g, uint32_t op, bool finished)
{
	if (g->levels)
		return relation_time(f, &f->ops[op], finished, g->levels[2 * op + finished],
				     g->before);
	if (g->clock && g->added) {
		isl_pw_aff *sum =
			isl_pw_aff_add(isl_pw_aff_copy(g->clock),
				       relation_entry(f, &f->ops[op], finished, g->before));
		isl_map *of = relation_time(f, &f->ops[op], finished, sum, g->before);
		isl_pw_aff_free(sum);
		return isl_map_project_out(of, isl_dim_out, g->before + 1, 1);
	}
	isl_pw_aff *zero = forms_constant(f, 0);
	isl_map *m = relation_time(f, &f->ops[op], finished, g->clock ? g->clock : zero, g->before);

	isl_pw_aff_free(zero);
	return m;
}

static bool in_segment(const struct forms *f, const struct clock *g, uint32_t op)
{
	uint32_t at = f->ops[op].place[0].value;

	return g->at == NONE || (at >= g->at && at <= g->last);
}

/* Whether times grow along the waits of a pair's send for a slot, in the segment. */
static bool slots_grow(struct forms *f, const struct pairs *p, const struct pair *a,
		       const struct clock *g)
{
	if (f->rendezvous)
		return !in_segment(f, g, a->send) ||
		       order_grows(isl_map_reverse(isl_map_copy(a->map)),
				   segment_time(f, g, a->recv, false),
				   segment_time(f, g, a->send, true));
	/* any receive of the FIFO frees a slot */
	for (uint32_t j = 0; j < p->n; j++) {
		if (!in_segment(f, g, p->v[j].send))
			continue;
		isl_map *m = order_frees(f, a, &f->ops[p->v[j].send]);
		if (m && !order_grows(m, segment_time(f, g, a->recv, false),
				      segment_time(f, g, p->v[j].send, true)))
			return false;
	}
	return true;
}

/* Whether times grow along all waits inside the segment. */
static bool segment_grows(struct forms *f, const struct pairs *p, const struct clock *g)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pair *a = &p->v[i];
		if (!in_segment(f, g, a->recv))
			continue;
		if (in_segment(f, g, a->send) &&
		    !order_grows(isl_map_copy(a->map), segment_time(f, g, a->send, false),
				 segment_time(f, g, a->recv, true)))
			return false;
		if (!slots_grow(f, p, a, g))
			return false;
	}
	return true;
}

/* Segments: runs of statements of the main list. */
struct segments {
	uint32_t *first; /* [statement]: of its segment */
};

static uint32_t segment_of(const struct segments *g, const struct form *o)
{
	return g->first[o->place[0].value];
}

/* Whether all waits between segments lead forward in the text. */
static bool segments_grow(struct forms *f, const struct pairs *p, const struct segments *g)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct form *s = &f->ops[p->v[i].send], *r = &f->ops[p->v[i].recv];
		if (segment_of(g, s) > segment_of(g, r) ||
		    (f->rendezvous && segment_of(g, s) < segment_of(g, r)))
			return fail(f, r, "no order of all waits was found");
		for (uint32_t j = 0; j < p->n && !f->rendezvous; j++) {
			const struct form *t = &f->ops[p->v[j].send];
			if (segment_of(g, t) >= segment_of(g, r))
				continue;
			isl_map *m = order_frees(f, &p->v[i], t);
			bool none = !m || isl_map_is_empty(m) == isl_bool_true;
			isl_map_free(m);
			if (!none)
				return fail(f, t, "no order of all waits was found");
		}
	}
	return true;
}

/* Whether the entry is that of a wave for some operation. */
static bool is_wave(const struct forms *f, uint32_t entry)
{
	for (uint32_t i = 0; i < f->nops; i++)
		if (entry < f->ops[i].nplace && f->ops[i].place[entry].wave)
			return true;
	return false;
}

/* Tries a clock before every entry, or added to it. */
static bool clock_grows_somewhere(struct forms *f, const struct pairs *p, struct clock *g)
{
	uint32_t n = relation_time_dims(f);

	for (int added = 0; added <= f->rendezvous; added++)
		for (uint32_t at = g->at != NONE && g->at == g->last; at < n; at++) {
			g->before = at;
			g->added = added;
			if (!(added && is_wave(f, at)) && segment_grows(f, p, g))
				return true;
		}
	return false;
}

/* Tries a clock in both directions. Takes it. */
static bool clock_grows(struct forms *f, const struct pairs *p, struct clock *g, isl_pw_aff *clock,
			struct clocks *to)
{
	bool ok = false;

	for (int turn = 0; turn < 2 && !ok; turn++) {
		g->clock = clock;
		ok = clock_grows_somewhere(f, p, g);
		if (!ok)
			clock = isl_pw_aff_neg(clock);
	}
	if (ok) {
		g->clock = clock;
		ARENA_PUSH(f->arena, to->v, to->n, to->cap) = *g;
	} else {
		isl_pw_aff_free(clock);
	}
	return ok;
}

static bool known_everywhere(struct forms *f, isl_pw_aff *v)
{
	isl_set *d = isl_pw_aff_domain(isl_pw_aff_copy(v));
	bool ok = isl_set_is_subset(f->context, d) == isl_bool_true;

	isl_set_free(d);
	return ok;
}

static bool segment_ends(struct forms *f, const struct pairs *p, uint32_t at, uint32_t last,
			 struct clocks *to)
{
	struct clock g = { .at = at, .last = last };

	if (segment_grows(f, p, &g) || clock_grows(f, p, &g, forms_dim(f, 0), to))
		return true;
	for (uint32_t i = 0; i < f->nclocks; i++)
		if (known_everywhere(f, f->clocks[i]) &&
		    clock_grows(f, p, &g, isl_pw_aff_copy(f->clocks[i]), to))
			return true;
	g.clock = NULL;
	g.added = false;
	if (!levels_grow(f, p, &g, segment_grows))
		return false;
	ARENA_PUSH(f->arena, to->v, to->n, to->cap) = g;
	return true;
}

void clocks_free(const struct forms *f, struct clocks *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		isl_pw_aff_free(c->v[i].clock);
		for (uint32_t k = 0; k < 2 * f->nops && c->v[i].levels; k++)
			isl_pw_aff_free(c->v[i].levels[k]);
	}
	c->n = 0;
}

/* The last statement of the segment that begins with one: itself or, wide, the last that
 * messages lead to. */
static uint32_t last_of(const struct forms *f, const struct pairs *p, uint32_t first, bool wide)
{
	uint32_t last = first;
	bool more = wide;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < p->n; i++) {
			uint32_t s = f->ops[p->v[i].send].place[0].value;
			uint32_t r = f->ops[p->v[i].recv].place[0].value;
			uint32_t low = s < r ? s : r, high = s < r ? r : s;
			if (low <= last && high > last) {
				last = high;
				more = true;
			}
		}
	}
	return last;
}

/* Finds clocks for each segment of the main list separately. */
static bool parts_end(struct forms *f, const struct pairs *p, bool wide, struct clocks *to)
{
	uint32_t end = 0, last = 0;
	struct segments g;

	for (uint32_t i = 0; i < f->nops; i++)
		end = f->ops[i].place[0].value >= end ? f->ops[i].place[0].value + 1 : end;
	g.first = ARENA_ARRAY(f->arena, uint32_t, end + 1);
	for (uint32_t at = 0; at < end; at = last + 1) {
		last = last_of(f, p, at, wide);
		for (uint32_t k = at; k <= last; k++)
			g.first[k] = at;
	}
	last = NONE;
	for (uint32_t i = 0; i < f->nops; i++) {
		uint32_t at = f->ops[i].place[0].value;
		if (!order_is_message(&f->ops[i]) || g.first[at] == last)
			continue;
		last = g.first[at];
		if (!segment_ends(f, p, last, last_of(f, p, last, wide), to))
			return fail(f, &f->ops[i], "no order of all waits was found");
	}
	return segments_grow(f, p, &g);
}

bool progress_made(struct forms *f, const struct pairs *p, uint32_t slots, struct clocks *to)
{
	if (p->n == 0)
		return true;
	f->rendezvous = slots == 0;
	if (parts_end(f, p, false, to))
		return true;
	clocks_free(f, to);
	if (segment_ends(f, p, NONE, NONE, to)) {
		f->why = NULL;
		return true;
	}
	const char *why = f->why;
	f->why = NULL;
	f->wide = true;
	if (parts_end(f, p, true, to))
		return true;
	f->why = why;
	return false;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
