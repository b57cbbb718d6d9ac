/* See inject.h. */
#include "tests/fake_common/inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int inject(struct injection *i, const char *name)
{
	const char *asked = getenv(i->variable);
	size_t n = strlen(name);
	int k, code, failure = 0;

	if (!asked)
		return 0;
	pthread_mutex_lock(&i->lock);
	if (strcmp(asked, i->plan)) {
		snprintf(i->plan, sizeof(i->plan), "%s", asked);
		i->calls = 0;
	}
	if (!strncmp(i->plan, name, n) && sscanf(i->plan + n, ":%d:%d", &k, &code) == 2 &&
	    ++i->calls == k)
		failure = code;
	pthread_mutex_unlock(&i->lock);
	return failure;
}

void abort_illegal(const char *who, const char *format, va_list ap)
{
	fprintf(stderr, "%s: ILLEGAL: ", who);
	vfprintf(stderr, format, ap);
	fprintf(stderr, "\n");
	abort();
}
