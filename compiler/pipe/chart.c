/*
 * Chart: a pipeline's run as a picture, ranks from top to bottom over time; the same as text, and
 * as a page.
 *
 * A deadlock is drawn as far as the run goes, with the cycle of waits in red. What programs look for in the picture:
 * elements of class `action`, with data-rank, data-action, data-start, data-end, data-line and data-column; `message`,
 * with data-from, data-to and data-action; `stuck`, and `wait` for the cycle.
 */
#include "compiler/draw/draw.h"
#include "compiler/pipe/pipe.h"
#include "compiler/witness/cycle.h"

#include <math.h>
#include <string.h>

struct chart {
	struct ctx *c;
	const struct pipe *p;
	const struct pipe_times *t;
	const char *of; /* what it takes, in words; NULL: units */
	struct time_chart at;
	/* Of a deadlock: */
	struct greedy run;
	struct graph stuck;
};

static const char *run_of(const struct chart *x)
{
	const struct pipe_times *t = x->t;
	struct arena *a = x->c->scratch;
	const char *how = "computations alone";

	if (t->streams != STREAMS_NONE)
		how = arena_printf(a, "--streams=%s, %s in between", pipe_streams_names[t->streams],
				   arena_count(a, x->c->slots, "message"));
	if (!t->predicted.over)
		return arena_printf(a, "%s: a deadlock", how);
	if (x->of)
		return arena_printf(a, "%s, %s", how, x->of);
	return arena_printf(a, "%s: %.0f units (F, I, W one, B two), idle %.1f %%, at most %s held",
			    how, t->length, 100 * t->idle, arena_count(a, t->held, "activation"));
}

static void print_grid(const struct chart *x, FILE *out)
{
	const struct pipe *p = x->p;
	uint32_t *at = arena_copy(x->c->scratch, p->first, p->nranks * sizeof(*at));
	int column = 10;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].does & PIPE_COMPUTES && (int)strlen(p->v[i].name) + 2 > column)
			column = (int)strlen(p->v[i].name) + 2;
	fprintf(out, "%-7s", "time");
	for (uint32_t r = 0; r < p->nranks; r++)
		if (x->at.lanes[r].shown)
			fprintf(out, "%-*s", column, arena_printf(x->c->scratch, "rank %u", r));
	for (uint32_t now = 0; now < x->t->length; now++) { /* units */
		int blanks = 0;
		fprintf(out, "\n%-7u", now);
		for (uint32_t r = 0; r < p->nranks; r++) {
			uint32_t *i = &at[r], end = p->first[r + 1];
			if (!x->at.lanes[r].shown)
				continue;
			while (*i < end && x->t->end[*i] <= now)
				++*i;
			blanks += column;
			if (*i == end || x->t->start[*i] > now)
				continue;
			fprintf(out, "%*s%-*s", blanks - column, "", column,
				x->t->start[*i] > now - 1.0 ? p->v[*i].name : "|");
			blanks = 0;
		}
	}
	fputs("\n\n", out);
}

static void print_text(void *arg, FILE *out)
{
	const struct chart *x = arg;
	const struct program *p = x->t->program;

	fprintf(out, "%s\n%s\n\n", x->at.s.title, x->at.s.about);
	print_grid(x, out);
	/* Ranks stand at messages, WAIT_SENDs, and computations that wait for one another. */
	for (uint32_t w = 0; w < x->stuck.nwaits; w++) {
		const struct wait *wait = &x->stuck.waits[w];
		const struct op *o = &p->tasks[wait->task].ops[wait->op];
		const struct pipe_action *a = &x->p->v[o->site];
		struct place at = source_place(x->c->sources, a->span.lo);
		bool stands = op_kind(o) != OP_WAIT || a->does & PIPE_WAITS || !p->nfifos;
		if (stands && x->at.lanes[a->rank].shown)
			fprintf(out, "rank %u stands at %s (line %u, column %u)\n", a->rank,
				a->name, at.line, at.column);
	}
}

static const struct {
	const char *text;
	unsigned colour; /* of svg_colours */
} looks[] = { [PIPE_F] = { "forward", 0 },
	      [PIPE_B] = { "backward", 2 },
	      [PIPE_I] = { "backward, input", 4 },
	      [PIPE_W] = { "backward, weights", 8 } };

static void draw_action(struct chart *x, uint32_t i)
{
	const struct pipe_action *a = &x->p->v[i];
	struct place at = source_place(x->c->sources, a->span.lo);
	double start = x->t->start[i], end = x->t->end[i];
	uint32_t before = 0;

	for (uint32_t s = 0; s < a->stage && before < 3; s++) /* a rank's first stage is darkest */
		before += x->p->rank_of[s] == a->rank;
	svg_put(&x->at.s,
		"<g class='action' data-rank='%u' data-action='%s' data-start='%.9g' data-end='%.9g' "
		"data-line='%u' data-column='%u'><title>%s on rank %u, time %.9g to %.9g</title>",
		a->rank, a->name, start, end, at.line, at.column, a->name, a->rank, start, end);
	time_chart_box(&x->at, a->rank, 0, start, end, looks[a->kind].colour, 0.95 - 0.2 * before,
		       arena_printf(x->c->scratch, "%u", a->mb));
	svg_put(&x->at.s, "</g>\n");
}

/* The message that computation i takes, if any. */
static void draw_message(struct chart *x, uint32_t i)
{
	const struct pipe *p = x->p;
	const struct pipe_takes *takes = &p->takes[i];

	if (takes->far == NONE || takes->input == NONE || x->t->start[i] < 0)
		return;
	uint32_t send = p->takes[takes->input].far, from = p->v[send].rank, to = p->v[i].rank;
	time_chart_message(
		&x->at, from, x->t->start[send], to, x->t->start[i],
		arena_printf(x->c->scratch,
			     "class='message dim' data-from='%u' data-to='%u' data-action='%s' "
			     "style='stroke:#999;stroke-width:.8'",
			     from, to, p->v[send].name));
}

/* The cycle, behind the last computations. */
static void draw_stuck(struct chart *x)
{
	double edge = time_chart_x(&x->at, x->t->length) + 14;
	struct graph *g = &x->stuck;

	for (uint32_t k = 0, n = graph_find_cycle(g) ? g->ncycle : 0; k < n; k++) {
		const struct pipe_action *a = &x->p->v[graph_op(g, k)->site];
		uint32_t next = graph_rank(g, (k + 1) % g->ncycle);
		const struct time_lane *mine = &x->at.lanes[a->rank], *its = &x->at.lanes[next];
		if (!mine->shown || !its->shown || next == a->rank)
			continue;
		double from = mine->y + TIME_BOX / 2, to = its->y + TIME_BOX / 2;
		double out = edge + 84 + 10 * (k % 4);
		struct place at = source_place(x->c->sources, a->span.lo);
		svg_put(&x->at.s,
			"<g class='stuck' data-rank='%u' data-action='%s' data-line='%u' "
			"data-column='%u'>",
			a->rank, a->name, at.line, at.column);
		svg_say(&x->at.s, "class='fault'", edge, from + 4 + (k % 2 ? 5 : -5), "%s",
			a->name);
		svg_put(&x->at.s,
			"<path class='wait' marker-end='url(#a10)' d='M%g %gC%g %g %g %g %g %g'/></g>\n",
			edge + 70, from, out + 30, from, out + 30, to, edge + 70, to);
	}
}

static void print_svg(void *arg, FILE *out)
{
	struct chart *x = arg;
	const struct pipe *p = x->p;
	bool has[PIPE_KINDS] = { false };

	x->at.length = x->t->length;
	x->at.unit = TIME_WIDE / (x->t->length > 0 ? x->t->length : 1);
	if (!x->of)
		x->at.unit = fmin(fmax(x->at.unit, 2), 26);
	time_chart_begin(&x->at, x->t->predicted.over ? 24 : 160);
	for (uint32_t i = 0; i < p->n; i++) {
		has[p->v[i].kind] = true;
		if (p->v[i].does & PIPE_COMPUTES)
			draw_message(x, i);
	}
	for (uint32_t i = 0; i < p->n; i++)
		if (x->t->end[i] >= 0 && x->at.lanes[p->v[i].rank].shown)
			draw_action(x, i);
	if (!x->t->predicted.over)
		draw_stuck(x);
	if (x->of && x->t->length > 0)
		time_chart_axis(&x->at, "us");
	for (int k = PIPE_F; k <= PIPE_W; k++)
		if (has[k])
			time_chart_key(&x->at, looks[k].colour, looks[k].text);
	time_chart_end(
		&x->at, out,
		"numbers are microbatches; a rank's later stages are paler; lines are messages");
}

const char *pipe_draw(struct ctx *c, const struct pipe *p, const struct pipe_times *t,
		      const char *of, const struct shown *view, FILE *out)
{
	struct chart x = { .c = c, .p = p, .t = t, .of = of };
	uint64_t drawn = of || view->format == FORMAT_TEXT ? 0 : (uint64_t)t->length;
	const char *why;

	time_chart_open(&x.at, c, p->nranks, &view->ranks);
	for (uint32_t r = 0; r < p->nranks && view->format != FORMAT_TEXT; r++)
		drawn += x.at.lanes[r].shown ? p->first[r + 1] - p->first[r] : 0;
	why = time_chart_refuses(&x.at, drawn, "--format=text draws more");
	if (why)
		return why;
	x.at.s.title = arena_printf(c->scratch, "%s: %s", p->name, pipe_sizes(c->scratch, p));
	x.at.s.about = run_of(&x);
	if (!t->predicted.over) {
		deadlock_run_far(&x.run, c, t->program);
		graph_init(&x.stuck, &x.run);
	}
	time_chart_print(&x.at, view->format, print_svg, print_text, &x, out);
	return NULL;
}
