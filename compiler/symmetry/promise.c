/*
 * The kinds of a contract's expressions: see promise.h.
 */
#include "compiler/symmetry/promise.h"

/* The condition on an index of a chunk. */
enum must { MUST_STAY, MUST_TURN, MUST_FOLLOW /* be the left side's free index itself */ };

/* The conditions on the indices of a buffer's chunks. */
struct manner {
	enum must block, index;
	uint32_t unit;	/* MUST_FOLLOW: two buffers with equal unit and cells */
	uint32_t cells; /* ... turn alike */
};

struct promise {
	struct quotient *l;
	const struct decl *contract;
	const struct ensures *e;
	struct manner left;
};

/* The schedule's buffer at the position of the contract's buffer `s`. */
static const struct buffer *buffer_of(const struct promise *x, const struct symbol *s)
{
	uint32_t i = 0;

	for (const struct buffer_def *b = x->contract->buffers; b && i < x->l->p->nbuffers;
	     b = b->next, i++)
		if (b->sym == s)
			return &x->l->p->buffers[i];
	return NULL;
}

/* Whether the buffer consists of regions of one unit, one after another. */
static bool uniform(const struct quotient *l, const struct buffer *b)
{
	uint32_t unit = l->regions[b->cell].unit, n = unit * l->p->nranks;

	for (uint32_t i = b->cell; i < b->cell + b->cells; i = region_end(l, i)) {
		struct cell_turn g = l->regions[i];
		if (g.unit != unit || (unit && g.base != b->cell + (i - b->cell) / n * n))
			return false;
	}
	return true;
}

static bool manner_of(const struct promise *x, const struct ref *r, struct manner *m)
{
	const struct buffer *b = buffer_of(x, r->sym);
	uint32_t n = x->l->p->nranks;

	if (!b || !b->cells || !uniform(x->l, b))
		return false;
	*m = (struct manner){ .unit = x->l->regions[b->cell].unit, .cells = b->cells };
	if (m->unit == 0)
		return true;
	bool one = m->unit * n == b->cells;
	if (r->block && m->unit == b->chunks && one)
		m->block = MUST_TURN;
	else if (m->unit == 1 && (r->block ? b->chunks == n : one))
		m->index = MUST_TURN;
	else if (!r->block)
		m->index = MUST_FOLLOW;
	else
		return false;
	return true;
}

/* Binds a free index, of `count` values, to the kind that it must have. */
static void bind_free(struct promise *x, const struct symbol *s, enum must must, uint32_t count)
{
	struct kind follow = { .form = KIND_OTHER };

	if (s)
		kinds_bind(&x->l->kinds, s,
			   must == MUST_STAY   ? kind_same(count)
			   : must == MUST_TURN ? kinds_rank(&x->l->kinds)
					       : follow);
}

static bool index_is(struct promise *x, const struct expr *e, enum must must)
{
	const struct ensures *c = x->e;

	if (must == MUST_FOLLOW)
		return e->kind == E_NAME && c->index && e->sym == c->index;
	bool free = e->kind == E_NAME && (e->sym == c->index || e->sym == c->block_index);
	if (x->l->by_mirror && !free && e->kind != E_INT)
		return false;
	struct kind k = kinds_of(&x->l->kinds, e);
	return must == MUST_TURN ? kind_turns(k) : k.form == KIND_SAME;
}

static bool chunk_turns(struct promise *x, const struct ref *r)
{
	struct manner m;

	if (!manner_of(x, r, &m) || (r->block && !index_is(x, r->block, m.block)))
		return false;
	if (m.index == MUST_FOLLOW &&
	    (x->left.index != MUST_FOLLOW || m.unit != x->left.unit || m.cells != x->left.cells))
		return false;
	return index_is(x, r->lo, m.index);
}

/* Whether the range is 0..N, which every turn maps to itself. */
static bool is_all(struct promise *x, const struct term *t)
{
	return kinds_is_number(&x->l->kinds, t->lo, 0) &&
	       kinds_is_number(&x->l->kinds, t->hi, x->l->p->nranks);
}

/* Whether `at` is `rank`, or the variable of a sum over all ranks. */
static bool is_rank_or_all(const struct expr *at)
{
	return at->kind == E_RANK || (at->kind == E_NAME && at->sym->kind == SYM_LOOP);
}

static bool term_turns(struct promise *x, const struct term *t)
{
	struct kinds *k = &x->l->kinds;

	for (; t->kind == T_SUM; t = t->body) {
		struct kind lo = kinds_of(k, t->lo), hi = kinds_of(k, t->hi);
		bool all = is_all(x, t);
		if (!all && (x->l->by_mirror || lo.form != KIND_SAME || hi.form != KIND_SAME))
			return false;
		kinds_bind(k, t->var,
			   all ? kinds_rank(k) : kind_same(lo.most > hi.most ? lo.most : hi.most));
	}
	if (t->kind != T_INITIAL || (x->l->by_mirror && !is_rank_or_all(t->at)))
		return false;
	return kind_turns(kinds_of(k, t->at)) && chunk_turns(x, t->ref);
}

static bool clause_turns(struct promise *x, const struct ensures *e)
{
	struct kinds *k = &x->l->kinds;

	x->e = e;
	if (e->cond && (x->l->by_mirror || kinds_of(k, e->cond).form != KIND_SAME))
		return false;
	if (e->right->kind == T_AFTER)
		return is_all(x, e->right);
	if (!e->left || !manner_of(x, e->left, &x->left))
		return false;
	bind_free(x, e->block_index, x->left.block, x->left.cells);
	bind_free(x, e->index, x->left.index, x->left.cells);
	return chunk_turns(x, e->left) && term_turns(x, e->right);
}

/* Parameters and lets of the contract. All lets are evaluated on every rank. */
static bool bind_names(struct promise *x)
{
	struct kinds *k = &x->l->kinds;

	for (const struct binding *p = x->contract->params; p; p = p->next) {
		const struct expr *e = p->value;
		for (const struct binding *b = x->l->p->instance.schedule->contract_args; b;
		     b = b->next)
			if (b->sym == p->sym)
				e = b->value;
		kinds_bind(k, p->sym, e ? kinds_of(k, e) : (struct kind){ .form = KIND_OTHER });
	}
	for (const struct stmt *s = x->contract->body; s; s = s->next) {
		kinds_bind(k, s->var, kinds_of(k, s->e));
		if (k->of[s->var->id].form == KIND_OTHER)
			return false;
	}
	return true;
}

bool promise_turns(struct quotient *l)
{
	struct promise x = { .l = l, .contract = l->p->instance.schedule->contract };

	if (!x.contract || !bind_names(&x))
		return false;
	for (const struct ensures *e = x.contract->ensures; e; e = e->next)
		if (!clause_turns(&x, e))
			return false;
	return true;
}
