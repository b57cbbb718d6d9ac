/*
 * W0201: an unused definition of the main file; W0203: a statement that never runs; W0204: an
 * unused root.
 *
 * In: a resolved tree; its symbols and declarations record whether they are used (names_*.c; a use
 * in the definition itself does not count). Out: warnings. Names that begin with `_` are left
 * alone. In a file without a schedule, its procs, lets and fns are for other files, so they count
 * as used. O(text) of the main file.
 */
#include "lang/names/names.h"

static void warn(struct resolver *r, struct span span, const char *what, const char *name)
{
	if (name[0] != '_')
		diag_warn(r->d, W_UNUSED, span, NO_RANK, "%s `%s` is never used", what, name);
}

static void check_symbol(struct resolver *r, const char *what, const struct symbol *s)
{
	if (s && !s->used)
		warn(r, s->span, what, s->name);
}

static void check_fn(struct resolver *r, const struct fn_def *fn)
{
	for (uint32_t i = 0; i < fn->nparams; i++)
		check_symbol(r, "parameter", fn->params[i]);
}

/* Whether a condition is false for every N, rank and parameter. */
static bool is_never(const struct expr *e)
{
	return e && e->kind == E_INT && e->value == 0;
}

static void check_body(struct resolver *r, const struct stmt *s)
{
	for (; s; s = s->next) {
		if (s->kind == S_IF && is_never(s->e))
			diag_warn(r->d, W_BRANCH, s->e->span, NO_RANK, "this block never runs");
		if (s->kind == S_LET || s->kind == S_FN || s->kind == S_SCRATCH ||
		    s->kind == S_SWITCH)
			check_symbol(r, lang_stmt_rule(s->kind).word,
				     s->buffer ? s->buffer->sym : s->var);
		if (s->fn)
			check_fn(r, s->fn);
		check_body(r, s->body);
		check_body(r, s->orelse);
	}
}

static void check_params(struct resolver *r, const struct decl *d)
{
	for (const struct binding *p = d->params; p; p = p->next)
		if (p->sym && p->sym->promised && !p->sym->used)
			diag_warn(r->d, W_ROOT, p->sym->span, NO_RANK,
				  "the root is `%s`, but the text never uses it", p->sym->name);
		else
			check_symbol(r, "parameter", p->sym);
	for (const struct param *p = d->formals; p; p = p->next)
		check_symbol(r, "parameter", param_symbol(p));
}

/* Warns if no definition of the imported file, or of its imports, is used. */
static void check_import(struct resolver *r, const struct decl *d)
{
	uint32_t n = d->imported ? names_reach(r, d->imported) : 0;
	bool used = !d->imported;

	for (uint32_t i = 0; i < n; i++)
		used |= r->reach[i]->used;
	if (!used)
		diag_warn(r->d, W_UNUSED, d->text_span, NO_RANK, "nothing from \"%s\" is used",
			  d->path);
}

void names_unused(struct resolver *r)
{
	bool for_others = true;

	for (const struct decl *d = r->m->main->decls; d; d = d->next)
		for_others &= d->kind != D_SCHEDULE;
	for (const struct decl *d = r->m->main->decls; d; d = d->next) {
		bool of_file = d->kind == D_LET || d->kind == D_FN;

		if (d->kind == D_IMPORT)
			check_import(r, d);
		if (d->kind == D_PROC && !for_others && !d->used)
			warn(r, d->name.span, "proc", d->name.name);
		check_params(r, d);
		if (!of_file || !for_others)
			check_body(r, d->body);
		else if (d->kind == D_FN)
			check_fn(r, d->body->fn);
	}
}
