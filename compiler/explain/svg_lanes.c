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

struct geometry {
	const struct lanes *l;
	double cell, gap;   /* width of a column, and between two */
	double high, pitch; /* height of a cell, and from one to the next */
	double left, top;   /* of the first column and lane */
	double lane, step;  /* height of a lane, and from one to the next */
	double margin;	    /* right of the last column */
	uint32_t *row;	    /* [width]: of a chunk in its lane, or NONE */
	uint32_t *lane_of;  /* [nranks], or NONE */
	uint32_t *values;   /* [nsteps + 1][nranks][ncells] */
	double *y;	    /* [ncells]: of a row in its lane */
};

/* "data" and "0..4", of data[0..4]. */
static void chunks(struct svg *s, const char *key, struct cells c)
{
	const char *text = explain_cells_text(s->x, c), *range = text + strcspn(text, "[");

	svg_put(s, " data-buffer='%.*s' data-%s='%.*s'", (int)(range - text), text, key,
		*range ? (int)strlen(range) - 2 : 0, *range ? range + 1 : "");
}

/* The name of a row; of many rows only the first of a buffer has one, the buffer's. */
static const char *row_name(struct svg *s, const struct lanes *l, uint32_t i)
{
	if (l->ncells <= 8)
		return explain_cells_text(s->x, (struct cells){ l->cells[i], 1 });
	const struct named *at = explain_named(s->x, l->cells[i]);
	return i && at == explain_named(s->x, l->cells[i - 1]) ? "" : at->name;
}

struct last_words svg_last_words(struct svg *s, uint32_t i)
{
	struct script *x = s->x;
	const struct program *p = x->r.p;
	const struct diag *g = explain_diag(x);

	if (i < x->nstuck) {
		const struct stuck *w = &x->stuck[i];
		const struct task *t = &p->tasks[w->task];
		const char *text = svg_wait(s, w); /* the circle says the rest */
		if (w->place == NONE)
			text = arena_printf(
				x->arena, "%s, step %u: %s",
				program_line_text(x->r.c, p, explain_span(x, &t->ops[w->op])),
				w->step, w->text);
		return (struct last_words){ text, w->rank, NONE, g->code };
	}
	i -= x->nstuck;
	if (i < x->nwrong) {
		const struct wrong *w = &x->wrong[i];
		return (struct last_words){ explain_wrong_text(x, w), w->rank, w->cell, g->code };
	}
	i -= x->nwrong;
	if (i == x->nstops)
		return (struct last_words){ NULL, NONE, NONE, 0 };
	g = x->r.c->diags->v[x->first_diag + x->stops[i].diag];
	return (struct last_words){ arena_printf(
					    x->arena, "%s: %s",
					    program_line_text(x->r.c, p, explain_diag_span(x, g)),
					    diag_code_text(g->code).s),
				    x->stops[i].rank, NONE, g->code };
}

static void measure(struct svg *s, const struct lanes *l, struct geometry *g)
{
	struct script *x = s->x;
	bool wide = l->nsteps <= 12, low = l->ncells > 8;
	size_t words = 0, label = 0, n;
	double y = 0;

	*g = (struct geometry){ .l = l,
				.cell = wide ? 30 : 18,
				.gap = wide ? 74 : 44,
				.high = !low		  ? 14
					: l->ncells <= 16 ? 8
							  : 6 };
	g->pitch = g->high + 2;
	g->row = none_array(x->arena, x->r.width);
	g->lane_of = none_array(x->arena, x->r.p->nranks);
	g->y = ARENA_ARRAY(x->arena, double, l->ncells + 1);
	for (uint32_t i = 0; i < l->ncells; i++) {
		uint32_t at = l->cells[i];
		y += i == 0							 ? g->high / 2
		     : explain_named(x, at) == explain_named(x, l->cells[i - 1]) ? g->pitch
										 : g->pitch + 5;
		g->y[i] = y;
		g->row[at] = i;
		n = strlen(row_name(s, l, i));
		label = n > label ? n : label;
	}
	for (uint32_t q = 0; q < l->nranks; q++)
		g->lane_of[l->ranks[q]] = q;
	for (uint32_t i = 0; l->whole && !x->right; i++) {
		struct last_words w = svg_last_words(s, i);
		if (!w.text)
			break;
		if (g->lane_of[w.rank] != NONE)
			words = strlen(w.text) > words ? strlen(w.text) : words;
	}
	g->lane = (l->ncells ? y + g->high / 2 : 20) + 10;
	g->step = g->lane + (low ? 6 : 9);
	size_t digits = strlen(arena_printf(x->arena, "%u", x->r.p->nranks - 1));
	g->left = 54 + 6.5 * (double)digits + 5 * (double)label;
	g->margin = words ? 14 + 5.6 * (double)words : 24;
}

static double column_x(const struct geometry *g, uint32_t column)
{
	return g->left + column * (g->cell + g->gap);
}

double svg_lanes_width(struct svg *s, const struct lanes *l)
{
	struct geometry g;

	measure(s, l, &g);
	double width = column_x(&g, l->nsteps) + g.cell + g.margin;
	return width > LEAST_WIDTH ? width : LEAST_WIDTH;
}

/* ---- cells -------------------------------------------------------------------------------------- */

static uint32_t *value_at(const struct geometry *g, uint32_t column, uint32_t lane, uint32_t row)
{
	const struct lanes *l = g->l;

	return &g->values[((size_t)column * l->nranks + lane) * l->ncells + row];
}

static void keep_column(struct svg *s, const struct geometry *g, uint32_t column,
			const uint32_t *state)
{
	for (uint32_t q = 0; q < g->l->nranks; q++)
		for (uint32_t i = 0; i < g->l->ncells; i++)
			*value_at(g, column, q, i) =
				state[(size_t)g->l->ranks[q] * s->x->r.width + g->l->cells[i]];
}

/* The values of all columns. The first shows the state before the first step that is shown. */
static void keep_values(struct svg *s, struct geometry *g)
{
	const struct lanes *l = g->l;
	uint32_t *state = explain_start(s->x), column = 0;

	g->values =
		ARENA_ARRAY(s->x->arena, uint32_t, (size_t)(l->nsteps + 1) * l->nranks * l->ncells);
	if (!l->nsteps)
		keep_column(s, g, 0, state);
	for (uint32_t step = 0, k = 0; column < l->nsteps; step++) {
		if (!column && step == l->steps[0])
			keep_column(s, g, 0, state);
		explain_play(s->x, &k, step, state);
		if (step == l->steps[column])
			keep_column(s, g, ++column, state);
	}
}

/* A part of a path that has a bar in each of the columns [from, end). */
static void bars(struct svg *s, const struct geometry *g, uint32_t from, uint32_t end, double y,
		 double inset, double width)
{
	svg_put(s, "M%g %gH%g", pt(column_x(g, from) + inset), pt(y),
		pt(column_x(g, end - 1) + inset + width));
}

/* Its dashes. */
static void dashes(struct svg *s, const struct geometry *g, double width)
{
	svg_put(s, " stroke-dasharray='%g %g'", pt(width), pt(g->cell + g->gap - width));
}

static const char *step_name(struct svg *s, const struct lanes *l, uint32_t column)
{
	if (column)
		return arena_printf(s->x->arena, "%u", l->steps[column - 1]);
	return l->whole ? "start" : "before";
}

/* What a rank's chunk holds in the columns [from, end). */
static void cell(struct svg *s, const struct geometry *g, uint32_t lane, uint32_t row,
		 uint32_t from, uint32_t end, double y)
{
	const struct lanes *l = g->l;
	struct script *x = s->x;
	uint32_t id = *value_at(g, from, lane, row), rank = l->ranks[lane], at = l->cells[row];
	struct holding h = explain_holding(x, id, rank, at);
	const char *holds = svg_text(s, explain_value_text(x, id, at));
	const struct cells one = { at, 1 };
	double width = (g->cell - 2) * h.part;

	svg_put(s, "<path class='cell%s", h.part < 1 && id < POISON ? " part" : "");
	if (id < POISON)
		svg_put(s, " c%u", h.colour % NCOLOURS);
	svg_put(s, "' data-rank='%u' data-step='%s'", rank, step_name(s, l, from));
	if (end > from + 1)
		svg_put(s, " data-until='%s'", step_name(s, l, end - 1));
	chunks(s, "chunk", one);
	svg_put(s, " data-holds='%s'", holds);
	if (end > from + 1)
		dashes(s, g, width);
	svg_put(s, " d='");
	bars(s, g, from, end, y, 1, width);
	svg_put(s, "'><title>%s holds %s</title></path>\n", explain_cells_text(s->x, one),
		id < POISON ? holds : "nothing");
}

/* What a part of a lane's ground is about. */
enum ground { HOLE, FRAME, INNER, OTHER, WHOLE, GROUNDS };

static bool has_ground(struct svg *s, const struct geometry *g, uint32_t lane, uint32_t row,
		       uint32_t column, enum ground kind)
{
	uint32_t id = *value_at(g, column, lane, row);
	struct holding h;

	if (kind <= INNER)
		return (id >= POISON) == (kind == HOLE);
	h = explain_holding(s->x, id, g->l->ranks[lane], g->l->cells[row]);
	return kind == OTHER ? h.other : h.whole;
}

/* Bars of one kind for all cells of a lane: one element. */
static void ground(struct svg *s, const struct geometry *g, uint32_t q, enum ground kind)
{
	static const char *const classes[] = { "hole", "frame", "inner", "other", "whole" };
	uint32_t columns = g->l->nsteps + 1, n = 0;
	double inset = kind == INNER || kind == OTHER, y = g->top + q * g->step + 5;

	for (uint32_t i = 0; i < g->l->ncells; i++)
		for (uint32_t c = 0, end; c < columns; c = end) {
			bool has = has_ground(s, g, q, i, c, kind);

			for (end = c + 1; end < columns; end++)
				if (*value_at(g, end, q, i) != *value_at(g, end - 1, q, i) &&
				    has_ground(s, g, q, i, end, kind) != has)
					break;
			if (!has)
				continue;
			if (n++ == 0) {
				svg_put(s, "<path class='%s' stroke-width='%g'", classes[kind],
					kind == HOLE ? 1.5 : pt(g->high - 2 * inset));
				dashes(s, g, g->cell - 2 * inset);
				svg_put(s, " d='");
			}
			bars(s, g, c, end, y + g->y[i], inset, g->cell - 2 * inset);
		}
	if (n)
		svg_put(s, "'/>\n");
	if (n && (kind == HOLE || kind == OTHER))
		s->seen |= 1u << (kind == HOLE ? SEEN_HOLE : SEEN_OTHER);
}

static void lane(struct svg *s, const struct geometry *g, uint32_t q)
{
	double top = g->top + q * g->step + 5;
	uint32_t columns = g->l->nsteps + 1;

	ground(s, g, q, WHOLE);
	svg_put(s, "<g stroke-width='%g'>\n", pt(g->high - 2));
	for (uint32_t i = 0; i < g->l->ncells; i++)
		for (uint32_t from = 0, end; from < columns; from = end) {
			end = from + 1;
			while (end < columns && *value_at(g, end, q, i) == *value_at(g, from, q, i))
				end++;
			cell(s, g, q, i, from, end, top + g->y[i]);
		}
	svg_put(s, "</g>\n");
	ground(s, g, q, OTHER);
}

/* The layer below the arrows: the lane, its name and those of its rows, and the frames of its
 * cells. */
static void below(struct svg *s, const struct geometry *g, uint32_t q)
{
	const struct lanes *l = g->l;
	double y = g->top + q * g->step, x = g->left;

	svg_put(s, "<rect class='lane' x='%g' y='%g' width='%g' height='%g' rx='4'/>", pt(x - 8),
		pt(y), pt(column_x(g, l->nsteps) + g->cell + g->margin - x - 4), pt(g->lane));
	svg_say(s, "", 10, y + g->lane / 2 + 4, "rank %u", l->ranks[q]);
	for (uint32_t i = 0; i < l->ncells; i++)
		if (*row_name(s, l, i))
			svg_say(s, "class='dim' font-size='8' text-anchor='end'", x - 12,
				y + 8 + g->y[i], "%s", row_name(s, l, i));
	for (enum ground kind = HOLE; kind <= INNER; kind++)
		ground(s, g, q, kind);
}

/* ---- arrows --------------------------------------------------------------------------------------- */

/* The heights of the rows that cells have in a rank's lane; false: none is shown. */
static bool extent(const struct geometry *g, uint32_t rank, struct cells c, double *top,
		   double *bottom)
{
	bool any = false;

	if (g->lane_of[rank] == NONE)
		return false;
	double y = g->top + g->lane_of[rank] * g->step + 5;
	*top = *bottom = y + (g->lane - 10) / 2; /* of none of its chunks: the lane's middle */
	for (uint32_t i = 0; i < c.n; i++) {
		if (g->row[c.lo + i] == NONE)
			continue;
		double at = y + g->y[g->row[c.lo + i]];
		*top = any && *top < at ? *top : at;
		*bottom = any && *bottom > at ? *bottom : at;
		any = true;
	}
	return true;
}

/* That of its data, where all is of one. */
static uint32_t colour_of(struct svg *s, const struct move *m, const struct ends *e)
{
	struct script *x = s->x;
	uint32_t colour = 0;

	if (!e->source.n)
		return GREY;
	if (m->lost)
		return explain_holding(x, m->carries, e->from, e->source.lo).colour % NCOLOURS;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct stored *t = &x->stores[m->first + i];
		struct holding h = explain_holding(x, t->after, e->to, t->cell);
		if (i && h.colour % NCOLOURS != colour)
			return GREY;
		colour = h.colour % NCOLOURS;
	}
	return colour;
}

static void arrow(struct svg *s, const struct geometry *g, const struct move *m, uint32_t column)
{
	struct script *x = s->x;
	const struct ends e = explain_ends(x, m);
	double x0 = column_x(g, column - 1) + g->cell + 2, x1 = column_x(g, column) - 3;
	double a0 = 0, a1 = 0, b0 = 0, b1 = 0;
	bool from = extent(g, e.from, e.source, &a0, &a1);
	bool to = !m->lost && extent(g, e.to, e.target, &b0, &b1);
	uint32_t colour = colour_of(s, m, &e);
	double ya = (a0 + a1) / 2, yb = (b0 + b1) / 2;
	bool local = e.from == e.to && !m->lost;

	s->seen |= (unsigned)e.combines << SEEN_PLUS | (unsigned)local << SEEN_LOCAL |
		   (unsigned)m->lost << SEEN_LOST | (unsigned)(m->fault != 0) << SEEN_FAULT |
		   (unsigned)(e.source.n > 1) << SEEN_SEVERAL |
		   (unsigned)(colour == GREY) << SEEN_GREY;

	if (e.combines && to)
		x1 -= 9;
	if (!to) { /* received by no rank, or by one that is not shown */
		x1 = x0 + g->gap * 0.4;
		yb = ya + 6;
		b0 = b1 = yb;
	}
	if (!from) {
		x0 = x1 - g->gap * 0.4;
		ya = yb - 6;
		a0 = a1 = ya;
	}
	svg_put(s,
		"<path class='message%s%s%s c%u' data-from='%u' data-to='%u' data-step='%u' "
		"data-line='%u'",
		m->lost ? " lost"
		: local ? " local"
			: "",
		m->fault ? " fault" : "", e.combines ? " plus" : "", colour, e.from, e.to, m->depth,
		source_place(x->r.c->sources, explain_span(x, e.recv ? e.recv : e.send).lo).line);
	chunks(s, "chunks", e.source);
	if (m->fault)
		svg_put(s, " data-code='%s'", diag_code_text(m->fault).s);
	svg_put(s, " d='");
	double bend = (x1 - x0) * 0.47, back = -bend;
	if (local) { /* an arc at the column: what arrived in this step is there */
		x0 = x1;
		bend = back = -g->gap * 0.3;
	}
	if (a1 > a0) /* brackets about several chunks */
		svg_put(s, "M%g %gV%g", pt(x0), pt(a0), pt(a1));
	if (b1 > b0)
		svg_put(s, "M%g %gV%g", pt(x1), pt(b0), pt(b1));
	svg_put(s, "M%g %gC%g %g %g %g %g %g'><title>step %u, %s: %s%s</title></path>\n", pt(x0),
		pt(ya), pt(x0 + bend), pt(ya), pt(x1 + back), pt(yb), pt(x1), pt(yb), m->depth,
		svg_text(s, program_line_text(x->r.c, x->r.p, explain_span(x, e.send))),
		svg_text(s, explain_move_text(x, &e)), m->lost ? ", not received" : "");
	if (from != to && !m->lost)
		svg_say(s, "class='label'", x0, yb - 6, from ? "to %u" : "from %u",
			from ? e.to : e.from);
	else if (e.source.n > 1 && x->n <= 48 && !local)
		svg_say(s, "class='label'", x0 + 4, ya - 3, "%s", explain_cells_text(x, e.source));
}

static bool has_row(const struct geometry *g, struct cells c)
{
	for (uint32_t i = 0; i < c.n; i++)
		if (g->row[c.lo + i] != NONE)
			return true;
	return false;
}

/* Whether the move is one of the lanes'. */
static bool is_drawn(const struct geometry *g, const struct move *m, const struct ends *e)
{
	bool from = g->lane_of[e->from] != NONE, to = !m->lost && g->lane_of[e->to] != NONE;

	if (!g->l->inner)
		return from || to;
	return from && (to || m->lost) &&
	       (!e->source.n || has_row(g, e->source) || has_row(g, e->target));
}

static void arrows(struct svg *s, const struct geometry *g)
{
	struct script *x = s->x;

	for (uint32_t k = 0, column = 1; k < x->n && x->moves[k].depth <= x->last; k++) {
		const struct move *m = &x->moves[k];
		const struct ends e = explain_ends(x, m);
		while (column <= g->l->nsteps && g->l->steps[column - 1] < m->depth)
			column++;
		if (column <= g->l->nsteps && g->l->steps[column - 1] == m->depth &&
		    explain_shows_move(x, m) && is_drawn(g, m, &e))
			arrow(s, g, m, column);
	}
}

/* ---- errors ------------------------------------------------------------------------------ */

static void box(struct svg *s, const struct geometry *g, uint32_t column, double y,
		const char *code)
{
	svg_put(s,
		"<rect class='fault box' data-code='%s' x='%g' y='%g' width='%g' height='%g'/>\n",
		code, pt(column_x(g, column) - 2), pt(y - g->high / 2 - 2), pt(g->cell + 4),
		pt(g->high + 4));
}

/* The chunks of a rank that a race is about. */
static void raced(struct svg *s, const struct geometry *g, uint32_t q, double top)
{
	struct cells c = explain_raced(s->x, g->l->ranks[q]);

	for (uint32_t i = 0; i < c.n; i++)
		if (g->row[c.lo + i] != NONE)
			box(s, g, g->l->nsteps, top + g->y[g->row[c.lo + i]], "E0402");
}

static void faults(struct svg *s, const struct geometry *g, uint32_t q)
{
	struct last_words w;
	double top = g->top + q * g->step + 5, at = top;
	s->seen |= 1u << SEEN_FAULT;
	double x = column_x(g, g->l->nsteps) + g->cell + 6, size = g->high >= 10 ? 10 : g->high;

	raced(s, g, q, top);
	for (uint32_t i = 0; (w = svg_last_words(s, i)).text; i++) {
		if (w.rank != g->l->ranks[q])
			continue;
		struct diag_code_text code = diag_code_text(w.code);
		bool drawn = w.cell != NONE && g->row[w.cell] != NONE;
		double y = drawn ? top + g->y[g->row[w.cell]] : at + size / 2 + 2;
		if (drawn)
			box(s, g, g->l->nsteps, y, code.s);
		if (w.cell == NONE)
			svg_put(s, "<path class='wait fault' data-code='%s' d='M%g %gV%g'/>",
				code.s, pt(x - 2), pt(top - 3), pt(top + g->lane - 12));
		svg_say(s,
			arena_printf(s->x->arena,
				     "class='fault' data-code='%s' data-rank='%u' font-size='%g'",
				     code.s, w.rank, size),
			x + 2, y + size * 0.4, "%s", w.text);
		at = y + size / 2;
	}
}

/* ---- all of it ------------------------------------------------------------------------------------- */

void svg_lanes(struct svg *s, const struct lanes *l)
{
	struct geometry g;

	measure(s, l, &g);
	keep_values(s, &g);
	for (uint32_t c = 0; c <= l->nsteps; c++)
		svg_say(s,
			arena_printf(s->x->arena,
				     "class='dim column' data-step='%s' data-x='%g' "
				     "text-anchor='middle'",
				     step_name(s, l, c), pt(column_x(&g, c))),
			column_x(&g, c) + g.cell / 2, s->y + 8, "%s",
			c && !l->steps[c - 1] ? "local" : step_name(s, l, c));
	g.top = s->y + 16;
	for (uint32_t q = 0; q < l->nranks; q++)
		below(s, &g, q);
	arrows(s, &g);
	for (uint32_t q = 0; q < l->nranks; q++)
		lane(s, &g, q);
	for (uint32_t q = 0; q < l->nranks && l->whole && !s->x->right; q++)
		faults(s, &g, q);
	s->y = g.top + l->nranks * g.step;
}
