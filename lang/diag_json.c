/*
 * Diagnostics as JSON: one object a line.
 *
 * In: a diagnostic, with texts of any bytes. Out: its object, with the keys that
 * ccc(1) lists; bytes that are no UTF-8 become U+FFFD. Lines and columns count from 1,
 * columns in bytes; an end is the place behind the last byte.
 */
#include "lang/diag_print.h"

#include <stdlib.h>
#include <string.h>

size_t diag_utf8(const char *s, size_t n, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)s[0];
	size_t len;

	if (first < 0x80) {
		*c = first;
		return 1;
	}
	if (first >= 0xf0 && first < 0xf8)
		len = 4;
	else if (first >= 0xe0)
		len = 3;
	else
		len = 2;
	if (first < 0xc0 || first >= 0xf8 || len > n)
		return 0;
	*c = first & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		unsigned char b = (unsigned char)s[i];
		if ((b & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (b & 0x3f);
	}
	if (*c < least[len] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000))
		return 0;
	return len;
}

json_t *diag_json_text(const char *s, const char *more)
{
	size_t n = strlen(s), extra = more ? strlen(more) + 3 : 0, at = 0;
	char *joined = malloc(n + extra + 1);
	char *clean = malloc(3 * (n + extra) + 1);
	json_t *text = NULL;

	if (joined && clean) {
		snprintf(joined, n + extra + 1, "%s%s%s%s", s, more ? " (" : "", more ? more : "",
			 more ? ")" : "");
		n += extra;
		for (size_t i = 0; i < n;) {
			uint32_t c;
			size_t len = diag_utf8(joined + i, n - i, &c);
			memcpy(clean + at, len ? joined + i : "\xef\xbf\xbd", len ? len : 3);
			at += len ? len : 3;
			i += len ? len : 1;
		}
		text = json_stringn(clean, at);
	}
	free(joined);
	free(clean);
	return text;
}

/* Where `span` begins and ends; without a place the keys are null, or left out. */
static void set_place(struct diags *d, json_t *object, struct span span, bool always)
{
	struct place lo = source_place(d->sources, span.lo);
	struct place hi = source_place(d->sources, span.hi);
	const struct {
		const char *key;
		uint32_t value;
	} keys[] = {
		{ "line", lo.line },
		{ "column", lo.column },
		{ "end_line", hi.line },
		{ "end_column", hi.column },
	};

	if (!lo.source && !always)
		return;
	json_object_set_new(object, "file",
			    lo.source ? diag_json_text(lo.source->name, NULL) : json_null());
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		json_object_set_new(object, keys[i].key,
				    lo.source ? json_integer(keys[i].value) : json_null());
}

static json_t *notes(struct diags *d, const struct diag_notes *list)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < list->n; i++) {
		json_t *note = json_object();

		json_object_set_new(note, "message", diag_json_text(list->v[i].text, NULL));
		set_place(d, note, list->v[i].span, false);
		json_array_append_new(array, note);
	}
	return array;
}

static json_t *fix(struct diags *d, const struct diag *g)
{
	json_t *object = json_object();

	set_place(d, object, g->fix.span, false);
	json_object_set_new(object, "text", diag_json_text(g->fix.text, NULL));
	return object;
}

void diag_find_places(struct diags *d, const struct diag *g)
{
	source_place(d->sources, g->span.lo);
	source_place(d->sources, g->fix.span.lo);
	for (uint32_t i = 0; i < g->notes.n; i++)
		source_place(d->sources, g->notes.v[i].span.lo);
}

void diag_print_json(struct diags *d, const struct diag *g, FILE *out)
{
	json_t *o;

	diag_find_places(d, g);
	o = json_object();
	json_object_set_new(o, "severity", json_string(diag_severity_name(g->severity)));
	json_object_set_new(o, "code",
			    g->code ? json_string(diag_code_text(g->code).s) : json_null());
	json_object_set_new(o, "message", diag_json_text(g->message, g->where));
	set_place(d, o, g->span, true);
	json_object_set_new(o, "rank", g->rank == NO_RANK ? json_null() : json_integer(g->rank));
	json_object_set_new(o, "notes", notes(d, &g->notes));
	json_object_set_new(o, "help", notes(d, &g->help));
	if (g->fix.text)
		json_object_set_new(o, "fix", fix(d, g));
	if (g->nranks > 1) {
		json_t *ranks = json_array();

		for (uint32_t i = 0; i < g->nranks; i++)
			json_array_append_new(ranks, json_integer(g->ranks[i]));
		json_object_set_new(o, "ranks", ranks);
	}
	if (g->has_slots)
		json_object_set_new(o, "min_slots",
				    g->min_slots < 0 ? json_null() : json_integer(g->min_slots));
	json_dumpf(o, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
	putc('\n', out);
	json_decref(o);
}
