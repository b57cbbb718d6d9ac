/*
 * What of a program `ccc explain` shows: --chunk, --rank and --step.
 *
 * In: the lists of the command line. Out: marks on cells and ranks. A move is shown if its
 * step is, if one of its two ranks is, and if a chunk that it reads or writes is.
 * O(cells * names), O(1) a move and chunk.
 */
#include "compiler/explain/explain.h"

#include <inttypes.h>
#include <string.h>

/* Reads "[2]" or "[0..2]", of `count`; returns the rest of the text, or NULL. */
static const char *read_range(const char *s, uint64_t count, uint64_t *lo, uint64_t *hi)
{
	int end = 0;

	if (sscanf(s, "[%9" SCNu64 "..%9" SCNu64 "]%n", lo, hi, &end) != 2 || !end) {
		if (sscanf(s, "[%9" SCNu64 "]%n", lo, &end) != 1 || !end)
			return NULL;
		*hi = *lo + 1;
	}
	return *lo < *hi && *hi <= count ? s + end : NULL;
}

/* Marks what `text` names. False: nothing. */
static bool mark_chunks(struct script *x, const char *text)
{
	size_t n = strcspn(text, "[");

	for (uint32_t k = 0; k < x->nnamed; k++) {
		const struct named_cells *at = &x->named[k];
		uint32_t inner = at->inner ? at->inner : 1,
			 count = (at->first + at->n - at->zero) / inner;
		uint64_t lo = (at->first - at->zero) / inner, hi = count, from = 0, to = inner;
		const char *rest = text + n;

		if (strlen(at->name) != n || strncmp(at->name, text, n) != 0)
			continue;
		if (*rest)
			rest = read_range(rest, count, &lo, &hi);
		if (rest && *rest && inner > 1 && hi == lo + 1)
			rest = read_range(rest, inner, &from, &to);
		if (!rest || *rest || lo == hi || at->zero + lo * inner < at->first)
			return false;
		for (uint64_t i = lo * inner + from; i < (hi - 1) * inner + to; i++)
			x->cell[at->zero + i] = true;
		return true;
	}
	return false;
}

/* "a[0..4], b[0..3][0..4], scratch[0..2]" */
static const char *all_chunks(const struct script *x)
{
	struct arena *a = x->r.c->arena;
	const char *text = "";

	for (uint32_t k = 0; k < x->nnamed; k++) {
		const struct named_cells *at = &x->named[k];
		uint32_t inner = at->inner ? at->inner : 1, lo = at->first - at->zero;
		text = arena_printf(a, "%s%s%s[%u..%u]", text, *text ? ", " : "", at->name, lo,
				    (lo + at->n) / inner);
		if (at->inner)
			text = arena_printf(a, "%s[0..%u]", text, inner);
	}
	return *text ? text : "no chunk at all";
}

uint32_t *explain_marked(struct script *x, const bool *marks, uint32_t n, uint32_t *count)
{
	uint32_t *list = ARENA_ARRAY(x->arena, uint32_t, n);

	*count = 0;
	for (uint32_t i = 0; i < n; i++)
		if (marks[i])
			list[(*count)++] = i;
	return list;
}

bool explain_view_read(struct script *x, const struct shown *view, const char **why)
{
	const struct program *p = x->r.p;
	const struct numbers *ranks = &view->ranks;

	x->cell = ARENA_ARRAY(x->arena, bool, x->r.width);
	x->rank = ARENA_ARRAY(x->arena, bool, p->nranks);
	x->view = view;
	for (uint32_t i = 0; i < x->r.width;) {
		struct named_cells e = program_named(p, i);
		e.n = e.n < x->r.width - i ? e.n : x->r.width - i;
		ARENA_PUSH(x->arena, x->named, x->nnamed, x->capnamed) = e;
		if (e.kind != DIR_IN && !view->nchunks) /* else it never changes */
			memset(x->cell + i, true, e.n);
		i += e.n;
	}
	for (size_t i = 0; i < view->nchunks; i++)
		if (!mark_chunks(x, view->chunks[i])) {
			*why = arena_printf(x->r.c->arena, "--chunk: there is no '%s'; there is %s",
					    view->chunks[i], all_chunks(x));
			return false;
		}
	if (ranks->n && ranks->v[ranks->n - 1] >= p->nranks) {
		*why = arena_printf(x->r.c->arena, "--rank: there is no rank %u; the last is %u",
				    ranks->v[ranks->n - 1], p->nranks - 1);
		return false;
	}
	for (uint32_t q = 0; q < p->nranks; q++)
		x->rank[q] = numbers_show(ranks, q);
	x->cells = explain_marked(x, x->cell, x->r.width, &x->ncells);
	x->ranks = explain_marked(x, x->rank, p->nranks, &x->nranks);
	return true;
}

void explain_view_moves(struct script *x)
{
	struct frame *f = NULL;

	for (uint32_t k = 0, first = 0; k < x->n; k++) {
		struct move *m = &x->moves[k];
		if (m->depth != x->moves[first].depth)
			first = k;
		m->shown =
			numbers_show(&x->view->steps, m->depth) &&
			(x->rank[m->from] || x->rank[m->to]) &&
			(!x->view->nchunks || memchr(x->cell + m->source.lo, true, m->source.n) ||
			 memchr(x->cell + m->target.lo, true, m->target.n));
		if (m->shown && (!x->nframes || f->step != m->depth)) {
			f = &ARENA_PUSH(x->arena, x->frames, x->nframes, x->capframes);
			*f = (struct frame){ .step = m->depth, .first = first };
		}
		if (x->nframes && f->step == m->depth) {
			f->end = k + 1;
			f->arrive += m->shown && !m->lost;
		}
	}
}
