/*
 * What all parts of a picture are written with: elements, texts, colours; see svg.h.
 */
#include "compiler/explain/svg.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

const char *const svg_colours[NCOLOURS] = { "#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE",
					    "#AA3377", "#BB5566", "#44BB99", "#DDAA33" };

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

const char *svg_ending_text(struct svg *s, const struct ending *e)
{
	struct script *x = s->x;

	if (e->kind == END_WRONG)
		return explain_wrong_text(x, e);
	if (e->kind == END_STOPPED)
		return arena_printf(x->arena, "%s: %s",
				    explain_line_text(x, x->errors[e->error].at),
				    diag_code_text(e->code).s);
	if (e->place != NONE) /* the circle says the rest */
		return arena_strndup(x->arena, e->text, strcspn(e->text, ";,"));
	return arena_printf(x->arena, "%s, step %u: %s",
			    explain_line_text(x, explain_span(x, e->op)), e->step, e->text);
}
