/*
 * Modules that were altered: one field or row of one plan, or of the head, is another,
 * and the checksum is right again. What follows from the altered row follows it
 * (plan_facts.h), except where it is what was altered.
 */
#ifndef CCS_TESTS_PLAN_ALTER_H
#define CCS_TESTS_PLAN_ALTER_H

#include "runtime/plan/plan.h"
#include "tests/support/rng.h"

#include <stdbool.h>
#include <stddef.h>

enum alteration {
	ALTER_IN,
	ALTER_OUT,
	ALTER_PART,
	ALTER_PART_GONE,
	ALTER_INITIAL,
	ALTER_N,
	ALTER_LEN,
	ALTER_LEN_SAME,
	ALTER_DIRECT_GONE,
	ALTER_DIRECT_MORE,
	ALTER_HELD_GONE,
	ALTER_HELD_MORE,
	ALTER_READ_GONE,
	ALTER_READ_MORE,
	ALTER_STORE_ELSEWHERE,
	ALTER_EXCHANGE,
	ALTER_SWAP,
	ALTER_TO,
	ALTER_AWAITED,
	ALTER_SHIFTED,
	ALTER_FROM_CELLS,
	ALTER_TO_CELLS,
	ALTER_PHASE,
	ALTER_LEVEL,
	ALTER_WAIT_GONE,
	ALTER_WAIT_WEAKER,
	ALTER_WAIT_OTHER,
	ALTER_WAIT_MOVED,
	ALTER_WORKERS,
	ALTER_FIFO,
	ALTER_PLAN,
	ALTER_SHAPES,
	ALTER_DIRECTION,
	ALTER_EXPECT,
	ALTER_SUMS,
	ALTER_SLOTS,
	ALTER_EVEN,
	ALTER_REDUCED,
	ALTER_AFTER,
	ALTERATIONS
};

const char *alteration_name(enum alteration a);

/** Alters a module; false: there is nothing of the kind, and it is as it was. */
bool alter(struct rng *g, unsigned char *module, enum alteration a);
/** Makes the checksum right. */
void alter_mend(unsigned char *module);

#endif
