/*
 * What all pictures are written with: elements, texts, colours, the head, and the frame; see draw.h.
 */
#include "compiler/draw/draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ERRORS 4u /* in words above the picture; how many more there are is said */

extern const char svg_css[], page_css[];

const char *const svg_colours[NCOLOURS] = { "#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE",
					    "#AA3377", "#BB5566", "#44BB99", "#DDAA33" };

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

double pt(double v)
{
	return floor(v * 10 + 0.5) / 10;
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
	svg_put(s, "<text %s x='%g' y='%g'>%s</text>\n", quotes(s->c->scratch, attributes), pt(x),
		pt(y), svg_text(s, text));
}

const char *svg_text(struct svg *s, const char *text)
{
	text = diag_shown_text(s->c->scratch, text);
	char *all = ARENA_ARRAY(s->c->scratch, char, 6 * strlen(text) + 1), *to = all;

	for (const char *c = text; *c; c++) {
		const char *name = *c == '<'   ? "&lt;"
				   : *c == '>' ? "&gt;"
				   : *c == '&' ? "&amp;"
				   : *c == '"' ? "&quot;"
					       : NULL;
		if (name)
			to = stpcpy(to, name);
		else
			*to++ = *c;
	}
	return all;
}

/* ---- the frame of a picture ------------------------------------------------------------------ */

static void line(struct svg *s, const char *class, int size, const char *text)
{
	svg_say(s, arena_printf(s->c->scratch, "class='%s' font-size='%d'", class, size), 16, s->y,
		"%s", text);
	s->y += size + 5;
}

void svg_lines(struct svg *s, const char *class, double width, const char *text)
{
	size_t most = (size_t)((width - 32) / (strcmp(class, "cure") ? 6 : 6.6)), n;

	for (; *text; text += n + strspn(text + n, " ")) {
		n = strlen(text);
		if (n > most) {
			for (n = most; n > most / 2 && text[n] != ' ';)
				n--;
			while ((text[n] & 0xc0) == 0x80) /* within a character */
				n++;
		}
		line(s, class, 11, arena_strndup(s->c->scratch, text, n));
	}
}

/* An error's code, place and message, and what cures it. */
static void error(struct svg *s, const struct diag *g, double width)
{
	struct place p = source_place(s->c->sources, g->span.lo ? g->span.lo : s->otherwise.lo);
	struct arena *a = s->c->scratch;

	svg_lines(s, "fault", width,
		  arena_printf(a, "%s at %s:%u: %s", diag_code_text(g->code).s,
			       p.source ? p.source->name : "?", p.line, g->message));
	for (uint32_t i = 0; i < g->help.n; i++) {
		s->cures |= g->help.v[i].tried;
		svg_lines(s, g->help.v[i].tried ? "cure" : "dim", width,
			  arena_printf(a, "help: %s", g->help.v[i].text));
	}
}

void svg_head(struct svg *s, double width, const char *title, const char *about)
{
	const struct diags *d = s->c->diags;
	uint32_t n = 0;

	s->y = 24;
	line(s, "title", 14, title);
	if (about)
		svg_lines(s, "dim", width, about);
	for (uint32_t i = s->first_diag; i < d->n; i++)
		if (d->v[i]->severity == SEV_ERROR && n++ < MOST_ERRORS)
			error(s, d->v[i], width);
	if (n > MOST_ERRORS)
		line(s, "dim", 11,
		     arena_printf(s->c->scratch, "and %s",
				  arena_count(s->c->scratch, n - MOST_ERRORS, "more error")));
}

static const char *colour_text(unsigned i)
{
	return i < NCOLOURS ? svg_colours[i] : i == GREY ? "#777777" : "#cc0000";
}

/* The style, and its markers: for each colour the head of an arrow, and one behind a plus sign. */
static void definitions(struct svg *s)
{
	static const char *const head =
		"<marker id='%c%u' viewBox='0 0 %d 8' refX='7' refY='4' "
		"markerWidth='%d' markerHeight='9' markerUnits='userSpaceOnUse' "
		"orient='auto'><path d='M0 0L8 4L0 8z' fill='%s'/>";

	svg_put(s, "<style>%s", svg_css);
	for (unsigned i = 0; i <= GREY; i++)
		svg_put(s,
			".ccs .c%u{stroke:%s}.ccs .message.c%u{marker-end:url(#a%u)}"
			".ccs .message.plus.c%u{marker-end:url(#p%u)}",
			i, colour_text(i), i, i, i, i);
	svg_put(s,
		"</style><defs><pattern id='other' width='4' height='4' patternUnits='userSpaceOnUse' "
		"patternTransform='rotate(45)'><rect width='1.5' height='4' fill='#999'/></pattern>");
	for (unsigned i = 0; i <= RED; i++) {
		svg_put(s, head, 'a', i, 8, 9, colour_text(i));
		svg_put(s, "</marker>");
		svg_put(s, head, 'p', i, 16, 18, colour_text(i));
		svg_put(s, "<path d='M12 0V8M8 4H16' stroke='%s' stroke-width='2'/></marker>",
			colour_text(i));
	}
	svg_put(s,
		"<marker id='x' viewBox='0 0 8 8' refX='4' refY='4' markerWidth='8' markerHeight='8' "
		"markerUnits='userSpaceOnUse'><path d='M0 0L8 8M8 0L0 8' stroke='#c00' "
		"stroke-width='2'/></marker></defs>\n");
}

void svg_begin(struct svg *s)
{
	s->body = printed_begin(s->c->scratch);
	s->out = s->body->out;
}

void svg_end(struct svg *s, FILE *out, double width, const char *title, const char *about)
{
	const char *drawn = printed_end(s->c->scratch, s->body);

	s->out = out;
	svg_put(s,
		"<svg class='ccs' xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' "
		"height='%g' font-family='system-ui, sans-serif' font-size='11' role='img'>\n"
		"<title>%s</title><desc>%s</desc>\n",
		pt(width), pt(s->y), pt(width), pt(s->y), svg_text(s, title), svg_text(s, about));
	definitions(s);
	fprintf(out, "%s</svg>\n", drawn);
}

void page_begin(struct svg *s, const char *title, bool plays)
{
	fprintf(s->out,
		"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'%s\">\n"
		"<title>%s</title>\n<style>\n%s</style>\n<body>\n<h1>%s</h1>\n",
		plays ? "; script-src 'unsafe-inline'" : "", svg_text(s, title), page_css,
		svg_text(s, title));
}
