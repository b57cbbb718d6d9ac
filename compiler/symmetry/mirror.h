/*
 * Turns by mirrors, and of ranges by bits: the conditions of turns.h that are checked on the
 * instance.
 *
 * In: the program of rank 0, how its cells turn, and the operations of another rank. Out: whether
 * these are rank 0's, turned, operation by operation: kind, place, FIFO and cells. Also the table of
 * a PLACE: f(x) for all x, which must be a permutation.
 */
#ifndef CCS_COMPILER_SYMMETRY_MIRROR_H
#define CCS_COMPILER_SYMMETRY_MIRROR_H

#include "compiler/expand/cursor.h"
#include "compiler/symmetry/turns.h"

/** Makes l->place and l->at, while `v` runs rank 0. False: f is not a permutation of 0 .. N - 1.
 *  O(N) evaluations. */
bool mirror_places(struct quotient *l, struct cursor *v);

/** Whether every turn maps each range of n chunks at a multiple of n to such a range. O(N) */
bool mirror_keeps(const struct quotient *l, uint32_t n);

/** Whether the lanes that `v` has run on rank r are rank 0's tasks, turned. After FIFOs are folded. */
bool turned_image(const struct quotient *l, const struct cursor *v, uint32_t r);

/** The first cell of a turning range after the turn by r. */
uint32_t range_turned(const struct quotient *l, uint32_t lo, uint32_t n, uint32_t r);

#endif
