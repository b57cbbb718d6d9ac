/*
 * The picture if there is too much for lanes: how much each rank sends in each step, as a map, with
 * the first and the last step of the first ranks in full. Cells of the map with equal amounts below
 * each other are one element. O(moves + size of the output).
 */
#include "compiler/explain/svg.h"

#define MOST_ROWS 256u
#define MOST_STEPS 256u
#define LEFT 70.0
#define HIGH 256.0
#define FULL 8u /* ranks, and chunks, of a step in full */

struct heat {
	uint32_t nranks, nsteps; /* of the program, from step 1 */
	uint32_t rows, columns;	 /* of the map: each is some ranks and some steps */
	double *sent, most;	 /* [columns][rows]: the most of a rank in a step, in S */
};

static uint32_t row_of(const struct heat *h, uint32_t rank)
{
	return (uint32_t)((uint64_t)rank * h->rows / h->nranks);
}

static uint32_t column_of(const struct heat *h, uint32_t step)
{
	return (uint32_t)((uint64_t)(step - 1) * h->columns / h->nsteps);
}

/* In S, as the head has it. */
static double size_of(const struct script *x, const struct move *m)
{
	const struct program *p = x->r.p;
	uint32_t buffer = m->source.lo < p->cells ? x->r.buffer_of[m->source.lo] : 0;

	return p->nbuffers
		       ? (double)m->source.n / p->buffers[buffer].chunks / program_most_blocks(p)
		       : 0;
}

/* The moves of a step are ordered by receiver: each sender's are summed, then put into the map. */
static void fill(struct script *x, struct heat *h)
{
	double *sent = ARENA_ARRAY(x->arena, double, h->nranks);

	h->sent = ARENA_ARRAY(x->arena, double, (size_t)h->rows * h->columns);
	for (uint32_t i = 0; i < x->nframes; i++) {
		const struct frame *f = &x->frames[i];
		for (uint32_t q = 0; q < h->nranks; q++)
			sent[q] = 0;
		for (uint32_t k = f->first; k < f->end; k++) {
			const struct move *m = &x->moves[k];
			if (m->from != m->to && m->shown)
				sent[m->from] += size_of(x, m);
		}
		for (uint32_t q = 0; q < h->nranks && f->step; q++) {
			double *to =
				&h->sent[(size_t)column_of(h, f->step) * h->rows + row_of(h, q)];
			*to = sent[q] > *to ? sent[q] : *to;
			h->most = sent[q] > h->most ? sent[q] : h->most;
		}
	}
}

static void map(struct svg *s, const struct heat *h)
{
	double wide = (HEAT_WIDTH - LEFT - 20) / h->columns;

	wide = wide < 40 ? wide : 40;
	svg_put(s,
		"<rect class='lane map' data-steps='%u' data-columns='%u' x='%g' y='%g' width='%g' height='%g'/>\n",
		h->nsteps, h->columns, pt(LEFT), pt(s->y), pt(wide * h->columns), pt(HIGH));
	for (uint32_t c = 0; c < h->columns; c++)
		for (uint32_t r = 0, end; r < h->rows; r = end) {
			const double *v = &h->sent[(size_t)c * h->rows];
			uint32_t step = 1 + (uint32_t)((uint64_t)c * h->nsteps / h->columns);
			double y = HIGH * r / h->rows;

			for (end = r + 1; end < h->rows && v[end] == v[r]; end++)
				;
			if (v[r] <= 0)
				continue;
			svg_put(s,
				"<rect class='heat' data-step='%u' x='%g' y='%g' width='%g' height='%g' "
				"opacity='%.2f'><title>step %u, from rank %u on: %.3g S</title></rect>\n",
				step, pt(LEFT + wide * c), pt(s->y + y),
				pt(wide < 3 ? wide : wide - 1), pt(HIGH * end / h->rows - y),
				0.15 + 0.85 * v[r] / h->most, step,
				(uint32_t)((uint64_t)r * h->nranks / h->rows), v[r]);
		}
	svg_say(s, "class='dim'", 16, s->y + 9, "rank 0");
	svg_say(s, "class='dim'", 16, s->y + HIGH, "%u", h->nranks - 1);
	svg_say(s, "class='dim'", LEFT, s->y + HIGH + 14,
		h->nsteps == 1 ? "step 1" : "steps 1 to %u", h->nsteps);
	s->y += HIGH + 34;
	svg_say(s, "class='dim'", 16, s->y,
		"How much each rank sends in each step; darkest: %.3g S. --rank, --step and --chunk draw a "
		"part in full.",
		h->most);
	s->y += 14;
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

static void endings(struct svg *s)
{
	struct script *x = s->x;

	for (uint32_t i = 0; i < x->nendings && i < FULL; i++) {
		const struct ending *e = &x->endings[i];
		svg_say(s,
			arena_printf(x->arena, "class='fault' data-code='%s' data-rank='%u'",
				     diag_code_text(e->code).s, e->rank),
			16, s->y + 12, "rank %u: %s", e->rank, explain_ending_text(s->x, e));
		s->y += 16;
	}
	if (x->nendings > FULL) {
		svg_say(s, "class='dim'", 16, s->y + 12, "and %u more", x->nendings - FULL);
		s->y += 16;
	}
	s->y += 14;
}

void svg_heat(struct svg *s)
{
	struct script *x = s->x;
	struct heat h = { .nranks = x->r.p->nranks, .nsteps = x->last };
	const struct frame *first = NULL, *last = NULL, *wrong = NULL;

	h.rows = h.nranks < MOST_ROWS ? h.nranks : MOST_ROWS;
	h.columns = h.nsteps < MOST_STEPS ? h.nsteps : MOST_STEPS;
	for (uint32_t i = 0; i < x->nframes; i++) {
		last = &x->frames[i];
		first = first || (h.nsteps && !last->step) ? first : last;
		for (uint32_t k = last->first; k < last->end && !wrong; k++)
			wrong = x->moves[k].fault ? last : NULL;
	}
	if (h.nsteps) {
		fill(x, &h);
		map(s, &h);
	} else {
		svg_say(s, "class='dim'", 16, s->y,
			"No rank sends. --rank and --chunk draw a part in full.");
		s->y += 14;
	}
	if (x->nerrors)
		endings(s);
	if (first)
		full(s, first, "");
	if (wrong && wrong != first && wrong != last)
		full(s, wrong, ", which goes wrong");
	if (first && last > first)
		full(s, last, ", the last");
}
