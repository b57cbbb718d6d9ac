/*
 * Proves that every wait ends, for every N.
 *
 * In: forms, and pairs of sends and receives. Out: the levels with which time grows along every wait.
 *
 * The events are the start and the end of each wave (compiler/program.h). A receive ends once the
 * wave of its send has started. With one slot, a send ends once the waves of all earlier receives
 * of its FIFO have started (more slots only remove waits). With 0 slots, a send ends once the wave
 * of its receive has started.
 *
 * If some function of the events grows along every wait, waits have no cycle, so every wait ends
 * (Lamport's clocks, CACM 1978). The function is the place in the text. Where that does not grow, levels
 * are inserted before some entry of the place (levels.c). In a chain each rank waits for the rank before
 * it: the rank is its level.
 *
 * A segment is a run of statements of the main list. Levels are looked for in each segment alone, as
 * waits between segments lead forward in the text: single statements first, then one segment for
 * the whole text, then statements joined where messages connect them. O(statements) times levels.c.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

static bool fail(struct forms *f, const struct form *o, const char *why)
{
	forms_fail(f, o->stmt->span, "%s", why);
	return false;
}

/* The time at which the wave of an operation starts, or has finished. */
static isl_map *segment_time(struct forms *f, const struct levels *l, uint32_t op, bool finished)
{
	isl_pw_aff *zero = forms_constant(f, 0);
	isl_map *m = relation_time(f, &f->ops[op], finished,
				   l->of ? l->of[2 * op + finished] : zero, l->before);

	isl_pw_aff_free(zero);
	return m;
}

/* Whether times grow along the waits of a pair's send for a slot, in the segment. */
static bool slots_grow(struct forms *f, const struct pairs *p, const struct pair *a,
		       const struct levels *l)
{
	if (f->rendezvous)
		return !levels_cover(f, l, a->send) ||
		       order_grows(isl_map_reverse(isl_map_copy(a->map)),
				   segment_time(f, l, a->recv, false),
				   segment_time(f, l, a->send, true));
	/* any receive of the FIFO frees a slot */
	for (uint32_t j = 0; j < p->n; j++) {
		if (!levels_cover(f, l, p->v[j].send))
			continue;
		isl_map *m = order_frees(f, a, &f->ops[p->v[j].send]);
		if (m && !order_grows(m, segment_time(f, l, a->recv, false),
				      segment_time(f, l, p->v[j].send, true)))
			return false;
	}
	return true;
}

/* Whether times grow along all waits inside the segment. */
static bool segment_grows(struct forms *f, const struct pairs *p, const struct levels *l)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pair *a = &p->v[i];
		if (!levels_cover(f, l, a->recv))
			continue;
		if (levels_cover(f, l, a->send) &&
		    !order_grows(isl_map_copy(a->map), segment_time(f, l, a->send, false),
				 segment_time(f, l, a->recv, true)))
			return false;
		if (!slots_grow(f, p, a, l))
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

static bool segment_ends(struct forms *f, const struct pairs *p, uint32_t at, uint32_t last,
			 struct level_list *to)
{
	struct levels l = { .at = at, .last = last };

	if (segment_grows(f, p, &l))
		return true;
	if (!levels_grow(f, p, &l, segment_grows))
		return false;
	ARENA_PUSH(f->arena, to->v, to->n, to->cap) = l;
	return true;
}

void levels_free(const struct forms *f, struct level_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		for (uint32_t k = 0; k < 2 * f->nops; k++)
			isl_pw_aff_free(l->v[i].of[k]);
	l->n = 0;
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

/* Finds levels for each segment of the main list separately. */
static bool parts_end(struct forms *f, const struct pairs *p, bool wide, struct level_list *to)
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

bool progress_made(struct forms *f, const struct pairs *p, uint32_t slots, struct level_list *to)
{
	if (p->n == 0)
		return true;
	f->rendezvous = slots == 0;
	if (parts_end(f, p, false, to))
		return true;
	levels_free(f, to);
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
