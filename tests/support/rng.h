/* xorshift64*: the same numbers for the same seed, on every machine. */
#ifndef CCS_TESTS_RNG_H
#define CCS_TESTS_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state; /* never 0 */
};

/** A number in 0..n-1. */
static inline int rng_below(struct rng *g, int n)
{
	g->state ^= g->state >> 12;
	g->state ^= g->state << 25;
	g->state ^= g->state >> 27;
	return (int)((g->state * 2685821657736338717u >> 33) % (unsigned)n);
}

#endif
