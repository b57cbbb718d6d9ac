/*
 * Constructors of the syntax tree, one a grammar action.
 *
 * Each makes one node with its span, and the symbol where the node defines a name.
 * A tree's depth is kept as it grows and is never more than MAX_DEPTH: a node that
 * would be deeper is reported and replaced by a leaf, so that every later pass may
 * walk trees by recursion. O(1) each, beside lists handed in.
 */
#include "lang/parse_support.h"

struct ident ast_ident(const char *name, struct span span)
{
	return (struct ident){ .name = name, .span = span };
}

struct symbol *ast_symbol(struct parse *ps, enum symbol_kind kind, struct ident name)
{
	struct symbol *s = ARENA_NEW(ps->arena, struct symbol);

	s->kind = kind;
	s->name = name.name;
	s->span = name.span;
	s->id = ps->module->nsymbols++;
	return s;
}

void ast_add_symbol(struct parse *ps, struct symbol_list *list, struct ident name)
{
	struct symbol *s = ast_symbol(ps, SYM_PARAM, name);

	ARENA_PUSH(ps->arena, list->v, list->n, list->cap) = s;
}

/* ---- expressions ------------------------------------------------------------------- */

static uint32_t deeper(uint32_t depth, const struct expr *e)
{
	return e && e->depth >= depth ? e->depth + 1 : depth;
}

static struct expr *new_expr(struct parse *ps, struct span span, enum expr_kind kind,
			     uint32_t depth)
{
	struct expr *e = ARENA_NEW(ps->arena, struct expr);

	e->kind = kind;
	e->span = span;
	e->depth = depth;
	if (depth > MAX_DEPTH) {
		parse_too_deep(ps, span);
		e->kind = E_INT;
		e->depth = 1;
	}
	return e;
}

struct expr *ast_leaf(struct parse *ps, struct span span, enum expr_kind kind)
{
	return new_expr(ps, span, kind, 1);
}

struct expr *ast_int(struct parse *ps, struct span span, int64_t value)
{
	struct expr *e = ast_leaf(ps, span, E_INT);

	e->value = value;
	return e;
}

struct expr *ast_name(struct parse *ps, struct ident name)
{
	struct expr *e = ast_leaf(ps, name.span, E_NAME);

	e->name = name;
	return e;
}

struct expr *ast_unary(struct parse *ps, struct span span, enum expr_op op, struct expr *a)
{
	struct expr *e = new_expr(ps, span, E_UNARY, deeper(1, a));

	if (e->kind == E_INT)
		return e;
	e->op = op;
	e->a = a;
	return e;
}

struct expr *ast_binary(struct parse *ps, struct span span, enum expr_op op, struct expr *a,
			struct expr *b)
{
	struct expr *e = new_expr(ps, span, E_BINARY, deeper(deeper(1, a), b));

	if (e->kind == E_INT)
		return e;
	e->op = op;
	e->a = a;
	e->b = b;
	return e;
}

struct expr *ast_cond(struct parse *ps, struct span span, struct expr *a, struct expr *b,
		      struct expr *c)
{
	struct expr *e = new_expr(ps, span, E_COND, deeper(deeper(deeper(1, a), b), c));

	if (e->kind == E_INT)
		return e;
	e->a = a;
	e->b = b;
	e->c = c;
	return e;
}

struct expr *ast_call(struct parse *ps, struct span span, struct ident name, struct expr_list args)
{
	uint32_t depth = 1;
	struct expr *e;

	for (struct expr *arg = args.first; arg; arg = arg->next)
		depth = deeper(depth, arg);
	e = new_expr(ps, span, E_CALL, depth);
	if (e->kind == E_INT)
		return e;
	e->name = name;
	e->args = args.first;
	e->nargs = args.n;
	return e;
}

struct expr *ast_entry(struct parse *ps, struct span span, struct ident name, struct expr *a,
		       struct expr *b)
{
	struct expr *e = new_expr(ps, span, E_ENTRY, deeper(deeper(1, a), b));

	if (e->kind == E_INT)
		return e;
	e->name = name;
	e->a = a;
	e->b = b;
	return e;
}

struct expr *ast_table(struct parse *ps, struct span span, struct expr_list entries)
{
	uint32_t depth = 1;
	struct expr *e;

	for (struct expr *entry = entries.first; entry; entry = entry->next)
		depth = deeper(depth, entry);
	e = new_expr(ps, span, E_TABLE, depth);
	if (e->kind == E_INT)
		return e;
	e->args = entries.first;
	e->nargs = entries.n;
	return e;
}

/* ---- terms of a contract ------------------------------------------------------------ */

static struct expr *new_term(struct parse *ps, struct span span, enum term_kind kind,
			     uint32_t depth)
{
	struct expr *e = new_expr(ps, span, E_TERM, depth);

	e->term = ARENA_NEW(ps->arena, struct term);
	e->term->kind = kind;
	e->term->span = span;
	return e;
}

/* The chunk that the text calls name[e] or name[b][e]. */
static struct ref *chunk_of(struct parse *ps, const struct expr *e)
{
	struct ref *r = ast_ref(ps, e->span, REF_ONE, e->name, e->b ? e->b : e->a, NULL);

	return e->b ? ast_of_block(r, e->a) : r;
}

/* A term with a mistake in it, which was reported: it has no chunk. */
static struct expr *bad_term(struct parse *ps, struct span span)
{
	return new_term(ps, span, T_INITIAL, 1);
}

static bool is_bad(const struct term *t)
{
	while (t->kind == T_SUM)
		t = t->body;
	return t->kind == T_INITIAL && !t->ref;
}

static const char whose[] =
	"a clause says what a chunk is made of: x[e]@q is what rank q had in x[e] at the start, "
	"x[e]@rank what this rank had";
static const char clause_form[] =
	"the forms are: ensures b[i] == a[i]@q, ensures b[i] == sum(q in 0..N: a[i]@q), and "
	"ensures after(q in 0..N)";

struct expr *ast_initial(struct parse *ps, struct span span, struct expr *chunk, struct expr *rank)
{
	struct expr *e;

	if (chunk->kind != E_ENTRY || chunk->parens) {
		diag_help(ps->front->diags,
			  parse_error(ps, chunk->span,
				      "before `@` stands a chunk, as "
				      "in x[e]@q"),
			  "%s", clause_form);
		return bad_term(ps, span);
	}
	e = new_term(ps, span, T_INITIAL, deeper(deeper(1, chunk), rank));
	e->term->ref = chunk_of(ps, chunk);
	e->term->at = rank;
	return e;
}

/* What a sum is over. */
static struct term *summand(struct parse *ps, struct expr *e)
{
	if (e->kind == E_TERM && !e->parens)
		return e->term;
	diag_help(ps->front->diags, parse_error(ps, e->span, "a sum is over initial values"), "%s",
		  "the form is: sum(q in 0..N: a[i]@q)");
	return bad_term(ps, e->span)->term;
}

struct expr *ast_sum(struct parse *ps, struct span span, struct ident var, struct expr *lo,
		     struct expr *hi, struct expr *body)
{
	struct expr *e = new_term(ps, span, T_SUM, deeper(deeper(deeper(1, lo), hi), body));

	e->term->var = ast_symbol(ps, SYM_LOOP, var);
	e->term->lo = lo;
	e->term->hi = hi;
	e->term->body = summand(ps, body);
	return e;
}

/* ---- chunks, arguments, bindings ----------------------------------------------------- */

struct ref *ast_ref(struct parse *ps, struct span span, enum ref_kind kind, struct ident name,
		    struct expr *lo, struct expr *hi)
{
	struct ref *r = ARENA_NEW(ps->arena, struct ref);

	r->kind = kind;
	r->span = span;
	r->name = name;
	r->lo = lo;
	r->hi = hi;
	return r;
}

struct ref *ast_of_block(struct ref *r, struct expr *block)
{
	r->block = block;
	return r;
}

struct arg *ast_arg_ref(struct parse *ps, struct ref *r)
{
	struct arg *arg = ARENA_NEW(ps->arena, struct arg);

	arg->span = r->span;
	arg->ref = r;
	return arg;
}

struct arg *ast_arg_expr(struct parse *ps, struct expr *e, struct span span)
{
	struct arg *arg;

	/* A bare name may be a buffer or a number, and an entry one of a table or a
	 * chunk: the resolver decides. */
	if (e->kind == E_NAME && !e->parens)
		return ast_arg_ref(ps, ast_ref(ps, span, REF_ALL, e->name, NULL, NULL));
	if (e->kind == E_ENTRY && !e->parens)
		return ast_arg_ref(ps, chunk_of(ps, e));
	arg = ARENA_NEW(ps->arena, struct arg);
	arg->span = span;
	arg->expr = e;
	return arg;
}

struct binding *ast_binding(struct parse *ps, struct span span, struct ident name,
			    struct expr *value)
{
	struct binding *b = ARENA_NEW(ps->arena, struct binding);

	b->span = span;
	b->name = name;
	b->value = value;
	return b;
}

struct binding *ast_param(struct parse *ps, struct span span, struct ident name, struct expr *value)
{
	struct binding *b = ast_binding(ps, span, name, value);

	b->sym = ast_symbol(ps, SYM_PARAM, name);
	b->sym->value = value;
	return b;
}

struct binding *ast_attribute(struct parse *ps, struct span span, struct ident name, double number,
			      struct span number_span)
{
	struct binding *b = ast_binding(ps, span, name, NULL);

	b->number = number;
	b->number_span = number_span;
	return b;
}

/* ---- statements ------------------------------------------------------------------------ */

static struct stmt *new_stmt(struct parse *ps, struct span span, enum stmt_kind kind)
{
	struct stmt *s = ARENA_NEW(ps->arena, struct stmt);

	s->kind = kind;
	s->span = span;
	s->depth = 1;
	return s;
}

/* Puts statements inside `s`; too deep ones are dropped. */
static struct stmt *fill(struct parse *ps, struct stmt *s, struct stmt_list body,
			 struct stmt_list orelse)
{
	for (struct stmt *t = body.first; t; t = t->next)
		s->depth = t->depth >= s->depth ? t->depth + 1 : s->depth;
	for (struct stmt *t = orelse.first; t; t = t->next)
		s->depth = t->depth >= s->depth ? t->depth + 1 : s->depth;
	if (s->depth > MAX_DEPTH) {
		parse_too_deep(ps, s->span);
		s->depth = 1;
		return s;
	}
	s->body = body.first;
	s->orelse = orelse.first;
	return s;
}

struct stmt *ast_message(struct parse *ps, struct span span, enum stmt_kind kind, struct ref *x,
			 struct expr *peer)
{
	struct stmt *s = new_stmt(ps, span, kind);

	s->x = x;
	s->e = peer;
	return s;
}

struct stmt *ast_local(struct parse *ps, struct span span, enum stmt_kind kind, struct ref *x,
		       struct ref *y)
{
	struct stmt *s = new_stmt(ps, span, kind);

	s->x = x;
	s->y = y;
	return s;
}

struct stmt *ast_block(struct parse *ps, struct span span, enum stmt_kind kind,
		       struct stmt_list body)
{
	return fill(ps, new_stmt(ps, span, kind), body, (struct stmt_list){ 0 });
}

struct stmt *ast_channel(struct parse *ps, struct span span, struct expr *e, struct stmt_list body)
{
	struct stmt *s = ast_block(ps, span, S_CHANNEL, body);

	s->e = e;
	return s;
}

struct stmt *ast_loop(struct parse *ps, struct span span, enum stmt_kind kind, struct ident var,
		      struct range range, struct stmt_list body)
{
	struct stmt *s = ast_block(ps, span, kind, body);

	s->name = var;
	s->var = ast_symbol(ps, SYM_LOOP, var);
	s->e = range.lo;
	s->e2 = range.hi;
	s->e3 = range.by;
	return s;
}

struct stmt *ast_if(struct parse *ps, struct span span, struct expr *e, struct stmt_list then,
		    struct stmt_list orelse)
{
	struct stmt *s = fill(ps, new_stmt(ps, span, S_IF), then, orelse);

	s->e = e;
	return s;
}

struct stmt *ast_within(struct parse *ps, struct span span, struct range members,
			struct stmt_list body)
{
	struct stmt *s = ast_block(ps, span, S_WITHIN, body);

	s->e = members.lo;
	s->e2 = members.hi;
	s->e3 = members.by;
	return s;
}

struct stmt *ast_run(struct parse *ps, struct span span, struct ident callee, struct arg_list args,
		     struct binding_list more)
{
	struct stmt *s = new_stmt(ps, span, S_CALL);

	s->name = callee;
	s->args = args.first;
	s->more = more.first;
	return s;
}

struct stmt *ast_assert(struct parse *ps, struct span span, struct expr *e, const char *text,
			struct span text_span)
{
	struct stmt *s = new_stmt(ps, span, S_ASSERT);

	s->e = e;
	s->text = text;
	s->text_span = text_span;
	return s;
}

struct stmt *ast_let(struct parse *ps, struct span span, struct ident name, struct expr *e)
{
	struct stmt *s = new_stmt(ps, span, S_LET);

	s->name = name;
	s->e = e;
	s->var = ast_symbol(ps, SYM_LET, name);
	s->var->value = e;
	return s;
}

struct stmt *ast_fn(struct parse *ps, struct span span, struct ident name,
		    struct symbol_list params, struct expr *body)
{
	struct stmt *s = new_stmt(ps, span, S_FN);
	struct fn_def *fn = ARENA_NEW(ps->arena, struct fn_def);

	fn->span = span;
	fn->name = name;
	fn->params = params.v;
	fn->nparams = params.n;
	fn->body = body;
	fn->sym = ast_symbol(ps, SYM_FN, name);
	fn->sym->fn = fn;
	s->name = name;
	s->fn = fn;
	s->var = fn->sym;
	return s;
}

struct stmt *ast_scratch(struct parse *ps, struct span span, struct ident name,
			 struct counts counts)
{
	struct stmt *s = new_stmt(ps, span, S_SCRATCH);

	s->name = name;
	s->buffer = ast_buffer(ps, span, DIR_SCRATCH, name, counts);
	return s;
}

struct stmt *ast_link(struct parse *ps, struct span span, struct expr *from, struct expr *to,
		      struct binding_list attributes)
{
	struct stmt *s = new_stmt(ps, span, S_LINK);

	s->e = from;
	s->e2 = to;
	s->more = attributes.first;
	return s;
}

/* ---- buffers and parameters --------------------------------------------------------------- */

struct buffer_def *ast_buffer(struct parse *ps, struct span span, enum direction dir,
			      struct ident name, struct counts counts)
{
	struct buffer_def *b = ARENA_NEW(ps->arena, struct buffer_def);

	b->span = span;
	b->dir = dir;
	b->name = name;
	b->blocks = counts.blocks;
	b->count = counts.chunks;
	b->sym = ast_symbol(ps, SYM_BUFFER, name);
	b->sym->buffer = b;
	return b;
}

struct buffer_def *ast_by_column(struct parse *ps, struct buffer_def *b, struct ident word,
				 uint32_t hi)
{
	if (word.name != lang_intern(ps->module, "column", 6))
		parse_error(ps, word.span, "unexpected name `%s`, expected `column`",
			    parse_clip(ps, word.name, word.span.hi - word.span.lo));
	else if (b->by_column)
		parse_error(ps, word.span, "`by column` stands twice");
	b->by_column = true;
	b->span.hi = hi;
	return b;
}

struct buffer_def *ast_sized(struct parse *ps, struct buffer_def *b, struct span span,
			     struct ident table, struct expr *size_a, struct expr *size_b)
{
	if (b->sized)
		parse_error(ps, span, "`sized` stands twice");
	b->sized = true;
	b->table = table;
	b->size_a = size_a;
	b->size_b = size_b;
	b->index = ast_symbol(ps, SYM_INDEX, ast_ident(lang_intern(ps->module, "i", 1), span));
	b->span.hi = span.hi;
	return b;
}

struct param *ast_formal(struct parse *ps, struct span span, struct ident name,
			 struct counts counts)
{
	struct param *p = ARENA_NEW(ps->arena, struct param);

	p->span = span;
	if (counts.chunks)
		p->view = ast_buffer(ps, span, DIR_VIEW, name, counts);
	else
		p->number = ast_symbol(ps, SYM_PARAM, name);
	return p;
}

/* ---- contracts ------------------------------------------------------------------------------ */

struct term *ast_after(struct parse *ps, struct span span, struct ident name, struct ident var,
		       struct expr *lo, struct expr *hi)
{
	struct term *t = ARENA_NEW(ps->arena, struct term);

	if (name.name != lang_intern(ps->module, "after", 5))
		parse_error(ps, name.span,
			    "the forms of a clause are `x[i] == ...` and "
			    "`after(q in a..b)`; a sum is `sum(q in a..b: x[i]@q)`");
	t->kind = T_AFTER;
	t->span = span;
	t->var = ast_symbol(ps, SYM_LOOP, var);
	t->lo = lo;
	t->hi = hi;
	return t;
}

static struct ensures *new_ensures(struct parse *ps, struct span span, struct expr *cond,
				   struct term *right)
{
	struct ensures *e = ARENA_NEW(ps->arena, struct ensures);

	e->span = span;
	e->cond = cond;
	e->right = right;
	return e;
}

struct ensures *ast_ensures_after(struct parse *ps, struct span span, struct expr *cond,
				  struct term *after)
{
	return new_ensures(ps, span, cond, after);
}

/* What is wrong with an equation, and how it is written. */
static void wrong_equation(struct parse *ps, const struct expr *e)
{
	struct diag *g;

	if (e->kind != E_BINARY || e->op != OP_EQ || e->parens) {
		g = parse_error(ps, e->span, "a clause is an equation");
		diag_help(ps->front->diags, g, "%s", clause_form);
	} else if (e->a->kind != E_ENTRY || e->a->parens) {
		g = parse_error(ps, e->a->span,
				"on the left of a clause stands the chunk that it is "
				"about");
		diag_help(ps->front->diags, g, "%s", clause_form);
	} else {
		g = parse_error(ps, e->b->span,
				"on the right of a clause stands an initial value, or "
				"a sum of such");
		diag_help(ps->front->diags, g, "%s", e->b->kind == E_ENTRY ? whose : clause_form);
	}
}

struct ensures *ast_ensures(struct parse *ps, struct span span, struct expr *cond,
			    struct expr *equation)
{
	const struct expr *e = equation;
	bool equal = e->kind == E_BINARY && e->op == OP_EQ && !e->parens;
	bool term = equal && e->b->kind == E_TERM && !e->b->parens;
	struct ensures *clause;

	if (term && is_bad(e->b->term))
		return NULL;
	if (!term || e->a->kind != E_ENTRY || e->a->parens) {
		wrong_equation(ps, e);
		return NULL;
	}
	clause = new_ensures(ps, span, cond, e->b->term);
	clause->left = chunk_of(ps, e->a);
	return clause;
}

/* ---- declarations ----------------------------------------------------------------------------- */

/* Makes a declaration and puts it at the end of the unit. */
static struct decl *new_decl(struct parse *ps, struct span span, enum decl_kind kind,
			     struct ident name)
{
	struct decl *d = ARENA_NEW(ps->arena, struct decl);

	d->kind = kind;
	d->span = span;
	d->source = ps->source;
	d->name = name;
	*ps->unit->tail = d;
	ps->unit->tail = &d->next;
	return d;
}

void ast_import(struct parse *ps, struct span span, const char *path, struct span text_span)
{
	struct decl *d;

	if (ps->bad_string == text_span.lo)
		return; /* not the path that was meant */
	d = new_decl(ps, span, D_IMPORT, (struct ident){ 0 });
	d->path = path;
	d->text_span = text_span;
}

void ast_define(struct parse *ps, enum decl_kind kind, struct stmt *s)
{
	new_decl(ps, s->span, kind, s->name)->body = s;
}

void ast_contract(struct parse *ps, struct span span, struct span head, struct ident name,
		  struct buffer_list buffers, struct binding_list params, struct stmt_list lets,
		  struct ensures_list ensures)
{
	struct decl *d = new_decl(ps, ensures.first ? span : head, D_CONTRACT, name);

	d->buffers = buffers.first;
	d->params = params.first;
	d->ensures = ensures.first;
	if (ensures.first) {
		d->body = lets.first;
		return;
	}
	/* ccs(5) 4: a contract's lets stand before its clauses; these are the file's. */
	for (struct stmt *s = lets.first, *next; s; s = next) {
		next = s->next;
		s->next = NULL;
		ast_define(ps, D_LET, s);
	}
}

void ast_topology(struct parse *ps, struct span span, struct ident name, struct binding_list params,
		  struct expr *where, struct stmt_list body)
{
	struct decl *d = new_decl(ps, span, D_TOPOLOGY, name);

	d->params = params.first;
	d->where = where;
	d->body = body.first;
	ast_check_body(ps, d);
}

static void set_topology(struct decl *d, struct applied topology)
{
	d->topology_name = topology.name;
	d->topology_args = topology.args.first;
	d->ntopology_args = topology.args.n;
}

void ast_proc(struct parse *ps, struct span span, struct ident name, struct param_list formals,
	      struct applied topology, struct stmt_list body)
{
	struct decl *d = new_decl(ps, span, D_PROC, name);

	d->formals = formals.first;
	set_topology(d, topology);
	d->body = body.first;
	ast_check_body(ps, d);
}

void ast_schedule(struct parse *ps, struct span span, struct ident name, struct binding_list params,
		  struct promise promise, struct applied topology, struct expr *where,
		  struct stmt_list body)
{
	struct decl *d = new_decl(ps, span, D_SCHEDULE, name);

	d->params = params.first;
	d->contract_name = promise.contract;
	d->buffers = promise.buffers.first;
	d->contract_args = promise.args.first;
	set_topology(d, topology);
	d->where = where;
	d->body = body.first;
	ast_check_body(ps, d);
}
