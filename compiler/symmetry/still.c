/*
 * Canonical turns: see still.h. The product r s, r after s, is rank_turned(s, r).
 */
#include "compiler/symmetry/still.h"

static uint32_t still_at(const struct still *s, uint32_t i)
{
	return s->n ? s->v[i] : 0;
}

static uint32_t still_count(const struct still *s)
{
	return s->n ? s->n : 1;
}

/* Notes the least e of (A turned by a) + (B turned by b), if it is less than the e so far. */
static void take_least(const struct quotient *l, struct still_sum *best, const struct still *of_a,
		       const struct still *of_b, uint32_t a, uint32_t b)
{
	uint32_t apart = rank_turned(l, b, turn_back(l, a));

	for (uint32_t i = 0; i < still_count(of_a); i++) {
		uint32_t s = still_at(of_a, i),
			 e = still_turn(of_b, rank_turned(l, apart, turn_back(l, s)));
		if (e < best->apart) {
			best->apart = e;
			best->turn = rank_turned(l, s, a);
		}
	}
}

struct still_sum still_sum(const struct quotient *l, const struct still *of_a,
			   const struct still *of_b, uint32_t a, uint32_t b, bool equal)
{
	struct still_sum s = { .a = of_a, .b = of_b, .apart = NONE, .equal = equal };

	take_least(l, &s, of_a, of_b, a, b);
	if (equal)
		take_least(l, &s, of_b, of_a, b, a);
	return s;
}

struct still still_of_sum(const struct quotient *l, struct arena *arena, const struct still_sum *s)
{
	uint32_t n = still_count(s->a), e = s->apart;
	struct still k = { .v = arena_alloc(arena, 2 * (size_t)n * sizeof(*k.v)) };

	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = still_at(s->a, i), other = rank_turned(l, t, e);
		if (still_turn(s->b, rank_turned(l, e, t)) == e)
			k.v[k.n++] = t;
		if (s->equal && still_turn(s->a, rank_turned(l, e, other)) == 0)
			k.v[k.n++] = other;
	}
	if (k.n == 1)
		return (struct still){ 0 };
	k.least = none_array(arena, l->nranks);
	for (uint32_t r = 0; r < l->nranks; r++) {
		bool first = k.least[r] == NONE;
		for (uint32_t i = 0; first && i < k.n; i++)
			k.least[rank_turned(l, k.v[i], r)] = r;
	}
	return k;
}
