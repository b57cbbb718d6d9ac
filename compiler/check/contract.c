/*
 * What a contract asks for: for each rank and cell, the contributions of its final
 * value; for each rank, whose beginnings must come before its end.
 *
 * In: a program whose counts agree with its contract. Out: runs of contributions,
 * sorted and disjoint; `rows` says where a cell's begin. Clauses are compiled as
 * schedules are (code.c). A clause that does not mention `rank` is evaluated once
 * an index, and all ranks share its runs; a sum of one chunk over a range of ranks
 * is one run: allreduce takes O(cells + ranks * cells stores). ccs(5) 4.
 */
#include "compiler/check/check.h"
#include "compiler/expand/cursor.h"
#include "compiler/expand/instance.h"

#include <stdlib.h>
#include <string.h>

struct eval {
	struct ctx *ctx;
	const struct program *p; /* with the contract's brackets */
	struct program *source;
	const struct stmt *lets;
	struct code code;
	struct cursor cursor;
	struct contract *k;
	uint64_t cap;	 /* of the tables of runs */
	uint64_t nterms; /* of all values so far */
	struct event *events, *room;
	uint32_t capevents, caproom;
};

/* An index of the left side. */
struct index {
	bool is_free;
	uint32_t func;	 /* of its value, if it is not free */
	uint32_t lo, hi; /* values on the rank at hand */
	uint32_t count;	 /* that there are */
};

/* One clause. */
struct clause {
	const struct ensures *e;
	uint32_t cond, right; /* functions; registers 4 and 5: the indices */
	bool has_cond, by_rank, reduced;
	const struct buffer *buffer; /* of the left side */
	struct index block, index;   /* a buffer with one bracket has one block here */
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
			   !code_mentions(k->arena, b->ref->block, t->var, false) &&
			   !code_mentions(k->arena, b->ref->lo, t->var, false);
		uint32_t enter = code_emit_km(g, I_ENTER, d, 0, 0, 0, 0, t->span),
			 start = k->ninsns;
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

/* A function of what a clause says, behind the contract's lets. */
static struct gen begin_func(struct eval *x, const struct ensures *e, uint32_t *func)
{
	struct gen g = code_root(&x->code, func);
	uint16_t i = code_reg(&g, 2);
	if (e && e->block_index)
		code_bind(&x->code, e->block_index, B_REG, i, 0, NULL);
	if (e && e->index)
		code_bind(&x->code, e->index, B_REG, (uint16_t)(i + 1), 0, NULL);
	for (const struct stmt *s = x->lets; s; s = s->next)
		code_let(&g, s);
	return g;
}

static void end_func(struct gen *g, struct span span)
{
	code_emit(g, I_END, 0, 0, 0, 0, span);
	code_gen_end(g);
	code_fns(g);
}

static uint32_t value_func(struct eval *x, const struct ensures *e, const struct expr *value)
{
	uint32_t func;
	struct gen g = begin_func(x, e, &func);
	code_emit(&g, I_VALUE, 0, code_expr_reg(&g, value), 0, 0, value->span);
	end_func(&g, value->span);
	return func;
}

static uint32_t term_func(struct eval *x, const struct ensures *e, const struct term *term)
{
	uint32_t func;
	struct gen g = begin_func(x, e, &func);
	code_term(&g, term);
	end_func(&g, term->span);
	return func;
}

static bool term_by_rank(struct arena *a, const struct term *t)
{
	for (; t->kind == T_SUM; t = t->body)
		if (code_mentions(a, t->lo, NULL, true) || code_mentions(a, t->hi, NULL, true))
			return true;
	return code_mentions(a, t->ref->block, NULL, true) ||
	       code_mentions(a, t->ref->lo, NULL, true) || code_mentions(a, t->at, NULL, true);
}

/* The schedule's buffer at the place that the symbol has among the contract's. */
static const struct buffer *buffer_of(const struct eval *x, const struct symbol *s)
{
	return &x->p->buffers[code_binding((struct code *)&x->code, s)->value];
}

static struct index make_index(struct eval *x, struct clause *c, const struct expr *value,
			       bool is_free, uint32_t count)
{
	struct index i = { .is_free = is_free, .count = count, .hi = count };
	if (is_free)
		return i;
	i.func = value_func(x, c->e, value);
	c->by_rank |= code_mentions(x->code.arena, value, NULL, true);
	return i;
}

static struct clause make_clause(struct eval *x, const struct ensures *e)
{
	const struct buffer *b = buffer_of(x, e->left->sym);
	struct clause c = {
		.e = e, .buffer = b, .reduced = e->right->kind == T_SUM, .has_cond = e->cond != NULL
	};
	c.by_rank = term_by_rank(x->code.arena, e->right);
	if (e->cond)
		c.cond = value_func(x, e, e->cond);
	c.block = (struct index){ .is_free = true, .count = 1, .hi = 1 };
	if (e->left->block)
		c.block = make_index(x, &c, e->left->block, e->block_index != NULL,
				     b->cells / b->inner);
	c.index = make_index(x, &c, e->left->lo, e->index != NULL, b->inner ? b->inner : b->cells);
	c.right = term_func(x, e, e->right);
	return c;
}

/* ---- values --------------------------------------------------------------------------- */

static bool eval(struct eval *x, uint32_t func, uint32_t rank, uint32_t block, uint32_t index,
		 bool shared)
{
	struct cursor *v = &x->cursor;
	cursor_start(v, func, rank);
	cursor_set(v, 4, block);
	cursor_set(v, 5, index);
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
		k->reduced =
			arena_grow(a, k->reduced, n * sizeof *k->reduced, m * sizeof *k->reduced);
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

static uint64_t key(const struct event *e)
{
	return (uint64_t)e->cell << 32 | e->at;
}

/* By key: bytes of it from the least on, as long as they differ. `room` is as large. */
static struct event *sort_events(struct event *v, struct event *room, uint32_t n)
{
	uint64_t differ = 0;
	for (uint32_t i = 1; i < n; i++)
		differ |= key(&v[i]) ^ key(&v[0]);
	for (unsigned shift = 0; shift < 64; shift += 8) {
		uint32_t at[257] = { 0 };
		if (!(differ >> shift & 0xff))
			continue;
		for (uint32_t i = 0; i < n; i++)
			at[(key(&v[i]) >> shift & 0xff) + 1]++;
		for (unsigned i = 1; i < 257; i++)
			at[i] += at[i - 1];
		for (uint32_t i = 0; i < n; i++)
			room[at[key(&v[i]) >> shift & 0xff]++] = v[i];
		struct event *t = v;
		v = room;
		room = t;
	}
	return v;
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
	if (n > x->caproom) {
		x->room = ARENA_ARRAY(x->code.arena, struct event, x->capevents);
		x->caproom = (uint32_t)x->capevents;
	}
	struct event *e = sort_events(x->events, x->room, n);
	struct run open = { .times = 0 };
	int64_t times = 0;
	for (i = 0; i < n; i = j) {
		int64_t before = times;
		for (j = i; j < n && e[j].cell == e[i].cell && e[j].at == e[i].at; j++)
			times += e[j].delta;
		if (times == before)
			continue;
		open.n = e[i].at - open.first;
		if (before > 0)
			push_run(x, c, open, false);
		open = (struct run){ e[i].cell, e[i].at, 0, (uint32_t)times };
	}
	x->k->last[x->k->nruns - 1] = true;
}

/* "b[0] is a whole block" */
static const char *part_text(struct eval *x, uint32_t cell, const struct buffer *b)
{
	const char *name = program_cells_text(x->code.arena, x->p, cell, 1);
	if (b->chunks == 1)
		return arena_printf(x->code.arena, "%s is a whole block", name);
	return arena_printf(x->code.arena, "%s is one of %u chunks of a block", name, b->chunks);
}

/* ccs(5) 4, Lengths: a chunk cannot be promised what is longer or shorter. */
static bool lengths_agree(struct eval *x, const struct clause *c, int64_t rank, uint32_t cell)
{
	const struct cursor *v = &x->cursor;
	for (uint32_t i = 0; i < v->nterms; i++) {
		const struct buffer *b = program_buffer(x->p, v->terms[i].cell);
		if (b->chunks == c->buffer->chunks)
			continue;
		struct diag *g =
			diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->span, rank,
				 "the clause asks for another length: %s, and %s",
				 part_text(x, cell, c->buffer), part_text(x, v->terms[i].cell, b));
		diag_help(x->ctx->diags, g,
			  "`x[C]` is one block cut into C chunks, `x[B][C]` is B "
			  "blocks of C chunks each; both sides need the same C");
		return false;
	}
	return true;
}

/* Evaluates the right side; the row of its runs, or NONE if it fails. */
static uint32_t value_row(struct eval *x, const struct clause *c, uint32_t rank, uint32_t block,
			  uint32_t index, bool shared)
{
	uint64_t row = x->k->nruns;
	int64_t who = shared ? NO_RANK : (int64_t)rank;
	const struct cursor *v = &x->cursor;
	if (!eval(x, c->right, rank, block, index, shared))
		return NONE;
	x->cursor.idle = 0; /* a value counts as an operation does */
	if (v->nterms == 0) {
		diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->right->span, who,
			 "a sum of nothing: it has no value");
		return NONE;
	}
	if (!lengths_agree(x, c, who, c->buffer->cell + block * c->index.count + index))
		return NONE;
	x->nterms += v->nterms;
	if (x->nterms > LIMIT_ALL_TERMS || row + 2 * (uint64_t)v->nterms > LIMIT_RUNS) {
		bool runs = x->nterms <= LIMIT_ALL_TERMS;
		diag_add(x->ctx->diags, SEV_ERROR, 501, c->e->right->span, NO_RANK,
			 "the contract asks for more than %u contributions%s (%s)",
			 runs ? LIMIT_RUNS : LIMIT_ALL_TERMS, runs ? ", in runs of ranks" : "",
			 runs ? "LIMIT_RUNS" : "LIMIT_ALL_TERMS");
		return NONE;
	}
	if (v->nterms == 1)
		push_run(x, c,
			 (struct run){ v->terms[0].cell, v->terms[0].first, v->terms[0].n, 1 },
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
	while (k->asked[i].run > run) /* clauses are few */
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

/* ccs(5) 4, Sizes: the same, chunk by chunk. */
static bool sizes_agree(struct eval *x, const struct clause *c, uint32_t rank, uint32_t cell,
			uint32_t row)
{
	struct cell_size left, right;
	struct ctx *ctx = x->ctx;
	if (!x->p->any_sized || !program_cell_size(ctx, x->source, rank, cell, &left))
		return true;
	for (uint32_t i = row;; i++) {
		const struct run *r = &x->k->runs[i];
		for (uint32_t q = r->first; q < r->first + r->n; q++) {
			if (!program_cell_size(ctx, x->source, q, r->cell, &right) ||
			    program_size_same(&left, &right))
				continue;
			diag_add(
				ctx->diags, SEV_ERROR, 203, c->e->span, rank,
				"the clause asks for another length: %s has size %s, and %s of rank %u "
				"has size %s",
				program_cells_text(x->code.arena, x->p, cell, 1),
				program_size_text(x->code.arena, &left),
				program_cells_text(x->code.arena, x->p, r->cell, 1), q,
				program_size_text(x->code.arena, &right));
			return false;
		}
		if (x->k->last[i])
			return true;
	}
}

/* Whether the clause is for this rank; *ok: it could be evaluated. */
static bool holds(struct eval *x, uint32_t cond, bool has_cond, uint32_t rank, bool *ok)
{
	*ok = !has_cond || eval(x, cond, rank, 0, 0, false);
	return *ok && (!has_cond || x->cursor.value != 0);
}

/* The values of an index on a rank: all, or the one that it says. */
static bool index_range(struct eval *x, const struct clause *c, struct index *i, uint32_t rank,
			const char *what)
{
	const struct ref *left = c->e->left;
	if (i->is_free)
		return true;
	if (!eval(x, i->func, rank, 0, 0, false))
		return false;
	int64_t value = x->cursor.value;
	i->lo = (uint32_t)value;
	i->hi = i->lo + 1;
	if ((uint64_t)value < i->count)
		return true;
	diag_add(x->ctx->diags, SEV_ERROR, 406, left->span, rank,
		 "%s: %s %lld, and there are 0..%u", lang_ref_text(x->ctx->arena, left), what,
		 (long long)value, i->count);
	return false;
}

/* One rank's cells. `shared`: rows by index that all ranks have in common, made as
 * they are needed. */
static bool clause_rank(struct eval *x, struct clause *c, uint32_t rank, uint32_t *shared)
{
	bool ok = true;
	if (!holds(x, c->cond, c->has_cond, rank, &ok))
		return ok;
	if (!index_range(x, c, &c->block, rank, "block") ||
	    !index_range(x, c, &c->index, rank, "chunk"))
		return false;
	for (uint32_t b = c->block.lo; b < c->block.hi; b++)
		for (uint32_t i = c->index.lo; i < c->index.hi; i++) {
			uint32_t at = b * c->index.count + i, cell = c->buffer->cell + at;
			uint32_t row = shared ? shared[at] : NONE;
			if (row == NONE)
				row = value_row(x, c, rank, b, i, shared != NULL);
			if (row == NONE || !sizes_agree(x, c, rank, cell, row) ||
			    !assign(x, c, rank, cell, row))
				return false;
			if (shared)
				shared[at] = row;
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
		shared = ARENA_ARRAY(x->code.arena, uint32_t, c.buffer->cells);
		memset(shared, 0xff, c.buffer->cells * sizeof *shared);
	}
	for (uint32_t r = 0; r < x->p->nranks; r++)
		if (!clause_rank(x, &c, r, shared) && shared)
			break; /* what is common failed: once is enough */
	if (x->k->nruns > x->k->asked[x->k->nasked - 1].run)
		*(c.reduced ? &x->k->any_reduced : &x->k->any_single) = true;
}

/* ---- after ----------------------------------------------------------------------------- */

static bool number(struct eval *x, uint32_t func, uint32_t rank, int64_t *value)
{
	bool ok = eval(x, func, rank, 0, 0, false);
	*value = x->cursor.value;
	return ok;
}

/* after(q in a..b): the rank's end comes after the beginnings of ranks a..b. */
static void after_clause(struct eval *x, const struct ensures *e)
{
	struct contract *k = x->k;
	const struct term *t = e->right;
	int64_t a, b, n = x->p->nranks;
	uint32_t cond = e->cond ? value_func(x, e, e->cond) : 0;
	uint32_t lo = value_func(x, e, t->lo), hi = value_func(x, e, t->hi);
	bool ok = true;
	for (uint32_t r = 0; r < n && !x->code.failed; r++) {
		if (!holds(x, cond, e->cond != NULL, r, &ok) || !number(x, lo, r, &a) ||
		    !number(x, hi, r, &b) || b <= a)
			continue;
		if (a < 0 || b > n) {
			diag_add(x->ctx->diags, SEV_ERROR, 306, a < 0 ? t->lo->span : t->hi->span,
				 r, "rank %lld: ranks are 0..%lld", (long long)(a < 0 ? a : b - 1),
				 (long long)n);
			continue;
		}
		ARENA_PUSH(x->p->arena, k->after, k->nafter, k->capafter) = (struct after){
			.rank = r,
			.first = (uint32_t)a,
			.n = (uint32_t)(b - a),
			.clause = e,
		};
	}
}

/* ---- all ----------------------------------------------------------------------------------- */

/* The contract's lets, on every rank. False: one fails; reported. */
static bool lets_hold(struct eval *x)
{
	uint32_t func;
	bool ok = true;
	if (!x->lets)
		return true;
	struct gen g = begin_func(x, NULL, &func);
	end_func(&g, x->lets->span);
	for (uint32_t r = 0; r < x->p->nranks && !x->code.failed; r++)
		ok &= eval(x, func, r, 0, 0, false);
	return ok && !x->code.failed;
}

/* The contract's buffers stand for the schedule's, by position, with brackets of their
 * own. */
static bool bind_buffers(struct eval *x, struct program *p, const struct decl *contract)
{
	struct buffer *v = ARENA_ARRAY(x->code.arena, struct buffer, p->nbuffers + 1);
	uint32_t i = 0;
	for (const struct buffer_def *b = contract->buffers; b && i < p->nbuffers;
	     b = b->next, i++) {
		int64_t inner = 0;
		if (b->blocks && !code_eval(&x->code, b->count, &inner))
			return false;
		v[i] = p->buffers[i];
		v[i].inner = (uint32_t)inner;
		code_bind(&x->code, b->sym, B_STATIC, 0, i, NULL);
	}
	p->buffers = v;
	return i == p->nbuffers;
}

struct contract *contract_expand(struct ctx *c, struct program *p)
{
	const struct decl *d = p->instance.schedule->contract;
	uint32_t errors = c->diags->errors;
	struct program copy = *p;
	struct eval x = { .ctx = c, .p = &copy, .source = p, .lets = d->body };
	size_t n = (size_t)p->nranks * p->cells;
	x.k = ARENA_NEW(p->arena, struct contract);
	x.k->rows = arena_grow(p->arena, NULL, 0, n * sizeof *x.k->rows);
	memset(x.k->rows, 0xff, n * sizeof *x.k->rows);
	code_init(&x.code, c, &copy, true);
	if (instance_make(&x.code, true) != INSTANCE_OK || !bind_buffers(&x, &copy, d))
		return NULL;
	x.code.quiet = false;
	cursor_init(&x.cursor, &x.code, NULL, c->scratch);
	for (const struct ensures *e = lets_hold(&x) ? d->ensures : NULL; e; e = e->next)
		if (e->right->kind == T_AFTER)
			after_clause(&x, e);
		else
			clause(&x, e);
	if (x.code.failed || c->diags->errors != errors)
		return NULL;
	/* ccs(5) 7, W0402: one without clauses means it. */
	if (d->ensures && !x.k->nruns && !x.k->nafter)
		diag_warn(c->diags, W_EMPTY, p->instance.schedule->contract_name.span, NO_RANK,
			  "contract %s promises nothing: no clause is for any chunk", d->name.name);
	shrink(&x);
	return x.k;
}
