/*
 * The tree as text: --emit=ast.
 *
 * The dump has one node a line, indented by two a level; each line ends in the place of the node, `
 * @line:column`. Two texts that differ only in layout, comments and redundant parentheses give the
 * same lines except for the places. Recursion is as deep as the tree (parse_support.h, MAX_DEPTH).
 * O(nodes).
 */
#include "lang/lang.h"

#include <inttypes.h>

/* ---- the dump ---------------------------------------------------------------------------- */

struct dump {
	struct sources *sources;
	FILE *out;
};

/* Begins the line of a node. */
static void begin(struct dump *d, int level, const char *what, const char *name)
{
	fprintf(d->out, "%*s%s%s%s", 2 * level, "", what, name ? " " : "", name ? name : "");
}

/* Ends the line, with the node's place. */
static void end(struct dump *d, struct span span)
{
	struct place at = source_place(d->sources, span.lo);

	fprintf(d->out, " @%" PRIu32 ":%" PRIu32 "\n", at.line, at.column);
}

static void node(struct dump *d, int level, const char *what, const char *name, struct span span)
{
	begin(d, level, what, name);
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

static void dump_term(struct dump *d, int level, const struct term *t);

static void dump_expr(struct dump *d, int level, const struct expr *e)
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
		dump_term(d, level, e->term);
		return;
	}
	begin(d, level, words[e->kind], has_op ? lang_op_text(e->op) : e->name.name);
	if (e->kind == E_INT)
		fprintf(d->out, " %" PRId64, e->value);
	end(d, e->span);
	dump_expr(d, level + 1, e->a);
	dump_expr(d, level + 1, e->b);
	dump_expr(d, level + 1, e->c);
	for (const struct expr *arg = e->args; arg; arg = arg->next)
		dump_expr(d, level + 1, arg);
}

/* Writes a named part with one expression; nothing if there is none. */
static void dump_part(struct dump *d, int level, const char *what, const struct expr *e)
{
	if (!e)
		return;
	node(d, level, what, NULL, e->span);
	dump_expr(d, level + 1, e);
}

static void dump_ref(struct dump *d, int level, const char *what, const struct ref *r)
{
	if (!r)
		return;
	node(d, level, what, r->name.name, r->span);
	dump_part(d, level + 1, "block", r->block);
	dump_part(d, level + 1, r->kind == REF_ONE ? "index" : "from", r->lo);
	dump_part(d, level + 1, "to", r->hi);
}

static void dump_bindings(struct dump *d, int level, const char *what, const struct binding *b)
{
	for (; b; b = b->next) {
		begin(d, level, what, b->name.name);
		if (!b->value && !b->sym) /* an attribute */
			fprintf(d->out, " %.17g", b->number);
		end(d, b->span);
		dump_expr(d, level + 1, b->value);
	}
}

static void dump_buffer(struct dump *d, int level, const struct buffer_def *b)
{
	begin(d, level, lang_direction_text(b->dir), b->name.name);
	if (b->by_column)
		fputs(" by column", d->out);
	end(d, b->span);
	dump_part(d, level + 1, "blocks", b->blocks);
	dump_part(d, level + 1, "count", b->count);
	if (b->sized) {
		node(d, level + 1, "sized", b->table.name, b->table.span);
		dump_expr(d, level + 2, b->size_a);
		dump_expr(d, level + 2, b->size_b);
	}
}

static void dump_fn(struct dump *d, int level, const struct stmt *s)
{
	const struct fn_def *fn = s->fn;

	node(d, level, "fn", s->name.name, s->span);
	for (uint32_t i = 0; i < fn->nparams; i++)
		node(d, level + 1, "param", fn->params[i]->name, fn->params[i]->span);
	dump_expr(d, level + 1, fn->body);
}

static void dump_term(struct dump *d, int level, const struct term *t)
{
	static const char *const words[] = {
		[T_INITIAL] = "initial", [T_SUM] = "sum", [T_AFTER] = "after"
	};

	node(d, level, words[t->kind], t->var ? t->var->name : NULL, t->span);
	dump_ref(d, level + 1, "chunk", t->ref);
	dump_part(d, level + 1, "at", t->at);
	dump_part(d, level + 1, "from", t->lo);
	dump_part(d, level + 1, "to", t->hi);
	dump_part(d, level + 1, "over", t->over);
	if (t->body)
		dump_term(d, level + 1, t->body);
}

/* ---- statements ---------------------------------------------------------------------------- */

/* Writes a statement's three expressions, with their names in the dump. */
static void dump_operands(struct dump *d, int level, const struct stmt *s)
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
	dump_part(d, level, what[0], s->e);
	dump_part(d, level, what[1], s->e2);
	dump_part(d, level, what[2], s->e3);
}

static void dump_stmts(struct dump *d, int level, const struct stmt *s);

static void dump_stmt(struct dump *d, int level, const struct stmt *s)
{
	if (s->kind == S_FN) {
		dump_fn(d, level, s);
		return;
	}
	if (s->kind == S_SCRATCH) {
		dump_buffer(d, level, s->buffer);
		return;
	}
	begin(d, level, lang_stmt_rule(s->kind).word, s->name.name);
	if (s->kind == S_ASSERT)
		dump_string(d, s->text);
	end(d, s->span);
	dump_ref(d, level + 1, "x", s->x);
	dump_ref(d, level + 1, "y", s->y);
	dump_operands(d, level + 1, s);
	for (const struct arg *arg = s->args; arg; arg = arg->next) {
		if (arg->ref)
			dump_ref(d, level + 1, "arg", arg->ref);
		else
			dump_part(d, level + 1, "arg", arg->expr);
	}
	dump_bindings(d, level + 1, "with", s->more);
	dump_stmts(d, level + 1, s->body);
	if (s->orelse) {
		node(d, level + 1, "else", NULL, s->orelse->span);
		dump_stmts(d, level + 2, s->orelse);
	}
}

static void dump_stmts(struct dump *d, int level, const struct stmt *s)
{
	for (; s; s = s->next)
		dump_stmt(d, level, s);
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void dump_head(struct dump *d, int level, const struct decl *decl)
{
	dump_bindings(d, level, "param", decl->params);
	for (const struct param *p = decl->formals; p; p = p->next) {
		if (p->view)
			dump_buffer(d, level, p->view);
		else
			node(d, level, "param", p->number->name, p->span);
	}
	if (decl->contract_name.name) {
		node(d, level, "implements", decl->contract_name.name, decl->contract_name.span);
		dump_bindings(d, level + 1, "with", decl->contract_args);
	}
	for (const struct buffer_def *b = decl->buffers; b; b = b->next)
		dump_buffer(d, level, b);
	if (decl->topology_name.name) {
		node(d, level, "on", decl->topology_name.name, decl->topology_name.span);
		for (const struct expr *e = decl->topology_args; e; e = e->next)
			dump_expr(d, level + 1, e);
	}
	dump_part(d, level, "where", decl->where);
	for (const struct ensures *e = decl->ensures; e; e = e->next) {
		node(d, level, "ensures", NULL, e->span);
		dump_part(d, level + 1, "if", e->cond);
		dump_ref(d, level + 1, "left", e->left);
		dump_term(d, level + 1, e->right);
	}
}

static void dump_decl(struct dump *d, int level, const struct decl *decl)
{
	static const char *const words[] = { [D_CONTRACT] = "contract",
					     [D_TOPOLOGY] = "topology",
					     [D_PROC] = "proc",
					     [D_SCHEDULE] = "schedule",
					     [D_IMPORT] = "import" };

	if (decl->kind == D_LET || decl->kind == D_FN) {
		dump_stmts(d, level, decl->body);
		return;
	}
	begin(d, level, words[decl->kind], decl->name.name);
	if (decl->kind == D_IMPORT)
		dump_string(d, decl->path);
	end(d, decl->span);
	dump_head(d, level + 1, decl);
	dump_stmts(d, level + 1, decl->body);
}

void lang_dump(struct front *f, struct module *m, FILE *out)
{
	struct dump d = { .sources = f->sources, .out = out };

	for (const struct decl *decl = m->main->decls; decl; decl = decl->next)
		dump_decl(&d, 0, decl);
}
