/*
 * Replaces a file atomically, or makes it.
 *
 * In: a path and bytes. Out: the path names a file with all of the bytes, on the disk; or, after
 * an error, the file that it named before.
 *
 * The new file has no name while it is written (open(2), O_TMPFILE), so a killed program leaves
 * nothing behind. A file system without O_TMPFILE needs a temporary name next to the target, and
 * so does every replacement for the moment between link and rename. Signals that would end the
 * program are blocked meanwhile and checked between blocks. The file is synced before the rename,
 * its directory after it. O(bytes).
 */
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)4 << 20) /* bytes between two checks for signals */

struct replacement {
	int dir, fd;	  /* the directory, the new file */
	const char *name; /* the target, in the directory */
	bool named;	  /* temp exists */
	char temp[32];
	sigset_t hold; /* blocked signals */
};

/* ---- writing ----------------------------------------------------------------------- */

static bool interrupted(const struct replacement *r)
{
	sigset_t pending, both;

	sigpending(&pending);
	return !sigandset(&both, &pending, &r->hold) && !sigisemptyset(&both);
}

static int write_blocks(struct replacement *r, const char *data, size_t len)
{
	while (len) {
		size_t n = len < BLOCK ? len : BLOCK;
		int error = interrupted(r) ? EINTR : file_put(r->fd, data, n);

		if (error)
			return error;
		data += n;
		len -= n;
	}
	return 0;
}

/* Some file systems cannot sync, and a directory without read permission cannot be synced. */
static int sync_fd(int fd)
{
	return !fsync(fd) || errno == EINVAL || errno == ENOTSUP || errno == EBADF ? 0 : errno;
}

/* ---- names ------------------------------------------------------------------------- */

static void new_name(struct replacement *r)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)getpid();
	snprintf(r->temp, sizeof(r->temp), FILE_TEMP "%016" PRIx64, random);
}

enum { TRIES = 100 };

/* Creates the new file, without a name if possible. */
static int create(struct replacement *r)
{
	/* A file without a name is linked through its name in /proc. */
	if (!access("/proc/self/fd", X_OK)) {
		r->fd = openat(r->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
		if (r->fd >= 0)
			return 0;
	}
	for (int i = 0; i < TRIES; i++) {
		new_name(r);
		r->fd = openat(r->dir, r->temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
		r->named = r->fd >= 0;
		if (r->named || errno != EEXIST)
			break;
	}
	return r->named ? 0 : errno;
}

static int link_as(const struct replacement *r, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->fd);
	return linkat(AT_FDCWD, path, r->dir, name, AT_SYMLINK_FOLLOW) ? errno : 0;
}

/* Gives the new file its name. link(2) makes a name, but only rename(2) replaces one. */
static int publish(struct replacement *r)
{
	int error = r->named ? EEXIST : link_as(r, r->name);

	for (int i = 0; i < TRIES && error == EEXIST && !r->named; i++) {
		new_name(r);
		error = link_as(r, r->temp);
		r->named = !error;
	}
	if (!r->named)
		return error;
	if (renameat(r->dir, r->temp, r->dir, r->name))
		return errno;
	r->named = false;
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------- */

/* The mode of the existing file, else `mode`. A file that may not be written is not replaced. */
static int final_mode(const struct replacement *r, unsigned mode, mode_t *result)
{
	struct stat st;
	mode_t mask;

	if (fstatat(r->dir, r->name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			return errno;
		mask = umask(0);
		umask(mask);
		*result = (mode_t)mode & ~mask;
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return EEXIST;
	*result = st.st_mode & 0777;
	return faccessat(r->dir, r->name, W_OK, AT_EACCESS) ? errno : 0;
}

static int replace(struct replacement *r, const void *data, size_t len, unsigned mode)
{
	mode_t final = 0;
	int error = final_mode(r, mode, &final);

	if (!error)
		error = create(r);
	if (error)
		return error;
	error = write_blocks(r, data, len);
	if (!error && fchmod(r->fd, final))
		error = errno;
	if (!error)
		error = sync_fd(r->fd);
	if (!error && interrupted(r))
		error = EINTR;
	if (!error)
		error = publish(r);
	if (r->named)
		unlinkat(r->dir, r->temp, 0);
	if (close(r->fd) && !error)
		error = errno;
	return error ? error : sync_fd(r->dir);
}

sigset_t file_ending_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	return set;
}

int file_replace_in(int dir, const char *name, const void *data, size_t len, unsigned mode)
{
	struct replacement r = { .dir = dir, .name = name, .hold = file_ending_signals() };
	sigset_t before;
	int error;

	sigprocmask(SIG_BLOCK, &r.hold, &before);
	error = replace(&r, data, len, mode);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

int file_replace(const char *path, const void *data, size_t len, unsigned mode)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	char dir[PATH_MAX] = ".";
	int in, error;

	if (n >= sizeof(dir))
		return ENAMETOOLONG;
	if (n)
		memcpy(dir, path, n);
	dir[n ? n : 1] = '\0';
	in = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in < 0 && errno == EACCES)
		in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (in < 0)
		return errno;
	error = file_replace_in(in, path + n, data, len, mode);
	close(in);
	return error;
}
