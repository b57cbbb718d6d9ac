/*
 * Operations on automata: products, projections, and minimization. See dfa.h.
 *
 * Minimization refines classes of states until they are stable (Moore, 1956): O(states * letters) a
 * round. A projection is made deterministic again by the subset construction (Rabin and Scott,
 * 1959). Sums are recognized by remembering a carry.
 */
#include "compiler/every/bits/dfa.h"
#include "lang/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LETTERS (1u << 24) /* states * letters of one automaton, before it is minimized */
#define MOST_PAIRS (1u << 24)	/* pairs of states in a product */

static uint32_t ones(uint32_t mask)
{
	return (uint32_t)__builtin_popcount(mask);
}

/* Restricts a letter of the tracks `from` to the tracks `to`, a subset. */
static uint32_t part(uint32_t letter, uint32_t from, uint32_t to)
{
	uint32_t got = 0, i = 0, j = 0;

	for (uint32_t t = 0; t < TRACKS; t++) {
		if (!(from >> t & 1))
			continue;
		if (to >> t & 1)
			got |= (letter >> i & 1) << j++;
		i++;
	}
	return got;
}

struct dfa_letters dfa_letters(const struct dfa *a, uint32_t tracks)
{
	uint32_t n = 1u << a->bits, kept = 1u << ones(tracks), at = 0;
	struct dfa_letters b = { malloc(sizeof(*b.first) * (kept + 1)),
				 malloc(sizeof(*b.letters) * n), kept };

	for (uint32_t k = 0; k < kept; k++) {
		b.first[k] = at;
		for (uint32_t l = 0; l < n; l++)
			if (part(l, a->mask, tracks) == k)
				b.letters[at++] = l;
	}
	b.first[kept] = at;
	return b;
}

static bool works(struct dfas *d, uint64_t letters)
{
	d->work += letters;
	d->spent |= d->work > d->most;
	return !d->spent;
}

const struct dfa *dfa_constant(struct dfas *d, bool all)
{
	struct dfa *a = ARENA_NEW(d->arena, struct dfa);

	a->n = 1;
	a->next = ARENA_ARRAY(d->arena, uint32_t, 1);
	a->accepts = ARENA_ARRAY(d->arena, bool, 1);
	a->accepts[0] = all;
	return a;
}

/* ---- minimization -------------------------------------------------------------------------- */

/* Whether the track with `bit` in letters never matters. */
static bool idle(uint32_t n, uint32_t letters, const uint32_t *next, uint32_t bit)
{
	for (uint32_t s = 0; s < n; s++)
		for (uint32_t l = 0; l < letters; l++)
			if (next[s * letters + l] != next[s * letters + (l ^ bit)])
				return false;
	return true;
}

static bool same_row(const uint32_t *next, uint32_t letters, const uint32_t *class, uint32_t s,
		     uint32_t t)
{
	if (class[s] != class[t])
		return false;
	for (uint32_t l = 0; l < letters; l++)
		if (class[next[s * letters + l]] != class[next[t * letters + l]])
			return false;
	return true;
}

/* One round of refinement: states of one class stay together if their rows lead to equal classes.
 * Returns the number of classes. */
static uint32_t refine(uint32_t n, uint32_t letters, const uint32_t *next, const uint32_t *class,
		       uint32_t *to, uint32_t *table, uint32_t size)
{
	uint32_t classes = 0;

	memset(table, 0, sizeof(*table) * size);
	for (uint32_t s = 0; s < n; s++) {
		uint32_t h = hash_mix(0, class[s]);
		for (uint32_t l = 0; l < letters; l++)
			h = hash_mix(h, class[next[s * letters + l]]);
		uint32_t i = h & (size - 1);
		while (table[i] && !same_row(next, letters, class, s, table[i] - 1))
			i = (i + 1) & (size - 1);
		if (table[i]) {
			to[s] = to[table[i] - 1];
		} else {
			table[i] = s + 1;
			to[s] = classes++;
		}
	}
	return classes;
}

/* Computes the classes of states that accept the same words (Moore). Returns their number; class[0]
 * is 0. */
static uint32_t classes_of(struct dfas *d, uint32_t n, uint32_t letters, const uint32_t *next,
			   const bool *accepts, uint32_t *class)
{
	uint32_t size = 16, k = 0, before = 0;

	while (size < 2 * n)
		size *= 2;
	uint32_t *to = malloc(sizeof(*to) * n), *table = malloc(sizeof(*table) * size);
	for (uint32_t s = 0; s < n; s++)
		class[s] = accepts[s] != accepts[0];
	do {
		before = k;
		works(d, (uint64_t)n * letters);
		k = refine(n, letters, next, class, to, table, size);
		memcpy(class, to, sizeof(*to) * n);
	} while (k != before && !d->spent);
	free(to);
	free(table);
	return k;
}

const struct dfa *dfa_least(struct dfas *d, uint32_t mask, uint32_t n, const uint32_t *next,
			    const bool *accepts)
{
	uint32_t letters = 1u << ones(mask), *class = malloc(sizeof(*class) * n), keep = mask;
	struct dfa *a = ARENA_NEW(d->arena, struct dfa);

	a->n = classes_of(d, n, letters, next, accepts, class);
	uint32_t *least = malloc(sizeof(*least) * a->n * letters);
	a->accepts = ARENA_ARRAY(d->arena, bool, a->n);
	for (uint32_t s = 0; s < n; s++) {
		a->accepts[class[s]] = accepts[s];
		for (uint32_t l = 0; l < letters; l++)
			least[class[s] * letters + l] = class[next[s * letters + l]];
	}
	for (uint32_t t = 0; t < TRACKS; t++)
		if ((mask >> t & 1) &&
		    idle(a->n, letters, least, 1u << ones(mask & ((1u << t) - 1))))
			keep &= ~(1u << t);
	a->mask = keep;
	a->bits = ones(keep);
	a->next = ARENA_ARRAY(d->arena, uint32_t, (size_t)a->n << a->bits);
	for (uint32_t l = 0; l < letters; l++)
		for (uint32_t s = 0; s < a->n; s++)
			a->next[s << a->bits | part(l, mask, keep)] = least[s * letters + l];
	free(least);
	free(class);
	return a;
}

/* ---- automata that grow --------------------------------------------------------------------- */

/* States while they are found. */
struct growing {
	uint32_t letters, n, cap;
	uint32_t *next;
	bool *accepts;
};

static bool room(struct dfas *d, struct growing *g)
{
	if (!works(d, g->letters) || (uint64_t)(g->n + 1) * g->letters > MOST_LETTERS) {
		d->spent = true;
		return false;
	}
	if (g->n == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 64;
		g->next = realloc(g->next, sizeof(*g->next) * g->cap * g->letters);
		g->accepts = realloc(g->accepts, sizeof(*g->accepts) * g->cap);
	}
	g->n++;
	return true;
}

static const struct dfa *grown(struct dfas *d, struct growing *g, uint32_t mask)
{
	const struct dfa *a = d->spent || !g->n ? dfa_constant(d, false)
						: dfa_least(d, mask, g->n, g->next, g->accepts);

	free(g->next);
	free(g->accepts);
	return a;
}

/* ---- sums ---------------------------------------------------------------------------------- */

#define CARRIES 4096u

/* The automaton of a sum: a state is the remaining constant (the carry), in units of the next
 * bit. */
struct carries {
	int64_t v[CARRIES];
	struct growing g;
};

static uint32_t carry(struct dfas *d, struct carries *c, int64_t rest)
{
	for (uint32_t i = 0; i < c->g.n; i++)
		if (c->v[i] == rest)
			return i;
	if (c->g.n == CARRIES) {
		d->spent = true;
		return 0;
	}
	if (!room(d, &c->g))
		return 0;
	c->v[c->g.n - 1] = rest;
	return c->g.n - 1;
}

static int64_t half(int64_t x)
{
	return x >= 0 ? x / 2 : -((1 - x) / 2);
}

/* The sum of the tracks' factors for a letter. */
static int64_t letter_sum(const struct linear *sum, uint32_t mask, uint32_t letter)
{
	int64_t v = 0;
	uint32_t i = 0;

	for (uint32_t t = 0; t < TRACKS; t++)
		if (mask >> t & 1)
			v += (letter >> i++ & 1) ? sum->factor[t] : 0;
	return v;
}

/* Reading a letter, the remaining constant `rest` becomes floor((rest + letter's sum) / 2). For a
 * sum that must be 0, rest + letter's sum must be even at each letter, otherwise the state is
 * `dead`. State 0 is the sum's constant. */
static const struct dfa *sum_automaton(struct dfas *d, const struct linear *sum, bool zero)
{
	const int64_t dead = INT64_MAX;
	uint32_t mask = 0;
	struct carries *c = calloc(1, sizeof(*c));

	for (uint32_t t = 0; t < TRACKS; t++)
		mask |= (uint32_t)(sum->factor[t] != 0) << t;
	c->g.letters = 1u << ones(mask);
	carry(d, c, sum->constant);
	for (uint32_t s = 0; s < c->g.n && !d->spent; s++) {
		int64_t rest = c->v[s];
		c->g.accepts[s] = zero ? rest == 0 : rest >= 0;
		for (uint32_t l = 0; l < c->g.letters; l++) {
			int64_t v = rest == dead ? 0 : rest + letter_sum(sum, mask, l);
			bool odd = zero && (rest == dead || (v & 1));
			uint32_t to = carry(d, c, odd ? dead : half(v));
			c->g.next[s * c->g.letters + l] = to;
		}
	}
	const struct dfa *a = grown(d, &c->g, mask);
	free(c);
	return a;
}

const struct dfa *dfa_zero(struct dfas *d, const struct linear *sum)
{
	return sum_automaton(d, sum, true);
}

const struct dfa *dfa_at_least_zero(struct dfas *d, const struct linear *sum)
{
	return sum_automaton(d, sum, false);
}

const struct dfa *dfa_and_bits(struct dfas *d, uint32_t x, uint32_t y, uint32_t z)
{
	uint32_t mask = 1u << x | 1u << y | 1u << z, letters = 1u << ones(mask), next[16];
	const bool accepts[2] = { true, false };

	for (uint32_t l = 0; l < letters; l++) {
		bool a = part(l, mask, 1u << x), b = part(l, mask, 1u << y);
		next[l] = part(l, mask, 1u << z) == (a && b) ? 0 : 1;
		next[letters + l] = 1;
	}
	return dfa_least(d, mask, 2, next, accepts);
}

const struct dfa *dfa_power(struct dfas *d, uint32_t track)
{
	const uint32_t next[6] = { 0, 1, 1, 2, 2, 2 };
	const bool accepts[3] = { false, true, false };

	return dfa_least(d, 1u << track, 3, next, accepts);
}

/* ---- products -------------------------------------------------------------------------------- */

struct product {
	struct growing g;
	uint32_t *number; /* of a pair, + 1 */
	uint32_t *left, *right, cap;
	uint32_t nright;
};

static uint32_t pair_number(struct dfas *d, struct product *p, uint32_t a, uint32_t b)
{
	uint32_t *k = &p->number[(size_t)a * p->nright + b];

	if (*k || !room(d, &p->g))
		return *k ? *k - 1 : 0;
	if (p->cap < p->g.cap) {
		p->cap = p->g.cap;
		p->left = realloc(p->left, sizeof(*p->left) * p->cap);
		p->right = realloc(p->right, sizeof(*p->right) * p->cap);
	}
	p->left[p->g.n - 1] = a;
	p->right[p->g.n - 1] = b;
	*k = p->g.n;
	return *k - 1;
}

static bool combined(enum dfa_op op, bool a, bool b)
{
	switch (op) {
	case DFA_AND: return a && b;
	case DFA_OR: return a || b;
	case DFA_LESS: return a && !b;
	case DFA_XOR: return a != b;
	}
	return false;
}

const struct dfa *dfa_apply(struct dfas *d, enum dfa_op op, const struct dfa *a,
			    const struct dfa *b)
{
	uint32_t mask = a->mask | b->mask;
	struct product p = { .g.letters = 1u << ones(mask), .nright = b->n };

	if (d->spent || (uint64_t)a->n * b->n > MOST_PAIRS) {
		d->spent = true;
		return dfa_constant(d, false);
	}
	uint32_t *la = malloc(sizeof(*la) * p.g.letters), *lb = malloc(sizeof(*lb) * p.g.letters);
	p.number = calloc((size_t)a->n * b->n, sizeof(*p.number));
	for (uint32_t l = 0; l < p.g.letters; l++) {
		la[l] = part(l, mask, a->mask);
		lb[l] = part(l, mask, b->mask);
	}
	pair_number(d, &p, 0, 0);
	for (uint32_t s = 0; s < p.g.n && !d->spent; s++) {
		uint32_t x = p.left[s] << a->bits, y = p.right[s] << b->bits;
		p.g.accepts[s] = combined(op, a->accepts[p.left[s]], b->accepts[p.right[s]]);
		for (uint32_t l = 0; l < p.g.letters; l++) {
			uint32_t to = pair_number(d, &p, a->next[x | la[l]], b->next[y | lb[l]]);
			p.g.next[s * p.g.letters + l] = to;
		}
	}
	const struct dfa *c = grown(d, &p.g, mask);
	free(p.number);
	free(p.left);
	free(p.right);
	free(la);
	free(lb);
	return c;
}

/* ---- projections ---------------------------------------------------------------------- */

/* Sets of states, one after another, in a hash table. */
struct subsets {
	struct growing g;
	uint32_t *items, nitems, capitems;
	uint32_t *start; /* of set i; its end is start[i + 1] */
	uint32_t capstart;
	struct hash_table rows;
};

/* A set of states, which may be in none of them yet. */
struct states {
	const uint32_t *v;
	uint32_t n;
};

static bool same_set(const void *of, uint32_t row, const void *key)
{
	const struct subsets *u = of;
	const struct states *k = key;

	return u->start[row + 1] - u->start[row] == k->n &&
	       (!k->n || !memcmp(u->items + u->start[row], k->v, sizeof(*k->v) * k->n));
}

static uint32_t set_number(struct dfas *d, struct subsets *u, const uint32_t *v, uint32_t n)
{
	uint32_t h = hash_mix(0, n), k;

	for (uint32_t i = 0; i < n; i++)
		h = hash_mix(h, v[i]);
	k = hash_find(&u->rows, h, same_set, u, &(struct states){ v, n });
	if (k != HASH_NONE || !room(d, &u->g))
		return k != HASH_NONE ? k : 0;
	hash_add(&u->rows, d->arena, h, u->g.n - 1);
	if (u->g.n + 1 >= u->capstart) {
		u->capstart = 2 * u->g.n + 64;
		u->start = realloc(u->start, sizeof(*u->start) * u->capstart);
	}
	if (u->nitems + n > u->capitems) {
		u->capitems = 2 * (u->nitems + n);
		u->items = realloc(u->items, sizeof(*u->items) * u->capitems);
	}
	u->start[u->g.n - 1] = u->nitems;
	if (n)
		memcpy(u->items + u->nitems, v, sizeof(*v) * n);
	u->nitems += n;
	u->start[u->g.n] = u->nitems;
	return u->g.n - 1;
}

/* For each state, whether some further bits of the projected tracks, with zeros on the kept ones,
 * lead to acceptance. O(states^2 * letters) at worst. */
static bool *ends(const struct dfa *a, const uint32_t *kept)
{
	bool *e = malloc(a->n), more = true;

	memcpy(e, a->accepts, a->n);
	while (more) {
		more = false;
		for (uint32_t s = 0; s < a->n; s++)
			for (uint32_t l = 0; l < 1u << a->bits && !e[s]; l++)
				if (!kept[l] && e[a->next[s << a->bits | l]])
					e[s] = more = true;
	}
	return e;
}

static bool is_dead(const struct dfa *a, uint32_t s)
{
	if (a->accepts[s])
		return false;
	for (uint32_t l = 0; l < 1u << a->bits; l++)
		if (a->next[s << a->bits | l] != s)
			return false;
	return true;
}

static int by_number(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* The states that follow a set by the letters with k on the kept tracks; sorted. */
static uint32_t follow(const struct dfa *a, const struct subsets *u, uint32_t set,
		       const struct dfa_letters *b, uint32_t k, uint32_t dead, uint32_t *seen,
		       uint32_t round, uint32_t *to)
{
	uint32_t n = 0;

	for (uint32_t i = u->start[set]; i < u->start[set + 1]; i++)
		for (uint32_t j = b->first[k]; j < b->first[k + 1]; j++) {
			uint32_t s = a->next[u->items[i] << a->bits | b->letters[j]];
			if (s == dead || seen[s] == round)
				continue;
			seen[s] = round;
			to[n++] = s;
		}
	if (n > 1)
		qsort(to, n, sizeof(*to), by_number);
	return n;
}

static bool any_ends(const struct subsets *u, uint32_t set, const bool *e)
{
	for (uint32_t i = u->start[set]; i < u->start[set + 1]; i++)
		if (e[u->items[i]])
			return true;
	return false;
}

/* Subset construction: the sets of states to which words of the kept tracks lead. */
static void subsets_make(struct dfas *d, const struct dfa *a, struct subsets *u, uint32_t keep,
			 const uint32_t *kept)
{
	bool *e = ends(a, kept);
	struct dfa_letters b = dfa_letters(a, keep);
	uint32_t *to = malloc(sizeof(*to) * a->n), *seen = calloc(a->n, sizeof(*seen));
	uint32_t round = 0, dead = UINT32_MAX, start = 0;

	for (uint32_t s = 0; s < a->n; s++)
		if (is_dead(a, s))
			dead = s;
	set_number(d, u, &start, dead == 0 ? 0 : 1);
	for (uint32_t s = 0; s < u->g.n && !d->spent; s++) {
		u->g.accepts[s] = any_ends(u, s, e);
		works(d, (uint64_t)(u->start[s + 1] - u->start[s]) << a->bits);
		for (uint32_t k = 0; k < u->g.letters && !d->spent; k++) {
			uint32_t n = follow(a, u, s, &b, k, dead, seen, ++round, to);
			uint32_t next = set_number(d, u, to, n);
			u->g.next[s * u->g.letters + k] = next;
		}
	}
	free(b.first);
	free(b.letters);
	free(seen);
	free(to);
	free(e);
}

const struct dfa *dfa_exists(struct dfas *d, const struct dfa *a, uint32_t mask)
{
	uint32_t keep = a->mask & ~mask;

	if (keep == a->mask || d->spent)
		return a;
	struct subsets u = { .g.letters = 1u << ones(keep) };
	uint32_t *kept = malloc(sizeof(*kept) << a->bits);
	for (uint32_t l = 0; l < 1u << a->bits; l++)
		kept[l] = part(l, a->mask, keep);
	subsets_make(d, a, &u, keep, kept);
	const struct dfa *r = grown(d, &u.g, keep);
	free(kept);
	free(u.items);
	free(u.start);
	return r;
}

/* ---- renaming and comparing ------------------------------------------------------------------ */

const struct dfa *dfa_rename(struct dfas *d, const struct dfa *a, const uint8_t to[TRACKS])
{
	uint32_t mask = 0;
	struct dfa *r = arena_copy(d->arena, a, sizeof(*a));

	for (uint32_t t = 0; t < TRACKS; t++)
		if (a->mask >> t & 1)
			mask |= 1u << to[t];
	r->mask = mask;
	r->next = ARENA_ARRAY(d->arena, uint32_t, (size_t)a->n << a->bits);
	for (uint32_t l = 0; l < 1u << a->bits; l++) {
		uint32_t as = 0, i = 0;
		for (uint32_t t = 0; t < TRACKS; t++)
			if (a->mask >> t & 1)
				as |= (l >> i++ & 1) << ones(mask & ((1u << to[t]) - 1));
		for (uint32_t s = 0; s < a->n; s++)
			r->next[s << a->bits | as] = a->next[s << a->bits | l];
	}
	works(d, (uint64_t)a->n << a->bits);
	return r;
}

bool dfa_is_empty(const struct dfa *a)
{
	return a->n == 1 && !a->accepts[0];
}

bool dfa_within(struct dfas *d, const struct dfa *a, const struct dfa *b)
{
	return dfa_is_empty(dfa_apply(d, DFA_LESS, a, b)) && !d->spent;
}

bool dfa_equal(struct dfas *d, const struct dfa *a, const struct dfa *b)
{
	return dfa_is_empty(dfa_apply(d, DFA_XOR, a, b)) && !d->spent;
}
