/*
 * Resolves names in expressions and statements, and checks the number and kinds of arguments of
 * calls (ccs(5) 7, E0203).
 *
 * In: the tree of a body, and the scopes around it. Out: every name has its symbol, every function
 * call its fn or built-in function, every other call its callee, with arguments of the right kind
 * (a name of a number becomes an expression), and every binding the symbol of its parameter. An
 * unknown name is reported once, without further errors. One walk, O(nodes). Long sums are deep on
 * the left, so the walk goes down left operands in a loop; the depth of other nesting is bounded by
 * the parser.
 */
#include "lang/keywords.h"
#include "lang/names/names.h"

#include <string.h>

/* Names that need no definition: a contract's bare counts (ccs(5) 4), and the
 * index of a `sized` buffer. */
static struct symbol *free_name(struct resolver *r, struct ident name)
{
	struct symbol *sym;

	if (r->sizes)
		return r->sizes->index->name == name.name ? r->sizes->index : NULL;
	if (!r->counts)
		return NULL;
	sym = lang_symbol(r->m, SYM_COUNT, name);
	names_own(r, sym);
	return sym;
}

static void resolve_name(struct resolver *r, struct expr *e)
{
	const char *name = e->name.name;
	struct def *def = names_find(SPACE_VALUE, name);

	if (!def) {
		e->sym = free_name(r, e->name);
		if (!e->sym && (r->free_index[0] == name || r->free_index[1] == name))
			NAMES_ERROR(
				r, 201, e->span,
				"unknown name `%s`: the index is visible only on the right side of "
				"a clause",
				name);
		else if (!e->sym)
			names_unknown(r, e->name, WANT_NUMBER);
		return;
	}
	if (symbol_is_table(def->sym)) { /* ccs(5) 3: a table is no number */
		NAMES_MISUSED(
			r, 203, e->name.span, name, def->sym->span,
			"`%s` is a table, not a number: `%s[e]` is an entry, `len(%s)` the number "
			"of entries",
			name, name, name);
		return;
	}
	def = names_wanted(r, e->name, WANT_NUMBER);
	e->sym = def ? def->sym : NULL;
	const struct expr *entry = e->sym && e->sym->kind == SYM_LOOP ? e->sym->value : NULL;
	if (!entry)
		return;
	/* in a sum over a table the name stands for an entry; the node keeps its place */
	e->kind = entry->kind;
	e->value = entry->value;
	e->name = entry->name;
	e->sym = entry->sym;
	e->a = entry->a;
	e->b = entry->b;
	e->c = entry->c;
}

/* The table of that name, or NULL: E0201, E0203. */
static struct symbol *table_named(struct resolver *r, struct ident name, const char *use)
{
	struct def *def = names_find(SPACE_VALUE, name.name);

	if (!def || def->sym->kind == SYM_FN || symbol_is_table(def->sym)) {
		def = names_wanted(r, name, WANT_TABLE);
		return def ? def->sym : NULL;
	}
	if (def->sym->kind == SYM_BUFFER)
		NAMES_MISUSED(r, 203, name.span, name.name, def->span,
			      "`%s` is a buffer: expressions cannot use the contents of chunks",
			      name.name);
	else
		NAMES_MISUSED(r, 203, name.span, name.name, def->span, "`%s` is a number, and %s",
			      name.name, use);
	return NULL;
}

/* The one of entries[lo..hi] that an index, from `lo` on, selects: index < middle ? .. : .., and so on.
 * O(hi - lo) nodes, O(log(hi - lo)) deep. */
static struct expr *select_entry(struct resolver *r, struct expr **entries, struct expr *index,
				 uint32_t lo, uint32_t hi)
{
	struct arena *a = r->m->arena;
	uint32_t middle = lo + (hi - lo + 1) / 2;
	struct expr *at = ARENA_COPY(a, index), *less;

	less = ARENA_MAKE(a, struct expr, .kind = E_BINARY, .op = OP_LT, .span = index->span,
			  .a = at, .first = at,
			  .b = ARENA_MAKE(a, struct expr, .kind = E_INT, .value = middle,
					  .span = index->span));
	at->up = less;
	return ARENA_MAKE(a, struct expr, .kind = E_COND, .span = index->span, .a = less,
			  .b = middle - lo == 1 ? entries[lo]
						: select_entry(r, entries, index, lo, middle),
			  .c = hi - middle <= 1 ? entries[hi - 1]
						: select_entry(r, entries, index, middle, hi));
}

void names_sum_over(struct resolver *r, struct term *t)
{
	struct arena *a = r->m->arena;
	struct expr *table = t->over, **entries;
	struct ident name = { t->var->name, t->var->span };
	struct symbol *index = lang_symbol(r->m, SYM_LOOP, name);
	struct expr *at = ARENA_MAKE(a, struct expr, .kind = E_NAME, .span = name.span,
				     .name = name, .sym = index);
	struct expr *zero = ARENA_MAKE(a, struct expr, .kind = E_INT, .span = table->span);

	index->owner = r->owner;
	t->lo = t->hi = t->var->value = zero;
	if (table->kind == E_TABLE) {
		uint32_t n = 0;

		names_expr(r, table);
		entries = ARENA_ARRAY(a, struct expr *, table->nargs);
		for (struct expr *e = table->args; e; e = e->next)
			entries[n++] = e;
		t->hi = ARENA_MAKE(a, struct expr, .kind = E_INT, .value = n, .span = table->span);
		if (n)
			t->var->value = select_entry(r, entries, at, 0, n);
	} else if ((table->sym =
			    table_named(r, table->name, "a sum runs over a range or a table"))) {
		t->hi = ARENA_MAKE(a, struct expr, .kind = E_CALL, .builtin = BUILTIN_LEN,
				   .span = table->span, .args = table, .nargs = 1);
		t->var->value = ARENA_MAKE(a, struct expr, .kind = E_ENTRY, .span = table->span,
					   .name = table->name, .sym = table->sym, .a = at);
	}
	names_own(r, t->var);
	t->var = index;
}

/* name[e]: an entry of a table. */
static void resolve_entry(struct resolver *r, struct expr *e)
{
	e->sym = table_named(r, e->name, "only a table has entries");
	if (e->sym && e->b)
		NAMES_ERROR(r, 203, e->span,
			    "an entry of table `%s` is a number, and a number has no entries",
			    e->name.name);
}

static void resolve_len(struct resolver *r, struct expr *e)
{
	struct expr *arg = e->args;

	if (e->nargs != 1 || arg->kind != E_NAME || arg->parens)
		NAMES_ERROR(r, 203, e->span, "`len` takes the name of one table");
	else
		arg->sym = table_named(r, arg->name, "`len` takes a table");
}

struct diag *names_wrong_number(struct resolver *r, const char *what, struct ident name,
				uint32_t taken, uint32_t given, struct span defined)
{
	struct diag *g = NAMES_ERROR(r, 203, name.span, "%s`%s` takes %u argument%s, not %u", what,
				     name.name, taken, taken == 1 ? "" : "s", given);
	diag_note(r->d, g, defined, "`%s` is defined here", name.name);
	return g;
}

/* Checks the number of arguments of a function. */
static void check_call(struct resolver *r, struct expr *e)
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

/* A fn of the text hides a built-in function of its name. */
static void resolve_call(struct resolver *r, struct expr *e)
{
	struct def *def = names_find(SPACE_VALUE, e->name.name);

	e->builtin = def ? BUILTIN_NONE : names_builtin(e->name.name);
	if (e->builtin == BUILTIN_LEN) {
		resolve_len(r, e);
		return;
	}
	bool foreign = !def && e->builtin == BUILTIN_NONE && foreign_help(e->name.name);
	for (struct expr *arg = foreign ? NULL : e->args; arg; arg = arg->next)
		names_expr(r, arg);
	if (e->builtin == BUILTIN_NONE) {
		def = names_wanted(r, e->name, WANT_FN);
		if (!def)
			return;
		e->sym = def->sym;
	}
	check_call(r, e);
}

/* ccs(5) 8: `rank` may not stand in counts, in `where`, in topology arguments */
static void resolve_rank(struct resolver *r, const struct expr *e)
{
	if (r->rankless)
		diag_help(r->d,
			  NAMES_ERROR(r, 201, e->span, "`rank` is not allowed in %s", r->rankless),
			  "it is the same for every rank; for some ranks: if E { ... }");
	if (r->node)
		r->node->rank = true;
}

void names_expr(struct resolver *r, struct expr *e)
{
	while (e) {
		switch (e->kind) {
		case E_INT:
		case E_N: return;
		case E_RANK: resolve_rank(r, e); return;
		case E_NAME: resolve_name(r, e); return;
		case E_CALL: resolve_call(r, e); return;
		case E_TABLE:
			for (struct expr *entry = e->args; entry; entry = entry->next)
				names_expr(r, entry);
			return;
		case E_TERM:
			NAMES_ERROR(
				r, 101, e->span,
				"initial values, and sums of them, are allowed only on the right "
				"side of an `ensures`");
			return;
		case E_ENTRY:
			resolve_entry(r, e);
			names_expr(r, e->b);
			break;
		case E_UNARY: break;
		case E_BINARY: names_expr(r, e->b); break;
		case E_COND:
			names_expr(r, e->b);
			names_expr(r, e->c);
			break;
		}
		e = e->a;
	}
}

void names_rankless_expr(struct resolver *r, struct expr *e, const char *what)
{
	r->rankless = what;
	names_expr(r, e);
	r->rankless = NULL;
}

void names_ref(struct resolver *r, struct ref *ref)
{
	struct def *def;

	if (!ref)
		return;
	def = names_wanted(r, ref->name, WANT_BUFFER);
	ref->sym = def ? def->sym : NULL;
	if (ref->sym && ref->block && !ref->sym->buffer->blocks)
		names_wrong_indices(r, ref);
	names_expr(r, ref->block);
	names_expr(r, ref->lo);
	names_expr(r, ref->hi);
}

/* ccs(5) 8, Blocks */
void names_wrong_indices(struct resolver *r, const struct ref *ref)
{
	const char *name = ref->name.name;

	NAMES_MISUSED(r, 203, ref->span, name, ref->sym->buffer->span,
		      ref->block ? "`%s` has one bracket: one index selects a chunk, as in `%s[e]`"
				 : "`%s` has blocks of chunks: two indices select a chunk, as in "
				   "`%s[block][e]`",
		      name, name);
}

/* ---- parameters by name -------------------------------------------------------------- */

/* ccs(5) 4: arguments after a ';' name the callee's parameters. */
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
	if (!callee->params)
		diag_help(r->d, g, "it has no parameters: leave out `; %s = ...`", b->name.name);
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
		names_keep(r, b->name.span, b->sym);
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

/* `x` and `x[e]` are parsed as chunks, but may be a number and an entry of a table. Returns whether
 * the name is known. */
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

/* Checks an argument against its parameter, which takes chunks or a number. */
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

/* Reports a call of another library; its arguments are not resolved. */
static bool foreign_call(struct resolver *r, const struct stmt *s)
{
	const char *help = foreign_help(s->name.name), *verb, *word;
	const struct arg *what = s->args, *peer = what;

	if (!help || names_find(SPACE_RUN, s->name.name))
		return false;
	struct diag *g = NAMES_ERROR(r, 201, s->name.span, "unknown name `%s`", s->name.name);
	diag_help(r->d, g, "%s", help);
	for (int i = 0; i < 3 && peer; i++)
		peer = peer->next;
	if (!peer || !what->ref || !foreign_message(s->name.name, &verb, &word))
		return true;
	const struct source *src = source_at(r->d->sources, s->span.lo);
	diag_fix(r->d, g, s->span, "%s %.*s %s %.*s", verb, (int)(what->span.hi - what->span.lo),
		 src->text + (what->span.lo - src->base), word,
		 (int)(peer->span.hi - peer->span.lo), src->text + (peer->span.lo - src->base));
	return true;
}

/* Help for a schedule that is called with fewer buffers, and a proc of its file that takes them. */
static void help_buffers(struct resolver *r, const struct decl *callee, uint32_t given,
			 struct diag *g)
{
	const struct source *file = source_at(r->d->sources, callee->span.lo);
	const char *text = "", *also = "";

	for (const struct buffer_def *b = callee->buffers; b; b = b->next)
		text = arena_printf(r->arena, "%s%s%s %s", text, *text ? ", " : "",
				    lang_direction_text(b->dir), b->name.name);
	for (const struct def *def = r->top; def; def = def->below) {
		uint32_t n = 0;

		if (!def->decl || def->decl->kind != D_PROC ||
		    source_at(r->d->sources, def->decl->span.lo) != file)
			continue;
		for (const struct param *f = def->decl->formals; f; f = f->next)
			n++;
		if (n == given)
			also = arena_printf(r->arena, "; or, in place, the proc %s", def->name);
	}
	diag_help(r->d, g, "it takes (%s)%s", text, also);
}

/* Help for ring(data, 4): numbers after the buffers belong after a `;`. */
static void help_parameters(struct resolver *r, const struct stmt *s, const struct decl *callee,
			    uint32_t taken, struct diag *g)
{
	const struct binding *p = callee->params;
	const char *text = "";
	uint32_t i = 0;

	for (const struct arg *a = s->args; a; a = a->next, i++) {
		if (i >= taken && (!p || !a->expr))
			return;
		const struct source *src = source_at(r->d->sources, a->span.lo);
		text = arena_printf(r->arena, "%s%s%s%s%.*s", text,
				    i == taken ? "; "
				    : i	       ? ", "
					       : "",
				    i >= taken ? p->name.name : "", i >= taken ? " = " : "",
				    (int)(a->span.hi - a->span.lo),
				    src->text + (a->span.lo - src->base));
		p = i >= taken ? p->next : p;
	}
	if (i < taken && callee->buffers)
		help_buffers(r, callee, i, g);
	if (i < taken && callee->formals) {
		const char *missing = "";
		uint32_t k = 0, n = 0;
		for (const struct param *f = callee->formals; f; f = f->next)
			if (k++ >= i)
				missing = arena_printf(r->arena, "%s%s`%s`", missing,
						       n++ ? ", " : "", param_symbol(f)->name);
		diag_help(r->d, g, "%s %s missing: %s(%s%s...)", missing, n > 1 ? "are" : "is",
			  s->name.name, text, i ? ", " : "");
	}
	if (i <= taken || s->more)
		return;
	diag_help(r->d, g, "parameters follow a semicolon: %s(%s)", s->name.name, text);
}

struct binding **names_bind(struct resolver *r, struct binding **end, const struct binding *param,
			    struct expr *value)
{
	struct binding *b = *end = ARENA_NEW(r->arena, struct binding);

	*b = *param;
	b->next = NULL;
	b->value = value;
	return &b->next;
}

/* The parameters without a value in `given`, with their defaults. */
static struct binding *defaults(struct resolver *r, const struct decl *callee,
				const struct binding *given)
{
	struct binding *first = NULL, **end = &first;

	for (const struct binding *p = callee ? callee->params : NULL; p; p = p->next) {
		const struct binding *m = given;
		while (m && m->sym != p->sym)
			m = m->next;
		if (!m && p->value)
			end = names_bind(r, end, p, p->value);
	}
	return first;
}

static void resolve_run(struct resolver *r, struct stmt *s)
{
	if (foreign_call(r, s))
		return;
	struct def *def = names_wanted(r, s->name, WANT_RUN);
	const struct decl *callee = def ? def->decl : NULL;
	const struct param *p = callee ? callee->formals : NULL;
	struct buffer_def *b = callee ? callee->buffers : NULL;
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
		a->view = p ? p->view : b;
		a->number = p ? p->number : NULL;
		p = p ? p->next : NULL;
		b = b ? b->next : NULL;
	}
	if (callee && given != taken)
		help_parameters(
			r, s, callee, taken,
			names_wrong_number(r, "", s->name, taken, given, callee->name.span));
	names_bindings(r, s->more, callee, s->name.span, NULL);
	s->defaults = defaults(r, callee, s->more);
}

/* ---- statements --------------------------------------------------------------------- */

void names_fn(struct resolver *r, struct fn_def *fn)
{
	names_enter(r);
	for (uint32_t i = 0; i < fn->nparams; i++)
		names_own(r, fn->params[i]);
	r->fn = fn;
	names_expr(r, fn->body);
	r->fn = NULL;
	names_leave(r);
}

/* A let is in scope after its statement, a fn also in its own text. */
void names_let(struct resolver *r, struct stmt *s)
{
	names_expr(r, s->e);
	names_own(r, s->var);
}

/* The table of `for p in NAME`. If it is none, reports it, and the loop is another: as one over [0]. */
static void resolve_over(struct resolver *r, struct stmt *s)
{
	struct ident name = s->e2->args->name;
	const char *use = arena_printf(r->m->arena,
				       "a loop runs over a range, as 0..%s, or a table", name.name);

	if (table_named(r, name, use))
		return;
	*s->e2 = *s->e; /* 0..1 */
	s->e2->value = 1;
	s->body->e = s->e;
}

static void resolve_for(struct resolver *r, struct stmt *s)
{
	if (s->over)
		resolve_over(r, s);
	names_expr(r, s->e);
	names_expr(r, s->e2);
	names_expr(r, s->e3);
	names_enter(r);
	names_own(r, s->var);
	names_block(r, s->body);
	names_leave(r);
}

/* group(first, count, stride), group([...]), group(order) */
static void resolve_within(struct resolver *r, struct stmt *s)
{
	if (s->e2 || s->e->kind == E_TABLE) {
		names_expr(r, s->e);
		names_expr(r, s->e2);
		names_expr(r, s->e3);
	} else if (s->e->kind == E_NAME && !s->e->parens) {
		s->e->sym = table_named(r, s->e->name, "a group of one argument is a table");
	} else {
		names_expr(r, s->e);
		NAMES_ERROR(r, 203, s->e->span,
			    "a group is `group(first, count, stride)`, or `group(order)` with a "
			    "table of its members");
	}
	names_block(r, s->body);
}

/* The end of a link: a number, or the name of a switch. */
static void resolve_end(struct resolver *r, struct expr *e)
{
	struct def *def = (e->kind == E_NAME || e->kind == E_ENTRY) && !e->parens
				  ? names_find(SPACE_VALUE, e->name.name)
				  : NULL;

	if (!def || def->sym->kind != SYM_SWITCH) {
		names_expr(r, e);
		return;
	}
	e->sym = names_wanted(r, e->name, WANT_SWITCH)->sym;
	names_expr(r, e->a);
	names_expr(r, e->b);
	if (e->b || (e->kind == E_ENTRY) != (e->sym->value != NULL))
		NAMES_MISUSED(r, 203, e->span, e->name.name, def->span,
			      e->sym->value ? "`%s` has several switches: %s[e] is one of them"
					    : "`%s` is one switch: write `%s`",
			      e->name.name, e->name.name);
}

/* Attributes of a link or a cost: the names that are allowed, each once. */
static void resolve_attributes(struct resolver *r, const struct stmt *s, const char *const *names,
			       uint32_t n, const char *listed)
{
	bool given[5] = { false };

	for (struct binding *b = s->more; b; b = b->next) {
		uint32_t i = 0;

		while (i < n && strcmp(b->name.name, names[i]))
			i++;
		if (i == n)
			NAMES_ERROR(r, 201, b->name.span, "%s has no `%s`, only %s%s",
				    lang_stmt_rule(s->kind).noun, b->name.name, listed,
				    names_hint(r, names_near(r, b->name.name, names, n)));
		else if (given[i])
			NAMES_ERROR(r, 202, b->name.span, "`%s` is given twice", b->name.name);
		given[i] = true;
	}
}

static void resolve_link(struct resolver *r, struct stmt *s)
{
	static const char *const names[] = { "bandwidth", "latency" };

	resolve_end(r, s->e);
	resolve_end(r, s->e2);
	resolve_attributes(r, s, names, 2, "`bandwidth` and `latency`");
}

static void resolve_cost(struct resolver *r, struct stmt *s)
{
	static const char *const names[] = { "call", "step", "worker", "reduce" };

	resolve_attributes(r, s, names, 4, "`call`, `step`, `worker` and `reduce`");
	for (const struct stmt *t = r->owner->body; t && t != s; t = t->next)
		if (t->kind == S_COST)
			diag_note(r->d, NAMES_ERROR(r, 202, s->span, "`cost` is given twice"),
				  t->span, "the first one");
}

static void resolve_stmt(struct resolver *r, struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO:
	case S_STEP:
	case S_PAR:
	case S_CHANNEL:
	case S_BLOCK:
	case S_ASSERT:
	case S_IF:
		names_ref(r, s->x);
		names_ref(r, s->y);
		names_expr(r, s->e);
		names_block(r, s->body);
		names_block(r, s->orelse);
		return;
	case S_WITHIN: resolve_within(r, s); return;
	case S_PAR_FOR:
	case S_FOR: resolve_for(r, s); return;
	case S_CALL: resolve_run(r, s); return;
	case S_LET: names_let(r, s); return;
	case S_FN:
		names_own(r, s->var);
		names_fn(r, s->fn);
		return;
	case S_SCRATCH:
		names_expr(r, s->buffer->blocks);
		names_expr(r, s->buffer->count);
		names_own(r, s->buffer->sym);
		return;
	case S_LINK: resolve_link(r, s); return;
	case S_COST: resolve_cost(r, s); return;
	case S_SWITCH:
		names_expr(r, s->e);
		names_own(r, s->var);
		return;
	}
}

void names_block(struct resolver *r, struct stmt *body)
{
	names_enter(r);
	for (struct stmt *s = body; s; s = s->next)
		resolve_stmt(r, s);
	names_leave(r);
}
