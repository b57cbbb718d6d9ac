/*
 * A predicted call as a picture, ranks over time; and as a page, with its text below.
 *
 * In: a timeline. An operation is a box, pale while it waits, and full from when it begins to its end (with whole messages: while its
 * message is under way); a
 * message is a line from its sender's lane to its receiver's, and red in the chain that takes longest.
 * What programs look for: elements of class `operation`, with data-rank, data-kind, data-place,
 * data-from, data-to, data-tile, data-start and data-end (us); `message`, with data-from, data-to, data-leaves, data-arrives,
 * and class `critical` in that chain. O(operations).
 */
#include "compiler/cost/cost.h"
#include "compiler/draw/draw.h"

#include <inttypes.h>

struct drawing {
	struct ctx *c;
	const struct simulated *x;
	struct time_chart at;
	struct op_shown *shown;
};

static const struct {
	const char *kind, *text;
	unsigned colour;
} looks[] = { [OP_SEND] = { "send", "send", 0 },
	      [OP_RECV] = { "recv", "receive", 2 },
	      [OP_REDUCE_FROM] = { "recv,reduce", "receive and reduce", 8 },
	      [OP_COPY] = { "copy", "copy", 4 },
	      [OP_REDUCE_INTO] = { "reduce", "reduce within a rank", 5 },
	      [OP_FRESH] = { "", "", 0 },
	      [OP_WAIT] = { "", "", 0 },
	      [OP_RECV_SEND] = { "recv,send", "receive and send", 4 },
	      [OP_REDUCE_SEND] = { "recv,reduce,send", "receive, reduce and send", 3 } };
enum { LOOKS = sizeof(looks) / sizeof(*looks) };

static void draw_operation(struct drawing *d, uint32_t i)
{
	const struct op_time *t = &d->x->t->ops[i];
	const struct op_shown *o = &d->shown[i];
	const struct program *p = d->x->p;
	const struct op *op = timeline_op(p, t);
	enum op_kind k = op_kind(op);
	uint32_t rank = p->tasks[t->task].rank;
	double start = o->begins * 1e6, end = t->end * 1e6;
	const char *place = svg_text(&d->at.s, timeline_place(d->c, p, op)), *peers = "",
		   *words = "";

	if (o->in != NONE) {
		peers = arena_printf(d->c->scratch, " data-from=\"%u\"", p->fifos[op_in(op)].src);
		words = arena_printf(d->c->scratch, ", from rank %u", p->fifos[op_in(op)].src);
	}
	if (o->out != NONE) {
		peers = arena_printf(d->c->scratch, "%s data-to=\"%u\"", peers,
				     p->fifos[op_out(op)].dst);
		words = arena_printf(d->c->scratch, "%s, to rank %u", words,
				     p->fifos[op_out(op)].dst);
	}
	svg_put(&d->at.s,
		"<g class='operation' data-rank='%u' data-kind='%s' data-place='%s'%s data-tile='%u' "
		"data-start='%.3f' data-end='%.3f'><title>rank %u, %s: %s %s%s, %.2f to %.2f us</title>",
		rank, looks[k].kind, place, peers, t->tile, start, end, rank, place, looks[k].kind,
		op->n ? svg_text(&d->at.s, program_cells_text(d->c->scratch, p, op->cell, op->n))
		      : "no data",
		words, start, end);
	if (o->begins > o->waits)
		time_chart_box(&d->at, rank, o->lane, o->waits * 1e6, start, looks[k].colour, 0.25,
			       NULL);
	time_chart_box(&d->at, rank, o->lane, start, end, looks[k].colour, 0.9, NULL);
	svg_put(&d->at.s, "</g>\n");
}

static void draw_messages(struct drawing *d, bool critical)
{
	bool *chain = timeline_chain(d->c, d->x->t);

	for (uint32_t m = 0; m < d->x->t->nmessages; m++) {
		const struct message_time *x = &d->x->t->messages[m];
		const struct fifo *f =
			&d->x->p->fifos[op_out(timeline_op(d->x->p, &d->x->t->ops[x->send]))];

		if (chain[m] == critical && f->src != f->dst)
			time_chart_message(
				&d->at, f->src, x->leaves * 1e6, f->dst, x->arrives * 1e6,
				arena_printf(
					d->c->scratch,
					"class='message%s' data-from='%u' data-to='%u' "
					"data-leaves='%.3f' data-arrives='%.3f' style='stroke:%s'",
					critical ? " critical" : "", f->src, f->dst,
					x->leaves * 1e6, x->arrives * 1e6,
					critical ? "#c00;stroke-width:1.6"
						 : "#999;stroke-width:.8"));
	}
}

static void print_svg(void *arg, FILE *out)
{
	struct drawing *d = arg;
	const struct simulated *x = d->x;
	bool has[LOOKS] = { false };

	time_chart_begin(&d->at, 24);
	for (uint32_t i = 0; i < x->t->nops; i++) {
		const struct op_time *t = &x->t->ops[i];

		if (!d->at.lanes[x->p->tasks[t->task].rank].shown)
			continue;
		has[op_kind(timeline_op(x->p, t))] = true;
		draw_operation(d, i);
	}
	draw_messages(d, false);
	draw_messages(d, true);
	time_chart_axis(&d->at, "us");
	for (unsigned k = 0; k < LOOKS; k++)
		if (has[k])
			time_chart_key(&d->at, looks[k].colour, looks[k].text);
	time_chart_end(&d->at, out, "pale: waits; a line: a message; red: the longest chain");
}

static void print_text(void *arg, FILE *out)
{
	struct drawing *d = arg;

	fprintf(out, "%s\n\n", d->at.s.about);
	timeline_print_chain(d->c, d->x, out);
}

bool timeline_draw(struct ctx *c, const struct simulated *x, const struct shown *view, FILE *out,
		   const char **why)
{
	struct drawing d = { .c = c, .x = x };
	uint32_t n = x->p->nranks, *most = ARENA_ARRAY(c->scratch, uint32_t, n), drawn = 0;

	time_chart_open(&d.at, c, n, &view->ranks);
	d.shown = timeline_shown(c, x, most);
	d.at.s.title = arena_printf(c->scratch, "%s: %s on %s", x->p->instance.schedule->name.name,
				    arena_count(c->scratch, n, "rank"), x->machine);
	d.at.s.about = arena_printf(c->scratch, "%" PRIu64 " bytes: predicted %.2f us; %s",
				    x->bytes, x->seconds * 1e6, x->limit);
	d.at.length = x->seconds > 0 ? x->seconds * 1e6 : 1;
	d.at.unit = TIME_WIDE / d.at.length;
	for (uint32_t r = 0; r < n; r++)
		d.at.lanes[r].tracks = most[r] ? most[r] : 1;
	for (uint32_t i = 0; i < x->t->nops; i++)
		drawn += d.at.lanes[x->p->tasks[x->t->ops[i].task].rank].shown;
	*why = time_chart_refuses(&d.at, drawn, "-o FILE.json has all, for Perfetto");
	if (*why)
		return false;
	time_chart_print(&d.at, view->format, print_svg, print_text, &d, out);
	return true;
}
