/*
 * What every pass is given, and the limits.
 */
#ifndef CCS_COMPILER_CTX_H
#define CCS_COMPILER_CTX_H

#include "lang/lang.h"

#include <stdio.h>

/* All that a compilation holds; no globals anywhere. */
struct ctx {
	struct arena *arena;   /* lives as long as the compilation */
	struct arena *scratch; /* emptied by compile.c after each pass */
	struct sources *sources;
	struct diags *diags;
	uint32_t slots;	  /* --slots: FIFO depth K */
	uint32_t require; /* --require: bits REQUIRE_... */
	bool symmetry;	  /* one rank may decide for all: only verdicts are asked for */
	bool by_chunk;	  /* what runs the plan may send a message chunk by chunk, each in a slot */
	FILE *progress;	  /* -v: a line a pass with its time and operations; or NULL */
	bool may_stream;  /* a program that is too large to be stored is not reported, but noted: */
	struct too_large {
		const char *text; /* which limit it is over; NULL: none */
		struct span at;
		struct diag_calls calls; /* that the place was run in */
	} too_large;
};

#define REQUIRE_RANKS 1u  /* same-bits=ranks */
#define REQUIRE_COUNTS 2u /* same-bits=counts */

/* How `ccc table` and `ccc explain` print. */
enum print_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_SVG, FORMAT_HTML, NFORMATS };

#define NOWHERE ((struct span){ 0, 0 }) /* of a report that is about no place in the text */

/* Values of diags.phase: the order of reports, ccs(5) 8. */
enum phase {
	PHASE_TEXT,   /* load, resolve */
	PHASE_EXPAND, /* links and peers */
	PHASE_MATCH,
	PHASE_DEADLOCK,
	PHASE_RACE,
	PHASE_DATA,    /* E0401 */
	PHASE_CONTRACT /* the contract's own text, E0403-E0405, E0407, E0408 */
};

/* Limits; each is named in the message of the error that it raises. */
#define LIMIT_RANKS 65536u
#define LIMIT_CALL_DEPTH 10000u	   /* E0204 */
#define LIMIT_OPS (1u << 26)	   /* operations in one program, E0501 */
#define LIMIT_TOUCHED (1ull << 33) /* chunks that a program's operations touch, E0501 */
#define LIMIT_MEMORY (8ull << 30)  /* bytes, E0501 */
#define LIMIT_IDLE_WORK 200000000u /* evaluation steps without an operation, E0204 */

#endif
