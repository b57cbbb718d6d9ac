/*
 * A failed verdict -> the smallest reason for it.
 */
#ifndef CCS_COMPILER_WITNESS_WITNESS_H
#define CCS_COMPILER_WITNESS_WITNESS_H

#include "compiler/check/values/bits.h"

/* Reports E0304 with a shortest cycle of waits, if a program is deadlocked; else sets d->fewer, in
 * c->arena, to the place at which fewer slots would be stuck. Needs d->stuck. O(operations), and as
 * much for each cure that is tried. */
void witness(struct ctx *c, struct deadlock_report *d);

/* Reports E0403-E0405, one for each clause that does not hold; `r` is the run of a proof that
 * failed (proof.run). Runs the program once more to find the operations to blame. */
void blame(struct ctx *c, const struct program *p, const struct contract *k,
	   const struct order *order, struct replay *r);

/* Sets bits.why, in c->arena, to the reason why bits are not the same for every count, and reports
 * E0407 if ctx.require has a property that does not hold. Needs the run (bits.h). */
void orders(struct ctx *c, const struct program *p, const struct order *order, struct bits *b);

/** After E0402 in a program that matches and does not deadlock: adds help to the reports that a
 *  change of the step cures (race_cure.c). */
void race_help(struct ctx *c, const struct program *p, const struct contract *k);

#endif
