/*
 * Faults of the machine, and a record of what was asked of it: a library for LD_PRELOAD.
 *
 *   FAULTS_LOG=FILE   each fsync, linkat, rename and unlink of the program, a line each
 *   FAULT=tmpfile     the file system has no O_TMPFILE
 *   FAULT=fsync       fsync fails: EIO
 *   FAULT=nospace     writes to files are short, and the disk is full after 1000 bytes
 *   FAULT=memory    there is no room in files that are memory
 *   FAULT=short       each write takes one byte less than it was given, then is interrupted
 *   FAULT=stream      there is no memory for a second stream into memory
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool fault(const char *name)
{
	const char *set = getenv("FAULT");

	return set && !strcmp(set, name);
}

static void record(const char *what, const char *on)
{
	const char *path = getenv("FAULTS_LOG");
	FILE *log = path ? fopen(path, "a") : NULL;

	if (!log)
		return;
	fprintf(log, "%s %s\n", what, on);
	fclose(log);
}

static mode_t kind(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_mode & S_IFMT;
}

int fsync(int fd)
{
	if (fault("fsync")) {
		errno = EIO;
		return -1;
	}
	record("fsync", kind(fd) == S_IFDIR ? "directory" : "file");
	return (int)syscall(SYS_fsync, fd);
}

int posix_fallocate(int fd, off_t at, off_t bytes)
{
	if (fault("memory"))
		return ENOSPC;
	return syscall(SYS_fallocate, fd, 0, at, bytes) ? errno : 0;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	record("link", to);
	return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	record("rename", to);
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = (mode_t)va_arg(ap, unsigned);
	va_end(ap);
	if ((flags & O_TMPFILE) == O_TMPFILE && fault("tmpfile")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t n)
{
	static size_t written, calls;

	if (kind(fd) != S_IFREG || n < 2)
		return syscall(SYS_write, fd, data, n);
	if (fault("nospace") && written >= 1000) {
		errno = ENOSPC;
		return -1;
	}
	if (fault("nospace"))
		n = n < 600 ? n : 600;
	if (fault("short") && calls++ % 2) {
		errno = EINTR;
		return -1;
	}
	if (fault("short"))
		n--;
	written += n;
	return syscall(SYS_write, fd, data, n);
}

FILE *open_memstream(char **text, size_t *len)
{
	static int calls;
	FILE *(*real)(char **, size_t *);

	if (calls++ == 1 && fault("stream")) {
		errno = ENOMEM;
		return NULL;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "open_memstream");
	return real(text, len);
}
