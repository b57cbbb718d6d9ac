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

struct node {
	const struct symbol *symbol; /* a let or fn of a file, or NULL */
	uint32_t first, end;	     /* its edges are to[first] .. */
	uint32_t next;		     /* the edge to follow next */
	uint32_t number;	     /* in the order of discovery, from 1; 0: not seen */
	uint32_t low;
	bool closed; /* its component is complete */
	bool rank;   /* uses rank */
};

struct graph {
	struct resolver *r;
	struct node *v; /* by ids of symbols */
	uint32_t *to;
	uint32_t *path, npath; /* the walk's own stack */
	uint32_t *open, nopen; /* seen, component not closed */
	uint32_t count;
};

static struct graph *make(struct resolver *r)
{
	struct graph *g = ARENA_NEW(r->arena, struct graph);
	uint32_t n = r->m->nsymbols, at = 0;

	g->r = r;
	g->v = ARENA_ARRAY(r->arena, struct node, n);
	g->to = ARENA_ARRAY(r->arena, uint32_t, r->nedges);
	g->path = ARENA_ARRAY(r->arena, uint32_t, n);
	g->open = ARENA_ARRAY(r->arena, uint32_t, n);
	for (uint32_t i = 0; i < r->nedges; i++)
		g->v[r->edges[i].from].end++;
	for (uint32_t i = 0; i < n; i++) {
		struct node *v = &g->v[i];

		v->first = v->next = at;
		at += v->end;
		v->end = v->first;
	}
	for (uint32_t i = 0; i < r->nedges; i++)
		g->to[g->v[r->edges[i].from].end++] = r->edges[i].to;
	for (uint32_t i = 0; i < r->nrank_users; i++)
		g->v[r->rank_users[i]->id].rank = true;
	return g;
}

/* ccs(5) 3: the lets of a circle need themselves. */
static void close_component(struct graph *g, uint32_t root)
{
	uint32_t from = g->nopen, size;
	bool rank = false;

	do {
		struct node *v = &g->v[g->open[--from]];

		v->closed = true;
		rank = rank || v->rank;
	} while (g->open[from] != root);
	size = g->nopen - from;
	for (uint32_t i = from; i < g->nopen; i++) {
		struct node *v = &g->v[g->open[i]];
		const struct symbol *s = v->symbol;
		bool circle = size > 1;

		v->rank = rank;
		for (uint32_t e = v->first; e < v->end; e++)
			circle = circle || g->to[e] == g->open[i];
		if (circle && s->kind == SYM_LET)
			NAMES_ERROR(g->r, 201, s->span, "`%s` is used in its own definition%s",
				    s->name, size > 1 ? ", through others" : "");
	}
	g->nopen = from;
}

static void discover(struct graph *g, uint32_t v)
{
	g->v[v].number = g->v[v].low = ++g->count;
	g->path[g->npath++] = v;
	g->open[g->nopen++] = v;
}

static void walk(struct graph *g, uint32_t start)
{
	discover(g, start);
	while (g->npath) {
		uint32_t at = g->path[g->npath - 1];
		struct node *v = &g->v[at], *w;

		if (v->next < v->end) {
			w = &g->v[g->to[v->next]];
			if (!w->number)
				discover(g, g->to[v->next]);
			else if (!w->closed && w->number < v->low)
				v->low = w->number;
			v->next++;
			continue;
		}
		for (uint32_t e = v->first; e < v->end; e++)
			v->rank = v->rank || g->v[g->to[e]].rank;
		if (v->low == v->number)
			close_component(g, at);
		g->npath--;
		if (g->npath) {
			w = &g->v[g->path[g->npath - 1]];
			w->low = v->low < w->low ? v->low : w->low;
		}
	}
}

void names_graph(struct resolver *r)
{
	struct graph *g = make(r);

	for (const struct unit *u = r->m->units; u; u = u->next)
		for (const struct decl *d = u->decls; d; d = d->next)
			if (d->kind == D_LET || d->kind == D_FN)
				g->v[d->body->var->id].symbol = d->body->var;
	for (uint32_t i = 0; i < r->m->nsymbols; i++)
		if (g->v[i].symbol && !g->v[i].number)
			walk(g, i);
	for (uint32_t i = 0; i < r->nuses; i++) {
		const struct rankless_use *use = &r->uses[i];
		struct diag *d;

		if (!g->v[use->sym->id].rank)
			continue;
		d = NAMES_ERROR(r, 201, use->span, "`%s` needs `rank`, which may not stand in %s",
				use->sym->name, use->what);
		NAMES_DEFINED(r, d, use->sym->span, use->sym->name);
	}
}
