/*
 * Evaluates a contract: for each rank and cell, the contributions of its final value; for each
 * rank, the ranks that must begin before it ends.
 *
 * In: a program whose buffers have the chunks that its contract asks for (ccs(5) 4). Out: for each
 * promised cell its value, a list of sorted, disjoint shares (check.h); `rows` has the first of
 * them. NULL after a report: E0203, E0204, E0306, E0406 or E0501.
 *
 * A clause whose value does not mention `rank` is evaluated once for each index, and all ranks use
 * the same shares. Values that are the last one moved on by a chunk or a rank are derived from it
 * without evaluation. A sum of one chunk over a range of ranks is one share.
 *
 * O(terms of the evaluated values + promised cells of all ranks): an allreduce takes O(cells)
 * evaluations and O(ranks * cells) stores.
 */
#include "compiler/check/values/clause.h"

#include <stdlib.h>
#include <string.h>

/* ---- equal values ----------------------------------------------------------------------- */

/* Whether two values have the same contributions; written as a sum or not makes no difference. */
static bool equal(const struct share *a, const struct share *b)
{
	for (;; a++, b++) {
		if (a->cell != b->cell || a->first != b->first || a->n != b->n ||
		    a->times != b->times || a->last != b->last)
			return false;
		if (a->last)
			return true;
	}
}

static uint32_t hash_value(const struct share *s)
{
	uint32_t h = 1;
	do
		h = hash_mix(hash_mix(hash_mix(hash_mix(h, s->cell), s->first), s->n), s->times);
	while (!s++->last);
	return h;
}

/* Here a value that is written as a sum differs from the same contributions written as one chunk. */
static bool same_value(const void *of, uint32_t row, const void *key)
{
	const struct share *a = (const struct share *)of + row, *b = key;
	return a->reduced == b->reduced && equal(a, b);
}

uint32_t contract_alike(struct alike *x, uint32_t row)
{
	if (!x->of)
		x->of = none_array(x->arena, x->k->nshares);
	if (x->of[row] != NONE)
		return x->of[row];
	const struct share *v = x->k->shares;
	uint32_t hash = hash_value(v + row);
	uint32_t first = hash_find(&x->rows, hash, same_value, v, v + row);
	if (first == HASH_NONE)
		hash_add(&x->rows, x->arena, hash, first = row);
	return x->of[row] = first;
}

const struct ensures *contract_clause(const struct contract *k, uint32_t share)
{
	uint32_t i = k->nasked - 1;
	while (k->asked[i].share > share) /* there are few clauses */
		i--;
	return k->asked[i].clause;
}

/* ---- clauses ----------------------------------------------------------------------------- */

static uint32_t *place_of(const struct contract *k, uint32_t rank, uint32_t cell)
{
	if (k->rows)
		return &k->rows[(size_t)rank * k->cells + cell];
	return &k->asked_rows[rank].rows[cell - k->asked_rows[rank].lo];
}

/* Without a full table: extends the range of cells for which the rank has rows, so that it includes
 * `more`. Copies the old rows. */
static void reach(struct evaluation *x, uint32_t rank, struct extent more)
{
	struct asked_rows *w = x->k->rows ? NULL : &x->k->asked_rows[rank], was;
	if (!w || more.lo >= more.end || (more.lo >= w->lo && more.end <= w->lo + w->n))
		return;
	was = *w;
	if (was.n && was.lo < more.lo)
		more.lo = was.lo;
	if (was.lo + was.n > more.end)
		more.end = was.lo + was.n;
	*w = (struct asked_rows){ more.lo, more.end - more.lo, NULL };
	w->rows = arena_alloc(x->p->arena, w->n * sizeof(*w->rows));
	memset(w->rows, 0xff, w->n * sizeof(*w->rows)); /* NONE */
	if (was.n)
		memcpy(w->rows + (was.lo - w->lo), was.rows, was.n * sizeof(*was.rows));
}

/* Makes `row` the value of the rank's cell. False: an earlier clause promises another value, which
 * is reported. */
static bool assign(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t cell,
		   uint32_t row)
{
	uint32_t *at = place_of(x->k, rank, cell);
	if (*at == NONE) {
		*at = row;
		return true;
	}
	if (equal(&x->k->shares[*at], &x->k->shares[row]))
		return true;
	struct diag *g = diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->span, rank,
				  "two clauses disagree on %s",
				  program_cells_text(x->cursor.arena, x->p, cell, 1));
	diag_note(x->ctx->diags, g, contract_clause(x->k, *at)->span, "the other clause");
	return false;
}

/* ccs(5) 4, Sizes: whether the chunks on both sides of the clause have equal sizes. */
static bool sizes_agree(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t cell,
			uint32_t row)
{
	const struct share *r = &x->k->shares[row];
	struct arena *a = x->cursor.arena;
	const char *size[2];
	if (!x->p->any_sized)
		return true;
	for (;; r++) {
		for (uint32_t q = r->first; q < r->first + r->n; q++) {
			if (!program_sizes_differ(x->ctx, x->source, rank, cell, q, r->cell, size))
				continue;
			diag_add(
				x->ctx->diags, SEV_ERROR, 203, c->e->span, rank,
				"the two sides of the clause differ in length: %s has size %s, and "
				"%s of rank %u has size %s",
				program_cells_text(a, x->p, cell, 1), size[0],
				program_cells_text(a, x->p, r->cell, 1), q, size[1]);
			return false;
		}
		if (r->last)
			return true;
	}
}

/* Whether the clause applies on the rank. *ok is false if its condition has no value, which is
 * reported. */
static bool holds(struct evaluation *x, const struct ensures *e, uint32_t rank, bool *ok)
{
	int64_t value = 1;
	*ok = !e->cond || evaluation_number(x, e->cond, rank, &value);
	return *ok && value != 0;
}

/* Sets the values of an index on a rank: all if the index is free, else the value of its
 * expression. False: that is out of range (E0406) or has no value; reported. */
static bool index_range(struct evaluation *x, const struct clause *c, struct index *i,
			uint32_t rank, const char *what)
{
	const struct ref *left = c->e->left;
	int64_t value;
	if (!i->value)
		return true;
	if (!evaluation_number(x, i->value, rank, &value))
		return false;
	i->lo = (uint32_t)value;
	i->hi = i->lo + 1;
	if ((uint64_t)value < i->count)
		return true;
	diag_add(x->ctx->diags, SEV_ERROR, 406, left->span, rank,
		 "%s: %s %lld, and the range is 0 to %u", lang_ref_text(x->ctx->arena, left), what,
		 (long long)value, i->count - 1);
	return false;
}

/* Finds the value of chunk `at` of the buffer on a rank. `shared`: by chunk, the row that the first
 * rank made for all, or NONE; NULL: the values differ by rank. */
static bool clause_cell(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t at,
			uint32_t *shared)
{
	uint32_t cell = c->buffer->cell + at, row = shared ? shared[at] : NONE;
	if (row == NONE)
		row = clause_value(x, c, rank, at / c->index.count, at % c->index.count,
				   shared != NULL);
	if (row == NONE || !sizes_agree(x, c, rank, cell, row) || !assign(x, c, rank, cell, row))
		return false;
	if (shared)
		shared[at] = row;
	return true;
}

/* The value of chunk *index was just evaluated, as one share. Gives the following chunks of
 * the block the same share moved on by one chunk each (see follows()), and advances *index to the
 * last of them. Stops at a limit, which the next evaluation then reports. */
static bool clause_run(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t block,
		       uint32_t *shared, uint32_t *index)
{
	struct contract *k = x->k;
	struct share s = k->shares[k->nshares - 1];
	uint32_t end = c->run < c->index.hi ? c->run : c->index.hi;

	while (*index + 1 < end && x->all_terms < LIMIT_ALL_TERMS && k->nshares + 2 <= LIMIT_RUNS) {
		uint32_t at = block * c->index.count + ++*index, cell = c->buffer->cell + at;
		uint32_t row = (uint32_t)k->nshares;
		s.cell++;
		x->all_terms++;
		ARENA_PUSH(x->p->arena, k->shares, k->nshares, k->capshares) = s;
		if (!assign(x, c, rank, cell, row))
			return false;
		if (shared)
			shared[at] = row;
	}
	return true;
}

/* *block is the block that was just evaluated, each value one share. Gives the following blocks the
 * same shares moved on by one rank each (see block_is_rank()), and advances *block to the last of
 * them. Only where values differ by rank; others are made once anyway. O(chunks of these
 * blocks). */
static bool block_run(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t *block)
{
	struct contract *k = x->k;
	uint32_t n = c->index.hi - c->index.lo, ranks = x->p->nranks;
	uint32_t end = c->block.hi < ranks ? c->block.hi : ranks;

	while (*block + 1 < end && x->all_terms + n <= LIMIT_ALL_TERMS &&
	       (uint64_t)k->nshares + n + 1 <= LIMIT_RUNS) {
		uint32_t cell = c->buffer->cell + ++*block * c->index.count + c->index.lo;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t row = (uint32_t)k->nshares;
			struct share s = k->shares[row - n];
			s.first++;
			x->all_terms++;
			ARENA_PUSH(x->p->arena, k->shares, k->nshares, k->capshares) = s;
			if (!assign(x, c, rank, cell + i, row))
				return false;
		}
	}
	return true;
}

/* The range from the clause's first to its last cell on the current rank; there must be one. */
static struct extent cells_of(const struct clause *c)
{
	uint32_t first = c->buffer->cell + c->index.lo, last = c->buffer->cell + c->index.hi - 1;
	return (struct extent){ first + c->block.lo * c->index.count,
				last + (c->block.hi - 1) * c->index.count + 1 };
}

/* Gives the rank's cells in this block their values. */
static bool clause_block(struct evaluation *x, const struct clause *c, uint32_t rank,
			 uint32_t block, uint32_t *shared)
{
	for (uint32_t i = c->index.lo; i < c->index.hi; i++) {
		uint32_t at = block * c->index.count + i;
		bool made = !shared || shared[at] == NONE;
		if (!clause_cell(x, c, rank, at, shared) ||
		    (made && c->run && !clause_run(x, c, rank, block, shared, &i)))
			return false;
	}
	return true;
}

/* Gives all cells of the clause on this rank their values, if its condition holds there. False: a
 * mistake, which is reported. */
static bool clause_rank(struct evaluation *x, struct clause *c, uint32_t rank, uint32_t *shared)
{
	bool ok = true;
	if (!holds(x, c->e, rank, &ok))
		return ok;
	if (!index_range(x, c, &c->block, rank, "block") ||
	    !index_range(x, c, &c->index, rank, "chunk"))
		return false;
	if (c->block.lo < c->block.hi && c->index.lo < c->index.hi)
		reach(x, rank, cells_of(c));
	for (uint32_t b = c->block.lo; b < c->block.hi; b++)
		if (!clause_block(x, c, rank, b, shared) ||
		    (c->by_block && !shared && !block_run(x, c, rank, &b)))
			return false;
	return true;
}

static void clause(struct evaluation *x, const struct ensures *e)
{
	struct clause c = clause_make(x, e);
	uint32_t *shared = NULL;
	ARENA_PUSH(x->p->arena, x->k->asked, x->k->nasked, x->k->capasked) =
		(struct asked){ (uint32_t)x->k->nshares, e };
	if (!c.by_rank)
		shared = none_array(x->cursor.arena, c.buffer->cells);
	for (uint32_t r = 0; r < program_ranks(x->p); r++)
		if (!clause_rank(x, &c, r, shared) && shared)
			break; /* most likely the same on all ranks: one report is enough */
	if (x->k->nshares > x->k->asked[x->k->nasked - 1].share)
		*(c.reduced ? &x->k->any_reduced : &x->k->any_single) = true;
}

/* ---- after ----------------------------------------------------------------------------- */

/* after(q in a..b): the rank ends after ranks a to b - 1 have begun. */
static void after_clause(struct evaluation *x, const struct ensures *e)
{
	struct contract *k = x->k;
	const struct term *t = e->right;
	int64_t a, b, n = x->p->nranks;
	bool ok = true;
	for (uint32_t r = 0; r < program_ranks(x->p); r++) {
		if (!holds(x, e, r, &ok) || !evaluation_number(x, t->lo, r, &a) ||
		    !evaluation_number(x, t->hi, r, &b) || b <= a)
			continue;
		if (a < 0 || b > n) {
			diag_add(x->ctx->diags, SEV_ERROR, 306, a < 0 ? t->lo->span : t->hi->span,
				 r, "rank %lld: ranks are 0 to %lld",
				 (long long)(a < 0 ? a : b - 1), (long long)n - 1);
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

/* Evaluates the contract's lets on every rank, also lets that no clause uses. False: one has no
 * value, which is reported. */
static bool lets_hold(struct evaluation *x)
{
	bool ok = true;
	uint32_t at;
	for (uint32_t r = 0; r < program_ranks(x->p) && x->lets; r++) {
		evaluation_begin(x, r, r);
		for (const struct stmt *s = x->lets; s && !x->cursor.stopped; s = s->next)
			if (s->e->kind == E_TABLE)
				eval_table_of(&x->cursor, s->var, &at);
			else
				eval(&x->cursor, s->e);
		ok &= !x->cursor.stopped;
	}
	return ok;
}

/* Binds the contract's buffer names to the schedule's buffers, by position. The contract may
 * declare x[B][C] where the schedule has x[B * C], so `inner` is the contract's. */
static bool bind_buffers(struct evaluation *x, struct program *p, const struct decl *contract)
{
	struct buffer *made = ARENA_ARRAY(x->cursor.arena, struct buffer, p->nbuffers + 1);
	uint32_t i = 0;
	for (const struct buffer_def *b = contract->buffers; b && i < p->nbuffers;
	     b = b->next, i++) {
		int64_t inner = 0;
		if (b->blocks && !eval_fixed(&x->cursor, b->count, &inner))
			return false;
		made[i] = p->buffers[i];
		made[i].inner = (uint32_t)inner;
		bind_fixed(&x->cursor, b->sym,
			   (struct bind){ .kind = B_VIEW,
					  .view = { spread_same(made[i].cell), 1, made[i].cells,
						    made[i].inner } });
	}
	p->buffers = made;
	return i == p->nbuffers;
}

/* Makes a table of rows for all cells. If there are far more cells than operations, most are not
 * promised; then each rank gets rows only for a range of cells (reach()). */
static void make_rows(struct evaluation *x)
{
	struct contract *k = x->k;
	size_t n = program_ranks(x->p), all = n * x->p->cells;
	k->cells = x->p->cells;
	if (all / MANY_CELLS <= x->p->nops)
		k->rows = none_array(x->p->arena, all);
	else
		k->asked_rows = ARENA_ARRAY(x->p->arena, struct asked_rows, n);
}

struct contract *contract_expand(struct ctx *c, struct program *p)
{
	const struct decl *d = p->instance.schedule->contract;
	uint32_t errors = c->diags->errors;
	struct program copy = *p;
	struct evaluation x = { .ctx = c, .p = &copy, .source = p, .lets = d->body };
	x.k = ARENA_NEW(p->arena, struct contract);
	make_rows(&x);
	cursor_init(&x.cursor, c, &copy, c->scratch, true);
	if (instance_make(&x.cursor, true) != INSTANCE_OK || !bind_buffers(&x, &copy, d))
		return NULL;
	x.cursor.quiet = false; /* what came before was reported when the program was expanded */
	for (const struct ensures *e = lets_hold(&x) ? d->ensures : NULL; e; e = e->next)
		if (e->right->kind == T_AFTER)
			after_clause(&x, e);
		else
			clause(&x, e);
	if (c->diags->errors != errors)
		return NULL;
	/* ccs(5) 7, W0402; but a contract without clauses is meant to promise nothing. */
	if (d->ensures && !x.k->nshares && !x.k->nafter)
		diag_warn(c->diags, W_EMPTY, p->instance.schedule->contract_name.span, NO_RANK,
			  "contract %s promises nothing: no clause applies to any chunk",
			  d->name.name);
	/* Give back the unused memory. */
	x.k->shares = arena_grow(p->arena, x.k->shares, x.k->capshares * sizeof(*x.k->shares),
				 x.k->nshares * sizeof(*x.k->shares));
	return x.k;
}
