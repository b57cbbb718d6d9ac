/*
 * Source texts and places in them.
 *
 * All texts of a compilation (the prelude, imports, the file itself) are one after another in one
 * space of 32-bit offsets, so a place is an offset and a span is two. Lines and columns are
 * computed only when something is printed.
 */
#ifndef CCS_LANG_BASE_SOURCE_H
#define CCS_LANG_BASE_SOURCE_H

#include "lang/base/arena.h"

struct span {
	uint32_t lo; /* offset of the first byte; 0 means "no place" */
	uint32_t hi; /* one past the last byte */
};

/* Identifies a file and its version. */
struct file_stamp {
	uint64_t dev, ino, size;
	int64_t seconds, nanoseconds; /* of its last change */
};

struct source {
	const char *name; /* for messages */
	const char *path; /* canonical, for "read once"; NULL for the prelude and stdin */
	const char *text; /* len bytes and two NULs, for flex's in-place scan */
	uint32_t len;
	uint32_t base;	 /* offset of text[0]; the first source starts at 1 */
	uint32_t *lines; /* offsets (from base) of line starts, made on demand */
	uint32_t nlines;
	bool is_file; /* a regular file was read, and `stamp` is set */
	struct file_stamp file;
	bool prelude;
	bool installed; /* of the installed library */
};

struct sources {
	struct arena *arena;
	struct source **v;
	uint32_t n, cap;
};

struct place {
	const struct source *source; /* NULL if the span has no place */
	uint32_t line, column;	     /* from 1; columns count bytes */
};

/** Adds a text (copied). NULL if the space of offsets (4 GiB) is full. */
struct source *source_add(struct sources *s, const char *name, const char *text, size_t len);

/** source_add without the copy: a text with these fields, and with its bytes in the arena. */
struct source *source_adopt(struct sources *s, struct source fields);

/** The text that contains an offset, or NULL. O(log texts). */
struct source *source_at(const struct sources *s, uint32_t offset);

/** The text that was read from that file, or NULL. O(texts). */
struct source *source_of_file(const struct sources *s, uint64_t dev, uint64_t ino);

/** File, line and column of an offset. O(log lines). */
struct place source_place(struct sources *s, uint32_t offset);

/** The text of a line from source_place(), without its line end; its length in *len. */
const char *source_line(const struct source *s, uint32_t line, uint32_t *len);

/* ---- files (input.c) ------------------------------------------------------------ */

/* The largest file that is read. */
#define MAX_FILE_MIB 256
#define MAX_FILE ((size_t)MAX_FILE_MIB * 1024 * 1024)

/* Why a file cannot be read. */
struct unread {
	const char *why;  /* the text after "cannot read FILE: "; NULL: it was read */
	const char *help; /* the cure, or NULL */
	bool absent;	  /* there is no such file, so other directories may be searched */
};

/** Reads a regular file, or /dev/null, into the text and the stamp of `src`. Refuses other kinds of
 *  files, which might block or never end. */
struct unread read_file(struct arena *a, const char *path, struct source *src);

/** Whether there is a regular file. */
bool read_exists(const char *path);

/** Reads the standard input, of any kind, to its end. */
struct unread read_stdin(struct arena *a, struct source *src);

#endif
