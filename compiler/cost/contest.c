/*
 * Rows of `ccc simulate`: one after another, as a table, CSV or JSON; or those of several schedules, of
 * which the best at each size is printed, as a table or as a tuning (runtime/plan/tuning/tuning.h).
 *
 * A tuning has the same section for each engine, since a machine names none; its modules are the schedules'
 * files, with .so in place of .ccs or .xml, in the tuning's folder. O(rows^2).
 */
#include "compiler/cost/cost.h"
#include "lang/diag/diag_print.h"
#include "runtime/plan/tuning/tuning.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* A table has a head for each N; CSV has one in all. */
void cost_print_head(FILE *out, enum print_format format, const struct cost_row *r)
{
	char root[32] = "";

	if (r->root >= 0)
		snprintf(root, sizeof(root), ", root %" PRId64, r->root);
	if (format == FORMAT_CSV && ftell(out) == 0)
		fputs("schedule,ranks,machine,bytes,us,algbw,busbw,bound_us,limit\n", out);
	else if (format != FORMAT_CSV && format != FORMAT_JSON)
		fprintf(out, "%s, %u rank%s%s%s%s: predicted, GB/s\n%12s %12s %9s %9s %7s  %s\n",
			r->schedule, r->nranks, r->nranks > 1 ? "s" : "", root,
			*r->machine ? " on " : "", r->machine, "bytes", "us", "algbw", "busbw",
			"x bound", "what limits it");
}

/* A figure that is not known is below 0. */
static json_t *figure(double v)
{
	return v < 0 ? json_null() : json_real(v);
}

static void print_json(FILE *out, const struct cost_row *r)
{
	json_t *o = json_pack("{s:o,s:i,s:s,s:I,s:f,s:o,s:o,s:o,s:s}", "schedule",
			      diag_json_text(r->schedule), "ranks", (int)r->nranks, "machine",
			      r->machine, "bytes", (json_int_t)r->bytes, "us", r->us, "algbw",
			      figure(r->algbw), "busbw", figure(r->busbw), "bound_us",
			      figure(r->bound_us), "limit", r->limit);

	if (o && !json_dumpf(o, out, JSON_REAL_PRECISION(9)))
		fputc('\n', out);
	json_decref(o);
}

void cost_print_row(FILE *out, enum print_format format, const struct cost_row *r)
{
	char bound[32] = "", rates[64] = "";

	if (format == FORMAT_CSV && r->bound_us >= 0)
		snprintf(bound, sizeof(bound), "%.6f", r->bound_us);
	else if (r->bound_us > 0)
		snprintf(bound, sizeof(bound), "%.2f", r->us / r->bound_us);
	if (r->algbw < 0)
		snprintf(rates, sizeof(rates), format == FORMAT_CSV ? "," : "%9s %9s", "-", "-");
	else
		snprintf(rates, sizeof(rates), format == FORMAT_CSV ? "%.6f,%.6f" : "%9.3f %9.3f",
			 r->algbw, r->busbw);
	if (format == FORMAT_JSON) {
		print_json(out, r);
	} else if (format == FORMAT_CSV) { /* the texts have no quotes */
		fprintf(out, "%s,%u,\"%s\",%" PRIu64 ",%.6f,%s,%s,\"%s\"\n", r->schedule, r->nranks,
			r->machine, r->bytes, r->us, rates, bound, r->limit);
	} else {
		fprintf(out, "%12" PRIu64 " %12.2f %s %7s  %s\n", r->bytes, r->us, rates,
			*bound ? bound : "-", r->limit);
	}
}

/* ---- the best of several ---------------------------------------------------------------------------- */

void contest_add(struct contest *x, const struct cost_row *r)
{
	struct cost_row row = *r;

	row.file = arena_strndup(x->arena, r->file, strlen(r->file));
	row.contract = arena_strndup(x->arena, r->contract, strlen(r->contract));
	row.schedule = arena_strndup(x->arena, r->schedule, strlen(r->schedule));
	row.machine = arena_strndup(x->arena, r->machine, strlen(r->machine));
	row.limit = arena_strndup(x->arena, r->limit, strlen(r->limit));
	ARENA_PUSH(x->arena, x->rows, x->n, x->cap) = row;
}

static bool in_section(const struct cost_row *a, const struct cost_row *b)
{
	return a->nranks == b->nranks && !strcmp(a->contract, b->contract);
}

/* The fastest of the size of row `of`, but for `best`; or NULL. The first of equal ones. */
static const struct cost_row *fastest(const struct contest *x, const struct cost_row *of,
				      const struct cost_row *best)
{
	const struct cost_row *found = NULL;

	for (size_t i = 0; i < x->n; i++) {
		const struct cost_row *r = &x->rows[i];

		if (r != best && in_section(r, of) && r->bytes == of->bytes &&
		    (!found || r->us < found->us))
			found = r;
	}
	return found;
}

/* Calls `each` for the first row of each section, or of a section for the first of each size. */
static void walk(const struct contest *x, const struct cost_row *of, void *arg,
		 void (*each)(const struct contest *x, const struct cost_row *first, void *arg))
{
	for (size_t i = 0; i < x->n; i++) {
		const struct cost_row *r = &x->rows[i];
		bool before = of && !in_section(r, of);

		for (size_t k = 0; k < i && !before; k++)
			before =
				in_section(r, &x->rows[k]) && (!of || x->rows[k].bytes == r->bytes);
		if (!before)
			each(x, r, arg);
	}
}

static void print_size(const struct contest *x, const struct cost_row *first, void *out)
{
	const struct cost_row *best = fastest(x, first, NULL), *next = fastest(x, first, best);
	struct cost_row row = *best;

	row.limit = !next ? best->schedule
			  : arena_printf(x->arena, "%s; %s: %.2f times as long", best->schedule,
					 next->schedule, best->us > 0 ? next->us / best->us : 1);
	cost_print_row(out, FORMAT_TEXT, &row);
}

static void print_section(const struct contest *x, const struct cost_row *first, void *out)
{
	fprintf(out,
		"%s, %u rank%s%s%s: the best at each size, predicted, GB/s\n%12s %12s %9s %9s %7s  %s\n",
		first->contract, first->nranks, first->nranks > 1 ? "s" : "",
		*first->machine ? " on " : "", first->machine, "bytes", "us", "algbw", "busbw",
		"x bound", "schedule; the next best");
	walk(x, first, out, print_size);
}

/* ---- the tuning ----------------------------------------------------------------------------------------- */

struct tuning_writer {
	struct ccs_tuning *t;
	struct ccs_tuning_row *rows;
	int n;
	ccs_status status;
};

/* "ring.so" of "schedules/ring.ccs" or "ring.xml" */
static const char *module_name(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	size_t n = strlen(name);

	n -= n > 4 && (!strcmp(name + n - 4, ".ccs") || !strcmp(name + n - 4, ".xml")) ? 4 : 0;
	return arena_printf(a, "%.*s.so", (int)n, name);
}

static void take_size(const struct contest *x, const struct cost_row *first, void *arg)
{
	const struct cost_row *best = fastest(x, first, NULL), *next = fastest(x, first, best);
	struct tuning_writer *w = arg;

	w->rows[w->n++] = (struct ccs_tuning_row){
		.most = best->bytes ? best->bytes : UINT64_MAX,
		.file = module_name(x->arena, best->file),
		.us = best->us,
		.next_file = next ? module_name(x->arena, next->file) : NULL,
		.next_us = next ? next->us : -1,
	};
}

static int by_size(const void *a, const void *b)
{
	const struct ccs_tuning_row *x = a, *y = b;

	return (x->most > y->most) - (x->most < y->most);
}

static void put_section(const struct contest *x, const struct cost_row *first, void *arg)
{
	static const char *const engines[] = { "tasks", "procs", "mpi", "cuda", "hosts" };
	struct tuning_writer *w = arg;
	struct ccs_tuning_section section = { .collective = first->contract,
					      .nranks = (int)first->nranks };

	w->rows = ARENA_ARRAY(x->arena, struct ccs_tuning_row, x->n + 1);
	w->n = 0;
	walk(x, first, w, take_size);
	qsort(w->rows, (size_t)w->n, sizeof(*w->rows), by_size);
	if (w->rows[w->n - 1].most != UINT64_MAX) {
		w->rows[w->n] = (struct ccs_tuning_row){
			.most = UINT64_MAX, .file = w->rows[w->n - 1].file, .us = -1, .next_us = -1
		};
		w->n++;
	}
	section.rows = w->n;
	section.measured =
		arena_printf(x->arena, "nothing: predicted on %s by ccc simulate", first->machine);
	for (size_t i = 0; i < sizeof(engines) / sizeof(*engines) && !w->status; i++) {
		section.engine = engines[i];
		w->status = ccs_tuning_put(w->t, &section, w->rows);
	}
}

const char *contest_print(const struct contest *x, enum print_format format, FILE *out)
{
	struct tuning_writer w = { 0 };
	const char *why = NULL;

	if (format == FORMAT_TUNING) {
		w.status = ccs_tuning_read(&w.t, NULL);
		if (!w.status)
			walk(x, NULL, &w, put_section);
		if (w.status)
			why = arena_printf(x->arena, "%s", ccs_error());
		else
			fwrite(w.t->text, 1, w.t->len, out);
		ccs_tuning_free(w.t);
	} else if (format == FORMAT_TEXT) {
		walk(x, NULL, out, print_section);
	} else {
		for (size_t i = 0; i < x->n; i++) {
			if (!i)
				cost_print_head(out, format, x->rows);
			cost_print_row(out, format, &x->rows[i]);
		}
	}
	return why;
}
