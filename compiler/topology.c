/*
 * Links: runs a topology's body on every rank, and keeps the pairs by source.
 *
 * In: code for which the topology's parameters are bound. Out: for each source
 * its targets, ascending, each once. A topology without `link` in its text
 * connects every pair, without a table. O(ranks + links log links of a rank).
 * ccs(5) 4, topology.
 */
#include "compiler/cursor.h"

#include <stdlib.h>

static bool has_link(const struct stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == S_LINK || has_link(s->body) || has_link(s->orelse))
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Counting sort by source, then each source's targets, without repetitions. */
static void sort_pairs(struct links *l, struct arena *a, const struct cursor *v, uint32_t n)
{
	uint32_t *at = ARENA_ARRAY(a, uint32_t, n + 1), w = 0;
	l->first = ARENA_ARRAY(a, uint32_t, n + 1);
	l->dst = ARENA_ARRAY(a, uint32_t, v->npairs + 1);
	for (uint32_t i = 0; i < v->npairs; i++)
		at[v->pairs[i][0] + 1]++;
	for (uint32_t r = 0; r < n; r++)
		at[r + 1] += at[r];
	for (uint32_t i = 0; i < v->npairs; i++)
		l->dst[at[v->pairs[i][0]]++] = v->pairs[i][1];
	/* Now at[r] is the end of r's. */
	for (uint32_t r = 0, from = 0; r < n; r++) {
		uint32_t to = at[r];
		qsort(l->dst + from, to - from, sizeof *l->dst, compare);
		l->first[r] = w;
		for (uint32_t i = from; i < to; i++)
			if (i == from || l->dst[i] != l->dst[i - 1])
				l->dst[w++] = l->dst[i];
		from = to;
	}
	l->first[n] = w;
}

void links_make(struct links *l, struct code *k, const struct decl *topology)
{
	uint32_t n = k->program->nranks;
	struct cursor v;
	*l = (struct links){ .all = !has_link(topology->body) };
	uint32_t func = code_topology(k, topology);
	if (k->failed)
		return;
	cursor_init(&v, k, NULL, k->arena);
	for (uint32_t r = 0; r < n && v.reports <= LIMIT_REPORTS; r++) {
		cursor_start(&v, func, r);
		cursor_next(&v);
		if (v.npairs >= LIMIT_LINKS)
			break;
	}
	if (!l->all)
		sort_pairs(l, k->arena, &v, n);
}

bool links_has(const struct links *l, uint32_t src, uint32_t dst)
{
	if (l->all)
		return true;
	uint32_t lo = l->first[src], hi = l->first[src + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (l->dst[mid] == dst)
			return true;
		if (l->dst[mid] < dst)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}
