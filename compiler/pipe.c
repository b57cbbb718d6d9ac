/*
 * Checks, draws and compares pipelines (pipe/pipe.h): files named .csv.
 * The result of the action is a verdict, a picture, a row of the table, or with --emit=csv the text with its messages.
 */
#include "compiler/pipe/pipe.h"
#include "compiler/session.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

bool pipe_is_name(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcasecmp(name + n - 4, ".csv");
}

/* Whether the actions and options apply to a pipeline. False: an error was reported. */
static bool is_action(struct session *s)
{
	const struct options *o = s->o;
	bool fits = o->action == ACTION_CHECK || o->action == ACTION_EXPLAIN ||
		    o->action == ACTION_TABLE || o->action == ACTION_SIMULATE ||
		    (o->action == ACTION_COMPILE && o->emit == EMIT_CSV);
	const char *why =
		!fits ? "can be checked, explained, simulated, compared in a table, and written with --emit=csv, nothing else"
		: o->view.format == FORMAT_TRACE || o->view.format == FORMAT_TUNING
			? "has times as text, CSV, JSON, a picture and a page, not as a trace or tuning"
		: o->action == ACTION_EXPLAIN && o->view.format == FORMAT_JSON
			? "is drawn as text, svg and html; `ccc check --diagnostics-format=json` has its verdict"
		: o->view.nchunks || o->view.steps.n ? "takes --rank, and no --chunk and no --step"
		: o->tile != UINT64_MAX ? "sends its messages whole, so it takes no --tile"
		: o->ranks_given	? "has as many ranks as lines, so it takes no -n"
		: o->nsettings		? "has no parameters, so it takes no -D and no --root"
		: o->schedule		? "is one schedule, so it takes no --schedule"
		: o->certificate	? "is for one N, so it has no --certificate for every N"
		: o->require		? "computes with the user's model, so it takes no --require"
					: NULL;

	return !why || session_refuse(s, "%s: a pipeline %s", o->file, why);
}

/* Its picture, of these times, or NULL: in units. `of`: as pipe_draw() has it. */
static void draw(struct session *s, struct ctx *c, const struct pipe *p, enum pipe_streams streams,
		 const struct pipe_times *t, const char *of)
{
	struct pipe_times units = t ? *t : pipe_times(c, p, streams, &pipe_in_units);
	const char *why = pipe_draw(c, p, &units, of, &s->o->view, s->out.stream);

	if (why)
		session_refuse(s, "%s", why);
}

/* Predicted times, by size of a message if there is a machine; or one run, drawn. */
static void simulate_sizes(struct session *s, struct ctx *c, const struct pipe *p)
{
	const struct options *o = s->o;
	const struct sizes sizes = session_sizes(o);
	struct pipe_cost cost = { .machine = o->on ? session_make_machine(s, c, NULL, p->nranks)
						   : NULL };
	struct cost_row r = { .file = o->file,
			      .contract = "pipeline",
			      .schedule = p->name,
			      .machine = o->on ? o->on : "",
			      .root = -1,
			      .nranks = p->nranks,
			      .algbw = -1,
			      .busbw = -1,
			      .bytes = o->on ? sizes.least : 0 };

	if (o->on && !cost.machine)
		return;
	memcpy(cost.work, o->work, sizeof(cost.work));
	if (!session_draws(o))
		session_head(s, &r);
	do {
		cost.bytes = (double)r.bytes;
		struct pipe_times t = pipe_times(c, p, o->streams, &cost);
		if (c->diags->errors) {
			s->status = 2;
			return;
		}
		r.us = t.whole;
		r.bound_us = t.most;
		r.limit = arena_printf(
			c->arena, "idle %.1f %%; %s", 100 * t.idle,
			session_limit(c->arena, cost.machine, &t.predicted, "computations"));
		const char *of = arena_printf(c->scratch, "%.2f us, %s", r.us, r.limit);
		if (o->on)
			of = arena_printf(c->scratch, "%" PRIu64 " bytes a message on %s: %s",
					  r.bytes, o->on, of);
		if (session_draws(o))
			draw(s, c, p, o->streams, &t, of);
		else
			session_row(s, &r);
		arena_free(c->scratch);
	} while (sizes_next(&sizes, &r.bytes));
}

void run_pipe(struct session *s)
{
	const struct options *o = s->o;
	struct ctx c = s->ctx;
	struct source *source = is_action(s) ? session_read(s, o->file) : NULL;
	struct pipe *p = source && session_can_write(s) ? pipe_read(&c, source) : NULL;
	const struct pipe *whole = p = p && pipe_sound(&c, p) ? p : NULL;
	bool json = o->style.format != DIAG_TEXT;
	struct pipe_verdict v = { .row = { .file = o->file, .wrong = true } };

	for (int i = 0; i < PIPE_FIGURES; i++)
		v.row.figures[i] = -1;
	/* NCCL does not buffer long messages, and activations are long; the table has the least
	   slots in columns. */
	if (!o->slots_given)
		c.slots = o->action == ACTION_TABLE ? UINT32_MAX : 0;
	arena_free(&s->scratch);
	if (p && !p->messages) {
		whole = pipe_lower(&c, p);
		arena_free(&s->scratch);
		if (!whole && o->action == ACTION_EXPLAIN)
			draw(s, &c, p, STREAMS_NONE, NULL, NULL);
	}
	v.lowered = whole != p;
	s->in_sheet = o->sheet != NULL;
	if (whole && o->action == ACTION_COMPILE)
		pipe_print(whole, s->out.stream);
	else if (whole)
		pipe_judge(&c, whole, o->streams, &v);
	if (whole && o->action == ACTION_EXPLAIN)
		draw(s, &c, whole, o->streams, NULL, NULL);
	else if (o->action == ACTION_SIMULATE && v.right)
		simulate_sizes(s, &c, whole);
	else if (whole && o->action == ACTION_CHECK &&
		 !pipe_report(&c, &v, o->eager, json, json ? s->out.report : s->out.stream))
		arena_fail(&s->arena);
	if (o->sheet)
		ARENA_PUSH(o->sheet->arena, o->sheet->pipes, o->sheet->npipes, o->sheet->cappipes) =
			v.row;
}
