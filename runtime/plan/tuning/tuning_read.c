/*
 * Reads a tuning's text: see tuning.h, and ccs-tuning(5) for each word.
 *
 * In: any bytes. Out: sections and rows that point into a copy of them; or the wrong line, and
 * the words that may stand there. One pass, line by line, word by word. O(bytes + sections^2).
 */
#include "runtime/plan/tuning/tuning.h"

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/base/size.h"
#include "runtime/plan/choice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST "ccs-tuning 1"
#define TIME_DIGITS 12 /* before the point */

struct reader {
	struct ccs_tuning *t;
	char *at;	       /* the rest of the line */
	char *next;	       /* the next line */
	unsigned line;	       /* from 1 */
	enum tuning_how how;   /* of the section */
	bool open;	       /* a section has begun */
	bool rested, measured; /* its last row was read; its `measured` line was read */
};

/* Reports an error in the current line. */
__attribute__((format(printf, 3, 4))) static ccs_status
wrong_at(const struct reader *r, unsigned line, const char *format, ...)
{
	char text[600];
	va_list v;

	va_start(v, format);
	vsnprintf(text, sizeof(text), format, v);
	va_end(v);
	return error_set(CCS_EFILE, "%s:%u: %s", r->t->name, line, text);
}

#define WRONG(r, ...) wrong_at(r, (r)->line, __VA_ARGS__)

/* ---- words ------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line, without its quotes; NULL: none. *s: an error, if a quote is not
 * closed. */
static char *word(struct reader *r, ccs_status *s)
{
	char *from, *end;

	while (is_blank(*r->at))
		r->at++;
	if (*s || !*r->at || *r->at == '#')
		return NULL;
	from = r->at;
	if (*from == '"') {
		end = strchr(++from, '"');
		if (!end || (end[1] && !is_blank(end[1]))) {
			*s = WRONG(r, "a quote is not closed, or a word follows it at once");
			return NULL;
		}
	} else {
		end = from + strcspn(from, " \t\r");
	}
	r->at = *end ? end + 1 : end;
	*end = '\0';
	return from;
}

/* The rest of the line, without blanks at its ends. */
static char *rest(struct reader *r)
{
	char *end = r->at + strlen(r->at);

	while (is_blank(*r->at))
		r->at++;
	while (end > r->at && is_blank(end[-1]))
		*--end = '\0';
	return r->at;
}

static ccs_status end_of_line(struct reader *r, const char *behind)
{
	ccs_status s = CCS_OK;
	const char *more = word(r, &s);

	return more ? WRONG(r, "'%.40s': nothing follows %s", more, behind) : s;
}

/* ---- heads of sections -------------------------------------------------------------------- */

static bool read_number(const char **text, int *n)
{
	uint64_t value = 0;
	bool ok = size_read_number(text, TUNING_RANKS, &value);

	*n = (int)value;
	return ok;
}

/* "4", or "5..16" */
static bool read_ranks(const char *text, struct ccs_tuning_section *of)
{
	if (!read_number(&text, &of->first))
		return false;
	of->nranks = of->last = of->first;
	if (!strncmp(text, "..", 2)) {
		text += 2;
		if (!read_number(&text, &of->last))
			return false;
	}
	return !*text && of->first <= of->last;
}

static ccs_status read_head(struct reader *r, struct ccs_tuning_section *of)
{
	ccs_status s = CCS_OK;
	const char *ranks, *n, *engine;

	of->collective = word(r, &s);
	ranks = word(r, &s);
	n = word(r, &s);
	engine = word(r, &s);
	of->engine = word(r, &s);
	if (s)
		return s;
	if (!of->engine || strcmp(ranks, "ranks") != 0 || strcmp(engine, "engine") != 0)
		return WRONG(r, "a section begins with: collective NAME ranks N engine ENGINE");
	if (!read_ranks(n, of))
		return WRONG(r,
			     "'%.40s' is not a number of ranks: use 1 to %u, or a range, such as "
			     "5..16",
			     n, TUNING_RANKS);
	if (!tuning_how_of(of->engine, &r->how))
		return WRONG(r, "'%.40s' is not an engine: use tasks, procs, mpi, cuda or hosts",
			     of->engine);
	return end_of_line(r, "the engine");
}

/* Checks that the section that ends here is complete. */
static ccs_status close_section(struct reader *r)
{
	const struct tuning_section *x = r->t->sections + r->t->nsections - 1;

	if (!r->open || r->rested)
		return CCS_OK;
	if (!x->of.rows)
		return wrong_at(r, x->line, "the section has no rows");
	return wrong_at(r, r->t->rows[r->t->nrows - 1].line,
			"this is the section's last row, so its size must be 'rest': it is for all "
			"larger sizes");
}

/* Checks that no other section is for the same ranks. */
static ccs_status check_new(const struct reader *r, const struct ccs_tuning_section *x)
{
	const struct ccs_tuning *t = r->t;

	for (int i = 0; i < t->nsections; i++) {
		const struct ccs_tuning_section *y = &t->sections[i].of;

		if (!tuning_alike(y, x) || (y->first < y->last) != (x->first < x->last) ||
		    y->last < x->first || x->last < y->first)
			continue;
		if (x->first == x->last)
			return WRONG(r, "%s of %d ranks by %s is already in line %u", y->collective,
				     y->nranks, y->engine, t->sections[i].line);
		return WRONG(r, "%s of %d..%d ranks by %s: line %u has some of them, with %d..%d",
			     y->collective, x->first, x->last, y->engine, t->sections[i].line,
			     y->first, y->last);
	}
	return CCS_OK;
}

static ccs_status add_section(struct reader *r, const char *line)
{
	struct ccs_tuning *t = r->t;
	struct tuning_section *x = t->sections + t->nsections;
	ccs_status s = close_section(r);

	*x = (struct tuning_section){ .row = t->nrows, .line = r->line, .of.measured = "" };
	x->from = (size_t)(line - t->words);
	if (!s)
		s = read_head(r, &x->of);
	if (!s)
		s = check_new(r, &x->of);
	t->nsections++;
	r->open = true;
	r->rested = r->measured = false;
	return s;
}

static ccs_status read_measured(struct reader *r)
{
	struct tuning_section *x = r->t->sections + r->t->nsections - 1;

	if (!r->open || x->of.rows || r->measured)
		return WRONG(r,
			     "'measured' is allowed once, between a section's first line and its "
			     "rows");
	x->of.measured = rest(r);
	r->measured = true;
	return CCS_OK;
}

/* ---- rows ------------------------------------------------------------------------------- */

static ccs_status read_tile(const struct reader *r, const char *text, struct ccs_run_options *o)
{
	const char *s = text;
	uint64_t bytes = 0;

	if (!size_read(&s, &bytes) && !*s && bytes >= TUNING_TILE_LEAST &&
	    bytes <= TUNING_TILE_MOST) {
		o->tile = (size_t)bytes;
		return CCS_OK;
	}
	return WRONG(r, "'%.40s' is not a tile: use auto, or a size such as 32K, from 512 to 1G",
		     text);
}

static ccs_status read_protocol(const struct reader *r, const char *text, struct ccs_run_options *o)
{
	struct choice_list list;
	char why[300];

	if (!choice_read(&list, text, why, sizeof(why)) || list.n != 1)
		return WRONG(
			r,
			"'%.40s' is not a protocol: use auto, ll, simple, or one with a number "
			"of channels, such as simple/8",
			text);
	o->protocol = list.rows->protocol == CCS_LL ? CCS_RUN_LL : CCS_RUN_SIMPLE;
	o->channels = list.rows->channels;
	return CCS_OK;
}

static ccs_status read_how(const struct reader *r, const char *text, struct ccs_run_options *o)
{
	if (!text)
		return WRONG(r, "a module must be followed by its options: auto, or a %s",
			     r->how == TUNING_TILE ? "tile" : "protocol");
	if (!strcmp(text, "auto"))
		return CCS_OK;
	switch (r->how) {
	case TUNING_TILE: return read_tile(r, text, o);
	case TUNING_PROTOCOL: return read_protocol(r, text, o);
	case TUNING_NOTHING: break;
	}
	return WRONG(r, "'%.40s': between hosts only auto is possible", text);
}

/* "12.34": digits, perhaps a point and digits; independent of the locale. */
static ccs_status read_time(const struct reader *r, const char *text, double *us)
{
	size_t whole = strspn(text, "0123456789"), part = 0;
	double unit = 1;

	if (text[whole] == '.')
		part = strspn(text + whole + 1, "0123456789");
	if (!whole || whole > TIME_DIGITS || part > TIME_DIGITS ||
	    text[whole + (text[whole] == '.') + part])
		return WRONG(r, "'%.40s' is not a time: microseconds, such as 12.50", text);
	*us = 0;
	for (const char *p = text; *p; p++) {
		if (*p == '.')
			continue;
		*us = *us * 10 + (*p - '0');
		unit *= p > text + whole ? 10 : 1;
	}
	*us /= unit;
	return CCS_OK;
}

/* A module, how it is run, and its time, if it has one. */
static ccs_status read_run(struct reader *r, const char **file, struct ccs_run_options *o,
			   double *us)
{
	ccs_status s = CCS_OK;
	const char *text;

	*us = -1;
	*file = word(r, &s);
	if (s || !*file)
		return s;
	if (!**file)
		return WRONG(r, "a module's name is empty");
	text = word(r, &s);
	if (!s)
		s = read_how(r, text, o);
	text = word(r, &s);
	return s || !text ? s : read_time(r, text, us);
}

/* Reads the largest size of a row, which must exceed that of the row before. */
static ccs_status read_most(struct reader *r, const char *text, struct ccs_tuning_row *of)
{
	const struct tuning_section *x = r->t->sections + r->t->nsections - 1;
	const char *s = text, *fault;

	if (!r->open)
		return WRONG(r,
			     "'%.40s': a section must come before rows: collective NAME ranks N "
			     "engine ENGINE",
			     text);
	if (r->rested)
		return WRONG(r, "'%.40s': 'rest' was the section's last row", text);
	of->most = UINT64_MAX;
	if (!strcmp(text, "rest"))
		return CCS_OK;
	fault = size_read(&s, &of->most);
	if (fault || *s)
		return WRONG(r,
			     "'%.40s': a row begins with a size such as 512, 64K, 16M or 1G, or "
			     "with 'rest'; a section with 'collective'",
			     text);
	if (x->of.rows && of->most <= r->t->rows[r->t->nrows - 1].of.most)
		return WRONG(r, "'%.40s': sizes must ascend", text);
	return CCS_OK;
}

static ccs_status read_row(struct reader *r, const char *first)
{
	struct tuning_row *row = r->t->rows + r->t->nrows;
	struct ccs_tuning_row *of = &row->of;
	ccs_status s;

	*row = (struct tuning_row){ .line = r->line };
	s = read_most(r, first, of);
	if (!s)
		s = read_run(r, &of->file, &of->options, &of->us);
	if (!s && !of->file)
		s = WRONG(r, "a size must be followed by a module");
	if (!s)
		s = read_run(r, &of->next_file, &of->next_options, &of->next_us);
	if (!s && of->next_file && (of->us < 0 || of->next_us < 0))
		s = WRONG(r, "a time is missing: a row has a module, its options and its time, and "
			     "the same for the next best; or no times, and no next best");
	if (!s)
		s = end_of_line(r, "the next best's time");
	if (s)
		return s;
	r->rested = of->most == UINT64_MAX;
	r->t->nrows++;
	r->t->sections[r->t->nsections - 1].of.rows++;
	return CCS_OK;
}

/* ---- lines ------------------------------------------------------------------------------ */

/* Takes the next line; false: none. */
static bool take_line(struct reader *r)
{
	char *end;

	r->at = r->next;
	if (!*r->at)
		return false;
	end = r->at + strcspn(r->at, "\n");
	r->next = *end ? end + 1 : end;
	*end = '\0';
	r->line++;
	return true;
}

static ccs_status read_line(struct reader *r)
{
	const char *line = r->at, *first;
	ccs_status s = CCS_OK;

	first = word(r, &s);
	if (s || !first)
		return s;
	if (!strcmp(first, "collective"))
		s = add_section(r, line);
	else if (!strcmp(first, "measured"))
		s = read_measured(r);
	else
		s = read_row(r, first);
	if (!s)
		r->t->sections[r->t->nsections - 1].to = (size_t)(r->next - r->t->words);
	return s;
}

static ccs_status read_version(struct reader *r)
{
	static const char name[] = "ccs-tuning ";
	const char *line;

	if (!take_line(r))
		return error_set(CCS_EFILE, "%s is empty: a tuning's first line is '" FIRST "'",
				 r->t->name);
	line = rest(r);
	if (!strcmp(line, FIRST))
		return CCS_OK;
	if (!strncmp(line, name, strlen(name)))
		return WRONG(r, "its version is %.20s, and this is ccs %s, which reads version 1",
			     line + strlen(name), ccs_version());
	return WRONG(r, "this is not a tuning: its first line is '" FIRST
			"' (ccrun --tune FILE MODULE.so... makes one)");
}

static ccs_status read_all(struct reader *r)
{
	ccs_status s = read_version(r);

	while (!s && take_line(r))
		s = read_line(r);
	return s ? s : close_section(r);
}

/* Room for sections and rows: a line begins at most one of them. */
static bool make_room(struct ccs_tuning *t)
{
	size_t lines = 1;

	for (size_t i = 0; i < t->len; i++)
		lines += t->text[i] == '\n';
	t->sections = calloc(lines, sizeof(*t->sections));
	t->rows = calloc(lines, sizeof(*t->rows));
	return t->sections && t->rows;
}

static char *copy_of(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

ccs_status tuning_parse(struct ccs_tuning **out, const char *name, const char *folder,
			const char *text, size_t len)
{
	struct ccs_tuning *t = calloc(1, sizeof(*t));
	struct reader r = { .t = t };
	ccs_status s = CCS_OK;

	*out = NULL;
	if (t) {
		t->name = strdup(name);
		t->folder = strdup(folder);
		t->text = copy_of(text, len);
		t->words = copy_of(text, len);
		t->len = len;
	}
	if (!t || !t->name || !t->folder || !t->text || !t->words || !make_room(t))
		s = error_set(CCS_ENOMEM, "out of memory for a tuning");
	else if (strlen(t->words) != len)
		s = error_set(CCS_EFILE, "%s is not a tuning: it has a byte 0", name);
	if (!s) {
		r.next = t->words;
		t->digest = hash_fnv1a(HASH_START, text, len);
		s = read_all(&r);
	}
	if (!s)
		s = tuning_spread(t);
	if (s)
		ccs_tuning_free(t);
	else
		*out = t;
	return s;
}

/* ---- files ------------------------------------------------------------------------------- */

static ccs_status read_text(const char *path, char **text, size_t *len)
{
	char why[700];
	uint64_t size;
	int fd = file_open(AT_FDCWD, path, 0, &size, why, sizeof(why));
	ccs_status s = CCS_OK;

	*text = NULL;
	if (fd < 0)
		return error_set(CCS_EFILE, "%s %s", path, why);
	if (size > TUNING_BYTES)
		s = error_set(CCS_EFILE, "%s is not a tuning: it has more than 1 MiB", path);
	if (!s)
		*text = malloc((size_t)size + 1);
	if (!s && !*text)
		s = error_set(CCS_ENOMEM, "out of memory for a tuning");
	if (!s && !file_read(fd, 0, *text, (size_t)size))
		s = error_set(CCS_EFILE, "%s cannot be read: %s", path,
			      errno ? strerror(errno) : "it has just become shorter");
	*len = (size_t)size;
	close(fd);
	return s;
}

/* The folder of the file after following links; to be freed. */
static char *folder_of(const char *path)
{
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;

	if (slash)
		slash[1] = '\0';
	return real;
}

ccs_status ccs_tuning_read(struct ccs_tuning **out, const char *path)
{
	static const char nothing[] = FIRST "\n";
	char *text, *folder;
	size_t len;
	ccs_status s;

	*out = NULL;
	if (!path)
		return tuning_parse(out, "the tuning", "", nothing, strlen(nothing));
	s = read_text(path, &text, &len);
	folder = s ? NULL : folder_of(path);
	if (!s && !folder)
		s = error_set(CCS_ESYSTEM, "%s: %s", path, strerror(errno));
	if (!s)
		s = tuning_parse(out, path, folder, text, len);
	free(folder);
	free(text);
	return s;
}
