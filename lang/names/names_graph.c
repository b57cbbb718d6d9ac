/*
 * The dependencies of the lets and fns of files, through one another.
 *
 * They are visible in the whole file, also before their definition. So a let may depend on itself,
 * which is an error (a fn may call itself), and `rank` may be used through them where it is not
 * allowed (ccs(5) 8).
 *
 * The graph has the symbols as nodes, and an edge from each to the symbols that its text names.
 * Tarjan's algorithm for strongly connected components (SIAM J. Computing, 1972), with an explicit
 * stack as chains of lets may be long, finds the cycles. A component is completed after all that it
 * uses, so "uses rank" is known for these: O(names).
 */
#include "lang/names/names.h"

struct graph {
	struct resolver *r;
	struct node *path; /* the current node of the walk */
	struct node *open; /* the last node seen of the incomplete components: Tarjan's stack */
	uint32_t count;
};

/* Completes a component; a cycle of lets is an error (ccs(5) 3). */
static void close_component(struct graph *g, const struct node *root)
{
	bool many = g->open != root, rank = false;

	for (struct node *v = g->open; v != root->before; v = v->before) {
		v->closed = true;
		rank |= v->rank;
	}
	for (struct node *v = g->open; v != root->before; v = v->before) {
		const struct symbol *s = v->symbol;
		bool circle = many;

		v->rank = rank;
		for (const struct edge *e = v->uses; e; e = e->next)
			circle |= e->to == v;
		if (circle && s->kind == SYM_LET)
			NAMES_ERROR(g->r, 201, s->span, "`%s` is used in its own definition%s",
				    s->name, many ? ", through further definitions" : "");
	}
	g->open = root->before;
}

static void discover(struct graph *g, struct node *v)
{
	v->number = v->low = ++g->count;
	v->todo = v->uses;
	v->user = g->path;
	v->before = g->open;
	g->path = g->open = v;
}

static void walk(struct graph *g, struct node *start)
{
	discover(g, start);
	while (g->path) {
		struct node *v = g->path, *w;

		if (v->todo) {
			w = v->todo->to;
			v->todo = v->todo->next;
			if (!w->number)
				discover(g, w);
			else if (!w->closed && w->number < v->low)
				v->low = w->number;
			continue;
		}
		for (const struct edge *e = v->uses; e; e = e->next)
			v->rank |= e->to->rank;
		if (v->low == v->number)
			close_component(g, v);
		g->path = v->user;
		if (g->path && v->low < g->path->low)
			g->path->low = v->low;
	}
}

void names_graph(struct resolver *r)
{
	struct graph g = { .r = r };

	for (struct node *v = r->nodes; v; v = v->next)
		if (!v->number)
			walk(&g, v);
	for (uint32_t i = 0; i < r->nuses; i++) {
		const struct rankless_use *use = &r->uses[i];

		if (use->sym->node->rank)
			NAMES_MISUSED(r, 201, use->span, use->sym->name, use->sym->span,
				      "`%s` needs `rank`, which is not allowed in %s",
				      use->sym->name, use->what);
	}
}

uint32_t names_reach(struct resolver *r, struct unit *unit)
{
	uint32_t n = 0;

	unit->mark = ++r->mark;
	r->reach[n++] = unit;
	for (uint32_t i = 0; i < n; i++)
		for (struct decl *d = r->reach[i]->decls; d; d = d->next) {
			struct unit *u = d->kind == D_IMPORT ? d->imported : NULL;

			if (!u || u->mark == r->mark)
				continue;
			u->mark = r->mark;
			r->reach[n++] = u;
		}
	return n;
}
