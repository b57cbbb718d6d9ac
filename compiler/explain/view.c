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

static bool is_name(const char *name, const char *text, size_t n)
{
	return strlen(name) == n && !strncmp(name, text, n);
}

/* Marks what `text` names. False: nothing. */
static bool mark_chunks(struct script *x, const char *text)
{
	const struct program *p = x->r.p;
	size_t n = strcspn(text, "[");
	uint32_t at = p->cells, count = is_name("scratch", text, n) ? p->scratch : 0, inner = 1;

	for (uint32_t b = 0; b < p->nbuffers; b++)
		if (is_name(p->buffers[b].def->name.name, text, n)) {
			at = p->buffers[b].cell;
			count = p->buffers[b].cells;
			inner = p->buffers[b].inner ? p->buffers[b].inner : 1;
		}
	uint64_t lo = 0, hi = count / inner, from = 0, to = inner;
	const char *rest = text + n;
	if (*rest)
		rest = read_range(rest, count / inner, &lo, &hi);
	if (rest && *rest && inner > 1 && hi == lo + 1)
		rest = read_range(rest, inner, &from, &to);
	if (!count || !rest || *rest)
		return false;
	for (uint64_t i = lo * inner + from; i < (hi - 1) * inner + to; i++)
		x->cell[at + i] = true;
	return true;
}

/* "a[0..4], b[0..3][0..4], scratch[0..2]" */
static const char *all_chunks(const struct script *x)
{
	const struct program *p = x->r.p;
	struct arena *a = x->r.c->arena;
	const char *text = "";

	for (uint32_t b = 0; b < p->nbuffers; b++) {
		const struct buffer *o = &p->buffers[b];
		text = arena_printf(a, "%s%s%s[0..%u]", text, *text ? ", " : "", o->def->name.name,
				    o->inner ? o->cells / o->inner : o->cells);
		if (o->inner)
			text = arena_printf(a, "%s[0..%u]", text, o->inner);
	}
	if (p->scratch)
		text = arena_printf(a, "%s%sscratch[0..%u]", text, *text ? ", " : "", p->scratch);
	return *text ? text : "no chunk at all";
}

/* Chunks of `in` buffers never change: tables leave them out. */
static void mark_changing(struct script *x)
{
	const struct program *p = x->r.p;

	for (uint32_t i = 0; i < x->r.width; i++)
		x->cell[i] = i >= p->cells || p->buffers[x->r.buffer_of[i]].def->dir != DIR_IN;
}

bool explain_view_read(struct script *x, const struct shown *view, const char **why)
{
	const struct program *p = x->r.p;
	const struct numbers *ranks = &view->ranks;

	x->cell = ARENA_ARRAY(x->arena, bool, x->r.width);
	x->rank = ARENA_ARRAY(x->arena, bool, p->nranks);
	x->view = view;
	if (!view->nchunks)
		mark_changing(x);
	for (size_t i = 0; i < view->nchunks; i++)
		if (!mark_chunks(x, view->chunks[i])) {
			*why = arena_printf(x->r.c->arena, "--chunk: there is no '%s'; there is %s",
					    view->chunks[i], all_chunks(x));
			return false;
		}
	for (uint32_t q = 0; q < p->nranks; q++)
		x->rank[q] = !ranks->n;
	for (size_t i = 0; i < ranks->n; i++) {
		if (ranks->v[i] >= p->nranks) {
			*why = arena_printf(x->r.c->arena,
					    "--rank: there is no rank %u; the last is %u",
					    ranks->v[i], p->nranks - 1);
			return false;
		}
		x->rank[ranks->v[i]] = true;
	}
	x->cells = ARENA_ARRAY(x->arena, uint32_t, x->r.width);
	x->ranks = ARENA_ARRAY(x->arena, uint32_t, p->nranks);
	for (uint32_t i = 0; i < x->r.width; i++)
		if (x->cell[i])
			x->cells[x->ncells++] = i;
	for (uint32_t q = 0; q < p->nranks; q++)
		if (x->rank[q])
			x->ranks[x->nranks++] = q;
	return true;
}

bool explain_shows_step(const struct script *x, uint32_t step)
{
	for (size_t i = 0; i < x->view->steps.n; i++)
		if (x->view->steps.v[i] == step)
			return true;
	return x->view->steps.n == 0;
}

bool explain_shows_move(const struct script *x, const struct move *m)
{
	const struct ends e = explain_ends(x, m);

	if (!x->rank[e.from] && !x->rank[e.to])
		return false;
	return !x->view->nchunks || memchr(x->cell + e.source.lo, true, e.source.n) ||
	       memchr(x->cell + e.target.lo, true, e.target.n);
}
