/*
 * What all pictures are written with: elements, texts, the head, and the frame; see draw.h.
 */
#include "compiler/draw/draw.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ERRORS 4u /* in words above the picture; how many more there are is said */

extern const char svg_css[], markers_svg[], page_css[];

const char *quotes(struct arena *a, const char *format)
{
	char *text = arena_strndup(a, format, strlen(format));

	for (char *c = text; (c = strchr(c, '\''));)
		*c = '"';
	return text;
}

static void printed_drop(void *of)
{
	struct printed *t = of;

	if (t->out)
		fclose(t->out);
	free(t->text);
}

struct printed *printed_begin(struct arena *a)
{
	struct printed *t = ARENA_NEW(a, struct printed);

	t->held = arena_hold(a, printed_drop, t);
	t->out = open_memstream(&t->text, &t->n);
	if (!t->out)
		arena_fail(a);
	return t;
}

const char *printed_end(struct arena *a, struct printed *t)
{
	bool ok = fclose(t->out) == 0;

	t->out = NULL;
	if (!ok)
		arena_fail(a);
	const char *text = arena_strndup(a, t->text, t->n);
	t->held->drop = NULL;
	printed_drop(t);
	return text;
}

void svg_put(struct svg *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(s->out, quotes(s->c->scratch, format), ap);
	va_end(ap);
}

void svg_say(struct svg *s, const char *attributes, double x, double y, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	const char *text = arena_vprintf(s->c->scratch, format, ap);
	va_end(ap);
	svg_put(s, "<text %s x='%g' y='%g'>%s</text>\n", quotes(s->c->scratch, attributes), x, y,
		svg_text(s, text));
}

const char *escaped(struct arena *a, const char *text, const char *const names[128])
{
	char *all = arena_alloc(a, 6 * strlen(text) + 1), *to = all;

	for (const unsigned char *c = (const void *)text; *c; c++)
		if (*c < 128 && names[*c])
			to = stpcpy(to, names[*c]);
		else
			*to++ = (char)*c;
	return all;
}

const char *svg_text(struct svg *s, const char *text)
{
	static const char *const names[128] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"
	};
	return escaped(s->c->scratch, diag_shown_text(s->c->scratch, text), names);
}

/* ---- the frame of a picture ------------------------------------------------------------------ */

void svg_lines(struct svg *s, const char *class, const char *format, ...)
{
	struct arena *a = s->c->scratch;
	bool title = !strcmp(class, "title");
	size_t most = (size_t)((s->width - 32) / (strcmp(class, "cure") ? 6 : 6.6)), n;
	const char *look = arena_printf(a, "class='%s' font-size='%d'", class, title ? 14 : 11);
	va_list ap;

	va_start(ap, format);
	const char *text = arena_vprintf(a, format, ap);
	va_end(ap);
	for (; *text; text += n + strspn(text + n, " ")) {
		n = strlen(text);
		if (n > most && !title) {
			for (n = most; n > most / 2 && text[n] != ' ';)
				n--;
			while ((text[n] & 0xc0) == 0x80) /* within a character */
				n++;
		}
		svg_say(s, look, 16, s->y, "%.*s", (int)n, text);
		s->y += title ? 19 : 16;
	}
}

void svg_begin(struct svg *s)
{
	const struct diags *d = s->c->diags;
	uint32_t n = 0;

	s->body = printed_begin(s->c->scratch);
	s->out = s->body->out;
	s->y = 24;
	svg_lines(s, "title", "%s", s->title);
	svg_lines(s, "dim", "%s", s->about);
	for (uint32_t i = s->first_diag; i < d->n; i++) {
		const struct diag *g = d->v[i];
		struct span at = g->span.lo ? g->span : s->otherwise;
		struct place p = source_place(s->c->sources, at.lo);

		if (g->severity != SEV_ERROR || n++ >= MOST_ERRORS)
			continue;
		svg_lines(s, "fault", "%s at %s:%u: %s", diag_code_text(g->code).s,
			  p.source ? p.source->name : "?", p.line, g->message);
		for (uint32_t k = 0; k < g->help.n; k++)
			svg_lines(s, g->help.v[k].tried ? "cure" : "dim", "help: %s",
				  g->help.v[k].text);
	}
	if (n > MOST_ERRORS)
		svg_lines(s, "dim", "and %s",
			  arena_count(s->c->scratch, n - MOST_ERRORS, "more error"));
}

void svg_end(struct svg *s, FILE *out, const char *description)
{
	const char *drawn = printed_end(s->c->scratch, s->body);

	s->out = out;
	svg_put(s,
		"<svg class='ccs' xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' "
		"height='%g' font-family='system-ui, sans-serif' font-size='11' role='img'>\n"
		"<title>%s</title><desc>%s</desc>\n<style>%s</style>\n<defs>%s</defs>\n",
		s->width, s->y, s->width, s->y, svg_text(s, s->title), svg_text(s, description),
		svg_css, markers_svg);
	fprintf(out, "%s</svg>\n", drawn);
}

void page_begin(struct svg *s, bool plays)
{
	const char *title = svg_text(s, s->title);

	fprintf(s->out,
		"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'%s\">\n"
		"<title>%s</title>\n<style>\n%s</style>\n<body>\n<h1>%s</h1>\n",
		plays ? "; script-src 'unsafe-inline'" : "", title, page_css, title);
}
