/*
 * Renaming: changes a name that the document defines at all its places in the document.
 *
 * In: a position, and the new name. Out: edits; or the reason why the name is refused. The new text
 * is parsed before it is offered, and every name in it must have the same meaning as before. So a
 * new name is refused if it is a keyword, has another meaning there, or would hide another
 * definition. Files that import the document are not read; a check of them reports the old name as
 * unknown. O(text of the document, and of its imports).
 */
#include "compiler/lsp/server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 255 };

struct renaming {
	struct server *s;
	struct document *doc;
	struct look l;	   /* the front end on the current text */
	struct look after; /* the front end on the new text */
	size_t offset;	   /* of the position */
	const char *to;
	struct span *places; /* of the name, in the document, ascending */
	uint32_t n, cap;
	const char *why; /* why it is refused; or NULL */
	json_t *answer;
};

/* ---- the definition to rename --------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->span.lo != y->span.lo)
		return x->span.lo < y->span.lo ? -1 : 1;
	return (x->defined.lo > y->defined.lo) - (x->defined.lo < y->defined.lo);
}

static void read_names(struct look *l)
{
	look_read(l, false);
	if (l->uses.n)
		qsort(l->uses.v, l->uses.n, sizeof(*l->uses.v), by_place);
}

static bool is_here(struct look *l, uint32_t at)
{
	return source_at(&l->sources, at) == l->module->main->source;
}

/* The name at the position; NULL: none that can be renamed, with the reason in `why`. */
static const struct use *find_name(struct renaming *r)
{
	const struct use *u;

	read_names(&r->l);
	if (!r->l.module) {
		r->why = "this text cannot be read: correct its mistakes first";
		return NULL;
	}
	u = look_use(&r->l, look_at(&r->l, r->offset));
	if (!u)
		r->why = "there is no name here";
	else if (!is_here(&r->l, u->defined.lo))
		r->why = "this name is defined in another file, or by the language";
	return r->why ? NULL : u;
}

static void find_places(struct renaming *r, const struct use *u)
{
	for (uint32_t i = 0; i < r->l.uses.n; i++) {
		const struct use *v = &r->l.uses.v[i];

		if (v->defined.lo == u->defined.lo && is_here(&r->l, v->span.lo) &&
		    (!r->n || r->places[r->n - 1].lo != v->span.lo)) /* heads are walked twice */
			ARENA_PUSH(&r->l.arena, r->places, r->n, r->cap) = v->span;
	}
}

/* ---- the check of the new text --------------------------------------------------------------- */

/* The length of a byte order mark: the document's text has it, and its source has not. */
static size_t skipped(const struct renaming *r)
{
	return r->doc->n - r->l.module->main->source->len;
}

static char *new_text(struct renaming *r, size_t *n)
{
	uint32_t base = r->l.module->main->source->base;
	size_t longest = r->doc->n + r->n * strlen(r->to), at = 0;
	char *text = arena_alloc(&r->l.arena, longest + 1);

	*n = 0;
	for (uint32_t i = 0; i <= r->n; i++) {
		size_t lo = i < r->n ? r->places[i].lo - base + skipped(r) : r->doc->n;

		memcpy(text + *n, r->doc->text + at, lo - at);
		*n += lo - at;
		if (i == r->n)
			break;
		memcpy(text + *n, r->to, strlen(r->to));
		*n += strlen(r->to);
		at = lo + (r->places[i].hi - r->places[i].lo);
	}
	return text;
}

/* The offset in the new source of an offset in the old one. */
static uint32_t moved(const struct renaming *r, uint32_t offset)
{
	uint32_t base = r->l.module->main->source->base, to = offset;

	for (uint32_t i = 0; i < r->n && r->places[i].lo - base < offset; i++)
		to += (uint32_t)strlen(r->to) - (r->places[i].hi - r->places[i].lo);
	return to;
}

static bool same_source(const struct source *x, const struct source *y)
{
	return x->path && y->path ? !strcmp(x->path, y->path) : !x->path && !y->path;
}

static bool same_place(struct renaming *r, uint32_t before, uint32_t after)
{
	const struct source *x = source_at(&r->l.sources, before),
			    *y = source_at(&r->after.sources, after);

	if (!x || !y)
		return !x && !y;
	if (x == r->l.module->main->source)
		return y == r->after.module->main->source &&
		       after - y->base == moved(r, before - x->base);
	return same_source(x, y) && after - y->base == before - x->base;
}

static bool same_names(struct renaming *r)
{
	const struct uses *x = &r->l.uses, *y = &r->after.uses;
	bool same = r->after.module && r->after.diags.errors == r->l.diags.errors && x->n == y->n;

	for (uint32_t i = 0; i < x->n && same; i++)
		same = same_place(r, x->v[i].span.lo, y->v[i].span.lo) &&
		       same_place(r, x->v[i].defined.lo, y->v[i].defined.lo);
	return same;
}

/* Runs the front end on the new text. */
static void try_text(struct renaming *r, const char *text, size_t n)
{
	look_open(&r->after, r->s, r->doc);
	r->why = "out of memory";
	if (!setjmp(r->after.full)) {
		for (size_t i = 0; r->after.unsaved && i < r->s->documents.n; i++)
			if (!strcmp(r->after.unsaved[i].path, r->doc->path)) {
				r->after.unsaved[i].text = text;
				r->after.unsaved[i].len = n;
			}
		read_names(&r->after);
		r->why = same_names(r) ? NULL : "the new name is taken here, or is a keyword";
	}
	look_free(&r->after);
}

/* ---- answers -------------------------------------------------------------------------------- */

static json_t *range_of(struct renaming *r, struct span span)
{
	const struct source *src = r->l.module->main->source;
	struct text t = { src->text, src->len, r->s->utf8 };

	return text_range(&t, span.lo - src->base, span.hi - src->base);
}

static void make_edits(struct renaming *r)
{
	json_t *edits = json_array();

	for (uint32_t i = 0; i < r->n; i++)
		json_array_append_new(edits,
				      json_pack("{s:o, s:s}", "range", range_of(r, r->places[i]),
						"newText", r->to));
	r->answer = json_pack("{s:{s:o}}", "changes", r->doc->uri, edits);
}

static bool is_name(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n && n <= MOST_NAME && !s[n] && !isdigit((unsigned char)*s);
}

static void rename_all(struct renaming *r)
{
	const struct use *u = find_name(r);
	size_t n;
	const char *text;

	if (!u)
		return;
	find_places(r, u);
	text = new_text(r, &n);
	try_text(r, text, n);
	if (!r->why)
		make_edits(r);
}

static void show_name(struct renaming *r)
{
	const struct use *u = find_name(r);

	if (u)
		r->answer = json_pack("{s:o, s:s}", "range", range_of(r, u->span), "placeholder",
				      look_text(&r->l, u->span));
}

static void with_look(struct renaming *r, const json_t *params, void (*act)(struct renaming *r))
{
	struct text t = { r->doc->text, r->doc->n, r->s->utf8 };

	if (!text_offset(&t, json_object_get(params, "position"), &r->offset)) {
		r->why = "there is no such position";
		return;
	}
	look_open(&r->l, r->s, r->doc);
	if (!setjmp(r->l.full))
		act(r);
	look_free(&r->l);
}

json_t *answer_rename(struct server *s, struct document *doc, const json_t *params,
		      const char **why)
{
	struct renaming r = { .s = s, .doc = doc };

	r.to = json_string_value(json_object_get(params, "newName"));
	if (r.to && is_name(r.to))
		with_look(&r, params, rename_all);
	else
		r.why = "a name consists of letters, digits and _, at most 255, and does not start "
			"with a digit";
	*why = r.why;
	return r.answer;
}

json_t *answer_prepare_rename(struct server *s, struct document *doc, const json_t *params)
{
	struct renaming r = { .s = s, .doc = doc };

	with_look(&r, params, show_name);
	return r.why ? json_null() : r.answer;
}
