/*
 * Long random programs that are right by construction: all messages happen in
 * one global order, each send right before its receive, so nothing can deadlock
 * with one slot or more, and values follow by doing the same in that order.
 */
#ifndef CCS_TESTS_RIGHT_PROGRAM_H
#define CCS_TESTS_RIGHT_PROGRAM_H

#include "tests/support/rng.h"

#include <stdbool.h>
#include <stdio.h>

enum { R_RANKS = 6, R_CHUNKS = 3, R_CELLS = 2 * R_CHUNKS, R_ALL = 3 * R_CHUNKS };

struct right_value {
	bool has;
	int total;
	int of[R_RANKS][R_CHUNKS]; /* how often each initial chunk of d is in it */
};

/* Cells: inout d[3], out b[3], scratch t[3]. */
struct right_program {
	int nranks;
	bool asked[R_RANKS][R_CELLS];
	struct right_value now[R_RANKS][R_ALL]; /* when all is done */
};

/** Writes the schedule's text to `out`, and tells what it computes. */
void right_program(struct rng *g, struct right_program *p, FILE *out);
/** The same as a string, to be freed. */
char *right_text(struct rng *g, struct right_program *p);

#endif
