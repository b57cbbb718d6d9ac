/*
 * A line that is written over: see ticker.h.
 */
#include "compiler/ticker.h"
#include "runtime/base/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICKER_QUIET 1.0 /* seconds before the first line */
#define TICKER_PAUSE 0.1 /* seconds between lines */
#define ERASE "\r\033[K"

struct ticker ticker_open(void)
{
	const char *term = getenv("TERM");
	bool takes = term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);

	return (struct ticker){ .to = takes ? stderr : NULL };
}

void ticker_tell(struct ticker *t, const char *format, ...)
{
	va_list args;

	if (!t->to)
		return;
	double now = clock_seconds();
	if (t->next == 0)
		t->next = now + TICKER_QUIET;
	if (now < t->next)
		return;
	t->next = now + TICKER_PAUSE;
	t->shown = true;
	fputs(ERASE, t->to);
	va_start(args, format);
	vfprintf(t->to, format, args);
	va_end(args);
	fflush(t->to);
}

void ticker_close(struct ticker *t)
{
	if (t->shown)
		fputs(ERASE, t->to);
	t->shown = false;
}
