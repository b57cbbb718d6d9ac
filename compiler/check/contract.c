/*
 * What a contract asks for: for each rank and cell, the contributions of its final
 * value; for each rank, whose beginnings must come before its end.
 *
 * In: a program whose counts agree with its contract. Out: shares of contributions,
 * sorted and disjoint; `rows` says where a cell's begin. A clause that does not mention
 * `rank` is evaluated once an index, and all ranks have its shares in common; a sum of one chunk over a range of ranks
 * is one share: allreduce takes O(cells + ranks * cells stores). ccs(5) 4.
 */
#include "compiler/check/value.h"
#include "compiler/expand/cursor.h"

#include <stdlib.h>
#include <string.h>

struct evaluation {
	struct ctx *ctx;
	const struct program *p; /* with the contract's brackets */
	struct program *source;
	const struct stmt *lets;
	struct cursor cursor;
	struct share *terms; /* of the value at hand, each once */
	uint32_t nterms, capterms;
	struct contract *k;
	const struct portion *part; /* NULL: all chunks */
	uint32_t width;		    /* cells of a rank's rows */
	uint64_t all_terms;	    /* of all values so far */
	struct shares sum;	    /* room */
	const struct term *asked;   /* of this sum it is known whether it is one share */
	bool one_share;
	bool begun; /* the cursor is at a rank */
};

/* An index of the left side. */
struct index {
	const struct expr *value; /* NULL: it is free */
	uint32_t lo, hi;	  /* values on the rank at hand */
	uint32_t count;		  /* that there are */
};

/* One clause. */
struct clause {
	const struct ensures *e;
	bool by_rank, reduced;
	const struct buffer *buffer; /* of the left side */
	struct index block, index;   /* a buffer with one bracket has one block here */
	uint32_t run;		     /* follows(): for so many values of the index; or 0 */
	bool by_block;		     /* block_is_rank() */
};

/* ---- evaluation ------------------------------------------------------------------------- */

/* What is evaluated next is of this rank. Its lets keep their values as long as it stays the rank. */
static void begin(struct evaluation *x, int64_t report_rank, uint32_t rank)
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

static bool number(struct evaluation *x, const struct expr *e, uint32_t rank, int64_t *value)
{
	begin(x, rank, rank);
	*value = eval(&x->cursor, e);
	return !x->cursor.stopped;
}

/* x[e]@q, for ranks q = lo .. hi. */
static void add_terms(struct evaluation *x, const struct term *t, int64_t lo, int64_t hi)
{
	struct cursor *v = &x->cursor;
	int64_t n = x->p->nranks;
	struct cells c;
	if (v->stopped || !cursor_cells(v, t->ref, NULL, &c)) {
		v->stopped = true;
		return;
	}
	if (lo < 0 || lo >= n || hi > n) {
		/* the contract is the prelude's, but its root is the schedule's */
		diag_note(x->ctx->diags,
			  cursor_report(v, 306, t->at->span, "rank %lld: ranks are 0..%lld",
					(long long)(lo < 0 || lo >= n ? lo : hi - 1), (long long)n),
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
	ARENA_PUSH(v->arena, x->terms, x->nterms, x->capterms) = (struct share){
		.cell = c.lo, .first = (uint32_t)lo, .n = (uint32_t)(hi - lo), .times = 1
	};
}

/* Whether a sum is of one chunk over a range of ranks: one share. */
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

/* The contributions of a term. */
static void add_term(struct evaluation *x, const struct term *t)
{
	struct cursor *v = &x->cursor;
	const struct term *b = t->body;
	if (t->kind != T_SUM) {
		int64_t at = eval(v, t->at);
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
	return program_buffer(x->p, x->cursor.binds[s->id].view.first);
}

static struct index make_index(struct evaluation *x, struct clause *c, const struct expr *value,
			       bool is_free, uint32_t count)
{
	c->by_rank |= !is_free && by_rank(x, value);
	return (struct index){ .value = is_free ? NULL : value, .count = count, .hi = count };
}

/* For how many values of the free index the right side is what it is for the one before, one chunk
 * on: that index is its chunk's, and nothing else in it depends on the index. */
static uint32_t follows(struct evaluation *x, const struct ensures *e)
{
	struct cursor *v = &x->cursor;
	const struct term *t = e->right, *b = t->kind == T_SUM ? t->body : t;

	if (x->part || x->p->any_sized || !e->index || b->kind != T_INITIAL ||
	    b->ref->lo->kind != E_NAME || b->ref->lo->sym != e->index ||
	    eval_mentions(v, b->ref->block, e->index, false) ||
	    eval_mentions(v, b->at, e->index, false))
		return 0;
	if (b != t && (!is_share(x, t) || eval_mentions(v, t->lo, e->index, false) ||
		       eval_mentions(v, t->hi, e->index, false)))
		return 0;
	const struct view *w = &v->binds[b->ref->sym->id].view;
	return w->inner ? w->inner : w->parts;
}

/* Whether the free block is the rank that the one chunk is of, and nothing else in the right side
 * depends on it, as in all_to_all: a block's values are those of the one before, one rank on. */
static bool block_is_rank(struct evaluation *x, const struct ensures *e)
{
	const struct term *t = e->right;

	return !x->part && !x->p->any_sized && e->block_index && t->kind == T_INITIAL &&
	       t->at->kind == E_NAME && t->at->sym == e->block_index &&
	       !eval_mentions(&x->cursor, t->ref->block, e->block_index, false) &&
	       !eval_mentions(&x->cursor, t->ref->lo, e->block_index, false);
}

static struct clause make_clause(struct evaluation *x, const struct ensures *e)
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

/* The terms as sorted, disjoint shares with multiplicities. */
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

/* ccs(5) 4, Lengths: a chunk cannot be promised what is longer or shorter. */
static bool lengths_agree(struct evaluation *x, const struct clause *c, int64_t rank, uint32_t cell)
{
	for (uint32_t i = 0; i < x->nterms; i++) {
		const struct buffer *b = program_buffer(x->p, x->terms[i].cell);
		if (b->chunks == c->buffer->chunks)
			continue;
		struct arena *a = x->cursor.arena;
		struct diag *g = diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->span, rank,
					  "the clause asks for another length: %s, and %s",
					  program_part_text(a, x->p, cell, " is"),
					  program_part_text(a, x->p, x->terms[i].cell, " is"));
		diag_help(x->ctx->diags, g,
			  "`x[C]` is one block cut into C chunks, `x[B][C]` is B "
			  "blocks of C chunks each; both sides need the same C");
		return false;
	}
	return true;
}

/* Evaluates the right side; the row of its shares, or NONE if it fails. */
static uint32_t value_row(struct evaluation *x, const struct clause *c, uint32_t rank,
			  uint32_t block, uint32_t index, bool shared)
{
	uint64_t row = x->k->nshares;
	int64_t who = shared ? NO_RANK : (int64_t)rank;
	const struct ensures *e = c->e;
	begin(x, who, rank);
	if (e->block_index)
		bind_number(&x->cursor, e->block_index, block);
	if (e->index)
		bind_number(&x->cursor, e->index, index);
	x->nterms = 0;
	add_term(x, e->right);
	if (x->cursor.stopped)
		return NONE;
	x->cursor.idle = 0; /* a value counts as an operation does */
	if (x->nterms == 0) {
		diag_add(x->ctx->diags, SEV_ERROR, 203, e->right->span, who,
			 "a sum of nothing: it has no value");
		return NONE;
	}
	if (!lengths_agree(x, c, who, c->buffer->cell + block * c->index.count + index))
		return NONE;
	x->all_terms += x->nterms;
	if (x->all_terms > LIMIT_ALL_TERMS || row + 2 * (uint64_t)x->nterms > LIMIT_RUNS) {
		bool runs = x->all_terms <= LIMIT_ALL_TERMS;
		diag_add(x->ctx->diags, SEV_ERROR, 501, e->right->span, NO_RANK,
			 "the contract asks for more than %u contributions%s (%s)",
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

static uint32_t *find_slot(const struct alike *x, uint32_t row)
{
	const struct share *v = x->k->shares;
	uint32_t i = hash_value(v + row) & (x->nslots - 1);
	while (x->slots[i] != NONE &&
	       (v[x->slots[i]].reduced != v[row].reduced || !equal(v + x->slots[i], v + row)))
		i = (i + 1) & (x->nslots - 1);
	return &x->slots[i];
}

static void grow_slots(struct alike *x)
{
	uint32_t *old = x->slots, n = x->nslots;
	x->nslots = n ? 2 * n : 64;
	x->slots = none_array(x->arena, x->nslots);
	for (uint32_t i = 0; i < n; i++)
		if (old[i] != NONE)
			*find_slot(x, old[i]) = old[i];
}

uint32_t contract_alike(struct alike *x, uint32_t row)
{
	if (!x->of)
		x->of = none_array(x->arena, x->k->nshares);
	if (x->of[row] != NONE)
		return x->of[row];
	if (2 * (x->used + 1) > x->nslots)
		grow_slots(x);
	uint32_t *slot = find_slot(x, row);
	if (*slot == NONE) {
		*slot = row;
		x->used++;
	}
	return x->of[row] = *slot;
}

const struct ensures *contract_clause(const struct contract *k, uint32_t share)
{
	uint32_t i = k->nasked - 1;
	while (k->asked[i].share > share) /* clauses are few */
		i--;
	return k->asked[i].clause;
}

/* ---- clauses ----------------------------------------------------------------------------- */

static uint32_t *place_of(const struct contract *k, uint32_t rank, uint32_t column)
{
	if (k->rows)
		return &k->rows[(size_t)rank * k->cells + column];
	return &k->asked_rows[rank].rows[column - k->asked_rows[rank].lo];
}

/* Sees to it that the rank has rows for these cells, too. Clauses are few. */
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

/* `column`: of the rank's rows. */
static bool assign(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t cell,
		   uint32_t column, uint32_t row)
{
	uint32_t *at = place_of(x->k, rank, column);
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

/* ccs(5) 4, Sizes: the same, chunk by chunk. */
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
			diag_add(x->ctx->diags, SEV_ERROR, 203, c->e->span, rank,
				 "the clause asks for another length: %s has size %s, and %s of "
				 "rank %u has size %s",
				 program_cells_text(a, x->p, cell, 1), size[0],
				 program_cells_text(a, x->p, r->cell, 1), q, size[1]);
			return false;
		}
		if (r->last)
			return true;
	}
}

/* Whether the clause is for this rank; *ok: its condition could be evaluated. */
static bool holds(struct evaluation *x, const struct ensures *e, uint32_t rank, bool *ok)
{
	int64_t value = 1;
	*ok = !e->cond || number(x, e->cond, rank, &value);
	return *ok && value != 0;
}

/* The values of an index on a rank: all, or the one that it says. */
static bool index_range(struct evaluation *x, const struct clause *c, struct index *i,
			uint32_t rank, const char *what)
{
	const struct ref *left = c->e->left;
	int64_t value;
	if (!i->value)
		return true;
	if (!number(x, i->value, rank, &value))
		return false;
	i->lo = (uint32_t)value;
	i->hi = i->lo + 1;
	if ((uint64_t)value < i->count)
		return true;
	diag_add(x->ctx->diags, SEV_ERROR, 406, left->span, rank,
		 "%s: %s %lld, and there are 0..%u", lang_ref_text(x->ctx->arena, left), what,
		 (long long)value, i->count);
	return false;
}

/* One chunk of a rank, number `at` of the buffer. `shared`: rows by that which all ranks have in
 * common, made as they are needed. */
static bool clause_cell(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t at,
			uint32_t column, uint32_t *shared)
{
	uint32_t cell = c->buffer->cell + at, row = shared ? shared[at] : NONE;
	if (row == NONE)
		row = value_row(x, c, rank, at / c->index.count, at % c->index.count,
				shared != NULL);
	if (row == NONE || !sizes_agree(x, c, rank, cell, row) ||
	    !assign(x, c, rank, cell, column, row))
		return false;
	if (shared)
		shared[at] = row;
	return true;
}

/* The chunks of a block whose values follow from that of the first, which was just made; *index: the
 * last one that is done. */
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
		if (!assign(x, c, rank, cell, cell, row))
			return false;
		if (shared)
			shared[at] = row;
	}
	return true;
}

/* The blocks behind `block`, whose values were made last, by what is in it; *block: the last one that
 * is done. Those of one rank only: what all have in common is made once anyhow. O(their chunks). */
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
			if (!assign(x, c, rank, cell + i, cell + i, row))
				return false;
		}
	}
	return true;
}

static bool is_asked(const struct clause *c, uint32_t at)
{
	uint32_t b = at / c->index.count, i = at % c->index.count;
	return b >= c->block.lo && b < c->block.hi && i >= c->index.lo && i < c->index.hi;
}

/* The chunks of the rank that are in the part. */
static bool clause_part(struct evaluation *x, const struct clause *c, uint32_t rank,
			uint32_t *shared)
{
	for (uint32_t k = 0; k < x->part->n; k++) {
		uint32_t at = x->part->cells[k] - c->buffer->cell;
		if (at < c->buffer->cells && portion_has(x->part, k, rank) && is_asked(c, at) &&
		    !clause_cell(x, c, rank, at, k, shared))
			return false;
	}
	return true;
}

/* Where the clause's cells on the rank at hand lie; there are some. */
static struct extent cells_of(const struct clause *c)
{
	uint32_t first = c->buffer->cell + c->index.lo, last = c->buffer->cell + c->index.hi - 1;
	return (struct extent){ first + c->block.lo * c->index.count,
				last + (c->block.hi - 1) * c->index.count + 1 };
}

/* The chunks of a rank's block. */
static bool clause_block(struct evaluation *x, const struct clause *c, uint32_t rank,
			 uint32_t block, uint32_t *shared)
{
	for (uint32_t i = c->index.lo; i < c->index.hi; i++) {
		uint32_t at = block * c->index.count + i;
		bool made = !shared || shared[at] == NONE;
		if (!clause_cell(x, c, rank, at, c->buffer->cell + at, shared) ||
		    (made && c->run && !clause_run(x, c, rank, block, shared, &i)))
			return false;
	}
	return true;
}

/* One rank's cells. */
static bool clause_rank(struct evaluation *x, struct clause *c, uint32_t rank, uint32_t *shared)
{
	bool ok = true;
	if (!holds(x, c->e, rank, &ok))
		return ok;
	if (!index_range(x, c, &c->block, rank, "block") ||
	    !index_range(x, c, &c->index, rank, "chunk"))
		return false;
	if (x->part)
		return clause_part(x, c, rank, shared);
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
	struct clause c = make_clause(x, e);
	uint32_t *shared = NULL;
	ARENA_PUSH(x->p->arena, x->k->asked, x->k->nasked, x->k->capasked) =
		(struct asked){ (uint32_t)x->k->nshares, e };
	if (!c.by_rank)
		shared = none_array(x->cursor.arena, c.buffer->cells);
	for (uint32_t r = 0; r < program_ranks(x->p); r++)
		if (!clause_rank(x, &c, r, shared) && shared)
			break; /* what is common failed: once is enough */
	if (x->k->nshares > x->k->asked[x->k->nasked - 1].share)
		*(c.reduced ? &x->k->any_reduced : &x->k->any_single) = true;
}

/* ---- after ----------------------------------------------------------------------------- */

/* after(q in a..b): the rank's end comes after the beginnings of ranks a..b. */
static void after_clause(struct evaluation *x, const struct ensures *e)
{
	struct contract *k = x->k;
	const struct term *t = e->right;
	int64_t a, b, n = x->p->nranks;
	bool ok = true;
	for (uint32_t r = 0; r < program_ranks(x->p); r++) {
		if (!holds(x, e, r, &ok) || !number(x, t->lo, r, &a) || !number(x, t->hi, r, &b) ||
		    b <= a)
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
static bool lets_hold(struct evaluation *x)
{
	bool ok = true;
	uint32_t at;
	for (uint32_t r = 0; r < program_ranks(x->p) && x->lets; r++) {
		begin(x, r, r);
		for (const struct stmt *s = x->lets; s && !x->cursor.stopped; s = s->next)
			if (s->e->kind == E_TABLE)
				eval_table_of(&x->cursor, s->var, &at);
			else
				eval(&x->cursor, s->e);
		ok &= !x->cursor.stopped;
	}
	return ok;
}

/* The contract's buffers stand for the schedule's, by position, with brackets of their
 * own. */
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
		bind_fixed(
			&x->cursor, b->sym,
			(struct bind){ .kind = B_VIEW,
				       .view = { made[i].cell, 1, made[i].cells, made[i].inner } });
	}
	p->buffers = made;
	return i == p->nbuffers;
}

/* A program with far fewer operations than cells cannot do much to most of them. */
static void make_rows(struct evaluation *x)
{
	struct contract *k = x->k;
	size_t n = program_ranks(x->p), all = n * x->width;
	k->cells = x->width;
	if (x->part || all / MANY_CELLS <= x->p->nops)
		k->rows = none_array(x->p->arena, all);
	else
		k->asked_rows = ARENA_ARRAY(x->p->arena, struct asked_rows, n);
}

static struct contract *expand_contract(struct ctx *c, struct program *p,
					const struct portion *part)
{
	const struct decl *d = p->instance.schedule->contract;
	uint32_t errors = c->diags->errors;
	struct program copy = *p;
	struct evaluation x = { .ctx = c, .p = &copy, .source = p, .lets = d->body, .part = part };
	x.width = part ? part->n : p->cells;
	x.k = ARENA_NEW(p->arena, struct contract);
	make_rows(&x);
	cursor_init(&x.cursor, c, &copy, c->scratch, true);
	x.cursor.streamed = part != NULL; /* there may be too many chunks to store */
	if (instance_make(&x.cursor, true) != INSTANCE_OK || !bind_buffers(&x, &copy, d))
		return NULL;
	x.cursor.quiet = false;
	for (const struct ensures *e = lets_hold(&x) ? d->ensures : NULL; e; e = e->next)
		if (e->right->kind == T_AFTER)
			after_clause(&x, e);
		else
			clause(&x, e);
	if (c->diags->errors != errors)
		return NULL;
	/* ccs(5) 7, W0402: one without clauses means it. */
	if (!part && d->ensures && !x.k->nshares && !x.k->nafter)
		diag_warn(c->diags, W_EMPTY, p->instance.schedule->contract_name.span, NO_RANK,
			  "contract %s promises nothing: no clause is for any chunk", d->name.name);
	/* What it has too much goes back. */
	x.k->shares = arena_grow(p->arena, x.k->shares, x.k->capshares * sizeof(*x.k->shares),
				 x.k->nshares * sizeof(*x.k->shares));
	return x.k;
}

struct contract *contract_expand(struct ctx *c, struct program *p)
{
	return expand_contract(c, p, NULL);
}

struct contract *contract_expand_portion(struct ctx *c, struct program *p,
					 const struct portion *part)
{
	return expand_contract(c, p, part);
}
