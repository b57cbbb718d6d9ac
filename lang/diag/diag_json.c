/*
 * Diagnostics as JSON: one object a line.
 *
 * In: a diagnostic, with texts of any bytes. Out: its object, with the keys that ccc(1) lists;
 * bytes that are not UTF-8 become U+FFFD. Lines and columns count from 1, columns in bytes; an end
 * is the place after the last byte.
 */
#include "lang/diag/diag_print.h"

#include <stdlib.h>
#include <string.h>

/* From malloc. NULL: no memory. */
static char *utf8_text(const char *s)
{
	size_t n = strlen(s), at = 0, len;
	char *clean = malloc(3 * n + 1);
	uint32_t c;

	if (!clean)
		return NULL;
	for (size_t i = 0; i < n; i += len ? len : 1) {
		len = diag_utf8(s + i, n - i, &c);
		memcpy(clean + at, len ? s + i : "\xef\xbf\xbd", len ? len : 3);
		at += len ? len : 3;
	}
	clean[at] = '\0';
	return clean;
}

json_t *diag_json_text(const char *s)
{
	char *clean = utf8_text(s);
	json_t *text = clean ? json_string(clean) : NULL;

	free(clean);
	return text;
}

bool diag_json_facts(json_t *o, const struct diag *g, uint32_t least_ranks)
{
	json_t *ranks = g->nranks >= least_ranks ? json_array() : NULL;
	bool failed = ranks && json_object_set_new(o, "ranks", ranks);

	for (uint32_t i = 0; i < g->nranks && ranks; i++)
		failed |= json_array_append_new(ranks, json_integer(g->ranks[i])) != 0;
	if (g->has_slots)
		failed |= json_object_set_new(o, "min_slots",
					      g->min_slots < 0 ? json_null()
							       : json_integer(g->min_slots)) != 0;
	return !failed;
}

const char *diag_json_prepare(struct diags *d, const struct diag *g, struct diag_notes *notes)
{
	*notes = diag_all_notes(d, g);
	source_place(d->sources, g->span.lo);
	source_place(d->sources, g->fix.span.lo);
	for (uint32_t i = 0; i < notes->n; i++)
		source_place(d->sources, notes->v[i].span.lo);
	return g->where ? arena_printf(d->arena, "%s (%s)", g->message, g->where) : g->message;
}

/* Adds the begin and end of `span`; nulls without a place. */
static void set_place(struct diags *d, json_t *object, struct span span)
{
	struct place lo = source_place(d->sources, span.lo);
	struct place hi = source_place(d->sources, span.hi);
	json_t *place;

	if (lo.source)
		place = json_pack("{s:o, s:i, s:i, s:i, s:i}", "file",
				  diag_json_text(lo.source->name), "line", (int)lo.line, "column",
				  (int)lo.column, "end_line", (int)hi.line, "end_column",
				  (int)hi.column);
	else
		place = json_pack("{s:n, s:n, s:n, s:n, s:n}", "file", "line", "column", "end_line",
				  "end_column");
	json_object_update(object, place);
	json_decref(place);
}

/* Notes or help; entries without a place have no keys for it. */
static json_t *notes_array(struct diags *d, const struct diag_notes *list)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < list->n; i++) {
		json_t *note = json_pack("{s:o}", "message", diag_json_text(list->v[i].text));

		if (source_at(d->sources, list->v[i].span.lo))
			set_place(d, note, list->v[i].span);
		json_array_append_new(array, note);
	}
	return array;
}

void diag_print_json(struct diags *d, const struct diag *g, FILE *out)
{
	struct diag_notes notes;
	const char *message = diag_json_prepare(d, g, &notes);
	json_t *o = json_pack("{s:s, s:s?, s:o}", "severity", diag_severity_name(g->severity),
			      "code", g->code ? diag_code_text(g->code).s : NULL, "message",
			      diag_json_text(message));

	set_place(d, o, g->span);
	json_object_set_new(o, "rank", g->rank == NO_RANK ? json_null() : json_integer(g->rank));
	json_object_set_new(o, "notes", notes_array(d, &notes));
	json_object_set_new(o, "help", notes_array(d, &g->help));
	if (g->fix.text) {
		json_t *fix = json_object();

		set_place(d, fix, g->fix.span);
		json_object_set_new(fix, "text", diag_json_text(g->fix.text));
		json_object_set_new(o, "fix", fix);
	}
	diag_json_facts(o, g, 2);
	json_dumpf(o, out, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putc('\n', out);
	json_decref(o);
}
