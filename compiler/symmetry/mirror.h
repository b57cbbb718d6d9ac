/*
 * Turns by mirrors: what the text does not say of them; see turns.h.
 *
 * In: the program of rank 0, how its cells turn, and operations of rank 1. Out: whether these are the
 * mirror image, operation by operation: kind, place, FIFO and cells. And the places of a PLACE: f(x)
 * for all x, which must be each place once.
 */
#ifndef CCS_COMPILER_SYMMETRY_MIRROR_H
#define CCS_COMPILER_SYMMETRY_MIRROR_H

#include "compiler/expand/cursor.h"
#include "compiler/symmetry/turns.h"

/** Makes l->place and l->at, while `v` runs rank 0. False: f has no value somewhere, or one twice.
 *  O(N) evaluations. */
bool mirror_places(struct quotient *l, struct cursor *v);

/** Whether all turns take ranges of n chunks, at multiples of n, to such ranges. O(N) */
bool mirror_keeps(const struct quotient *l, uint32_t n);

/** Whether the lanes that `v` has run on rank 1 mirror rank 0's tasks; FIFOs are folded. */
bool mirror_image(const struct quotient *l, const struct cursor *v);

/** Where the turn by r takes a range that turns: its first cell. */
uint32_t mirror_range(const struct quotient *l, uint32_t lo, uint32_t n, uint32_t r);

#endif
