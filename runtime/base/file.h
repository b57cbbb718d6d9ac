/*
 * Files that a user has named: opened if they are regular ones, without ever waiting.
 *
 * It knows nothing of the rest of the runtime, so that ccc uses it too.
 */
#ifndef CCS_RUNTIME_BASE_FILE_H
#define CCS_RUNTIME_BASE_FILE_H

#include <stdbool.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/** Opens the file for reading, below the directory `dir` (or AT_FDCWD); `flags`: 0 or
 *  O_NOFOLLOW. *size: its current bytes. -1: `why` has the kind of file ("is a FIFO, not a
 *  regular file"), or the reason. */
int file_open(int dir, const char *path, int flags, uint64_t *size, char *why, size_t why_size);

/** Whether a library of that path can be opened without blocking. False: `why` has the kind of
 *  file. True for a path that does not exist: the loader reports that. */
bool file_regular(const char *path, char *why, size_t why_size);

/** Reads just these bytes. False: fewer are there, or errno says why. */
bool file_read(int fd, uint64_t at, void *data, size_t n);

/** Writes all of it, to a file or a pipe, whatever interrupts it. 0 or an errno. */
int file_put(int fd, const void *data, size_t n);

/** Allocates that many bytes of a file of memory, from `at`, despite interrupts. 0 or an errno. */
int file_reserve(int fd, size_t at, size_t bytes);

/* ---- replace.c ----------------------------------------------------------------------- */

/** Makes or replaces a regular file: whole or not at all, also when it is killed or the
 *  machine stops. `path` is no link; `mode` is a new file's, less umask's bits: one that there is
 *  keeps its own. Returns 0 or an errno; EINTR: a signal is pending that ends the program. */
int file_replace(const char *path, const void *data, size_t len, unsigned mode);

/** The signals that end the program from outside, except those that were ignored at its start. */
sigset_t file_ending_signals(void);

#endif
