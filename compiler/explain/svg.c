/*
 * `ccc explain` as a picture: the head, the circle of waits of a deadlock, the lanes of all ranks or,
 * where there is too much for these, a map of what ranks send, with the first and the last step in full;
 * and the legend. Fields of the map with equal amounts below each other are one element. O(moves + size
 * of the output).
 *
 * The picture is self-contained: no script, no font, no link. Equal models give equal bytes. What
 * programs look for: an element of class `message` for each move, of class `cell` for what a chunk
 * holds over some columns, of class `column` for each step; faults have class `fault`, too.
 */
#include "compiler/draw/draw.h"
#include "compiler/explain/explain.h"

#include <math.h>
#include <string.h>

#define MOST_RANKS 16u /* of lanes; beyond these limits it is a map */
#define MOST_COLUMNS 64u
#define MOST_CHUNKS 32u
#define MOST_IN_CIRCLE 16u
#define MAP_ROWS 256u
#define MAP_STEPS 256u
#define MAP_WIDTH 720.0
#define MAP_LEFT 70.0
#define MAP_HIGH 256.0
#define FULL 8u /* ranks, and chunks, of a step in full */

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
		if (strstr(s->body->text, words[i][0]))
			text = arena_printf(s->x->arena, "%s%s", text, words[i][1]);
	s->y += 14;
	svg_lines(s, "dim", "%s", text);
}

/* The circle of waits of a deadlock, E0304: each rank, and next to it, away from the middle, the line and
 * step where it stands, and why. Of many ranks there is a gap before the last. */
static void draw_circle(struct svg *s, double radius)
{
	const struct script *x = s->x;
	uint32_t all = x->ncircle, n = all < MOST_IN_CIRCLE ? all : MOST_IN_CIRCLE;
	double turn = 6.283185307179586 / n, first = -1.5707963267948966;
	double side = n == 2 ? 24 : 0; /* two edges between the same ranks */

	for (uint32_t i = 0; i < n; i++) {
		double cx = s->width / 2, cy = s->y + 62 + radius;
		double dx = cos(first + turn * i), dy = sin(first + turn * i);
		double x1 = cx + radius * dx, x2 = cx + radius * cos(first + turn * (i + 1));
		double y1 = cy + radius * dy, y2 = cy + radius * sin(first + turn * (i + 1));
		double d = hypot(x2 - x1, y2 - y1), ux = (x2 - x1) / d, uy = (y2 - y1) / d;
		double mx = (x1 + x2) / 2 + uy * (side + d / 8);
		double my = (y1 + y2) / 2 - ux * (side + d / 8);
		const struct ending *e = NULL;

		svg_put(s,
			"<path class='wait fault' data-code='E0304' d='M%g %gQ%g %g %g %g' "
			"marker-end='url(#a10)'/>\n",
			x1 + ux * 22 + uy * side / 4, y1 + uy * 22 - ux * side / 4, mx, my,
			x2 - ux * 22 + uy * side / 4, y2 - uy * 22 - ux * side / 4);
		if (all > n && i + 2 == n)
			svg_say(s, "class='dim' text-anchor='middle'", mx, my - 6, "and %u more",
				all - n);
		for (uint32_t k = 0; k < x->nendings; k++)
			if (x->endings[k].place == (i + 1 < n ? i : all - 1))
				e = &x->endings[k];
		if (!e) /* the view leaves it out */
			continue;
		const char *rest = e->text + strcspn(e->text, ";,");
		const char *why = arena_printf(
			x->arena,
			"class='why fault' data-code='E0304' data-rank='%u' text-anchor='%s'",
			e->rank,
			dx > 0.2    ? "start"
			: dx < -0.2 ? "end"
				    : "middle");
		double y = y1 + dy * (fabs(dx) < 0.2 ? 46 : 30) - 2;
		svg_say(s, why, x1 + dx * 32, y, "%s", explain_ending_text(s->x, e));
		svg_say(s, why, x1 + dx * 32, y + 14, "%s", rest + strspn(rest, ";, "));
		svg_put(s,
			"<circle class='rank fault' data-code='E0304' data-rank='%u' cx='%g' cy='%g' "
			"r='18'/>",
			e->rank, x1, y1);
		svg_say(s, "class='title' text-anchor='middle'", x1, y1 + 4, "%u", e->rank);
	}
	s->y += 2 * radius + 134;
}

/* ---- the map: how much each rank sends in each step, and some steps of some ranks in full --------- */

/* The most that a rank sends in a step, for each place of the map: some ranks and some steps; in S,
 * as the head has it. The moves of a step are ordered by receiver: each sender's are summed first.
 * Returns [columns][rows]. */
static double *amounts(const struct script *x, uint32_t columns, uint32_t rows, double *most)
{
	const struct program *p = x->r.p;
	uint32_t nranks = p->nranks;
	double unit = program_most_blocks(p);
	double *map = ARENA_ARRAY(x->arena, double, (size_t)rows *columns);
	double *sent = ARENA_ARRAY(x->arena, double, nranks);

	for (const struct frame *f = x->frames, *end = f ? f + x->nframes : NULL; f < end; f++) {
		for (uint32_t k = f->first; k < f->end && f->step; k++) {
			const struct move *m = &x->moves[k];
			uint32_t lo = m->source.lo, b = lo < p->cells ? x->r.buffer_of[lo] : 0;
			if (m->from != m->to && m->shown && p->nbuffers)
				sent[m->from] += (double)m->source.n / p->buffers[b].chunks / unit;
		}
		for (uint32_t q = 0; q < nranks && f->step; q++) {
			uint32_t row = (uint32_t)((uint64_t)q * rows / nranks);
			uint64_t column = (uint64_t)(f->step - 1) * columns / x->last;
			double *to = &map[column * rows + row];
			*to = fmax(*to, sent[q]);
			*most = fmax(*most, sent[q]);
			sent[q] = 0;
		}
	}
	return map;
}

/* Marks one more, if there is room for it. */
static void mark(bool *marks, uint32_t *n, uint32_t number)
{
	if (marks[number] || *n == FULL)
		return;
	marks[number] = true;
	++*n;
}

/* One step of some ranks that send to each other, and of chunks that they send. */
static void full(struct svg *s, const struct frame *f, const char *which)
{
	struct script *x = s->x;
	bool *rank = ARENA_ARRAY(x->arena, bool, x->r.p->nranks);
	bool *cell = ARENA_ARRAY(x->arena, bool, x->r.width);
	struct lanes l = { .frames = f, .nframes = 1, .inner = true };

	for (int faults = 1; faults >= 0; faults--) /* faults first */
		for (uint32_t k = f->first; k < f->end && l.nranks < FULL - 1; k++) {
			const struct move *m = &x->moves[k];
			if (!m->shown || (m->fault != 0) != faults)
				continue;
			mark(rank, &l.nranks, m->from);
			mark(rank, &l.nranks, m->to);
			if (m->source.n)
				mark(cell, &l.ncells, m->source.lo);
			if (m->target.n)
				mark(cell, &l.ncells, m->target.lo);
		}
	l.ranks = explain_marked(x, rank, x->r.p->nranks, &l.nranks);
	l.cells = explain_marked(x, cell, x->r.width, &l.ncells);
	svg_say(s, "class='title'", 16, s->y + 12, "%s%s: some ranks and chunks, and the %s",
		where_step_text(x->arena, f->step), which,
		f->step ? "messages between them" : "operations within ranks");
	s->y += 26;
	svg_lanes_width(s, &l);
	svg_lanes(s, &l);
	s->y += 14;
}

static void amounts_map(struct svg *s)
{
	uint32_t nranks = s->x->r.p->nranks, steps = s->x->last;
	uint32_t rows = nranks < MAP_ROWS ? nranks : MAP_ROWS;
	uint32_t columns = steps < MAP_STEPS ? steps : MAP_STEPS;
	double most = 0, *sent = amounts(s->x, columns, rows, &most);
	double wide = fmin((MAP_WIDTH - MAP_LEFT - 20) / columns, 40);

	svg_put(s,
		"<rect class='lane map' data-steps='%u' data-columns='%u' x='%g' y='%g' width='%g' "
		"height='%g'/>\n",
		steps, columns, MAP_LEFT, s->y, wide * columns, MAP_HIGH);
	for (uint32_t c = 0; c < columns; c++)
		for (uint32_t r = 0, end; r < rows; r = end) {
			const double *v = &sent[(size_t)c * rows];
			uint32_t step = 1 + (uint32_t)((uint64_t)c * steps / columns);
			double y = MAP_HIGH * r / rows;

			for (end = r + 1; end < rows && v[end] == v[r]; end++)
				;
			if (v[r] <= 0)
				continue;
			svg_put(s,
				"<rect class='heat' data-step='%u' x='%g' y='%g' width='%g' height='%g' "
				"opacity='%.2f'><title>step %u, from rank %u on: %.3g S</title></rect>\n",
				step, MAP_LEFT + wide * c, s->y + y, wide < 3 ? wide : wide - 1,
				MAP_HIGH * end / rows - y, 0.15 + 0.85 * v[r] / most, step,
				(uint32_t)((uint64_t)r * nranks / rows), v[r]);
		}
	svg_say(s, "class='dim'", 16, s->y + 9, "rank 0");
	svg_say(s, "class='dim'", 16, s->y + MAP_HIGH, "%u", nranks - 1);
	svg_say(s, "class='dim'", MAP_LEFT, s->y + MAP_HIGH + 14,
		steps == 1 ? "step 1" : "steps 1 to %u", steps);
	s->y += MAP_HIGH + 34;
	svg_lines(s, "dim",
		  "How much each rank sends in each step; darkest: %.3g S. --rank, --step and "
		  "--chunk draw a part in full.",
		  most);
}

static void draw_map(struct svg *s)
{
	struct script *x = s->x;
	const struct frame *first = NULL, *last = NULL, *wrong = NULL;

	for (const struct frame *f = x->frames, *end = f ? f + x->nframes : NULL; f < end; f++) {
		last = f;
		first = first || (x->last && !f->step) ? first : f;
		for (uint32_t k = f->first; k < f->end && !wrong; k++)
			wrong = x->moves[k].fault ? f : NULL;
	}
	if (x->last)
		amounts_map(s);
	else
		svg_lines(s, "dim", "No rank sends. --rank and --chunk draw a part in full.");
	for (uint32_t i = 0; i < x->nendings && i < FULL; i++)
		svg_lines(s, "fault", "rank %u: %s", x->endings[i].rank,
			  explain_ending_text(x, &x->endings[i]));
	if (x->nendings > FULL)
		svg_lines(s, "dim", "and %u more", x->nendings - FULL);
	if (first)
		full(s, first, "");
	if (wrong && wrong != first && wrong != last)
		full(s, wrong, ", which goes wrong");
	if (first && last > first)
		full(s, last, ", the last");
}

/* ---- all of it ---------------------------------------------------------------------------------- */

void explain_svg(struct script *x, FILE *out)
{
	struct svg s = { .c = x->r.c,
			 .x = x,
			 .first_diag = x->first_diag,
			 .otherwise = x->r.p->instance.schedule->name.span,
			 .title = explain_title(x),
			 .about = "" };
	struct lanes l = { .ranks = x->ranks,
			   .nranks = x->nranks,
			   .frames = x->frames,
			   .nframes = x->nframes,
			   .whole = !x->view->steps.n };
	bool *cells = x->cell;

	if (!x->view->nchunks && x->r.width <= MOST_CHUNKS && x->r.p->nbuffers) {
		cells = ARENA_ARRAY(x->arena, bool, x->r.width); /* there is room for all */
		memset(cells, true, x->r.width);
	}
	l.cells = explain_marked(x, cells, x->r.width, &l.ncells);
	bool map = l.nranks > MOST_RANKS || l.nframes > MOST_COLUMNS || l.ncells > MOST_CHUNKS;
	double words = 0, radius = fmin(fmax(15 * x->ncircle, 90), 15 * MOST_IN_CIRCLE);
	for (uint32_t i = 0; i < x->nendings; i++)
		words = fmax(words, 5.6 * (double)strlen(explain_ending_text(x, &x->endings[i])));
	l.words = l.whole ? words : 0;
	s.width = map ? MAP_WIDTH : svg_lanes_width(&s, &l);
	if (x->ncircle) /* words on both sides */
		s.width = fmax(s.width, 2 * (radius + 40 + words));
	if (!x->nerrors)
		s.about = arena_printf(x->arena, "%s; %s (S: the larger buffer of a rank)",
				       arena_count(x->arena, x->steps, "step"), sent_text(x));
	svg_begin(&s);
	if (x->ncircle)
		draw_circle(&s, radius);
	if (map)
		draw_map(&s);
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
