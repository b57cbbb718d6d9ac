/*
 * Same bits on rank 0's values: see alike.h.
 *
 * If bits are not the same for every count, two trees that differ are the reason. They are rebuilt
 * as values of the whole program (value.h), for the report of witness/orders.c. If both are chains
 * (each sum adds one initial value) with different innermost sums, these two sums suffice.
 */
#include "compiler/symmetry/alike.h"
#include "compiler/symmetry/still.h"
#include "compiler/witness/witness.h"

/* A tree and its turn. Numbers below p->cells are initial values of rank 0. */
struct tree_turned {
	uint32_t number, shift;
};

/* A sum without its turn: the first operand has turn 0, the second has turn `apart`. */
struct key {
	uint32_t a, b, apart;
	uint32_t still; /* by bits: the turns by these bits take it to itself */
};

struct alikeness {
	struct ctx *c;
	struct turned_run *r;
	const struct quotient *l;
	const struct contract *k;
	const struct program *p;
	uint32_t *first;	   /* by cell: the first cell of its block */
	struct tree_turned *trees; /* by sum */
	struct key *keys;	   /* by number - cells */
	uint32_t nkeys, capkeys;
	struct still *kept; /* by mirrors, by number - cells: the turns that take it to itself */
	struct hash_table rows; /* of `keys` */
	bool unclear;
};

/* ---- places --------------------------------------------------------------------------- */

static uint32_t chunks_together(const struct buffer *b)
{
	return b->def->sized ? 1 : b->chunks;
}

/* Whether every turn takes the block as it is to a block, or its chunks to chunks of the same block. */
static bool closed(const struct quotient *l, uint32_t cell, uint32_t n)
{
	struct cell_turn first = l->regions[cell];

	if (first.unit && first.unit % n == 0 && (cell - first.base) % n == 0)
		return true;
	for (uint32_t i = cell; i < cell + n; i = region_end(l, i)) {
		struct cell_turn g = l->regions[i];
		if (g.unit && (g.base < cell || g.base + l->p->nranks * g.unit > cell + n))
			return false;
	}
	return true;
}

/* Makes x->first. False: the chunks of a block turn into chunks of several others. */
static bool find_first(struct alikeness *x)
{
	const struct program *p = x->p;

	x->first = ARENA_ARRAY(x->c->scratch, uint32_t, p->cells + 1);
	for (uint32_t b = 0; b < p->nbuffers; b++) {
		const struct buffer *f = &p->buffers[b];
		uint32_t n = chunks_together(f);
		for (uint32_t i = f->cell; i < f->cell + f->cells; i += n) {
			for (uint32_t k = 0; k < n; k++)
				x->first[i + k] = i;
			if (n > 1 && !closed(x->l, i, n))
				return false;
		}
	}
	return true;
}

/* Whether each promised chunk has contributions from its own place of a block, on all ranks. */
static bool none_moves(const struct alikeness *x)
{
	for (uint32_t i = 0; i < x->p->cells; i++) {
		uint32_t row = contract_row(x->k, 0, i);
		if (row == NONE || x->k->shares[row].cell == i)
			continue;
		uint32_t from = x->k->shares[row].cell;
		const struct buffer *a = program_buffer(x->p, i), *b = program_buffer(x->p, from);
		if ((chunks_together(a) > 1 || chunks_together(b) > 1) &&
		    !turned_alike(x->l, i, from))
			return false;
	}
	return true;
}

/* ---- numbers of trees ------------------------------------------------------------------ */

static bool same_key(const void *of, uint32_t row, const void *key)
{
	const struct key *a = (const struct key *)of + row, *b = key;

	return a->a == b->a && a->b == b->b && a->apart == b->apart;
}

static uint32_t number_of(struct alikeness *x, struct key key)
{
	uint32_t hash = hash_mix(hash_mix(hash_mix(1, key.a), key.b), key.apart);
	uint32_t row = hash_find(&x->rows, hash, same_key, x->keys, &key);

	if (row == HASH_NONE) {
		row = x->nkeys;
		hash_add(&x->rows, x->c->scratch, hash, row);
		ARENA_PUSH(x->c->scratch, x->keys, x->nkeys, x->capkeys) = key;
	}
	return x->p->cells + row;
}

static inline uint32_t still_of(const struct alikeness *x, uint32_t number)
{
	return !x->l->by_bits || number < x->p->cells ? 0 : x->keys[number - x->p->cells].still;
}

/* By mirrors: the turns that take the tree to itself. */
static const struct still *kept_of(const struct alikeness *x, uint32_t number)
{
	static const struct still none = { 0 };

	return number < x->p->cells ? &none : &x->kept[number - x->p->cells];
}

/* The canonical turn, of all turns that give the same tree. */
static inline uint32_t settled(const struct alikeness *x, uint32_t number, uint32_t shift)
{
	if (x->l->by_mirror)
		return still_turn(kept_of(x, number), shift);
	return shift & ~still_of(x, number);
}

static inline struct tree_turned tree_of(const struct alikeness *x, struct turned v)
{
	struct tree_turned t = { 0, v.shift };

	if (v.id < x->p->cells) {
		t.number = x->first[v.id];
		return t;
	}
	t = x->trees[v.id - x->p->cells];
	t.shift = settled(x, t.number, rank_turned(x->l, t.shift, v.shift));
	return t;
}

/* By bits. In a bit that is still for one operand, the sum has the turn of the other operand. */
static struct tree_turned sum_by_bits(struct alikeness *x, struct tree_turned a,
				      struct tree_turned b)
{
	uint32_t of_a = still_of(x, a.number), of_b = still_of(x, b.number),
		 apart = (a.shift ^ b.shift) & ~(of_a | of_b), still = of_a & of_b;
	struct key key = { a.number, b.number, apart, still };

	if (a.number == b.number) {
		x->unclear |= apart == 0 || (apart & (apart - 1));
		key.still = still | apart;
	} else if (a.number > b.number) {
		struct tree_turned t = a;
		a = b;
		b = t;
		key = (struct key){ a.number, b.number, apart, still };
		of_a = of_b;
	}
	uint32_t shift = (a.shift & ~of_a) | (b.shift & of_a);
	return (struct tree_turned){ number_of(x, key), shift & ~key.still };
}

/* By mirrors: of all turns of the sum, takes the one that makes the second operand's turn least. */
static struct tree_turned sum_by_mirror(struct alikeness *x, struct tree_turned a,
					struct tree_turned b)
{
	if (a.number > b.number) {
		struct tree_turned t = a;
		a = b;
		b = t;
	}
	bool equal = a.number == b.number;
	struct still_sum s = still_sum(x->l, kept_of(x, a.number), kept_of(x, b.number), a.shift,
				       b.shift, equal);
	uint32_t had = x->nkeys,
		 number = number_of(x, (struct key){ a.number, b.number, s.apart, 0 });
	if (x->nkeys > had)
		x->kept[had] = still_of_sum(x->l, x->c->scratch, &s);
	x->unclear |= equal && s.apart == 0;
	return (struct tree_turned){ number, still_turn(kept_of(x, number), s.turn) };
}

static struct tree_turned tree_of_sum(struct alikeness *x, const struct turned_sum *s)
{
	struct tree_turned a = tree_of(x, s->left), b = tree_of(x, s->right), t;
	uint32_t apart = rank_turned(x->l, b.shift, turn_back(x->l, a.shift)),
		 back = turn_back(x->l, apart);

	if (x->l->by_bits)
		return sum_by_bits(x, a, b);
	if (x->l->by_mirror)
		return sum_by_mirror(x, a, b);
	if (a.number == b.number && apart == back)
		x->unclear = true;
	if (a.number > b.number || (a.number == b.number && apart > back)) {
		t = a;
		a = b;
		b = t;
		apart = back;
	}
	a.number = number_of(x, (struct key){ a.number, b.number, apart, 0 });
	return a;
}

static void number_trees(struct alikeness *x)
{
	x->trees = ARENA_ARRAY(x->c->scratch, struct tree_turned, x->r->nsums + 1);
	x->capkeys = x->r->nsums + 1;
	x->keys = arena_grow(x->c->scratch, NULL, 0, x->capkeys * sizeof(*x->keys));
	if (x->l->by_mirror)
		x->kept = ARENA_ARRAY(x->c->scratch, struct still, x->capkeys);
	for (uint32_t i = 0; i < x->r->nsums && !x->unclear; i++)
		x->trees[i] = tree_of_sum(x, &x->r->sums[i]);
}

/* ---- the two questions ------------------------------------------------------------------ */

static bool equal(struct tree_turned a, struct tree_turned b)
{
	return a.number == b.number && a.shift == b.shift;
}

/* Whether every turn takes the tree to itself. */
static bool all_still(const struct alikeness *x, struct tree_turned t)
{
	if (x->l->by_mirror)
		return kept_of(x, t.number)->n == x->p->nranks;
	return still_of(x, t.number) == x->p->nranks - 1;
}

static bool same_by_rank(struct alikeness *x)
{
	uint32_t cells = x->p->cells;
	struct tree_turned *of = ARENA_ARRAY(x->c->scratch, struct tree_turned, cells + 1);
	bool *any = ARENA_ARRAY(x->c->scratch, bool, cells + 1), same = true;

	for (uint32_t i = 0; i < cells; i++) {
		uint32_t row = contract_row(x->k, 0, i);
		if (row == NONE || x->r->state[i].id < cells)
			continue;
		const struct share *s = &x->k->shares[row];
		struct cell_turn g = x->l->regions[s->cell];
		struct tree_turned t = tree_of(x, x->r->state[i]);
		x->unclear |= s->n != x->p->nranks;
		if (g.unit == 0 && !all_still(x, t))
			same = false;
		uint32_t back = turn_back(x->l, cell_ahead(x->l, s->cell)),
			 at = cell_turned(x->l, s->cell, back);
		t.shift = settled(x, t.number, rank_turned(x->l, t.shift, back));
		if (any[at] && !equal(of[at], t))
			same = false;
		of[at] = t;
		any[at] = true;
	}
	return same;
}

/* Two promised chunks of a block of rank 0 that have different trees. */
static bool find_apart(const struct alikeness *x, uint32_t cell, uint32_t n, uint32_t apart[2])
{
	uint32_t at = cell;

	while (at < cell + n && contract_row(x->k, 0, at) == NONE)
		at++;
	if (at == cell + n)
		return false;
	struct tree_turned first = tree_of(x, x->r->state[at]);
	for (uint32_t i = at + 1; i < cell + n; i++)
		if (contract_row(x->k, 0, i) != NONE && !equal(first, tree_of(x, x->r->state[i]))) {
			apart[0] = at;
			apart[1] = i;
			return true;
		}
	return false;
}

static bool same_by_count(const struct alikeness *x, uint32_t apart[2])
{
	for (uint32_t b = 0; b < x->p->nbuffers; b++) {
		const struct buffer *f = &x->p->buffers[b];
		uint32_t n = chunks_together(f);
		for (uint32_t i = 0; n > 1 && i < f->cells; i += n)
			if (find_apart(x, f->cell + i, n, apart))
				return false;
	}
	return true;
}

/* ---- why ---------------------------------------------------------------------------------- */

/* The innermost sum of a chain, turned; id NONE: the value is no chain. */
static struct turned innermost(const struct alikeness *x, struct turned v)
{
	uint32_t cells = x->p->cells;
	struct turned sum = v;

	while (v.id >= cells) {
		const struct turned_sum *s = &x->r->sums[v.id - cells];
		uint32_t shift = v.shift;
		sum = v;
		if (s->left.id >= cells && s->right.id >= cells)
			return (struct turned){ NONE, 0 };
		v = s->left.id >= cells ? s->left : s->right;
		v.shift = rank_turned(x->l, v.shift, shift);
	}
	return sum;
}

static uint32_t initial(const struct alikeness *x, const struct values *v, struct turned i)
{
	return i.shift * v->cells + cell_turned(x->l, i.id, i.shift);
}

/* Rebuilds the value, with all its sums, as a value of the whole program. */
static uint32_t rebuild(struct alikeness *x, struct values *v, struct turned top)
{
	uint32_t cells = x->p->cells, nwork = 0, ndone = 0, capwork = 0, capdone = 0;
	struct work {
		struct turned v;
		bool open; /* its operands are made */
	} *work = NULL;
	uint32_t *done = NULL; /* stack of operands that are made and not yet added */
	struct arena *a = x->c->scratch;
	bool same_cell;

	ARENA_PUSH(a, work, nwork, capwork) = (struct work){ top, false };
	while (nwork) {
		struct work w = work[--nwork];
		if (w.v.id < cells) {
			ARENA_PUSH(a, done, ndone, capdone) = initial(x, v, w.v);
		} else if (w.open) {
			ndone--;
			done[ndone - 1] =
				value_combine(v, done[ndone - 1], done[ndone], &same_cell);
		} else {
			const struct turned_sum *s = &x->r->sums[w.v.id - cells];
			struct turned l = s->left, r = s->right;
			l.shift = rank_turned(x->l, l.shift, w.v.shift);
			r.shift = rank_turned(x->l, r.shift, w.v.shift);
			ARENA_PUSH(a, work, nwork, capwork) = (struct work){ w.v, true };
			ARENA_PUSH(a, work, nwork, capwork) = (struct work){ r, false };
			ARENA_PUSH(a, work, nwork, capwork) = (struct work){ l, false };
		}
	}
	return done[0];
}

/* The number of cells up to the last one of the two values. With all cells of all ranks, initial
 * values would exceed their numbers (value.h) from 46,341 ranks with as many cells on. */
static uint32_t cells_of_both(const struct alikeness *x, const uint32_t apart[2])
{
	uint32_t a = turned_share(x->r, x->r->state[apart[0]]).cell,
		 b = turned_share(x->r, x->r->state[apart[1]]).cell;

	return (a > b ? a : b) + 1;
}

/* Makes the text of the report; the innermost sums suffice for chains that begin differently.
 * False: the values do not fit. */
static bool make_reason(struct alikeness *x, const uint32_t apart[2], struct bits *b)
{
	struct values *v = ARENA_NEW(x->c->scratch, struct values);
	struct turned sums[2];

	b->by_count = (struct apart){ { 0, 0 }, { apart[0], apart[1] }, { NONE, NONE }, false };
	if (!values_init(v, x->c->scratch, x->p->nranks, cells_of_both(x, apart), 2))
		return false;
	for (int i = 0; i < 2; i++)
		sums[i] = innermost(x, x->r->state[apart[i]]);
	bool chains = sums[0].id != NONE && sums[1].id != NONE && sums[0].id >= x->p->cells &&
		      sums[1].id >= x->p->cells && !equal(tree_of(x, sums[0]), tree_of(x, sums[1]));
	for (int i = 0; i < 2; i++)
		b->by_count.value[i] = rebuild(x, v, chains ? sums[i] : x->r->state[apart[i]]);
	trees_init(&b->trees, x->c->scratch, v->base);
	b->history = history_of(x->c->scratch, v, x->first);
	for (int i = 0; i < 2; i++)
		tree_number(&b->trees, &b->history, b->by_count.value[i]);
	orders(x->c, x->p, NULL, b);
	return true;
}

bool alike(struct ctx *c, struct turned_run *r, const struct contract *k, struct bits *b)
{
	struct alikeness x = { .c = c, .r = r, .l = r->l, .k = k, .p = r->l->p };
	uint32_t apart[2];

	*b = (struct bits){ 0 };
	if (!find_first(&x) || !none_moves(&x))
		return false;
	number_trees(&x);
	b->ranks = same_by_rank(&x);
	b->counts = same_by_count(&x, apart);
	if (x.unclear || (!b->ranks && c->require & REQUIRE_RANKS) ||
	    (!b->counts && c->require & REQUIRE_COUNTS))
		return false;
	return b->counts || make_reason(&x, apart, b);
}
