/*
 * Calls of fns.
 *
 * A fn is inlined, with its parameters bound to the values of the arguments; one
 * that calls itself gets a function of its own for each function of the code that
 * calls it. The names of the caller that it sees go to it before its arguments, so
 * its window is: rank, N, two unused, those names, the arguments.
 */
#include "compiler/expand/code.h"

/* ---- fns ------------------------------------------------------------------------------- */

/* What a walk over an expression, and the fns that it calls, looks for. */
struct walk {
	const struct symbol *sym; /* or NULL */
	bool rank;
	bool found;
	struct gen *gen; /* collect: names of the function in registers */
	struct symbol **v;
	uint32_t n, cap;
	const struct fn_def **seen; /* fns walked already */
	uint32_t nseen, capseen;
	const struct expr **todo; /* a stack: expressions may be deep */
	uint32_t ntodo, captodo;
	struct arena *arena;
};

static void walk_fn(struct walk *w, const struct fn_def *f)
{
	for (uint32_t i = 0; i < w->nseen; i++)
		if (w->seen[i] == f)
			return;
	ARENA_PUSH(w->arena, w->seen, w->nseen, w->capseen) = f;
	ARENA_PUSH(w->arena, w->todo, w->ntodo, w->captodo) = f->body;
}

static void walk_name(struct walk *w, struct symbol *s)
{
	if (w->sym == s)
		w->found = true;
	struct bind *b = w->gen ? code_binding(w->gen->code, s) : NULL;
	bool outer = !s->owner || s->owner->kind == D_CONTRACT; /* has no registers */
	if (!b && s->kind == SYM_LET && outer && s->value)
		ARENA_PUSH(w->arena, w->todo, w->ntodo, w->captodo) = s->value;
	if (!b || (b->kind != B_REG && b->kind != B_LET && (b->kind != B_TABLE || b->value >= 0)))
		return;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->v[i] == s)
			return;
	ARENA_PUSH(w->arena, w->v, w->n, w->cap) = s;
}

static void walk(struct walk *w, const struct expr *e)
{
	ARENA_PUSH(w->arena, w->todo, w->ntodo, w->captodo) = e;
	while (w->ntodo > 0) {
		e = w->todo[--w->ntodo];
		if (e->kind == E_RANK && w->rank)
			w->found = true;
		if (e->kind == E_NAME || e->kind == E_ENTRY)
			walk_name(w, e->sym);
		if (e->kind == E_CALL && e->builtin == BUILTIN_NONE)
			walk_fn(w, e->sym->fn);
		const struct expr *kids[3] = { e->a, e->b, e->c };
		for (int i = 0; i < 3; i++)
			if (kids[i])
				ARENA_PUSH(w->arena, w->todo, w->ntodo, w->captodo) = kids[i];
		/* A table's length is known without its entries. */
		const struct expr *list = e->builtin == BUILTIN_LEN ? NULL : e->args;
		for (const struct expr *a = list; a; a = a->next)
			ARENA_PUSH(w->arena, w->todo, w->ntodo, w->captodo) = a;
	}
}

bool code_mentions(struct arena *a, const struct expr *e, const struct symbol *s, bool rank)
{
	struct walk w = { .arena = a, .sym = s, .rank = rank };
	if (e)
		walk(&w, e);
	return w.found;
}

/* An argument of a fn that was walked: bound only because it is being inlined. */
static bool is_argument(const struct walk *w, const struct symbol *s)
{
	for (uint32_t i = 0; i < w->nseen; i++)
		for (uint32_t j = 0; j < w->seen[i]->nparams; j++)
			if (w->seen[i]->params[j] == s)
				return true;
	return false;
}

/* The function of a fn, for the names that the function being made gives it. */
static uint32_t fn_func(struct gen *g, struct fn_def *f)
{
	struct code *k = g->code;
	for (uint32_t i = 0; i < k->nfuncs; i++)
		if (k->funcs[i].fn == f && k->funcs[i].unit == g->unit && k->funcs[i].n == g->at.n)
			return i;
	struct walk w = { .arena = k->arena, .gen = g };
	walk_fn(&w, f);
	walk(&w, w.todo[--w.ntodo]);
	uint32_t n = 0;
	for (uint32_t i = 0; i < w.n; i++)
		if (!is_argument(&w, w.v[i]))
			w.v[n++] = w.v[i];
	uint32_t row = code_func(k);
	k->funcs[row].fn = f;
	k->funcs[row].unit = g->unit;
	k->funcs[row].n = g->at.n;
	k->funcs[row].captured = w.v;
	k->funcs[row].ncaptured = n;
	return row;
}

static void context_into(struct gen *g, uint16_t d, struct span span)
{
	if (g->at.outside) {
		code_emit(g, I_WHOLE, d, 0, 0, 0, span);
		code_emit(g, I_LDI, (uint16_t)(d + 1), 0, 0, g->code->nranks, span);
		return;
	}
	code_emit(g, I_MOV, d, g->at.g, 0, 0, span);
	code_emit(g, I_MOV, (uint16_t)(d + 1), (uint16_t)(g->at.g + 1), 0, 0, span);
}

/* Registers of a name that a function is given. */
static uint32_t registers_of(const struct symbol *s)
{
	return symbol_is_table(s) ? s->value->nargs : 1;
}

static void captured_into(struct gen *g, struct symbol *s, uint16_t r, struct span span)
{
	struct expr name = { .kind = E_NAME, .span = span, .sym = s };
	if (!symbol_is_table(s)) {
		code_expr_into(g, &name, r);
		return;
	}
	struct entries t = code_table_of(g, s, span);
	for (uint32_t i = 0; i < t.n; i++)
		code_emit(g, I_MOV, (uint16_t)(r + i), (uint16_t)(t.reg + i), 0, 0, span);
}

/* The window of the callee begins at our free registers: rank, N, two unused,
 * the names it sees, its arguments. */
static struct val call_fn(struct gen *g, const struct expr *e, struct fn_def *f)
{
	uint32_t row = fn_func(g, f);
	struct symbol **captured = g->code->funcs[row].captured;
	uint32_t n = g->code->funcs[row].ncaptured;
	uint32_t given = 0;
	for (uint32_t i = 0; i < n; i++)
		given += registers_of(captured[i]);
	uint16_t d = code_reg(g, 4 + given + f->nparams);
	uint16_t r = (uint16_t)(d + 4);
	for (uint32_t i = 0; i < n; i++) {
		captured_into(g, captured[i], r, e->span);
		r = (uint16_t)(r + registers_of(captured[i]));
	}
	for (const struct expr *a = e->args; a; a = a->next, r++)
		code_expr_into(g, a, r);
	context_into(g, d, e->span);
	code_emit_km(g, I_CALLF, d, 0, 0, 0, row, e->span);
	g->next = d + 1u;
	return (struct val){ .reg = d };
}

static bool may_inline(const struct gen *g, const struct fn_def *f)
{
	if (g->ninlined == INLINE_DEPTH)
		return false;
	for (uint32_t i = 0; i < g->ninlined; i++)
		if (g->inlined[i] == f)
			return false;
	/* Fns that call fns that call fns ... double at each level. */
	return g->ninlined < 2 || g->code->ninsns - g->code->funcs[g->func].entry < 4096;
}

struct val code_fn_call(struct gen *g, const struct expr *e, int dst)
{
	struct fn_def *f = e->sym->fn;
	if (!may_inline(g, f))
		return call_fn(g, e, f);
	struct code *k = g->code;
	struct val *v = ARENA_ARRAY(k->arena, struct val, f->nparams + 1);
	struct bind *old = ARENA_ARRAY(k->arena, struct bind, f->nparams + 1);
	uint32_t i = 0;
	for (const struct expr *a = e->args; a && i < f->nparams; a = a->next)
		v[i++] = code_expr(g, a, -1);
	for (i = 0; i < f->nparams; i++) {
		old[i] = k->binds[f->params[i]->id];
		code_bind(k, f->params[i], v[i].known ? B_CONST : B_REG, v[i].reg, v[i].k, NULL);
	}
	g->inlined[g->ninlined++] = f;
	struct val r = code_expr(g, f->body, dst);
	g->ninlined--;
	for (i = 0; i < f->nparams; i++)
		k->binds[f->params[i]->id] = old[i];
	return r;
}

/* One fn as a function; the bindings of the function that it belongs to hold. */
static void make_fn(struct gen *unit, uint32_t row)
{
	struct code *k = unit->code;
	struct fn_def *f = (struct fn_def *)k->funcs[row].fn;
	uint32_t n = k->funcs[row].ncaptured;
	struct symbol **captured = k->funcs[row].captured;
	struct context at = { .n = k->funcs[row].n };
	struct gen g = { .code = k,
			 .func = row,
			 .unit = unit->unit,
			 .at = at,
			 .home = at,
			 .next = 4,
			 .high = 4 };
	struct bind *old = ARENA_ARRAY(k->arena, struct bind, n + f->nparams + 1);
	for (uint32_t i = 0; i < n + f->nparams; i++) {
		struct symbol *s = i < n ? captured[i] : f->params[i - n];
		old[i] = k->binds[s->id];
		uint16_t r = code_reg(&g, i < n ? registers_of(s) : 1);
		if (i < n && symbol_is_table(s))
			code_bind(k, s, B_TABLE, r, -1, s->value);
		else
			code_bind(k, s, B_REG, r, 0, NULL);
	}
	k->funcs[row].entry = k->ninsns;
	k->funcs[row].done = true;
	g.inlined[g.ninlined++] = f;
	code_emit(&g, I_RETF, 0, code_expr_reg(&g, f->body), 0, 0, f->body->span);
	code_gen_end(&g);
	for (uint32_t i = 0; i < n + f->nparams; i++)
		k->binds[(i < n ? captured[i] : f->params[i - n])->id] = old[i];
}

void code_fns(struct gen *g)
{
	struct code *k = g->code;
	for (uint32_t i = 0; i < k->nfuncs && !k->failed; i++)
		if (k->funcs[i].fn && !k->funcs[i].done && k->funcs[i].unit == g->unit)
			make_fn(g, i);
}
