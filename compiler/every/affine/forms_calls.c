/*
 * Names of numbers, calls, and topologies. ccs(5) 4.
 *
 * A call's text is walked in place: arguments are evaluated with the caller's names, then the
 * callee's names are bound. No text calls itself, so a name of the callee has one meaning at a
 * time. But caller and callee may be on one topology with different arguments; then the caller's
 * meanings of the topology's names are restored after the call. O(arguments) set operations, and
 * the callee's text.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

void forms_set(struct forms *f, const struct symbol *s, isl_pw_aff *v)
{
	struct bound *b = &f->bound[s->id];

	isl_pw_aff_free(b->value);
	b->value = v;
}

bool forms_bind(struct walk *w, const struct symbol *s, const struct expr *e)
{
	isl_pw_aff *v = affine(w, e);

	if (v)
		forms_set(w->f, s, v);
	return v != NULL;
}

/* ---- lets ------------------------------------------------------------------------------------ */

bool forms_let(struct walk *w, const struct stmt *s)
{
	struct bound *b = &w->f->bound[s->var->id];

	if (s->e->kind != E_TABLE)
		return forms_bind(w, s->var, s->e);
	struct entries *t = forms_entries(w, s->e);
	forms_free_entries(b->table);
	b->table = t;
	return t != NULL;
}

/* ---- topologies ------------------------------------------------------------------------------ */

/* Whether a declaration's `where` holds for this call; else fails. */
static bool where_holds(struct walk *w, const struct decl *d, struct span at)
{
	if (!d->where)
		return true;
	isl_set *good = affine_where(w, d->where);
	return good && walk_always(w, good, at, "the `where` of a called text may not hold");
}

/* Binds the names of a topology; its parameters are already bound. */
bool forms_names(struct walk *w, const struct decl *t)
{
	for (const struct stmt *s = t->body; s; s = s->next)
		if (s->kind == S_LET && !forms_let(w, s))
			return false;
	return true;
}

bool forms_topology(struct walk *w, const struct decl *d)
{
	for (const struct binding *p = d->on; p; p = p->next)
		if (!forms_bind(w, p->sym, p->value))
			return false;
	return true;
}

/* Lists the names that a topology's text binds, its parameters first; `to` may be NULL. */
static uint32_t topology_symbols(const struct decl *t, const struct symbol **to)
{
	uint32_t n = 0;

	for (const struct binding *p = t ? t->params : NULL; p; p = p->next, n++)
		if (to)
			to[n] = p->sym;
	for (const struct stmt *s = t ? t->body : NULL; s; s = s->next)
		if (s->kind == S_LET) {
			if (to)
				to[n] = s->var;
			n++;
		}
	return n;
}

/* Walks a called text on a topology with the topology's names bound for the callee; then restores
 * their meanings, as the caller may be on the same topology. */
static bool on_topology(struct walk *w, const struct stmt *call, const struct decl *d,
			walk_text *run)
{
	const struct decl *t = d->topology;
	struct forms *f = w->f;
	uint32_t n = topology_symbols(t, NULL);
	const struct symbol **names = ARENA_ARRAY(f->arena, const struct symbol *, n + 1);
	struct bound *outer = ARENA_ARRAY(f->arena, struct bound, n + 1);

	topology_symbols(t, names);
	for (uint32_t i = 0; i < n; i++) {
		outer[i] = f->bound[names[i]->id];
		f->bound[names[i]->id] = (struct bound){ 0 };
	}
	bool ok = (!t ||
		   (forms_topology(w, d) && where_holds(w, t, call->span) && forms_names(w, t))) &&
		  where_holds(w, d, call->span) && run(w, d->body);
	for (uint32_t i = 0; i < n; i++) {
		struct bound *b = &f->bound[names[i]->id];
		isl_pw_aff_free(b->value);
		forms_free_entries(b->table);
		*b = outer[i];
	}
	return ok;
}

#define ARGUMENTS 16

/* The arguments of a call, evaluated with the caller's names. */
struct passed {
	struct chunks views[ARGUMENTS];
	isl_pw_aff *numbers[ARGUMENTS];
	uint32_t n;
};

static void free_passed(struct passed *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		forms_free_chunks(&p->views[i]);
		isl_pw_aff_free(p->numbers[i]);
	}
}

static bool pass(struct walk *w, const struct stmt *s, struct passed *p)
{
	for (const struct arg *a = s->args; a; a = a->next, p->n++)
		if (p->n == ARGUMENTS)
			return walk_fail(w, s->span, "a call with many arguments");
		else if (a->ref ? !forms_chunks(w, a->ref, &p->views[p->n])
				: !(p->numbers[p->n] = affine(w, a->expr)))
			return false;
	for (const struct binding *m = s->more; m; m = m->next, p->n++)
		if (p->n == ARGUMENTS)
			return walk_fail(w, s->span, "a call with many arguments");
		else if (!(p->numbers[p->n] = affine(w, m->value)))
			return false;
	return true;
}

/* Binds the callee's numbers, then the arguments after a `;`, then defaults. */
static bool bind_numbers(struct walk *w, const struct stmt *s, struct passed *p)
{
	uint32_t i = 0;

	for (const struct arg *a = s->args; a; a = a->next, i++)
		if (a->number) {
			forms_set(w->f, a->number, p->numbers[i]);
			p->numbers[i] = NULL;
		}
	for (const struct binding *m = s->more; m; m = m->next, i++) {
		forms_set(w->f, m->sym, p->numbers[i]);
		p->numbers[i] = NULL;
	}
	for (const struct binding *d = s->defaults; d; d = d->next)
		if (!forms_bind(w, d->sym, d->value))
			return false;
	return true;
}

static bool bind_views(struct walk *w, const struct stmt *s, const struct passed *p)
{
	uint32_t i = 0;

	for (const struct arg *a = s->args; a; a = a->next, i++)
		if (a->view && !forms_cut(w, a->span, &p->views[i], a->view))
			return false;
	return true;
}

/* Adds a scratch; it is cut into chunks like the views of its text. */
bool forms_scratch(struct walk *w, const struct stmt *s)
{
	const struct decl *d = w->calls ? w->callees[w->calls - 1] : NULL;

	for (const struct param *p = d ? d->formals : NULL; p; p = p->next)
		if (p->view && w->f->bound[p->view->sym->id].part)
			return walk_fail(w, s->span, "a scratch in parts of several chunks");
	for (const struct buffer_def *b = d ? d->buffers : NULL; b; b = b->next)
		if (w->f->bound[b->sym->id].part)
			return walk_fail(w, s->span, "a scratch in parts of several chunks");
	return forms_add_buffer(w, s->buffer);
}

bool forms_call(struct walk *w, const struct stmt *s, walk_text *run)
{
	const struct decl *d = s->callee;
	struct passed p = { .n = 0 };

	for (uint32_t i = 0; i < w->calls; i++)
		if (w->callees[i] == d)
			return walk_fail(w, s->span, "a proc that calls itself");
	if (w->calls == CALLS_DEEP)
		return walk_fail(w, s->span, "calls nested too deep");
	bool ok = pass(w, s, &p);
	w->callees[w->calls++] = d;
	ok = ok && bind_numbers(w, s, &p) && bind_views(w, s, &p) && on_topology(w, s, d, run);
	w->calls--;
	free_passed(&p);
	return ok;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
