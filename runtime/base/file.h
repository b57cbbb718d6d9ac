/*
 * Files that a user has named. Only regular files are opened, and opening never blocks.
 *
 * Independent of the rest of the runtime, so that ccc uses it too.
 */
#ifndef CCS_RUNTIME_BASE_FILE_H
#define CCS_RUNTIME_BASE_FILE_H

#include <stdbool.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/** Opens a regular file for reading, relative to the directory `dir` (or AT_FDCWD). `flags`: 0
 *  or O_NOFOLLOW. *size: its bytes. -1: `why` says the kind of file ("is a FIFO, not a regular
 *  file"), or the reason. */
int file_open(int dir, const char *path, int flags, uint64_t *size, char *why, size_t why_size);

/** Whether opening a library at that path would not block. False: `why` has the kind of file.
 *  True for a path that does not exist: the loader reports that. */
bool file_regular(const char *path, char *why, size_t why_size);

/** Reads exactly these bytes. False: the file is shorter, or errno has the reason. */
bool file_read(int fd, uint64_t at, void *data, size_t n);

/** Writes all bytes to a file or pipe, through interrupts. 0 or an errno. */
int file_put(int fd, const void *data, size_t n);

/** Allocates bytes [at, at + bytes) of a memory file, through interrupts. 0 or an errno. */
int file_reserve(int fd, size_t at, size_t bytes);

/* ---- replace.c ----------------------------------------------------------------------- */

/** Makes or replaces a regular file: completely or not at all, even if the process is killed or
 *  the machine stops. `path` must not be a link. A new file gets `mode` less umask; an existing
 *  file keeps its mode. Returns 0 or an errno; EINTR: a pending signal will end the program. */
int file_replace(const char *path, const void *data, size_t len, unsigned mode);
/** The same in an open directory. A program that is killed may leave a file with a name that begins
 *  with FILE_TEMP, where the file system has no files without a name. */
#define FILE_TEMP ".ccc-"
int file_replace_in(int dir, const char *name, const void *data, size_t len, unsigned mode);

/** The signals by which users and systems end a program, except those ignored when it started. */
sigset_t file_ending_signals(void);

#endif
