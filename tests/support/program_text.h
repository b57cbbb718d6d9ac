/*
 * Runs what `ccc --emit=program` prints: the programs before lowering, each on values of
 * its own (sim_weight of plan_sim.h). It shares no code with the compiler, and knows the
 * meaning of operations, steps and pars from the language alone.
 */
#ifndef CCS_TESTS_PROGRAM_TEXT_H
#define CCS_TESTS_PROGRAM_TEXT_H

#include "tests/support/plan_sim.h"

struct text_program {
	int nranks, cells; /* of the buffers */
	uint64_t *sum;	   /* [nranks * cells]: values at the end */
	bool *known;	   /* ... of those that have one */
};

/**
 * Reads the next program of the text and runs it. False at the end of the text, and
 * where it cannot be understood or does not come to its end: then why->text says so,
 * which is "" at the end of the text. The tables are the caller's.
 */
bool text_program_next(FILE *f, struct text_program *p, struct sim_failure *why);
void text_program_free(struct text_program *p);

#endif
