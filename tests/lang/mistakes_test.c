/*
 * What ccc says to those who write as in another language. In a directory, NAME.ccs has
 * one such mistake, and NAME.txt the whole message, renewed by --bless (make bless).
 *
 *     mistakes_test [--bless] DIRECTORY
 *
 * Each file must give exit status 1 for N = 4, or else without -n, and one error, and the message
 * must name a cure, unless the error is one of values. A fix is taken at its word: the text with it
 * is compiled again, and must get further; NAME.txt says how far. Behind that it has what a check
 * without -n prints, where that differs.
 */
#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 16, FEWEST = 50 };

struct answer {
	json_t *first; /* the first error */
	int errors, status;
};

static const char *ccc(void)
{
	return getenv("CCC") ? getenv("CCC") : "build/bin/ccc";
}

/* Runs ccc on a file ("-": on `input`); its words are in `text`. The exit status. */
static int run(const char *file, const char *input, const char *options, char *text)
{
	char command[1024];
	size_t n;
	FILE *in;
	int status;

	snprintf(command, sizeof(command), "%s check %s -I schedules %s 2>&1 <%s", ccc(), file,
		 options, input ? input : "/dev/null");
	in = popen(command, "r");
	if (!in)
		return -1;
	n = fread(text, 1, SIZE - 1, in);
	text[n] = 0;
	status = pclose(in);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct answer ask(const char *file, const char *input, bool four)
{
	static char text[SIZE];
	const char *options = "-n 4 --diagnostics-format=json";
	struct answer a = { .status = run(file, input, options + (four ? 0 : 5), text) };

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		json_t *o = json_loads(line, 0, NULL);
		const char *severity = json_string_value(json_object_get(o, "severity"));

		if (severity && !strcmp(severity, "error") && !a.errors++)
			a.first = json_incref(o);
		json_decref(o);
	}
	return a;
}

static const char *string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static long long number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* Whether it is an error of the text: then nothing else follows from it. Of values, both ends of a
 * message may be wrong. */
static bool is_text(const json_t *o)
{
	const char *code = string(o, "code");

	return !strncmp(code, "E01", 3) || !strncmp(code, "E02", 3);
}

/* Errors of values say what the values are; all others must say what to write. */
static bool names_cure(const json_t *o)
{
	const char *code = string(o, "code"), *message = string(o, "message");

	return (strncmp(code, "E01", 3) && strcmp(code, "E0201")) ||
	       json_array_size(json_object_get(o, "help")) || json_object_get(o, "fix") ||
	       json_array_size(json_object_get(o, "notes")) || strstr(message, "expected `") ||
	       strstr(message, "did you mean");
}

/* The byte of a place, from 1, in a text. */
static const char *place(const char *text, long long line, long long column)
{
	while (--line > 0)
		text = strchr(text, '\n') + 1;
	return text + column - 1;
}

/* The file with the fix in it, at `path`. */
static bool apply(const char *file, const json_t *fix, const char *path)
{
	static char text[SIZE];
	const char *with = string(fix, "text"), *from, *to;
	FILE *in = fopen(file, "r"), *out = fopen(path, "w");
	size_t n;

	if (!in || !out)
		return false;
	n = fread(text, 1, SIZE - 1, in);
	text[n] = 0;
	fclose(in);
	from = place(text, number(fix, "line"), number(fix, "column"));
	to = place(text, number(fix, "end_line"), number(fix, "end_column"));
	fwrite(text, 1, (size_t)(from - text), out);
	fputs(with, out);
	fwrite(to, 1, n - (size_t)(to - text), out);
	return fclose(out) == 0;
}

/* What remains after the fix, in a line for NAME.txt; false: it did not help. */
static bool try_fix(const char *file, const json_t *o, bool four, char *line, size_t size)
{
	const json_t *fix = json_object_get(o, "fix");
	char path[] = "/tmp/mistakes-XXXXXX";
	struct answer a;
	bool further;
	int fd;

	*line = 0;
	if (!fix)
		return true;
	fd = mkstemp(path);
	if (fd < 0 || close(fd) || !apply(file, fix, path))
		return false;
	a = ask("-", path, four);
	unlink(path);
	snprintf(line, size, "with the fix: %s%s\n", a.errors ? string(a.first, "code") : "right",
		 a.errors > 1 ? " and more" : "");
	further = a.errors == 0 || strcmp(string(a.first, "code"), string(o, "code")) ||
		  number(a.first, "line") > number(o, "line") ||
		  number(a.first, "column") > number(o, "column");
	json_decref(a.first);
	return further;
}

static bool as_blessed(const char *path, const char *text, bool bless)
{
	static char was[SIZE];
	FILE *f = fopen(path, bless ? "w" : "r");
	size_t n;

	if (!f)
		return false;
	if (bless) {
		fputs(text, f);
		return fclose(f) == 0;
	}
	n = fread(was, 1, SIZE - 1, f);
	was[n] = 0;
	fclose(f);
	return !strcmp(was, text);
}

static bool test(const char *file, bool bless)
{
	static char text[SIZE], plain[SIZE];
	char golden[512], line[128];
	struct answer a = ask(file, NULL, true);
	bool four = a.errors > 0, cure, fixed, one, same;

	if (!four)
		a = ask(file, NULL, false);
	cure = a.first && names_cure(a.first);
	fixed = a.first && try_fix(file, a.first, four, line, sizeof(line));
	one = a.errors == 1 || (a.errors && !is_text(a.first));
	run(file, NULL, four ? "-n 4" : "", text);
	run(file, NULL, "", plain);
	same = !strcmp(text, plain);
	strncat(text, fixed ? line : "", SIZE - 1 - strlen(text));
	if (!same) {
		strncat(text, "without -n:\n", SIZE - 1 - strlen(text));
		strncat(text, plain, SIZE - 1 - strlen(text));
	}
	snprintf(golden, sizeof(golden), "%.*s.txt", (int)strlen(file) - 4, file);
	same = as_blessed(golden, text, bless);
	if (!one || a.status != 1)
		printf("# %d errors, exit status %d\n", a.errors, a.status);
	if (!cure)
		printf("# no cure is named\n");
	if (!fixed)
		printf("# the fix is none: %s", line);
	if (!same)
		printf("# not as in %s:\n%s", golden, text);
	json_decref(a.first);
	printf("%s - %s\n", one && a.status == 1 && cure && fixed && same ? "ok" : "not ok", file);
	return one && a.status == 1 && cure && fixed && same;
}

static int is_schedule(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && !strcmp(d->d_name + n - 4, ".ccs") && d->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	bool bless = argc > 1 && !strcmp(argv[1], "--bless");
	const char *folder = argv[argc - 1];
	struct dirent **v;
	int n = scandir(folder, &v, is_schedule, alphasort), failed = 0;

	if (n < FEWEST) {
		printf("not ok - %s has %d files\n", folder, n);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", folder, v[i]->d_name);
		failed += !test(path, bless);
		free(v[i]);
	}
	free(v);
	return failed != 0;
}
