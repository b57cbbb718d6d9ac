/*
 * Procs, schedules that are called like procs, and their calls.
 *
 * A proc gets a function for each N that is known where it is called, and one for
 * all others. The caller fills the window: context, four registers a view (first
 * cell, number of cells, two unused), one a number; the callee cuts the views and
 * checks its `where` and its topology's before its body. ccs(5) 4.
 */
#include "compiler/expand/code.h"

#define VARIANTS 8 /* functions of one proc with a known N */

static uint32_t proc_func(struct code *k, const struct decl *d, const struct context *at)
{
	uint32_t variants = 0;
	for (int pass = 0; pass < 2; pass++) {
		int64_t n = pass == 0 ? at->n : -1;
		bool whole = pass == 0 && at->whole;
		for (uint32_t i = 0; i < k->nfuncs; i++) {
			const struct func *f = &k->funcs[i];
			if (!f->proc || f->decl != d)
				continue;
			variants += pass == 0;
			if (f->n == n && f->whole == whole)
				return i;
		}
		if (variants < VARIANTS || pass == 1) {
			uint32_t row = code_func(k);
			k->funcs[row].decl = d;
			k->funcs[row].proc = true;
			k->funcs[row].n = n;
			k->funcs[row].whole = whole;
			return row;
		}
	}
	return 0;
}

static uint32_t window_size(const struct decl *d)
{
	uint32_t n = 4;
	for (const struct param *p = d->formals; p; p = p->next)
		n += p->view ? 4 : 1;
	if (d->kind == D_SCHEDULE) {
		for (const struct buffer_def *b = d->buffers; b; b = b->next)
			n += 4;
		for (const struct binding *p = d->params; p; p = p->next)
			n++;
	}
	return n;
}

/* A schedule's parameters at a call: those given, then the defaults of the others,
 * which may use the ones before them. Its own bindings hold meanwhile: it may be
 * the schedule that is being made. */
static void call_params(struct gen *g, const struct stmt *s, uint16_t r)
{
	struct code *k = g->code;
	uint32_t n = 0, i;
	for (const struct binding *p = s->callee->params; p; p = p->next)
		n++;
	struct bind *old = ARENA_ARRAY(k->arena, struct bind, n + 1);
	bool *given = ARENA_ARRAY(k->arena, bool, n + 1);
	const struct binding *p;
	for (i = 0, p = s->callee->params; p; p = p->next, i++)
		for (const struct binding *m = s->more; m; m = m->next)
			if (m->sym == p->sym) {
				code_expr_into(g, m->value, (uint16_t)(r + i));
				given[i] = true;
			}
	for (i = 0, p = s->callee->params; p; p = p->next, i++)
		old[i] = k->binds[p->sym->id];
	for (i = 0, p = s->callee->params; p; p = p->next, i++) {
		if (!given[i] && p->value)
			code_expr_into(g, p->value, (uint16_t)(r + i));
		code_bind(k, p->sym, B_REG, (uint16_t)(r + i), 0, NULL);
	}
	for (i = 0, p = s->callee->params; p; p = p->next, i++)
		k->binds[p->sym->id] = old[i];
}

void code_call(struct gen *g, const struct stmt *s)
{
	struct code *k = g->code;
	uint32_t mark = g->next, skips = 0;
	uint32_t f = proc_func(k, s->callee, &g->at);
	uint16_t d = code_reg(g, window_size(s->callee));
	uint16_t r = (uint16_t)(d + 4);
	for (const struct arg *a = s->args; a; a = a->next) {
		if (!a->ref) {
			code_expr_into(g, a->expr, r++);
			continue;
		}
		uint32_t held = g->next, row = k->noperands;
		struct operand o = code_operand(g, a->ref);
		ARENA_PUSH(k->arena, k->operands, k->noperands, k->capoperands) = o;
		uint32_t jump = code_emit_km(g, I_REF, r, 0, 0, (int32_t)row, skips, a->ref->span);
		skips = jump + 1;
		g->next = held;
		r = (uint16_t)(r + 4);
	}
	if (s->callee->kind == D_SCHEDULE)
		call_params(g, s, r);
	code_emit_km(g, I_CALL, d, g->at.g, 0, (int32_t)code_stmt_row(k, s), f, s->span);
	code_land_all(g, skips);
	g->next = mark;
}

static bool has_scratch(const struct stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == S_SCRATCH || has_scratch(s->body) || has_scratch(s->orelse))
			return true;
	return false;
}

/* Binds a view in the window, and cuts it. */
static uint16_t bind_view(struct gen *g, const struct buffer_def *b)
{
	uint16_t r = code_reg(g, 4);
	code_bind(g->code, b->sym, B_VIEW, r, 0, NULL);
	return r;
}

static void bind_number(struct gen *g, const struct symbol *s)
{
	code_bind(g->code, s, B_REG, code_reg(g, 1), 0, NULL);
}

struct view_row {
	const struct buffer_def *def;
	uint16_t reg;
	int32_t arg;
};

/* The window's registers, in the order in which `call` fills them. */
static uint32_t bind_window(struct gen *g, const struct decl *d, struct view_row *v)
{
	uint32_t n = 0;
	int32_t arg = 0;
	for (const struct param *p = d->formals; p; p = p->next, arg++) {
		if (p->view)
			v[n++] = (struct view_row){ p->view, bind_view(g, p->view), arg };
		else
			bind_number(g, p->number);
	}
	if (d->kind == D_SCHEDULE) {
		for (const struct buffer_def *b = d->buffers; b; b = b->next, arg++)
			v[n++] = (struct view_row){ b, bind_view(g, b), arg };
		for (const struct binding *p = d->params; p; p = p->next)
			bind_number(g, p->sym);
	}
	return n;
}

static void cut_views(struct gen *g, const struct decl *d, const struct view_row *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		code_parts(g, v[i].def, v[i].reg);
		code_emit_km(g, I_VIEW, v[i].reg, 0, 0, v[i].arg, 0, v[i].def->span);
	}
	if (n == 0)
		return;
	g->part = (uint16_t)(v[0].reg + 1);
	if (n > 1 && has_scratch(d->body))
		for (uint32_t i = 1; i < n; i++)
			code_emit_km(g, I_SAMEPART, 0, g->part, (uint16_t)(v[i].reg + 1), v[i].arg,
				     0, v[i].def->span);
}

static void where(struct gen *g, const struct expr *e, int32_t topology)
{
	if (!e)
		return;
	uint32_t mark = g->next;
	struct val v = code_expr(g, e, -1);
	if (!v.known || v.k == 0)
		code_emit_km(g, I_WHERE, 0, code_val_reg(g, v, e->span), 0, topology, 0, e->span);
	g->next = mark;
}

/* The parameters of the proc's topology, each an expression until all are bound:
 * the proc's `where` comes first and may mention them. */
static void topology(struct gen *g, const struct decl *d)
{
	const struct decl *t = d->topology;
	if (t)
		code_bind_topology(g->code, d);
	where(g, d->where, 0);
	if (!t)
		return;
	const struct expr *a = d->topology_args;
	for (const struct binding *p = t->params; p; p = p->next, a = a ? a->next : NULL) {
		const struct expr *e = a ? a : p->value;
		if (!e)
			continue;
		struct val v = code_expr(g, e, -1);
		code_bind(g->code, p->sym, v.known ? B_CONST : B_REG, v.reg, v.k, NULL);
	}
	where(g, t->where, 1);
	code_topology_names(g, t);
}

static void make_proc(struct code *k, uint32_t row)
{
	struct func *f = &k->funcs[row];
	const struct decl *d = f->decl;
	struct gen g = code_gen(k, row, (struct context){ .whole = f->whole, .n = f->n });
	uint32_t max = (window_size(d) + 2) / 3;
	struct view_row *v = ARENA_ARRAY(k->arena, struct view_row, max);
	uint32_t n = bind_window(&g, d, v);
	cut_views(&g, d, v, n);
	topology(&g, d);
	uint32_t enter = code_emit(&g, I_JMP, 0, 0, 0, 0, d->span);
	code_stmts(&g, d->body);
	code_finish(&g, I_RET, enter, d->span);
}

void code_procs(struct code *k)
{
	for (uint32_t i = 0; i < k->nfuncs && !k->failed; i++)
		if (k->funcs[i].proc && !k->funcs[i].done)
			make_proc(k, i);
}
