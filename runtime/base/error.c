/*
 * Failures of public calls: a status, and one text for the thread. See error.h. O(text).
 */
#include "runtime/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct thread_state state;

struct thread_state *error_thread(void)
{
	return &state;
}

/* The arguments may include the old text. */
ccs_status ccs_error_set(ccs_status s, const char *format, ...)
{
	char text[CCS_TEXT];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	strcpy(state.text, text);
	return s;
}

void text_add(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->buf + t->len, sizeof(t->buf) - t->len, format, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
	if (t->len >= sizeof(t->buf))
		t->len = sizeof(t->buf) - 1;
}

ccs_status error_of_peer(long long status)
{
	return status >= CCS_ESYSTEM && status <= CCS_EINVAL ? (ccs_status)status : CCS_ESYSTEM;
}

const char *ccs_error(void)
{
	return state.text;
}

const char *ccs_status_name(ccs_status s)
{
	static const char *const names[] = {
		/* [-status] */
		"CCS_OK",	"CCS_EINVAL",	"CCS_EFILE",	    "CCS_ENOPLAN", "CCS_ENOMEM",
		"CCS_ETIMEOUT", "CCS_EABORTED", "CCS_EUNSUPPORTED", "CCS_ESYSTEM",
	};

	return s <= CCS_OK && s >= CCS_ESYSTEM ? names[-(int)s] : "unknown status";
}

const char *ccs_version(void)
{
	return CCS_VERSION;
}
