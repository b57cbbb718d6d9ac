/*
 * The circle of waits of a deadlock (E0304): each rank of the cycle, the line and step where it stands,
 * and the slots of the FIFO before it. Ranks that wait behind the cycle stand small below it.
 */
#include "compiler/explain/svg.h"

#include <math.h>
#include <string.h>

#define MOST_IN_CIRCLE 16u

struct circle {
	struct svg *s;
	uint32_t n;	   /* ranks that are drawn */
	uint32_t left_out; /* behind the first n - 1 of them */
	double radius;
	const struct ending *at[MOST_IN_CIRCLE]; /* NULL: the view leaves it out */
	double x[MOST_IN_CIRCLE], y[MOST_IN_CIRCLE];
};

/* Around a middle. */
static struct circle place(struct svg *s, double x, double top)
{
	uint32_t all = s->x->ncircle, n = all < MOST_IN_CIRCLE ? all : MOST_IN_CIRCLE;
	struct circle c = { .s = s, .n = n, .left_out = all - n, .radius = n < 6 ? 90 : 15 * n };

	for (uint32_t i = 0; i < n; i++) {
		double turn = 6.283185307179586 * i / n - 1.5707963267948966;
		c.x[i] = x + c.radius * cos(turn);
		c.y[i] = top + c.radius + c.radius * sin(turn);
		for (uint32_t k = 0; k < s->x->nendings; k++)
			if (s->x->endings[k].place == (i + 1 < n ? i : all - 1))
				c.at[i] = &s->x->endings[k];
	}
	return c;
}

/* The FIFO before it: its slots, full; or why it holds nothing. */
static void fifo(struct svg *s, const struct ending *w, const char *anchor, double x, double y)
{
	const struct op *o = w->op;
	uint32_t slots = s->x->r.c->slots, n = slots < 16 ? slots : 16;
	bool full = op_out(o) != NONE && strstr(w->text, "full");
	double wide = 11 * n + 26, left = x;
	const char *why = full		      ? (slots > n ? "... full" : "full")
			  : op_in(o) != NONE  ? "nothing was sent"
			  : op_out(o) != NONE ? "no slots"
					      : "";

	if (!strcmp(anchor, "end"))
		left = x - wide;
	else if (!strcmp(anchor, "middle"))
		left = x - wide / 2;
	for (uint32_t i = 0; i < n && full; i++)
		svg_put(s, "<rect class='slot' x='%g' y='%g' width='9' height='9'/>",
			pt(left + 11 * i), pt(y - 8));
	svg_say(s,
		arena_printf(s->x->arena, "class='dim' text-anchor='%s'", full ? "start" : anchor),
		full ? left + 11 * n + 2 : x, y, "%s", why);
}

/* "line 10, step 9: waits to send a[8] to rank 1" */
static const char *said(struct svg *s, const struct ending *w)
{
	return arena_printf(s->x->arena, "%s, step %u: %s",
			    explain_line_text(s->x, explain_span(s->x, w->op)), w->step,
			    explain_ending_text(s->x, w));
}

/* Next to a rank, away from the middle. */
static void words(const struct circle *c, uint32_t i)
{
	struct svg *s = c->s;
	double turn = 6.283185307179586 * i / c->n - 1.5707963267948966, dx = cos(turn);
	const char *anchor = dx > 0.2 ? "start" : dx < -0.2 ? "end" : "middle";
	double x = c->x[i] + dx * 32;
	double y = c->y[i] + sin(turn) * (dx < 0.2 && dx > -0.2 ? 46 : 30) - 2;

	svg_say(s,
		arena_printf(s->x->arena,
			     "class='why fault' data-code='E0304' data-rank='%u' text-anchor='%s'",
			     c->at[i]->rank, anchor),
		x, y, "%s", said(s, c->at[i]));
	fifo(s, c->at[i], anchor, x, y + 14);
}

/* From a rank to the one that it waits for, within the circle; i is a gap before the last. */
static void edge(const struct circle *c, uint32_t i)
{
	double x1 = c->x[i], y1 = c->y[i], x2 = c->x[(i + 1) % c->n], y2 = c->y[(i + 1) % c->n];
	double dx = x2 - x1, dy = y2 - y1, d = sqrt(dx * dx + dy * dy), ux = dx / d, uy = dy / d;
	double side = c->n == 2 ? 24 : 0; /* two edges between the same ranks */
	double mx = (x1 + x2) / 2 + uy * (side + d / 8), my = (y1 + y2) / 2 - ux * (side + d / 8);

	svg_put(c->s,
		"<path class='wait fault' data-code='E0304' d='M%g %gQ%g %g %g %g' "
		"marker-end='url(#a%u)'/>\n",
		pt(x1 + ux * 22 + uy * side / 4), pt(y1 + uy * 22 - ux * side / 4), pt(mx), pt(my),
		pt(x2 - ux * 22 + uy * side / 4), pt(y2 - uy * 22 - ux * side / 4), RED);
	if (c->left_out && i + 2 == c->n)
		svg_say(c->s, "class='dim' text-anchor='middle'", mx, my - 6, "and %u more",
			c->left_out);
}

static void rank(struct svg *s, double x, double y, double r, uint32_t number, bool in_circle)
{
	svg_put(s, "<circle class='rank%s' data-rank='%u' cx='%g' cy='%g' r='%g'/>",
		in_circle ? " fault\" data-code=\"E0304" : "", number, pt(x), pt(y), pt(r));
	svg_say(s,
		in_circle ? "class='title' text-anchor='middle'"
			  : "class='dim' text-anchor='middle'",
		x, y + 4, "%u", number);
}

/* Draws the workers that wait, and are not in the cycle. */
static void behind(struct svg *s)
{
	struct script *x = s->x;
	uint32_t n = 0, most = 24;

	for (uint32_t i = 0; i < x->nendings; i++) {
		if (x->endings[i].kind != END_STUCK || x->endings[i].place != NONE)
			continue;
		if (n++ == 0)
			svg_say(s, "class='dim'", 16, s->y + 4, "stuck behind it");
		if (n <= most)
			rank(s, 110 + 26 * (double)n, s->y, 11, x->endings[i].rank, false);
	}
	if (n > most)
		svg_say(s, "class='dim'", 130 + 26 * (double)most, s->y + 4, "and %u more",
			n - most);
	s->y += n ? 30 : 0;
}

double svg_circle_width(struct svg *s)
{
	struct circle c = place(s, 0, 0);
	size_t longest = 0;

	for (uint32_t i = 0; i < c.n; i++) {
		size_t n = c.at[i] ? strlen(said(s, c.at[i])) : 0;
		longest = n > longest ? n : longest;
	}
	return 2 * (c.radius + 40 + 5.6 * (double)longest);
}

void svg_circle(struct svg *s, double width)
{
	struct circle c = place(s, width / 2, s->y + 62);

	for (uint32_t i = 0; i < c.n; i++) {
		edge(&c, i);
		if (!c.at[i])
			continue;
		words(&c, i);
		rank(s, c.x[i], c.y[i], 18, c.at[i]->rank, true);
	}
	s->y += 2 * c.radius + 134;
	behind(s);
}
