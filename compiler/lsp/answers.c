/*
 * Answers to questions about a document.
 *
 * Each function runs the front end on the document (look.c), makes its data in the arena, where
 * memory may run out, and only then makes objects of jansson, so that none leaks. An empty answer
 * is null.
 */
#include "compiler/lsp/server.h"
#include "lang/keywords.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static struct text text_of(const struct server *s, const struct document *doc)
{
	return (struct text){ doc->text, doc->n, s->utf8 };
}

/* A request, and the front end that answers it. */
struct question {
	struct server *s;
	struct look l;
	size_t offset; /* of its position, if it has one */
	bool places;   /* locations, with a uri, are wanted, not ranges alone */
	json_t *answer;
};

/* Calls `make` for the answer, and closes the front end; NULL: no memory. */
static json_t *ask(struct question *q, struct document *doc, json_t *(*make)(struct question *q))
{
	look_open(&q->l, q->s, doc);
	if (!setjmp(q->l.full))
		q->answer = make(q);
	look_free(&q->l);
	return q->answer;
}

/* ask() for a question about a position. */
static json_t *ask_at(struct question *q, struct document *doc, const json_t *params,
		      json_t *(*make)(struct question *q))
{
	struct text t = text_of(q->s, doc);

	if (!text_offset(&t, json_object_get(params, "position"), &q->offset))
		return json_null();
	return ask(q, doc, make);
}

/* The range of a span of any source. */
static json_t *range_of(const struct server *s, const struct source *src, struct span span)
{
	struct text t = { src->text, src->len, s->utf8 };

	return text_range(&t, span.lo - src->base, span.hi - src->base);
}

/* ---- hover ---------------------------------------------------------------------------- */

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The word at an offset, which may be just after its last letter; its length in *n. */
static const char *word_at(const struct document *doc, size_t offset, size_t *n)
{
	size_t lo = offset, hi = offset;

	while (lo && is_letter(doc->text[lo - 1]))
		lo--;
	while (hi < doc->n && is_letter(doc->text[hi]))
		hi++;
	*n = hi - lo;
	return doc->text + lo;
}

static const char *explanation(struct arena *a, int code)
{
	const struct diag_code *d = diag_code(code);

	return d ? arena_printf(a, "**%s**: %s\n```text\n%s```", diag_code_text(code).s, d->title,
				d->text)
		 : "";
}

/* E0304, as in a comment. 0: it is no code. */
static int code_of(const char *word, size_t n)
{
	int number = 0;

	if (n != 5 || (word[0] != 'E' && word[0] != 'W'))
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (!isdigit((unsigned char)word[i]))
			return 0;
		number = number * 10 + (word[i] - '0');
	}
	return number + (word[0] == 'W' ? WARNING_CODES : 0);
}

/* The word there: a name, else a word of the language, else a code. */
static const char *named(struct look *l, size_t offset)
{
	const struct use *u = l->module ? look_use(l, look_at(l, offset)) : NULL;
	const char *text = u ? look_describe(l, u) : "", *word;
	const struct word *known;
	size_t n;

	if (*text)
		return text;
	word = word_at(l->doc, offset, &n);
	known = keyword_find(word, n);
	if (known)
		return arena_printf(&l->arena, "```ccs\n%s\n```\n%s", known->usage, known->about);
	return explanation(&l->arena, code_of(word, n));
}

static json_t *hover(struct question *q)
{
	enum { MOST_CODES = 4 };
	struct look *l = &q->l;
	int codes[MOST_CODES];
	const char *text;
	size_t n;

	look_read(l, false);
	text = named(l, q->offset);
	n = findings_codes(l->doc, q->s->utf8, q->offset, codes, MOST_CODES);
	for (size_t i = 0; i < n; i++)
		text = arena_printf(&l->arena, "%s%s%s", text, *text ? "\n\n---\n" : "",
				    explanation(&l->arena, codes[i]));
	if (!*text)
		return json_null();
	return json_pack("{s:{s:s, s:s}}", "contents", "kind", "markdown", "value", text);
}

json_t *answer_hover(struct server *s, struct document *doc, const json_t *params)
{
	return ask_at(&(struct question){ .s = s }, doc, params, hover);
}

/* ---- definition, references ----------------------------------------------------------- */

/* {uri, range}; null, if it is in no file. */
static json_t *location(struct server *s, const struct source *src, struct span span)
{
	const struct document *open = NULL;
	json_t *answer = json_null();
	char *uri;

	if (!src || !src->path)
		return answer;
	for (size_t i = 0; i < s->documents.n; i++)
		if (!strcmp(s->documents.v[i].path, src->path))
			open = &s->documents.v[i];
	uri = open ? strdup(open->uri) : uri_of(src->path);
	if (uri)
		answer = json_pack("{s:s, s:o}", "uri", uri, "range", range_of(s, src, span));
	free(uri);
	return answer;
}

static json_t *definition(struct question *q)
{
	struct look *l = &q->l;
	const struct use *u;
	const struct decl *import;
	uint32_t at;

	look_read(l, false);
	if (!l->module)
		return json_null();
	at = look_at(l, q->offset);
	u = look_use(l, at);
	import = u ? NULL : look_import(l, at);
	if (u)
		return location(q->s, source_at(&l->sources, u->defined.lo), u->defined);
	if (import && import->imported) {
		const struct source *src = import->imported->source;

		return location(q->s, src, (struct span){ src->base, src->base });
	}
	return json_null();
}

json_t *answer_definition(struct server *s, struct document *doc, const json_t *params)
{
	return ask_at(&(struct question){ .s = s }, doc, params, definition);
}

static int by_place(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
}

/* The places of all names in the document with the same definition as the one at the position. */
static json_t *same_names(struct question *q)
{
	struct look *l = &q->l;
	const struct use *u;
	json_t *list;
	uint32_t last = 0;

	look_read(l, false);
	if (l->uses.n)
		qsort(l->uses.v, l->uses.n, sizeof(*l->uses.v), by_place);
	u = l->module ? look_use(l, look_at(l, q->offset)) : NULL;
	if (!u)
		return json_null();
	list = json_array();
	for (uint32_t i = 0; i < l->uses.n; i++) {
		const struct use *v = &l->uses.v[i];
		const struct source *src = source_at(&l->sources, v->span.lo);

		/* names that a head defines are met twice */
		if (v->defined.lo != u->defined.lo || src != l->module->main->source ||
		    v->span.lo == last)
			continue;
		last = v->span.lo;
		json_array_append_new(list, q->places ? location(q->s, src, v->span)
						      : json_pack("{s:o}", "range",
								  range_of(q->s, src, v->span)));
	}
	return list;
}

json_t *answer_references(struct server *s, struct document *doc, const json_t *params)
{
	return ask_at(&(struct question){ .s = s, .places = true }, doc, params, same_names);
}

json_t *answer_highlights(struct server *s, struct document *doc, const json_t *params)
{
	return ask_at(&(struct question){ .s = s }, doc, params, same_names);
}

/* ---- symbols -------------------------------------------------------------------------- */

/* SymbolKind, and its name. */
static int symbol_kind(enum decl_kind kind, const char **called)
{
	static const struct {
		int kind;
		const char *called;
	} kinds[] = {
		[D_CONTRACT] = { 11, "contract" }, [D_TOPOLOGY] = { 23, "topology" },
		[D_PROC] = { 6, "proc" },	   [D_SCHEDULE] = { 12, "schedule" },
		[D_LET] = { 14, "let" },	   [D_FN] = { 12, "fn" },
		[D_IMPORT] = { 1, "import" },
	};

	*called = kinds[kind].called;
	return kinds[kind].kind;
}

static json_t *symbol(struct server *s, const struct decl *d)
{
	bool import = d->kind == D_IMPORT;
	const char *called;
	int kind = symbol_kind(d->kind, &called);
	const char *name = import ? d->path : d->name.name;

	return json_pack("{s:s, s:s, s:i, s:o, s:o}", "name", *name ? name : "?", "detail", called,
			 "kind", kind, "range", range_of(s, d->source, d->span), "selectionRange",
			 range_of(s, d->source, import ? d->text_span : d->name.span));
}

static json_t *symbols(struct question *q)
{
	struct look *l = &q->l;
	json_t *list;

	look_read(l, true);
	list = json_array();
	for (const struct decl *d = l->module ? l->module->main->decls : NULL; d; d = d->next)
		if (d->kind == D_IMPORT || d->name.name)
			json_array_append_new(list, symbol(q->s, d));
	return list;
}

json_t *answer_symbols(struct server *s, struct document *doc, const json_t *params)
{
	(void)params;
	return ask(&(struct question){ .s = s }, doc, symbols);
}

/* ---- formatting ----------------------------------------------------------------------- */

/* One edit of the lines that differ; equal lines before and after it keep cursors and marks. */
static json_t *edit_of(const struct text *old, const char *new, size_t n)
{
	size_t same = 0, tail = 0, least = old->n < n ? old->n : n;

	while (same < least && old->s[same] == new[same])
		same++;
	while (same && old->s[same - 1] != '\n')
		same--;
	while (tail < least - same && old->s[old->n - 1 - tail] == new[n - 1 - tail])
		tail++;
	while (tail && old->s[old->n - tail - 1] != '\n')
		tail--;
	return json_pack("[{s:o, s:s%}]", "range", text_range(old, same, old->n - tail), "newText",
			 new + same, n - same - tail);
}

/* Text with a mistake in it is not formatted: null. */
static json_t *formatted(struct question *q)
{
	struct look *l = &q->l;
	struct text old = text_of(q->s, l->doc);
	const char *new;
	size_t n = 0;

	look_read(l, true);
	if (!l->module || l->diags.errors)
		return json_null();
	new = lang_format(&l->front, l->module->main, &n);
	if (n == old.n && !memcmp(new, old.s, n))
		return json_array();
	return edit_of(&old, new, n);
}

json_t *answer_formatting(struct server *s, struct document *doc, const json_t *params)
{
	(void)params;
	return ask(&(struct question){ .s = s }, doc, formatted);
}

/* ---- completion ----------------------------------------------------------------------- */

static void add_words(json_t *list, const struct word *(*table)(size_t *n), int kind)
{
	size_t n;
	const struct word *v = table(&n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:s}", "label", v[i].text,
						      "kind", kind, "detail", v[i].usage,
						      "documentation", v[i].about));
}

/* The declarations that the document sees. */
static void add_names(json_t *list, const struct module *m)
{
	const char *called;

	for (const struct unit *u = m->units; u; u = u->next)
		for (const struct decl *d = u->decls; d; d = d->next)
			if (d->kind != D_IMPORT && d->name.name) {
				symbol_kind(d->kind, &called);
				json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "label",
								      d->name.name, "kind", 3,
								      "detail", called));
			}
}

static json_t *completion(struct question *q)
{
	enum { KEYWORD = 14, FUNCTION = 3 };
	json_t *list;

	look_read(&q->l, false);
	list = json_array();
	add_words(list, keyword_words, KEYWORD);
	add_words(list, keyword_places, KEYWORD);
	add_words(list, keyword_builtins, FUNCTION);
	if (q->l.module)
		add_names(list, q->l.module);
	return list;
}

json_t *answer_completion(struct server *s, struct document *doc, const json_t *params)
{
	(void)params;
	return ask(&(struct question){ .s = s }, doc, completion);
}

/* ---- code actions --------------------------------------------------------------------- */

json_t *answer_actions(struct server *s, struct document *doc, const json_t *params)
{
	return findings_actions(doc, s->utf8, json_object_get(params, "range"));
}

/* ---- lenses --------------------------------------------------------------------------- */

/* The lens above a schedule: the verdict, if its check has ended, and the command that draws an
 * example. */
static json_t *lens(struct server *s, const struct document *doc, const struct decl *d)
{
	const json_t *verdict = json_object_get(doc->verdicts, d->name.name);
	const char *text = json_string_value(json_object_get(verdict, "text"));
	json_t *n = json_object_get(verdict, "n"), *root = json_object_get(verdict, "root");
	json_t *picture = json_pack("{s:s, s:s}", "uri", doc->uri, "schedule", d->name.name);
	char title[200];

	if (json_integer_value(n) > 0)
		json_object_set(picture, "n", n);
	if (root && json_integer_value(root) >= 0)
		json_object_set(picture, "root", root);
	snprintf(title, sizeof(title), "%s%sdraw", text ? text : "", text ? "; " : "");
	return json_pack("{s:o, s:{s:s, s:s, s:[o]}}", "range",
			 range_of(s, d->source, d->name.span), "command", "title", title, "command",
			 "ccc.draw", "arguments", picture);
}

static json_t *lenses(struct question *q)
{
	struct look *l = &q->l;
	json_t *list;

	look_read(l, true);
	list = json_array();
	for (const struct decl *d = l->module ? l->module->main->decls : NULL; d; d = d->next)
		if (d->kind == D_SCHEDULE && d->name.name)
			json_array_append_new(list, lens(q->s, l->doc, d));
	return list;
}

json_t *answer_lenses(struct server *s, struct document *doc, const json_t *params)
{
	(void)params;
	return ask(&(struct question){ .s = s }, doc, lenses);
}
