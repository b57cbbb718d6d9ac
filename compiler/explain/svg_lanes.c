/*
 * A lane for each rank. A column of cells, one a chunk, stands before the first step and after each
 * step; a message is an arrow from the sender's column before its step to the receiver's column
 * after it.
 *
 * A cell that keeps its value over some columns is one element: a dashed line, with its dashes as
 * the bars of these columns. So the picture grows with the program's moves, not with the columns'
 * cells.
 */
#include "compiler/explain/svg.h"

#include <string.h>

/* "data" and "0..4", of data[0..4]. */
static void chunks(struct svg *s, const char *key, struct cells c)
{
	const char *text = explain_cells_text(s->x, c), *range = text + strcspn(text, "[");

	svg_put(s, " data-buffer='%.*s' data-%s='%.*s'", (int)(range - text), text, key,
		*range ? (int)strlen(range) - 2 : 0, *range ? range + 1 : "");
}

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

/* Characters of the longest text at a lane's end. */
static size_t longest_ending(struct svg *s, const struct lanes *l)
{
	size_t most = 0;

	for (uint32_t i = 0; i < s->x->nendings && l->whole; i++) {
		const struct ending *e = &s->x->endings[i];
		size_t n = l->lane_of[e->rank] == NONE ? 0 : strlen(explain_ending_text(s->x, e));
		most = n > most ? n : most;
	}
	return most;
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
	size_t label = 0, words, digits = strlen(arena_printf(x->arena, "%u", x->r.p->nranks - 1));
	double y = 0, width;

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
	words = longest_ending(s, l);
	l->lane = (l->ncells ? y + l->high / 2 : 20) + 10;
	l->step = l->lane + (low ? 6 : 9);
	l->left = 54 + 6.5 * (double)digits + 5 * (double)label;
	l->margin = words ? 14 + 5.6 * (double)words : 24;
	width = column_x(l, l->nframes) + l->cell + l->margin;
	return width > LEAST_WIDTH ? width : LEAST_WIDTH;
}

/* ---- cells -------------------------------------------------------------------------------------- */

static uint32_t *value_at(const struct lanes *l, uint32_t column, uint32_t lane, uint32_t row)
{
	return &l->values[((size_t)column * l->nranks + lane) * l->ncells + row];
}

/* The values of all columns. The first shows the state before the first step that is shown. */
static void keep_values(struct svg *s, struct lanes *l)
{
	struct script *x = s->x;
	uint32_t *state = explain_start(x), k = 0;

	l->values =
		ARENA_ARRAY(x->arena, uint32_t, (size_t)(l->nframes + 1) * l->nranks * l->ncells);
	for (uint32_t c = 0; c <= l->nframes; c++) {
		explain_play(x, &k,
			     c		  ? l->frames[c - 1].end
			     : l->nframes ? l->frames->first
					  : 0,
			     state);
		for (uint32_t q = 0; q < l->nranks; q++)
			for (uint32_t i = 0; i < l->ncells; i++)
				*value_at(l, c, q, i) =
					state[(size_t)l->ranks[q] * x->r.width + l->cells[i]];
	}
}

/* A part of a path that has a bar in each of the columns [from, end). */
static void bars(struct svg *s, const struct lanes *l, uint32_t from, uint32_t end, double y,
		 double inset, double width)
{
	svg_put(s, "M%g %gH%g", pt(column_x(l, from) + inset), pt(y),
		pt(column_x(l, end - 1) + inset + width));
}

/* Its dashes. */
static void dashes(struct svg *s, const struct lanes *l, double width)
{
	svg_put(s, " stroke-dasharray='%g %g'", pt(width), pt(l->cell + l->gap - width));
}

static const char *step_name(struct svg *s, const struct lanes *l, uint32_t column)
{
	if (column)
		return arena_printf(s->x->arena, "%u", l->frames[column - 1].step);
	return l->whole ? "start" : "before";
}

/* What a rank's chunk holds in the columns [from, end). */
static void cell(struct svg *s, const struct lanes *l, uint32_t lane, uint32_t row, uint32_t from,
		 uint32_t end)
{
	struct script *x = s->x;
	uint32_t id = *value_at(l, from, lane, row), rank = l->ranks[lane], at = l->cells[row];
	struct holding h = explain_holding(x, id, rank, at);
	const char *holds = svg_text(s, explain_value_text(x, id, at));
	double width = (l->cell - 2) * h.part;

	svg_put(s, "<path class='cell%s", h.part < 1 && id < POISON ? " part" : "");
	if (id < POISON)
		svg_put(s, " c%u", h.colour % NCOLOURS);
	svg_put(s, "' data-rank='%u' data-step='%s'", rank, step_name(s, l, from));
	if (end > from + 1)
		svg_put(s, " data-until='%s'", step_name(s, l, end - 1));
	chunks(s, "chunk", (struct cells){ at, 1 });
	svg_put(s, " data-holds='%s'", holds);
	if (end > from + 1)
		dashes(s, l, width);
	svg_put(s, " d='");
	bars(s, l, from, end, lane_y(l, lane) + l->y[row], 1, width);
	svg_put(s, "'><title>%s holds %s</title></path>\n",
		explain_cells_text(x, (struct cells){ at, 1 }), id < POISON ? holds : "nothing");
}

/* What a part of a lane's ground is about. */
enum ground { HOLE, FRAME, INNER, OTHER, WHOLE };

static bool has_ground(struct svg *s, const struct lanes *l, uint32_t lane, uint32_t row,
		       uint32_t column, enum ground kind)
{
	uint32_t id = *value_at(l, column, lane, row);
	struct holding h;

	if (kind <= INNER)
		return (id >= POISON) == (kind == HOLE);
	h = explain_holding(s->x, id, l->ranks[lane], l->cells[row]);
	return kind == OTHER ? h.other : h.whole;
}

/* Bars of one kind for all cells of a lane: one element. */
static void ground(struct svg *s, const struct lanes *l, uint32_t q, enum ground kind)
{
	static const char *const classes[] = { "hole", "frame", "inner", "other", "whole" };
	uint32_t columns = l->nframes + 1, n = 0;
	double inset = kind == INNER || kind == OTHER, width = l->cell - 2 * inset;

	for (uint32_t i = 0; i < l->ncells; i++)
		for (uint32_t c = 0, end; c < columns; c = end) {
			end = c + 1;
			if (!has_ground(s, l, q, i, c, kind))
				continue;
			while (end < columns && has_ground(s, l, q, i, end, kind))
				end++;
			if (n++ == 0) {
				svg_put(s, "<path class='%s' stroke-width='%g'", classes[kind],
					kind == HOLE ? 1.5 : pt(l->high - 2 * inset));
				dashes(s, l, width);
				svg_put(s, " d='");
			}
			bars(s, l, c, end, lane_y(l, q) + l->y[i], inset, width);
		}
	if (n)
		svg_put(s, "'/>\n");
	s->seen |= (unsigned)(n && kind == HOLE) << SEEN_HOLE | (unsigned)(n && kind == OTHER)
									<< SEEN_OTHER;
}

static void lane(struct svg *s, const struct lanes *l, uint32_t q)
{
	uint32_t columns = l->nframes + 1;

	ground(s, l, q, WHOLE);
	svg_put(s, "<g stroke-width='%g'>\n", pt(l->high - 2));
	for (uint32_t i = 0; i < l->ncells; i++)
		for (uint32_t from = 0, end; from < columns; from = end) {
			end = from + 1;
			while (end < columns && *value_at(l, end, q, i) == *value_at(l, from, q, i))
				end++;
			cell(s, l, q, i, from, end);
		}
	svg_put(s, "</g>\n");
	ground(s, l, q, OTHER);
}

/* The layer below the arrows: the lane, its name and those of its rows, and the frames of its
 * cells. */
static void below(struct svg *s, const struct lanes *l, uint32_t q)
{
	double y = lane_y(l, q) - 5;

	svg_put(s, "<rect class='lane' x='%g' y='%g' width='%g' height='%g' rx='4'/>",
		pt(l->left - 8), pt(y),
		pt(column_x(l, l->nframes) + l->cell + l->margin - l->left - 4), pt(l->lane));
	svg_say(s, "", 10, y + l->lane / 2 + 4, "rank %u", l->ranks[q]);
	for (uint32_t i = 0; i < l->ncells; i++)
		if (*row_name(s, l, i))
			svg_say(s, "class='dim' font-size='8' text-anchor='end'", l->left - 12,
				y + 8 + l->y[i], "%s", row_name(s, l, i));
	for (enum ground kind = HOLE; kind <= INNER; kind++)
		ground(s, l, q, kind);
}

/* ---- arrows --------------------------------------------------------------------------------------- */

/* One end of an arrow: the heights of its cells' rows. */
struct tip {
	bool drawn;
	double x, y, top, bottom;
};

static struct tip tip(const struct lanes *l, uint32_t rank, struct cells c, double x)
{
	struct tip t = { .drawn = l->lane_of[rank] != NONE, .x = x };
	bool any = false;

	if (!t.drawn)
		return t;
	double y = lane_y(l, l->lane_of[rank]);
	t.top = t.bottom = y + (l->lane - 10) / 2; /* of none of its chunks: the lane's middle */
	for (uint32_t i = 0; i < c.n; i++) {
		if (l->row[c.lo + i] == NONE)
			continue;
		double at = y + l->y[l->row[c.lo + i]];
		t.top = any && t.top < at ? t.top : at;
		t.bottom = any && t.bottom > at ? t.bottom : at;
		any = true;
	}
	t.y = (t.top + t.bottom) / 2;
	return t;
}

/* An end outside the picture. */
static void put_tip(struct tip *t, double x, double y)
{
	*t = (struct tip){ false, x, y, y, y };
}

/* That of its data, where all is of one. */
static uint32_t colour_of(struct svg *s, const struct move *m)
{
	struct script *x = s->x;
	uint32_t colour = 0;

	if (!m->source.n)
		return GREY;
	if (m->lost)
		return explain_holding(x, m->carries, m->from, m->source.lo).colour % NCOLOURS;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct stored *t = &x->stores[m->first + i];
		struct holding h = explain_holding(x, t->after, m->to, t->cell);
		if (i && h.colour % NCOLOURS != colour)
			return GREY;
		colour = h.colour % NCOLOURS;
	}
	return colour;
}

static void arrow(struct svg *s, const struct lanes *l, const struct move *m, uint32_t column)
{
	struct script *x = s->x;
	bool local = m->send == m->recv;
	struct tip a = tip(l, m->from, m->source, column_x(l, column - 1) + l->cell + 2);
	struct tip b = tip(l, m->to, m->target, column_x(l, column) - 3);
	uint32_t colour = colour_of(s, m);

	b.drawn &= !m->lost;
	s->seen |= (unsigned)m->combines << SEEN_PLUS | (unsigned)local << SEEN_LOCAL |
		   (unsigned)m->lost << SEEN_LOST | (unsigned)(m->fault != 0) << SEEN_FAULT |
		   (unsigned)(m->source.n > 1) << SEEN_SEVERAL |
		   (unsigned)(colour == GREY) << SEEN_GREY;
	if (m->combines && b.drawn)
		b.x -= 9;
	if (!b.drawn) /* received by no rank, or by one that is not shown */
		put_tip(&b, a.x + l->gap * 0.4, a.y + 6);
	if (!a.drawn)
		put_tip(&a, b.x - l->gap * 0.4, b.y - 6);
	svg_put(s,
		"<path class='message%s%s%s c%u' data-from='%u' data-to='%u' data-step='%u' "
		"data-line='%u'",
		m->lost ? " lost"
		: local ? " local"
			: "",
		m->fault ? " fault" : "", m->combines ? " plus" : "", colour, m->from, m->to,
		m->depth,
		source_place(x->r.c->sources, explain_span(x, m->recv ? m->recv : m->send).lo)
			.line);
	chunks(s, "chunks", m->source);
	if (m->fault)
		svg_put(s, " data-code='%s'", diag_code_text(m->fault).s);
	svg_put(s, " d='");
	double bend = (b.x - a.x) * 0.47, back = -bend;
	if (local) { /* an arc at the column: what arrived in this step is there */
		a.x = b.x;
		bend = back = -l->gap * 0.3;
	}
	if (a.bottom > a.top) /* brackets about several chunks */
		svg_put(s, "M%g %gV%g", pt(a.x), pt(a.top), pt(a.bottom));
	if (b.bottom > b.top)
		svg_put(s, "M%g %gV%g", pt(b.x), pt(b.top), pt(b.bottom));
	svg_put(s, "M%g %gC%g %g %g %g %g %g'><title>step %u, %s: %s%s</title></path>\n", pt(a.x),
		pt(a.y), pt(a.x + bend), pt(a.y), pt(b.x + back), pt(b.y), pt(b.x), pt(b.y),
		m->depth, svg_text(s, explain_line_text(x, explain_span(x, m->send))),
		svg_text(s, explain_move_text(x, m)), m->lost ? ", not received" : "");
	if (a.drawn != b.drawn && !m->lost)
		svg_say(s, "class='label'", a.x, b.y - 6, a.drawn ? "to %u" : "from %u",
			a.drawn ? m->to : m->from);
	else if (m->source.n > 1 && x->n <= 48 && !local)
		svg_say(s, "class='label'", a.x + 4, a.y - 3, "%s",
			explain_cells_text(x, m->source));
}

static bool has_row(const struct lanes *l, struct cells c)
{
	for (uint32_t i = 0; i < c.n; i++)
		if (l->row[c.lo + i] != NONE)
			return true;
	return false;
}

/* Whether the move is one of the lanes'. */
static bool is_drawn(const struct lanes *l, const struct move *m)
{
	bool from = l->lane_of[m->from] != NONE, to = !m->lost && l->lane_of[m->to] != NONE;

	if (!l->inner)
		return from || to;
	return from && (to || m->lost) &&
	       (!m->source.n || has_row(l, m->source) || has_row(l, m->target));
}

static void arrows(struct svg *s, const struct lanes *l)
{
	for (uint32_t c = 0; c < l->nframes; c++)
		for (uint32_t k = l->frames[c].first; k < l->frames[c].end; k++)
			if (s->x->moves[k].shown && is_drawn(l, &s->x->moves[k]))
				arrow(s, l, &s->x->moves[k], c + 1);
}

/* ---- errors ------------------------------------------------------------------------------ */

static void box(struct svg *s, const struct lanes *l, double y, int code)
{
	svg_put(s,
		"<rect class='fault box' data-code='%s' x='%g' y='%g' width='%g' height='%g'/>\n",
		diag_code_text(code).s, pt(column_x(l, l->nframes) - 2), pt(y - l->high / 2 - 2),
		pt(l->cell + 4), pt(l->high + 4));
}

/* At a lane's end: the chunks that a race is about, and how the rank ends. */
static void faults(struct svg *s, const struct lanes *l, uint32_t q)
{
	struct script *x = s->x;
	double top = lane_y(l, q), at = top, size = l->high >= 10 ? 10 : l->high;
	double left = column_x(l, l->nframes) + l->cell + 6;
	struct cells raced = explain_raced(x, l->ranks[q]);

	s->seen |= 1u << SEEN_FAULT;
	for (uint32_t i = raced.lo; i < raced.lo + raced.n; i++)
		if (l->row[i] != NONE)
			box(s, l, top + l->y[l->row[i]], 402);
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
				code.s, pt(left - 2), pt(top - 3), pt(top + l->lane - 12));
		svg_say(s,
			arena_printf(x->arena,
				     "class='fault' data-code='%s' data-rank='%u' font-size='%g'",
				     code.s, e->rank, size),
			left + 2, y + size * 0.4, "%s", explain_ending_text(s->x, e));
		at = y + size / 2;
	}
}

/* ---- all of it ------------------------------------------------------------------------------------- */

void svg_lanes(struct svg *s, struct lanes *l)
{
	keep_values(s, l);
	for (uint32_t c = 0; c <= l->nframes; c++)
		svg_say(s,
			arena_printf(s->x->arena,
				     "class='dim column' data-step='%s' data-x='%g' "
				     "text-anchor='middle'",
				     step_name(s, l, c), pt(column_x(l, c))),
			column_x(l, c) + l->cell / 2, s->y + 8, "%s",
			c && !l->frames[c - 1].step ? "local" : step_name(s, l, c));
	l->top = s->y + 16;
	for (uint32_t q = 0; q < l->nranks; q++)
		below(s, l, q);
	arrows(s, l);
	for (uint32_t q = 0; q < l->nranks; q++)
		lane(s, l, q);
	for (uint32_t q = 0; q < l->nranks && l->whole && !s->x->right; q++)
		faults(s, l, q);
	s->y = l->top + l->nranks * l->step;
}
