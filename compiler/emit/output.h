/*
 * Products are collected in memory and written once the compilation has gone
 * well: whole, or not at all, and a file that was there before survives a failure.
 */
#ifndef CCS_COMPILER_EMIT_OUTPUT_H
#define CCS_COMPILER_EMIT_OUTPUT_H

#include "lang/base/source.h"

#include <signal.h>
#include <stdio.h>

struct output {
	FILE *stream; /* to stdout, or -o */
	FILE *report; /* to stderr: the report of `ccc check` as JSON */
	char *text, *report_text;
	size_t len, report_len;
	bool report_taken;
	void *object; /* from malloc: the product, in place of what `stream` gets; or NULL */
	size_t object_len;
};

/** False, and errno: no memory. */
bool output_open(struct output *o);

/** What was written to `report`, in memory from malloc; it is not written out then. NULL:
 *  no memory. */
char *output_take_report(struct output *o);

/** Writes the product to `path` (NULL or "-": stdout) if `keep` is set, and frees it. A
 *  file gets `mode`, cut by the umask; one that is there keeps its own. Returns as
 *  output_check. */
int output_close(struct output *o, bool keep, const char *path, unsigned mode);

/** Whether `path` (as for output_close) may become the product: 0, an errno, or one of
 *  the reasons below. A file that is one of the sources may not; NULL: no sources. */
int output_check(const char *path, const struct sources *sources);

enum {
	OUTPUT_SOURCE = -1,    /* a source of this compilation */
	OUTPUT_NO_READER = -2, /* a FIFO that nobody reads */
	OUTPUT_DEVICE = -3,    /* a block device */
	OUTPUT_SOCKET = -4,
	OUTPUT_CHANGED = -5 /* it is not as it was read */
};

/** What such a value means, after "cannot write FILE: ". */
const char *output_reason(int error);

/** "stdout", or the path. */
const char *output_name(const char *path);

#endif
