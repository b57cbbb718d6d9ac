/*
 * Evaluates the right side of a contract's clause (ccs(5) 4).
 *
 * In: the clause, a rank, and values of its free indices. Out: the first row of the value's shares,
 * sorted and disjoint, in the contract; or NONE after a report. A sum of one chunk over a range of
 * ranks is one share.
 *
 * clause_make() first finds out how the right side depends on the rank and on the free indices, so
 * that contract.c can derive most values from the one before instead of evaluating them. O(terms)
 * for each value that is evaluated.
 */
#include "compiler/check/values/clause.h"

/* ---- evaluation ------------------------------------------------------------------------- */

void evaluation_begin(struct evaluation *x, int64_t report_rank, uint32_t rank)
{
	struct cursor *v = &x->cursor;
	if (x->begun && v->rank == rank && v->report_rank == report_rank && !v->stopped)
		return;
	x->begun = true;
	cursor_start(&x->cursor, NULL, rank);
	x->cursor.report_rank = report_rank;
	for (const struct stmt *s = x->lets; s; s = s->next)
		bind_lazy(&x->cursor, s->var, s->e);
}

bool evaluation_number(struct evaluation *x, const struct expr *e, uint32_t rank, int64_t *value)
{
	evaluation_begin(x, rank, rank);
	*value = eval(&x->cursor, e);
	return !x->cursor.stopped;
}

/* Adds the contributions of x[e]@q, for ranks q = lo .. hi - 1, as one share. */
static void add_terms(struct evaluation *x, const struct term *t, int64_t lo, int64_t hi)
{
	struct cursor *v = &x->cursor;
	int64_t n = x->p->nranks;
	struct cell_spread c;
	if (v->stopped || !cursor_cells(v, t->ref, NULL, &c)) {
		v->stopped = true;
		return;
	}
	if (lo < 0 || lo >= n || hi > n) {
		/* the clause may be in the prelude; the wrong root is in the schedule: point there,
		 * too */
		diag_note(x->ctx->diags,
			  cursor_report(v, 306, t->at->span, "rank %lld: ranks are 0 to %lld",
					(long long)(lo < 0 || lo >= n ? lo : hi - 1),
					(long long)n - 1),
			  x->p->instance.schedule->contract_name.span,
			  "the schedule implements the contract here");
		v->stopped = true;
		return;
	}
	if (x->nterms >= LIMIT_TERMS) {
		cursor_report(v, 501, t->at->span,
			      "more than %u contributions to one value (LIMIT_TERMS)", LIMIT_TERMS);
		v->stopped = true;
		return;
	}
	v->idle++;
	ARENA_PUSH(v->arena, x->terms, x->nterms, x->capterms) =
		(struct share){ .cell = (uint32_t)c.lo.base,
				.first = (uint32_t)lo,
				.n = (uint32_t)(hi - lo),
				.times = 1 };
}

/* Whether a sum adds one and the same chunk of a range of ranks, and so is one share. Asked for
 * every value of a clause, so the last answer is kept. */
static bool is_share(struct evaluation *x, const struct term *t)
{
	struct cursor *v = &x->cursor;
	const struct term *b = t->body;
	if (x->asked != t)
		x->one_share = b->kind == T_INITIAL && b->at->kind == E_NAME &&
			       b->at->sym == t->var &&
			       !eval_mentions(v, b->ref->block, t->var, false) &&
			       !eval_mentions(v, b->ref->lo, t->var, false);
	x->asked = t;
	return x->one_share;
}

/* Adds the contributions of a term: of one chunk, or of a sum, in one step if it is one share. */
static void add_term(struct evaluation *x, const struct term *t)
{
	struct cursor *v = &x->cursor;
	const struct term *b = t->body;
	if (t->kind != T_SUM) {
		int64_t at = eval(v, t->at);
		/* add_terms refuses a rank that is too large; at + 1 might overflow */
		add_terms(x, t, at, at < x->p->nranks ? at + 1 : at);
		return;
	}
	int64_t lo = eval(v, t->lo), hi = eval(v, t->hi);
	if (v->stopped || hi <= lo)
		return;
	if (is_share(x, t)) {
		add_terms(x, b, lo, hi);
		return;
	}
	for (; lo < hi && !v->stopped; lo++) {
		bind_number(v, t->var, lo);
		add_term(x, b);
		eval_work(v, t->span, t->span);
	}
}

static bool by_rank(struct evaluation *x, const struct expr *e)
{
	return eval_mentions(&x->cursor, e, NULL, true);
}

static bool term_by_rank(struct evaluation *x, const struct term *t)
{
	for (; t->kind == T_SUM; t = t->body)
		if (by_rank(x, t->lo) || by_rank(x, t->hi))
			return true;
	return by_rank(x, t->ref->block) || by_rank(x, t->ref->lo) || by_rank(x, t->at);
}

static const struct buffer *buffer_of(const struct evaluation *x, const struct symbol *s)
{
	return program_buffer(x->p, view_cell(&x->cursor.binds[s->id].view));
}

/* An index of the left side, for all ranks. Notes in c->by_rank if its value mentions `rank`. */
static struct index make_index(struct evaluation *x, struct clause *c, const struct expr *value,
			       bool is_free, uint32_t count)
{
	c->by_rank |= !is_free && by_rank(x, value);
	return (struct index){ .value = is_free ? NULL : value, .count = count, .hi = count };
}

/* Whether each value of the free index has the right side of the value before, moved on by one
 * chunk. This is so if the index is the right side's chunk, and nothing else there depends on it.
 * Returns for how many values: the chunks of the right side's block. 0: it is not so, or chunks are
 * `sized`, and each has to be compared. */
static uint32_t follows(struct evaluation *x, const struct ensures *e)
{
	struct cursor *v = &x->cursor;
	const struct term *t = e->right, *b = t->kind == T_SUM ? t->body : t;

	if (x->p->any_sized || !e->index || b->kind != T_INITIAL || b->ref->lo->kind != E_NAME ||
	    b->ref->lo->sym != e->index || eval_mentions(v, b->ref->block, e->index, false) ||
	    eval_mentions(v, b->at, e->index, false))
		return 0;
	if (b != t && (!is_share(x, t) || eval_mentions(v, t->lo, e->index, false) ||
		       eval_mentions(v, t->hi, e->index, false)))
		return 0;
	const struct view *w = &v->binds[b->ref->sym->id].view;
	return w->inner ? w->inner : w->parts;
}

/* Whether the right side is one chunk, at the rank that the free block index names, and does not
 * depend on this index otherwise; as in all_to_all. Then a block's values are the block before's,
 * moved on by one rank. */
static bool block_is_rank(struct evaluation *x, const struct ensures *e)
{
	const struct term *t = e->right;

	return !x->p->any_sized && e->block_index && t->kind == T_INITIAL &&
	       t->at->kind == E_NAME && t->at->sym == e->block_index &&
	       !eval_mentions(&x->cursor, t->ref->block, e->block_index, false) &&
	       !eval_mentions(&x->cursor, t->ref->lo, e->block_index, false);
}

struct clause clause_make(struct evaluation *x, const struct ensures *e)
{
	const struct buffer *b = buffer_of(x, e->left->sym);
	struct clause c = { .e = e, .buffer = b, .reduced = e->right->kind == T_SUM };
	c.by_rank = term_by_rank(x, e->right);
	c.block = (struct index){ .count = 1, .hi = 1 };
	if (e->left->block)
		c.block = make_index(x, &c, e->left->block, e->block_index != NULL,
				     b->cells / b->inner);
	c.index = make_index(x, &c, e->left->lo, e->index != NULL, b->inner ? b->inner : b->cells);
	c.run = follows(x, e);
	c.by_block = block_is_rank(x, e);
	return c;
}

/* ---- values --------------------------------------------------------------------------- */

static void push_share(struct evaluation *x, const struct clause *c, struct share s, bool last)
{
	struct contract *k = x->k;
	s.last = last;
	s.reduced = c->reduced;
	ARENA_PUSH(x->p->arena, k->shares, k->nshares, k->capshares) = s;
}

/* Appends the sum of the terms, as sorted, disjoint shares with multiplicities. */
static void push_sum(struct evaluation *x, const struct clause *c)
{
	struct shares *sum = &x->sum;
	for (uint32_t i = 0; i < x->nterms; i++)
		shares_add(x->cursor.arena, sum, x->terms[i].cell, x->terms[i].first, x->terms[i].n,
			   1);
	shares_sum(x->cursor.arena, sum);
	for (uint32_t i = 0; i < sum->n; i++)
		push_share(x, c, sum->v[i], i + 1 == sum->n);
}

/* ccs(5) 4, Lengths: the chunks on both sides of a clause must be equally long, that is, their
 * blocks cut into as many chunks. Chunks of `sized` buffers are compared by their sizes instead:
 * sizes_agree(), contract.c. */
static bool lengths_agree(struct evaluation *x, const struct clause *c, int64_t rank, uint32_t cell)
{
	for (uint32_t i = 0; i < x->nterms; i++) {
		const struct buffer *b = program_buffer(x->p, x->terms[i].cell);
		if (b->chunks == c->buffer->chunks || b->def->sized || c->buffer->def->sized)
			continue;
		struct arena *a = x->cursor.arena;
		struct diag *g =
			diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->span, rank,
				 "the two sides of the clause differ in length: %s, and %s",
				 program_part_text(a, x->p, cell, " is"),
				 program_part_text(a, x->p, x->terms[i].cell, " is"));
		diag_help(x->ctx->diags, g,
			  "`x[C]` is one block cut into C chunks, `x[B][C]` is B "
			  "blocks of C chunks each; both sides need the same C");
		return false;
	}
	return true;
}

uint32_t clause_value(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t block,
		      uint32_t index, bool shared)
{
	uint64_t row = x->k->nshares;
	int64_t who = shared ? NO_RANK : (int64_t)rank;
	const struct ensures *e = c->e;
	evaluation_begin(x, who, rank);
	if (e->block_index)
		bind_number(&x->cursor, e->block_index, block);
	if (e->index)
		bind_number(&x->cursor, e->index, index);
	x->nterms = 0;
	add_term(x, e->right);
	if (x->cursor.stopped)
		return NONE;
	x->cursor.idle = 0; /* the limit is on work for one value, as elsewhere for one operation */
	if (x->nterms == 0) {
		diag_add(x->ctx->diags, SEV_ERROR, 203, e->right->span, who,
			 "this sum has no terms, so it has no value");
		return NONE;
	}
	if (!lengths_agree(x, c, who, c->buffer->cell + block * c->index.count + index))
		return NONE;
	x->all_terms += x->nterms;
	/* n overlapping runs of ranks sum up to fewer than 2 * n disjoint ones */
	if (x->all_terms > LIMIT_ALL_TERMS || row + 2 * (uint64_t)x->nterms > LIMIT_RUNS) {
		bool runs = x->all_terms <= LIMIT_ALL_TERMS;
		diag_add(x->ctx->diags, SEV_ERROR, 501, e->right->span, NO_RANK,
			 "the contract needs more than %u contributions%s (%s)",
			 runs ? LIMIT_RUNS : LIMIT_ALL_TERMS, runs ? ", in runs of ranks" : "",
			 runs ? "LIMIT_RUNS" : "LIMIT_ALL_TERMS");
		return NONE;
	}
	if (x->nterms == 1)
		push_share(x, c, x->terms[0], true);
	else
		push_sum(x, c);
	return (uint32_t)row;
}
