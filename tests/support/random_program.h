/*
 * Random programs for the referee of oracle.h: messages between random ranks,
 * with reductions, copies, steps, pars and channels. Most could be a person's;
 * some have every mistake that a program can have.
 */
#ifndef CCS_TESTS_RANDOM_PROGRAM_H
#define CCS_TESTS_RANDOM_PROGRAM_H

#include "tests/support/oracle.h"
#include "tests/support/rng.h"

void random_program(struct rng *g, struct o_program *p);
/** A contract that asks for what the program computes, sometimes for a bit else. */
void random_contract(struct rng *g, struct o_program *p, int slots);

#endif
