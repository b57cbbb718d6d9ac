/*
 * The table for programs. See bench.h.
 *
 * In: rows as they are measured, errors as they are said. Out: JSON at the end, since a
 * document is whole or none; CSV row by row. O(rows) memory.
 */
#include "runtime/ccrun/bench.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct report {
	bool json, csv; /* as asked for; JSON, if by mistake both are */
	bool headed;	/* CSV's first line is out */
	bool silent;	/* another process prints */
	json_t *document, *rows, *errors;
	json_t *row; /* the last one */
};

/* ---- texts and numbers ------------------------------------------------------------- */

/* A text of the user's may be no UTF-8: then what is not ASCII is left out. */
static json_t *string(const char *text)
{
	json_t *s = json_string(text);
	char plain[CCS_TEXT];

	if (s)
		return s;
	snprintf(plain, sizeof(plain), "%s", text);
	for (char *p = plain; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return json_string(plain);
}

static json_t *measured(double x)
{
	return x >= 0 ? json_real(x) : json_null();
}

static json_t *count_of(bool is, size_t n)
{
	return is ? json_integer((json_int_t)n) : json_null();
}

/* A field of CSV. */
static void put_text(const char *text)
{
	const char *quote = text[strcspn(text, ",\"\r\n")] ? "\"" : "";

	fputs(quote, stdout);
	for (; *text; text++)
		printf("%s%c", *text == '"' ? "\"" : "", *text);
	fputs(quote, stdout);
}

/* ---- CSV --------------------------------------------------------------------------- */

static const char columns[] =
	"record,schedule,contract,ranks,size_bytes,count,type,redop,root,placement,time_us,"
	"algbw_gb_per_s,busbw_gb_per_s,wrong,copy_percent,copy_rate_gb_per_s,baseline_time_us,"
	"baseline_algbw_gb_per_s,baseline_busbw_gb_per_s,baseline_wrong,ratio,options,status,text\n";

struct record {
	const char *kind, *placement; /* "result", "error", "summary"; "in_place", or "" */
	const json_t *of, *row;	      /* its object, and that of its row; each may be NULL */
};

/* The field of a column: the record's, the row's, or the document's. NULL: there is none. */
static const json_t *find(const struct report *r, const struct record *c, const char *column)
{
	static const char *const others[][2] = { { "busbw_gb_per_s", "mean_busbw_gb_per_s" },
						 { "text", "first_wrong" } };
	static const char baseline[] = "baseline_";
	size_t n = strlen(baseline);
	bool theirs = !strncmp(column, baseline, n);
	const char *key = theirs ? column + n : column;
	const json_t *of = theirs ? json_object_get(c->of, "baseline") : c->of;
	const json_t *x = json_object_get(of, key);

	for (size_t i = 0; i < sizeof(others) / sizeof(*others) && !x; i++)
		if (!strcmp(key, others[i][0]))
			x = json_object_get(of, others[i][1]);
	if (!x)
		x = json_object_get(c->row, key);
	return x ? x : json_object_get(r->document, key);
}

static void write_record(struct report *r, const struct record *c)
{
	if (!r->headed)
		fputs(columns, stdout);
	r->headed = true;
	fputs(c->kind, stdout);
	for (const char *at = strchr(columns, ','); at; at = strchr(at + 1, ',')) {
		char column[32];
		const json_t *x;

		snprintf(column, sizeof(column), "%.*s", (int)strcspn(at + 1, ",\n"), at + 1);
		x = find(r, c, column);
		putchar(',');
		if (json_is_string(x))
			put_text(json_string_value(x));
		else if (json_is_integer(x))
			printf("%lld", (long long)json_integer_value(x));
		else if (json_is_real(x))
			printf("%.6f", json_real_value(x));
		else if (!strcmp(column, "placement"))
			fputs(c->placement, stdout);
	}
	putchar('\n');
	fflush(stdout);
}

/* ---- opening ----------------------------------------------------------------------- */

static bool has(int argc, char **argv, const char *option)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], option))
			return true;
	return false;
}

struct report *report_open(int argc, char **argv, ccs_status *s)
{
	bool json = has(argc, argv, "--json"), csv = has(argc, argv, "--csv");
	struct report *r;

	*s = CCS_OK;
	if (!json && !csv)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (r) {
		r->json = json;
		r->csv = csv;
		r->document =
			json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:[], s:n, s:[]}",
				  "ccrun", ccs_version(), "module", "schedule", "contract", "ranks",
				  "where", "settings", "baseline", "rows", "summary", "errors");
		r->rows = json_object_get(r->document, "rows");
		r->errors = json_object_get(r->document, "errors");
	}
	if (!r || !r->document)
		*s = ccs_error_set(CCS_ENOMEM, "out of memory");
	return r;
}

bool report_both(const struct report *r)
{
	return r && r->json && r->csv;
}

void report_module(struct report *r, const struct options *o, const struct ccs_module *m)
{
	if (!r)
		return;
	r->silent = o->rank != 0;
	if (o->table) {
		json_object_set_new(r->document, "table", string(o->table));
	} else {
		json_object_set_new(r->document, "module", string(o->file));
		json_object_set_new(r->document, "schedule", string(ccs_module_schedule(m)));
	}
	json_object_set_new(r->document, "contract", string(ccs_module_contract(m)));
	if (o->ranks)
		json_object_set_new(r->document, "ranks", json_integer(o->ranks));
}

void report_head(const struct bench *b, const char *where)
{
	const struct options *o = b->o;
	struct report *r = o->report;

	if (!r)
		return;
	json_object_set_new(r->document, "where", string(where));
	json_object_set_new(r->document, "settings",
			    json_pack("{s:i, s:i, s:i, s:i, s:b, s:i}", "warmup_runs",
				      (int)o->warmup, "timed_runs", (int)o->iters, "repeats",
				      (int)o->repeats, "graph_launches", (int)o->graphs, "checked",
				      b->checks, "timeout_s", (int)o->timeout));
	if (b->beside)
		json_object_set_new(r->document, "baseline",
				    json_pack("{s:s, s:o}", "name", o->against->name, "label",
					      string(b->label)));
}

/* ---- rows -------------------------------------------------------------------------- */

/* With a tuning: what it chose for the row. */
static void add_choice(json_t *row, const struct bench *b)
{
	char how[CCS_OPTIONS_TEXT];

	if (!b->tuning)
		return;
	ccs_run_options_text(&b->how, how, sizeof(how));
	json_object_set_new(row, "schedule", string(ccs_module_schedule(b->m)));
	json_object_set_new(row, "options", string(how));
}

static json_t *make_row(const struct row *r)
{
	json_t *root = r->root < 0 ? json_null() : json_integer(r->root);

	return json_pack("{s:I, s:I, s:s, s:s, s:o, s:n, s:n}", "size_bytes", (json_int_t)r->size,
			 "count", (json_int_t)r->check.count, "type", ccs_dtype_name(r->check.type),
			 "redop", r->check.numbers ? redop_name(r->check.op) : "none", "root", root,
			 "out_of_place", "in_place");
}

static json_t *make_side(const struct bench *b, const struct figures *x)
{
	if (!x->of->measured)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:o, s:o}", "time_us", x->of->us, "algbw_gb_per_s",
			 x->alg, "busbw_gb_per_s", x->bus, "wrong",
			 count_of(b->checks, x->of->wrong), "first_wrong",
			 x->of->wrong ? string(x->of->text) : json_null());
}

void report_result(const struct bench *b, const struct row *row, bool in_place,
		   const struct figures x[SIDES], double ratio)
{
	static const char *const names[] = { "out_of_place", "in_place" };
	const struct figures *ours = x + SIDE_OURS;
	struct report *r = b->o->report;
	json_t *placement;

	if (!r)
		return;
	if (!in_place) {
		r->row = make_row(row);
		add_choice(r->row, b);
		json_array_append_new(r->rows, r->row);
	}
	placement = make_side(b, ours);
	json_object_set_new(r->row, names[in_place], placement);
	if (!ours->of->measured)
		return;
	if (b->o->copy_rate) {
		json_object_set_new(placement, "copy_percent", measured(ours->copy_percent));
		json_object_set_new(placement, "copy_rate_gb_per_s", measured(ours->copy_rate));
	}
	if (b->beside) {
		json_object_set_new(placement, "baseline", make_side(b, x + SIDE_BASELINE));
		json_object_set_new(placement, "ratio", measured(ratio));
	}
	if (!r->json && !r->silent) {
		const struct record c = { "result", names[in_place], placement, r->row };

		write_record(r, &c);
	}
}

/* ---- the end ----------------------------------------------------------------------- */

void report_error(const struct options *o, const char *text)
{
	if (o->report)
		json_array_append_new(o->report->errors, json_pack("{s:o}", "text", string(text)));
}

static json_t *make_total(const struct bench *b, enum side side)
{
	double mean = b->columns[side] ? b->busbw[side] / b->columns[side] : -1;

	return json_pack("{s:o, s:o}", "wrong", count_of(b->checks, b->wrong[side]),
			 "mean_busbw_gb_per_s", measured(mean));
}

void report_summary(const struct bench *b)
{
	struct report *r = b->o->report;
	json_t *total;

	if (!r)
		return;
	total = make_total(b, SIDE_OURS);
	if (b->beside)
		json_object_set_new(total, "baseline", make_total(b, SIDE_BASELINE));
	if (b->o->copy_rate)
		json_object_set_new(total, "copy_rate_gb_per_s",
				    measured(b->copy_rate > 0 ? b->copy_rate : -1));
	json_object_set_new(r->document, "summary", total);
}

/* Errors, and the summary, which is there also if there is nothing to sum up. */
static void close_csv(struct report *r)
{
	struct record c = { "error", "", NULL, NULL };
	size_t i;

	json_array_foreach(r->errors, i, c.of)
	{
		write_record(r, &c);
	}
	c.kind = "summary";
	c.of = json_object_get(r->document, "summary");
	write_record(r, &c);
}

bool report_close(struct report *r, int status, bool silent)
{
	bool ok = true;

	if (!r)
		return true;
	if (r->document && !silent) {
		json_object_set_new(r->document, "status", json_integer(status));
		if (!r->json)
			close_csv(r);
		else
			ok = !json_dumpf(r->document, stdout,
					 JSON_INDENT(2) | JSON_REAL_PRECISION(9)) &&
			     putchar('\n') != EOF;
	}
	json_decref(r->document);
	free(r);
	return ok;
}
