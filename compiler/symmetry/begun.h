/*
 * The set of ranks known to have begun when rank 0 ends: check/after.c, on the quotient (turns.h).
 *
 * The set of rank r is the set of rank 0, turned by r. So a message that rank 0 receives from rank
 * -p carries the set that rank 0 had when it sent the image of this message to rank p, turned by
 * -p. With 0 slots, a sender also learns the set of the receiver p at the begin of the receive:
 * rank 0's own set then, turned by p.
 *
 * O(operations + ranks in the sets of messages).
 */
#ifndef CCS_COMPILER_SYMMETRY_BEGUN_H
#define CCS_COMPILER_SYMMETRY_BEGUN_H

#include "compiler/symmetry/turns.h"

/** Whether all ranks have begun when rank 0 ends, with c->slots, after match. False: not so, or it
 *  was not decided and *why is the reason. */
bool begun_all(struct ctx *c, const struct quotient *l, const struct order *order,
	       const char **why);

#endif
