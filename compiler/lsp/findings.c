/*
 * Converts diagnostics to those of LSP.
 *
 * In: the diagnostics of the front end, or of the whole check. Out: LSP's Diagnostic objects of one
 * document. An error in an imported file is reported at the document's call that led there, or else
 * at the import, with the place as related information. A fix goes along as `data`, from which code
 * actions are made. A diagnostic without a place is reported at the first schedule.
 */
#include "compiler/lsp/server.h"
#include "lang/diag/diag_print.h"

#include <stdlib.h>
#include <string.h>

struct findings {
	struct diags *d;
	const struct module *m;
	const char *path; /* the document's */
	bool utf8;
};

static const struct source *own(const struct findings *f, struct span span)
{
	const struct source *src = source_at(f->d->sources, span.lo);

	return src && src->path && !strcmp(src->path, f->path) ? src : NULL;
}

static struct text text_of(const struct findings *f, const struct source *src)
{
	return (struct text){ src->text, src->len, f->utf8 };
}

static json_t *range(const struct findings *f, const struct source *src, struct span span)
{
	struct text t = text_of(f, src);

	return text_range(&t, span.lo - src->base, span.hi - src->base);
}

/* The import, direct or indirect, of a file in the document; else the first schedule. */
static struct span stand_in(const struct findings *f, const struct source *src)
{
	struct span first = { 0 }, schedule = { 0 };

	for (const struct decl *d = f->m && f->m->main ? f->m->main->decls : NULL; d; d = d->next) {
		if (d->kind == D_IMPORT && d->imported && d->imported->source == src)
			return d->text_span;
		if (d->kind == D_IMPORT && !first.lo)
			first = d->text_span;
		if (d->kind == D_SCHEDULE && !schedule.lo)
			schedule = d->name.span;
	}
	return src && !src->prelude && first.lo ? first : schedule;
}

/* The place in the document at which a diagnostic is reported. */
static struct span own_place(const struct findings *f, const struct diag *g)
{
	if (own(f, g->span))
		return g->span;
	for (uint32_t i = 0; i < diag_calls_kept(&g->calls); i++)
		if (own(f, g->calls.v[i].span))
			return g->calls.v[i].span;
	return stand_in(f, source_at(f->d->sources, g->span.lo));
}

/* {uri, range} of a place in any file; NULL: it is not in a file. */
static json_t *location(const struct findings *f, struct span span)
{
	const struct source *src = source_at(f->d->sources, span.lo);
	char *uri = src && src->path ? uri_of(src->path) : NULL;
	json_t *at = uri ? json_pack("{s:s, s:o}", "uri", uri, "range", range(f, src, span)) : NULL;

	free(uri);
	return at;
}

/* ---- messages ----------------------------------------------------------------------------- */

/* The whole text: message, notes without a place in a file, help. In the arena. */
static const char *whole_message(const struct findings *f, const struct diag *g,
				 struct diag_notes *notes)
{
	struct arena *a = f->d->arena;
	const char *text = diag_json_prepare(f->d, g, notes);

	if (g->nranks > 1)
		text = arena_printf(a, "%s\nthe same for ranks %s", text,
				    diag_ranks(a, g->ranks, g->nranks));
	for (uint32_t i = 0; i < notes->n; i++) {
		const struct source *src = source_at(f->d->sources, notes->v[i].span.lo);

		if (!src || !src->path)
			text = arena_printf(a, "%s\n%s", text, notes->v[i].text);
	}
	for (uint32_t i = 0; i < g->help.n; i++)
		text = arena_printf(a, "%s\nhelp: %s", text, g->help.v[i].text);
	return text;
}

static json_t *related(const struct findings *f, const struct diag *g,
		       const struct diag_notes *notes, struct span at)
{
	json_t *list = json_array();
	json_t *place = at.lo == g->span.lo ? NULL : location(f, g->span);

	if (place)
		json_array_append_new(
			list, json_pack("{s:o, s:s}", "location", place, "message", "it is here"));
	for (uint32_t i = 0; i < notes->n; i++) {
		place = location(f, notes->v[i].span);
		if (place)
			json_array_append_new(list,
					      json_pack("{s:o, s:o}", "location", place, "message",
							diag_json_text(notes->v[i].text)));
	}
	return list;
}

static json_t *fix(const struct findings *f, const struct diag *g)
{
	json_t *place = g->fix.text ? location(f, g->fix.span) : NULL;

	if (!place && g->fix.text && own(f, g->fix.span)) /* of a document without a file */
		place = json_pack("{s:n, s:o}", "uri", "range",
				  range(f, own(f, g->fix.span), g->fix.span));
	if (place && own(f, g->fix.span)) /* with the client's URI */
		json_object_set_new(place, "uri", json_null());
	if (place)
		json_object_set_new(place, "newText", diag_json_text(g->fix.text));
	for (uint32_t i = 0; place && i < g->help.n; i++) /* says where it is, too */
		if (g->help.v[i].tried)
			json_object_set_new(place, "title", diag_json_text(g->help.v[i].text));
	return place;
}

static int severity(enum severity s)
{
	switch (s) {
	case SEV_ERROR: return 1;
	case SEV_WARNING: return 2;
	case SEV_NOTE: return 3;
	}
	return 1;
}

static json_t *finding(const struct findings *f, const struct diag *g)
{
	struct diag_notes notes;
	const char *message = whole_message(f, g, &notes);
	struct span at = own_place(f, g);
	const struct source *src = own(f, at);
	json_t *o, *edit;

	o = json_pack("{s:o, s:i, s:s, s:o}", "range",
		      src ? range(f, src, at) : text_range(&(struct text){ .s = "" }, 0, 0),
		      "severity", severity(g->severity), "source", "ccc", "message",
		      diag_json_text(message));
	if (g->code)
		json_object_set_new(o, "code", json_string(diag_code_text(g->code).s));
	if (g->code == W_UNUSED)
		json_object_set_new(o, "tags", json_pack("[i]", 1));
	json_object_set_new(o, "relatedInformation", related(f, g, &notes, at));
	edit = fix(f, g);
	if (edit)
		json_object_set_new(o, "data", edit);
	return o;
}

json_t *findings_json(struct diags *d, const struct module *m, const char *path, bool utf8)
{
	struct findings f = { d, m, path, utf8 };
	json_t *list = json_array();

	/* A note without a place is about the run: there is no schedule in a file of procs. */
	for (uint32_t i = 0; i < d->n && json_array_size(list) < MOST_FINDINGS; i++)
		if (d->v[i]->severity != SEV_NOTE || d->v[i]->span.lo)
			json_array_append_new(list, finding(&f, d->v[i]));
	return list;
}

json_t *findings_why(struct diags *d, const struct module *m, const char *path)
{
	struct findings f = { d, m, path, false };
	struct diag_notes notes;
	const char *text;
	uint32_t i = 0;

	while (i < d->n && d->v[i]->severity != SEV_ERROR)
		i++;
	if (i == d->n)
		return json_string("there is nothing to draw: write a schedule");
	text = whole_message(&f, d->v[i], &notes);
	if (d->v[i]->code == 501)
		text = arena_printf(d->arena, "draw it for fewer ranks: %s", text);
	else if (own(&f, d->v[i]->span))
		text = arena_printf(d->arena, "correct line %u, then draw again: %s",
				    source_place(d->sources, d->v[i]->span.lo).line, text);
	else if (d->v[i]->code == 702 && !strncmp(text, "--", 2)) /* options have no place */
		text += 2;
	return diag_json_text(text);
}

/* ---- in the server -------------------------------------------------------------------------- */

void findings_publish(struct server *s, struct document *doc, json_t *findings)
{
	json_decref(doc->findings);
	doc->findings = findings;
	server_notify(s, "textDocument/publishDiagnostics",
		      json_pack("{s:s, s:I, s:O}", "uri", doc->uri, "version", doc->version,
				"diagnostics", findings));
}

/* The code action for a finding's fix. */
static json_t *quick_fix(const struct document *doc, json_t *finding_)
{
	const json_t *data = json_object_get(finding_, "data");
	const char *uri = json_string_value(json_object_get(data, "uri")),
		   *text = json_string_value(json_object_get(data, "newText")),
		   *cure = json_string_value(json_object_get(data, "title"));
	char title[200];

	snprintf(title, sizeof(title),
		 cure		 ? "%.190s"
		 : text && *text ? "Write `%.50s`"
				 : "Remove it",
		 cure ? cure : text);
	for (size_t n = strlen(title); n && title[n - 1] & 0x80; n--) /* it may be cut */
		title[n - 1] = 0;
	return json_pack("{s:s, s:s, s:b, s:[O], s:{s:{s:[{s:O, s:O}]}}}", "title", title, "kind",
			 "quickfix", "isPreferred", 1, "diagnostics", finding_, "edit", "changes",
			 uri ? uri : doc->uri, "range", json_object_get(data, "range"), "newText",
			 json_object_get(data, "newText"));
}

static json_t *explain_action(json_t *finding_)
{
	const char *code = json_string_value(json_object_get(finding_, "code"));
	char title[40];

	snprintf(title, sizeof(title), "Explain %.8s", code);
	return json_pack("{s:s, s:s, s:[O], s:{s:s, s:s, s:[s]}}", "title", title, "kind",
			 "quickfix", "diagnostics", finding_, "command", "title", title, "command",
			 "ccc.explain", "arguments", code);
}

json_t *findings_actions(const struct document *doc, bool utf8, const json_t *wanted)
{
	struct text t = { doc->text, doc->n, utf8 };
	json_t *list = json_array(), *finding_;
	size_t lo, hi, i;

	if (!text_offsets(&t, wanted, &lo, &hi))
		return list;
	json_array_foreach(doc->findings, i, finding_)
	{
		size_t from, to;

		if (!text_offsets(&t, json_object_get(finding_, "range"), &from, &to) ||
		    from > hi || to < lo)
			continue;
		if (json_object_get(finding_, "data"))
			json_array_append_new(list, quick_fix(doc, finding_));
		if (json_is_string(json_object_get(finding_, "code")))
			json_array_append_new(list, explain_action(finding_));
	}
	return list;
}

/* The number of a code: 304 for "E0304". */
static int code_number(const char *code)
{
	return code ? atoi(code + 1) + (code[0] == 'W' ? WARNING_CODES : 0) : 0;
}

size_t findings_codes(const struct document *doc, bool utf8, size_t offset, int *codes, size_t most)
{
	struct text t = { doc->text, doc->n, utf8 };
	size_t n = 0, lo, hi, i;
	const json_t *finding_;

	json_array_foreach(doc->findings, i, finding_)
	{
		int code = code_number(json_string_value(json_object_get(finding_, "code")));
		bool known = false;

		if (!code || n == most ||
		    !text_offsets(&t, json_object_get(finding_, "range"), &lo, &hi) ||
		    offset < lo || offset > hi)
			continue;
		for (size_t k = 0; k < n; k++)
			known |= codes[k] == code;
		if (!known)
			codes[n++] = code;
	}
	return n;
}
