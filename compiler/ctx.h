/*
 * The context that every pass gets, and the limits.
 */
#ifndef CCS_COMPILER_CTX_H
#define CCS_COMPILER_CTX_H

#include "lang/lang.h"

#include <stdio.h>

/* Work, counted in units and not in time, so that a limit takes effect at the same place on every
 * machine. A unit is the evaluation of about 8 characters of a text, about 5 ns. */
struct work {
	uint64_t done, most; /* beyond `most`, the run of the ranks stops */
	bool spent;	     /* the run has stopped */
	uint64_t blame;	     /* parts of values that witnesses may still visit (witness/blame.c) */
};

/** Whether the limit is exceeded; if so, sets `spent`. `w` may be NULL. */
static inline bool work_is_spent(struct work *w)
{
	if (w && w->done > w->most)
		w->spent = true;
	return w && w->spent;
}

#define MOST_BLAME (1ull << 23) /* some 0.8 s */

/* Work in addition to that of the text, for all passes: for an operation or link, a group or call,
 * a block of a par, a chunk that an operation touches, and an operation if buffers are `sized`. */
enum work_of { WORK_OP = 8, WORK_CALL = 32, WORK_BLOCK = 200, WORK_TOUCHED = 2, WORK_SIZED = 32 };

/* The state of a compilation; there are no globals. */
struct ctx {
	struct arena *arena;   /* for the whole compilation */
	struct arena *scratch; /* emptied by compile.c after each pass */
	struct sources *sources;
	struct diags *diags;
	uint32_t slots;	  /* --slots: FIFO depth K */
	uint32_t require; /* --require: bits REQUIRE_... */
	bool symmetry;	  /* one rank may decide for all, as only verdicts are needed */
	bool by_chunk; /* the plan's executor may send a message chunk by chunk, each in a slot */
	struct work *work;	/* NULL: not counted and not limited */
	FILE *progress;		/* -v: a line a pass with its time and operations; or NULL */
	const char **too_large; /* gets the exceeded limit of a program that is too large to be
				   stored; NULL: this is reported as an error */
};

#define REQUIRE_RANKS 1u  /* same-bits=ranks */
#define REQUIRE_COUNTS 2u /* same-bits=counts */

/* How `ccc table`, `ccc explain` and `ccc simulate` print. */
enum print_format {
	FORMAT_TEXT,
	FORMAT_CSV,
	FORMAT_JSON,
	FORMAT_SVG,
	FORMAT_HTML,
	FORMAT_TRACE, /* for Perfetto */
	FORMAT_TUNING,
	NFORMATS
};

/* Ascending, each once. */
struct numbers {
	const uint32_t *v;
	size_t n;
};

/* Whether they have it; an empty list stands for all. */
static inline bool numbers_show(const struct numbers *all, uint32_t n)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i] == n)
			return true;
	return all->n == 0;
}

/* --chunk, --rank, --step and --format: what they show; an empty list stands for all. */
struct shown {
	const char *const *chunks; /* "data", "data[2]", "data[0..2]" */
	size_t nchunks;
	struct numbers ranks, steps;
	enum print_format format;
};

/* --streams: queues of a pipeline's communications (pipe/pipe.h). */
enum pipe_streams { STREAMS_RANK, STREAMS_PAIR, STREAMS_EDGE, STREAMS_DIRECTED, NSTREAMS };
extern const char *const pipe_streams_names[]; /* up to a NULL */

#define NOWHERE ((struct span){ 0, 0 }) /* of a report without a place in the text */

/* Values of diags.phase: the order of reports, ccs(5) 8. */
enum phase {
	PHASE_TEXT,   /* load, resolve */
	PHASE_EXPAND, /* links and peers */
	PHASE_MATCH,
	PHASE_DEADLOCK,
	PHASE_RACE,
	PHASE_DATA,    /* E0401, and E0303 where lengths of values differ */
	PHASE_CONTRACT /* the contract's own text, E0403-E0405, E0407, E0408 */
};

/* Limits; the message of the error that a limit raises has its name or its value. */
#define LIMIT_RANKS 65536u
#define LIMIT_CALL_DEPTH 10000u	   /* E0204 */
#define LIMIT_OPS (1u << 26)	   /* operations in one program, E0501 */
#define LIMIT_TOUCHED (1ull << 33) /* chunks that a program's operations touch, E0501 */
#define LIMIT_MEMORY (8ull << 30)  /* bytes, E0501 */
#define LIMIT_IDLE_WORK 200000000u /* evaluation steps without an operation, E0204 */

#endif
