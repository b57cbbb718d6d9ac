/*
 * Elements and texts of a picture. O(text).
 */
#include "compiler/explain/svg.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

double pt(double v)
{
	return floor(v * 10 + 0.5) / 10;
}

void svg_put(struct svg *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(s->out, explain_quotes(s->x, format), ap);
	va_end(ap);
}

void svg_say(struct svg *s, const char *attributes, double x, double y, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	const char *text = arena_vprintf(s->x->arena, format, ap);
	va_end(ap);
	svg_put(s, "<text %s x='%g' y='%g'>%s</text>\n", explain_quotes(s->x, attributes), pt(x),
		pt(y), svg_text(s, text));
}

const char *svg_text(struct svg *s, const char *text)
{
	text = diag_shown_text(s->x->arena, text);
	char *all = ARENA_ARRAY(s->x->arena, char, 6 * strlen(text) + 1), *to = all;

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
