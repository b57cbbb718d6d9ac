/*
 * Source files: their bytes, or why they cannot be read.
 *
 * In: a path, of any kind of file. Out: the bytes of a regular file, at most MAX_FILE and no more
 * than its size when it was opened, so that reading ends even if another process keeps writing.
 * Other kinds of files are refused before they are opened, since opening may block or have side
 * effects, and checked again after opening. O(bytes).
 */
#include "lang/base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STR_(x) #x
#define STR(x) STR_(x)

static struct unread no(const char *why)
{
	return (struct unread){ .why = why };
}

static struct unread failed(int error)
{
	if (error == EFBIG)
		return no("it has more than " STR(MAX_FILE_MIB) " MiB, the most that ccc reads");
	if (error == EISDIR)
		return no("it is a directory");
	return (struct unread){ .why = strerror(error),
				.absent = error == ENOENT || error == ENOTDIR };
}

static void stamp(struct source *src, const struct stat *st)
{
	src->is_file = true;
	src->file = (struct file_stamp){
		.dev = (uint64_t)st->st_dev,
		.ino = (uint64_t)st->st_ino,
		.size = (uint64_t)st->st_size,
		.seconds = (int64_t)st->st_mtim.tv_sec,
		.nanoseconds = (int64_t)st->st_mtim.tv_nsec,
	};
}

/* Reads to the end, or to `most` + 1 bytes, and appends two NULs. */
static int read_fd(struct arena *a, int fd, size_t guess, size_t most, struct source *src)
{
	size_t cap = guess + 3, n = 0;
	char *p = arena_grow(a, NULL, 0, cap);

	while (n <= most) {
		ssize_t got;

		if (cap - n < 3) {
			p = arena_grow(a, p, cap, 2 * cap);
			cap *= 2;
		}
		got = read(fd, p + n, cap - n - 2);
		if (got < 0 && errno == EAGAIN && fd == STDIN_FILENO) {
			/* another process made the shared pipe non-blocking */
			struct pollfd wait = { .fd = fd, .events = POLLIN };

			poll(&wait, 1, -1);
		} else if (got < 0 && errno != EINTR) {
			return errno;
		}
		if (got == 0)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	p[n] = p[n + 1] = '\0';
	src->text = p;
	src->len = (uint32_t)n;
	return 0;
}

/* read_fd, then closes the file, even if memory runs out. */
static int read_and_close(struct arena *a, int fd, size_t guess, size_t most, struct source *src)
{
	jmp_buf *outer = a->full, here;
	int error;

	if (setjmp(here)) {
		close(fd);
		a->full = outer;
		arena_fail(a);
	}
	a->full = &here;
	error = read_fd(a, fd, guess, most, src);
	a->full = outer;
	close(fd);
	return error;
}

/* ---- files that are not regular ----------------------------------------------------- */

static bool is_null(const struct stat *st)
{
	struct stat null;

	return S_ISCHR(st->st_mode) && !stat("/dev/null", &null) && null.st_rdev == st->st_rdev;
}

static struct unread refuse(struct arena *a, const char *path, const struct stat *st)
{
	const char *what = "a device";

	if (S_ISDIR(st->st_mode))
		return failed(EISDIR);
	if (S_ISSOCK(st->st_mode))
		return no("it is a socket");
	if (S_ISFIFO(st->st_mode))
		what = "a FIFO";
	else if (S_ISBLK(st->st_mode))
		what = "a block device";
	return (struct unread){
		.why = arena_printf(a, "it is %s, not a file", what),
		.help = arena_printf(
			a, "`ccc - < %s` reads it as the standard input, up to its end", path),
	};
}

/* The reason why stat failed; the path may be a dangling link. */
static struct unread not_there(struct arena *a, const char *path, int error)
{
	char to[PATH_MAX];
	ssize_t n = error == ENOENT ? readlink(path, to, sizeof(to)) : -1;

	if (n <= 0)
		return failed(error);
	return no(arena_printf(a, "it is a link to '%.*s', which does not exist", (int)n, to));
}

/* ---- the two entries ------------------------------------------------------------------ */

struct unread read_file(struct arena *a, const char *path, struct source *src)
{
	struct stat st;
	size_t size, most;
	int fd, error;

	if (stat(path, &st))
		return not_there(a, path, errno);
	if (is_null(&st))
		st.st_size = 0;
	else if (!S_ISREG(st.st_mode))
		return refuse(a, path, &st);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return failed(errno);
	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !is_null(&st))) {
		close(fd);
		return no("it is being replaced; try again");
	}
	if (S_ISREG(st.st_mode))
		stamp(src, &st);
	size = src->is_file && st.st_size > 0 ? (size_t)st.st_size : 0;
	if (size > MAX_FILE) {
		close(fd);
		return failed(EFBIG);
	}
	/* Files in /proc have size 0, and contents. */
	most = size ? size : MAX_FILE;
	error = read_and_close(a, fd, size ? size : 4096, most, src);
	if (error)
		return failed(error);
	if (src->len > most && !size)
		return failed(EFBIG);
	return size && src->len != size ? no("it is being written; try again") : no(NULL);
}

bool read_exists(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

struct unread read_stdin(struct arena *a, struct source *src)
{
	struct stat st;
	int error;

	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode))
		stamp(src, &st);
	error = read_fd(a, STDIN_FILENO, 4096, MAX_FILE, src);
	if (!error && src->len > MAX_FILE)
		error = EFBIG;
	return error ? failed(error) : no(NULL);
}
