/*
 * Products in memory, then in a file or on stdout. See output.h.
 */
#include "compiler/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_open(struct output *o)
{
	memset(o, 0, sizeof *o);
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

bool output_copy(struct output *o, const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	char block[4096];
	size_t n;
	while ((n = fread(block, 1, sizeof block, f)) > 0)
		fwrite(block, 1, n, o->stream);
	bool whole = !ferror(f);
	fclose(f);
	return whole;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t k = write(fd, p, n);
		if (k < 0) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

/* Where a rename would replace a device or a pipe, the text is just written. */
static int write_special(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");
	if (!f)
		return errno;
	int error = fwrite(data, 1, len, f) == len ? 0 : errno;
	if (fclose(f) && !error)
		error = errno;
	return error;
}

int output_replace(const char *path, const void *data, size_t len, unsigned mode)
{
	struct stat st;
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return EISDIR;
		if (!S_ISREG(st.st_mode))
			return write_special(path, data, len);
		mode = st.st_mode & 0777;
	} else {
		mode_t mask = umask(0);
		umask(mask);
		mode &= ~(unsigned)mask;
	}
	/* A link keeps pointing at the file that it names. */
	char *real = realpath(path, NULL);
	if (real)
		path = real;
	size_t n = strlen(path);
	char *temp = malloc(n + 8);
	if (!temp) {
		free(real);
		return ENOMEM;
	}
	memcpy(temp, path, n);
	memcpy(temp + n, ".XXXXXX", 8);
	int fd = mkstemp(temp), error = 0;
	if (fd < 0) {
		error = errno;
	} else {
		error = write_all(fd, data, len);
		if (!error && fchmod(fd, (mode_t)mode))
			error = errno;
		if (close(fd) && !error)
			error = errno;
		if (!error && rename(temp, path))
			error = errno;
		if (error)
			unlink(temp);
	}
	free(temp);
	free(real);
	return error;
}

int output_close(struct output *o, bool keep, const char *path)
{
	int error = 0;

	if (fclose(o->stream))
		error = errno;
	if (fclose(o->report) && !error)
		error = errno;
	if (keep && !error) {
		if (o->report_len && fwrite(o->report_text, 1, o->report_len, stderr) != o->report_len)
			error = errno;	/* a message would go the same way */
		else if (path && strcmp(path, "-"))
			error = output_replace(path, o->text, o->len, 0666);
		else if (fwrite(o->text, 1, o->len, stdout) != o->len || fflush(stdout))
			error = errno;
	}
	free(o->text);
	free(o->report_text);
	if (!error)
		return 0;
	fprintf(stderr, "ccc: cannot write %s: %s\n", path && strcmp(path, "-") ? path : "stdout",
		strerror(error));
	return 2;
}
