/*
 * The proof: does every rank end with what the contract says?
 *
 * In: a matched program without deadlock or race, an order to run it in, the
 * contract's values. Out: struct proof; for a program also E0401, E0403-E0405.
 * The program is run once on symbolic values (replay.c); then every final value
 * is compared with the contract, contribution for contribution. O(operations).
 */
#include "compiler/check/replay.h"

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
	struct pair {
		uint32_t first, other;
	} *v;
	size_t n, cap;
};

/* Each final value is what the contract's row says: equal rows, equal contributions. */
static struct pairs find_pairs(struct replay *r, const struct contract *k, struct arena *arena)
{
	const struct program *p = r->p;
	struct values *v = &r->values;
	struct alike alike = { .k = k, .arena = arena };
	struct pairs out = { 0 };
	uint8_t *seen = ARENA_ARRAY(arena, uint8_t, v->n); /* a reduction was looked at */
	uint32_t *first = none_array(arena, k->nshares);   /* by row: the first such value */

	for (uint32_t q = 0; q < p->nranks; q++) {
		const uint32_t *rows = k->rows + (size_t)q * p->cells;
		const uint32_t *state = r->state + (size_t)q * r->width;
		for (uint32_t i = 0; i < p->cells; i++) {
			uint32_t id = state[i];
			if (rows[i] == NONE || id >= POISON || id < v->base || seen[id - v->base])
				continue;
			seen[id - v->base] = 1;
			uint32_t *same = &first[contract_alike(&alike, rows[i])];
			if (*same == NONE)
				*same = id;
			if (*same == id)
				continue;
			ARENA_PUSH(arena, out.v, out.n, out.cap) = (struct pair){ *same, id };
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

	for (size_t i = 0; i < w->n; i++)
		used[w->v[i].first - v->base] = used[w->v[i].other - v->base] = 1;
	uint64_t count = values_mark(v, used);
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
		size_t at = hash_mix(hash_mix(1, a < b ? a : b), a < b ? b : a) & mask;
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
		if (tree[w->v[i].first - v->base] != tree[w->v[i].other - v->base])
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
	if (r->sized)
		program_size_classes(c, p);
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
