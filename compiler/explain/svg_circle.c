/*
 * The circle of waits of a deadlock (E0304): each rank of the cycle, with the line and step where it
 * stands, and why. Ranks that wait behind the cycle are named below it.
 */
#include "compiler/explain/svg.h"

#include <math.h>
#include <string.h>

#define MOST_IN_CIRCLE 16u

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
static struct circle place(const struct script *s, double x, double top)
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
static void rank(struct svg *s, const struct seat *at)
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

double svg_circle_width(struct svg *s)
{
	struct circle c = place(s->x, 0, 0);
	size_t longest = 0, n;

	for (uint32_t i = 0; i < c.n; i++)
		if (c.at[i].e && (n = strlen(explain_ending_text(s->x, c.at[i].e))) > longest)
			longest = n;
	return 2 * (c.radius + 40 + 5.6 * (double)longest);
}

void svg_circle(struct svg *s)
{
	struct circle c = place(s->x, s->width / 2, s->y + 62);

	for (uint32_t i = 0; i < c.n; i++) {
		edge(s, &c, i);
		if (c.at[i].e)
			rank(s, &c.at[i]);
	}
	s->y += 2 * c.radius + 134;
	behind(s);
}
