/*
 * The tree as text: --emit=ast.
 *
 * The dump has one node a line, indented by two a level, and ends each line in the
 * node's place ` @line:column`. Two texts that differ only in layout, comments and
 * needless parentheses dump to the same lines but for the places. Recursion goes
 * no deeper than the tree (parse_support.h, MAX_DEPTH). O(nodes).
 */
#include "lang/lang.h"

#include <inttypes.h>

/* ---- the dump ---------------------------------------------------------------------------- */

struct dump {
	struct sources *sources;
	FILE *out;
	int level;
};

/* Starts a node's line. */
static void begin(struct dump *d, const char *what, const char *name)
{
	fprintf(d->out, "%*s%s%s%s", 2 * d->level, "", what, name ? " " : "", name ? name : "");
}

/* Ends it, with its place; what follows is inside, until d->level-- . */
static void end(struct dump *d, struct span span)
{
	struct place at = source_place(d->sources, span.lo);

	fprintf(d->out, " @%" PRIu32 ":%" PRIu32 "\n", at.line, at.column);
	d->level++;
}

static void node(struct dump *d, const char *what, const char *name, struct span span)
{
	begin(d, what, name);
	end(d, span);
}

static void dump_string(struct dump *d, const char *s)
{
	fputs(" \"", d->out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(d->out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(d->out, "\\%03o", (unsigned)c);
		else
			fputc(c, d->out);
	}
	fputc('"', d->out);
}

static void dump_term(struct dump *d, const struct term *t);

static void dump_expr(struct dump *d, const struct expr *e)
{
	static const char *const words[] = {
		[E_INT] = "int",     [E_NAME] = "name",	    [E_RANK] = "rank", [E_N] = "N",
		[E_UNARY] = "unary", [E_BINARY] = "binary", [E_COND] = "cond", [E_CALL] = "call",
		[E_ENTRY] = "entry", [E_TABLE] = "table"
	};
	bool has_op = e && (e->kind == E_UNARY || e->kind == E_BINARY);

	if (!e)
		return;
	if (e->kind == E_TERM) {
		dump_term(d, e->term);
		return;
	}
	begin(d, words[e->kind], has_op ? lang_op_text(e->op) : e->name.name);
	if (e->kind == E_INT)
		fprintf(d->out, " %" PRId64, e->value);
	end(d, e->span);
	dump_expr(d, e->a);
	dump_expr(d, e->b);
	dump_expr(d, e->c);
	for (const struct expr *arg = e->args; arg; arg = arg->next)
		dump_expr(d, arg);
	d->level--;
}

/* A named part with one expression in it; nothing if there is none. */
static void dump_part(struct dump *d, const char *what, const struct expr *e)
{
	if (!e)
		return;
	node(d, what, NULL, e->span);
	dump_expr(d, e);
	d->level--;
}

static void dump_ref(struct dump *d, const char *what, const struct ref *r)
{
	if (!r)
		return;
	node(d, what, r->name.name, r->span);
	dump_part(d, "block", r->block);
	dump_part(d, r->kind == REF_ONE ? "index" : "from", r->lo);
	dump_part(d, "to", r->hi);
	d->level--;
}

static void dump_bindings(struct dump *d, const char *what, const struct binding *b)
{
	for (; b; b = b->next) {
		begin(d, what, b->name.name);
		if (!b->value && !b->sym) /* an attribute of a link */
			fprintf(d->out, " %.17g", b->number);
		end(d, b->span);
		dump_expr(d, b->value);
		d->level--;
	}
}

static void dump_buffer(struct dump *d, const struct buffer_def *b)
{
	begin(d, lang_direction_text(b->dir), b->name.name);
	if (b->by_column)
		fputs(" by column", d->out);
	end(d, b->span);
	dump_part(d, "blocks", b->blocks);
	dump_part(d, "count", b->count);
	if (b->sized) {
		node(d, "sized", b->table.name, b->table.span);
		dump_expr(d, b->size_a);
		dump_expr(d, b->size_b);
		d->level--;
	}
	d->level--;
}

static void dump_fn(struct dump *d, const struct stmt *s)
{
	const struct fn_def *fn = s->fn;

	node(d, "fn", s->name.name, s->span);
	for (uint32_t i = 0; i < fn->nparams; i++) {
		node(d, "param", fn->params[i]->name, fn->params[i]->span);
		d->level--;
	}
	dump_expr(d, fn->body);
	d->level--;
}

static void dump_term(struct dump *d, const struct term *t)
{
	static const char *const words[] = {
		[T_INITIAL] = "initial", [T_SUM] = "sum", [T_AFTER] = "after"
	};

	node(d, words[t->kind], t->var ? t->var->name : NULL, t->span);
	dump_ref(d, "chunk", t->ref);
	dump_part(d, "at", t->at);
	dump_part(d, "from", t->lo);
	dump_part(d, "to", t->hi);
	if (t->body)
		dump_term(d, t->body);
	d->level--;
}

/* ---- statements ---------------------------------------------------------------------------- */

/* How a statement's three expressions are called in the dump. */
static void dump_operands(struct dump *d, const struct stmt *s)
{
	const char *what[3] = { "value", "value", "value" };

	if (s->kind == S_SEND || s->kind == S_RECV || s->kind == S_REDUCE_FROM) {
		what[0] = "peer";
	} else if (s->kind == S_FOR || s->kind == S_PAR_FOR || s->kind == S_LINK) {
		what[0] = "from";
		what[1] = "to";
		what[2] = "by";
	} else if (s->kind == S_WITHIN) {
		what[0] = s->e2 ? "first" : "members";
		what[1] = "count";
		what[2] = "stride";
	}
	dump_part(d, what[0], s->e);
	dump_part(d, what[1], s->e2);
	dump_part(d, what[2], s->e3);
}

static void dump_stmts(struct dump *d, const struct stmt *s);

static void dump_stmt(struct dump *d, const struct stmt *s)
{
	if (s->kind == S_FN) {
		dump_fn(d, s);
		return;
	}
	if (s->kind == S_SCRATCH) {
		dump_buffer(d, s->buffer);
		return;
	}
	begin(d, lang_stmt_rule(s->kind).word, s->name.name);
	if (s->kind == S_ASSERT)
		dump_string(d, s->text);
	end(d, s->span);
	dump_ref(d, "x", s->x);
	dump_ref(d, "y", s->y);
	dump_operands(d, s);
	for (const struct arg *arg = s->args; arg; arg = arg->next) {
		if (arg->ref)
			dump_ref(d, "arg", arg->ref);
		else
			dump_part(d, "arg", arg->expr);
	}
	dump_bindings(d, "with", s->more);
	dump_stmts(d, s->body);
	if (s->orelse) {
		node(d, "else", NULL, s->orelse->span);
		dump_stmts(d, s->orelse);
		d->level--;
	}
	d->level--;
}

static void dump_stmts(struct dump *d, const struct stmt *s)
{
	for (; s; s = s->next)
		dump_stmt(d, s);
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void dump_head(struct dump *d, const struct decl *decl)
{
	dump_bindings(d, "param", decl->params);
	for (const struct param *p = decl->formals; p; p = p->next) {
		if (p->view) {
			dump_buffer(d, p->view);
		} else {
			node(d, "param", p->number->name, p->span);
			d->level--;
		}
	}
	if (decl->contract_name.name) {
		node(d, "implements", decl->contract_name.name, decl->contract_name.span);
		dump_bindings(d, "with", decl->contract_args);
		d->level--;
	}
	for (const struct buffer_def *b = decl->buffers; b; b = b->next)
		dump_buffer(d, b);
	if (decl->topology_name.name) {
		node(d, "on", decl->topology_name.name, decl->topology_name.span);
		for (const struct expr *e = decl->topology_args; e; e = e->next)
			dump_expr(d, e);
		d->level--;
	}
	dump_part(d, "where", decl->where);
	for (const struct ensures *e = decl->ensures; e; e = e->next) {
		node(d, "ensures", NULL, e->span);
		dump_part(d, "if", e->cond);
		dump_ref(d, "left", e->left);
		dump_term(d, e->right);
		d->level--;
	}
}

static void dump_decl(struct dump *d, const struct decl *decl)
{
	static const char *const words[] = { [D_CONTRACT] = "contract",
					     [D_TOPOLOGY] = "topology",
					     [D_PROC] = "proc",
					     [D_SCHEDULE] = "schedule",
					     [D_IMPORT] = "import" };

	if (decl->kind == D_LET || decl->kind == D_FN) {
		dump_stmts(d, decl->body);
		return;
	}
	begin(d, words[decl->kind], decl->name.name);
	if (decl->kind == D_IMPORT)
		dump_string(d, decl->path);
	end(d, decl->span);
	dump_head(d, decl);
	dump_stmts(d, decl->body);
	d->level--;
}

void lang_dump(struct front *f, struct module *m, FILE *out)
{
	struct dump d = { .sources = f->sources, .out = out };

	for (const struct decl *decl = m->main->decls; decl; decl = decl->next)
		dump_decl(&d, decl);
}
