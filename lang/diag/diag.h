/*
 * Diagnostics: collected while the passes run, printed once by the command.
 *
 * A diagnostic has a code (E0304), a main place, a message, notes with places (the reason), help
 * (the cure), perhaps a fix (text for a place), and the set of ranks for which it is true. The same
 * mistake on another rank (same code, same place) is not a second diagnostic: its rank is added to
 * the set, and the text ends in "the same for ranks 1-7".
 *
 * Reports are in the order of the passes (ccs(5) 8), then of places.
 */
#ifndef CCS_LANG_DIAG_DIAG_H
#define CCS_LANG_DIAG_DIAG_H

#include "lang/base/hash_table.h"
#include "lang/base/source.h"

#include <stdio.h>

enum severity { SEV_ERROR, SEV_WARNING, SEV_NOTE };

/* Codes are plain numbers: 304 is printed E0304, warnings are above WARNING_CODES: 10201 is
 * W0201. 0: none (files, notes). */
#define WARNING_CODES 10000
enum {
#define E(...)
#define W(id, number, ...) W_##id = WARNING_CODES + (number),
#include "lang/diag/codes.inc"
#undef E
#undef W
};

#define NO_RANK (-1)

struct diag_note {
	struct span span; /* lo == 0: no place */
	const char *text;
	bool tried; /* of help: the cure was tried, and works */
};

struct diag_notes {
	struct diag_note *v;
	uint32_t n, cap;
};

/* The calls in which a place was run, innermost first. Recursive calls at one place are one entry;
 * of many calls only the innermost and the outermost are kept. */
enum { DIAG_CALLS = 8, DIAG_CALLS_FAR = 2 };

struct diag_calls {
	struct diag_call {
		struct span span; /* of the call */
		const char *name; /* of the proc, schedule or fn that is called */
		uint32_t times;
	} v[DIAG_CALLS]; /* the last DIAG_CALLS_FAR are the outermost */
	uint32_t n;	 /* number of all calls */
};

/* An edit that cures the mistake: `text` in place of `span`, which may be empty. */
struct diag_fix {
	struct span span;
	const char *text; /* NULL: there is no fix */
};

struct diag {
	enum severity severity;
	int code;
	int phase;    /* set from diags.phase when added */
	uint32_t row; /* in diags.v */
	struct span span;
	const char *message;
	int64_t rank;	/* the first rank on which it was found, or NO_RANK */
	int64_t *ranks; /* all of them, ascending by insertion */
	uint32_t nranks, capranks;
	struct diag_calls calls; /* in which the main place was run */
	struct diag_notes notes, help;
	struct diag_fix fix;
	int has_slots;	    /* E0304: min_slots is set */
	int64_t min_slots;  /* least number of slots that cures it; -1: none does */
	const char *where;  /* diags.where when it was added, or NULL */
	uint64_t operation; /* the operation that it blames, numbered by its pass; 0: none */
};

/* The options -W: bits by diag_warning_bit(). */
struct diag_warnings {
	uint32_t off;	/* -Wno-NAME */
	uint32_t error; /* -Werror, -Werror=NAME */
};

struct diags {
	struct arena *arena;
	struct sources *sources;
	struct diag **v;
	uint32_t n, cap;
	uint32_t errors; /* of the schedule; a pass stops at these */
	uint32_t warnings;
	uint32_t denied;   /* warnings that -Werror made errors: no pass stops at these, but the
				   exit status is that of errors */
	int phase;	   /* the running pass; sorts the report */
	const char *where; /* e.g. "N = 4" or "N = 4, root = 2": appended to the messages of errors
				   that are found while it is set; or NULL */
	struct diag_warnings warn;
	struct hash_table index; /* of rows of v, by the key of diag.c */
};

/** Adds an error or a note, and returns it for additions. If there is one with equal code, span,
 *  severity and phase, only adds the rank to it, and returns NULL (which diag_note and the other
 *  functions ignore). `rank` may be NO_RANK. */
struct diag *diag_add(struct diags *d, enum severity sev, int code, struct span span, int64_t rank,
		      const char *fmt, ...) __attribute__((format(printf, 6, 7)));

struct diag *diag_vadd(struct diags *d, enum severity sev, int code, struct span span, int64_t rank,
		       const char *fmt, va_list ap) __attribute__((format(printf, 6, 0)));

/** Adds a warning, with a code W_...; under -Werror it is an error. Returns NULL also if it is
 *  switched off, and for places in the prelude and the installed library, which get no warnings. */
struct diag *diag_warn(struct diags *d, int code, struct span span, int64_t rank, const char *fmt,
		       ...) __attribute__((format(printf, 5, 6)));

/** Whether one of d->v[first...] has that code. */
bool diags_have(const struct diags *d, uint32_t first, int code);

/** Removes d->v[first...], or of these all errors but one; no earlier diagnostic may have got a rank
 *  since. `but`: the one, or NULL. O(d->n). */
void diags_drop(struct diags *d, uint32_t first, const struct diag *but);

/** Whether diag_warn can report this code; if not, its check need not run. */
bool diag_warns(const struct diags *d, int code);

/** Adds a note, the reason, to `g` (NULL: does nothing); `span` may be without a place. */
void diag_note(struct diags *d, struct diag *g, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** Adds help to `g` (NULL: does nothing). */
void diag_help(struct diags *d, struct diag *g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Adds help with a cure that was tried: the program with it was checked. */
void diag_cure(struct diags *d, struct diag *g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Adds the next outer call. */
void diag_calls_add(struct diag_calls *c, struct span span, const char *name);
/** The number of calls that are kept: rows of c->v. */
static inline uint32_t diag_calls_kept(const struct diag_calls *c)
{
	return c->n < DIAG_CALLS ? c->n : DIAG_CALLS;
}
/** Whether both are the same calls. */
bool diag_calls_same(const struct diag_calls *a, const struct diag_calls *b);

/** Adds a fix to `g` (NULL: does nothing): the text in place of `span`. At most once, and only if
 *  the fix was tried. */
void diag_fix(struct diags *d, struct diag *g, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** The candidate nearest to `name` by edit distance, if it is near enough for a typing error
 *  (distance <= max(1, len / 3)), else NULL. */
const char *diag_nearest(const char *name, const char *const *candidates, size_t n);

/** "0", "0-3, 5": the text of a set of ranks, in `a`. */
const char *diag_ranks(struct arena *a, const int64_t *ranks, size_t n);

/* ---- printing (diag_print.c, diag_json.c, diag_sarif.c) ----------------------- */

/** A copy of `s` in `a`, fit for a terminal: characters that control it or change the direction of
 *  the text are escaped as "<U+202E>" or "\x1b", and so are bytes that are not UTF-8. Tabs and line
 *  ends stay. */
const char *diag_shown_text(struct arena *a, const char *s);

enum diag_format { DIAG_TEXT, DIAG_JSON, DIAG_SARIF };

/* A SARIF log: one object for all diagnostics of a run. */
struct diag_log;

struct diag_style {
	enum diag_format format;
	int color;	      /* of text */
	uint32_t max_errors;  /* the cap: more are only counted, in a closing line; 0: none */
	struct diag_log *log; /* of SARIF */
};

/** Prints all, sorted by phase, then place: as text with the source line and a caret, or as JSON,
 *  one object a line; or adds them to the log of SARIF. */
void diags_print(struct diags *d, const struct diag_style *style, FILE *out);

/** A log without results; NULL: no memory. */
struct diag_log *diag_log_open(void);
/** Adds the report of a schedule that passed, a JSON object. False: no memory. */
bool diag_log_report(struct diag_log *log, const char *json);
/** Writes the log of a run with exit status `status`, and frees it. False: no memory, or it cannot
 *  be written. */
bool diag_log_close(struct diag_log *log, int status, FILE *out);

/* ---- codes (codes.inc) ------------------------------------------------------------ */

/** One row a code: the table behind --explain. */
struct diag_code {
	int code;
	const char *name;  /* of a warning: its name in -Wno-NAME; else NULL */
	const char *title; /* one line, as in ccs(5) 7 */
	const char *text;  /* the meaning, an example, the cure */
};

/** The row of a code (304, W_DEAD), or NULL. */
const struct diag_code *diag_code(int code);
/** All rows, ascending; their number in *n. */
const struct diag_code *diag_codes(size_t *n);

/** The warning's bit in struct diag_warnings; 0: it is no warning. */
uint32_t diag_warning_bit(int code);

/* "E0304" */
struct diag_code_text {
	char s[8];
};
struct diag_code_text diag_code_text(int code);

#endif
