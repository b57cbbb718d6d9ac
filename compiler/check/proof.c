/*
 * The proof: does every rank end with what the contract says?
 *
 * In: a matched program without deadlock or race, an order to run it in, the
 * contract's values. Out: struct proof; for a program also E0401, E0403-E0405.
 * The program is run once on symbolic values (replay.c); then every final value
 * is compared with the contract, contribution for contribution. O(operations).
 */
#include "compiler/check/replay.h"

#include <stdlib.h>
#include <string.h>

struct expected contract_value(const struct contract *k, uint32_t row)
{
	uint32_t n = 1;

	while (!k->shares[row + n - 1].last)
		n++;
	return (struct expected){ .v = k->shares + row, .n = n };
}

/* The common case at once: a single share on both sides. */
static inline bool holds(struct replay *r, const struct contract *k, uint32_t row, uint32_t id,
			 struct shares *room)
{
	struct values *v = &r->values;

	if (id >= POISON)
		return id == POISON; /* was reported where it was read */
	const struct share *w = &k->shares[row];
	if (id >= v->base && w->last) {
		const struct node *x = &v->nodes[id - v->base];
		if (x->more && x->more + 1u == w->n && x->cell == w->cell && x->first == w->first &&
		    w->times == 1)
			return true;
	}
	struct expected e = contract_value(k, row);
	return value_is(v, id, e.v, e.n, room);
}

static bool contract_holds(struct replay *r, const struct contract *k)
{
	const struct program *p = r->p;
	struct shares room = { 0 };
	bool ok = true;

	for (uint32_t q = 0; q < p->nranks && ok; q++) {
		const uint32_t *rows = k->rows + (size_t)q * p->cells;
		const uint32_t *state = r->state + (size_t)q * r->width;
		for (uint32_t i = 0; i < p->cells && ok; i++)
			ok = rows[i] == NONE || holds(r, k, rows[i], state[i], &room);
	}
	return ok;
}

/* ---- same bits ------------------------------------------------------------------ */

/* Final values with equal contributions that are not the same reduction. */
struct pairs {
	uint32_t (*v)[2];
	size_t n, cap;
};

/* First final value seen with given contributions. */
struct groups {
	uint32_t *table; /* values; NONE: free */
	uint32_t *hashes;
	uint32_t mask, n;
	struct shares a, b; /* room */
};

static uint32_t mix(uint32_t h, uint32_t x)
{
	h = (h ^ x) * 0x9e3779b1u;
	return h ^ h >> 15;
}

static uint32_t hash_shares(const struct shares *r)
{
	uint32_t h = 1;

	for (uint32_t i = 0; i < r->n; i++)
		h = mix(mix(mix(mix(h, r->v[i].cell), r->v[i].first), r->v[i].n), r->v[i].times);
	return h;
}

static void grow_groups(struct groups *g, struct arena *arena)
{
	uint32_t *table = g->table, *hashes = g->hashes, mask = g->mask;

	g->mask = mask ? mask * 2 + 1 : 1023;
	g->table = none_array(arena, (size_t)g->mask + 1);
	g->hashes = ARENA_ARRAY(arena, uint32_t, (size_t)g->mask + 1);
	for (size_t i = 0; table && i <= mask; i++) {
		if (table[i] == NONE)
			continue;
		uint32_t at = hashes[i] & g->mask;
		while (g->table[at] != NONE)
			at = (at + 1) & g->mask;
		g->table[at] = table[i];
		g->hashes[at] = hashes[i];
	}
}

/* The first value with id's contributions: found by hash, compared exactly. */
static uint32_t group_of(struct values *v, struct groups *g, struct arena *arena, uint32_t id)
{
	if (g->n * 2 >= g->mask)
		grow_groups(g, arena);
	value_shares(v, id, &g->a);
	uint32_t h = hash_shares(&g->a), at = h & g->mask;
	while (g->table[at] != NONE &&
	       (g->hashes[at] != h || !value_is(v, g->table[at], g->a.v, g->a.n, &g->b)))
		at = (at + 1) & g->mask;
	if (g->table[at] == NONE) {
		g->table[at] = id;
		g->hashes[at] = h;
		g->n++;
	}
	return g->table[at];
}

static struct pairs find_pairs(struct replay *r, const struct contract *k, struct arena *arena)
{
	const struct program *p = r->p;
	struct values *v = &r->values;
	struct groups g = { 0 };
	struct pairs out = { 0 };
	uint8_t *seen = ARENA_ARRAY(arena, uint8_t, v->n); /* a reduction's group is known */

	grow_groups(&g, arena);
	for (uint32_t q = 0; q < p->nranks; q++) {
		const uint32_t *rows = k->rows + (size_t)q * p->cells;
		const uint32_t *state = r->state + (size_t)q * r->width;
		for (uint32_t i = 0; i < p->cells; i++) {
			uint32_t id = state[i];
			if (rows[i] == NONE || id >= POISON || id < v->base || seen[id - v->base])
				continue;
			seen[id - v->base] = 1;
			uint32_t first = group_of(v, &g, arena, id);
			if (first == id)
				continue;
			if (out.n == out.cap) {
				size_t cap = out.cap ? 2 * out.cap : 64;
				out.v = arena_grow(arena, out.v, out.cap * sizeof(*out.v),
						   cap * sizeof(*out.v));
				out.cap = cap;
			}
			out.v[out.n][0] = first;
			out.v[out.n++][1] = id;
		}
	}
	return out;
}

/* Numbers trees: equal up to the order of operands, equal numbers. Operands come
 * before what is made of them, so one pass down marks what matters and one pass
 * up numbers it. */
static bool same_trees(const struct values *v, const struct pairs *w, struct arena *arena)
{
	uint8_t *used = ARENA_ARRAY(arena, uint8_t, v->n);
	uint32_t *tree = ARENA_ARRAY(arena, uint32_t, v->n);
	uint64_t count = 0;

	for (size_t i = 0; i < w->n; i++)
		used[w->v[i][0] - v->base] = used[w->v[i][1] - v->base] = 1;
	for (uint32_t i = v->n; i-- > 0;) {
		if (!used[i])
			continue;
		count++;
		if (v->nodes[i].left >= v->base)
			used[v->nodes[i].left - v->base] = 1;
		if (v->nodes[i].right >= v->base)
			used[v->nodes[i].right - v->base] = 1;
	}
	size_t mask = 1023;
	while (mask < count * 2)
		mask = mask * 2 + 1;
	uint32_t *table = none_array(arena, mask + 1);
	for (uint32_t i = 0; i < v->n; i++) {
		if (!used[i])
			continue;
		const struct node *x = &v->nodes[i];
		uint32_t a = x->left < v->base ? x->left : tree[x->left - v->base];
		uint32_t b = x->right < v->base ? x->right : tree[x->right - v->base];
		if (a > b) {
			uint32_t t = a;
			a = b;
			b = t;
		}
		size_t at = mix(mix(1, a), b) & mask;
		for (; table[at] != NONE; at = (at + 1) & mask) {
			/* tree[] of the first of its kind is that one's own number */
			const struct node *y = &v->nodes[table[at]];
			uint32_t c = y->left < v->base ? y->left : tree[y->left - v->base];
			uint32_t d = y->right < v->base ? y->right : tree[y->right - v->base];
			if ((a == c && b == d) || (a == d && b == c))
				break;
		}
		if (table[at] == NONE)
			table[at] = i;
		tree[i] = v->base + table[at];
	}
	for (size_t i = 0; i < w->n; i++)
		if (tree[w->v[i][0] - v->base] != tree[w->v[i][1] - v->base])
			return false;
	return true;
}

static bool same_bits(struct replay *r, const struct contract *k, struct arena *arena)
{
	struct pairs w = find_pairs(r, k, arena);

	return w.n == 0 || same_trees(&r->values, &w, arena);
}

/* ---- the proof ---------------------------------------------------------------------- */

static void sum_up(const struct replay *r, struct proof *f, struct arena *arena)
{
	const struct program *p = r->p;

	f->even_counts = r->uneven;
	for (uint32_t t = 0; t < p->ntasks; t++)
		if (r->runners[t].depth > f->steps)
			f->steps = r->runners[t].depth;
	f->sent = ARENA_ARRAY(arena, double, p->nranks);
	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t b = 0; b < p->nbuffers; b++) {
			uint64_t n = r->moved[(size_t)q * p->nbuffers + b];
			if (n)
				f->sent[q] += (double)n / p->buffers[b].chunks;
		}
}

struct proof proof(struct ctx *c, struct program *p, const struct contract *k,
		   const struct order *order, bool want_len)
{
	struct proof f = { 0 };
	struct replay *r = ARENA_ARRAY(c->scratch, struct replay, 1);

	if (!replay_init(r, c, p, c->scratch))
		return f;
	if (want_len) {
		f.len = ARENA_ARRAY(c->arena, uint32_t *, p->ntasks);
		for (uint32_t t = 0; t < p->ntasks; t++)
			f.len[t] = none_array(c->arena, p->tasks[t].nops);
		r->len = f.len;
	}
	r->sized = p->any_sized && !p->lowered ? p : NULL;
	replay_run(r, order);
	sum_up(r, &f, c->arena);
	if (r->failed) /* what comes of that is no second mistake */
		return f;
	f.proved = contract_holds(r, k);
	if (f.proved)
		f.same_bits = same_bits(r, k, c->scratch);
	else if (!p->lowered)
		f.wrong = r;
	return f;
}
