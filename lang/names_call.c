/*
 * Calls: the number and the kinds of arguments (ccs(5) 7, E0203), of functions,
 * procs, schedules called like procs, and of parameters given by name.
 *
 * In: the callee is found or looked up here, its signature has its symbols
 * already. Out: stmt.callee, arguments of the right kind (a name that stands for
 * a number becomes an expression), bindings with their parameter's symbol.
 * O(arguments and parameters) a call.
 */
#include "lang/names.h"

void names_wrong_number(struct resolver *r, const char *what, struct ident name, uint32_t taken,
			uint32_t given, struct span defined)
{
	NAMES_MISUSED(r, 203, name.span, name.name, defined, "%s`%s` takes %u argument%s, not %u",
		      what, name.name, taken, taken == 1 ? "" : "s", given);
}

void names_call_fn(struct resolver *r, struct expr *e)
{
	bool any = e->builtin == BUILTIN_MIN || e->builtin == BUILTIN_MAX;

	if (e->sym) {
		if (e->nargs != e->sym->fn->nparams)
			names_wrong_number(r, "", (struct ident){ e->name.name, e->span },
					   e->sym->fn->nparams, e->nargs, e->sym->span);
	} else if (any && e->nargs == 0) {
		NAMES_ERROR(r, 203, e->span, "`%s` takes 1 or more arguments, not 0", e->name.name);
	} else if (!any && e->nargs != 1) {
		NAMES_ERROR(r, 203, e->span, "`%s` takes 1 argument, not %u", e->name.name,
			    e->nargs);
	}
}

/* ---- parameters by name -------------------------------------------------------------- */

/* ccs(5) 4: what is behind a ';' names the callee's own parameters. */
static void unknown_param(struct resolver *r, const struct binding *b, const struct decl *callee)
{
	const char *near = NULL;
	uint32_t n = 0;
	struct diag *g;

	if (r->suggest_work) {
		for (const struct binding *p = callee->params; p; p = p->next)
			ARENA_PUSH(r->arena, r->candidates, n, r->capcandidates) = p->name.name;
		near = names_near(r, b->name.name, r->candidates, n);
	}
	g = NAMES_ERROR(r, 201, b->name.span, "`%s` has no parameter `%s`%s", callee->name.name,
			b->name.name, names_hint(r, near));
	if (near)
		diag_fix(r->d, g, b->name.span, "%s", near);
	diag_note(r->d, g, callee->name.span, "`%s` is defined here", callee->name.name);
}

static void resolve_binding(struct resolver *r, struct binding *b, const struct decl *callee)
{
	struct def *def = names_find(SPACE_PARAM, b->name.name);

	if (!def) {
		unknown_param(r, b, callee);
	} else if (def->given.lo) {
		struct diag *g =
			NAMES_ERROR(r, 202, b->name.span, "`%s` is given twice", b->name.name);
		diag_note(r->d, g, def->given, "first given here");
	} else {
		b->sym = def->sym;
		def->given = b->name.span;
	}
}

void names_bindings(struct resolver *r, struct binding *given, const struct decl *callee,
		    struct span at, const char *rankless)
{
	for (struct binding *b = given; b; b = b->next)
		names_rankless_expr(r, b->value, rankless);
	if (!callee)
		return;
	names_enter(r);
	for (const struct binding *p = callee->params; p; p = p->next)
		if (!names_find(SPACE_PARAM, p->name.name))
			names_define(r, SPACE_PARAM, p->name, p->sym, NULL);
	for (struct binding *b = given; b; b = b->next)
		resolve_binding(r, b, callee);
	for (const struct binding *p = callee->params; p; p = p->next) {
		struct diag *g;

		if (p->value || names_find(SPACE_PARAM, p->name.name)->given.lo)
			continue;
		g = NAMES_ERROR(r, 203, at, "`%s` needs a value for its parameter `%s`",
				callee->name.name, p->name.name);
		diag_note(r->d, g, p->span, "it has no default");
	}
	names_leave(r);
}

/* ---- procs, and schedules called like procs ------------------------------------------- */

/* `x` and `x[e]` parse as uses of chunks; they may be a number, and an entry of a
 * table. Returns whether the name means anything. */
static bool resolve_arg(struct resolver *r, struct arg *a)
{
	struct def *def;

	if (!a->ref) {
		names_expr(r, a->expr);
		return true;
	}
	def = names_find(SPACE_VALUE, a->ref->name.name);
	bool entry = def && a->ref->kind == REF_ONE && symbol_is_table(def->sym);
	if (!entry && (a->ref->kind != REF_ALL || (def && def->sym->kind == SYM_BUFFER))) {
		names_ref(r, a->ref);
		return a->ref->sym != NULL;
	}
	if (!def || def->sym->kind == SYM_FN) {
		names_unknown(r, a->ref->name, WANT_ARG);
		return false;
	}
	a->expr = ARENA_MAKE(r->arena, struct expr, .kind = entry ? E_ENTRY : E_NAME,
			     .span = a->ref->span, .name = a->ref->name,
			     .a = a->ref->block ? a->ref->block : a->ref->lo,
			     .b = a->ref->block ? a->ref->lo : NULL);
	a->ref = NULL;
	names_expr(r, a->expr);
	return true;
}

/* One argument against its parameter, which takes chunks or a number. */
static void check_arg(struct resolver *r, const struct arg *a, const struct decl *callee,
		      const struct symbol *param)
{
	const struct buffer_def *view = param->buffer;

	if (!view != !a->ref)
		NAMES_MISUSED(r, 203, a->span, param->name, view ? view->span : param->span,
			      view ? "`%s` of `%s` takes chunks of a buffer, not a number"
				   : "`%s` of `%s` takes a number, not chunks of a buffer",
			      param->name, callee->name.name);
}

void names_call(struct resolver *r, struct stmt *s)
{
	struct def *def = names_wanted(r, s->name, WANT_RUN);
	const struct decl *callee = def ? def->decl : NULL;
	const struct param *p = callee ? callee->formals : NULL;
	const struct buffer_def *b = callee ? callee->buffers : NULL;
	uint32_t given = 0, taken = 0;

	s->callee = def ? def->decl : NULL;
	for (const struct param *q = p; q; q = q->next)
		taken++;
	for (const struct buffer_def *q = b; q; q = q->next)
		taken++;
	for (struct arg *a = s->args; a; a = a->next, given++) {
		bool known = resolve_arg(r, a);

		if (known && given < taken)
			check_arg(r, a, callee, p ? param_symbol(p) : b->sym);
		p = p ? p->next : NULL;
		b = b ? b->next : NULL;
	}
	if (callee && given != taken)
		names_wrong_number(r, "", s->name, taken, given, callee->name.span);
	names_bindings(r, s->more, callee, s->name.span, NULL);
}
