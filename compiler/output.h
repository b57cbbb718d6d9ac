/*
 * Products are collected in memory and written once the compilation has gone
 * well: whole, or not at all, and a file that was there before survives a failure.
 */
#ifndef CCS_COMPILER_OUTPUT_H
#define CCS_COMPILER_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
	FILE *stream;	/* to stdout, or -o */
	FILE *report;	/* to stderr: the report of `ccc check` as JSON */
	char *text, *report_text;
	size_t len, report_len;
};

bool output_open(struct output *o);

/** Writes what was collected to `path` (NULL or "-": stdout) if `keep` is set,
 *  and frees it. Returns 0, or 2 after printing why it cannot be written. */
int output_close(struct output *o, bool keep, const char *path);

/** Appends a file's bytes to `stream`; false (and errno) if it cannot be read. */
bool output_copy(struct output *o, const char *path);

/** Writes a file through a temporary one beside it and a rename. `mode` as in
 *  open(2), cut by the umask. Returns 0 or an errno. */
int output_replace(const char *path, const void *data, size_t len, unsigned mode);

#endif
