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
	s->seen |= (unsigned)s->cures << SEEN_CURE;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (s->seen >> i & 1)
			text = arena_printf(s->x->arena, "%s%s", text, words[i]);
	s->y += 14;
	svg_lines(s, "dim", width, text);
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
	struct svg s = { .c = x->r.c,
			 .x = x,
			 .first_diag = x->first_diag,
			 .otherwise = x->r.p->instance.schedule->name.span };
	struct lanes l = { .ranks = x->ranks,
			   .nranks = x->nranks,
			   .frames = x->frames,
			   .nframes = x->nframes,
			   .whole = !x->view->steps.n };
	const char *about = NULL;

	svg_begin(&s);
	find_cells(x, &l);
	bool map = l.nranks > MOST_RANKS || l.nframes > MOST_COLUMNS || l.ncells > MOST_CHUNKS;
	double width = map ? HEAT_WIDTH : svg_lanes_width(&s, &l);
	if (x->ncircle && width < svg_circle_width(&s))
		width = svg_circle_width(&s);
	if (!x->nerrors)
		about = arena_printf(x->arena, "%s; %s (S: the larger buffer of a rank)",
				     arena_count(x->arena, x->steps, "step"), sent_text(&s));
	svg_head(&s, width, explain_title(x), about);
	if (x->ncircle)
		svg_circle(&s, width);
	if (map)
		svg_heat(&s);
	else
		svg_lanes(&s, &l);
	foot(&s, width);
	svg_end(&s, out, width, explain_title(x),
		arena_printf(x->arena,
			     "%s from top to bottom, %s from left to right; each column shows the "
			     "chunks of a rank.",
			     arena_count(x->arena, x->r.p->nranks, "rank"),
			     arena_count(x->arena, x->last, "step")));
}
