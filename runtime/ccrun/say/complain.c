/*
 * Failures: lines on stderr, the exit status of a measured side, failures that are kept while
 * something else may fail, and files that cannot be written.
 */
#include "runtime/ccrun/bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Launchers end a job at the first rank that fails, so the other ranks wait until the one that
 * reports the reason has done so. */
#define TELLING_US 200000

static void say(const struct options *o, bool rank, const char *format, va_list ap)
{
	char text[CCS_TEXT];

	vsnprintf(text, sizeof(text), format, ap);
	report_error(o, text);
	if (rank)
		fprintf(stderr, "ccrun: rank %d: %s\n", o->rank, text);
	else
		fprintf(stderr, "ccrun: %s\n", text);
}

int complain(const struct options *o, int rc, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(o, o->launcher != NULL, format, ap);
	va_end(ap);
	return rc;
}

void complain_wait(const struct options *o)
{
	if (o->rank)
		usleep(TELLING_US);
}

int complain_once(const struct options *o, int rc, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (!o->rank)
		say(o, false, format, ap);
	complain_wait(o);
	va_end(ap);
	return rc;
}

static int exit_of(const struct bench *b, enum side side, ccs_status s)
{
	switch (s) {
	case CCS_ETIMEOUT: return EXIT_WRONG;
	case CCS_EINVAL:
	case CCS_EFILE:
	case CCS_ENOPLAN: return side == SIDE_BASELINE ? EXIT_LACKS : EXIT_USAGE;
	case CCS_ENOMEM:
	case CCS_EUNSUPPORTED:
	case CCS_ESYSTEM: return EXIT_LACKS;
	case CCS_EABORTED: /* another process has ended */
		if (b->o->launcher)
			return EXIT_WRONG;
		break;
	case CCS_OK: break;
	}
	return side == SIDE_BASELINE ? EXIT_LACKS : EXIT_INTERNAL;
}

int measure_fail(const struct bench *b, enum side side, ccs_status s)
{
	int rc = exit_of(b, side, s);

	if (side == SIDE_BASELINE)
		return complain(b->o, rc, "--against %s: %s", b->o->against->name, ccs_error());
	return complain(b->o, rc, "%s", ccs_error());
}

struct failure failure_keep(ccs_status s)
{
	struct failure f = { .status = s };

	if (s)
		snprintf(f.text, sizeof(f.text), "%s", ccs_error());
	return f;
}

ccs_status failure_first(const struct failure *f, ccs_status s)
{
	return f->status ? ccs_error_set(f->status, "%s", f->text) : s;
}

/* The folder of a file, which need not be there yet, as the system knows it; to be freed. */
char *file_folder(const char *file)
{
	char *own = realpath(file, NULL), *name = own ? own : strdup(file), *real, *slash;

	if (!name)
		return NULL;
	slash = strrchr(name, '/');
	if (slash)
		slash[1] = '\0';
	real = realpath(slash ? name : ".", NULL);
	free(name);
	return real;
}

ccs_status file_writable(const char *option, const char *file)
{
	char *folder = file_folder(file);
	bool is = !access(file, F_OK), other = !is && errno != ENOENT;
	ccs_status s = CCS_OK;
	struct stat st;

	if (!is && !other && !lstat(file, &st))
		s = ccs_error_set(
			CCS_EFILE,
			"%s: %s is a link to a file that is not there: make that file, or "
			"name another",
			option, file);
	else if (other || !folder || access(is ? file : folder, W_OK) ||
		 access(folder, W_OK | X_OK))
		s = ccs_error_set(CCS_EFILE, "%s: %s cannot be written: %s", option, file,
				  strerror(errno));
	free(folder);
	return s;
}
