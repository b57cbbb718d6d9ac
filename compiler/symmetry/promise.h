/*
 * Whether a contract is symmetric: its promise to rank r is its promise to rank 0, with chunks and
 * contributions turned by r.
 *
 * In: the program of rank 0, which determines how each buffer turns. This fixes the kind (kinds.h)
 * that each index of a chunk in the contract must have: SAME if the buffer stays, WITHIN, 1 if it
 * turns by that index. A free index, and the variable of a sum over all ranks, take all values, so
 * they may have that kind. Conditions must be SAME, and the ranks that must have begun all ranks.
 *
 * By mirrors SAME promises less (one value for ranks of one parity), and an index is not a place.
 * Then the contract must have no condition, a rank must be `rank` or all ranks, and an index must
 * be the free index of the left side or, where chunks stay, a number.
 *
 * O(the contract's text).
 */
#ifndef CCS_COMPILER_SYMMETRY_PROMISE_H
#define CCS_COMPILER_SYMMETRY_PROMISE_H

#include "compiler/symmetry/turns.h"

/** Changes only l->kinds: the contract's names are bound. */
bool promise_turns(struct quotient *l);

#endif
