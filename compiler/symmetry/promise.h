/*
 * Whether a contract is symmetric: what it promises on rank r is what it promises on rank 0,
 * turned, chunks and contributions.
 *
 * In: the program of rank 0, so that it is known how each buffer turns. That gives each index of a
 * chunk in the contract the kind that it must have: SAME where the buffer stays, WITHIN, 1
 * where it turns by that index. A free index, and the variable of a sum over all ranks, take all
 * values, so they may have that kind. Conditions must be SAME; who must have begun, all ranks.
 * By mirrors SAME says too little, and an index is no place: then there is no condition, ranks are
 * `rank` or all, and an index is the left side's free one, or, where chunks stay, a number.
 * O(the contract's text).
 */
#ifndef CCS_COMPILER_SYMMETRY_PROMISE_H
#define CCS_COMPILER_SYMMETRY_PROMISE_H

#include "compiler/symmetry/turns.h"

/** Changes only l->kinds: the contract's names are bound. */
bool promise_turns(struct quotient *l);

#endif
