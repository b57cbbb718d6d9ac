/*
 * Links: runs a topology's body on every rank, and keeps the pairs by source.
 *
 * In: a cursor for which the topology's parameters are bound. Out: for each source its targets, as
 * runs of ranks, ascending. A topology without `link` in its text connects every pair, without a
 * table (ccs(5) 4, Topologies).
 *
 * In nearly all topologies a rank only makes links from itself. These become runs immediately: a
 * rank with links to all others has two runs. Links of other ranks are merged at the end. O(ranks +
 * links log links of a rank), less for loops that are run as a whole (links.c).
 *
 * With switches, the targets of a rank are those that a path through switches leads to. The ranks that a
 * switch reaches are found once for each switch. O(switches * (switches + their links)) more.
 */
#include "compiler/expand/squad.h"

#include <stdlib.h>

/* The links of one source, or of all. */
struct pairs {
	struct arena *arena;
	struct link_run *runs;
	uint32_t nruns, capruns;
	struct link_run *mine; /* of the current source, unsorted; they may overlap */
	uint32_t nmine, capmine;
	uint64_t *others; /* as cursor.pairs: links that another rank than their source made, and
			     those of switches */
	uint32_t nothers, capothers;
};

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static int by_first(const void *a, const void *b)
{
	const struct link_run *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

#define FEW 16u /* at most this number is sorted by insertion */

static void sort_few(struct link_run *v, uint32_t n)
{
	for (uint32_t i = 1, j; i < n; i++) {
		const struct link_run r = v[i];
		for (j = i; j > 0 && v[j - 1].lo > r.lo; j--)
			v[j] = v[j - 1];
		v[j] = r;
	}
}

/* qsort(), unless they are in order already, as is common. */
static void sort(void *v, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	const char *at = v;
	size_t i = 1;
	while (i < n && compare(at + (i - 1) * size, at + i * size) <= 0)
		i++;
	if (i < n)
		qsort(v, n, size, compare);
}

static void add_mine(struct pairs *p, uint32_t lo, uint32_t hi)
{
	ARENA_PUSH(p->arena, p->mine, p->nmine, p->capmine) = (struct link_run){ lo, hi };
}

/* The targets of one source become runs. */
static void add_runs(struct pairs *p)
{
	const struct link_run *t = p->mine;
	uint32_t n = p->nmine;
	if (n <= FEW)
		sort_few(p->mine, n);
	else
		sort(p->mine, n, sizeof(*p->mine), by_first);
	for (uint32_t i = 0, j; i < n; i = j) {
		struct link_run r = t[i];
		for (j = i + 1; j < n && t[j].lo <= r.hi; j++)
			r.hi = t[j].hi > r.hi ? t[j].hi : r.hi;
		ARENA_PUSH(p->arena, p->runs, p->nruns, p->capruns) = r;
	}
	p->nmine = 0;
}

/* Takes a link that the body made on a rank. */
static inline void take_pair(struct pairs *p, uint32_t nranks, uint32_t rank, uint32_t src,
			     uint32_t dst)
{
	if (src == rank && dst < nranks)
		add_mine(p, dst, dst + 1);
	else
		ARENA_PUSH(p->arena, p->others, p->nothers, p->capothers) =
			(uint64_t)src << 32 | dst;
}

/* Takes the links that the body made on a rank: links from the rank become runs, links from other
 * ranks are collected. */
static void take_pairs(struct pairs *p, const struct cursor *v, uint32_t rank)
{
	for (uint32_t i = 0; i < v->nspans; i++)
		add_mine(p, v->spans[i].lo, v->spans[i].hi);
	for (uint32_t i = 0; i < v->npairs; i++)
		take_pair(p, v->program->nranks, rank, (uint32_t)(v->pairs[i] >> 32),
			  (uint32_t)v->pairs[i]);
	add_runs(p);
}

/* The ranks that switches reach. */
struct reach {
	struct pairs of; /* runs */
	uint32_t *first; /* [switches + 1]: rows of them */
};

/* Breadth first from each switch, along links between switches. p->others is sorted. */
static void find_reach(struct reach *to, const struct pairs *p, uint32_t nranks, uint32_t nnodes)
{
	uint32_t n = nnodes - nranks, *links, *queue, *met, at = 0;
	*to = (struct reach){ .of.arena = p->arena };
	to->first = ARENA_ARRAY(p->arena, uint32_t, n + 1);
	links = ARENA_ARRAY(p->arena, uint32_t, n + 1); /* rows of p->others, by switch */
	queue = ARENA_ARRAY(p->arena, uint32_t, n);
	met = ARENA_ARRAY(p->arena, uint32_t, n);
	for (uint32_t s = 0; s <= n; s++) {
		while (at < p->nothers && p->others[at] >> 32 < nranks + s)
			at++;
		links[s] = at;
	}
	for (uint32_t s = 0; s < n; s++) {
		uint32_t many = 0;
		queue[many++] = s;
		met[s] = s + 1;
		for (uint32_t i = 0; i < many; i++)
			for (uint32_t k = links[queue[i]]; k < links[queue[i] + 1]; k++) {
				uint32_t dst = (uint32_t)p->others[k];
				if (dst < nranks) {
					add_mine(&to->of, dst, dst + 1);
				} else if (met[dst - nranks] != s + 1) {
					met[dst - nranks] = s + 1;
					queue[many++] = dst - nranks;
				}
			}
		to->first[s] = to->of.nruns;
		add_runs(&to->of);
	}
	to->first[n] = to->of.nruns;
}

/* Adds the targets that a switch gives to a rank: all that it reaches, but the rank itself. */
static void add_reached(struct pairs *p, const struct reach *from, uint32_t s, uint32_t rank)
{
	for (uint32_t i = from->first[s]; i < from->first[s + 1]; i++) {
		struct link_run r = from->of.runs[i];
		if (rank < r.lo || rank >= r.hi) {
			add_mine(p, r.lo, r.hi);
			continue;
		}
		if (r.lo < rank)
			add_mine(p, r.lo, rank);
		if (rank + 1 < r.hi)
			add_mine(p, rank + 1, r.hi);
	}
}

/* Makes all runs again, with the links that ranks made for other sources, and with paths. */
static void merge_others(struct links *l, struct pairs *p, uint32_t nranks, uint32_t nnodes)
{
	struct link_run *own = p->runs;
	uint32_t k = 0, lo = 0;
	struct reach reach;
	sort(p->others, p->nothers, sizeof(*p->others), ascending);
	find_reach(&reach, p, nranks, nnodes);
	p->runs = NULL;
	p->nruns = p->capruns = 0;
	for (uint32_t r = 0; r < nranks; r++) {
		uint32_t hi = l->first[r + 1];
		for (uint32_t i = lo; i < hi; i++)
			add_mine(p, own[i].lo, own[i].hi);
		for (; k < p->nothers && p->others[k] >> 32 == r; k++) {
			uint32_t dst = (uint32_t)p->others[k];
			if (dst >= nranks)
				add_reached(p, &reach, dst - nranks, r);
			else
				add_mine(p, dst, dst + 1);
		}
		l->first[r] = p->nruns;
		add_runs(p);
		lo = hi;
	}
	l->first[nranks] = p->nruns;
}

/* Whether there is a link from each rank to each other one. A rank has none to itself. */
static bool every_pair(const struct links *l, uint32_t nranks)
{
	for (uint32_t r = 0; r < nranks; r++) {
		uint32_t n = 0;
		for (uint32_t i = l->first[r]; i < l->first[r + 1]; i++)
			n += l->runs[i].hi - l->runs[i].lo;
		if (n != nranks - 1)
			return false;
	}
	return true;
}

static bool too_many(struct cursor *v, const struct decl *topology)
{
	diag_add(v->ctx->diags, SEV_ERROR, 501, topology->name.span, NO_RANK,
		 "more than %u links with switches, or in other ranks' texts than their source's "
		 "(LIMIT_LINKS)",
		 LIMIT_LINKS);
	return false;
}

#define MOST_LINKS 64u /* of a rank in a squad */

/* Runs the body on ranks from r on at once; returns how many there were, or 0. */
static uint32_t run_squad(struct links *l, struct pairs *p, struct squad *b,
			  const struct decl *topology, uint32_t r)
{
	struct cursor *v = b->of;
	uint32_t n = v->program->nranks - r < SQUAD ? v->program->nranks - r : SQUAD;
	if (!squad_run(b, topology->body, r, n, v->npairs + 8))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct squad_rows *rows = &b->ranks[i];
		l->first[r + i] = p->nruns;
		for (const struct op *o = rows->ops; o < rows->ops + rows->n; o++)
			take_pair(p, v->program->nranks, r + i, o->cell, o->other);
		add_runs(p);
		v->idle = squad_idle(b, i, v->idle);
	}
	return n;
}

/* Makes a squad for the ranks after the first, if that has few links, and none from whole loops; a
 * squad does not know switches. */
static struct squad *make_squad(struct cursor *v)
{
	if (v->nspans || v->npairs > MOST_LINKS || v->program->nranks <= 2 || v->nswitches)
		return NULL;
	struct squad *b = ARENA_NEW(v->arena, struct squad);
	squad_init(b, v);
	b->most_rows = SQUAD * 2 * MOST_LINKS;
	return b;
}

static bool run_body(struct links *l, struct pairs *p, struct cursor *v,
		     const struct decl *topology)
{
	uint32_t n = v->program->nranks;
	struct squad *b = NULL;
	for (uint32_t r = 0, at = 0; r < n && v->reports <= LIMIT_REPORTS; r = at) {
		uint32_t many = b ? run_squad(l, p, b, topology, r) : 0;
		at = r + (many ? many : 1);
		if (p->nothers >= LIMIT_LINKS)
			return too_many(v, topology);
		if (many)
			continue;
		b = NULL;
		l->first[r] = p->nruns;
		v->npairs = v->nspans = 0;
		cursor_start(v, topology->body, r);
		cursor_next(v);
		if (v->npairs >= LIMIT_LINKS)
			return false; /* reported */
		if (!l->all)
			take_pairs(p, v, r);
		if (p->nothers >= LIMIT_LINKS)
			return too_many(v, topology);
		if (r == 0 && !l->all && !v->reports)
			b = make_squad(v);
	}
	l->first[n] = p->nruns;
	return v->reports <= LIMIT_REPORTS;
}

void links_make(struct links *l, struct cursor *v, const struct decl *topology)
{
	uint32_t n = v->program->nranks;
	struct pairs p = { .arena = v->arena };
	*l = (struct links){ .all = !lang_has_stmt(topology->body, S_LINK),
			     .first = ARENA_ARRAY(v->arena, uint32_t, (size_t)n + 1) };
	v->spans_wanted = true;
	bool made = !topology->body || run_body(l, &p, v, topology);
	v->spans_wanted = false;
	if (made && p.nothers)
		merge_others(l, &p, n, v->nnodes);
	l->runs = p.runs;
	l->all = l->all || (made && every_pair(l, n));
}

bool links_has(const struct links *l, uint32_t src, uint32_t dst)
{
	if (l->all)
		return true;
	uint32_t lo = l->first[src], hi = l->first[src + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (l->runs[mid].lo <= dst && dst < l->runs[mid].hi)
			return true;
		if (l->runs[mid].hi <= dst)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}
