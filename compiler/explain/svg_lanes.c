/*
 * A lane for each rank. A column of cells, one a chunk, stands before the first step and after each
 * step; a message is an arrow from the sender's column before its step to the receiver's column
 * after it.
 *
 * A cell that keeps its value over some columns is one element: a dashed line, with its dashes as
 * the bars of these columns. So the picture grows with the program's moves, not with the columns'
 * cells.
 */
#include "compiler/draw/draw.h"
#include "compiler/explain/explain.h"

#include <math.h>
#include <string.h>

#define LEAST_WIDTH 620.0

/* Whether a row begins a buffer. */
static bool is_first(const struct svg *s, const struct lanes *l, uint32_t i)
{
	const struct program *p = s->x->r.p;

	return i == 0 ||
	       program_named(p, l->cells[i]).first != program_named(p, l->cells[i - 1]).first;
}

/* The name of a row; of many rows only the first of a buffer has one, the buffer's. */
static const char *row_name(struct svg *s, const struct lanes *l, uint32_t i)
{
	if (l->ncells <= 8)
		return explain_cells_text(s->x, (struct cells){ l->cells[i], 1 });
	return is_first(s, l, i) ? program_named(s->x->r.p, l->cells[i]).name : "";
}

static double column_x(const struct lanes *l, uint32_t column)
{
	return l->left + column * (l->cell + l->gap);
}

/* The top of a lane's rows. */
static double lane_y(const struct lanes *l, uint32_t lane)
{
	return l->top + lane * l->step + 5;
}

double svg_lanes_width(struct svg *s, struct lanes *l)
{
	struct script *x = s->x;
	bool wide = l->nframes <= 12, low = l->ncells > 8;
	size_t label = 0; /* characters of the longest row's name */
	size_t digits = strlen(arena_printf(x->arena, "%u", x->r.p->nranks - 1));
	double y = 0;

	l->cell = wide ? 30 : 18;
	l->gap = wide ? 74 : 44;
	l->high = !low ? 14 : l->ncells <= 16 ? 8 : 6;
	l->row = none_array(x->arena, x->r.width);
	l->lane_of = none_array(x->arena, x->r.p->nranks);
	l->y = ARENA_ARRAY(x->arena, double, l->ncells + 1);
	for (uint32_t i = 0; i < l->ncells; i++) {
		size_t n = strlen(row_name(s, l, i));
		label = n > label ? n : label;
		y += i == 0 ? l->high / 2 : l->high + (is_first(s, l, i) ? 7 : 2);
		l->y[i] = y;
		l->row[l->cells[i]] = i;
	}
	for (uint32_t q = 0; q < l->nranks; q++)
		l->lane_of[l->ranks[q]] = q;
	l->lane = (l->ncells ? y + l->high / 2 : 20) + 10;
	l->step = l->lane + (low ? 6 : 9);
	l->left = 54 + 6.5 * (double)digits + 5 * (double)label;
	l->margin = fmax(14 + l->words, 24);
	return fmax(column_x(l, l->nframes) + l->cell + l->margin, LEAST_WIDTH);
}

/* ---- cells -------------------------------------------------------------------------------------- */

/* The ground of a lane, its name and those of its rows. */
static void lane(struct svg *s, const struct lanes *l, uint32_t q)
{
	double y = lane_y(l, q) - 5;

	svg_put(s, "<rect class='lane' x='%g' y='%g' width='%g' height='%g' rx='4'/>", l->left - 8,
		y, column_x(l, l->nframes) + l->cell + l->margin - l->left - 4, l->lane);
	svg_say(s, "", 10, y + l->lane / 2 + 4, "rank %u", l->ranks[q]);
	for (uint32_t i = 0; i < l->ncells; i++)
		if (*row_name(s, l, i))
			svg_say(s, "class='dim' font-size='8' text-anchor='end'", l->left - 12,
				y + 8 + l->y[i], "%s", row_name(s, l, i));
}

static const char *step_name(struct svg *s, const struct lanes *l, uint32_t column)
{
	if (column)
		return arena_printf(s->x->arena, "%u", l->frames[column - 1].step);
	return l->whole ? "start" : "before";
}

/* The value of a rank's chunk, since a column. */
struct held {
	uint32_t id, since;
};

/* Its bars up to a column: an element with these attributes, up to those that follow. The dashes of
 * bars that fill their column are their group's. */
static void bars(struct svg *s, const struct lanes *l, const char *attributes, struct held h,
		 uint32_t end, double y, double width)
{
	double inset = width < l->cell;

	svg_put(s, "<path%s d='M%g %gH%g'", quotes(s->c->scratch, attributes),
		column_x(l, h.since) + inset, y, column_x(l, end - 1) + inset + width);
	if (inset > 0 && end > h.since + 1)
		svg_put(s, " stroke-dasharray='%g %g'", width, l->cell + l->gap - width);
}

/* What the chunk holds in the columns [h.since, end), on its ground. */
static void cell(struct svg *s, const struct lanes *l, uint32_t lane, uint32_t row, struct held h,
		 uint32_t end)
{
	struct script *x = s->x;
	uint32_t rank = l->ranks[lane], at = l->cells[row];
	struct holding has = explain_holding(x, h.id, rank, at);
	const char *name = explain_cells_text(x, (struct cells){ at, 1 });
	const char *holds = svg_text(s, explain_value_text(x, h.id, at));
	const char *ground = "", *class = " class='cell'";
	double y = lane_y(l, lane) + l->y[row];
	bool none = h.id >= POISON;

	if (none)
		ground = " class='hole'";
	else if (has.whole)
		ground = arena_printf(x->arena, " class='whole' stroke-width='%g'", l->high);
	if (!none)
		class = arena_printf(x->arena, " class='cell%s c%u'", has.part < 1 ? " part" : "",
				     has.colour % NCOLOURS);
	bars(s, l, ground, h, end, y, l->cell);
	svg_put(s, "/>");
	bars(s, l, class, h, end, y, (l->cell - 2) * has.part);
	svg_put(s,
		" data-rank='%u' data-step='%s' data-until='%s' data-chunk='%s' data-holds='%s'>"
		"<title>%s holds %s</title></path>\n",
		rank, step_name(s, l, h.since), step_name(s, l, end - 1), name, holds, name,
		none ? "nothing" : holds);
	if (has.other) {
		bars(s, l, " class='other'", h, end, y, l->cell - 2);
		svg_put(s, "/>\n");
	}
}

/* The cells of all lanes, each when its value changes. The first column shows the state before the
 * first step that is shown. */
static void cells(struct svg *s, const struct lanes *l)
{
	struct script *x = s->x;
	uint32_t *state = explain_start(x), k = 0;
	struct held *held = ARENA_ARRAY(x->arena, struct held, (size_t)l->nranks * l->ncells);

	svg_put(s, "<g class='ground' stroke-width='%g' stroke-dasharray='%g %g'>\n", l->high - 2,
		l->cell, l->gap);
	for (uint32_t c = 0; c <= l->nframes + 1; c++) {
		if (l->nframes && c <= l->nframes)
			explain_play(x, &k, c ? l->frames[c - 1].end : l->frames->first, state);
		for (uint32_t at = 0; at < l->nranks * l->ncells; at++) {
			uint32_t q = at / l->ncells, i = at % l->ncells;
			uint32_t id = state[(size_t)l->ranks[q] * x->r.width + l->cells[i]];

			if (c && c <= l->nframes && id == held[at].id)
				continue;
			if (c)
				cell(s, l, q, i, held[at], c);
			held[at] = (struct held){ id, c };
		}
	}
	svg_put(s, "</g>\n");
}

/* ---- arrows --------------------------------------------------------------------------------------- */

/* One end of an arrow: the heights of its cells' rows. */
struct tip {
	bool drawn, row; /* its rank is; one of its chunks is */
	double x, y, top, bottom;
};

static struct tip tip(const struct lanes *l, uint32_t rank, struct cells c, double x)
{
	struct tip t = { .drawn = l->lane_of[rank] != NONE, .x = x };
	double y = t.drawn ? lane_y(l, l->lane_of[rank]) : 0;

	t.top = t.bottom = y + (l->lane - 10) / 2; /* of none of its chunks: the lane's middle */
	for (uint32_t i = c.lo; i < c.lo + c.n; i++) {
		if (l->row[i] == NONE)
			continue;
		double at = y + l->y[l->row[i]];
		t.top = t.row ? fmin(t.top, at) : at;
		t.bottom = t.row ? fmax(t.bottom, at) : at;
		t.row = true;
	}
	t.y = (t.top + t.bottom) / 2;
	return t;
}

/* A bracket about several chunks. */
static void bracket(struct svg *s, struct tip t)
{
	if (t.drawn && t.bottom > t.top)
		svg_put(s, "M%g %gV%g", t.x, t.top, t.bottom);
}

/* That of its data, where all is of one. */
static uint32_t colour_of(struct svg *s, const struct move *m)
{
	struct script *x = s->x;
	uint32_t colour = m->source.n ? 0 : GREY;

	if (m->lost && m->source.n)
		return explain_holding(x, m->carries, m->from, m->source.lo).colour % NCOLOURS;
	for (uint32_t i = 0; i < m->n && colour != GREY; i++) {
		const struct stored *t = &x->stores[m->first + i];
		uint32_t one = explain_holding(x, t->after, m->to, t->cell).colour % NCOLOURS;
		colour = i && one != colour ? GREY : one;
	}
	return colour;
}

static void arrow(struct svg *s, const struct lanes *l, const struct move *m, uint32_t column)
{
	struct script *x = s->x;
	bool local = m->send == m->recv;
	const char *reads = explain_cells_text(x, m->source);
	struct tip a = tip(l, m->from, m->source, column_x(l, column - 1) + l->cell + 2);
	struct tip b = tip(l, m->to, m->target, column_x(l, column) - 3);

	b.drawn &= !m->lost;
	if (l->inner ? !a.drawn || !(b.drawn || m->lost) || !(!m->source.n || a.row || b.row)
		     : !a.drawn && !b.drawn)
		return;
	if (m->combines && b.drawn)
		b.x -= 9;
	if (!b.drawn) { /* received by no rank, or by one that is not shown */
		b.x = a.x + l->gap * 0.4;
		b.y = a.y + 6;
	}
	if (!a.drawn) {
		a.x = b.x - l->gap * 0.4;
		a.y = b.y - 6;
	}
	double bend = (b.x - a.x) * 0.47, back = -bend;
	if (local) { /* an arc at the column: what arrived in this step is there */
		a.x = b.x;
		bend = back = -l->gap * 0.3;
	}
	svg_put(s, "<path class='message %s%s%s%s c%u' data-from='%u' data-to='%u' data-step='%u'",
		m->kind, m->source.n > 1 ? " several" : "", m->fault ? " fault" : "",
		m->combines ? " plus" : "", colour_of(s, m), m->from, m->to, m->depth);
	if (m->fault)
		svg_put(s, " data-code='%s'", diag_code_text(m->fault).s);
	svg_put(s, " data-line='%u' data-chunks='%s' d='",
		source_place(x->r.c->sources, explain_span(x, m->recv ? m->recv : m->send).lo).line,
		reads);
	bracket(s, a);
	bracket(s, b);
	svg_put(s, "M%g %gC%g %g %g %g %g %g'><title>step %u, %s: %s%s</title></path>\n", a.x, a.y,
		a.x + bend, a.y, b.x + back, b.y, b.x, b.y, m->depth,
		svg_text(s, explain_line_text(x, explain_span(x, m->send))),
		svg_text(s, explain_move_text(x, m)), m->lost ? ", not received" : "");
	if (a.drawn != b.drawn && !m->lost)
		svg_say(s, "class='label'", a.x, b.y - 6, a.drawn ? "to %u" : "from %u",
			a.drawn ? m->to : m->from);
	else if (m->source.n > 1 && x->n <= 48 && !local)
		svg_say(s, "class='label'", a.x + 4, a.y - 3, "%s", reads);
}

/* ---- errors ------------------------------------------------------------------------------ */

static void box(struct svg *s, const struct lanes *l, double y, int code)
{
	svg_put(s,
		"<rect class='fault box' data-code='%s' x='%g' y='%g' width='%g' height='%g'/>\n",
		diag_code_text(code).s, column_x(l, l->nframes) - 2, y - l->high / 2 - 2,
		l->cell + 4, l->high + 4);
}

/* [width]: the cells of a rank that most moves of a race (E0402) touch: where two overlap, if any. */
static bool *find_raced(const struct script *x, uint32_t rank)
{
	uint32_t *touched = ARENA_ARRAY(x->arena, uint32_t, x->r.width), most = 1;
	bool *raced = ARENA_ARRAY(x->arena, bool, x->r.width);

	for (uint32_t k = 0; k < x->all; k++) {
		const struct move *m = &x->moves[k];
		for (uint32_t i = 0; m->fault == 402 && m->from == rank && i < m->source.n; i++)
			touched[m->source.lo + i]++;
		for (uint32_t i = 0; m->fault == 402 && m->to == rank && i < m->target.n; i++)
			touched[m->target.lo + i]++;
	}
	for (uint32_t i = 0; i < x->r.width; i++)
		most = touched[i] > most ? touched[i] : most;
	for (uint32_t i = 0; i < x->r.width; i++)
		raced[i] = touched[i] == most;
	return raced;
}

/* At a lane's end: the chunks that a race is about, and how the rank ends. */
static void faults(struct svg *s, const struct lanes *l, uint32_t q)
{
	struct script *x = s->x;
	double top = lane_y(l, q), at = top, size = fmin(l->high, 10);
	double left = column_x(l, l->nframes) + l->cell + 6;
	const bool *raced = find_raced(x, l->ranks[q]);

	for (uint32_t i = 0; i < l->ncells; i++)
		if (raced[l->cells[i]])
			box(s, l, top + l->y[i], 402);
	for (uint32_t i = 0; i < x->nendings; i++) {
		const struct ending *e = &x->endings[i];
		if (e->rank != l->ranks[q])
			continue;
		struct diag_code_text code = diag_code_text(e->code);
		bool drawn = e->cell != NONE && l->row[e->cell] != NONE;
		double y = drawn ? top + l->y[l->row[e->cell]] : at + size / 2 + 2;
		if (drawn)
			box(s, l, y, e->code);
		if (e->cell == NONE)
			svg_put(s, "<path class='wait fault' data-code='%s' d='M%g %gV%g'/>",
				code.s, left - 2, top - 3, top + l->lane - 12);
		svg_put(s,
			"<text class='fault' data-code='%s' data-rank='%u' font-size='%g' x='%g' "
			"y='%g'>%s</text>\n",
			code.s, e->rank, size, left + 2, y + size * 0.4,
			svg_text(s, explain_ending_text(x, e)));
		at = y + size / 2;
	}
}

/* ---- all of it ------------------------------------------------------------------------------------- */

void svg_lanes(struct svg *s, struct lanes *l)
{
	for (uint32_t c = 0; c <= l->nframes; c++)
		svg_put(s,
			"<text class='dim column' data-step='%s' data-x='%g' text-anchor='middle' "
			"x='%g' y='%g'>%s</text>\n",
			step_name(s, l, c), column_x(l, c), column_x(l, c) + l->cell / 2, s->y + 8,
			c && !l->frames[c - 1].step ? "local" : step_name(s, l, c));
	l->top = s->y + 16;
	for (uint32_t q = 0; q < l->nranks; q++)
		lane(s, l, q);
	cells(s, l);
	for (uint32_t c = 0; c < l->nframes; c++)
		for (uint32_t k = l->frames[c].first; k < l->frames[c].end; k++)
			if (s->x->moves[k].shown)
				arrow(s, l, &s->x->moves[k], c + 1);
	for (uint32_t q = 0; q < l->nranks && l->whole && !s->x->right; q++)
		faults(s, l, q);
	s->y = l->top + l->nranks * l->step;
}
