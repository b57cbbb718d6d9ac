/*
 * How far a long check has come: one line on a terminal, written over and over.
 *
 *     hierarchical_broadcast, N = 8192, root 17 of 8192
 *
 * In: what is looked at now, before each instance. It is written once the first second is over, and
 * ten times a second at most; who asked for a short check never sees it. Out: nothing stays on
 * the terminal, so reports and diagnostics come after ticker_close().
 */
#ifndef CCS_COMPILER_TICKER_H
#define CCS_COMPILER_TICKER_H

#include "lang/diag.h"

struct ticker {
	FILE *to;    /* a terminal; NULL: nothing is written */
	double next; /* when the line may be written again; 0: it was never asked for */
	bool shown;
};

/** To stderr, if that is a terminal that takes a line's end back. */
struct ticker ticker_open(void);
void ticker_tell(struct ticker *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Takes the line away. */
void ticker_close(struct ticker *t);

#endif
