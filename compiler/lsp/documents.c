/*
 * The open documents: the editor's texts, which may differ from the files on disk.
 *
 * In: didOpen, didChange, didClose. Out: texts, in memory from malloc. A change of a text makes
 * every other document with an import dirty, as it may import that text.
 */
#include "compiler/lsp/server.h"

#include <stdlib.h>
#include <string.h>

static const char too_much[] =
	"ccc lsp: the open texts exceed the limit (64 MiB, 256 documents); close some";
static const char no_memory[] = "ccc lsp: out of memory";

struct document *documents_find(struct documents *d, const char *uri)
{
	for (size_t i = 0; i < d->n && uri; i++)
		if (!strcmp(d->v[i].uri, uri))
			return &d->v[i];
	return NULL;
}

/* Marks a document as dirty: its findings are those of an older text. */
static void set_dirty(struct document *doc)
{
	doc->dirty = true;
	json_decref(doc->verdicts);
	doc->verdicts = NULL;
}

void documents_touch(struct documents *d, struct document *doc)
{
	for (size_t i = 0; i < d->n; i++)
		if (memmem(d->v[i].text, d->v[i].n, "import", 6))
			set_dirty(&d->v[i]);
	if (doc) {
		set_dirty(doc);
		doc->touched = ++d->changes;
	}
}

struct document *documents_next(struct documents *d)
{
	struct document *next = NULL;

	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].dirty && (!next || d->v[i].touched > next->touched))
			next = &d->v[i];
	return next;
}

/* Takes `text`; returns NULL, or the reason why it was freed instead. */
static const char *set_text(struct documents *d, struct document *doc, char *text, size_t n)
{
	size_t others = d->bytes - doc->n;

	if (!text || n > MOST_TEXT - others) {
		free(text);
		return text ? too_much : no_memory;
	}
	free(doc->text);
	doc->text = text;
	doc->n = n;
	d->bytes = others + n;
	documents_touch(d, doc);
	return NULL;
}

static void clear(struct document *doc)
{
	free(doc->uri);
	free(doc->path);
	free(doc->text);
	json_decref(doc->findings);
	json_decref(doc->verdicts);
	*doc = (struct document){ 0 };
}

const char *documents_open(struct documents *d, const json_t *item)
{
	const char *uri = json_string_value(json_object_get(item, "uri")), *why;
	const json_t *text = json_object_get(item, "text");
	struct document *doc = documents_find(d, uri);
	bool is_new = !doc;

	if (!uri || !json_is_string(text))
		return "ccc lsp: didOpen without a uri or a text";
	if (is_new && d->n == MOST_DOCUMENTS)
		return too_much;
	if (is_new) {
		doc = &d->v[d->n];
		*doc = (struct document){ .uri = strdup(uri), .path = uri_path(uri) };
	}
	why = doc->uri && doc->path ? NULL : no_memory;
	if (!why) {
		struct text whole = { .s = "" };
		size_t n = 0;
		char *copy = text_edit(&whole, item, &n);

		why = set_text(d, doc, copy, n);
	}
	if (why && is_new)
		clear(doc);
	if (why)
		return why;
	doc->version = json_integer_value(json_object_get(item, "version"));
	d->n += is_new;
	return NULL;
}

const char *documents_change(struct documents *d, struct document *doc, const json_t *changes,
			     json_int_t version, bool utf8)
{
	char *text = NULL;
	size_t n = doc->n, i;
	const json_t *change;
	const char *why;

	json_array_foreach(changes, i, change)
	{
		struct text t = { .s = text ? text : doc->text, .n = n, .utf8 = utf8 };
		char *edited = text_edit(&t, change, &n);

		free(text);
		text = edited;
		if (!text)
			return "ccc lsp: an invalid change, or out of memory: open the document "
			       "again";
		if (n > MOST_TEXT)
			break;
	}
	if (!text)
		return NULL;
	why = set_text(d, doc, text, n);
	if (!why)
		doc->version = version;
	return why;
}

void documents_close(struct documents *d, struct document *doc)
{
	size_t i = (size_t)(doc - d->v);

	d->bytes -= doc->n;
	clear(doc);
	d->n--;
	memmove(doc, doc + 1, (d->n - i) * sizeof(*doc));
	d->v[d->n] = (struct document){ 0 };
	documents_touch(d, NULL); /* documents that import it will read the disk */
}

void documents_free(struct documents *d)
{
	while (d->n)
		documents_close(d, &d->v[d->n - 1]);
}

struct unsaved *documents_unsaved(const struct documents *d)
{
	struct unsaved *v = malloc((d->n + 1) * sizeof(*v));

	for (size_t i = 0; i < d->n && v; i++)
		v[i] = (struct unsaved){ d->v[i].path, d->v[i].text, d->v[i].n };
	return v;
}
