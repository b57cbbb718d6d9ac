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

static json_t *measured(bool is, double x)
{
	return is && x >= 0 ? json_real(x) : json_null();
}

static json_t *count_of(bool is, size_t n)
{
	return is ? json_integer((json_int_t)n) : json_null();
}

/* A field of CSV. */
static void field(FILE *f, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void field_text(FILE *f, const json_t *s)
{
	fputc(',', f);
	if (json_is_string(s))
		field(f, json_string_value(s));
}

static void field_number(FILE *f, const json_t *x)
{
	fputc(',', f);
	if (json_is_integer(x))
		fprintf(f, "%lld", (long long)json_integer_value(x));
	else if (json_is_real(x))
		fprintf(f, "%.6f", json_real_value(x));
}

/* ---- CSV --------------------------------------------------------------------------- */

static const char columns[] =
	"record,schedule,contract,ranks,size_bytes,count,type,redop,root,placement,time_us,"
	"algbw_gb_per_s,busbw_gb_per_s,wrong,copy_percent,copy_rate_gb_per_s,baseline_time_us,"
	"baseline_algbw_gb_per_s,baseline_busbw_gb_per_s,baseline_wrong,ratio,status,text\n";

/* What a record has; each may be NULL. */
struct record {
	const char *kind;	       /* "result", "error", "summary" */
	const json_t *row, *placement; /* the row's object, and one of its placements */
	const char *where;
	const json_t *wrong, *busbw, *copy_rate, *baseline; /* of a summary */
	const json_t *status, *text;
};

static void write_record(struct report *r, const struct record *c)
{
	const json_t *p = c->placement, *base = p ? json_object_get(p, "baseline") : c->baseline;
	FILE *f = stdout;

	if (!r->headed)
		fputs(columns, f);
	r->headed = true;
	fputs(c->kind, f);
	field_text(f, json_object_get(r->document, "schedule"));
	field_text(f, json_object_get(r->document, "contract"));
	field_number(f, json_object_get(r->document, "ranks"));
	field_number(f, json_object_get(c->row, "size_bytes"));
	field_number(f, json_object_get(c->row, "count"));
	field_text(f, json_object_get(c->row, "type"));
	field_text(f, json_object_get(c->row, "redop"));
	field_number(f, json_object_get(c->row, "root"));
	fprintf(f, ",%s", c->where ? c->where : "");
	field_number(f, json_object_get(p, "time_us"));
	field_number(f, json_object_get(p, "algbw_gb_per_s"));
	field_number(f, p ? json_object_get(p, "busbw_gb_per_s") : c->busbw);
	field_number(f, p ? json_object_get(p, "wrong") : c->wrong);
	field_number(f, json_object_get(p, "copy_percent"));
	field_number(f, p ? json_object_get(p, "copy_rate_gb_per_s") : c->copy_rate);
	field_number(f, json_object_get(base, "time_us"));
	field_number(f, json_object_get(base, "algbw_gb_per_s"));
	field_number(f, json_object_get(base, p ? "busbw_gb_per_s" : "mean_busbw_gb_per_s"));
	field_number(f, json_object_get(base, "wrong"));
	field_number(f, json_object_get(p, "ratio"));
	field_number(f, c->status);
	field_text(f, p ? json_object_get(p, "first_wrong") : c->text);
	fputc('\n', f);
	fflush(f);
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
	json_object_set_new(r->document, "module", string(o->file));
	json_object_set_new(r->document, "schedule", string(ccs_module_schedule(m)));
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
	if (b->nccl)
		json_object_set_new(r->document, "baseline",
				    json_pack("{s:s, s:o}", "name", "nccl", "label",
					      string(nccl_side_label(b->nccl))));
}

/* ---- rows -------------------------------------------------------------------------- */

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
		json_array_append_new(r->rows, r->row);
	}
	placement = make_side(b, ours);
	json_object_set_new(r->row, names[in_place], placement);
	if (!ours->of->measured)
		return;
	if (b->o->copy_rate) {
		json_object_set_new(placement, "copy_percent", measured(true, ours->copy_percent));
		json_object_set_new(placement, "copy_rate_gb_per_s",
				    measured(true, ours->copy_rate));
	}
	if (b->nccl) {
		json_object_set_new(placement, "baseline", make_side(b, x + SIDE_NCCL));
		json_object_set_new(placement, "ratio", measured(true, ratio));
	}
	if (!r->json && !r->silent) {
		const struct record c = { .kind = "result",
					  .row = r->row,
					  .placement = placement,
					  .where = names[in_place] };

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
	bool any = b->columns[side] > 0;

	return json_pack("{s:o, s:o}", "wrong", count_of(b->checks, b->wrong[side]),
			 "mean_busbw_gb_per_s",
			 measured(any, any ? b->busbw[side] / b->columns[side] : 0));
}

void report_summary(const struct bench *b)
{
	struct report *r = b->o->report;
	json_t *total;

	if (!r)
		return;
	total = make_total(b, SIDE_OURS);
	if (b->nccl)
		json_object_set_new(total, "baseline", make_total(b, SIDE_NCCL));
	if (b->o->copy_rate)
		json_object_set_new(total, "copy_rate_gb_per_s",
				    measured(b->copy_rate > 0, b->copy_rate));
	json_object_set_new(r->document, "summary", total);
}

/* Errors, and the summary, which is there also if there is nothing to sum up. */
static void close_csv(struct report *r)
{
	const json_t *total = json_object_get(r->document, "summary");
	struct record c = { .kind = "error", .status = json_object_get(r->document, "status") };
	const json_t *error;
	size_t i;

	json_array_foreach(r->errors, i, error)
	{
		c.text = json_object_get(error, "text");
		write_record(r, &c);
	}
	c = (struct record){
		.kind = "summary",
		.wrong = json_object_get(total, "wrong"),
		.busbw = json_object_get(total, "mean_busbw_gb_per_s"),
		.copy_rate = json_object_get(total, "copy_rate_gb_per_s"),
		.baseline = json_object_get(total, "baseline"),
		.status = c.status,
	};
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
