/*
 * `ccc explain` as a picture: the head, the circle of waits of a deadlock, the lanes of all ranks or,
 * where there is too much for these, a heat map with the first and the last step; and the legend.
 *
 * The picture is self-contained: no script, no font, no link. Equal models give equal bytes. What
 * programs look for: an element of class `message` for each move, of class `cell` for what a chunk
 * holds over some columns, of class `column` for each step; faults have class `fault`, too.
 */
#include "compiler/explain/svg.h"

#include <math.h>
#include <string.h>

static const char *sent_text(const struct script *x)
{
	double most = program_most_blocks(x->r.p), lo = x->sent[0] / most, hi = lo;

	for (uint32_t q = 1; q < x->r.p->nranks; q++) {
		lo = fmin(lo, x->sent[q] / most);
		hi = fmax(hi, x->sent[q] / most);
	}
	return lo == hi ? arena_printf(x->arena, "each rank sends %.4g S", hi)
			: arena_printf(x->arena, "ranks send %.4g to %.4g S", lo, hi);
}

/* The legend, of what the picture has: elements of these classes. */
static void legend(struct svg *s)
{
	static const char *const words[][2] = {
		{ "class=\"hole", " A thin line: no value yet." },
		{ "class=\"other", " Hatched: other data than promised." },
		{ " plus c", " +: combined on arrival." },
		{ "class=\"message local", " An arc at a column: a copy within a rank." },
		{ " several", " A bracket: several chunks; [0..2] is 0 and 1." },
		{ " c9\"", " A grey arrow: data of several colours, or none." },
		{ "class=\"message lost", " x: sent, and not received." },
		{ "class=\"fault", " Red: wrong." },
		{ "class=\"cure", " Green: a cure that was tried." },
	};
	const char *text = arena_printf(
		s->x->arena,
		"A column shows the chunks of a rank behind a step; the arrows before it are the "
		"messages of this step. A bar is as full as the chunk has of the promised "
		"contributions; outlined: it has all. Colour: %s.",
		s->x->combines ? "the chunk" : "the rank that the data is from");

	fflush(s->out);
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(s->body.text, words[i][0]))
			text = arena_printf(s->x->arena, "%s%s", text, words[i][1]);
	s->y += 14;
	svg_lines(s, "dim", text);
}

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
			 .otherwise = x->r.p->instance.schedule->name.span,
			 .title = explain_title(x) };
	struct lanes l = { .ranks = x->ranks,
			   .nranks = x->nranks,
			   .frames = x->frames,
			   .nframes = x->nframes,
			   .whole = !x->view->steps.n };
	const char *about = NULL;

	find_cells(x, &l);
	bool map = l.nranks > MOST_RANKS || l.nframes > MOST_COLUMNS || l.ncells > MOST_CHUNKS;
	s.width = map ? HEAT_WIDTH : svg_lanes_width(&s, &l);
	if (x->ncircle)
		s.width = fmax(s.width, svg_circle_width(&s));
	if (!x->nerrors)
		about = arena_printf(x->arena, "%s; %s (S: the larger buffer of a rank)",
				     arena_count(x->arena, x->steps, "step"), sent_text(x));
	svg_begin(&s, about);
	if (x->ncircle)
		svg_circle(&s);
	if (map)
		svg_heat(&s);
	else
		svg_lanes(&s, &l);
	legend(&s);
	svg_end(&s, out,
		arena_printf(x->arena,
			     "%s from top to bottom, %s from left to right; each column shows the "
			     "chunks of a rank.",
			     arena_count(x->arena, x->r.p->nranks, "rank"),
			     arena_count(x->arena, x->last, "step")));
}
