/*
 * Products are collected in memory, and written only after the compilation has succeeded: whole or
 * not at all. An existing file survives a failure.
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
	void *object; /* from malloc: the product, in place of the bytes of `stream`; or NULL */
	size_t object_len;
};

/** False, and errno: no memory. */
bool output_open(struct output *o);

/** Returns the report in memory from malloc; output_close will not write it. NULL: no memory. */
char *output_take_report(struct output *o);

/** Writes the product to `path` (NULL or "-": stdout) if `keep` is set, and frees it. A new file
 *  gets `mode`, less the umask; an existing one keeps its mode. Returns as output_check. */
int output_close(struct output *o, bool keep, const char *path, unsigned mode);

/** Whether the product may be written to `path` (as for output_close): 0, an errno, or one of the
 *  reasons below. `sources`: files that must not be overwritten, or NULL. */
int output_check(const char *path, const struct sources *sources);

enum {
	OUTPUT_SOURCE = -1,    /* a source of this compilation */
	OUTPUT_NO_READER = -2, /* a FIFO without a reader */
	OUTPUT_DEVICE = -3,    /* a block device */
	OUTPUT_SOCKET = -4,
	OUTPUT_CHANGED = -5 /* it has changed since it was read */
};

/** The text for such a value, after "cannot write FILE: ". */
const char *output_reason(int error);

/** "stdout", or the path. */
const char *output_name(const char *path);

#endif
