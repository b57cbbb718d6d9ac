/*
 * How far a long command has come: one line on a terminal, written over and over.
 *
 *     hierarchical_broadcast, N = 8192, root 17 of 8192
 *
 * In: what the command does now, before each part of it. The line is written once the first second is
 * over, and ten times a second at most: a short command never shows it. Out: nothing stays on
 * the terminal, so all else is printed after ticker_close(). In a pipe or a file nothing is written.
 *
 * It is a header alone, so that ccc and ccrun, which have no code in common, both use it.
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
	double next; /* when the line may be written again; 0: it was never asked for */
	bool shown;
};

/** To stderr, if that is a terminal that takes a line's end back. */
static inline struct ticker ticker_open(void)
{
	const char *term = getenv("TERM");
	bool takes = term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);

	return (struct ticker){ .to = takes ? stderr : NULL };
}

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

/** Takes the line away. */
static inline void ticker_close(struct ticker *t)
{
	if (t->shown)
		fputs(TICKER_ERASE, t->to);
	t->shown = false;
}

#endif
