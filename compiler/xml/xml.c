/*
 * Reading XML by expat.
 *
 * In: a text. Out: calls of the format for each element, and E0601 for a text that is not well formed,
 * has a document type, or exceeds a bound, with line and column. Text after the outermost element is
 * refused; text inside elements is ignored. O(bytes).
 */
#include "compiler/xml/xml.h"

#include <expat.h>
#include <string.h>

#define PIECE 65536u

struct xml {
	struct ctx *c;
	struct source *source;
	const struct xml_format *format;
	void *arg;
	XML_Parser parser;
	const char *root; /* of xml_root */
	bool stopped;	  /* further mistakes would be consequences */
};

void xml_stop(struct xml *x)
{
	x->stopped = true;
	XML_StopParser(x->parser, XML_FALSE);
}

/* The place of the current event of expat. */
static struct span here(const struct xml *x)
{
	XML_Index at = XML_GetCurrentByteIndex(x->parser);
	uint32_t lo = at < 0 || (uint64_t)at > x->source->len ? x->source->len : (uint32_t)at;
	uint32_t n = (uint32_t)XML_GetCurrentByteCount(x->parser);

	n = n > x->source->len - lo ? x->source->len - lo : n;
	return (struct span){ x->source->base + lo, x->source->base + lo + n };
}

static void start_element(void *arg, const char *name, const char **attributes)
{
	struct xml *x = arg;
	struct xml_element e = { x->c,	    x,	  x->format,
				 x->source, name, (const char *const *)attributes,
				 here(x) };

	if (!x->stopped)
		x->format->start(x->arg, &e);
}

static void end_element(void *arg, const char *name)
{
	struct xml *x = arg;

	(void)name;
	if (!x->stopped)
		x->format->end(x->arg);
}

/* The tag in which, or after which, expat is. */
static struct span tag_before(const struct xml *x)
{
	struct span at = here(x);
	const char *text = x->source->text;

	for (uint32_t i = at.lo - x->source->base; i > 0; i--)
		if (!strncmp(text + i - 1, "<!DOCTYPE", 9))
			return (struct span){ x->source->base + i - 1, x->source->base + i + 8 };
	return at;
}

static void refuse_doctype(void *arg, const char *name, const char *system, const char *public,
			   int internal)
{
	struct xml *x = arg;

	(void)name;
	(void)system;
	(void)public;
	(void)internal;
	struct diag *g = diag_add(x->c->diags, SEV_ERROR, 601, tag_before(x), NO_RANK,
				  "a document type is not allowed, because entities are not");
	diag_help(x->c->diags, g, "the format needs none: remove <!DOCTYPE ...>");
	xml_stop(x);
}

/* ---- the text ---------------------------------------------------------------------------- */

static void not_well_formed(struct xml *x)
{
	enum XML_Error e = XML_GetErrorCode(x->parser);

	if (x->stopped)
		return;
	if (e == XML_ERROR_NO_MEMORY)
		arena_fail(x->c->arena);
	x->stopped = true;
	if (e == XML_ERROR_JUNK_AFTER_DOC_ELEMENT) {
		struct diag *g = diag_add(x->c->diags, SEV_ERROR, 601, here(x), NO_RANK,
					  "this follows </%s> and is ignored", x->format->root);
		diag_help(x->c->diags, g, "remove it; a second <%s> needs a separate file",
			  x->format->root);
		return;
	}
	diag_add(x->c->diags, SEV_ERROR, 601, here(x), NO_RANK, "this is not well-formed XML: %s",
		 XML_ErrorString(e));
}

/* Parses in pieces, so that a tag without an end is detected before it uses much memory. */
static void parse(struct xml *x)
{
	const struct source *s = x->source;

	for (uint32_t at = 0; at < s->len && !x->stopped;) {
		uint32_t n = s->len - at < PIECE ? s->len - at : PIECE;
		bool ok = XML_Parse(x->parser, s->text + at, (int)n, at + n == s->len) ==
			  XML_STATUS_OK;

		at += n;
		if (!ok) {
			if (x->format)
				not_well_formed(x);
			return;
		}
		if (at - (here(x).lo - s->base) > XML_LIMIT_TAG) {
			if (x->format)
				diag_add(x->c->diags, SEV_ERROR, 601, here(x), NO_RANK,
					 "a tag or comment has more than %u bytes (XML_LIMIT_TAG)",
					 XML_LIMIT_TAG);
			x->stopped = true;
			return;
		}
	}
	if (!s->len && x->format)
		diag_add(x->c->diags, SEV_ERROR, 601, here(x), NO_RANK, "the file is empty");
}

/* Parses, and frees expat's memory even if the arena runs out. */
static void parse_guarded(struct xml *x)
{
	struct arena *a = x->c->arena;
	jmp_buf *outer = a->full, inner;
	volatile bool whole = false;

	a->full = &inner;
	if (!setjmp(inner)) {
		parse(x);
		whole = true;
	}
	a->full = outer;
	XML_ParserFree(x->parser);
	if (!whole)
		arena_fail(a);
}

static struct xml *open_text(struct ctx *c, struct source *source)
{
	struct xml *x = ARENA_NEW(c->arena, struct xml);

	*x = (struct xml){ .c = c, .source = source, .parser = XML_ParserCreate(NULL) };
	if (!x->parser)
		arena_fail(c->arena);
	XML_SetUserData(x->parser, x);
	return x;
}

bool xml_read(struct ctx *c, struct source *source, const struct xml_format *format, void *arg)
{
	struct xml *x = open_text(c, source);

	x->format = format;
	x->arg = arg;
	XML_SetElementHandler(x->parser, start_element, end_element);
	XML_SetStartDoctypeDeclHandler(x->parser, refuse_doctype);
	parse_guarded(x);
	return !x->stopped && source->len;
}

/* ---- the outermost element --------------------------------------------------------------------- */

static void take_root(void *arg, const char *name, const char **attributes)
{
	struct xml *x = arg;

	(void)attributes;
	if (!x->root)
		x->root = arena_strndup(x->c->arena, name, strnlen(name, 200));
	xml_stop(x);
}

/* It names the outermost element. */
static void take_doctype(void *arg, const char *name, const char *system, const char *public,
			 int internal)
{
	(void)system;
	(void)public;
	(void)internal;
	take_root(arg, name, NULL);
}

const char *xml_root(struct ctx *c, struct source *source)
{
	struct xml *x = open_text(c, source);

	XML_SetStartElementHandler(x->parser, take_root);
	XML_SetStartDoctypeDeclHandler(x->parser, take_doctype);
	parse_guarded(x);
	return x->root;
}
