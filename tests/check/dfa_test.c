/*
 * Automata of numbers (compiler/every/bits/dfa.h) against sets of small tuples.
 *
 *   dfa_test COUNT SEED   COUNT random formulas of sums, bits, powers, and, or, not, exists
 *
 * Each formula is kept twice: as an automaton, and as a table of which tuples of numbers below 16
 * satisfy it. Quantified tracks are bound by a sum to be below 16, so that tables are exact.
 */
#include "compiler/every/bits/dfa.h"
#include "tests/support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USED = 3, BITS = 4, BELOW = 1 << BITS, ALL = 1 << (USED * BITS), DEPTH = 4 };

/* A formula: its automaton, and what satisfies it. */
struct formula {
	const struct dfa *a;
	bool in[ALL];
};

static uint32_t number(uint32_t tuple, uint32_t track)
{
	return tuple >> (track * BITS) & (BELOW - 1);
}

static void make_sum(struct dfas *d, struct rng *g, struct formula *f)
{
	struct linear l = { .constant = rng_below(g, 21) - 10 };
	bool zero = rng_below(g, 2);

	for (uint32_t t = 0; t < USED; t++)
		l.factor[t] = rng_below(g, 7) - 3;
	f->a = zero ? dfa_zero(d, &l) : dfa_at_least_zero(d, &l);
	for (uint32_t k = 0; k < ALL; k++) {
		int64_t v = l.constant;
		for (uint32_t t = 0; t < USED; t++)
			v += l.factor[t] * number(k, t);
		f->in[k] = zero ? v == 0 : v >= 0;
	}
}

static void make_bits(struct dfas *d, struct rng *g, struct formula *f)
{
	uint32_t x = (uint32_t)rng_below(g, USED), y = (x + 1) % USED, z = (x + 2) % USED;
	bool power = rng_below(g, 3) == 0;

	f->a = power ? dfa_power(d, x) : dfa_and_bits(d, x, y, z);
	for (uint32_t k = 0; k < ALL; k++) {
		uint32_t a = number(k, x);
		f->in[k] = power ? a && !(a & (a - 1)) : (a & number(k, y)) == number(k, z);
	}
}

/* Below 16 on one track: so that what exists is seen in the table. */
static void bound(struct dfas *d, struct formula *f, uint32_t track)
{
	struct linear l = { .constant = BELOW - 1 };

	l.factor[track] = -1;
	f->a = dfa_apply(d, DFA_AND, f->a, dfa_at_least_zero(d, &l));
}

static void make_exists(struct dfas *d, struct rng *g, struct formula *f)
{
	uint32_t t = (uint32_t)rng_below(g, USED);
	static bool was[ALL];

	bound(d, f, t);
	f->a = dfa_exists(d, f->a, 1u << t);
	memcpy(was, f->in, sizeof(was));
	for (uint32_t k = 0; k < ALL; k++) {
		f->in[k] = false;
		for (uint32_t v = 0; v < BELOW; v++)
			f->in[k] |= was[(k & ~((BELOW - 1u) << (t * BITS))) | v << (t * BITS)];
	}
}

static void make_rename(struct dfas *d, struct formula *f)
{
	const uint8_t to[TRACKS] = { 1, 2, 0 };
	static bool was[ALL];

	f->a = dfa_rename(d, f->a, to);
	memcpy(was, f->in, sizeof(was));
	for (uint32_t k = 0; k < ALL; k++) /* track t is now to[t] */
		f->in[k] = was[number(k, 1) | number(k, 2) << BITS | number(k, 0) << 2 * BITS];
}

static void make(struct dfas *d, struct rng *g, struct formula *f, int depth)
{
	struct formula *b;
	int kind = depth ? rng_below(g, 8) : rng_below(g, 2);

	if (kind < 2) {
		(kind ? make_sum : make_bits)(d, g, f);
		return;
	}
	make(d, g, f, depth - 1);
	if (kind == 2) {
		make_exists(d, g, f);
		return;
	}
	if (kind == 3) {
		make_rename(d, f);
		return;
	}
	b = malloc(sizeof(*b));
	make(d, g, b, depth - 1);
	static const enum dfa_op ops[] = { DFA_AND, DFA_OR, DFA_LESS, DFA_XOR };
	f->a = dfa_apply(d, ops[kind - 4], f->a, b->a);
	for (uint32_t k = 0; k < ALL; k++)
		f->in[k] = kind == 4   ? f->in[k] && b->in[k]
			   : kind == 5 ? f->in[k] || b->in[k]
			   : kind == 6 ? f->in[k] && !b->in[k]
				       : f->in[k] != b->in[k];
	free(b);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void seen(const uint64_t v[TRACKS], void *arg)
{
	bool *in = arg;
	uint32_t k = 0;

	for (uint32_t t = 0; t < USED; t++)
		k |= (uint32_t)v[t] << (t * BITS);
	in[k] = true;
}

/* Whether the automaton has the table's tuples of numbers below 2^length, in words so long. */
static bool agrees_at(struct dfas *d, const struct formula *f, uint32_t length)
{
	static bool in[ALL];
	const struct dfa *a = f->a;
	bool same = true;

	/* tuples have the tracks that matter: make all matter */
	for (uint32_t t = 0; t < USED; t++) {
		struct linear below = { .constant = BELOW - 1 };
		below.factor[t] = -1;
		a = dfa_apply(d, DFA_AND, a, dfa_at_least_zero(d, &below));
	}
	memset(in, 0, sizeof(in));
	for (uint64_t v = 0; v < 1u << length; v++) {
		const uint64_t given[TRACKS] = { v };
		dfa_each(a, length, 1u, given, seen, in);
	}
	for (uint32_t k = 0; k < ALL; k++) {
		bool small = true;
		for (uint32_t t = 0; t < USED; t++)
			small &= !(number(k, t) >> length);
		same &= in[k] == (small && f->in[k]);
	}
	return same;
}

/* The same of words of all lengths: zeros at the end do not matter. */
static bool agrees(struct dfas *d, const struct formula *f)
{
	return agrees_at(d, f, BITS) && agrees_at(d, f, BITS / 2) && agrees_at(d, f, 1);
}

int main(int argc, char **argv)
{
	struct rng g = { argc == 3 ? (uint64_t)atoi(argv[2]) * 2654435761u + 1 : 1 };
	int count = argc == 3 ? atoi(argv[1]) : 100, wrong = 0, few = 0;
	struct formula *f = malloc(sizeof(*f)), *h = malloc(sizeof(*h));

	for (int i = 0; i < count; i++) {
		struct arena arena;
		arena_init(&arena, NULL, NULL);
		struct dfas d = { .arena = &arena, .most = 1000000000 };
		make(&d, &g, f, DEPTH);
		make(&d, &g, h, 1);
		bool same = agrees(&d, f) && agrees(&d, h) && !d.spent;
		bool sub = true;
		for (uint32_t k = 0; k < ALL; k++)
			sub &= !f->in[k] || h->in[k];
		same &= !dfa_within(&d, f->a, h->a) || sub; /* what is beyond 16 may differ */
		few += dfa_within(&d, f->a, f->a) && dfa_equal(&d, f->a, f->a);
		wrong += !same;
		arena_free(&arena);
	}
	free(f);
	free(h);
	bool bad = wrong || few != count;
	printf("%s - %d formulas are what their tables say, %d are not\n", bad ? "not ok" : "ok",
	       count - wrong, wrong);
	return bad;
}
