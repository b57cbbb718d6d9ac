/*
 * An independent referee for small programs: it shares no code and no method
 * with the compiler. A program is a partial order of operations per rank; the
 * referee explores every interleaving (every reachable set of finished
 * operations), so it knows by enumeration what the compiler knows by theorem.
 */
#ifndef CCS_TESTS_ORACLE_H
#define CCS_TESTS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_RANKS = 5, MAX_OPS = 20, CHUNKS = 4, MAX_STMTS = 8, MAX_BLOCK = 4, MAX_SLOTS = 3 };

enum kind { SEND, RECV, REDUCE, COPY, REDUCE_INTO };

struct o_op {
	enum kind kind;
	int rank, peer, channel, path;
	int lo, n;	 /* cells: 0, 1 are data, 2, 3 are out */
	int to;		 /* COPY, REDUCE_INTO: first cell */
	uint32_t before; /* operations that must have finished */
};

/* What stands in the text: single operations, steps, pars of two blocks. */
struct o_stmt {
	enum { SINGLE, STEP, PAR } form;
	int nops[2]; /* by block; SINGLE and STEP use block 0 */
	struct o_op ops[2][MAX_BLOCK];
};

struct o_program {
	int nranks;
	int nstmts[MAX_RANKS];
	struct o_stmt stmts[MAX_RANKS][MAX_STMTS];
	int nops; /* flattened by oracle_flatten */
	struct o_op ops[MAX_OPS];
	/* the contract, as counts of contributions per final cell, or asked == false */
	bool asked[MAX_RANKS][CHUNKS];
	uint8_t want[MAX_RANKS][CHUNKS][MAX_RANKS][2];
};

enum {
	ERR_301 = 1,
	ERR_302 = 2,
	ERR_303 = 4,
	ERR_304 = 8,
	ERR_401 = 16,
	ERR_402 = 32,
	ERR_403 = 64,
	ERR_404 = 128,
	ERR_405 = 256
};

struct o_verdict {
	int codes;     /* ERR_*: all that hold; data and contract only if no other does */
	int min_slots; /* -1: none; meaningful if matching is right */
	bool has[MAX_RANKS][CHUNKS];
	uint8_t value[MAX_RANKS][CHUNKS][MAX_RANKS][2]; /* final contributions of data cells */
};

void oracle_flatten(struct o_program *p);
struct o_verdict oracle_judge(const struct o_program *p, int slots);
/** The verdict's contract part alone, for a changed contract. */
int oracle_contract(const struct o_program *p, const struct o_verdict *v);
/** The program as `.ccs` text; returns the number of lines written. */
int oracle_write(const struct o_program *p, const char *name, FILE *out);
/** A Promela model of n programs, each with its slots, at most MAX_SLOTS. Its search is of the program whose number
 *  stands in the environment, as WHICH: it blocks exactly when that one does. */
void oracle_promela(const struct o_program *p, const int *slots, int n, FILE *out);

#endif
