/*
 * Attributes of an element of XML.
 *
 * In: an element as expat gives it. Out: numbers and words, or an error of the format at the attribute's
 * place.
 */
#include "compiler/xml/xml.h"
#include "lang/keywords.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *xml_text(const struct xml_element *e, const char *name)
{
	for (const char *const *a = e->attributes; *a; a += 2)
		if (!strcmp(a[0], name))
			return a[1];
	return NULL;
}

/* expat gives no places of attributes, so the name is searched in the element's text. */
struct span xml_place(const struct xml_element *e, const char *name)
{
	const char *text = e->source->text + (e->span.lo - e->source->base);
	size_t n = strlen(name), len = e->span.hi - e->span.lo;

	for (size_t i = 1; i + n < len; i++)
		if (strchr(" \t\r\n", text[i - 1]) && !memcmp(text + i, name, n) &&
		    strchr("= \t\r\n", text[i + n])) {
			const char *open = text + i + n;

			open += strcspn(open, "\"'>");
			const char *close = *open == '>' ? NULL
							 : memchr(open + 1, *open,
								  len - (size_t)(open + 1 - text));
			uint32_t lo = e->span.lo + (uint32_t)i;
			return (struct span){ lo, close ? e->span.lo + (uint32_t)(close - text) + 1
							: lo + (uint32_t)n };
		}
	return e->span;
}

static void missing(const struct xml_element *e, const char *name, const char *allowed)
{
	struct diags *d = e->ctx->diags;
	struct diag *g = diag_add(d, SEV_ERROR, e->format->code, e->span, NO_RANK,
				  "<%s> has no attribute '%s'", e->name, name);

	diag_help(d, g, "%s; it is %s", e->format->needs, allowed);
}

int64_t xml_number(const struct xml_element *e, const char *name, int64_t least, int64_t most,
		   int64_t none)
{
	const char *text = xml_text(e, name);
	struct diags *d = e->ctx->diags;
	char *end = NULL;

	if (!text && none >= least)
		return none;
	if (!text) {
		missing(e, name,
			arena_printf(e->ctx->arena, "a number from %lld to %lld", (long long)least,
				     (long long)most));
		return least;
	}
	errno = 0;
	int64_t v = strtoll(text, &end, 10);
	if (end != text && !*end && !errno && v >= least && v <= most)
		return v;
	diag_add(d, SEV_ERROR, e->format->code, xml_place(e, name), NO_RANK,
		 "'%s' of <%s> must be a number from %lld to %lld", name, e->name, (long long)least,
		 (long long)most);
	return none >= least ? none : least;
}

int xml_word(const struct xml_element *e, const char *name, const char *const *words)
{
	const char *text = xml_text(e, name), *all = "";
	struct diags *d = e->ctx->diags;
	size_t n = 0;

	for (; words[n]; n++) {
		if (text && !strcmp(text, words[n]))
			return (int)n;
		all = arena_printf(e->ctx->arena, "%s%s%s", all, n ? " " : "", words[n]);
	}
	if (!text) {
		missing(e, name, arena_printf(e->ctx->arena, "one of: %s", all));
		return -1;
	}
	struct diag *g = diag_add(d, SEV_ERROR, e->format->code, xml_place(e, name), NO_RANK,
				  "'%.40s' is not a valid %s of <%s>", text, name, e->name);
	const char *near = diag_nearest(text, words, n);
	if (near)
		diag_help(d, g, "did you mean '%s'?", near);
	else
		diag_note(d, g, NOWHERE, "the valid ones are: %s", all);
	return -1;
}

static bool is_reserved(const char *name)
{
	size_t n;
	const struct word *words = keyword_words(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i].text, name))
			return true;
	return false;
}

const char *xml_identifier(struct arena *a, const char *prefix, const char *name)
{
	bool plain = isalpha((unsigned char)*name) && !is_reserved(name);
	char *s = arena_printf(a, "%s%s", plain ? "" : prefix, name);

	for (char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	return s;
}
