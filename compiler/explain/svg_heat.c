/*
 * The picture if there is too much for lanes: how much each rank sends in each step, as a map, with
 * the first and the last step of the first ranks in full. Cells of the map with equal amounts below
 * each other are one element. O(moves + size of the output).
 */
#include "compiler/explain/svg.h"

#include <math.h>

#define MOST_ROWS 256u
#define MOST_STEPS 256u
#define LEFT 70.0
#define HIGH 256.0
#define FULL 8u /* ranks, and chunks, of a step in full */

/* In S, as the head has it. */
static double size_of(const struct script *x, const struct move *m)
{
	const struct program *p = x->r.p;
	uint32_t buffer = m->source.lo < p->cells ? x->r.buffer_of[m->source.lo] : 0;

	return p->nbuffers
		       ? (double)m->source.n / p->buffers[buffer].chunks / program_most_blocks(p)
		       : 0;
}

/* The most that a rank sends in a step, for each place of the map: some ranks and some steps. The
 * moves of a step are ordered by receiver: each sender's are summed first. Returns [columns][rows]. */
static double *amounts(const struct script *x, uint32_t columns, uint32_t rows, double *most)
{
	uint32_t nranks = x->r.p->nranks;
	double *map = ARENA_ARRAY(x->arena, double, (size_t)rows *columns);
	double *sent = ARENA_ARRAY(x->arena, double, nranks);

	for (const struct frame *f = x->frames; f < x->frames + x->nframes; f++) {
		for (uint32_t k = f->first; k < f->end && f->step; k++) {
			const struct move *m = &x->moves[k];
			if (m->from != m->to && m->shown)
				sent[m->from] += size_of(x, m);
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

static void map(struct svg *s)
{
	uint32_t nranks = s->x->r.p->nranks, steps = s->x->last;
	uint32_t rows = nranks < MOST_ROWS ? nranks : MOST_ROWS;
	uint32_t columns = steps < MOST_STEPS ? steps : MOST_STEPS;
	double most = 0, *sent = amounts(s->x, columns, rows, &most);
	double wide = fmin((HEAT_WIDTH - LEFT - 20) / columns, 40);

	svg_put(s,
		"<rect class='lane map' data-steps='%u' data-columns='%u' x='%g' y='%g' width='%g' "
		"height='%g'/>\n",
		steps, columns, LEFT, s->y, wide * columns, HIGH);
	for (uint32_t c = 0; c < columns; c++)
		for (uint32_t r = 0, end; r < rows; r = end) {
			const double *v = &sent[(size_t)c * rows];
			uint32_t step = 1 + (uint32_t)((uint64_t)c * steps / columns);
			double y = HIGH * r / rows;

			for (end = r + 1; end < rows && v[end] == v[r]; end++)
				;
			if (v[r] <= 0)
				continue;
			svg_put(s,
				"<rect class='heat' data-step='%u' x='%g' y='%g' width='%g' height='%g' "
				"opacity='%.2f'><title>step %u, from rank %u on: %.3g S</title></rect>\n",
				step, LEFT + wide * c, s->y + y, wide < 3 ? wide : wide - 1,
				HIGH * end / rows - y, 0.15 + 0.85 * v[r] / most, step,
				(uint32_t)((uint64_t)r * nranks / rows), v[r]);
		}
	svg_say(s, "class='dim'", 16, s->y + 9, "rank 0");
	svg_say(s, "class='dim'", 16, s->y + HIGH, "%u", nranks - 1);
	svg_say(s, "class='dim'", LEFT, s->y + HIGH + 14, steps == 1 ? "step 1" : "steps 1 to %u",
		steps);
	s->y += HIGH + 34;
	svg_lines(s, "dim",
		  arena_printf(s->x->arena,
			       "How much each rank sends in each step; darkest: %.3g S. --rank, "
			       "--step and --chunk draw a part in full.",
			       most));
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

void svg_heat(struct svg *s)
{
	struct script *x = s->x;
	const struct frame *first = NULL, *last = NULL, *wrong = NULL;

	for (const struct frame *f = x->frames; f < x->frames + x->nframes; f++) {
		last = f;
		first = first || (x->last && !f->step) ? first : f;
		for (uint32_t k = f->first; k < f->end && !wrong; k++)
			wrong = x->moves[k].fault ? f : NULL;
	}
	if (x->last)
		map(s);
	else
		svg_lines(s, "dim", "No rank sends. --rank and --chunk draw a part in full.");
	for (uint32_t i = 0; i < x->nendings && i < FULL; i++)
		svg_lines(s, "fault",
			  arena_printf(x->arena, "rank %u: %s", x->endings[i].rank,
				       explain_ending_text(x, &x->endings[i])));
	if (x->nendings > FULL)
		svg_lines(s, "dim", arena_printf(x->arena, "and %u more", x->nendings - FULL));
	if (first)
		full(s, first, "");
	if (wrong && wrong != first && wrong != last)
		full(s, wrong, ", which goes wrong");
	if (first && last > first)
		full(s, last, ", the last");
}
