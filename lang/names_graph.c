/*
 * What the lets and fns of files need, through one another.
 *
 * They are visible in the whole file, also before their definition, so a let
 * may need itself: that is an error, while a fn may call itself. And `rank`
 * may come in through them where it may not stand (ccs(5) 8).
 *
 * The graph has the symbols as nodes and "is named in the text of" as edges.
 * Tarjan's strongly connected components, with a stack of its own (a chain of
 * lets may be long), find the circles and, since components come out with what
 * they use first, carry "uses rank" along: O(names).
 */
#include "lang/names.h"

#include <string.h>

struct graph {
	struct resolver *r;
	uint32_t n;
	uint32_t *first; /* [n + 1]: edges of node i are to[first[i]] .. */
	uint32_t *to;
	uint32_t *next;	  /* [n] the edge to follow next */
	uint32_t *number; /* [n] in the order of discovery, from 1; 0: not seen */
	uint32_t *low;
	uint32_t *component;   /* [n] from 1; 0: not closed yet */
	bool *rank;	       /* [n] uses rank */
	uint32_t *path, npath; /* the walk's own stack */
	uint32_t *open, nopen; /* seen, component not closed */
	uint32_t count, components;
	const struct symbol **symbols; /* [n] the lets and fns of files, else NULL */
};

static struct graph *make(struct resolver *r)
{
	struct graph *g = ARENA_NEW(r->arena, struct graph);
	uint32_t n = r->m->nsymbols;

	*g = (struct graph){ .r = r, .n = n };
	g->first = ARENA_ARRAY(r->arena, uint32_t, n + 1);
	g->to = ARENA_ARRAY(r->arena, uint32_t, r->nedges);
	g->next = ARENA_ARRAY(r->arena, uint32_t, n);
	g->number = ARENA_ARRAY(r->arena, uint32_t, n);
	g->low = ARENA_ARRAY(r->arena, uint32_t, n);
	g->component = ARENA_ARRAY(r->arena, uint32_t, n);
	g->rank = ARENA_ARRAY(r->arena, bool, n);
	g->path = ARENA_ARRAY(r->arena, uint32_t, n);
	g->open = ARENA_ARRAY(r->arena, uint32_t, n);
	g->symbols = ARENA_ARRAY(r->arena, const struct symbol *, n);
	for (uint32_t i = 0; i < r->nedges; i++)
		g->first[r->edges[i].from + 1]++;
	for (uint32_t i = 0; i < n; i++) {
		g->first[i + 1] += g->first[i];
		g->next[i] = g->first[i];
	}
	for (uint32_t i = 0; i < r->nedges; i++)
		g->to[g->next[r->edges[i].from]++] = r->edges[i].to;
	memcpy(g->next, g->first, n * sizeof *g->next);
	for (uint32_t i = 0; i < r->nrank_users; i++)
		g->rank[r->rank_users[i]->id] = true;
	for (uint32_t i = 0; i < r->nfile_symbols; i++)
		g->symbols[r->file_symbols[i]->id] = r->file_symbols[i];
	return g;
}

/* ccs(5) 3: the lets of a circle need themselves. */
static void close_component(struct graph *g, uint32_t root)
{
	uint32_t from = g->nopen, size;
	bool rank = false;

	g->components++;
	do {
		uint32_t v = g->open[--from];
		g->component[v] = g->components;
		rank = rank || g->rank[v];
	} while (g->open[from] != root);
	size = g->nopen - from;
	for (uint32_t i = from; i < g->nopen; i++) {
		uint32_t v = g->open[i];
		const struct symbol *s = g->symbols[v];
		bool circle = size > 1;

		g->rank[v] = rank;
		for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
			circle = circle || g->to[e] == v;
		if (circle && s && s->kind == SYM_LET)
			diag_add(g->r->d, SEV_ERROR, 201, s->span, NO_RANK,
				 "`%s` is used in its own definition%s", s->name,
				 size > 1 ? ", through others" : "");
	}
	g->nopen = from;
}

static void discover(struct graph *g, uint32_t v)
{
	g->number[v] = g->low[v] = ++g->count;
	g->path[g->npath++] = v;
	g->open[g->nopen++] = v;
}

static void walk(struct graph *g, uint32_t start)
{
	discover(g, start);
	while (g->npath) {
		uint32_t v = g->path[g->npath - 1];

		if (g->next[v] < g->first[v + 1]) {
			uint32_t w = g->to[g->next[v]++];
			if (!g->number[w])
				discover(g, w);
			else if (!g->component[w] && g->number[w] < g->low[v])
				g->low[v] = g->number[w];
			continue;
		}
		for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
			g->rank[v] = g->rank[v] || g->rank[g->to[e]];
		if (g->low[v] == g->number[v])
			close_component(g, v);
		g->npath--;
		if (g->npath) {
			uint32_t up = g->path[g->npath - 1];
			if (g->low[v] < g->low[up])
				g->low[up] = g->low[v];
		}
	}
}

void names_graph(struct resolver *r)
{
	struct graph *g = make(r);

	for (uint32_t i = 0; i < r->nfile_symbols; i++)
		if (!g->number[r->file_symbols[i]->id])
			walk(g, r->file_symbols[i]->id);
	for (uint32_t i = 0; i < r->nuses; i++) {
		const struct rankless_use *use = &r->uses[i];
		struct diag *d;

		if (!g->rank[use->sym->id])
			continue;
		d = diag_add(r->d, SEV_ERROR, 201, use->span, NO_RANK,
			     "`%s` needs `rank`, which may not stand in %s", use->sym->name,
			     use->what);
		diag_note(r->d, d, use->sym->span, "`%s` is defined here", use->sym->name);
	}
}
