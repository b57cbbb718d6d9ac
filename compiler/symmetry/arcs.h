/*
 * Sets of ranks as lists of arcs. An arc is a range of adjacent ranks modulo N.
 *
 * A partial sum mostly has the contributions of one arc. A tree that adds its longest branches
 * first has gaps in between: rank 4 has the values of ranks 4, 6 and 7 before it adds that of 5.
 * The number of arcs is at most the depth of the tree.
 */
#ifndef CCS_COMPILER_SYMMETRY_ARCS_H
#define CCS_COMPILER_SYMMETRY_ARCS_H

#include <stdbool.h>
#include <stdint.h>

#define MOST_ARCS 32u

struct arc {
	uint32_t first, n; /* n > 0 */
};

/** Joins adjacent arcs among the *n arcs, at most 2 * MOST_ARCS. The arc of all ranks begins at 0.
 *  False: a rank is in two arcs, or more than MOST_ARCS arcs remain. O(n^2) */
bool arcs_join(struct arc *v, uint32_t *n, uint32_t nranks);

#endif
