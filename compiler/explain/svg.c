/*
 * `ccc explain` as a picture: the head, the circle of waits of a deadlock, the lanes of all ranks or,
 * where there is too much for these, a heat map with the first and the last step; and the legend.
 *
 * The picture is self-contained: no script, no font, no link. Equal models give equal bytes. What
 * programs look for: an element of class `message` for each move, of class `cell` for what a chunk
 * holds over some columns, of class `column` for each step; faults have class `fault`, too. ccc(1) has
 * their attributes.
 */
#include "compiler/explain/svg.h"

#include <math.h>
#include <string.h>

#define MOST_ERRORS 4u /* in words above the picture; how many more there are is said */

extern const char svg_css[];

static const char *colour_text(unsigned i)
{
	return i < NCOLOURS ? svg_colours[i] : i == GREY ? "#777777" : "#cc0000";
}

/* ---- head and foot ------------------------------------------------------------------------ */

static void line(struct svg *s, const char *class, int size, const char *text)
{
	svg_say(s, arena_printf(s->x->arena, "class='%s' font-size='%d'", class, size), 16, s->y,
		"%s", text);
	s->y += size + 5;
}

/* The same in lines that fit the width. */
static void lines(struct svg *s, const char *class, double width, const char *text)
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
		line(s, class, 11, arena_strndup(s->x->arena, text, n));
	}
}

static const char *sent_text(struct svg *s)
{
	const struct program *p = s->x->r.p;
	double lo = 0, hi = 0;

	for (uint32_t q = 0; q < p->nranks; q++) {
		double v = s->x->sent[q] / program_most_blocks(p);
		lo = q == 0 || v < lo ? v : lo;
		hi = q == 0 || v > hi ? v : hi;
	}
	return lo == hi ? arena_printf(s->x->arena, "each rank sends %.4g S", hi)
			: arena_printf(s->x->arena, "ranks send %.4g to %.4g S", lo, hi);
}

/* An error's code, place and message, and what cures it. */
static void error(struct svg *s, const struct error *e, double width)
{
	struct script *x = s->x;
	struct place p = source_place(x->r.c->sources, e->at.lo);
	const struct diag *g = e->diag;

	lines(s, "fault", width,
	      arena_printf(x->arena, "%s at %s:%u: %s", diag_code_text(g->code).s,
			   p.source ? p.source->name : "?", p.line, g->message));
	for (uint32_t i = 0; i < g->help.n; i++) {
		s->seen |= (unsigned)g->help.v[i].tried << SEEN_CURE;
		lines(s, g->help.v[i].tried ? "cure" : "dim", width,
		      arena_printf(x->arena, "help: %s", g->help.v[i].text));
	}
}

static void head(struct svg *s, double width)
{
	struct script *x = s->x;

	s->y = 24;
	line(s, "title", 14, explain_title(x));
	if (!x->nerrors)
		line(s, "dim", 11,
		     arena_printf(x->arena, "%s; %s (S: the larger buffer of a rank)",
				  explain_count(x, x->steps, "step"), sent_text(s)));
	for (uint32_t i = 0; i < x->nerrors && i < MOST_ERRORS; i++)
		error(s, &x->errors[i], width);
	if (x->nerrors > MOST_ERRORS)
		line(s, "dim", 11,
		     arena_printf(x->arena, "and %s",
				  explain_count(x, x->nerrors - MOST_ERRORS, "more error")));
}

/* The legend, of what the picture has. */
static void foot(struct svg *s, double width)
{
	static const char *const words[] = {
		[SEEN_HOLE] = " A thin line: no value yet.",
		[SEEN_OTHER] = " Hatched: other data than promised.",
		[SEEN_PLUS] = " +: combined on arrival.",
		[SEEN_LOCAL] = " An arc at a column: a copy within a rank.",
		[SEEN_SEVERAL] = " A bracket: several chunks; [0..2] is 0 and 1.",
		[SEEN_GREY] = " A grey arrow: data of several colours, or none.",
		[SEEN_LOST] = " x: sent, and not received.",
		[SEEN_FAULT] = " Red: wrong.",
		[SEEN_CURE] = " Green: a cure that was tried.",
	};
	const char *text =
		"A column shows the chunks of a rank behind a step; the arrows before it are the "
		"messages of this step. A bar is as full as the chunk has of the promised "
		"contributions; outlined: it has all.";

	text = arena_printf(s->x->arena, "%s Colour: %s.", text,
			    s->x->combines ? "the chunk" : "the rank that the data is from");
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (s->seen >> i & 1)
			text = arena_printf(s->x->arena, "%s%s", text, words[i]);
	s->y += 14;
	lines(s, "dim", width, text);
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

/* ---- all of it ---------------------------------------------------------------------------------- */

/* All chunks, where there is room; else the ones that change. */
static void find_cells(struct script *x, struct lanes *l)
{
	uint32_t *all = ARENA_ARRAY(x->arena, uint32_t, x->r.width);

	l->cells = x->cells;
	l->ncells = x->ncells;
	if (x->view->nchunks || x->r.width > MOST_CHUNKS || !x->r.p->nbuffers)
		return;
	for (uint32_t i = 0; i < x->r.width; i++)
		all[i] = i;
	l->cells = all;
	l->ncells = x->r.width;
}

void explain_svg(struct script *x, FILE *out)
{
	struct svg s = { .x = x };
	struct lanes l = { .ranks = x->ranks,
			   .nranks = x->nranks,
			   .frames = x->frames,
			   .nframes = x->nframes,
			   .whole = !x->view->steps.n };
	struct printed body; /* its height is known at its end */

	explain_begin(x, &body);
	s.out = body.out;
	find_cells(x, &l);
	bool map = l.nranks > MOST_RANKS || l.nframes > MOST_COLUMNS || l.ncells > MOST_CHUNKS;
	double width = map ? HEAT_WIDTH : svg_lanes_width(&s, &l);
	if (x->ncircle && width < svg_circle_width(&s))
		width = svg_circle_width(&s);
	head(&s, width);
	if (x->ncircle)
		svg_circle(&s, width);
	if (map)
		svg_heat(&s);
	else
		svg_lanes(&s, &l);
	foot(&s, width);
	const char *drawn = explain_end(x, &body);
	s.out = out;
	svg_put(&s,
		"<svg class='ccs' xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' "
		"height='%g' font-family='system-ui, sans-serif' font-size='11' role='img'>\n"
		"<title>%s</title><desc>%s from top to bottom, %s from left to right; each column shows "
		"the chunks of a rank.</desc>\n",
		pt(width), pt(s.y), pt(width), pt(s.y), svg_text(&s, explain_title(x)),
		explain_count(x, x->r.p->nranks, "rank"), explain_count(x, x->last, "step"));
	definitions(&s);
	fprintf(out, "%s</svg>\n", drawn);
}
