/*
 * A chart: ranks from top to bottom, over time. Of pipelines (pipe/chart.c) and of predicted times
 * (cost/drawn.c); the frame, the head and the page are those of `ccc explain`.
 *
 * In: the ranks to show, and the length of time. Between time_chart_begin and time_chart_end the caller
 * draws boxes and messages. Each lane has a number of tracks, so that what happens at once is drawn one
 * below the other. O(what is drawn).
 */
#include "compiler/draw/draw.h"

#include <math.h>
#include <string.h>

#define LEFT 72.0
#define TRACK 8.0
#define HIGHEST 64.0	  /* a lane */
#define BETWEEN 10.0	  /* lanes */
#define MOST_DRAWN 40000u /* some 10 MB */

void time_chart_open(struct time_chart *t, struct ctx *c, uint32_t nranks,
		     const struct numbers *shown)
{
	*t = (struct time_chart){ .nranks = nranks };
	t->s.c = c;
	t->lanes = arena_alloc(c->scratch, nranks * sizeof(*t->lanes));
	for (uint32_t r = 0; r < nranks; r++) {
		t->lanes[r].shown = numbers_show(shown, r);
		t->lanes[r].tracks = 1;
		t->nlanes += t->lanes[r].shown;
	}
}

const char *time_chart_refuses(const struct time_chart *t, uint64_t drawn, const char *others)
{
	struct arena *a = t->s.c->arena;

	if (!t->nlanes)
		return arena_printf(a, "--rank: there are ranks 0 to %u", t->nranks - 1);
	if (drawn <= MOST_DRAWN)
		return NULL;
	return arena_printf(a,
			    "the picture would have more than %u operations; --rank shows some "
			    "ranks, and %s",
			    MOST_DRAWN, others);
}

double time_chart_x(const struct time_chart *t, double time)
{
	return LEFT + t->unit * time;
}

void time_chart_begin(struct time_chart *t, double behind)
{
	t->s.width = fmax(time_chart_x(t, t->length) + behind, 700);
	t->key = LEFT;
	svg_begin(&t->s);
	for (uint32_t r = 0; r < t->nranks; r++) {
		struct time_lane *l = &t->lanes[r];

		if (!l->shown)
			continue;
		l->y = t->s.y;
		l->high = fmin(fmax(l->tracks * TRACK, TIME_BOX), HIGHEST);
		t->s.y += l->high + BETWEEN;
		svg_put(&t->s, "<rect class='lane' x='%g' y='%g' width='%g' height='%g'/>\n", LEFT,
			l->y, t->unit * t->length, l->high);
		svg_say(&t->s, "class='dim'", 16, l->y + TIME_BOX - 8, "rank %u", r);
	}
}

void time_chart_box(struct time_chart *t, uint32_t rank, uint32_t track, double start, double end,
		    unsigned colour, double opacity, const char *label)
{
	const struct time_lane *l = &t->lanes[rank];
	double left = time_chart_x(t, start), right = time_chart_x(t, end);
	double high = l->high / l->tracks, y = l->y + high * track;

	svg_put(&t->s,
		"<rect class='fill c%u' x='%g' y='%g' width='%g' height='%g' rx='2' fill-opacity='%.2f'/>",
		colour, left + 0.5, y, fmax(right - left - 1, 0.2), l->tracks > 1 ? high - 1 : high,
		opacity);
	if (label && right - left >= 7.0 * (double)strlen(label))
		svg_say(&t->s, "font-size='11' text-anchor='middle' style='fill:#fff'",
			(left + right) / 2, y + TIME_BOX - 8, "%s", label);
}

void time_chart_message(struct time_chart *t, uint32_t from, double leaves, uint32_t to,
			double arrives, const char *attributes)
{
	const struct time_lane *a = &t->lanes[from], *b = &t->lanes[to];
	bool down = b->y > a->y;

	if (a->shown && b->shown)
		svg_put(&t->s, "<path %s d='M%g %gL%g %g'/>\n", quotes(t->s.c->scratch, attributes),
			time_chart_x(t, leaves), a->y + (down ? a->high : 0),
			time_chart_x(t, arrives), b->y + (down ? 0 : b->high));
}

void time_chart_axis(struct time_chart *t, const char *unit)
{
	double step = pow(10, floor(log10(t->length)));

	step /= t->length / step < 2 ? 5 : t->length / step < 5 ? 2 : 1;
	for (double at = 0; at <= t->length * 1.0001; at += step) {
		svg_put(&t->s, "<path class='frame' d='M%g %gv4'/>\n", time_chart_x(t, at),
			t->s.y - 6);
		svg_say(&t->s, "class='dim' text-anchor='middle'", time_chart_x(t, at), t->s.y + 8,
			"%g%s%s", at, at > 0 ? "" : " ", at > 0 ? "" : unit);
	}
	t->s.y += 22;
}

void time_chart_key(struct time_chart *t, unsigned colour, const char *text)
{
	svg_put(&t->s, "<rect class='fill c%u' x='%g' y='%g' width='12' height='12' rx='2'/>\n",
		colour, t->key, t->s.y);
	svg_say(&t->s, "class='dim'", t->key + 17, t->s.y + 10, "%s", text);
	t->key += 40 + 6.2 * (double)strlen(text);
}

void time_chart_end(struct time_chart *t, FILE *out, const char *text)
{
	svg_say(&t->s, "class='dim'", t->key, t->s.y + 10, "%s", text);
	t->s.y += 22;
	svg_end(&t->s, out, t->s.about);
}

void time_chart_print(struct time_chart *t, enum print_format format, time_chart_printer *picture,
		      time_chart_printer *text, void *arg, FILE *out)
{
	if (format == FORMAT_TEXT || format == FORMAT_SVG) {
		(format == FORMAT_TEXT ? text : picture)(arg, out);
		return;
	}
	struct printed *words = printed_begin(t->s.c->scratch);
	text(arg, words->out);
	t->s.out = out;
	page_begin(&t->s, false);
	fputs("<div id=\"picture\">\n", out);
	picture(arg, out);
	fprintf(out, "</div>\n<pre>%s</pre>\n</body>\n</html>\n",
		svg_text(&t->s, printed_end(t->s.c->scratch, words)));
}
