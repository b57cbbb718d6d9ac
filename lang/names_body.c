/*
 * Names in expressions and statements.
 *
 * In: the tree of a body, and the scopes around it. Out: every name has its
 * symbol, every function call its fn or built-in function. A name that is not
 * found is reported once where it stands, and nothing else follows from it.
 * One walk, O(nodes). Long sums lean to the left, so the walk goes down the
 * left operand in a loop; other nesting is bounded by the parser's stack.
 */
#include "lang/names.h"

#include <string.h>

/* A file's let or fn is used: names_graph wants to know where. */
static void note_use(struct resolver *r, const struct symbol *sym, struct span span)
{
	if (sym->owner || (sym->kind != SYM_LET && sym->kind != SYM_FN))
		return;
	if (r->node)
		ARENA_PUSH(r->arena, r->edges, r->nedges, r->capedges) =
			(struct edge){ .from = r->node->id, .to = sym->id };
	if (r->rankless)
		ARENA_PUSH(r->arena, r->uses, r->nuses, r->capuses) =
			(struct rankless_use){ .sym = sym, .span = span, .what = r->rankless };
}

/* Names that need no definition: a contract's bare counts (ccs(5) 4), and the
 * index of a `sized` buffer. */
static struct symbol *free_name(struct resolver *r, struct ident name)
{
	struct symbol *sym = NULL;

	if (r->sizes && !r->sizes->index) {
		sym = names_symbol(r, &r->sizes->index, SYM_INDEX, name);
	} else if (r->sizes && strcmp(r->sizes->index->name, name.name) == 0) {
		sym = r->sizes->index;
	} else if (r->counts && !r->sizes) {
		names_symbol(r, &sym, SYM_COUNT, name);
		names_define(r, SPACE_VALUE, name, sym, NULL);
	}
	return sym;
}

static bool is_free_index(const struct resolver *r, const char *name)
{
	for (int i = 0; i < 2; i++)
		if (r->free_index[i] && strcmp(r->free_index[i], name) == 0)
			return true;
	return false;
}

static void resolve_name(struct resolver *r, struct expr *e)
{
	struct def *def = names_find(r, SPACE_VALUE, e->name.name);

	if (!def) {
		e->sym = free_name(r, e->name);
		if (!e->sym && is_free_index(r, e->name.name))
			diag_add(
				r->d, SEV_ERROR, 201, e->span, NO_RANK,
				"unknown name `%s`: only the right side of a clause knows the index",
				e->name.name);
		else if (!e->sym)
			names_unknown(r, e->name, WANT_NUMBER);
		return;
	}
	if (def->sym->kind == SYM_FN || def->sym->kind == SYM_BUFFER) {
		names_unknown(r, e->name, WANT_NUMBER);
		return;
	}
	if (symbol_is_table(def->sym)) {
		names_not_a_number(r, e->name, def->sym);
		return;
	}
	e->sym = def->sym;
	names_use(r, def);
	note_use(r, e->sym, e->span);
}

/* ccs(5) 3: a table is no number. */
void names_not_a_number(struct resolver *r, struct ident name, const struct symbol *table)
{
	struct diag *g =
		diag_add(r->d, SEV_ERROR, 203, name.span, NO_RANK,
			 "`%s` is a table, not a number: `%s[e]` is an entry, `len(%s)` their "
			 "number",
			 name.name, name.name, name.name);

	diag_note(r->d, g, table->span, "`%s` is defined here", name.name);
}

/* The table of that name, or NULL: E0201, E0203. */
static struct symbol *table_named(struct resolver *r, struct ident name, const char *use)
{
	struct def *def = names_find(r, SPACE_VALUE, name.name);
	struct diag *g;

	if (!def || def->sym->kind == SYM_FN) {
		names_unknown(r, name, WANT_TABLE);
		return NULL;
	}
	if (symbol_is_table(def->sym)) {
		names_use(r, def);
		note_use(r, def->sym, name.span);
		return def->sym;
	}
	if (def->sym->kind == SYM_BUFFER)
		g = diag_add(r->d, SEV_ERROR, 203, name.span, NO_RANK,
			     "`%s` is a buffer: what a chunk holds cannot be used in an expression",
			     name.name);
	else
		g = diag_add(r->d, SEV_ERROR, 203, name.span, NO_RANK, "`%s` is a number, and %s",
			     name.name, use);
	diag_note(r->d, g, def->span, "`%s` is defined here", name.name);
	return NULL;
}

/* name[e]: an entry of a table. */
static void resolve_entry(struct resolver *r, struct expr *e)
{
	e->sym = table_named(r, e->name, "only a table has entries");
	if (e->sym && e->b)
		diag_add(r->d, SEV_ERROR, 203, e->span, NO_RANK,
			 "an entry of table `%s` is a number: it has no entries of its own",
			 e->name.name);
}

/* The value of a let or a group's members: also a table. */
void names_value(struct resolver *r, struct expr *e)
{
	if (e && e->kind == E_TABLE)
		for (struct expr *entry = e->args; entry; entry = entry->next)
			names_expr(r, entry);
	else
		names_expr(r, e);
}

static void resolve_len(struct resolver *r, struct expr *e)
{
	struct expr *arg = e->args;

	if (e->nargs != 1 || arg->kind != E_NAME || arg->parens)
		diag_add(r->d, SEV_ERROR, 203, e->span, NO_RANK,
			 "`len` takes the name of one table");
	else
		arg->sym = table_named(r, arg->name, "`len` takes a table");
}

/* A fn of the text hides a built-in function of its name. */
static void resolve_call(struct resolver *r, struct expr *e)
{
	struct def *def = names_find(r, SPACE_VALUE, e->name.name);

	if (!def && names_builtin(e->name.name) == BUILTIN_LEN) {
		e->builtin = BUILTIN_LEN;
		resolve_len(r, e);
		return;
	}
	for (struct expr *arg = e->args; arg; arg = arg->next)
		names_expr(r, arg);
	if (def && def->sym->kind == SYM_FN) {
		e->sym = def->sym;
		names_use(r, def);
		note_use(r, e->sym, e->name.span);
	} else if (!def) {
		e->builtin = names_builtin(e->name.name);
	}
	if (e->sym || e->builtin != BUILTIN_NONE)
		names_call_fn(r, e);
	else
		names_unknown(r, e->name, WANT_FN);
}

/* ccs(5) 8: `rank` may not stand in counts, in `where`, in topology arguments */
static void resolve_rank(struct resolver *r, const struct expr *e)
{
	if (r->rankless)
		diag_add(r->d, SEV_ERROR, 201, e->span, NO_RANK, "`rank` may not stand in %s",
			 r->rankless);
	if (r->node)
		ARENA_PUSH(r->arena, r->rank_users, r->nrank_users, r->caprank_users) = r->node;
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
			names_value(r, e); /* reached only by what the grammar allows */
			return;
		case E_TERM:
			diag_add(r->d, SEV_ERROR, 101, e->span, NO_RANK,
				 "initial values, and sums of them, stand only on the right of an "
				 "`ensures`");
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
	const char *outer = r->rankless;

	r->rankless = what;
	names_expr(r, e);
	r->rankless = outer;
}

void names_ref(struct resolver *r, struct ref *ref)
{
	struct def *def;

	if (!ref)
		return;
	def = names_find(r, SPACE_VALUE, ref->name.name);
	if (def && def->sym->kind == SYM_BUFFER) {
		ref->sym = def->sym;
		names_use(r, def);
	} else {
		names_unknown(r, ref->name, WANT_BUFFER);
	}
	if (ref->sym && ref->block && !ref->sym->buffer->blocks)
		names_wrong_indices(r, ref);
	names_expr(r, ref->block);
	names_expr(r, ref->lo);
	names_expr(r, ref->hi);
}

/* ccs(5) 8, Blocks */
void names_wrong_indices(struct resolver *r, const struct ref *ref)
{
	const struct buffer_def *b = ref->sym->buffer;
	const char *name = ref->name.name;
	struct diag *g;

	if (ref->block)
		g = diag_add(r->d, SEV_ERROR, 203, ref->span, NO_RANK,
			     "`%s` has chunks in one row: one index names a chunk, as in `%s[e]`",
			     name, name);
	else
		g = diag_add(
			r->d, SEV_ERROR, 203, ref->span, NO_RANK,
			"`%s` has blocks of chunks: two indices name a chunk, as in `%s[block][e]`",
			name, name);
	diag_note(r->d, g, b->span, "`%s` is defined here", name);
}

/* ---- statements --------------------------------------------------------------------- */

void names_fn(struct resolver *r, struct fn_def *fn)
{
	names_enter(r);
	for (uint32_t i = 0; i < fn->nparams; i++) {
		struct symbol *p = fn->params[i];
		struct ident name = { .name = p->name, .span = p->span };

		names_symbol(r, &fn->params[i], SYM_PARAM, name);
		names_define(r, SPACE_VALUE, name, p, NULL);
	}
	names_expr(r, fn->body);
	names_leave(r);
}

/* A let is in scope behind itself, a fn also inside. */
void names_let(struct resolver *r, struct stmt *s)
{
	names_value(r, s->e);
	names_symbol(r, &s->var, SYM_LET, s->name);
	s->var->value = s->e;
	names_define(r, SPACE_VALUE, s->name, s->var, NULL);
}

static void resolve_fn(struct resolver *r, struct stmt *s)
{
	names_symbol(r, &s->fn->sym, SYM_FN, s->fn->name);
	s->fn->sym->fn = s->fn;
	names_define(r, SPACE_VALUE, s->fn->name, s->fn->sym, NULL);
	names_fn(r, s->fn);
}

static void resolve_scratch(struct resolver *r, struct stmt *s)
{
	struct buffer_def *b = s->buffer;

	names_expr(r, b->blocks);
	names_expr(r, b->count);
	names_symbol(r, &b->sym, SYM_BUFFER, b->name);
	b->sym->buffer = b;
	names_define(r, SPACE_VALUE, b->name, b->sym, NULL);
}

static void resolve_for(struct resolver *r, struct stmt *s)
{
	names_expr(r, s->e);
	names_expr(r, s->e2);
	names_expr(r, s->e3);
	names_enter(r);
	names_symbol(r, &s->var, SYM_LOOP, s->name);
	names_define(r, SPACE_VALUE, s->name, s->var, NULL);
	names_block(r, s->body);
	names_leave(r);
}

/* group(first, count, stride), group([...]), group(order) */
static void resolve_within(struct resolver *r, struct stmt *s)
{
	if (s->e2 || s->e->kind == E_TABLE) {
		names_value(r, s->e);
		names_expr(r, s->e2);
		names_expr(r, s->e3);
	} else if (s->e->kind == E_NAME && !s->e->parens) {
		s->e->sym = table_named(r, s->e->name, "a group of one argument is a table");
	} else {
		names_expr(r, s->e);
		diag_add(r->d, SEV_ERROR, 203, s->e->span, NO_RANK,
			 "a group is `group(first, count, stride)`, or `group(order)` with a table "
			 "of its members");
	}
	names_block(r, s->body);
}

/* A chain of `else if` may be long. */
static void resolve_if(struct resolver *r, struct stmt *s)
{
	for (;;) {
		names_expr(r, s->e);
		names_block(r, s->body);
		if (!s->orelse || s->orelse->kind != S_IF || s->orelse->next)
			break;
		s = s->orelse;
	}
	names_block(r, s->orelse);
}

static void resolve_link(struct resolver *r, struct stmt *s)
{
	static const char *const attributes[] = { "bandwidth", "latency" };
	bool given[3] = { false };

	names_expr(r, s->e);
	names_expr(r, s->e2);
	for (struct binding *b = s->more; b; b = b->next) {
		int i = strcmp(b->name.name, attributes[0]) == 0   ? 0
			: strcmp(b->name.name, attributes[1]) == 0 ? 1
								   : 2;

		if (i == 2)
			diag_add(r->d, SEV_ERROR, 201, b->name.span, NO_RANK,
				 "a link has no `%s`, only `bandwidth` and `latency`%s",
				 b->name.name,
				 names_hint(r, names_near(r, b->name.name, attributes, 2)));
		else if (given[i])
			diag_add(r->d, SEV_ERROR, 202, b->name.span, NO_RANK, "`%s` is given twice",
				 b->name.name);
		given[i] = true;
	}
}

static void resolve_stmt(struct resolver *r, struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO:
		names_ref(r, s->x);
		names_ref(r, s->y);
		names_expr(r, s->e);
		return;
	case S_STEP:
	case S_PAR:
	case S_CHANNEL:
	case S_BLOCK:
		names_expr(r, s->e);
		names_block(r, s->body);
		return;
	case S_WITHIN: resolve_within(r, s); return;
	case S_PAR_FOR:
	case S_FOR: resolve_for(r, s); return;
	case S_IF: resolve_if(r, s); return;
	case S_CALL: names_call(r, s); return;
	case S_ASSERT: names_expr(r, s->e); return;
	case S_LET: names_let(r, s); return;
	case S_FN: resolve_fn(r, s); return;
	case S_SCRATCH: resolve_scratch(r, s); return;
	case S_LINK: resolve_link(r, s); return;
	}
}

void names_block(struct resolver *r, struct stmt *body)
{
	names_enter(r);
	for (struct stmt *s = body; s; s = s->next)
		resolve_stmt(r, s);
	names_leave(r);
}
