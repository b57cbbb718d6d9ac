/*
 * Calls of procs and schedules: binds the callee's names, so that powers_walk.c can walk its text in
 * place.
 *
 * Arguments are evaluated with the caller's names; then the callee's names are bound. A part of a
 * view must be one chunk. O(arguments) automata.
 */
#include "compiler/every/bits/powers.h"

#define ARGUMENTS 16u
#define PROCS_DEEP 24u

struct passed {
	struct value number[ARGUMENTS];
	struct value_chunks view[ARGUMENTS];
	uint32_t n;
};

/* The chunks of an argument. Passing a whole view does not determine how its chunks are
 * numbered. */
static bool view(struct power_walk *w, const struct ref *r, struct value_chunks *to)
{
	const struct meaning *m = r->sym ? &w->f->meaning[r->sym->id] : NULL;

	if (!m || !m->view || r->kind != REF_ALL || r->block)
		return power_chunks(w, r, to) &&
		       (!to->step || power_fail(w->f, r->span, "a view in reversed numbers"));
	*to = m->of;
	return true;
}

static bool pass(struct power_walk *w, const struct stmt *s, struct passed *p)
{
	uint32_t n = 0;

	for (const struct arg *a = s->args; a; a = a->next)
		n++;
	for (const struct binding *m = s->more; m; m = m->next)
		n++;
	if (n > ARGUMENTS)
		return power_fail(w->f, s->span, "a call with many arguments");
	for (const struct arg *a = s->args; a; a = a->next, p->n++)
		if (a->ref ? !view(w, a->ref, &p->view[p->n])
			   : !value_of(w, a->expr, &p->number[p->n]))
			return false;
	for (const struct binding *m = s->more; m; m = m->next, p->n++)
		if (!value_of(w, m->value, &p->number[p->n]))
			return false;
	return true;
}

/* Binds the callee's numbers, then the arguments after a `;`, then defaults. */
static bool bind_numbers(struct power_walk *w, const struct stmt *s, const struct passed *p)
{
	struct value v;
	uint32_t i = 0;

	for (const struct arg *a = s->args; a; a = a->next, i++)
		if (a->number)
			power_bind(w, a->number, &p->number[i]);
	for (const struct binding *m = s->more; m; m = m->next, i++)
		power_bind(w, m->sym, &p->number[i]);
	for (const struct binding *d = s->defaults; d; d = d->next) {
		if (!value_of(w, d->value, &v))
			return false;
		power_bind(w, d->sym, &v);
	}
	return true;
}

static bool bind_views(struct power_walk *w, const struct stmt *s, const struct passed *p)
{
	uint32_t i = 0;

	for (const struct arg *a = s->args; a; a = a->next, i++)
		if (a->view && !power_cut(w, &p->view[i], a->view, a->span))
			return false;
	return true;
}

bool power_call(struct power_walk *w, const struct stmt *s)
{
	const struct decl *d = s->callee;
	struct passed p = { .n = 0 };
	const struct dfa *good;

	if (w->procs == PROCS_DEEP || w->in_chunks)
		return power_fail(w->f, s->span, "calls nested too deep, or in a loop over chunks");
	const struct decl *t = d->topology; /* a topology without a text is `full` */
	if (t && (t->params || t->where || t->body))
		return power_fail(w->f, s->span, "a proc on a topology");
	if (!pass(w, s, &p) || !bind_numbers(w, s, &p) || !bind_views(w, s, &p))
		return false;
	if (d->where &&
	    (!value_where(w, d->where, &good) ||
	     !power_always(w, good, s->span, "the `where` of a called text may not hold")))
		return false;
	return true;
}
