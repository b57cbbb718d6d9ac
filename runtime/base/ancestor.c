/*
 * Walks from parent to parent. See ancestor.h.
 *
 * In: /proc/PID/stat (proc(5)), "PID (PROGRAM) STATE PARENT ...", with the start time as word 22.
 * PROGRAM may contain blanks and brackets, so STATE is searched from the last bracket.
 */
#include "runtime/base/ancestor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST 64 /* ancestors that are looked at */
#define PROGRAM 16

struct process {
	char program[PROGRAM];
	int parent;
	unsigned long long started;
};

static bool read_process(int pid, struct process *out)
{
	char path[40], line[1024];
	const char *open, *close;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close)
		return false;
	snprintf(out->program, PROGRAM, "%.*s", (int)(close - open - 1), open + 1);
	return sscanf(close + 1,
		      " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		      "%llu",
		      &out->parent, &out->started) == 2;
}

bool ancestor_find(const char *program, struct ancestor *out)
{
	int pid = (int)getppid();

	for (int i = 0; i < MOST && pid > 0; i++) {
		struct process p;

		if (!read_process(pid, &p))
			return false;
		*out = (struct ancestor){ pid, p.started };
		if (!strcmp(p.program, program))
			return true;
		pid = p.parent;
	}
	return false;
}
