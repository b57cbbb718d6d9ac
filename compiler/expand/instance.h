/*
 * What is fixed before any rank runs: parameters, `where`, the topology's
 * parameters, the buffers' counts and how they agree with the contract's.
 */
#ifndef CCS_COMPILER_EXPAND_INSTANCE_H
#define CCS_COMPILER_EXPAND_INSTANCE_H

#include "compiler/expand/cursor.h"

enum instance_state {
	INSTANCE_OK,
	INSTANCE_REFUSED, /* a `where` does not hold; reported unless quiet_where */
	INSTANCE_WRONG	  /* mistakes were reported */
};

/** Binds the schedule's, its topology's and its contract's parameters and the buffers for
 *  the cursor, and fills in its program's parameters and buffers. May be repeated for the
 *  same program with another cursor. Reports E0203-E0205, E0501. */
enum instance_state instance_make(struct cursor *v, bool quiet_where);

#endif
