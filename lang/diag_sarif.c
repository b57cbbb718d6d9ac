/*
 * Diagnostics as one SARIF 2.1.0 log, for code scanners and editors.
 *
 * In: diagnostics of one run of the command, which may be over several files, and the
 * reports of schedules that passed. Out: one JSON object: a result each, the rules that
 * they are about with the texts of --explain, notes as related locations, help in the
 * message, fixes as SARIF has them. Columns count characters (code points), an end is
 * behind the last one; names of files are URIs. No result is left out silently: where
 * jansson has no memory, closing the log fails.
 */
#include "lang/diag_print.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" \
	"sarif-schema-2.1.0.json"

struct diag_log {
	json_t *results, *rules;
	bool failed; /* no memory: something is missing */
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

/* {"text": s} */
static json_t *message(struct diag_log *log, json_t *text)
{
	json_t *o = json_object();

	set(log, o, "text", text);
	return o;
}

/* A path as a URI; what is no file has a scheme of ours. */
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

/* The character of the line that a byte's column is in, from 1. */
static uint32_t character(const struct place *place)
{
	uint32_t len, n = 1, c;
	const char *line =
		source_line((struct source *)(uintptr_t)place->source, place->line, &len);

	if (place->column - 1 < len)
		len = place->column - 1;
	for (uint32_t i = 0; i < len; n++) {
		size_t k = diag_utf8(line + i, len - i, &c);

		i += k ? (uint32_t)k : 1;
	}
	return n;
}

static json_t *region(struct diag_log *log, struct diags *d, struct span span)
{
	struct place lo = source_place(d->sources, span.lo);
	struct place hi = source_place(d->sources, span.hi < span.lo ? span.lo : span.hi);
	json_t *o = json_object();

	set(log, o, "startLine", json_integer(lo.line));
	set(log, o, "startColumn", json_integer(character(&lo)));
	set(log, o, "endLine", json_integer(hi.line));
	set(log, o, "endColumn", json_integer(character(&hi)));
	return o;
}

static json_t *artifact(struct diag_log *log, const struct source *src)
{
	json_t *o = json_object();

	set(log, o, "uri", uri(src));
	return o;
}

/* A location with a text, either of which may be missing. */
static json_t *location(struct diag_log *log, struct diags *d, struct span span, const char *text)
{
	const struct source *src = source_at(d->sources, span.lo);
	json_t *o = json_object(), *physical;

	if (src) {
		physical = json_object();
		set(log, physical, "artifactLocation", artifact(log, src));
		set(log, physical, "region", region(log, d, span));
		set(log, o, "physicalLocation", physical);
	}
	if (text)
		set(log, o, "message", message(log, diag_json_text(text, NULL)));
	return o;
}

/* ---- rules -------------------------------------------------------------------------------- */

/* The row of the rule for a code, made when first needed. */
static json_int_t rule(struct diag_log *log, int code)
{
	const struct diag_code *row = diag_code(code);
	const struct diag_code_text text = diag_code_text(code);
	const char *id = text.s;
	json_t *o;
	size_t i;

	for (i = 0; i < json_array_size(log->rules); i++) {
		const char *other =
			json_string_value(json_object_get(json_array_get(log->rules, i), "id"));
		if (other && !strcmp(other, id))
			return (json_int_t)i;
	}
	o = json_object();
	set(log, o, "id", json_string(id));
	if (diag_warning_name(code))
		set(log, o, "name", json_string(diag_warning_name(code)));
	if (row) {
		set(log, o, "shortDescription", message(log, json_string(row->title)));
		set(log, o, "help", message(log, json_string(row->text)));
	}
	append(log, log->rules, o);
	return (json_int_t)i;
}

/* ---- results ------------------------------------------------------------------------------ */

/* The message, and below it what to do, since results have no place for that. */
static json_t *text_of(const struct diag *g)
{
	json_t *first = diag_json_text(g->message, g->where), *all = first;

	for (uint32_t i = 0; i < g->help.n && all; i++) {
		json_t *help = diag_json_text(g->help.v[i].text, NULL);
		json_t *both = json_sprintf("%s\nhelp: %s", json_string_value(all),
					    json_string_value(help));

		json_decref(help);
		json_decref(all);
		all = both;
	}
	return all;
}

static json_t *fixes(struct diag_log *log, struct diags *d, const struct diag *g)
{
	json_t *array = json_array(), *fix = json_object(), *changes = json_array();
	json_t *change = json_object(), *replacements = json_array(), *r = json_object();

	set(log, r, "deletedRegion", region(log, d, g->fix.span));
	set(log, r, "insertedContent", message(log, diag_json_text(g->fix.text, NULL)));
	append(log, replacements, r);
	set(log, change, "artifactLocation", artifact(log, source_at(d->sources, g->fix.span.lo)));
	set(log, change, "replacements", replacements);
	append(log, changes, change);
	if (g->help.n)
		set(log, fix, "description", message(log, diag_json_text(g->help.v[0].text, NULL)));
	set(log, fix, "artifactChanges", changes);
	append(log, array, fix);
	return array;
}

/* What SARIF has no key for. */
static void set_properties(struct diag_log *log, json_t *result, const struct diag *g)
{
	json_t *o = json_object(), *ranks;

	if (g->nranks) {
		ranks = json_array();
		for (uint32_t i = 0; i < g->nranks; i++)
			append(log, ranks, json_integer(g->ranks[i]));
		set(log, o, "ranks", ranks);
	}
	if (g->has_slots)
		set(log, o, "min_slots",
		    g->min_slots < 0 ? json_null() : json_integer(g->min_slots));
	if (json_object_size(o))
		set(log, result, "properties", o);
	else
		json_decref(o);
}

void diag_log_add(struct diag_log *log, struct diags *d, const struct diag *g)
{
	json_t *result, *array;

	diag_find_places(d, g);
	result = json_object();
	if (g->code) {
		set(log, result, "ruleId", json_string(diag_code_text(g->code).s));
		set(log, result, "ruleIndex", json_integer(rule(log, g->code)));
	}
	set(log, result, "level", json_string(diag_severity_name(g->severity)));
	set(log, result, "message", message(log, text_of(g)));
	if (g->span.lo) {
		array = json_array();
		append(log, array, location(log, d, g->span, NULL));
		set(log, result, "locations", array);
	}
	if (g->notes.n) {
		array = json_array();
		for (uint32_t i = 0; i < g->notes.n; i++)
			append(log, array,
			       location(log, d, g->notes.v[i].span, g->notes.v[i].text));
		set(log, result, "relatedLocations", array);
	}
	if (g->fix.text)
		set(log, result, "fixes", fixes(log, d, g));
	set_properties(log, result, g);
	append(log, log->results, result);
}

bool diag_log_report(struct diag_log *log, const char *json)
{
	json_t *report = json_loads(json, 0, NULL), *result = json_object();
	const char *name = json_string_value(json_object_get(report, "schedule"));
	const char *contract = json_string_value(json_object_get(report, "contract"));

	set(log, result, "kind", json_string("pass"));
	set(log, result, "level", json_string("none"));
	set(log, result, "message",
	    message(log,
		    name && contract
			    ? json_sprintf(
				      "%s computes %s, without deadlocks and races: proved for every N asked",
				      name, contract)
			    : NULL));
	set(log, result, "properties", report);
	append(log, log->results, result);
	return !log->failed;
}

/* ---- the log ---------------------------------------------------------------------------------- */

struct diag_log *diag_log_open(void)
{
	struct diag_log *log = calloc(1, sizeof *log);

	if (!log)
		return NULL;
	log->results = json_array();
	log->rules = json_array();
	log->failed = !log->results || !log->rules;
	return log;
}

bool diag_log_close(struct diag_log *log, int status, FILE *out)
{
	json_t *top = json_object(), *runs = json_array(), *run = json_object();
	json_t *tool = json_object(), *driver = json_object();
	json_t *invocations = json_array(), *invocation = json_object();
	bool ok;

	set(log, driver, "name", json_string("ccc"));
	set(log, driver, "version", json_string(CCS_VERSION));
	set(log, driver, "rules", log->rules);
	set(log, tool, "driver", driver);
	set(log, run, "tool", tool);
	set(log, invocation, "executionSuccessful", json_boolean(status <= 1));
	set(log, invocation, "exitCode", json_integer(status));
	append(log, invocations, invocation);
	set(log, run, "invocations", invocations);
	set(log, run, "columnKind", json_string("unicodeCodePoints"));
	set(log, run, "results", log->results);
	append(log, runs, run);
	set(log, top, "$schema", json_string(SCHEMA));
	set(log, top, "version", json_string("2.1.0"));
	set(log, top, "runs", runs);
	ok = !log->failed && !json_dumpf(top, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	fputc('\n', out);
	ok &= !fflush(out);
	json_decref(top);
	free(log);
	return ok;
}
