/*
 * A machine: the nodes and links of a topology, with their times, and what ranks cost.
 *
 * In: an instance; the topology is that of its schedule. Out: the links, sorted. Every rank runs the
 * topology's body (expand/cursor.h), statement by statement, since the times are those of the statement
 * that makes the link. A link that is made again must have the same times. O(links log links).
 *
 * Paths: breadth first from a rank over the switches, once for each rank that asks, and then from the
 * destination's links back. A rank passes no message on.
 */
#include "compiler/cost/cost.h"
#include "compiler/expand/cursor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RATE 1e18 /* bytes/s */
#define MOST_TIME 1e6  /* s */

struct made {
	uint64_t pair; /* source << 32 | destination */
	uint32_t at;   /* in the order in which they are made */
	const struct stmt *stmt;
};

static int by_pair(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->pair != y->pair)
		return x->pair < y->pair ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Takes the value of an attribute. False: it is out of range, which is reported. */
static bool in_range(struct ctx *c, const char *of, const struct binding *b, double least,
		     double most, double *value)
{
	*value = b->number;
	if (*value >= least && *value <= most)
		return true;
	diag_add(c->diags, SEV_ERROR, 702, b->span, NO_RANK, "%s's %s is %g to %g %s", of,
		 b->name.name, least, most, most == MOST_RATE ? "bytes/s" : "s");
	return false;
}

/* False: it is not there, or is no time; reported. */
static bool attribute(struct ctx *c, const struct decl *t, const struct stmt *s, const char *name,
		      double least, double most, double *value)
{
	const struct binding *b = s->more;

	while (b && strcmp(b->name.name, name) != 0)
		b = b->next;
	if (b)
		return in_range(c, "a link", b, least, most, value);
	struct diag *g = diag_add(c->diags, SEV_ERROR, 702, s->span, NO_RANK,
				  "this link of %s has no %s", t->name.name, name);
	diag_help(
		c->diags, g,
		"give it both times: link rank -> E (bandwidth = 50e9, latency = 1e-6), in bytes/s and s; "
		"or name another machine with --on");
	return false;
}

static bool take_times(struct ctx *c, const struct decl *t, const struct stmt *s,
		       struct machine_link *l)
{
	return attribute(c, t, s, "bandwidth", 1, MOST_RATE, &l->bandwidth) &&
	       attribute(c, t, s, "latency", 0, MOST_TIME, &l->latency);
}

/* What is not given stays 0, which costs nothing. */
static bool take_cost(struct ctx *c, const struct decl *t, struct machine_cost *to)
{
	const struct stmt *s = t->body;
	bool ok = true;

	while (s && s->kind != S_COST)
		s = s->next;
	for (const struct binding *b = s ? s->more : NULL; b && ok; b = b->next)
		ok = strcmp(b->name.name, "call") == 0
			     ? in_range(c, "a cost", b, 0, MOST_TIME, &to->call)
		     : strcmp(b->name.name, "step") == 0
			     ? in_range(c, "a cost", b, 0, MOST_TIME, &to->step)
			     : in_range(c, "a cost", b, 1, MOST_RATE,
					b->name.name[0] == 'w' ? &to->worker : &to->reduce);
	return ok;
}

static bool no_links(struct ctx *c, const struct instance *in)
{
	const struct decl *t = in->schedule->topology;
	struct diag *g =
		!t ? diag_add(c->diags, SEV_ERROR, 702, in->schedule->name.span, NO_RANK,
			      "%s has no times: it names no topology, so every pair of "
			      "ranks has a link",
			      in->schedule->name.name)
		   : diag_add(c->diags, SEV_ERROR, 702, in->schedule->topology_name.span, NO_RANK,
			      "there are no times: topology %s makes no link", t->name.name);

	diag_help(
		c->diags, g,
		"name a machine: --on 'nodes(8)', or --on FILE.ccs:TOPOLOGY with links that have times");
	return false;
}

static bool make(struct ctx *c, const struct instance *in, struct cursor *v, struct machine *m)
{
	const struct decl *t = in->schedule->topology;
	struct made *made;
	bool ok = true;

	if (!t || !lang_has_stmt(t->body, S_LINK))
		return no_links(c, in);
	v->links_named = true;
	for (uint32_t r = 0; r < in->nranks && !v->stopped; r++) {
		cursor_start(v, t->body, r);
		cursor_next(v);
	}
	if (c->diags->errors)
		return false;
	if (!v->npairs && in->nranks > 1) /* one rank needs none */
		return no_links(c, in);
	m->nnodes = v->nnodes;
	if (v->nswitches)
		m->switches =
			arena_copy(c->arena, v->switches, v->nswitches * sizeof(*v->switches));
	m->nswitches = v->nswitches;
	made = ARENA_ARRAY(c->scratch, struct made, v->npairs);
	for (uint32_t i = 0; i < v->npairs; i++)
		made[i] = (struct made){ v->pairs[i], i, v->named[i] };
	qsort(made, v->npairs, sizeof(*made), by_pair);
	m->links = ARENA_ARRAY(c->arena, struct machine_link, v->npairs);
	for (uint32_t i = 0; i < v->npairs && ok; i++) {
		struct machine_link l = { .src = (uint32_t)(made[i].pair >> 32),
					  .dst = (uint32_t)made[i].pair };
		const struct machine_link *before = m->nlinks ? m->links + m->nlinks - 1 : NULL;

		ok = take_times(c, t, made[i].stmt, &l);
		if (!ok || !before || before->src != l.src || before->dst != l.dst) {
			m->links[m->nlinks++] = l;
		} else if (before->bandwidth != l.bandwidth || before->latency != l.latency) {
			diag_add(c->diags, SEV_ERROR, 202, made[i].stmt->span, NO_RANK,
				 "the link from %s to %s is made twice, with different times",
				 machine_node(m, c->arena, l.src),
				 machine_node(m, c->arena, l.dst));
			ok = false;
		}
	}
	return ok && take_cost(c, t, &m->cost);
}

/* The links by their destination, for paths. */
static void index_back(struct machine *m)
{
	uint32_t *at = ARENA_ARRAY(m->arena, uint32_t, (size_t)m->nnodes + 1);

	m->place = ARENA_ARRAY(m->arena, uint32_t, m->nnodes - m->nranks);
	m->placed = NONE;
	m->back = ARENA_ARRAY(m->arena, uint32_t, m->nlinks);
	for (uint32_t i = 0; i < m->nlinks; i++)
		at[m->links[i].dst + 1]++;
	for (uint32_t n = 0; n < m->nnodes; n++)
		at[n + 1] += at[n];
	m->into = arena_copy(m->arena, at, sizeof(*at) * ((size_t)m->nnodes + 1));
	for (uint32_t i = 0; i < m->nlinks; i++)
		m->back[at[m->links[i].dst]++] = i;
}

struct machine *machine_make(struct ctx *c, const struct instance *in)
{
	struct program *p = program_new(c, in, 1);
	struct machine *m = ARENA_NEW(c->arena, struct machine);
	struct cursor v;

	m->nranks = in->nranks;
	m->arena = c->arena;
	cursor_init(&v, c, p, c->scratch, false);
	if (instance_make(&v, false) != INSTANCE_OK || !make(c, in, &v, m))
		return NULL;
	m->name = in->schedule->topology->name.name;
	m->routes = ARENA_ARRAY(c->arena, struct routes *, m->nranks);
	m->first = ARENA_ARRAY(c->arena, uint32_t, (size_t)m->nnodes + 1);
	for (uint32_t i = 0; i < m->nlinks; i++)
		m->first[m->links[i].src + 1]++;
	for (uint32_t r = 0; r < m->nnodes; r++)
		m->first[r + 1] += m->first[r];
	if (m->nnodes > m->nranks)
		index_back(m);
	return m;
}

const char *machine_node(const struct machine *m, struct arena *a, uint32_t node)
{
	for (uint32_t i = 0; i < m->nswitches && node >= m->nranks; i++) {
		const struct switches *s = &m->switches[i];

		if (node - s->first < s->n)
			return s->of->value
				       ? arena_printf(a, "%s[%u]", s->of->name, node - s->first)
				       : s->of->name;
	}
	return arena_printf(a, "rank %u", node);
}

uint32_t machine_link(const struct machine *m, uint32_t src, uint32_t dst)
{
	uint32_t lo = m->first[src], hi = m->first[src + 1];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (m->links[mid].dst == dst)
			return mid;
		if (m->links[mid].dst < dst)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NONE;
}

/* ---- paths ------------------------------------------------------------------------------------- */

/* The paths from one rank to all switches that it reaches, those of fewest links first. */
struct routes {
	struct reached {
		uint32_t node; /* a switch */
		uint32_t link; /* the last link of the path to it */
		uint32_t
			from; /* 1 + the place of the switch before it, in `reached`; 0: the rank */
		uint32_t nlinks;
		double width; /* bytes/s, of the narrowest link */
	} *reached;
	uint32_t n;
};

/* Whether path a is better than b: fewer links, then wider. */
static bool better(const struct reached *a, const struct reached *b)
{
	return a->nlinks != b->nlinks ? a->nlinks < b->nlinks : a->width > b->width;
}

/* The path that follows `before` (NULL: from the rank) along a link. */
static struct reached along(const struct machine *m, const struct routes *r,
			    const struct reached *before, uint32_t link)
{
	const struct machine_link *l = &m->links[link];
	struct reached x = { l->dst, link, 0, 1, l->bandwidth };

	if (before) {
		x.from = (uint32_t)(before - r->reached) + 1;
		x.nlinks += before->nlinks;
		x.width = before->width < x.width ? before->width : x.width;
	}
	return x;
}

/* Breadth first. Of equal paths to a switch the first one met is kept. */
static struct routes *find_routes(struct machine *m, uint32_t src)
{
	struct routes *r = ARENA_NEW(m->arena, struct routes);
	uint32_t most = 0;

	for (uint32_t from = 0; from <= r->n; from++) {
		uint32_t node = from ? r->reached[from - 1].node : src;
		uint32_t i = m->first[node + 1];

		/* links to switches come after links to ranks */
		while (i > m->first[node] && m->links[i - 1].dst >= m->nranks)
			i--;
		for (; i < m->first[node + 1]; i++) {
			struct reached x;
			uint32_t *place;

			x = along(m, r, from ? &r->reached[from - 1] : NULL, i);
			place = &m->place[x.node - m->nranks];
			if (!*place) {
				ARENA_PUSH(m->arena, r->reached, r->n, most) = x;
				*place = r->n;
			} else if (better(&x, &r->reached[*place - 1])) {
				r->reached[*place - 1] = x;
			}
		}
	}
	return r;
}

/* The routes of a source, with `place` for them. */
static const struct routes *routes_from(struct machine *m, uint32_t src)
{
	struct routes *r = m->routes[src];

	if (m->placed == src)
		return r;
	memset(m->place, 0, sizeof(*m->place) * (m->nnodes - m->nranks));
	m->placed = src;
	if (!r)
		return m->routes[src] = find_routes(m, src);
	for (uint32_t i = 0; i < r->n; i++)
		m->place[r->reached[i].node - m->nranks] = i + 1;
	return r;
}

struct machine_path machine_path(struct machine *m, uint32_t src, uint32_t dst)
{
	struct reached best = { .nlinks = UINT32_MAX };
	uint32_t link = machine_link(m, src, dst), *rows;
	const struct routes *r;

	if (link != NONE || m->nnodes == m->nranks)
		return link == NONE
			       ? (struct machine_path){ NULL, 0 }
			       : (struct machine_path){ arena_copy(m->arena, &link, sizeof(link)),
							1 };
	r = routes_from(m, src);
	for (uint32_t i = m->into[dst]; i < m->into[dst + 1]; i++) {
		uint32_t node = m->links[m->back[i]].src;
		uint32_t place = node < m->nranks ? 0 : m->place[node - m->nranks];
		struct reached x;

		if (!place)
			continue;
		x = along(m, r, &r->reached[place - 1], m->back[i]);
		if (better(&x, &best))
			best = x;
	}
	if (best.nlinks == UINT32_MAX)
		return (struct machine_path){ NULL, 0 };
	rows = ARENA_ARRAY(m->arena, uint32_t, best.nlinks);
	for (uint32_t i = best.nlinks, from = best.from, row = best.link; i-- > 0;) {
		rows[i] = row;
		if (!i)
			break;
		row = r->reached[from - 1].link;
		from = r->reached[from - 1].from;
	}
	return (struct machine_path){ rows, best.nlinks };
}
