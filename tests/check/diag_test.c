/*
 * Runs ccc on every file of the folders that it is given, schedules and MSCCL XML, and compares what it says with what
 * the file expects. An expectation is a comment, on any line of the file:
 *
 *     //! E0304 9:5              code, line and column of an error
 *     //! W0201 9:5              or a warning
 *     //! E0304 9:5 min_slots=2  and its least slots (none: no number cures it)
 *     //! E0304 9:5 rank=0
 *     //! options: -n 4 --slots 0
 *     <!-- //! E0402 6:7 -->     the same in XML
 *
 * A file fails on an error or warning that is missing, and on one that is not
 * expected. A file without expectations must be accepted without a word.
 */
#include <glob.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MOST = 64, TEXT = 128 };

struct expectation {
	char text[TEXT]; /* "E0304 9:5" */
	char more[TEXT]; /* " min_slots=2" or "" */
	bool found;
};

struct file {
	struct expectation v[MOST];
	int n;
	bool wrong; /* an error was reported: exit status 1 */
	char options[256];
};

static bool read_file(const char *path, struct file *f)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *in = fopen(path, "r");

	memset(f, 0, sizeof(*f));
	if (!in)
		return false;
	while (getline(&line, &cap, in) > 0) {
		char *at = strstr(line, "//! "), code[16], place[32];
		int used = 0;

		if (!at)
			continue;
		at[strcspn(at, "\n")] = 0;
		if (strstr(at, " -->"))
			*strstr(at, " -->") = 0;
		if (!strncmp(at + 4, "options: ", 9)) {
			snprintf(f->options, sizeof(f->options), "%s", at + 13);
		} else if (sscanf(at + 4, "%15s %31s%n", code, place, &used) == 2 && f->n < MOST) {
			snprintf(f->v[f->n].text, TEXT, "%s %s", code, place);
			snprintf(f->v[f->n++].more, TEXT, "%s", at + 4 + used);
		}
	}
	free(line);
	fclose(in);
	return true;
}

/* Whether the object has what stands behind the place: " min_slots=2 rank=0". */
static bool has_more(json_t *o, const char *more)
{
	char key[32], value[32];
	int used;

	for (; sscanf(more, " %31[a-z_]=%31s%n", key, value, &used) == 2; more += used) {
		json_t *v = json_object_get(o, key);

		if (!strcmp(value, "none")
			    ? !json_is_null(v)
			    : !json_is_integer(v) || json_integer_value(v) != atoll(value))
			return false;
	}
	return true;
}

/* One line of ccc's answer: marks what it meets; false: not expected. */
static bool meet(struct file *f, const char *line, char *said, size_t size)
{
	json_t *o = json_loads(line, 0, NULL);
	const char *severity = json_string_value(json_object_get(o, "severity"));
	const char *code = json_string_value(json_object_get(o, "code"));
	const char *message = json_string_value(json_object_get(o, "message"));
	bool ok = false;

	if (!o) {
		snprintf(said, size, "not JSON: %s", line);
		return false;
	}
	if (severity && (!strcmp(severity, "report") || !strcmp(severity, "note"))) {
		json_decref(o);
		return true;
	}
	f->wrong |= severity && !strcmp(severity, "error");
	snprintf(said, size, "%s %lld:%lld",
		 code	    ? code
		 : severity ? severity
			    : "?",
		 (long long)json_integer_value(json_object_get(o, "line")),
		 (long long)json_integer_value(json_object_get(o, "column")));
	for (int i = 0; i < f->n && !ok; i++)
		if (!f->v[i].found && !strcmp(f->v[i].text, said) && has_more(o, f->v[i].more))
			ok = f->v[i].found = true;
	if (!ok)
		snprintf(said + strlen(said), size - strlen(said), ": %s", message ? message : "");
	json_decref(o);
	return ok;
}

static bool test(const char *ccc, const char *path)
{
	char command[1024], said[512], *line = NULL;
	struct file f;
	size_t cap = 0;
	bool ok = true;
	int status, want;
	FILE *in;

	if (!read_file(path, &f)) {
		printf("not ok - %s: cannot be read\n", path);
		return false;
	}
	snprintf(command, sizeof(command),
		 "%s check %s %s --max-errors=0 --diagnostics-format=json "
		 "2>&1 >/dev/null",
		 ccc, path, f.options);
	in = popen(command, "r");
	if (!in)
		return false;
	while (getline(&line, &cap, in) > 0)
		if (!meet(&f, line, said, sizeof(said))) {
			printf("# %s: not expected: %s\n", path, said);
			ok = false;
		}
	free(line);
	status = pclose(in);
	want = f.wrong;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != want) {
		printf("# %s: exit status %d, not %d\n", path,
		       WIFEXITED(status) ? WEXITSTATUS(status) : -1, want);
		ok = false;
	}
	for (int i = 0; i < f.n; i++)
		if (!f.v[i].found) {
			printf("# %s: missing: %s%s\n", path, f.v[i].text, f.v[i].more);
			ok = false;
		}
	printf("%s - %s\n", ok ? "ok" : "not ok", path);
	return ok;
}

int main(int argc, char **argv)
{
	const char *ccc = getenv("CCC") ? getenv("CCC") : "build/bin/ccc";
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		char schedules[512], xml[512];
		glob_t g;

		/* _x.ccs: for imports */
		snprintf(schedules, sizeof(schedules), "%s/[!_]*.ccs", argv[i]);
		snprintf(xml, sizeof(xml), "%s/*.xml", argv[i]);
		glob(schedules, 0, NULL, &g);
		glob(xml, GLOB_APPEND, NULL, &g);
		if (!g.gl_pathc) {
			fprintf(stderr, "%s: no schedules\n", argv[i]);
			return 2;
		}
		for (size_t k = 0; k < g.gl_pathc; k++)
			failed += !test(ccc, g.gl_pathv[k]);
		globfree(&g);
	}
	return failed != 0;
}
