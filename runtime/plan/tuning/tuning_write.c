/*
 * Changes a tuning, and writes it: see tuning.h.
 *
 * In: a section and its rows. Out: the text in which that section's lines replace the old ones,
 * in columns. The result is parsed again, so every written text can be read. Other lines are
 * unchanged. O(bytes).
 */
#include "runtime/plan/tuning/tuning.h"

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a section's lines ---------------------------------------------------------------------- */

/* Whether a word needs quotes. */
static bool is_quoted(const char *word)
{
	return *word == '#' || word[strcspn(word, " \t\r")];
}

static ccs_status check_word(const char *word, const char *what)
{
	if (word && *word && !word[strcspn(word, "\"\n")])
		return CCS_OK;
	return error_set(CCS_EINVAL,
			 "%s cannot be written in a tuning: it is empty, or has a quote or a line "
			 "end in it",
			 what);
}

static int width_of(const char *word)
{
	return (int)strlen(word) + 2 * is_quoted(word);
}

static void put_word(FILE *f, const char *word, int width)
{
	const char *quote = is_quoted(word) ? "\"" : "";

	fprintf(f, "%s%s%s%*s", quote, word, quote, width - width_of(word) + 2, "");
}

/* Characters of the longest module name, of the modules or (`next`) of the next best ones. */
static int widest(const struct ccs_tuning_row *rows, int n, bool next)
{
	int most = 6;

	for (int i = 0; i < n; i++) {
		const char *file = next ? rows[i].next_file : rows[i].file;
		int width = file ? width_of(file) : 0;

		most = width > most ? width : most;
	}
	return most;
}

static void put_run(FILE *f, const char *file, int width, const struct ccs_run_options *o,
		    double us)
{
	char how[CCS_OPTIONS_TEXT];

	ccs_run_options_text(o, how, sizeof(how));
	put_word(f, file, width);
	fprintf(f, us < 0 ? "%s" : "%-9s", how);
	if (us >= 0)
		fprintf(f, " %10.2f", us);
}

static void put_row(FILE *f, const struct ccs_tuning_row *row, int width, int next_width)
{
	char most[SIZE_TEXT] = "rest";

	if (row->most != UINT64_MAX)
		size_text(most, row->most);
	fprintf(f, "%-8s  ", most);
	put_run(f, row->file, width, &row->options, row->us);
	if (row->next_file) {
		fprintf(f, "  ");
		put_run(f, row->next_file, next_width, &row->next_options, row->next_us);
	}
	fprintf(f, "\n");
}

static void put_section(FILE *f, const struct ccs_tuning_section *x,
			const struct ccs_tuning_row *rows)
{
	int width = widest(rows, x->rows, false), next_width = widest(rows, x->rows, true);
	enum tuning_how kind;
	const char *how;

	tuning_how_of(x->engine, &kind);
	how = kind == TUNING_TILE ? "tile" : "protocol";
	fprintf(f, "collective %s ranks %d engine %s\n", x->collective, x->nranks, x->engine);
	if (*x->measured)
		fprintf(f, "measured %s\n", x->measured);
	fprintf(f, "# %-6s  %-*s  %-9s %10s  %-*s  %-9s %10s\n", "up to", width, "module", how,
		"us", next_width, "next best", how, "us");
	for (int i = 0; i < x->rows; i++)
		put_row(f, rows + i, width, next_width);
}

/* ---- the whole text ------------------------------------------------------------------------- */

static ccs_status check_section(const struct ccs_tuning_section *x,
				const struct ccs_tuning_row *rows)
{
	ccs_status s = check_word(x->collective, "the collective's name");

	if (!s && (is_quoted(x->collective) || x->measured[strcspn(x->measured, "\n")]))
		s = error_set(CCS_EINVAL, "a section's first two lines");
	for (int i = 0; i < x->rows && !s; i++) {
		s = check_word(rows[i].file, "a module's name");
		if (!s && rows[i].next_file)
			s = check_word(rows[i].next_file, "a module's name");
	}
	return s;
}

static void put_all(FILE *f, const struct ccs_tuning *t, const struct ccs_tuning_section *x,
		    const struct ccs_tuning_row *rows)
{
	const struct tuning_section *old = tuning_alone(t, x, x->nranks);
	size_t from = old ? old->from : t->len, to = old ? old->to : t->len;

	fwrite(t->text, 1, from, f);
	if (!old)
		fputs(from && t->text[from - 1] != '\n' ? "\n\n" : "\n", f);
	put_section(f, x, rows);
	fwrite(t->text + to, 1, t->len - to, f);
}

ccs_status ccs_tuning_put(struct ccs_tuning *t, const struct ccs_tuning_section *section,
			  const struct ccs_tuning_row *rows)
{
	ccs_status s = check_section(section, rows);
	struct ccs_tuning *changed = NULL, before;
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	if (s)
		return s;
	f = open_memstream(&text, &len);
	if (f)
		put_all(f, t, section, rows);
	if (!f || fclose(f))
		s = error_set(CCS_ENOMEM, "out of memory for a tuning");
	if (!s && len > TUNING_BYTES)
		s = error_set(CCS_EINVAL, "a tuning has at most 1 MiB of text");
	if (!s)
		s = tuning_parse(&changed, t->name, t->folder, text, len);
	free(text);
	if (s)
		return s == CCS_EFILE
			       ? error_set(CCS_EINVAL, "the result would not be a tuning: %s",
					   ccs_error())
			       : s;
	before = *t;
	*t = *changed;
	*changed = before;
	ccs_tuning_free(changed);
	return CCS_OK;
}

ccs_status ccs_tuning_save(const struct ccs_tuning *t, const char *path)
{
	char *real = realpath(path, NULL); /* if the path is a link, write its target */
	int error = file_replace(real ? real : path, t->text, t->len, 0666);

	free(real);
	if (error)
		return error_set(CCS_ESYSTEM, "%s cannot be written: %s", path, strerror(error));
	return CCS_OK;
}
