/*
 * Finds the origin of an operation: loop variables, calls, number of its step.
 *
 * A program does not store these. So the rank's text is run again up to the operation, and they are
 * read from the cursor's state. O(statements run by the rank) for each operation.
 */
#include "compiler/expand/cursor.h"

#define ROOM 256u /* rows of a lane at a time; they are discarded */

/* Runs until just before row `op` of the task with path `path` is made. */
static bool run_to(struct cursor *v, uint32_t path, uint64_t op, struct op *room)
{
	uint64_t done = 0;

	while (cursor_next(v) == CURSOR_ROOM) {
		struct lane *l = &v->lanes[v->full];
		done += l->path == path ? l->n : 0;
		l->done += l->n;
		l->n = 0;
		l->ops = room;
		l->cap = ROOM;
		if (l->path != path)
			continue;
		if (done == op)
			return true;
		if (op - done < ROOM)
			l->cap = (uint32_t)(op - done);
	}
	return false;
}

static const char *loops_text(struct cursor *v, struct arena *a)
{
	const char *text = "";
	for (const struct row *r = v->rows; r < v->rows + v->nrows; r++) {
		const struct stmt *s = r->of;
		int64_t value;
		if (!s || (s->kind != S_FOR && s->kind != S_PAR_FOR))
			continue;
		if (!s->over || !eval_quietly(v, s->body->e, &value))
			value = r->i.base;
		text = arena_printf(a, "%s%s%s = %lld", text, *text ? ", " : "", s->name.name,
				    (long long)value);
	}
	return text;
}

void cursor_calls(const struct cursor *v, struct span at, struct diag_calls *calls)
{
	for (uint32_t i = v->nrows; i-- > 0;) {
		const struct row *r = &v->rows[i];
		const struct stmt *s = r->of;
		if (!s || s->kind != S_CALL)
			continue;
		bool begun = i + 1 < v->nrows || r->next != s->callee->body;
		if (begun || at.lo < s->span.lo || at.lo >= s->span.hi)
			diag_calls_add(calls, s->span, s->name.name);
	}
}

/* The number of the step, counted as in the report: waves with messages. */
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
	return arena_printf(c->scratch, "%s:%u", diag_shown_text(c->scratch, at.source->name),
			    at.line);
}

const char *where_step_text(struct arena *a, uint32_t step)
{
	return step ? arena_printf(a, "step %u", step) : "before the first step";
}

static const char *calls_text(struct ctx *c, const struct program *p, const struct where *w,
			      const struct diag *g)
{
	const char *text = "";
	if (g && diag_calls_same(&g->calls, &w->calls))
		return text;
	for (uint32_t i = 0; i < diag_calls_kept(&w->calls); i++) {
		const struct diag_call *call = &w->calls.v[i];
		bool gap = w->calls.n > DIAG_CALLS && i == DIAG_CALLS - DIAG_CALLS_FAR;
		text = arena_printf(c->scratch, "%s%s, in %s, called at %s", text,
				    gap ? ", ..." : "", call->name,
				    program_line_text(c, p, call->span));
	}
	return text;
}

const char *where_text(struct ctx *c, const struct program *p, uint32_t step, const struct where *w,
		       const struct diag *g)
{
	if (w->name)
		return w->name;
	const char *calls = calls_text(c, p, w, g);
	if (step == NONE)
		return arena_printf(c->scratch, "%s%s%s", *w->loops ? "at " : "in its text",
				    w->loops, calls);
	return arena_printf(c->scratch, "%s%s%s%s%s", where_step_text(c->scratch, step),
			    *w->loops ? " (" : "", w->loops, *w->loops ? ")" : "", calls);
}

/* Begins the rank's text again; false: it fails. */
static bool start_again(struct ctx *c, struct program *copy, struct tables *tables,
			struct cursor *v, uint32_t rank)
{
	cursor_init(v, c, copy, c->scratch, true);
	if (instance_make(v, true) != INSTANCE_OK)
		return false;
	tables_init(tables, c->scratch, copy, false);
	v->tables = tables;
	cursor_start(v, copy->instance.schedule->body, rank);
	return true;
}

/* Runs the rank's text again up to the operation, see run_to. */
static void run_again(struct ctx *c, const struct program *p, uint32_t rank, uint32_t path,
		      uint64_t op, struct span at, struct where *w)
{
	struct op room[ROOM];
	struct program copy = *p;
	struct tables tables;
	struct cursor v;
	if (!start_again(c, &copy, &tables, &v, rank) || !run_to(&v, path, op, room))
		return;
	w->loops = loops_text(&v, c->arena);
	cursor_calls(&v, at, &w->calls);
}

struct where expand_where(struct ctx *c, const struct program *p, uint32_t task, uint32_t op)
{
	const struct task *t = &p->tasks[task];
	const struct site *site = &p->sites[t->ops[op].site];
	struct where w = { .step = step_of(p, task, op), .loops = "", .name = site->name };
	if (!p->lowered && !w.name)
		run_again(c, p, t->rank, t->path, op, site->span, &w);
	return w;
}

const char *expand_name_of(struct ctx *c, const struct program *p, uint32_t task, uint32_t op,
			   uint32_t rank)
{
	const struct decl *t = p->instance.schedule->topology;
	const struct stmt *stmt = p->sites[p->tasks[task].ops[op].site].stmt;
	struct op room[ROOM];
	struct program copy = *p;
	struct tables tables;
	struct cursor v;
	int64_t value;
	if (!t || !stmt || stmt->e->kind != E_NAME ||
	    !start_again(c, &copy, &tables, &v, p->tasks[task].rank) ||
	    !run_to(&v, p->tasks[task].path, op, room) || v.here.size != p->nranks)
		return NULL;
	for (const struct stmt *s = t->body; s; s = s->next) {
		struct expr name = { .kind = E_NAME, .sym = s->kind == S_LET ? s->var : NULL };
		if (name.sym && s->e->kind != E_TABLE && eval_quietly(&v, &name, &value) &&
		    value == rank)
			return s->var->name;
	}
	return NULL;
}

void expand_calls(struct ctx *c, const struct program *p, uint32_t task, uint32_t op,
		  struct diag *g)
{
	if (g)
		g->calls = expand_where(c, p, task, op).calls;
}

const char *expand_calls_text(struct ctx *c, const struct program *p, uint32_t task, uint32_t op,
			      const struct diag *g)
{
	struct where w = { .loops = "" };
	if (g)
		w = expand_where(c, p, task, op);
	return calls_text(c, p, &w, g);
}
