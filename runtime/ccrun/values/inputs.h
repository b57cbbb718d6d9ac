/*
 * Inputs of a check: by --fill (fill.h), or generated.
 *
 * An element depends only on (rank, index in the send buffer), so the result can be computed from
 * the contract alone. Generated ones are
 *
 *   no operator          any bits
 *   integers             any bits
 *   floats               small whole numbers such that every partial sum is exact in the type
 *                        (products: powers of two), if the type is wide enough for the number of
 *                        ranks
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_INPUTS_H
#define CCS_RUNTIME_CCRUN_VALUES_INPUTS_H

#include "runtime/ccrun/values/elements.h"

#define BLOCK 1024u /* elements generated or compared at a time */

/** Parameters of a call's generated floats. */
struct maker {
	int op;
	uint64_t largest; /* numbers in -largest .. largest; 0: sparse */
	uint64_t every;	  /* sparse: one of that many ranks has +-1, the rest 0 */
};

/** Whether elements are treated as floats. */
static inline bool check_is_float(const struct check *c)
{
	return c->numbers && c->format.mantissa && !c->bits;
}

/** Whole numbers up to this are exact in the type. */
double check_exact_up_to(const struct check *c);
/** Computed once for many elements, as it costs more than one. */
struct maker maker_of(const struct check *c);
/** The bits of elements [at, at + n) that are not treated as floats. Bits above the type's are
 *  undefined. */
void inputs_bits(const struct check *c, uint32_t rank, uint64_t at, size_t n, uint64_t *bits);
/** An element that is treated as a float. */
double input_float(const struct check *c, const struct maker *m, uint32_t rank, uint64_t at);

#endif
