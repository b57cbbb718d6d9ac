/*
 * A machine: the links of a topology, with their times.
 *
 * In: an instance; the topology is that of its schedule. Out: the links, sorted. Every rank runs the
 * topology's body (expand/cursor.h), statement by statement, since the times are those of the statement
 * that makes the link. A link that is made again must have the same times. O(links log links).
 */
#include "compiler/cost/cost.h"
#include "compiler/expand/cursor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* False: it is not there, or is no time; reported. */
static bool attribute(struct ctx *c, const struct decl *t, const struct stmt *s, const char *name,
		      double least, double *value)
{
	for (const struct binding *b = s->more; b; b = b->next) {
		if (strcmp(b->name.name, name) != 0)
			continue;
		*value = b->number;
		if (*value > least && *value <= 1e300)
			return true;
		if (*value == least && least == 0 && *name == 'l')
			return true;
		diag_add(c->diags, SEV_ERROR, 702, b->span, NO_RANK,
			 "simulate: a link's bandwidth must be above 0, and its latency 0 or more");
		return false;
	}
	struct diag *g = diag_add(c->diags, SEV_ERROR, 702, s->span, NO_RANK,
				  "simulate: this link of %s has no %s", t->name.name, name);
	diag_help(
		c->diags, g,
		"give it both times: link rank -> E (bandwidth = 50e9, latency = 1e-6), in bytes/s and s; "
		"or name another machine with --on");
	return false;
}

static bool take_times(struct ctx *c, const struct decl *t, const struct stmt *s,
		       struct machine_link *l)
{
	return attribute(c, t, s, "bandwidth", 0, &l->bandwidth) &&
	       attribute(c, t, s, "latency", 0, &l->latency);
}

static bool no_links(struct ctx *c, const struct decl *s, const struct decl *t)
{
	struct diag *g = diag_add(c->diags, SEV_ERROR, 702, s->name.span, NO_RANK,
				  "simulate: %s has no times: %s", s->name.name,
				  !t ? "it names no topology, so every pair of ranks has a link"
				  : !t->body ? "its topology names no links"
					     : "its topology makes no link");

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
		return no_links(c, in->schedule, t);
	v->links_named = true;
	for (uint32_t r = 0; r < in->nranks && !v->stopped; r++) {
		cursor_start(v, t->body, r);
		cursor_next(v);
	}
	if (c->diags->errors)
		return false;
	if (!v->npairs)
		return no_links(c, in->schedule, t);
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
			diag_add(
				c->diags, SEV_ERROR, 702, made[i].stmt->span, NO_RANK,
				"simulate: the link from rank %u to rank %u is made twice, with different "
				"times",
				l.src, l.dst);
			ok = false;
		}
	}
	return ok;
}

struct machine *machine_make(struct ctx *c, const struct instance *in)
{
	struct program *p = program_new(c, in, 1);
	struct machine *m = ARENA_NEW(c->arena, struct machine);
	struct cursor v;

	m->nranks = in->nranks;
	cursor_init(&v, c, p, c->scratch, false);
	if (instance_make(&v, false) != INSTANCE_OK || !make(c, in, &v, m))
		return NULL;
	m->name = in->schedule->topology->name.name;
	m->first = ARENA_ARRAY(c->arena, uint32_t, (size_t)m->nranks + 1);
	for (uint32_t i = 0; i < m->nlinks; i++)
		m->first[m->links[i].src + 1]++;
	for (uint32_t r = 0; r < m->nranks; r++)
		m->first[r + 1] += m->first[r];
	return m;
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
