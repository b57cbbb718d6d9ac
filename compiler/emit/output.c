/*
 * Writes products to a file or to stdout, see output.h.
 *
 * -o may name a regular file, or a path without a file (both written by replace.c); an open
 * descriptor by its name in /dev, which is written to as stdout is; a character device; or a FIFO
 * with a reader. Symbolic links are followed and kept, dangling ones too. An output that would
 * destroy data or block for ever is refused.
 */
#include "compiler/emit/output.h"
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- in memory ----------------------------------------------------------------------- */

bool output_open(struct output *o)
{
	memset(o, 0, sizeof(*o));
	o->stream = open_memstream(&o->text, &o->len);
	o->report = open_memstream(&o->report_text, &o->report_len);
	if (o->stream && o->report)
		return true;
	if (o->stream)
		fclose(o->stream);
	if (o->report)
		fclose(o->report);
	free(o->text);
	free(o->report_text);
	return false;
}

char *output_take_report(struct output *o)
{
	o->report_taken = true;
	return fflush(o->report) ? NULL : strdup(o->report_text);
}

/* ---- names ----------------------------------------------------------------------------- */

/* The open descriptor that the path names, or -1. */
static int descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	char *end;
	long n;

	if (!path || !strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t len = strlen(folders[i]);

		if (strncmp(path, folders[i], len) || path[len] < '0' || path[len] > '9')
			continue;
		n = strtol(path + len, &end, 10);
		return *end || n > INT_MAX ? -1 : (int)n;
	}
	return -1;
}

const char *output_name(const char *path)
{
	return path && strcmp(path, "-") ? path : "stdout";
}

/* Follows the links at the end of a path, also dangling ones. Returns 0 or an errno. */
static int follow(const char *path, char real[PATH_MAX])
{
	char link[PATH_MAX], joined[PATH_MAX];

	if (strlen(path) >= PATH_MAX)
		return ENAMETOOLONG;
	strcpy(real, path);
	for (int i = 0; i < 40; i++) {
		ssize_t n = readlink(real, link, sizeof(link) - 1);
		const char *slash = strrchr(real, '/');
		size_t keep = 0;

		if (n < 0) /* no link, or no file, or an error that open will report */
			return 0;
		link[n] = '\0';
		if (slash && link[0] != '/')
			keep = (size_t)(slash - real) + 1;
		if (keep + (size_t)n >= PATH_MAX)
			return ENAMETOOLONG;
		memcpy(joined, real, keep);
		memcpy(joined + keep, link, (size_t)n + 1);
		memcpy(real, joined, keep + (size_t)n + 1);
	}
	return ELOOP;
}

/* ---- paths that may be written ------------------------------------------------------------ */

static bool is_source(const struct sources *s, const struct stat *st)
{
	return s && source_of_file(s, (uint64_t)st->st_dev, (uint64_t)st->st_ino);
}

/* For a file that does not exist: whether its directory exists and can be written. */
static int check_new(const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	int error = follow(path, real);
	char *slash = strrchr(real, '/');

	if (error || !slash)
		return error;
	if (slash[1] == '\0')
		return EISDIR;
	slash[slash == real] = '\0';
	if (stat(real, &st))
		return errno;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	return faccessat(AT_FDCWD, real, W_OK | X_OK, AT_EACCESS) ? errno : 0;
}

int output_check(const char *path, const struct sources *sources)
{
	int fd = descriptor(path);
	struct stat st;

	if (fd >= 0)
		return !fstat(fd, &st) && S_ISREG(st.st_mode) && is_source(sources, &st)
			       ? OUTPUT_SOURCE
			       : 0;
	if (stat(path, &st))
		return errno == ENOENT ? check_new(path) : errno;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		if (is_source(sources, &st))
			return OUTPUT_SOURCE;
		return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? errno : 0;
	case S_IFCHR:
	case S_IFIFO: return 0;
	case S_IFDIR: return EISDIR;
	case S_IFSOCK: return OUTPUT_SOCKET;
	}
	return OUTPUT_DEVICE;
}

const char *output_reason(int error)
{
	switch (error) {
	case OUTPUT_SOURCE: return "it is a source of this compilation";
	case OUTPUT_NO_READER: return "it is a FIFO without a reader; start the reader first";
	case OUTPUT_DEVICE: return "it is a block device";
	case OUTPUT_SOCKET: return "it is a socket";
	case OUTPUT_CHANGED: return "it has changed meanwhile";
	case EISDIR: return "it is a directory";
	}
	return strerror(error);
}

/* ---- writing -------------------------------------------------------------------------- */

/* A character device or a FIFO. */
static int write_special(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), error;
	struct stat st;

	if (fd < 0)
		return errno == ENXIO ? OUTPUT_NO_READER : errno;
	if (fstat(fd, &st))
		error = errno;
	else if (!S_ISCHR(st.st_mode) && !S_ISFIFO(st.st_mode))
		error = EEXIST; /* its type has changed meanwhile */
	else if (fcntl(fd, F_SETFL, 0))
		error = errno;
	else
		error = file_put(fd, data, len);
	if (close(fd) && !error)
		error = errno;
	return error;
}

static int write_product(const char *path, const void *data, size_t len, unsigned mode)
{
	int fd = descriptor(path), error;
	char real[PATH_MAX];
	struct stat st;

	if (fd >= 0)
		return file_put(fd, data, len);
	if (!stat(path, &st) && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
		return write_special(path, data, len);
	error = follow(path, real);
	return error ? error : file_replace(real, data, len, mode);
}

int output_close(struct output *o, bool keep, const char *path, unsigned mode)
{
	int error = 0;

	if (fclose(o->stream))
		error = errno;
	if (fclose(o->report) && !error)
		error = errno;
	if (keep && !error && o->report_len && !o->report_taken)
		error = fflush(stderr) ? errno
				       : file_put(STDERR_FILENO, o->report_text, o->report_len);
	else if (keep && !error && !o->report_len)
		error = write_product(path, o->object ? o->object : o->text,
				      o->object ? o->object_len : o->len, mode);
	free(o->text);
	free(o->report_text);
	free(o->object);
	return error;
}
