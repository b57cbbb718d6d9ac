/*
 * Same bits; see bits.h.
 *
 * In: a run of a program that is proved, and the contract. Out: struct bits. Each final value is
 * the value of its row in the contract, so equal rows mean equal contributions. Trees are numbered
 * only until a difference is found: if the first two chunks of the first rank differ, as in rings,
 * the cost is small.
 */
#include "compiler/check/values/bits.h"

/* The final values of a rank. */
struct finals {
	const struct contract *k;
	const struct replay *r;
	uint32_t rank;
	struct extent asked; /* the promised cells */
};

static struct finals finals_of(const struct replay *r, const struct contract *k, uint32_t rank)
{
	return (struct finals){ k, r, rank, contract_asks(k, rank) };
}

/* The contract's row, or NONE. */
static inline uint32_t row_of(const struct finals *f, uint32_t cell)
{
	return contract_row(f->k, f->rank, cell);
}

static inline uint32_t value_of(const struct finals *f, uint32_t cell)
{
	return replay_value(f->r, f->rank, cell);
}

static bool is_promised(const struct finals *f, uint32_t cell)
{
	return row_of(f, cell) != NONE && value_of(f, cell) < POISON;
}

/* ---- places ----------------------------------------------------------------------- */

/* The number of chunks in which an element of a block can be, depending on the count. */
static uint32_t chunks_together(const struct buffer *b)
{
	return b->def->sized ? 1 : b->chunks;
}

/* By cell: the first cell of its block, and the number of its chunk in the block. */
struct places {
	uint32_t *first, *number;
};

static struct places find_places(const struct program *p, struct arena *arena)
{
	struct places x = { ARENA_ARRAY(arena, uint32_t, p->cells),
			    ARENA_ARRAY(arena, uint32_t, p->cells) };

	for (uint32_t b = 0; b < p->nbuffers; b++) {
		const struct buffer *f = &p->buffers[b];
		uint32_t n = chunks_together(f);
		for (uint32_t i = 0; i < f->cells; i++) {
			x.first[f->cell + i] = f->cell + i / n * n;
			x.number[f->cell + i] = i % n;
		}
	}
	return x;
}

/* Whether a promised chunk has contributions from another place in a block. */
static bool moves(const struct contract *k, const struct places *places, uint32_t row,
		  uint32_t cell, uint32_t *from)
{
	for (const struct share *s = k->shares + row;; s++) {
		*from = s->cell;
		if (places->number[s->cell] != places->number[cell])
			return true;
		if (s->last)
			return false;
	}
}

/* Finds such a chunk. Each row is checked once, as ranks mostly share rows. */
static bool find_moved(const struct replay *r, const struct contract *k,
		       const struct places *places, struct arena *arena, struct apart *found)
{
	uint32_t *known =
		none_array(arena, k->nshares); /* by row: a cell for which it was checked */

	for (uint32_t q = 0; q < r->p->nranks; q++) {
		struct finals f = finals_of(r, k, q);
		for (uint32_t i = f.asked.lo; i < f.asked.end; i++) {
			uint32_t from, row = row_of(&f, i);
			if (!is_promised(&f, i) || known[row] == i)
				continue;
			known[row] = i;
			if (moves(k, places, row, i, &from)) {
				*found = (struct apart){
					{ q, q }, { i, from }, { value_of(&f, i), NONE }, true
				};
				return true;
			}
		}
	}
	return false;
}

/* ---- on every rank ------------------------------------------------------------------- */

/* Compares each sum with the first one that has the same contributions. */
static bool same_by_rank(struct bits *x, const struct replay *r, const struct contract *k,
			 struct arena *arena)
{
	struct alike alike = { .k = k, .arena = arena };
	uint8_t *seen = ARENA_ARRAY(arena, uint8_t, (size_t)r->values.n + 1);
	struct at {
		uint32_t rank, cell;
	} *first = ARENA_ARRAY(arena, struct at, k->nshares + 1); /* by row */
	uint32_t *value = none_array(arena, k->nshares);	  /* and its value */

	for (uint32_t q = 0; q < r->p->nranks; q++) {
		struct finals f = finals_of(r, k, q);
		for (uint32_t i = f.asked.lo; i < f.asked.end; i++) {
			uint32_t id = value_of(&f, i);
			if (!is_promised(&f, i) || id < r->values.base || seen[id - r->values.base])
				continue;
			seen[id - r->values.base] = 1;
			uint32_t row = contract_alike(&alike, row_of(&f, i));
			if (value[row] == NONE) {
				value[row] = id;
				first[row] = (struct at){ q, i };
			}
			if (value[row] == id ||
			    tree_number(&x->trees, &x->history, id) ==
				    tree_number(&x->trees, &x->history, value[row]))
				continue;
			x->by_rank = (struct apart){ { first[row].rank, q },
						     { first[row].cell, i },
						     { value[row], id },
						     false };
			return false;
		}
	}
	return true;
}

/* ---- for every count --------------------------------------------------------------------- */

/* Compares the promised chunks of one block of one rank. */
static bool same_in_block(struct bits *x, const struct finals *f, uint32_t rank, uint32_t cell,
			  uint32_t n)
{
	uint32_t at = cell;

	while (at < cell + n && !is_promised(f, at))
		at++;
	if (at + 1 >= cell + n)
		return true;
	uint32_t number = tree_number(&x->trees, &x->history, value_of(f, at));
	for (uint32_t i = at + 1; i < cell + n; i++) {
		if (!is_promised(f, i))
			continue;
		if (tree_number(&x->trees, &x->history, value_of(f, i)) == number) {
			trees_number(&x->trees,
				     &x->history); /* most others will be compared, too */
			continue;
		}
		x->by_count = (struct apart){
			{ rank, rank }, { at, i }, { value_of(f, at), value_of(f, i) }, false
		};
		return false;
	}
	return true;
}

static bool same_by_count(struct bits *x, const struct replay *r, const struct contract *k)
{
	const struct program *p = r->p;

	for (uint32_t q = 0; q < p->nranks; q++) {
		struct finals f = finals_of(r, k, q);
		bool any = f.asked.lo < f.asked.end;
		for (uint32_t b = 0; b < p->nbuffers && any; b++) {
			const struct buffer *v = &p->buffers[b];
			uint32_t end = v->cell + v->cells, n = chunks_together(v);
			for (uint32_t at = v->cell; at < end; at += n) {
				bool asked = at + n > f.asked.lo && at < f.asked.end;
				if (n > 1 && asked && !same_in_block(x, &f, q, at, n))
					return false;
			}
		}
	}
	return true;
}

static uint32_t *own_cells(const struct program *p, struct arena *arena)
{
	uint32_t *own = ARENA_ARRAY(arena, uint32_t, p->cells);

	for (uint32_t i = 0; i < p->cells; i++)
		own[i] = i;
	return own;
}

struct bits bits(struct ctx *c, const struct contract *k, struct replay *r)
{
	struct bits x = { 0 };
	struct places places = find_places(r->p, c->scratch);
	bool moved = find_moved(r, k, &places, c->scratch, &x.by_count);

	trees_init(&x.trees, c->scratch, r->values.base);
	/* All leaves of a value are of its place, so a leaf is identified by its block. */
	x.history = history_of(c->scratch, &r->values,
			       moved ? own_cells(r->p, c->scratch) : places.first);
	x.counts = !moved && same_by_count(&x, r, k);
	x.ranks = same_by_rank(&x, r, k, c->scratch);
	return x;
}

/* ---- lowered programs ------------------------------------------------------------------------ */

bool bits_kept(struct ctx *c, const struct program *p, const struct contract *k,
	       const struct order *order, struct replay *lowered)
{
	struct replay *r = ARENA_NEW(c->scratch, struct replay);
	uint32_t *own = own_cells(p, c->scratch);
	struct trees trees;

	if (!replay_init(r, c, p, c->scratch))
		return false;
	r->silent = true;
	replay_run(r, order);
	trees_init(&trees, c->scratch, r->values.base);
	struct history had = history_of(c->scratch, &r->values, own),
		       has = history_of(c->scratch, &lowered->values, own);
	trees_number(&trees, &had);
	trees_number(&trees, &has);
	for (uint32_t q = 0; q < p->nranks; q++) {
		struct finals f = finals_of(r, k, q), g = finals_of(lowered, k, q);
		for (uint32_t i = f.asked.lo; i < f.asked.end; i++)
			if (is_promised(&f, i) &&
			    tree_number(&trees, &had, value_of(&f, i)) !=
				    tree_number(&trees, &has, value_of(&g, i)))
				return false;
	}
	return true;
}
