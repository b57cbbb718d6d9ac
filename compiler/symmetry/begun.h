/*
 * Who has begun when rank 0 ends: check/after.c, on the quotient.
 *
 * What rank r knows to have begun is what rank 0 knows, turned by r. So a message from the rank
 * behind brings what rank 0 knew when it sent it ahead, turned back; and with 0 slots the sender
 * learns what the receiver ahead knew when it began to receive: what rank 0 did, turned.
 * O(operations + ranks that messages tell of).
 */
#ifndef CCS_COMPILER_SYMMETRY_BEGUN_H
#define CCS_COMPILER_SYMMETRY_BEGUN_H

#include "compiler/symmetry/turns.h"

/** Whether all ranks have begun when rank 0 ends, with c->slots, after match. False: not so, or
 *  *why it is not said here. */
bool begun_all(struct ctx *c, const struct quotient *l, const struct order *order,
	       const char **why);

#endif
