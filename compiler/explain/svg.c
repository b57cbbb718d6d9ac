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

#define MOST_IN_CIRCLE 16u

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

/* ---- the circle of waits of a deadlock, E0304: each rank, with the line and step where it stands ---- */

struct circle {
	uint32_t n;	   /* ranks that are drawn */
	uint32_t left_out; /* behind the first n - 1 of them */
	double radius;
	struct seat {
		const struct ending *e; /* NULL: the view leaves it out */
		double turn, x, y;
	} at[MOST_IN_CIRCLE];
};

/* Around a middle. */
static struct circle circle(const struct script *s, double x, double top)
{
	uint32_t all = s->ncircle, n = all < MOST_IN_CIRCLE ? all : MOST_IN_CIRCLE;
	struct circle c = { .n = n, .left_out = all - n, .radius = n < 6 ? 90 : 15 * n };

	for (uint32_t i = 0; i < n; i++) {
		struct seat *at = &c.at[i];

		at->turn = 6.283185307179586 * i / n - 1.5707963267948966;
		at->x = x + c.radius * cos(at->turn);
		at->y = top + c.radius + c.radius * sin(at->turn);
		for (uint32_t k = 0; k < s->nendings; k++)
			if (s->endings[k].place == (i + 1 < n ? i : all - 1))
				at->e = &s->endings[k];
	}
	return c;
}

/* A rank, and why it waits, next to it, away from the middle. */
static void seat(struct svg *s, const struct seat *at)
{
	double dx = cos(at->turn), x = at->x + dx * 32;
	double y = at->y + sin(at->turn) * (fabs(dx) < 0.2 ? 46 : 30) - 2;
	const char *rest = at->e->text + strcspn(at->e->text, ";,");
	const char *why = arena_printf(
		s->x->arena, "class='why fault' data-code='E0304' data-rank='%u' text-anchor='%s'",
		at->e->rank,
		dx > 0.2    ? "start"
		: dx < -0.2 ? "end"
			    : "middle");

	svg_say(s, why, x, y, "%s", explain_ending_text(s->x, at->e));
	svg_say(s, why, x, y + 14, "%s", rest + strspn(rest, ";, "));
	svg_put(s,
		"<circle class='rank fault' data-code='E0304' data-rank='%u' cx='%g' cy='%g' r='18'/>",
		at->e->rank, at->x, at->y);
	svg_say(s, "class='title' text-anchor='middle'", at->x, at->y + 4, "%u", at->e->rank);
}

/* From a rank to the one that it waits for, within the circle; i is a gap before the last. */
static void edge(struct svg *s, const struct circle *c, uint32_t i)
{
	const struct seat *a = &c->at[i], *b = &c->at[(i + 1) % c->n];
	double dx = b->x - a->x, dy = b->y - a->y, d = hypot(dx, dy), ux = dx / d, uy = dy / d;
	double side = c->n == 2 ? 24 : 0; /* two edges between the same ranks */
	double mx = (a->x + b->x) / 2 + uy * (side + d / 8);
	double my = (a->y + b->y) / 2 - ux * (side + d / 8);

	svg_put(s,
		"<path class='wait fault' data-code='E0304' d='M%g %gQ%g %g %g %g' "
		"marker-end='url(#a10)'/>\n",
		a->x + ux * 22 + uy * side / 4, a->y + uy * 22 - ux * side / 4, mx, my,
		b->x - ux * 22 + uy * side / 4, b->y - uy * 22 - ux * side / 4);
	if (c->left_out && i + 2 == c->n)
		svg_say(s, "class='dim' text-anchor='middle'", mx, my - 6, "and %u more",
			c->left_out);
}

/* Names the ranks that wait, and are not in the cycle. */
static void behind(struct svg *s)
{
	const struct script *x = s->x;
	int64_t *ranks = ARENA_ARRAY(x->arena, int64_t, x->nendings);
	size_t n = 0;

	for (uint32_t i = 0; i < x->nendings; i++)
		if (x->endings[i].kind == END_STUCK && x->endings[i].place == NONE &&
		    (!n || ranks[n - 1] != x->endings[i].rank)) /* it may have several tasks */
			ranks[n++] = x->endings[i].rank;
	if (n)
		svg_lines(s, "dim",
			  arena_printf(x->arena, "stuck behind it: rank%s %s", n > 1 ? "s" : "",
				       diag_ranks(x->arena, ranks, n)));
}

/* With room for the words on both sides. */
static double circle_width(const struct svg *s)
{
	struct circle c = circle(s->x, 0, 0);
	size_t longest = 0, n;

	for (uint32_t i = 0; i < c.n; i++)
		if (c.at[i].e && (n = strlen(explain_ending_text(s->x, c.at[i].e))) > longest)
			longest = n;
	return 2 * (c.radius + 40 + 5.6 * (double)longest);
}

static void draw_circle(struct svg *s)
{
	struct circle c = circle(s->x, s->width / 2, s->y + 62);

	for (uint32_t i = 0; i < c.n; i++) {
		edge(s, &c, i);
		if (c.at[i].e)
			seat(s, &c.at[i]);
	}
	s->y += 2 * c.radius + 134;
	behind(s);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

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

	bool *cells = x->cell;
	if (!x->view->nchunks && x->r.width <= MOST_CHUNKS && x->r.p->nbuffers) {
		cells = ARENA_ARRAY(x->arena, bool, x->r.width); /* there is room for all */
		memset(cells, true, x->r.width);
	}
	l.cells = explain_marked(x, cells, x->r.width, &l.ncells);
	bool map = l.nranks > MOST_RANKS || l.nframes > MOST_COLUMNS || l.ncells > MOST_CHUNKS;
	s.width = map ? HEAT_WIDTH : svg_lanes_width(&s, &l);
	if (x->ncircle)
		s.width = fmax(s.width, circle_width(&s));
	if (!x->nerrors)
		about = arena_printf(x->arena, "%s; %s (S: the larger buffer of a rank)",
				     arena_count(x->arena, x->steps, "step"), sent_text(x));
	svg_begin(&s, about);
	if (x->ncircle)
		draw_circle(&s);
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
