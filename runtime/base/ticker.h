/*
 * Progress of a long command: one line on a terminal, rewritten in place.
 *
 *     hierarchical_broadcast, N = 8192, root 17 of 8192
 *
 * In: a text before each part of the work. The line appears after the first second and changes at
 * most ten times a second, so a short command never shows it. Out: ticker_close() clears the
 * line; call it before any other output. Nothing is written to a pipe or file.
 *
 * A header only: ccc and ccrun share no library code.
 */
#ifndef CCS_RUNTIME_BASE_TICKER_H
#define CCS_RUNTIME_BASE_TICKER_H

#include "runtime/base/clock.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICKER_QUIET 1.0 /* seconds before the first line */
#define TICKER_PAUSE 0.1 /* seconds between lines */
#define TICKER_ERASE "\r\033[K"

struct ticker {
	FILE *to;    /* a terminal; NULL: nothing is written */
	double next; /* when the line may be written again; 0: not yet used */
	bool shown;
};

/** On stderr, if it is a terminal that can return to the start of a line. */
static inline struct ticker ticker_open(void)
{
	const char *term = getenv("TERM");
	bool takes = term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);

	return (struct ticker){ .to = takes ? stderr : NULL };
}

/** Replaces the line, unless the last one is too recent. */
__attribute__((format(printf, 2, 3))) static inline void ticker_tell(struct ticker *t,
								     const char *format, ...)
{
	va_list args;
	double now;

	if (!t->to)
		return;
	now = clock_seconds();
	if (t->next == 0)
		t->next = now + TICKER_QUIET;
	if (now < t->next)
		return;
	t->next = now + TICKER_PAUSE;
	t->shown = true;
	fputs(TICKER_ERASE, t->to);
	va_start(args, format);
	vfprintf(t->to, format, args);
	va_end(args);
	fflush(t->to);
}

/** Clears the line. */
static inline void ticker_close(struct ticker *t)
{
	if (!t->shown)
		return;
	fputs(TICKER_ERASE, t->to);
	fflush(t->to); /* stderr may be buffered, and what follows may go to stdout */
	t->shown = false;
}

#endif
