/*
 * Inputs of a check: --fill's (fill.h), or made up.
 *
 * An element depends only on (rank, its place in the send buffer), so that the result can be
 * found again from the contract alone. Made up ones are
 *
 *   no operator matters  any bits
 *   integers             any bits
 *   floats               small whole numbers such that every partial sum is exact in the type
 *                        (products: powers of two), where the type is wide enough for the number
 *                        of ranks
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_INPUTS_H
#define CCS_RUNTIME_CCRUN_VALUES_INPUTS_H

#include "runtime/ccrun/values/elements.h"

#define BLOCK 1024u /* elements that are made, or compared, at a time */

/** How to make one call's floats. */
struct maker {
	int op;
	uint64_t largest; /* numbers in -largest .. largest; 0: sparse */
	uint64_t every;	  /* sparse: of that many ranks one is +-1, the rest 0 */
};

/** Whether elements are taken for floats. */
static inline bool check_is_float(const struct check *c)
{
	return c->numbers && c->format.mantissa && !c->bits;
}

/** Whole numbers up to this are exact in the type. */
double check_exact_up_to(const struct check *c);
/** Made once for many elements: it costs more than one. */
struct maker maker_of(const struct check *c);
/** The rank's elements [at, at + n), where they are no floats, or not taken for such: their low
 *  bits; those above the type's mean nothing. */
void inputs_bits(const struct check *c, uint32_t rank, uint64_t at, size_t n, uint64_t *bits);
/** One that is taken for a float. */
double input_float(const struct check *c, const struct maker *m, uint32_t rank, uint64_t at);

#endif
