/*
 * Expressions and references as text for messages, formatted as by the formatter, but from the
 * resolved tree. Long texts are cut, so a message is one line and costs O(1).
 */
#include "lang/lang.h"

#include <string.h>

#define MOST 100 /* bytes, before the "..." */

struct text {
	char v[MOST + 1];
	size_t n;
	bool full;
	bool tight; /* no spaces around a binary operator */
};

static void put(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (t->full)
		return;
	if (n > MOST - t->n) {
		t->full = true;
		return;
	}
	memcpy(t->v + t->n, s, n);
	t->n += n;
}

static void put_expr(struct text *t, const struct expr *e);

const char *lang_op_text(enum expr_op op)
{
	static const char *const text[] = {
		[OP_NOT] = "!",	 [OP_COMPL] = "~", [OP_NEG] = "-",  [OP_OR] = "||", [OP_AND] = "&&",
		[OP_BOR] = "|",	 [OP_BXOR] = "^",  [OP_BAND] = "&", [OP_EQ] = "==", [OP_NE] = "!=",
		[OP_LT] = "<",	 [OP_GT] = ">",	   [OP_LE] = "<=",  [OP_GE] = ">=", [OP_SHL] = "<<",
		[OP_SHR] = ">>", [OP_ADD] = "+",   [OP_SUB] = "-",  [OP_MUL] = "*", [OP_DIV] = "/",
		[OP_MOD] = "%"
	};
	return text[op];
}

const char *lang_direction_text(enum direction d)
{
	static const char *const text[] = { [DIR_IN] = "in",
					    [DIR_OUT] = "out",
					    [DIR_INOUT] = "inout",
					    [DIR_VIEW] = "view",
					    [DIR_SCRATCH] = "scratch" };
	return text[d];
}

static void put_index(struct text *t, const struct expr *e)
{
	put(t, "[");
	put_expr(t, e);
	put(t, "]");
}

static void put_expr(struct text *t, const struct expr *e)
{
	char number[24];

	if (t->full || !e)
		return;
	if (e->parens)
		put(t, "(");
	switch (e->kind) {
	case E_INT:
		snprintf(number, sizeof(number), "%lld", (long long)e->value);
		put(t, number);
		break;
	case E_NAME: put(t, e->name.name); break;
	case E_RANK: put(t, "rank"); break;
	case E_N: put(t, "N"); break;
	case E_UNARY:
		put(t, lang_op_text(e->op));
		put_expr(t, e->a);
		break;
	case E_BINARY:
		put_expr(t, e->a);
		put(t, t->tight ? "" : " ");
		put(t, lang_op_text(e->op));
		put(t, t->tight ? "" : " ");
		put_expr(t, e->b);
		break;
	case E_COND:
		put_expr(t, e->a);
		put(t, " ? ");
		put_expr(t, e->b);
		put(t, " : ");
		put_expr(t, e->c);
		break;
	case E_CALL:
		put(t, e->name.name);
		put(t, "(");
		for (const struct expr *arg = e->args; arg; arg = arg->next) {
			put_expr(t, arg);
			put(t, arg->next ? ", " : "");
		}
		put(t, ")");
		break;
	case E_ENTRY:
		put(t, e->name.name);
		put_index(t, e->a);
		break;
	case E_TABLE: /* ccs(5) 3, 5: not allowed in a count or an index of chunks */
	case E_TERM: break;
	}
	if (e->parens)
		put(t, ")");
}

/* For the spaces around `..`: `0..N-1`, but `x * Y .. (x + 1) * Y`. */
static bool is_leaf(const struct expr *e)
{
	return !e->parens &&
	       (e->kind == E_INT || e->kind == E_NAME || e->kind == E_RANK || e->kind == E_N);
}

static bool is_short(const struct expr *e)
{
	if (e->parens)
		return false;
	if (e->kind == E_UNARY)
		return e->op == OP_NEG && is_leaf(e->a);
	if (e->kind == E_BINARY)
		return e->op >= OP_ADD && is_leaf(e->a) && is_leaf(e->b);
	if (e->kind == E_CALL)
		return e->nargs == 1 && is_leaf(e->args);
	return is_leaf(e);
}

static const char *finish(struct arena *a, struct text *t)
{
	t->v[t->n] = '\0';
	return arena_printf(a, "%s%s", t->v, t->full ? "..." : "");
}

const char *lang_expr_text(struct arena *a, const struct expr *e)
{
	struct text t = { .n = 0 };

	put_expr(&t, e);
	return finish(a, &t);
}

const char *lang_ref_text(struct arena *a, const struct ref *r)
{
	struct text t = { .n = 0 };

	put(&t, r->name.name);
	if (r->block)
		put_index(&t, r->block);
	if (r->kind != REF_ALL) {
		bool range = r->kind == REF_RANGE;

		t.tight = range && is_short(r->lo) && is_short(r->hi);
		put(&t, "[");
		put_expr(&t, r->lo);
		if (range) {
			put(&t, t.tight ? ".." : " .. ");
			put_expr(&t, r->hi);
		}
		put(&t, "]");
	}
	return finish(a, &t);
}
