/*
 * Diagnostics: collected while the passes run, printed once by the command.
 *
 * A diagnostic has a code (E0304), a main place, a message, notes with places (why it is so),
 * help (what to do), perhaps a fix (text for a place), and the set of ranks that it is true for.
 * The same mistake on another rank (same code, same place) is not a second diagnostic: its rank
 * is added to the set, and the text ends in "the same for ranks 1-7".
 *
 * Order of reports is that of the passes (ccs(5) 8), then of places.
 */
#ifndef CCS_LANG_DIAG_DIAG_H
#define CCS_LANG_DIAG_DIAG_H

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
	bool tried; /* of help: the cure was run, and it cures */
};

struct diag_notes {
	struct diag_note *v;
	uint32_t n, cap;
};

/* The calls that a place was run in, innermost first. A call in itself, at one place, is one entry;
 * of very many only the innermost and the outermost are kept. */
enum { DIAG_CALLS = 8, DIAG_CALLS_FAR = 2 };

struct diag_calls {
	struct diag_call {
		struct span span; /* of the call */
		const char *name; /* of the proc, schedule or fn that is called */
		uint32_t times;
	} v[DIAG_CALLS]; /* the last DIAG_CALLS_FAR are the outermost */
	uint32_t n;	 /* all of them */
};

/* An edit that cures the mistake: `text` in place of what `span` covers, which may
 * be nothing. */
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
	int64_t rank;	/* first rank it was seen on, or NO_RANK */
	int64_t *ranks; /* all of them, ascending by insertion */
	uint32_t nranks, capranks;
	struct diag_calls calls; /* that the main place was run in */
	struct diag_notes notes, help;
	struct diag_fix fix;
	int has_slots;	    /* E0304: min_slots is meant */
	int64_t min_slots;  /* least number of slots that cures it; -1: none does */
	const char *where;  /* diags.where when it was added, or NULL */
	uint64_t operation; /* that it blames, as its pass numbers them; 0: none */
};

/* What -W says: bits by diag_warning_bit(). */
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
	uint32_t denied;   /* warnings that -Werror made errors: no pass stops at
				   these, but the exit status is that of errors */
	int phase;	   /* the running pass; sorts the report */
	const char *where; /* e.g. "N = 4" or "N = 4, root = 2": appended to
				   messages of errors found while it is set; or NULL */
	struct diag_warnings warn;
	uint32_t *index; /* hash table of rows of v, by what makes two the same */
	uint32_t nindex;
};

/** Adds an error or a note and returns it for more; if (code, span) is there already
 *  with severity and phase equal, only adds the rank to it and returns NULL (which diag_note and
 *  the other functions ignore). `rank` may be NO_RANK. */
struct diag *diag_add(struct diags *d, enum severity sev, int code, struct span span, int64_t rank,
		      const char *fmt, ...) __attribute__((format(printf, 6, 7)));

struct diag *diag_vadd(struct diags *d, enum severity sev, int code, struct span span, int64_t rank,
		       const char *fmt, va_list ap) __attribute__((format(printf, 6, 0)));

/** The same for a warning; its code is one of W_...: an error under -Werror. NULL also where it
 *  is switched off, and for places in the prelude and the installed library, which are never
 *  warned about. */
struct diag *diag_warn(struct diags *d, int code, struct span span, int64_t rank, const char *fmt,
		       ...) __attribute__((format(printf, 5, 6)));

/** Whether one of d->v[first...] has that code. */
bool diags_have(const struct diags *d, uint32_t first, int code);

/** Takes back d->v[first...], where nothing before was seen again since. O(first). */
void diags_drop(struct diags *d, uint32_t first);

/** Whether diag_warn would report it somewhere: else what finds it need not run. */
bool diag_warns(const struct diags *d, int code);

/** Adds to `g` (NULL: does nothing) why it is so; `span` may be without a place. */
void diag_note(struct diags *d, struct diag *g, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** Adds to `g` (NULL: does nothing) what to do, or to look at. */
void diag_help(struct diags *d, struct diag *g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** The same of a cure that was tried: the program with it was checked. */
void diag_cure(struct diags *d, struct diag *g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Adds the next outer call. */
void diag_calls_add(struct diag_calls *c, struct span span, const char *name);
/** How many of the calls are kept: rows of c->v. */
static inline uint32_t diag_calls_kept(const struct diag_calls *c)
{
	return c->n < DIAG_CALLS ? c->n : DIAG_CALLS;
}
/** Whether both are the same calls. */
bool diag_calls_same(const struct diag_calls *a, const struct diag_calls *b);

/** Says of `g` (NULL: does nothing) which text in place of `span` cures it: once, and
 *  only if that was checked, so that the text with it gets further. */
void diag_fix(struct diags *d, struct diag *g, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** The candidate nearest to `name` by edit distance, if it is near enough to be
 *  a likely typing error (distance <= max(1, len / 3)), else NULL. */
const char *diag_nearest(const char *name, const char *const *candidates, size_t n);

/** "0", "0-3, 5": the text of a set of ranks, in `a`. */
const char *diag_ranks(struct arena *a, const int64_t *ranks, size_t n);

/* ---- printing (diag_print.c, diag_json.c, diag_sarif.c) ----------------------- */

/** `s` as people may see it, in `a`: control characters and those that turn the
 *  direction of text are "<U+202E>" or "\x1b", and so are bytes that are no UTF-8. Tabs and line
 *  ends stay. */
const char *diag_shown_text(struct arena *a, const char *s);

enum diag_format { DIAG_TEXT, DIAG_JSON, DIAG_SARIF };

/* A SARIF log, which is complete only when all was said. */
struct diag_log;

struct diag_style {
	enum diag_format format;
	int color;	      /* of text */
	uint32_t max_errors;  /* more are counted in one closing line; 0: no cap */
	struct diag_log *log; /* of SARIF */
};

/** Prints all, sorted by phase, then place: text with the source line and a caret; or
 *  JSON, one object a line. For SARIF, puts them into the log. */
void diags_print(struct diags *d, const struct diag_style *style, FILE *out);

/** A log without results; NULL: no memory. */
struct diag_log *diag_log_open(void);
/** A schedule that passed: its report as a JSON object. False: no memory. */
bool diag_log_report(struct diag_log *log, const char *json);
/** Writes the log of a run that ends with that status, and frees it. False: no memory, or
 *  it cannot be written. */
bool diag_log_close(struct diag_log *log, int status, FILE *out);

/* ---- codes (codes.inc) ------------------------------------------------------------ */

/** One row a code: the table behind --explain. */
struct diag_code {
	int code;
	const char *name;  /* of a warning: what -Wno-NAME calls it; else NULL */
	const char *title; /* one line, as in ccs(5) 7 */
	const char *text;  /* the meaning, an example, the cure */
};

/** The row of a code (304, W_DEAD), or NULL. */
const struct diag_code *diag_code(int code);
/** All rows, ascending; their number in *n. */
const struct diag_code *diag_codes(size_t *n);

/** The warning's bit in struct diag_warnings; 0: it is none. */
uint32_t diag_warning_bit(int code);

/* "E0304" */
struct diag_code_text {
	char s[8];
};
struct diag_code_text diag_code_text(int code);

#endif
