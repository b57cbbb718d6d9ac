/*
 * What a contract asks for: for each rank and cell, the contributions of its final
 * value.
 *
 * In: a program whose counts agree with its contract. Out: runs of contributions,
 * sorted and disjoint; `rows` says where a cell's begin. Clauses are compiled as
 * schedules are (code.c). A clause that does not mention `rank` is evaluated once
 * an index, and all ranks share its runs; a sum of one chunk over a range of ranks
 * is one run: allreduce takes O(cells + ranks * cells stores). ccs(5) 4.
 */
#include "compiler/cursor.h"
#include "compiler/instance.h"

#include <stdlib.h>
#include <string.h>

struct eval {
	struct ctx *ctx;
	const struct program *p;
	struct code code;
	struct cursor cursor;
	struct contract *k;
	uint64_t cap;		/* of the tables of runs */
	struct event *events;
	uint32_t capevents;
};

/* One clause. */
struct clause {
	const struct ensures *e;
	uint32_t cond, left, right;	/* functions; register 4: the index */
	bool has_cond, cond_index, by_rank;
	uint32_t base, count;		/* cells of the left side's buffer */
	bool reduced;
};

/* ---- code -------------------------------------------------------------------------- */

static void code_term(struct gen *g, const struct term *t)
{
	struct code *k = g->code;
	uint32_t mark = g->next;
	if (t->kind == T_SUM) {
		const struct term *b = t->body;
		uint16_t d = code_reg(g, 2);
		code_expr_into(g, t->lo, d);
		code_expr_into(g, t->hi, (uint16_t)(d + 1));
		code_bind(k, t->var, B_REG, d, 0, NULL);
		bool run = b->kind == T_INITIAL && b->at->kind == E_NAME && b->at->sym == t->var &&
			   !code_mentions(k->arena, b->ref->lo, t->var, false);
		uint32_t enter = code_emit_km(g, I_ENTER, d, 0, 0, 0, 0, t->span), start = k->ninsns;
		if (run) {
			struct operand o = code_operand(g, b->ref);
			uint32_t row = k->noperands;
			ARENA_PUSH(k->arena, k->operands, k->noperands, k->capoperands) = o;
			code_emit_km(g, I_TERMS, 0, o.lo, d, (int32_t)row, 0, b->at->span);
		} else {
			code_term(g, b);
			code_emit_km(g, I_NEXT, d, 0, 0, (int32_t)(k->ninsns - start) + 1, start,
				     t->span);
		}
		code_land(g, enter);
	} else {
		struct operand o = code_operand(g, t->ref);
		uint32_t row = k->noperands;
		ARENA_PUSH(k->arena, k->operands, k->noperands, k->capoperands) = o;
		uint16_t at = code_expr_reg(g, t->at);
		code_emit_km(g, I_TERM, 0, o.lo, at, (int32_t)row, 0, t->at->span);
	}
	g->next = mark;
}

static uint32_t value_func(struct eval *x, const struct ensures *e, const struct expr *value,
			   const struct term *term)
{
	uint32_t func;
	struct gen g = code_root(&x->code, &func);
	uint16_t i = code_reg(&g, 1);
	if (e->index)
		code_bind(&x->code, e->index, B_REG, i, 0, NULL);
	if (value) {
		code_emit(&g, I_VALUE, 0, code_expr_reg(&g, value), 0, 0, value->span);
	} else {
		code_term(&g, term);
		code_emit(&g, I_END, 0, 0, 0, 0, term->span);
	}
	code_gen_end(&g);
	code_fns(&g);
	return func;
}

static bool term_by_rank(struct arena *a, const struct term *t)
{
	for (; t->kind == T_SUM; t = t->body)
		if (code_mentions(a, t->lo, NULL, true) || code_mentions(a, t->hi, NULL, true))
			return true;
	return code_mentions(a, t->ref->lo, NULL, true) || code_mentions(a, t->at, NULL, true);
}

/* The schedule's buffer at the place that the symbol has among the contract's. */
static const struct buffer *buffer_of(const struct eval *x, const struct symbol *s)
{
	return &x->p->buffers[code_binding((struct code *)&x->code, s)->value];
}

static struct clause make_clause(struct eval *x, const struct ensures *e)
{
	struct arena *a = x->code.arena;
	const struct buffer *b = buffer_of(x, e->left->sym);
	struct clause c = { .e = e, .base = b->cell, .count = b->cells,
			    .reduced = e->right->kind == T_SUM, .has_cond = e->cond != NULL };
	c.by_rank = term_by_rank(a, e->right);
	if (e->cond) {
		c.cond = value_func(x, e, e->cond, NULL);
		c.cond_index = e->index && code_mentions(a, e->cond, e->index, false);
	}
	if (!e->index) {
		c.left = value_func(x, e, e->left->lo, NULL);
		c.by_rank |= code_mentions(a, e->left->lo, NULL, true);
	}
	c.right = value_func(x, e, NULL, e->right);
	return c;
}

/* ---- values --------------------------------------------------------------------------- */

static bool eval(struct eval *x, uint32_t func, uint32_t rank, uint32_t index, bool shared)
{
	struct cursor *v = &x->cursor;
	cursor_start(v, func, rank);
	cursor_set(v, 4, index);
	v->report_rank = shared ? NO_RANK : (int64_t)rank;
	return cursor_next(v) == CURSOR_DONE;
}

static void push_run(struct eval *x, const struct clause *c, struct run r, bool last)
{
	struct contract *k = x->k;
	struct arena *a = x->p->arena;
	if (k->nruns == x->cap) {
		uint64_t n = x->cap, m = n ? 2 * n : 1024;
		k->runs = arena_grow(a, k->runs, n * sizeof *k->runs, m * sizeof *k->runs);
		k->last = arena_grow(a, k->last, n * sizeof *k->last, m * sizeof *k->last);
		k->reduced = arena_grow(a, k->reduced, n * sizeof *k->reduced,
					m * sizeof *k->reduced);
		x->cap = m;
	}
	k->runs[k->nruns] = r;
	k->last[k->nruns] = last;
	k->reduced[k->nruns] = c->reduced;
	k->nruns++;
}

/* From `at` on, one contribution more (or fewer) of the cell. */
struct event {
	uint32_t cell, at;
	int32_t delta;
};

static int compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* The terms as sorted, disjoint runs with multiplicities: a sweep over their ends. */
static void push_swept(struct eval *x, const struct clause *c)
{
	const struct cursor *v = &x->cursor;
	uint32_t n = 0, i, j;
	for (i = 0; i < v->nterms; i++) {
		struct term_row t = v->terms[i];
		ARENA_PUSH(x->code.arena, x->events, n, x->capevents) =
			(struct event){ t.cell, t.first, 1 };
		ARENA_PUSH(x->code.arena, x->events, n, x->capevents) =
			(struct event){ t.cell, t.first + t.n, -1 };
	}
	qsort(x->events, n, sizeof *x->events, compare);
	struct run open = { .times = 0 };
	int64_t times = 0;
	for (i = 0; i < n; i = j) {
		int64_t before = times;
		for (j = i; j < n && x->events[j].cell == x->events[i].cell &&
			    x->events[j].at == x->events[i].at; j++)
			times += x->events[j].delta;
		if (times == before)
			continue;
		open.n = x->events[i].at - open.first;
		if (before > 0)
			push_run(x, c, open, false);
		open = (struct run){ x->events[i].cell, x->events[i].at, 0, (uint32_t)times };
	}
	x->k->last[x->k->nruns - 1] = true;
}

/* Evaluates the right side; the row of its runs, or NONE if it fails. */
static uint32_t value_row(struct eval *x, const struct clause *c, uint32_t rank, uint32_t index,
			  bool shared)
{
	uint64_t row = x->k->nruns;
	const struct cursor *v = &x->cursor;
	if (!eval(x, c->right, rank, index, shared))
		return NONE;
	x->cursor.idle = 0;	/* a value counts as an operation does */
	if (v->nterms == 0) {
		diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->right->span, shared ? NO_RANK : (int64_t)rank,
			 "a sum of nothing: it has no value");
		return NONE;
	}
	if (row + 2 * (uint64_t)v->nterms >= NONE) {
		diag_add(x->ctx->diags, SEV_ERROR, 501, c->e->right->span, NO_RANK,
			 "the contract asks for more than 4294967294 contributions");
		return NONE;
	}
	if (v->nterms == 1)
		push_run(x, c, (struct run){ v->terms[0].cell, v->terms[0].first, v->terms[0].n, 1 },
			 true);
	else
		push_swept(x, c);
	return (uint32_t)row;
}

static bool equal(const struct contract *k, uint32_t a, uint32_t b)
{
	for (;; a++, b++) {
		if (memcmp(&k->runs[a], &k->runs[b], sizeof *k->runs) != 0 ||
		    k->last[a] != k->last[b])
			return false;
		if (k->last[a])
			return true;
	}
}

const struct ensures *contract_clause(const struct contract *k, uint32_t run)
{
	uint32_t i = k->nasked - 1;
	while (k->asked[i].run > run)	/* clauses are few */
		i--;
	return k->asked[i].clause;
}

/* What the tables of runs have too much goes back. */
static void shrink(struct eval *x)
{
	struct contract *k = x->k;
	struct arena *a = x->p->arena;
	k->runs = arena_grow(a, k->runs, x->cap * sizeof *k->runs, k->nruns * sizeof *k->runs);
	k->last = arena_grow(a, k->last, x->cap * sizeof *k->last, k->nruns * sizeof *k->last);
	k->reduced = arena_grow(a, k->reduced, x->cap * sizeof *k->reduced,
				k->nruns * sizeof *k->reduced);
}

/* ---- clauses ----------------------------------------------------------------------------- */

static bool assign(struct eval *x, const struct clause *c, uint32_t rank, uint32_t cell,
		   uint32_t row)
{
	uint32_t *at = &x->k->rows[(size_t)rank * x->p->cells + cell];
	if (*at == NONE) {
		*at = row;
		return true;
	}
	if (equal(x->k, *at, row))
		return true;
	struct diag *g = diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->span, rank,
				  "two clauses disagree on %s",
				  program_cells_text(x->code.arena, x->p, cell, 1));
	diag_note(x->ctx->diags, g, contract_clause(x->k, *at)->span, "the other clause");
	return false;
}

static bool holds(struct eval *x, const struct clause *c, uint32_t rank, uint32_t index, bool *ok)
{
	*ok = !c->has_cond || eval(x, c->cond, rank, index, false);
	return *ok && (!c->has_cond || x->cursor.value != 0);
}

/* The one chunk that a left side without a free index names. */
static bool one_chunk(struct eval *x, const struct clause *c, uint32_t rank, uint32_t *index)
{
	if (!eval(x, c->left, rank, 0, false))
		return false;
	int64_t i = x->cursor.value;
	if ((uint64_t)i < c->count) {
		*index = (uint32_t)i;
		return true;
	}
	diag_add(x->ctx->diags, SEV_ERROR, 406, c->e->left->span, rank, "%s[%lld]: %s has chunks "
		 "0..%u", c->e->left->name.name, (long long)i, c->e->left->name.name,
		 c->count - 1);
	return false;
}

/* One rank's cells. `shared`: rows by index that all ranks have in common, made as
 * they are needed. */
static bool clause_rank(struct eval *x, const struct clause *c, uint32_t rank, uint32_t *shared)
{
	uint32_t lo = 0, hi = c->count;
	bool ok = true, each = c->has_cond && c->cond_index;
	if (!each && !holds(x, c, rank, 0, &ok))
		return ok;
	if (!c->e->index) {
		if (!one_chunk(x, c, rank, &lo))
			return false;
		hi = lo + 1;
	}
	for (uint32_t i = lo; i < hi; i++) {
		if (each && !holds(x, c, rank, i, &ok)) {
			if (!ok)
				return false;
			continue;
		}
		uint32_t row = shared ? shared[i] : NONE;
		if (row == NONE) {
			row = value_row(x, c, rank, i, shared != NULL);
			if (row == NONE)
				return false;
			if (shared)
				shared[i] = row;
		}
		if (!assign(x, c, rank, c->base + i, row))
			return false;
	}
	return true;
}

static void clause(struct eval *x, const struct ensures *e)
{
	struct clause c = make_clause(x, e);
	uint32_t *shared = NULL;
	if (x->code.failed)
		return;
	ARENA_PUSH(x->p->arena, x->k->asked, x->k->nasked, x->k->capasked) =
		(struct asked){ (uint32_t)x->k->nruns, e };
	if (!c.by_rank) {
		shared = ARENA_ARRAY(x->code.arena, uint32_t, c.count);
		memset(shared, 0xff, c.count * sizeof *shared);
	}
	for (uint32_t r = 0; r < x->p->nranks; r++)
		if (!clause_rank(x, &c, r, shared) && shared)
			break;	/* what is common failed: once is enough */
	*(c.reduced ? &x->k->any_reduced : &x->k->any_single) = true;
}

/* The contract's buffers stand for the schedule's, by position. */
static bool bind_buffers(struct eval *x, const struct decl *contract)
{
	uint32_t i = 0;
	for (const struct buffer_def *b = contract->buffers; b && i < x->p->nbuffers; b = b->next)
		code_bind(&x->code, b->sym, B_STATIC, 0, i++, NULL);
	return i == x->p->nbuffers;
}

struct contract *contract_expand(struct ctx *c, const struct program *p)
{
	const struct decl *d = p->instance.schedule->contract;
	uint32_t errors = c->diags->errors;
	struct program copy = *p;
	struct eval x = { .ctx = c, .p = &copy };
	size_t n = (size_t)p->nranks * p->cells;
	x.k = ARENA_NEW(p->arena, struct contract);
	x.k->rows = arena_grow(p->arena, NULL, 0, n * sizeof *x.k->rows);
	memset(x.k->rows, 0xff, n * sizeof *x.k->rows);
	code_init(&x.code, c, &copy, true);
	if (instance_make(&x.code, true) != INSTANCE_OK || !bind_buffers(&x, d))
		return NULL;
	x.code.quiet = false;
	cursor_init(&x.cursor, &x.code, NULL, c->scratch);
	for (const struct ensures *e = d->ensures; e; e = e->next)
		clause(&x, e);
	if (x.code.failed || c->diags->errors != errors)
		return NULL;
	shrink(&x);
	return x.k;
}
