/* See say.h. */
#include "tests/support/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool say(bool ok, const char *format, ...)
{
	va_list ap;

	printf(ok ? "ok - " : "not ok - ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout); /* before a fork, or a signal */
	return ok;
}

bool is(ccs_status s, ccs_status want, const char *text, const char *what)
{
	bool ok = s == want && (!text || !s || strstr(ccs_error(), text));

	if (!ok)
		printf("# %s: %s, not %s%s%s: %s\n", what, ccs_status_name(s),
		       ccs_status_name(want), text ? " with " : "", text ? text : "",
		       s ? ccs_error() : "");
	fflush(stdout);
	return ok;
}

bool says(ccs_status s, ccs_status want, const char *text, const char *what)
{
	return say(is(s, want, text, what), "%s", what);
}

bool say_together(struct ccs_comm *told, bool here, const char *what)
{
	ccs_status s = ccs_comm_agree(told, here ? CCS_OK : ccs_error_set(CCS_EINVAL, "not so"));
	int rank = ccs_comm_rank(told);

	if (!here)
		printf("# rank %d: not so: %s\n", rank, what);
	if (!rank)
		say(!s, "%s", what);
	return !s;
}
