/*
 * Where an operation comes from: loop variables, calls, number of its step.
 *
 * Nothing of that is stored in a program. The rank's text is run again, up to the
 * operation; the cursor's rows then tell. O(operations of the rank).
 */
#include "compiler/expand/cursor.h"

#define ROOM 256u /* rows a lane gets at a time; they are thrown away */

/* Runs until row `op` of the task with that path is about to be made. */
static bool run_to(struct cursor *v, uint32_t path, uint32_t op, struct op *room)
{
	while (cursor_next(v) == CURSOR_ROOM) {
		struct lane *l = &v->lanes[v->full];
		l->done += l->n;
		l->n = 0;
		l->ops = room;
		l->cap = ROOM;
		if (l->path != path)
			continue;
		if (l->done == op)
			return true;
		if (op - l->done < ROOM)
			l->cap = op - l->done;
	}
	return false;
}

static const char *loops_text(const struct cursor *v, struct arena *a)
{
	const char *text = "";
	for (const struct row *r = v->rows; r < v->rows + v->nrows; r++)
		if (r->of && (r->of->kind == S_FOR || r->of->kind == S_PAR_FOR))
			text = arena_printf(a, "%s%s%s = %lld", text, *text ? ", " : "",
					    r->of->var->name, (long long)r->i);
	return text;
}

#define CALLS_SHOWN 8u

static const char *calls_text(const struct cursor *v, struct arena *a)
{
	const char *text = "";
	uint32_t shown = 0;
	for (uint32_t i = v->nrows; i-- > 0;) {
		const struct stmt *s = v->rows[i].of;
		if (!s || s->kind != S_CALL)
			continue;
		if (shown++ == CALLS_SHOWN)
			return arena_printf(a, "%s, ...", text);
		struct place at = source_place(v->ctx->sources, s->span.lo);
		bool main = at.source == v->program->instance.module->main->source;
		text = arena_printf(a, "%s%sin %s, called at %s%s%u", text, *text ? ", " : "",
				    s->name.name, main || !at.source ? "line " : at.source->name,
				    main || !at.source ? "" : ":", at.line);
	}
	return text;
}

/* As the report counts steps: only waves that have messages. */
static uint32_t step_of(const struct program *p, uint32_t task, uint32_t op)
{
	const struct op *ops = p->tasks[task].ops;
	uint32_t n = 0;
	bool counted = false;
	for (uint32_t i = 0; i < p->tasks[task].nops && (i <= op || ops[i].kind & OP_JOINED); i++) {
		if (!(ops[i].kind & OP_JOINED))
			counted = false;
		n += op_is_end(&ops[i]) && !counted;
		counted |= op_is_end(&ops[i]);
	}
	return n;
}

const char *program_line_text(struct ctx *c, const struct program *p, struct span span)
{
	struct place at = source_place(c->sources, span.lo);
	if (!at.source || at.source == p->instance.schedule->source)
		return arena_printf(c->scratch, "line %u", at.line);
	return arena_printf(c->scratch, "%s:%u", at.source->name, at.line);
}

const char *where_step_text(struct arena *a, uint32_t step)
{
	return step ? arena_printf(a, "step %u", step) : "before the first step";
}

const char *where_text(struct arena *a, uint32_t step, const struct where *w)
{
	if (w->name)
		return w->name;
	if (step == NONE)
		return arena_printf(a, "%s%s%s%s", *w->loops ? "at " : "in its text", w->loops,
				    *w->calls ? ", " : "", w->calls);
	return arena_printf(a, "%s%s%s%s%s%s", where_step_text(a, step), *w->loops ? " (" : "",
			    w->loops, *w->loops ? ")" : "", *w->calls ? ", " : "", w->calls);
}

struct where expand_where(struct ctx *c, const struct program *p, uint32_t task, uint32_t op)
{
	struct where w = { .step = step_of(p, task, op),
			   .loops = "",
			   .calls = "",
			   .name = p->sites[p->tasks[task].ops[op].site].name };
	struct op room[ROOM];
	struct program copy = *p;
	struct tables tables;
	struct cursor v;
	if (p->lowered || w.name)
		return w;
	cursor_init(&v, c, &copy, c->scratch, true);
	if (instance_make(&v, true) != INSTANCE_OK)
		return w;
	tables_init(&tables, c->scratch, &copy, false);
	v.tables = &tables;
	const struct task *t = &p->tasks[task];
	cursor_start(&v, p->instance.schedule->body, t->rank);
	if (run_to(&v, t->path, p->rows_of ? p->rows_of[task][op] : op, room)) {
		w.loops = loops_text(&v, c->arena);
		w.calls = calls_text(&v, c->arena);
	}
	return w;
}
