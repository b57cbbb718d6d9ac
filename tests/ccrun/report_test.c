/*
 * Reads what ccrun --json and --csv print, with parsers that take nothing else, and
 * compares parts of it. It says what is wrong, and ends with 1 then.
 *
 * usage: report_test json FILE PATH=VALUE...    rows.0.out_of_place.wrong=0; a VALUE is JSON,
 *                                               or ~TEXT: a string with that in it; '*': it
 *                                               is there, and not null. A PATH that ends in
 *                                               '#': how many there are
 *        report_test csv FILE LINE COLUMN=VALUE...   LINE 1: the first below the names; -1:
 *                                               the last. ~TEXT and '*' as above
 *        report_test same FILE.json FILE.csv    whether both say the same of one kind of run:
 *                                               all but times, bandwidths and texts
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void wrong(const char *what, const char *want, const char *is)
{
	printf("# %s is %s, not %s\n", what, is, want);
	failures = 1;
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *load(const char *path)
{
	json_error_t e;
	json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &e);

	if (document)
		return document;
	printf("# %s:%d:%d: %s\n", path, e.line, e.column, e.text);
	exit(1);
}

/* "rows.0.count"; NULL: there is no such thing. */
static const json_t *follow(const json_t *at, const char *path)
{
	while (at && *path) {
		char key[64];
		size_t n = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key))
				       : json_object_get(at, key);
		path += n + (path[n] == '.');
	}
	return at;
}

static void check_json(const json_t *document, const char *path, const char *want)
{
	size_t n = strlen(path);
	const json_t *at;
	char *is, key[200];

	if (n && path[n - 1] == '#') {
		snprintf(key, sizeof(key), "%.*s", n > 1 ? (int)n - 2 : 0, path);
		at = follow(document, key);
		snprintf(key, sizeof(key), "%zu", json_array_size(at));
		if (strcmp(key, want))
			wrong(path, want, key);
		return;
	}
	at = follow(document, path);
	is = at ? json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	if (*want == '~'	 ? !json_is_string(at) || !strstr(json_string_value(at), want + 1)
	    : !strcmp(want, "*") ? !at || json_is_null(at)
				 : !is || strcmp(is, want))
		wrong(path, want, is ? is : "not there");
	free(is);
}

/* ---- CSV, as RFC 4180 has it ---------------------------------------------------------- */

#define MOST_FIELDS 32
#define MOST_LINES 1000

struct table {
	int nlines;
	int nfields[MOST_LINES];
	char *at[MOST_LINES][MOST_FIELDS];
};

static void bad(const char *path, int line, const char *why)
{
	printf("# %s: line %d: %s\n", path, line, why);
	exit(1);
}

/* A field, in place: its end, with what stood behind it in *stop. */
static char *read_field(char *p, char **value, char *stop, const char *path, int line)
{
	char *to = p;

	*value = to;
	if (*p != '"') {
		p += strcspn(p, ",\n");
		if (memchr(*value, '"', (size_t)(p - *value)) ||
		    memchr(*value, '\r', (size_t)(p - *value)))
			bad(path, line, "a quote in a field without quotes");
		*stop = *p;
		*p = '\0';
		return p;
	}
	for (p++; *p && (*p != '"' || p[1] == '"'); p++) {
		if (*p == '"')
			p++;
		*to++ = *p;
	}
	if (*p != '"' || !strchr(",\n", p[1]))
		bad(path, line, "a field whose quotes do not end");
	p++;
	*stop = *p;
	*to = '\0';
	return p;
}

static struct table *read_table(const char *path)
{
	struct table *t = calloc(1, sizeof(*t));
	char *text = calloc(1, 1 << 20), *p = text;
	FILE *f = fopen(path, "r");

	if (!t || !text || !f || !fread(text, 1, (1 << 20) - 1, f))
		bad(path, 0, "cannot be read, or is empty");
	fclose(f);
	while (*p) {
		int n = 0, line = t->nlines;
		char stop = ',';

		while (stop == ',') {
			if (n == MOST_FIELDS || line == MOST_LINES)
				bad(path, line + 1, "too much");
			p = read_field(p, &t->at[line][n++], &stop, path, line + 1);
			p += stop != '\0';
		}
		if (stop != '\n')
			bad(path, line + 1, "it has no end");
		t->nfields[line] = n;
		if (n != t->nfields[0])
			bad(path, line + 1, "another number of fields than the first line");
		t->nlines++;
	}
	return t;
}

static const char *cell(const struct table *t, int line, const char *column)
{
	for (int i = 0; i < t->nfields[0]; i++)
		if (!strcmp(t->at[0][i], column))
			return t->at[line][i];
	printf("# there is no column %s\n", column);
	exit(1);
}

static void check_csv(const struct table *t, int line, const char *column, const char *want)
{
	const char *is;

	if (line < 0)
		line += t->nlines;
	if (line < 1 || line >= t->nlines) {
		wrong(column, want, "not there: there are fewer lines");
		return;
	}
	is = cell(t, line, column);
	if (*want == '~' ? !strstr(is, want + 1) : !strcmp(want, "*") ? !*is : !!strcmp(is, want))
		wrong(column, want, *is ? is : "empty");
}

/* ---- both --------------------------------------------------------------------------------- */

/* A value of JSON as CSV has it. */
static void compare(const struct table *t, int line, const char *column, const json_t *value)
{
	char want[200] = "";

	if (json_is_integer(value))
		snprintf(want, sizeof(want), "%lld", (long long)json_integer_value(value));
	else if (json_is_string(value))
		snprintf(want, sizeof(want), "%s", json_string_value(value));
	check_csv(t, line, column, want);
}

static void compare_row(const struct table *t, int *line, const json_t *document, const json_t *row)
{
	static const char *const places[] = { "out_of_place", "in_place" };
	static const char *const keys[] = { "size_bytes", "count", "type", "redop", "root" };

	for (int i = 0; i < 2; i++) {
		const json_t *p = json_object_get(row, places[i]);

		if (!json_is_object(p))
			continue;
		check_csv(t, *line, "record", "result");
		check_csv(t, *line, "placement", places[i]);
		compare(t, *line, "schedule", json_object_get(document, "schedule"));
		compare(t, *line, "ranks", json_object_get(document, "ranks"));
		for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			compare(t, *line, keys[k], json_object_get(row, keys[k]));
		compare(t, *line, "wrong", json_object_get(p, "wrong"));
		check_csv(t, *line, "time_us", "*");
		compare(t, *line, "baseline_wrong",
			json_object_get(json_object_get(p, "baseline"), "wrong"));
		++*line;
	}
}

static void check_same(const json_t *document, const struct table *t)
{
	const json_t *row, *error, *rows = json_object_get(document, "rows");
	const json_t *errors = json_object_get(document, "errors");
	int line = 1;
	size_t i;

	json_array_foreach(rows, i, row) compare_row(t, &line, document, row);
	json_array_foreach(errors, i, error)
	{
		check_csv(t, line, "record", "error");
		check_csv(t, line, "text", "*");
		compare(t, line, "status", json_object_get(document, "status"));
		line++;
	}
	check_csv(t, line, "record", "summary");
	compare(t, line, "status", json_object_get(document, "status"));
	compare(t, line, "wrong", follow(document, "summary.wrong"));
	if (line + 1 != t->nlines)
		wrong("the table", "as long as the document", "longer, or shorter");
}

static void check_each(int n, char **all, const json_t *document, const struct table *t, int line)
{
	for (int i = 0; i < n; i++) {
		char *equals = strchr(all[i], '=');

		if (!equals)
			bad(all[i], 0, "no PATH=VALUE");
		*equals = '\0';
		if (document)
			check_json(document, all[i], equals + 1);
		else
			check_csv(t, line, all[i], equals + 1);
	}
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "json"))
		check_each(argc - 3, argv + 3, load(argv[2]), NULL, 0);
	else if (argc > 3 && !strcmp(argv[1], "csv"))
		check_each(argc - 4, argv + 4, NULL, read_table(argv[2]), atoi(argv[3]));
	else if (argc > 3 && !strcmp(argv[1], "same"))
		check_same(load(argv[2]), read_table(argv[3]));
	else
		return 2;
	return failures;
}
