/*
 * See command_lines.h. Products go to /dev/null, diagnostics to a file that is read. The text and that
 * file are left in /tmp/ccs-lines-* where something is wrong, or a sanitizer ends the process.
 */
#include "tests/support/command_lines.h"

#include "runtime/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The command itself, as a function. */
int ccc_main(int argc, char **argv);
#define main ccc_main
#include "compiler/ccc.c"
#undef main

/* What is behind ccc, before the file. Linking is another program's: --emit=so is not among them. */
static const char *const lines[] = {
	"check -n 3 --slots 2",
	"check -n 3 --slots 0 --all-ranks -Werror",
	"check -n 3 --require same-bits=ranks --require same-bits=counts",
	"check --certificate /dev/null",
	"explain -n 3 --slots 2",
	"explain",
	"table -n 2,3 --format=json",
	"table -n 3 --format=csv -w",
	"simulate -n 3 --slots 2 --on nodes(3) -b 1K",
	"simulate --format=json",
	"simulate -n 3 --on nodes(3) -b 1K --format=html",
	"simulate --on nodes(2) -b 1K --format=trace",
	"simulate -n 2,3 --on nodes(1) -b 1K --format=tuning",
	"bound -n 3 --on nodes(3) --format=json",
	"fmt",
	"fmt --check",
	"--emit=ast",
	"--emit=program -n 3",
	"--emit=plan -n 3 --slots 2",
	"--emit=json -n 3 --protocols=4K:ll/2,simple/3",
	"--emit=header -n 2,3",
	"--emit=cuda -n 3 -g",
	"--emit=ptx -n 3",
	"--emit=msccl-xml -n 3",
	"--emit=msccl-xml -n 3 --protocols=ll/2",
};

enum { MOST_WORDS = 16, MOST_SAID = 1 << 20 };

/* One line; diagnostics in `said`. Returns the exit status. */
static int run_line(const char *line, const char *path, int errors, char *said)
{
	char words[128];
	char *argv[MOST_WORDS] = { "ccc" }, *save = NULL;
	int argc = 1, status, kept = dup(STDERR_FILENO);
	ssize_t n;

	snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc++] = "-o";
	argv[argc++] = "/dev/null";
	argv[argc++] = "--memory=1024";
	argv[argc++] = "--diagnostics-format=json";
	argv[argc++] = (char *)(uintptr_t)path;
	fflush(stderr);
	if (ftruncate(errors, 0) || lseek(errors, 0, SEEK_SET) || dup2(errors, STDERR_FILENO) < 0)
		abort();
	status = ccc_main(argc, argv);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	n = pread(errors, said, MOST_SAID - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	return status;
}

static const char *why_wrong(int status, const char *said)
{
	if (status != 0 && status != 1 && status != 2 && status != 4)
		return "its exit status";
	if (strstr(said, "\"code\":\"E0704\""))
		return "a bug of the compiler";
	return strstr(said, "\"severity\":\"error\",\"code\":null") ? "an error without a code"
								    : NULL;
}

static int create(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		abort();
	return fd;
}

bool command_lines_hold(const char *ending, const void *text, size_t size, size_t by, int *right)
{
	static char said[MOST_SAID];
	const size_t n = sizeof(lines) / sizeof(*lines);
	char dir[] = "/tmp/ccs-lines-XXXXXX", path[64], errors_path[64];
	bool ok = true;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/text%s", dir, ending);
	snprintf(errors_path, sizeof(errors_path), "%s/said", dir);
	int fd = create(path), errors = create(errors_path);
	if (write(fd, text, size) != (ssize_t)size)
		abort();
	close(fd);
	by = by ? by : n;
	for (size_t i = hash_fnv1a(HASH_START, text, size) % by; i < n && ok; i += by) {
		int status = run_line(lines[i], path, errors, said);
		const char *why = why_wrong(status, said);

		*right += status == 0;
		ok = !why;
		if (why)
			printf("# ccc %s: %s (status %d)\n# %s\n# it is left in %s\n", lines[i],
			       why, status, said, path);
	}
	close(errors);
	if (ok && (unlink(path) || unlink(errors_path) || rmdir(dir)))
		abort();
	return ok;
}
