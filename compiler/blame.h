/*
 * The witness of a result that is not what the contract asks for.
 */
#ifndef CCS_COMPILER_BLAME_H
#define CCS_COMPILER_BLAME_H

#include "compiler/replay.h"

/* The expected value of a final cell: rows of the contract. */
struct expected {
	const struct run *v;
	uint32_t n;
};
struct expected contract_value(const struct contract *k, uint32_t row);

/** Reports E0403-E0405, one for each clause that does not hold; `r` is a finished
 *  replay. Runs the program once more to find the operations to blame. */
void blame(struct ctx *c, const struct program *p, const struct contract *k, const struct order *order,
	   struct replay *r);

#endif
