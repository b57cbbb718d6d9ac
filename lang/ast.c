/*
 * Constructors of the syntax tree: each makes a node from its fields, and a symbol if the node
 * defines a name.
 *
 * Nodes store their depth, which is at most MAX_DEPTH: a deeper node is reported and replaced by a
 * leaf, so that every later pass can walk trees by recursion. O(1) each, plus the lists passed in.
 */
#include "lang/parse_support.h"

#include <string.h>

struct symbol *lang_symbol(struct module *m, enum symbol_kind kind, struct ident name)
{
	return ARENA_MAKE(m->arena, struct symbol, .kind = kind, .name = name.name,
			  .span = name.span, .id = m->nsymbols++);
}

/* ---- expressions ------------------------------------------------------------------- */

static uint32_t deeper(uint32_t depth, const struct expr *e)
{
	return e && e->depth >= depth ? e->depth + 1 : depth;
}

struct expr *ast_expr(struct parse *ps, struct expr e)
{
	e.depth = deeper(deeper(deeper(e.depth ? e.depth : 1, e.a), e.b), e.c);
	for (const struct expr *arg = e.args; arg; arg = arg->next)
		e.depth = deeper(e.depth, arg);
	if (e.depth > MAX_DEPTH) {
		parse_too_deep(ps, e.span);
		e = (struct expr){ .kind = E_INT, .span = e.span, .term = e.term, .depth = 1 };
	}
	bool chain = e.kind == E_BINARY && e.op != OP_OR && e.op != OP_AND;
	if (chain)
		e.first = e.a->first ? e.a->first : e.a;
	struct expr *made = ARENA_COPY(ps->arena, &e);
	if (chain)
		e.a->up = made;
	return made;
}

/* ---- terms of a contract ------------------------------------------------------------ */

/* Makes an E_TERM. `inner`: an expression of the term, for the depth. */
static struct expr *new_term(struct parse *ps, struct term t, const struct expr *inner)
{
	uint32_t depth = deeper(deeper(deeper(deeper(deeper(1, t.at), t.lo), t.hi), t.over), inner);

	return ast_expr(ps, (struct expr){ .kind = E_TERM,
					   .span = t.span,
					   .term = ARENA_COPY(ps->arena, &t),
					   .depth = depth });
}

/* Makes the reference of name[e] or name[b][e]. */
static struct ref *chunk_of(struct parse *ps, const struct expr *e)
{
	return ARENA_MAKE(ps->arena, struct ref, .kind = REF_ONE, .span = e->span, .name = e->name,
			  .block = e->b ? e->a : NULL, .lo = e->b ? e->b : e->a);
}

/* A term with a reported mistake; it has no chunk. */
static struct expr *bad_term(struct parse *ps, struct span span)
{
	return new_term(ps, (struct term){ .kind = T_INITIAL, .span = span }, NULL);
}

static bool is_bad(const struct term *t)
{
	while (t->kind == T_SUM)
		t = t->body;
	return t->kind == T_INITIAL && !t->ref;
}

static const char whose[] =
	"a clause says what a chunk contains: x[e]@q is the initial value of x[e] on rank q, "
	"x[e]@rank the initial value on this rank";
static const char clause_form[] =
	"write: ensures b[i] == a[i]@q, ensures b[i] == sum(q in 0..N: a[i]@q), or ensures after(q "
	"in 0..N)";

static void refuse(struct parse *ps, struct span span, const char *what, const char *form)
{
	diag_help(ps->front->diags, parse_error(ps, span, "%s", what), "%s", form);
}

struct expr *ast_initial(struct parse *ps, struct span span, struct expr *chunk, struct expr *rank)
{
	struct term t = { .kind = T_INITIAL, .span = span, .at = rank };

	if (chunk->kind != E_ENTRY || chunk->parens) {
		refuse(ps, chunk->span, "`@` follows a chunk, as in x[e]@q", clause_form);
		return bad_term(ps, span);
	}
	t.ref = chunk_of(ps, chunk);
	return new_term(ps, t, chunk);
}

/* The body of a sum. */
static struct term *summand(struct parse *ps, struct expr *e)
{
	if (e->kind == E_TERM && !e->parens)
		return e->term;
	refuse(ps, e->span, "a sum combines initial values", "write: sum(q in 0..N: a[i]@q)");
	return bad_term(ps, e->span)->term;
}

struct expr *ast_sum(struct parse *ps, struct ident var, struct term t, struct expr *body)
{
	struct expr *e;

	t.kind = T_SUM;
	t.var = lang_symbol(ps->module, SYM_LOOP, var);
	e = new_term(ps, t, body);
	e->term->body = summand(ps, body);
	return e;
}

/* ---- arguments and parameters -------------------------------------------------------- */

/* A bare name may be a buffer or a number, and name[e] a chunk or an entry of a table: the resolver
 * decides. */
struct arg *ast_arg(struct parse *ps, struct expr *e, struct span span)
{
	struct arg arg = { .span = span };

	if (e->kind == E_NAME && !e->parens)
		arg.ref = ARENA_MAKE(ps->arena, struct ref, .kind = REF_ALL, .span = span,
				     .name = e->name);
	else if (e->kind == E_ENTRY && !e->parens)
		arg.ref = chunk_of(ps, e);
	else
		arg.expr = e;
	return ARENA_COPY(ps->arena, &arg);
}

struct binding *ast_param(struct parse *ps, struct span span, struct ident name, struct expr *value)
{
	return ARENA_MAKE(ps->arena, struct binding, .span = span, .name = name, .value = value,
			  .sym = lang_symbol(ps->module, SYM_PARAM, name));
}

/* ---- statements ------------------------------------------------------------------------ */

struct stmt *ast_stmt(struct parse *ps, struct stmt s)
{
	s.number = ps->module->nstmts++;
	s.depth = 1;
	for (const struct stmt *t = s.body; t; t = t->next)
		s.depth = t->depth >= s.depth ? t->depth + 1 : s.depth;
	for (const struct stmt *t = s.orelse; t; t = t->next)
		s.depth = t->depth >= s.depth ? t->depth + 1 : s.depth;
	if (s.depth > MAX_DEPTH) {
		parse_too_deep(ps, s.span);
		s.depth = 1;
		s.body = s.orelse = NULL;
	}
	return ARENA_COPY(ps->arena, &s);
}

struct stmt *ast_let(struct parse *ps, struct span span, struct ident name, struct expr *e)
{
	struct symbol *var = lang_symbol(ps->module, SYM_LET, name);

	var->value = e;
	return ast_stmt(
		ps, (struct stmt){ .kind = S_LET, .span = span, .name = name, .e = e, .var = var });
}

struct stmt_list ast_over(struct parse *ps, struct span span, enum stmt_kind kind,
			  struct ident name, struct expr *table, struct stmt *body)
{
	const char *made[2] = { arena_printf(ps->arena, "index of %s", name.name),
				arena_printf(ps->arena, "table of %s, %u", name.name,
					     ps->module->nstmts) };
	struct ident index = { lang_intern(ps->module, made[0], strlen(made[0])), { 0 } };
	struct ident of = { lang_intern(ps->module, made[1], strlen(made[1])), { 0 } };
	struct stmt_list list = { 0 };
	struct expr *len, *entry, *zero;
	struct stmt *let;

	if (table->kind == E_TABLE) {
		let = ast_let(ps, table->span, of, table);
		LIST_APPEND(list, let);
	} else {
		of = table->name;
	}
	zero = ast_expr(ps, (struct expr){ .kind = E_INT });
	len = ast_expr(ps, (struct expr){ .kind = E_NAME, .name = of });
	len = ast_expr(ps, (struct expr){ .kind = E_CALL,
					  .args = len,
					  .nargs = 1,
					  .name = { lang_intern(ps->module, "len", 3), { 0 } } });
	entry = ast_expr(ps, (struct expr){ .kind = E_NAME, .name = index });
	entry = ast_expr(ps, (struct expr){ .kind = E_ENTRY, .name = of, .a = entry });
	let = ast_let(ps, name.span, name, entry);
	let->var->used = true; /* as a range's variable, it may stand for a count alone */
	let->next = body;
	body = ast_stmt(ps, (struct stmt){ .kind = kind,
					   .span = span,
					   .name = name,
					   .over = true,
					   .var = lang_symbol(ps->module, SYM_LOOP, index),
					   .e = zero,
					   .e2 = len,
					   .body = let });
	LIST_APPEND(list, body);
	return list;
}

struct stmt *ast_switch(struct parse *ps, struct span span, struct ident name, struct expr *count)
{
	struct symbol *var = lang_symbol(ps->module, SYM_SWITCH, name);

	var->value = count;
	return ast_stmt(
		ps, (struct stmt){
			    .kind = S_SWITCH, .span = span, .name = name, .e = count, .var = var });
}

struct stmt *ast_fn(struct parse *ps, struct span span, struct ident name,
		    struct symbol_list params, struct expr *body)
{
	struct symbol *sym = lang_symbol(ps->module, SYM_FN, name);

	sym->fn = ARENA_MAKE(ps->arena, struct fn_def, .params = params.v, .nparams = params.n,
			     .body = body);
	return ast_stmt(
		ps, (struct stmt){
			    .kind = S_FN, .span = span, .name = name, .fn = sym->fn, .var = sym });
}

/* ---- buffers -------------------------------------------------------------------------- */

struct buffer_def *ast_buffer(struct parse *ps, struct span span, enum direction dir,
			      struct ident name, struct counts counts)
{
	struct symbol *sym = lang_symbol(ps->module, SYM_BUFFER, name);

	sym->buffer =
		ARENA_MAKE(ps->arena, struct buffer_def, .span = span, .dir = dir, .name = name,
			   .blocks = counts.blocks, .count = counts.chunks, .sym = sym);
	return sym->buffer;
}

struct buffer_def *ast_by_column(struct parse *ps, struct buffer_def *b, struct ident word,
				 uint32_t hi)
{
	if (word.name != lang_intern(ps->module, "column", 6))
		parse_error(ps, word.span, "unexpected name `%s`, expected `column`",
			    parse_clip(ps, word.name, word.span.hi - word.span.lo));
	else if (b->by_column)
		parse_error(ps, word.span, "`by column` is given twice");
	b->by_column = true;
	b->span.hi = hi;
	return b;
}

struct buffer_def *ast_sized(struct parse *ps, struct buffer_def *b, struct span span,
			     struct ident table, struct expr *size_a, struct expr *size_b)
{
	if (b->sized)
		parse_error(ps, span, "`sized` is given twice");
	b->sized = true;
	b->table = table;
	b->size_a = size_a;
	b->size_b = size_b;
	b->index = lang_symbol(ps->module, SYM_INDEX,
			       (struct ident){ lang_intern(ps->module, "i", 1), span });
	b->span.hi = span.hi;
	return b;
}

/* ---- contracts ------------------------------------------------------------------------------ */

struct term *ast_after(struct parse *ps, struct span span, struct ident name, struct ident var,
		       struct expr *lo, struct expr *hi)
{
	if (name.name != lang_intern(ps->module, "after", 5))
		parse_error(ps, name.span,
			    "a clause has the form `x[i] == ...` or `after(q in a..b)`; a sum is "
			    "`sum(q in a..b: x[i]@q)`");
	return ARENA_MAKE(ps->arena, struct term, .kind = T_AFTER, .span = span,
			  .var = lang_symbol(ps->module, SYM_LOOP, var), .lo = lo, .hi = hi);
}

/* Help: for a[i]@0 + a[i]@1 the equivalent sum, else the forms of a clause. */
static const char *sum_form(struct parse *ps, const struct expr *e)
{
	const struct expr *last = e;
	int64_t first = 0, n = 0;

	for (;; e = e->a) {
		const struct expr *t = e->kind == E_BINARY && e->op == OP_ADD ? e->b : e;

		if (t->kind != E_TERM || t->term->kind != T_INITIAL || t->term->at->kind != E_INT ||
		    (n && t->term->at->value != first - 1) ||
		    (n && strcmp(lang_ref_text(ps->arena, t->term->ref),
				 lang_ref_text(ps->arena, last->term->ref)) != 0))
			return clause_form;
		last = t;
		first = t->term->at->value;
		n++;
		if (t == e)
			break;
	}
	if (n == 1)
		return clause_form;
	return arena_printf(ps->arena, "write: sum(q in %lld..%lld: %s@q)", (long long)first,
			    (long long)(first + n), lang_ref_text(ps->arena, last->term->ref));
}

struct ensures *ast_ensures(struct parse *ps, struct span span, struct expr *cond, struct expr *e)
{
	bool equal = e->kind == E_BINARY && e->op == OP_EQ && !e->parens;
	bool term = equal && e->b->kind == E_TERM && !e->b->parens;

	if (term && is_bad(e->b->term))
		return NULL;
	if (!equal)
		refuse(ps, e->span, "a clause must be an equation",
		       e->kind == E_CALL && e->name.name == lang_intern(ps->module, "after", 5)
			       ? "after has a range of ranks: after(q in 0..1) is rank 0"
			       : clause_form);
	else if (e->a->kind != E_ENTRY || e->a->parens)
		refuse(ps, e->a->span, "the left side of a clause must be a chunk", clause_form);
	else if (!term)
		refuse(ps, e->b->span,
		       "the right side of a clause must be an initial value, or a sum of initial "
		       "values",
		       e->b->kind == E_ENTRY ? whose
		       : e->b->kind == E_BINARY && (e->b->op == OP_DIV || e->b->op == OP_MUL)
			       ? "the caller chooses the operator; avg divides the sum by N"
			       : sum_form(ps, e->b));
	else
		return ARENA_MAKE(ps->arena, struct ensures, .span = span, .cond = cond,
				  .left = chunk_of(ps, e->a), .right = e->b->term);
	return NULL;
}

/* ---- declarations --------------------------------------------------------------------- */

void ast_decl(struct parse *ps, struct decl fields)
{
	struct decl *d = ARENA_COPY(ps->arena, &fields);

	d->source = ps->source;
	*ps->unit->tail = d;
	ps->unit->tail = &d->next;
	if (d->kind == D_TOPOLOGY || d->kind == D_PROC || d->kind == D_SCHEDULE)
		ast_check_body(ps, d);
}

void ast_define(struct parse *ps, enum decl_kind kind, struct stmt *s)
{
	ast_decl(ps, (struct decl){ .kind = kind, .span = s->span, .name = s->name, .body = s });
}

void ast_formula(struct parse *ps, struct expr *body)
{
	/* No text can spell the name of an option. */
	const char *option = ps->source->name;
	struct ident name = { lang_intern(ps->module, option, strlen(option)), body->span };
	struct symbol_list params = { 0 };

	for (const char *const *p = ps->front->formula; *p; p++)
		ARENA_PUSH(ps->arena, params.v, params.n, params.cap) = lang_symbol(
			ps->module, SYM_PARAM,
			(struct ident){ lang_intern(ps->module, *p, strlen(*p)), body->span });
	ast_define(ps, D_FN, ast_fn(ps, body->span, name, params, body));
}

void ast_contract(struct parse *ps, struct decl contract, struct span head, struct stmt *lets)
{
	if (contract.ensures) {
		contract.body = lets;
		ast_decl(ps, contract);
		return;
	}
	contract.span = head;
	ast_decl(ps, contract);
	/* ccs(5) 4: a contract's lets come before its clauses; these belong to the file. */
	for (struct stmt *s = lets, *next; s; s = next) {
		next = s->next;
		s->next = NULL;
		ast_define(ps, D_LET, s);
	}
}
