/*
 * The chunks of references, and the values that the contract promises, by digits. See grid.h.
 *
 * A range of chunks must have some low digits free and all other digits fixed. O(factors) each.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

/* ---- digits ---------------------------------------------------------------------------------- */

bool grid_fresh(struct grid *g, struct span at, uint32_t *first)
{
	*first = g->natoms;
	for (uint32_t i = 0; i < g->m; i++)
		if (!grid_new_atom(g, i))
			return grid_fail(g, at, "too many numbers at once");
	return true;
}

/* ---- buffers --------------------------------------------------------------------------------- */

bool grid_add_buffer(struct grid *g, const struct buffer_def *d)
{
	const char *why = "a buffer with chunks that are not a grid";
	struct grid_buffer b = { .def = d };
	struct polynomial count;

	if (d->blocks || d->sized || d->by_column)
		return grid_fail(g, d->span, why);
	if (!grid_value(g, d->count, &count))
		return false;
	if (count.n != 1 || count.v[0].factor != 1)
		return grid_fail(g, d->span, why);
	for (uint32_t i = 0; i < GRID_ATOMS; i++) {
		if (count.v[0].power[i] > (i < g->m ? 1 : 0))
			return grid_fail(g, d->span, why);
		b.used |= (uint32_t)count.v[0].power[i] << i;
	}
	ARENA_PUSH(g->arena, g->buffers, g->nbuffers, g->capbuffers) = b;
	return true;
}

/* A buffer of the contract: a block of one chunk for each rank, or the schedule's count of chunks.
 * *cut: the chunks of a block. */
static bool promised(struct grid *g, const struct buffer_def *q, struct grid_buffer *b,
		     struct polynomial *cut)
{
	const char *why = "counts that may differ from the contract's";
	struct polynomial mine, blocks;
	const struct symbol *c = q->count->kind == E_NAME ? q->count->sym : NULL;

	if (!grid_value(g, b->def->count, &mine) ||
	    (q->blocks && !grid_value(g, q->blocks, &blocks)))
		return false;
	if (q->sized || q->by_column || !c || c->kind != SYM_COUNT)
		return grid_fail(g, q->span, why);
	if (q->blocks && (!grid_equal(&blocks, &g->n) || !grid_equal(&mine, &g->n)))
		return grid_fail(g, q->span, "blocks other than one of one chunk per rank");
	*cut = q->blocks ? grid_number(1) : mine;
	if (g->meaning[c->id] && !grid_equal(g->meaning[c->id], cut))
		return grid_fail(g, q->span, why);
	grid_bind(g, c, cut);
	b->promised = q->sym;
	b->blocks = q->blocks != NULL;
	return true;
}

bool grid_buffers(struct grid *g, const struct decl *d)
{
	const struct buffer_def *q = d->contract->buffers;
	struct polynomial first, cut;

	for (const struct buffer_def *b = d->buffers; b; b = b->next)
		if (!grid_add_buffer(g, b))
			return false;
	for (uint32_t i = 0; i < g->nbuffers; i++, q = q->next) {
		if (!q)
			return grid_fail(g, d->name.span, "buffers unlike the contract's");
		if (!promised(g, q, &g->buffers[i], &cut))
			return false;
		first = i ? first : cut;
		if (!grid_equal(&first, &cut)) /* lengths may differ between buffers */
			return grid_fail(g, q->span, "blocks that are cut into different counts");
	}
	return !q || grid_fail(g, d->name.span, "buffers unlike the contract's");
}

/* ---- refs ------------------------------------------------------------------------------------ */

/* The chunks lo .. hi of a ref. */
static bool range(struct grid *g, const struct ref *r, const struct grid_buffer *b,
		  struct polynomial *lo, struct polynomial *n)
{
	struct polynomial hi, zero = grid_number(0);

	*lo = zero;
	*n = grid_number(1);
	if (r->block) /* a contract's block of one chunk */
		return r->kind == REF_ONE && b->blocks && grid_value(g, r->block, lo) &&
		       grid_value(g, r->lo, &hi) && !hi.n;
	if (r->kind == REF_ALL) {
		*n = grid_number(1);
		for (uint32_t i = 0; i < g->m; i++)
			n->v[0].power[i] = b->used >> i & 1;
		return true;
	}
	return grid_value(g, r->lo, lo) &&
	       (r->kind == REF_ONE || (grid_value(g, r->hi, &hi) && grid_sum(&hi, -1, lo, n)));
}

bool grid_cells_of(struct grid *g, const struct ref *r, struct grid_cells *to)
{
	const char *why = "chunks that are not a part of a grid";
	struct polynomial lo, n, all = grid_number(1);
	uint32_t b = 0;

	while (b < g->nbuffers && g->buffers[b].def->sym != r->sym &&
	       g->buffers[b].promised != r->sym)
		b++;
	if (b == g->nbuffers || !range(g, r, &g->buffers[b], &lo, &n))
		return grid_fail(g, r->span, why);
	uint32_t used = g->buffers[b].used;
	*to = (struct grid_cells){ .buffer = b };
	for (uint32_t k = 0; k < g->m && !grid_equal(&all, &n); k++) {
		uint32_t i = grid_factor_of(g, k, g->reversed);
		all.v[0].power[i] = (uint8_t)(all.v[0].power[i] + (used >> i & 1));
		to->free |= (used >> i & 1) << i;
	}
	if (!grid_equal(&all, &n) || !grid_digits(g, &lo, used, g->reversed, to->digit))
		return grid_fail(g, r->span, why);
	for (uint32_t i = 0; i < g->m; i++)
		if (to->free >> i & 1 && to->digit[i].n)
			return grid_fail(g, r->span, why);
	return true;
}

/* ---- as integer sets ------------------------------------------------------------------------- */

isl_map *grid_put_cells(const struct grid *g, const struct polynomial *rank,
			const struct grid_cells *c)
{
	struct polynomial buffer = grid_number(c->buffer);
	isl_map *m = grid_put_digits(g, NULL, rank, 0);

	m = m ? grid_put_digits(g, m, c->digit, c->free) : NULL;
	return m ? grid_put(m, grid_affine(g, &buffer)) : NULL;
}

isl_set *grid_all_cells(const struct grid *g)
{
	isl_space *s = isl_space_params(isl_set_get_space(g->context));
	isl_set *all = NULL;

	for (uint32_t b = 0; b < g->nbuffers; b++) {
		isl_space *cell = isl_space_add_dims(isl_space_set_from_params(isl_space_copy(s)),
						     isl_dim_set, 2 * g->m + 1);
		isl_set *one = isl_set_universe(cell);
		for (uint32_t i = 0; i < 2 * g->m; i++)
			one = i < g->m || g->buffers[b].used >> (i - g->m) & 1
				      ? grid_below(one, i, i % g->m)
				      : isl_set_fix_si(one, isl_dim_set, i, 0);
		one = isl_set_fix_si(one, isl_dim_set, 2 * g->m, (int)b);
		all = all ? isl_set_union(all, one) : one;
	}
	isl_space_free(s);
	return isl_set_intersect_params(all, isl_set_params(isl_set_copy(g->context)));
}

/* ---- the contract ---------------------------------------------------------------------------- */

/* Binds the free index of the left side: the number of a chunk, or of a block of one chunk. */
static bool free_index(struct grid *g, const struct ensures *e, uint32_t used)
{
	const struct symbol *s = e->block_index ? e->block_index : e->left->block ? NULL : e->index;
	struct polynomial zero = grid_number(0), v;
	uint32_t first;

	if (e->left->block && e->index)
		grid_bind(g, e->index, &zero);
	if (!s)
		return true;
	if (!grid_fresh(g, e->span, &first))
		return false;
	v = grid_of_digits(g, first, used, g->reversed);
	grid_bind(g, s, &v);
	return true;
}

/* The digits of q and of e in x[e]@q, or in its sum over all q. */
static bool asked(struct grid *g, const struct term *t, struct polynomial *from,
		  struct grid_cells *of)
{
	struct polynomial lo, hi, q;
	const struct symbol *var = t->kind == T_SUM ? t->var : NULL;
	uint32_t first;

	if (var) {
		if (!grid_value(g, t->lo, &lo) || !grid_value(g, t->hi, &hi))
			return false;
		if (lo.n || !grid_equal(&hi, &g->n))
			return grid_fail(g, t->span, "a sum over something other than all ranks");
		if (!grid_fresh(g, t->span, &first))
			return false;
		q = grid_of_digits(g, first, ~0u, false);
		grid_bind(g, var, &q);
		t = t->body;
		if (t->kind == T_INITIAL && (t->at->kind != E_NAME || t->at->sym != var))
			return grid_fail(g, t->span, "a sum over something other than all ranks");
	}
	return t->kind == T_INITIAL && grid_value(g, t->at, &q) &&
	       grid_digits(g, &q, ~0u, false, from) && grid_cells_of(g, t->ref, of);
}

isl_map *grid_promise(struct grid *g, const struct ensures *e)
{
	const char *why = "a promise that is not known for every size";
	struct polynomial own[GRID_FACTORS], from[GRID_FACTORS];
	struct grid_cells left, right;
	isl_set *domain = NULL;
	uint32_t b = 0;

	while (e->left && b < g->nbuffers && g->buffers[b].promised != e->left->sym)
		b++;
	grid_own(g, own);
	if (!e->left || b == g->nbuffers || !free_index(g, e, g->buffers[b].used) ||
	    (e->cond && !(domain = grid_where(g, e->cond))) || !grid_cells_of(g, e->left, &left) ||
	    !asked(g, e->right, from, &right)) {
		isl_set_free(domain);
		grid_fail(g, e->span, why);
		return NULL;
	}
	domain = domain ? domain : grid_any(g);
	isl_map *x = grid_put_cells(g, own, &left);
	isl_map *y = x ? grid_put_cells(g, from, &right) : NULL;
	if (y)
		return grid_between(g, x, y, domain);
	isl_set_free(domain);
	isl_map_free(x);
	grid_fail(g, e->span, why);
	return NULL;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
