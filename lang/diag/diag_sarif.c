/*
 * Diagnostics as one SARIF 2.1.0 log, for code scanners and editors.
 *
 * In: diagnostics of one run of the command, over one or more files, and the reports of schedules
 * that passed. Out: one JSON object with a result for each, the rules of their codes with the texts
 * of --explain, notes as related locations, help in the message, and fixes. Columns count
 * characters (code points); an end is after the last one. Names of files are URIs. No result is
 * left out silently: if jansson runs out of memory, closing the log fails.
 */
#include "lang/diag/diag_print.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" \
	"sarif-schema-2.1.0.json"

struct diag_log {
	json_t *results, *rules;
	bool failed; /* ran out of memory, so the log is incomplete */
};

/* ---- small parts ---------------------------------------------------------------------- */

static void set(struct diag_log *log, json_t *object, const char *key, json_t *value)
{
	log->failed |= json_object_set_new(object, key, value) != 0;
}

static void append(struct diag_log *log, json_t *array, json_t *value)
{
	log->failed |= json_array_append_new(array, value) != 0;
}

static json_t *message(const char *text)
{
	return json_pack("{s:o}", "text", diag_json_text(text));
}

/* A path as a URI; a source that is not a file has a private scheme. */
static json_t *uri(const struct source *src)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";
	const char *name = src->name;
	char *text, *at;
	json_t *result;

	if (src->prelude)
		return json_string("ccs:prelude");
	if (!strcmp(name, "<stdin>"))
		return json_string("ccs:stdin");
	text = malloc(8 + 3 * strlen(name));
	if (!text)
		return NULL;
	at = text + sprintf(text, "%s", *name == '/' ? "file://" : "");
	for (; *name; name++) {
		if (strchr(plain, *name))
			*at++ = *name;
		else
			at += sprintf(at, "%%%02X", (unsigned)(unsigned char)*name);
	}
	*at = '\0';
	result = json_string(text);
	free(text);
	return result;
}

/* The column in characters, from 1, of a column in bytes. */
static uint32_t character(const struct place *place)
{
	uint32_t len, n = 1, c;
	const char *line = source_line(place->source, place->line, &len);

	if (place->column - 1 < len)
		len = place->column - 1;
	for (uint32_t i = 0; i < len; n++) {
		size_t k = diag_utf8(line + i, len - i, &c);

		i += k ? (uint32_t)k : 1;
	}
	return n;
}

static json_t *region(struct diags *d, struct span span)
{
	struct place lo = source_place(d->sources, span.lo);
	struct place hi = source_place(d->sources, span.hi < span.lo ? span.lo : span.hi);

	return json_pack("{s:i, s:i, s:i, s:i}", "startLine", (int)lo.line, "startColumn",
			 (int)character(&lo), "endLine", (int)hi.line, "endColumn",
			 (int)character(&hi));
}

/* A location with a text, either of which may be missing. */
static json_t *location(struct diag_log *log, struct diags *d, struct span span, const char *text)
{
	const struct source *src = source_at(d->sources, span.lo);
	json_t *o = json_object();

	if (src)
		set(log, o, "physicalLocation",
		    json_pack("{s:{s:o}, s:o}", "artifactLocation", "uri", uri(src), "region",
			      region(d, span)));
	if (text)
		set(log, o, "message", message(text));
	return o;
}

/* ---- rules -------------------------------------------------------------------------------- */

/* The row of the rule for a code, made when first needed. */
static json_int_t rule(struct diag_log *log, int code)
{
	const struct diag_code *row = diag_code(code);
	const struct diag_code_text text = diag_code_text(code);
	size_t i;

	for (i = 0; i < json_array_size(log->rules); i++) {
		const char *other =
			json_string_value(json_object_get(json_array_get(log->rules, i), "id"));
		if (other && !strcmp(other, text.s))
			return (json_int_t)i;
	}
	append(log, log->rules,
	       json_pack("{s:s, s:s*, s:{s:s}, s:{s:s}}", "id", text.s, "name", row->name,
			 "shortDescription", "text", row->title, "help", "text", row->text));
	return (json_int_t)i;
}

/* ---- results ------------------------------------------------------------------------------ */

static json_t *fixes(struct diag_log *log, struct diags *d, const struct diag *g)
{
	json_t *fix = json_object();

	if (g->help.n)
		set(log, fix, "description", message(g->help.v[0].text));
	set(log, fix, "artifactChanges",
	    json_pack("[{s:{s:o}, s:[{s:o, s:o}]}]", "artifactLocation", "uri",
		      uri(source_at(d->sources, g->fix.span.lo)), "replacements", "deletedRegion",
		      region(d, g->fix.span), "insertedContent", message(g->fix.text)));
	return json_pack("[o]", fix);
}

/* The properties for which SARIF has no key. */
static void set_properties(struct diag_log *log, json_t *result, const struct diag *g)
{
	json_t *o;

	if (!g->nranks && !g->has_slots)
		return;
	o = json_object();
	log->failed |= !diag_json_facts(o, g, 1);
	set(log, result, "properties", o);
}

void diag_log_add(struct diag_log *log, struct diags *d, const struct diag *g)
{
	struct diag_notes notes;
	const char *text = diag_json_prepare(d, g, &notes);
	json_t *result, *array;

	/* SARIF results have no field for help. */
	for (uint32_t i = 0; i < g->help.n; i++)
		text = arena_printf(d->arena, "%s\nhelp: %s", text, g->help.v[i].text);
	result = json_object();
	if (g->code) {
		set(log, result, "ruleId", json_string(diag_code_text(g->code).s));
		set(log, result, "ruleIndex", json_integer(rule(log, g->code)));
	}
	set(log, result, "level", json_string(diag_severity_name(g->severity)));
	set(log, result, "message", message(text));
	if (g->span.lo)
		set(log, result, "locations", json_pack("[o]", location(log, d, g->span, NULL)));
	if (notes.n) {
		array = json_array();
		for (uint32_t i = 0; i < notes.n; i++)
			append(log, array, location(log, d, notes.v[i].span, notes.v[i].text));
		set(log, result, "relatedLocations", array);
	}
	if (g->fix.text)
		set(log, result, "fixes", fixes(log, d, g));
	set_properties(log, result, g);
	append(log, log->results, result);
}

/* A summary of the report of a right schedule or pipeline; NULL: it is wrong, and has errors. */
static json_t *report_text(const json_t *report)
{
	const char *name = json_string_value(json_object_get(report, "schedule"));
	const char *contract = json_string_value(json_object_get(report, "contract"));
	const char *pipeline = json_string_value(json_object_get(report, "pipeline"));

	if (pipeline)
		return json_is_true(json_object_get(report, "right"))
			       ? json_sprintf(
					 "%s finishes, and each message is taken by the receive of "
					 "its name",
					 pipeline)
			       : NULL;
	if (json_is_false(json_object_get(report, "proved"))) /* MSCCL XML */
		return NULL;
	return json_sprintf(
		"%s computes %s, without deadlocks and races: proved for every N checked", name,
		contract);
}

bool diag_log_report(struct diag_log *log, const char *json)
{
	json_t *report = json_loads(json, 0, NULL), *text = report_text(report);
	bool right = text != NULL;

	append(log, log->results,
	       json_pack("{s:s, s:s, s:{s:o}, s:o}", "kind", right ? "pass" : "informational",
			 "level", "none", "message", "text",
			 right ? text : json_string("the facts that were found"), "properties",
			 report));
	return !log->failed;
}

/* ---- the log -------------------------------------------------------------------------- */

struct diag_log *diag_log_open(void)
{
	struct diag_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->results = json_array();
	log->rules = json_array();
	log->failed = !log->results || !log->rules;
	return log;
}

bool diag_log_close(struct diag_log *log, int status, FILE *out)
{
	json_t *top = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[{s:b, s:i}], s:s, s:o}]}",
				"$schema", SCHEMA, "version", "2.1.0", "runs", "tool", "driver",
				"name", "ccc", "version", CCS_VERSION, "rules", log->rules,
				"invocations", "executionSuccessful", status <= 1, "exitCode",
				status, "columnKind", "unicodeCodePoints", "results", log->results);
	bool ok;

	ok = !log->failed &&
	     !json_dumpf(top, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	fputc('\n', out);
	ok &= !fflush(out) && !ferror(out);
	json_decref(top);
	free(log);
	return ok;
}
