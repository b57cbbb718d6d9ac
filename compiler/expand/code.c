/*
 * Code of one instance: its tables, its functions, and what names stand for.
 *
 * In: a resolved tree, with the schedule's parameters bound to constants. Out:
 * instructions for the schedule and all that it calls, one function for each
 * proc, N where it is known, and kind of group.
 *
 * A symbol's binding carries the stamp of the function that it was made for, so
 * beginning a function forgets all bindings at once. A topology's lets are made
 * on demand: those that cannot fail at the function's beginning if they are used
 * at all, the others where they are used, once a call.
 */
#include "compiler/expand/code.h"
#include "compiler/expand/cursor.h"

#include <string.h>

void code_init(struct code *k, struct ctx *c, struct program *p, bool quiet)
{
	memset(k, 0, sizeof *k);
	k->ctx = c;
	k->arena = c->scratch;
	k->program = p;
	k->nranks = p->nranks;
	k->binds = ARENA_ARRAY(k->arena, struct bind, p->instance.module->nsymbols + 1);
	k->stamp = k->root_stamp = 1;
	k->quiet = quiet;
}

void code_bind(struct code *k, const struct symbol *s, enum bind_kind kind, uint16_t reg,
	       int64_t value, const struct expr *e)
{
	k->binds[s->id] = (struct bind){ k->stamp, kind, reg, value, e };
}

/* The binding in the function being made, or NULL. */
struct bind *code_binding(struct code *k, const struct symbol *s)
{
	struct bind *b = &k->binds[s->id];
	return b->stamp == k->stamp && b->kind != B_NONE ? b : NULL;
}

void code_limit(struct code *k, struct span span, int number, const char *fmt, ...)
{
	va_list ap;
	if (!k->failed && !k->quiet) {
		va_start(ap, fmt);
		const char *text = arena_vprintf(k->arena, fmt, ap);
		va_end(ap);
		diag_add(k->ctx->diags, SEV_ERROR, number, span, NO_RANK, "%s", text);
	}
	k->failed = true;
}

uint32_t code_emit(struct gen *g, enum insn_op op, uint16_t d, uint16_t a, uint16_t b, int64_t imm,
		   struct span span)
{
	struct code *k = g->code;
	if (k->ninsns >= LIMIT_CODE) {
		code_limit(k, span, 501,
			   "the schedule is too long: more than %u "
			   "instructions (LIMIT_CODE)",
			   LIMIT_CODE);
		k->ninsns--;
	}
	uint32_t row = k->ninsns;
	uint32_t nspans = row;
	ARENA_PUSH(k->arena, k->insns, k->ninsns, k->capinsns) =
		(struct insn){ .op = (uint16_t)op, .d = d, .a = a, .b = b, .imm = imm };
	ARENA_PUSH(k->arena, k->spans, nspans, k->capspans) = span;
	return row;
}

uint32_t code_emit_km(struct gen *g, enum insn_op op, uint16_t d, uint16_t a, uint16_t b,
		      int32_t kk, uint32_t m, struct span span)
{
	uint32_t row = code_emit(g, op, d, a, b, 0, span);
	g->code->insns[row].k = kk;
	g->code->insns[row].m = m;
	return row;
}

void code_land(struct gen *g, uint32_t at)
{
	g->code->insns[at].m = g->code->ninsns;
}

uint16_t code_reg(struct gen *g, uint32_t n)
{
	uint32_t r = g->next;
	if (r + n > LIMIT_REGISTERS) {
		const struct decl *d = g->code->funcs[g->func].decl;
		code_limit(g->code, d ? d->name.span : (struct span){ 0, 0 }, 501,
			   "more than %u values are alive at once in one body "
			   "(LIMIT_REGISTERS)",
			   LIMIT_REGISTERS);
		return 4;
	}
	g->next = r + n;
	if (g->next > g->high)
		g->high = g->next;
	return (uint16_t)r;
}

uint32_t code_func(struct code *k)
{
	uint32_t row = k->nfuncs;
	ARENA_PUSH(k->arena, k->funcs, k->nfuncs, k->capfuncs) = (struct func){ .n = -1 };
	return row;
}

uint32_t code_stmt_row(struct code *k, const struct stmt *s)
{
	uint32_t row = k->nstmts;
	ARENA_PUSH(k->arena, k->stmts, k->nstmts, k->capstmts) = s;
	return row;
}

/* ---- sites: one row a statement, however often its code is made -------------- */

static uint32_t site_hash(const struct stmt *s)
{
	return s->span.lo * 2654435769u ^ s->span.hi;
}

static void insert_site(struct code *k, uint32_t row)
{
	uint32_t mask = k->site_cap - 1;
	uint32_t i = site_hash(k->program->sites[row].stmt) & mask;
	while (k->site_map[i])
		i = (i + 1) & mask;
	k->site_map[i] = row + 1;
}

/* The table starts with the rows that the program has already: code that is made
 * again (expand_where) finds its sites. */
static void grow_sites(struct code *k)
{
	struct program *p = k->program;
	uint32_t cap = k->site_cap ? 2 * k->site_cap : 64;
	while (cap < 2 * p->nsites + 2)
		cap *= 2;
	k->site_map = ARENA_ARRAY(k->arena, uint32_t, cap);
	k->site_cap = cap;
	for (uint32_t i = 0; i < p->nsites; i++)
		insert_site(k, i);
}

uint32_t code_site(struct code *k, const struct stmt *s)
{
	struct program *p = k->program;
	if (2 * p->nsites + 2 > k->site_cap)
		grow_sites(k);
	uint32_t mask = k->site_cap - 1;
	for (uint32_t i = site_hash(s) & mask; k->site_map[i]; i = (i + 1) & mask)
		if (p->sites[k->site_map[i] - 1].stmt == s)
			return k->site_map[i] - 1;
	if (p->nsites >= 1u << 24) {
		code_limit(k, s->span, 501, "more than %u statements", 1u << 24);
		return 0;
	}
	ARENA_PUSH(p->arena, p->sites, p->nsites, p->capsites) = (struct site){ s, s->span };
	insert_site(k, p->nsites - 1);
	return p->nsites - 1;
}

/* ---- functions ------------------------------------------------------------------ */

static struct gen begin(struct code *k, uint32_t func, struct context home)
{
	struct gen g = { .code = k,
			 .func = func,
			 .unit = func,
			 .at = home,
			 .home = home,
			 .next = 4,
			 .high = 4,
			 .step = STEP_NOT };
	k->funcs[func].entry = k->ninsns;
	k->funcs[func].done = true;
	return g;
}

/* A proc's function: nothing is bound yet. */
struct gen code_gen(struct code *k, uint32_t func, struct context home)
{
	k->stamp++;
	return begin(k, func, home);
}

struct gen code_root(struct code *k, uint32_t *func)
{
	uint32_t f = *func = code_func(k);
	k->stamp = k->root_stamp;
	k->funcs[f].n = k->nranks;
	k->funcs[f].whole = true;
	return begin(k, f, (struct context){ .g = 0, .whole = true, .n = k->nranks });
}

void code_gen_end(struct gen *g)
{
	struct func *f = &g->code->funcs[g->func];
	f->end = g->code->ninsns;
	f->nregs = g->high;
}

/* ---- topology's names -------------------------------------------------------------- */

/* Bounds of `a op b`, for operands within +-2^30; false if it may fail. */
static bool bounds_binary(enum expr_op op, const int64_t a[2], const int64_t b[2], int64_t r[2])
{
	if (op == OP_ADD || op == OP_SUB) {
		r[0] = op == OP_ADD ? a[0] + b[0] : a[0] - b[1];
		r[1] = op == OP_ADD ? a[1] + b[1] : a[1] - b[0];
		return true;
	}
	if (op == OP_MUL) {
		r[0] = r[1] = a[0] * b[0];
		for (int i = 1; i < 4; i++) {
			int64_t v = a[i & 1] * b[i >> 1];
			r[0] = v < r[0] ? v : r[0];
			r[1] = v > r[1] ? v : r[1];
		}
		return true;
	}
	if ((op != OP_DIV && op != OP_MOD) || b[0] < 1)
		return false;
	r[0] = op == OP_MOD || a[0] > 0 ? 0 : a[0];
	r[1] = op == OP_MOD ? b[1] - 1 : a[1] > 0 ? a[1] : 0;
	return true;
}

/* Bounds of an expression whose evaluation cannot fail; false where that is not
 * seen. Only for lets: a failing let must fail where it is used. */
static bool bounds(struct gen *g, const struct expr *e, uint32_t depth, int64_t r[2])
{
	const int64_t big = (int64_t)1 << 30;
	int64_t a[2], b[2];
	struct bind *bind;
	switch (e->kind) {
	case E_INT: r[0] = r[1] = e->value; return true;
	case E_RANK:
		r[0] = 0;
		r[1] = g->home.n >= 0 ? g->home.n - 1 : (int64_t)LIMIT_RANKS - 1;
		return true;
	case E_N:
		r[0] = g->home.n >= 0 ? g->home.n : 1;
		r[1] = g->home.n >= 0 ? g->home.n : (int64_t)LIMIT_RANKS;
		return true;
	case E_NAME:
		bind = code_binding(g->code, e->sym);
		if (!bind || bind->kind != B_CONST)
			return false;
		r[0] = r[1] = bind->value;
		return true;
	case E_BINARY:
		return depth < 64 && bounds(g, e->a, depth + 1, a) &&
		       bounds(g, e->b, depth + 1, b) && a[0] >= -big && a[1] <= big &&
		       b[0] >= -big && b[1] <= big && bounds_binary(e->op, a, b, r);
	case E_UNARY:
	case E_COND:
	case E_CALL:
	case E_ENTRY:
	case E_TABLE:
	case E_TERM: return false;
	}
	return false;
}

void code_bind_topology(struct code *k, const struct decl *d)
{
	const struct expr *a = d->topology_args;
	for (const struct binding *p = d->topology->params; p; p = p->next) {
		if (a || p->value)
			code_bind(k, p->sym, B_EXPR, 0, 0, a ? a : p->value);
		a = a ? a->next : NULL;
	}
	for (const struct stmt *s = d->topology->body; s; s = s->next)
		if (s->kind == S_LET)
			code_bind(k, s->var, B_EXPR, 0, 0, s->e);
}

void code_topology_names(struct gen *g, const struct decl *topology)
{
	if (!topology)
		return;
	struct code *k = g->code;
	for (const struct stmt *s = topology->body; s; s = s->next) {
		if (s->kind != S_LET)
			continue;
		int64_t range[2];
		struct let_row row = { .stmt = s };
		row.safe = s->e->kind != E_TABLE && bounds(g, s->e, 0, range);
		row.reg = code_reg(g, s->e->kind == E_TABLE ? 2 + s->e->nargs : 2);
		code_bind(k, s->var, B_LET, row.reg, g->nlets, NULL);
		ARENA_PUSH(k->arena, g->lets, g->nlets, g->caplets) = row;
	}
}

/* A safe let mentions constants, rank and N only, so their order is free. */
static void code_lets(struct gen *g)
{
	struct context at = g->at;
	g->at = g->home;
	for (uint32_t i = 0; i < g->nlets; i++) {
		struct let_row *r = &g->lets[i];
		if (!r->used)
			continue;
		if (r->safe)
			code_expr_into(g, r->stmt->e, r->reg);
		else
			code_emit(g, I_LDI, (uint16_t)(r->reg + 1), 0, 0, 0, r->stmt->span);
	}
	g->at = at;
}

/* ---- entries --------------------------------------------------------------------------- */

bool code_eval(struct code *k, const struct expr *e, int64_t *value)
{
	uint32_t f;
	struct gen g = code_root(k, &f);
	struct val v = code_expr(&g, e, -1);
	if (v.known) {
		*value = v.k;
		code_gen_end(&g);
		return !k->failed;
	}
	code_emit(&g, I_VALUE, 0, v.reg, 0, 0, e->span);
	code_gen_end(&g);
	code_fns(&g);
	if (k->failed)
		return false;
	struct cursor c;
	cursor_init(&c, k, NULL, k->arena);
	cursor_start(&c, f, 0);
	c.report_rank = NO_RANK;
	c.quiet = k->quiet;
	if (cursor_next(&c) != CURSOR_DONE)
		return false;
	*value = c.value;
	return true;
}

void code_finish(struct gen *g, enum insn_op end, uint32_t enter, struct span span)
{
	code_emit(g, end, 0, 0, 0, 0, span);
	code_land(g, enter);
	code_lets(g);
	code_emit_km(g, I_JMP, 0, 0, 0, 0, enter + 1, span);
	code_gen_end(g);
	code_fns(g);
}

uint32_t code_schedule(struct code *k, const struct decl *schedule)
{
	uint32_t f;
	struct gen g = code_root(k, &f);
	k->funcs[f].decl = schedule;
	code_topology_names(&g, schedule->topology);
	uint32_t i = 0;
	for (const struct buffer_def *b = schedule->buffers; b; b = b->next)
		code_bind(k, b->sym, B_STATIC, 0, i++, NULL);
	uint32_t enter = code_emit(&g, I_JMP, 0, 0, 0, 0, schedule->span);
	code_stmts(&g, schedule->body);
	code_finish(&g, I_END, enter, schedule->span);
	code_procs(k);
	return f;
}

uint32_t code_topology(struct code *k, const struct decl *topology)
{
	uint32_t f;
	struct gen g = code_root(k, &f);
	k->funcs[f].decl = topology;
	code_topology_names(&g, topology);
	uint32_t enter = code_emit(&g, I_JMP, 0, 0, 0, 0, topology->span);
	code_stmts(&g, topology->body);
	code_finish(&g, I_END, enter, topology->span);
	return f;
}
