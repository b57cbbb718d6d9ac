/*
 * Opening, reading and writing files. See file.h.
 *
 * Opening a FIFO blocks until its other end is open, and opening a device may have side effects.
 * So the kind of file is checked before opening, and once more on the open descriptor. O(bytes).
 */
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE ((size_t)16 << 20) /* from this size, check that the machine has the memory */

static const char *kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISSOCK(mode))
		return "a socket";
	if (S_ISLNK(mode))
		return "a link";
	return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

static bool regular(const struct stat *st, char *why, size_t why_size)
{
	if (S_ISREG(st->st_mode))
		return true;
	snprintf(why, why_size, "is %s, not a regular file", kind_of(st->st_mode));
	return false;
}

/* The meaning of an errno for this path. */
static void explain(int dir, const char *path, int e, char *why, size_t why_size)
{
	char target[512];
	ssize_t n = e == ENOENT ? readlinkat(dir, path, target, sizeof(target) - 1) : -1;

	if (n < 0) {
		snprintf(why, why_size, "cannot be read: %s", strerror(e));
		return;
	}
	target[n] = '\0';
	snprintf(why, why_size, "is a link to %s, which does not exist", target);
}

int file_open(int dir, const char *path, int flags, uint64_t *size, char *why, size_t why_size)
{
	struct stat st;
	int fd;

	if (fstatat(dir, path, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0)) {
		explain(dir, path, errno, why, why_size);
		return -1;
	}
	if (!regular(&st, why, why_size))
		return -1;
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
	if (fd < 0 || fstat(fd, &st)) {
		explain(dir, path, errno, why, why_size);
	} else if (regular(&st, why, why_size)) {
		*size = (uint64_t)st.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

bool file_regular(const char *path, char *why, size_t why_size)
{
	struct stat st;

	return stat(path, &st) || regular(&st, why, why_size);
}

bool file_read(int fd, uint64_t at, void *data, size_t n)
{
	char *p = data;

	errno = 0;
	while (n) {
		ssize_t k = pread(fd, p, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

int file_put(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EAGAIN) { /* another process made our pipe non-blocking */
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			poll(&wait, 1, -1);
		} else if (k < 0 && errno != EINTR) {
			return errno;
		}
		p += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
	return 0;
}

/* Whether that much memory is free. Linux grants more, and then kills processes when pages are
 * touched. */
static bool available(size_t bytes)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && !kib && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu", &kib) != 1)
			kib = 0;
	if (f)
		fclose(f);
	return !kib || bytes / 1024 < kib;
}

/* posix_fallocate starts over after a signal; under a periodic timer it might never finish. So
 * signals are blocked. */
int file_reserve(int fd, size_t at, size_t bytes)
{
	sigset_t all, before;
	struct stat now;
	int e;

	if (fstat(fd, &now))
		return errno;
	if (bytes > LARGE && at + bytes > (size_t)now.st_size &&
	    !available(at + bytes - (size_t)now.st_size))
		return ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	do
		e = posix_fallocate(fd, (off_t)at, (off_t)bytes);
	while (e == EINTR);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e;
}
