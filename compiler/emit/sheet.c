/*
 * The output of `ccc table`, see sheet.h and ccc(1), THE TABLE.
 *
 * In: rows, in any order. Out: text for people, a block for each contract and N; or CSV or
 * JSON for programs, a record for each row, with the keys of `ccc check`'s report.
 */
#include "compiler/emit/sheet.h"
#include "lang/diag/diag_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- adding ------------------------------------------------------------------------- */

static const char *keep(struct sheet *t, const char *text)
{
	return arena_strndup(t->arena, text, strlen(text));
}

static bool same_home(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static size_t group_of(struct sheet *t, const struct decl *schedule)
{
	const char *contract = schedule->contract_name.name;
	const struct source *source = schedule->contract ? schedule->contract->source : NULL;
	const char *home = source && !source->prelude ? source->name : NULL;

	for (size_t i = 0; i < t->ngroups; i++)
		if (!strcmp(t->groups[i].contract, contract) && same_home(t->groups[i].home, home))
			return i;
	ARENA_PUSH(t->arena, t->groups, t->ngroups, t->capgroups) =
		(struct sheet_group){ keep(t, contract), home ? keep(t, home) : NULL };
	return t->ngroups - 1;
}

static size_t add_entry(struct sheet *t, const char *file, const struct decl *schedule)
{
	struct sheet_entry e = { .file = file, .shown = diag_shown_text(t->arena, file) };

	if (schedule) {
		e.schedule = keep(t, schedule->name.name);
		e.group = group_of(t, schedule);
		e.buffers = schedule->buffers != NULL;
	}
	for (size_t i = 0; i < t->nentries && schedule; i++) {
		struct sheet_entry *other = t->entries + i;
		bool twice = other->schedule && !strcmp(other->schedule, e.schedule) &&
			     strcmp(other->file, file);

		other->twice |= twice;
		e.twice |= twice;
	}
	ARENA_PUSH(t->arena, t->entries, t->nentries, t->capentries) = e;
	return t->nentries - 1;
}

static void add_row(struct sheet *t, enum sheet_state state, size_t entry, struct finding f)
{
	f.fewer = (struct fewer_slots){ NULL, NULL }; /* its texts are freed with the compilation */
	ARENA_PUSH(t->arena, t->rows, t->nrows, t->caprows) = (struct sheet_row){
		.state = state, .group = t->entries[entry].group, .entry = entry, .finding = f
	};
}

void sheet_add(struct sheet *t, const char *file, const struct decl *schedule,
	       const struct finding *v, size_t n)
{
	size_t entry = add_entry(t, file, schedule);

	for (size_t i = 0, k = 0; i < t->nranks; i++)
		if (k < n && v[k].nranks == t->ranks[i])
			add_row(t, SHEET_PROVED, entry, v[k++]);
		else
			add_row(t, SHEET_NOT_ADMITTED, entry,
				(struct finding){ .nranks = t->ranks[i] });
}

void sheet_add_wrong(struct sheet *t, const char *file, const struct decl *schedule)
{
	add_row(t, SHEET_WRONG, add_entry(t, file, schedule), (struct finding){ 0 });
}

void sheet_add_params(struct sheet *t, const struct decl *schedule)
{
	for (const struct binding *b = schedule->params; b; b = b->next) {
		size_t k = 0;

		while (k < t->nparams && strcmp(t->params[k], b->name.name))
			k++;
		if (k == t->nparams)
			ARENA_PUSH(t->arena, t->params, t->nparams, t->capparams) =
				keep(t, b->name.name);
	}
}

/* ---- order -------------------------------------------------------------------------- */

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

/* Wrong schedules come last. Groups and entries are counted in the order of the files. */
static int compare_rows(const void *a, const void *b)
{
	const struct sheet_row *x = a, *y = b;
	bool wrong = x->state == SHEET_WRONG;
	int order = wrong - (y->state == SHEET_WRONG);

	if (!order && !wrong)
		order = compare_numbers((double)x->group, (double)y->group);
	if (!order)
		order = compare_numbers(x->finding.nranks, y->finding.nranks);
	if (!order)
		order = compare_numbers(x->state, y->state);
	if (!order)
		order = compare_numbers(x->finding.steps, y->finding.steps);
	if (!order)
		order = compare_numbers(x->finding.sent, y->finding.sent);
	return order ? order : compare_numbers((double)x->entry, (double)y->entry);
}

/* ---- text ----------------------------------------------------------------------------- */

/* The schedule's name, with its file if a schedule of another file has the same name. */
static const char *label(const struct sheet *t, const struct sheet_row *row)
{
	const struct sheet_entry *e = t->entries + row->entry;

	return e->twice ? arena_printf(t->arena, "%s (%s)", e->schedule, e->shown) : e->schedule;
}

/* "1.50 S", or "-" for less than 0. */
static const char *volume(const struct sheet *t, double s)
{
	return s < 0 ? "-" : arena_printf(t->arena, "%.2f S", s);
}

/* The column "same bits". */
static const char *bits_name(const struct finding *f)
{
	if (f->same_bits)
		return f->same_bits_counts ? "ranks, counts" : "ranks";
	return f->same_bits_counts ? "counts" : "no";
}

static void print_proved(const struct sheet *t, const struct sheet_row *row, int width, FILE *out)
{
	const struct finding *f = &row->finding;
	bool buffers = t->entries[row->entry].buffers;
	const char *bits = bits_name(f);

	fprintf(out, "  %-*s %6" PRIu32 " %14s %9s %6" PRId64 "  %s\n", width, label(t, row),
		f->steps, volume(t, buffers ? f->sent : -1), volume(t, f->bound), f->min_slots,
		buffers ? bits : "-");
}

/* The first row after `first` with another contract or N, or another state than `state`. */
static size_t alike(const struct sheet *t, size_t first, enum sheet_state state,
		    const struct sheet_row *as)
{
	size_t i = first;

	while (i < t->nrows && t->rows[i].state == state && t->rows[i].group == as->group &&
	       t->rows[i].finding.nranks == as->finding.nranks)
		i++;
	return i;
}

/* Prints the rows of one contract and N, from `first` on. Returns the next row. */
static size_t print_block(const struct sheet *t, size_t first, int width, FILE *out)
{
	const struct sheet_row *as = t->rows + first;
	size_t proved = alike(t, first, SHEET_PROVED, as);
	size_t end = alike(t, proved, SHEET_NOT_ADMITTED, as);
	const struct sheet_group *g = t->groups + as->group;

	fprintf(out, "%s%s", first ? "\n" : "", g->contract);
	if (g->home)
		fprintf(out, " (%s)", g->home);
	fprintf(out, ", N = %" PRIu32 "\n", as->finding.nranks);
	if (proved > first)
		fprintf(out, "  %-*s  steps  sent per rank  at least  slots  same bits\n", width,
			"schedule");
	for (size_t i = first; i < proved; i++)
		print_proved(t, t->rows + i, width, out);
	for (size_t i = proved; i < end; i++)
		fprintf(out, "%s%s", i == proved ? "  not for this N: " : ", ",
			label(t, t->rows + i));
	if (end > proved)
		fputc('\n', out);
	return end;
}

static void print_wrong(const struct sheet *t, size_t first, FILE *out)
{
	if (first < t->nrows)
		fprintf(out, "%swrong (see the diagnostics)\n", first ? "\n" : "");
	for (size_t i = first; i < t->nrows; i++) {
		const struct sheet_entry *e = t->entries + t->rows[i].entry;

		if (e->schedule)
			fprintf(out, "  %s (%s), %s\n", e->schedule, t->groups[e->group].contract,
				e->shown);
		else
			fprintf(out, "  %s\n", e->shown);
	}
}

static void print_text(const struct sheet *t, FILE *out)
{
	size_t i = 0;
	int width = (int)strlen("schedule");

	for (size_t k = 0; k < t->nrows; k++) {
		int n = t->rows[k].state == SHEET_PROVED ? (int)strlen(label(t, t->rows + k)) : 0;

		width = n > width ? n : width;
	}
	while (i < t->nrows && t->rows[i].state != SHEET_WRONG)
		i = print_block(t, i, width, out);
	print_wrong(t, i, out);
}

/* ---- records -------------------------------------------------------------------------- */

static const char *state_name(enum sheet_state state)
{
	switch (state) {
	case SHEET_PROVED: return "proved";
	case SHEET_NOT_ADMITTED: return "not_admitted";
	case SHEET_WRONG: break;
	}
	return "wrong";
}

/* Quotes the text if RFC 4180 requires it. */
static void print_field(const char *text, FILE *out)
{
	bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';

	if (quoted)
		fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	if (quoted)
		fputc('"', out);
}

/* Every row has the same keys; null: no figure. Returns NULL on lack of memory. */
static json_t *row_json(const struct sheet *t, const struct sheet_row *row)
{
	const struct sheet_entry *e = t->entries + row->entry;
	const struct finding *f = &row->finding;
	bool proved = row->state == SHEET_PROVED;

	return json_pack("{s:s?, s:o, s:s?, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "contract",
			 e->schedule ? t->groups[e->group].contract : NULL, "ranks",
			 row->state == SHEET_WRONG ? json_null() : json_integer(f->nranks),
			 "schedule", e->schedule, "file", diag_json_text(e->file), "status",
			 state_name(row->state), "steps",
			 proved ? json_integer(f->steps) : json_null(), "sent_per_rank",
			 proved ? json_real(f->sent) : json_null(), "sent_bound",
			 proved && f->bound >= 0 ? json_real(f->bound) : json_null(), "min_slots",
			 proved ? json_integer(f->min_slots) : json_null(), "same_bits",
			 proved ? json_boolean(f->same_bits) : json_null(), "same_bits_counts",
			 proved ? json_boolean(f->same_bits_counts) : json_null());
}

/* A column for each key of the first row. */
static void print_csv(const json_t *rows, FILE *out)
{
	const char *key, *comma = "";
	const json_t *row, *value;
	size_t i;

	json_object_foreach(json_array_get(rows, 0), key, value)
	{
		fprintf(out, "%s%s", comma, key);
		comma = ",";
	}
	json_array_foreach(rows, i, row)
	{
		comma = "\n";
		json_object_foreach((json_t *)row, key, value)
		{
			fputs(comma, out);
			comma = ",";
			if (json_is_string(value))
				print_field(json_string_value(value), out);
			else if (json_is_number(value))
				fprintf(out, "%.12g", json_number_value(value));
			else if (!json_is_null(value))
				fputs(json_is_true(value) ? "true" : "false", out);
		}
	}
	fputc('\n', out);
}

bool sheet_print_rows(json_t *rows, enum print_format format, FILE *out)
{
	json_t *all = json_pack("{s:o}", "rows", rows);
	int failed = !all;

	if (failed)
		return false;
	if (format == FORMAT_CSV) {
		print_csv(rows, out);
	} else if (format == FORMAT_JSON) {
		failed = json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
		fputc('\n', out);
	}
	json_decref(all);
	return !failed;
}

bool sheet_print(struct sheet *t, enum print_format format, FILE *out)
{
	if (t->nrows)
		qsort(t->rows, t->nrows, sizeof(*t->rows), compare_rows);
	if (format != FORMAT_JSON && format != FORMAT_CSV)
		print_text(t, out);
	json_t *rows = json_array();
	int failed = !rows;
	for (size_t i = 0; i < t->nrows && !failed; i++)
		failed = json_array_append_new(rows, row_json(t, t->rows + i));
	return sheet_print_rows(rows, format, out) && !failed;
}
