/*
 * Sets of ranks as arcs: adjacent ranks, going round.
 *
 * A sum is mostly of one arc. A tree that adds its longest ways first leaves gaps for a while: rank
 * 4 has its own and those of 6 and 7 before it adds 5's, an arc for each level of the tree.
 */
#ifndef CCS_COMPILER_SYMMETRY_ARCS_H
#define CCS_COMPILER_SYMMETRY_ARCS_H

#include <stdbool.h>
#include <stdint.h>

#define MOST_ARCS 32u

struct arc {
	uint32_t first, n; /* n > 0 */
};

/** Makes one set of the *n arcs, at most 2 * MOST_ARCS, of `nranks` ranks: none adjoin any more, and
 *  all ranks begin at 0. False: a rank is in two of them, or there are more than MOST_ARCS. O(n^2) */
bool arcs_join(struct arc *v, uint32_t *n, uint32_t nranks);

#endif
