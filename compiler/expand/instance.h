/*
 * What is fixed before any rank runs: parameters, `where`, the topology's
 * parameters, the buffers' counts and how they agree with the contract's.
 */
#ifndef CCS_COMPILER_EXPAND_INSTANCE_H
#define CCS_COMPILER_EXPAND_INSTANCE_H

#include "compiler/expand/code.h"

enum instance_state {
	INSTANCE_OK,
	INSTANCE_REFUSED, /* a `where` does not hold; reported unless quiet_where */
	INSTANCE_WRONG	  /* mistakes were reported */
};

/** Binds the schedule's, its topology's and its contract's parameters in `k`, and
 *  fills in k->program's parameters and buffers. May be repeated for the same
 *  program with other code. Reports E0203-E0205, E0501. */
enum instance_state instance_make(struct code *k, bool quiet_where);

#endif
