/*
 * Diagnostics: collected while the passes run, printed once by the command.
 *
 * A diagnostic has a code (E0304), a main place, a message, notes with places
 * of their own, and the set of ranks that it is true for. The same mistake on
 * another rank (same code, same place) is not a second diagnostic: its rank is
 * added to the set, and the text ends in "the same for ranks 1-7".
 *
 * Order of reports is that of the passes (ccs(5) 8), then of places.
 */
#ifndef CCS_LANG_DIAG_H
#define CCS_LANG_DIAG_H

#include "lang/source.h"

#include <stdio.h>

enum severity { SEV_ERROR, SEV_WARNING, SEV_NOTE };

/* Codes are plain numbers: 304 is printed E0304. 0: none (warnings, files). */
#define NO_RANK (-1)

struct diag_note {
	struct span span;	/* lo == 0: no place */
	const char *text;
};

struct diag {
	enum severity severity;
	int code;
	int phase;		/* set from diags.phase when added */
	struct span span;
	const char *message;
	int64_t rank;		/* first rank it was seen on, or NO_RANK */
	int64_t *ranks;		/* all of them, ascending by insertion */
	uint32_t nranks, capranks;
	struct diag_note *notes;
	uint32_t nnotes, capnotes;
	int has_slots;		/* E0304: min_slots is meant */
	int64_t min_slots;	/* least number of slots that cures it; -1: none does */
	const char *where;	/* diags.where when it was added, or NULL */
};

struct diags {
	struct arena *arena;
	struct sources *sources;
	struct diag **v;
	uint32_t n, cap;
	uint32_t errors, warnings;
	int phase;		/* the running pass; sorts the report */
	const char *where;	/* e.g. "N = 4" or "N = 4, root = 2": appended to
				   messages of errors found while it is set; or NULL */
	int werror;		/* warnings are errors */
	uint32_t *index;	/* hash table of rows of v, by what makes two the same */
	uint32_t nindex;
};

/** Adds a diagnostic and returns it for notes; if (code, span) is there already
 *  with severity and phase equal, only adds the rank to it and returns NULL (a
 *  caller then skips the notes). `rank` may be NO_RANK. */
struct diag *diag_add(struct diags *d, enum severity sev, int code,
		      struct span span, int64_t rank, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/** Adds a note to `g` (NULL: does nothing). */
void diag_note(struct diags *d, struct diag *g, struct span span,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** The candidate nearest to `name` by edit distance, if it is near enough to be
 *  a likely typing error (distance <= max(1, len / 3)), else NULL. */
const char *diag_nearest(const char *name, const char *const *candidates, size_t n);

/** "0", "0-3, 5": the text of a set of ranks, in `a`. */
const char *diag_ranks(struct arena *a, const int64_t *ranks, size_t n);

struct diag_style {
	int json;		/* one object a line */
	int color;
	uint32_t max_errors;	/* more are counted in one closing line; 0: no cap */
};

/** Prints all, sorted by phase, then place; text with the source line and a caret. */
void diags_print(struct diags *d, const struct diag_style *style, FILE *out);

/** One row a code: the table behind --explain. */
struct diag_code {
	int code;
	const char *title;	/* one line, as in ccs(5) 7 */
	const char *text;	/* what it means, an example that has it, the cure */
};

/** The row of a code (304), or NULL. */
const struct diag_code *diag_code(int code);
/** All rows, ascending; their number in *n. */
const struct diag_code *diag_codes(size_t *n);

#endif
