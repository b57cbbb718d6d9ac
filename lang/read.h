/*
 * Source files: their bytes, or why there are none.
 */
#ifndef CCS_LANG_READ_H
#define CCS_LANG_READ_H

#include "lang/source.h"

/* The largest file that is read: far more than a person or a generator writes. */
#define MAX_FILE_MIB 256
#define MAX_FILE ((size_t)MAX_FILE_MIB * 1024 * 1024)

struct text {
	char *p; /* n bytes and two NULs, in the arena */
	size_t n, cap;
	bool is_file; /* a regular file: */
	struct file_stamp file;
};

struct unread {
	const char *why;  /* behind "cannot read FILE: "; NULL: it was read */
	const char *help; /* what to do, or NULL */
	bool absent;	  /* there is no such file, so it may be looked for elsewhere */
};

/** Reads a regular file; of devices /dev/null, too. What might never end is refused
 *  without waiting for it. */
struct unread read_file(struct arena *a, const char *path, struct text *t);

/** Whether there is a regular file. */
bool read_exists(const char *path);

/** Reads the standard input to its end, whatever it is. */
struct unread read_stdin(struct arena *a, struct text *t);

#endif
