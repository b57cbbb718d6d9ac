/*
 * Statements: the cursor's walk over a text.
 *
 * In: a list of statements, a rank. Out: the rank's operations in the lanes' memory, in the order
 * of the text. The state is a stack of lists. When a list ends, its row determines what follows:
 * the next iteration, restoring the outer names and group, or the waits of a par. A rank costs
 * O(statements run, and their expressions).
 */
#include "compiler/expand/squad.h"

#include <inttypes.h>
#include <sys/resource.h>

/* ---- beginning ------------------------------------------------------------------------ */

/* The usable bytes of the C stack: three quarters; the rest is for calls from the deepest place. */
static ptrdiff_t c_room(void)
{
	const rlim_t most = (rlim_t)256 << 20;
	struct rlimit l;
	if (getrlimit(RLIMIT_STACK, &l) != 0 || l.rlim_cur > most)
		l.rlim_cur = most;
	return (ptrdiff_t)(l.rlim_cur / 4 * 3);
}

/* Binds the names of files, before all other names. */
static void bind_files(struct cursor *v)
{
	for (const struct unit *u = v->program->instance.module->units; u; u = u->next)
		for (const struct decl *d = u->decls; d; d = d->next)
			if (d->kind == D_LET)
				bind_lazy(v, d->body->var, d->body->e);
	v->nfixed = v->nentries;
}

void cursor_init(struct cursor *v, struct ctx *c, struct program *p, struct arena *a, bool quiet)
{
	*v = (struct cursor){
		.ctx = c,
		.program = p,
		.arena = a,
		.quiet = quiet,
		.ntasks = p->nranks,
		.nnodes = p->nranks,
		.c_room = c_room(),
		.work = c->work ? c->work : ARENA_NEW(a, struct work),
		.most_work = UINT64_MAX,
		.binds = ARENA_ARRAY(a, struct bind, p->instance.module->nsymbols + 1),
		.changed = ARENA_ARRAY(a, struct changed, p->instance.module->nsymbols + 1),
		.memos = ARENA_ARRAY(a, struct memo *, p->instance.module->nsymbols + 1),
		.sites = ARENA_ARRAY(a, struct opsite, p->instance.module->nstmts + 1),
		.walked = ARENA_ARRAY(a, uint8_t, p->instance.module->nstmts + 1),
	};
	bind_files(v);
}

void cursor_may_stop(struct cursor *v)
{
	if (v->ctx->work)
		v->most_work = v->work->most;
}

uint64_t cursor_touched(struct cursor *v)
{
	const struct program *p = v->program;
	uint64_t touched = 0;
	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++)
			if (op_kind(&p->tasks[t].ops[i]) != OP_WAIT)
				touched += p->tasks[t].ops[i].n;
	v->work->done += touched * WORK_TOUCHED + (uint64_t)p->cells * program_ranks(p);
	v->work->done += p->any_sized ? p->nops * WORK_SIZED : 0;
	return touched;
}

void cursor_start(struct cursor *v, const struct stmt *body, uint32_t rank)
{
	struct group whole = { .number = { .base = rank, .step = v->squad != NULL },
			       .size = v->program->nranks,
			       .stride = 1 };
	bind_undo(v, 0);
	v->whole = whole;
	v->c_stack = __builtin_frame_address(0);
	v->call = ++v->ncalls;
	v->rank = rank;
	v->report_rank = rank;
	v->rank_key = ((uint64_t)rank + 1) << 32;
	cursor_stand(v, whole);
	v->home = whole;
	v->part = 1;
	v->depth = 0;
	v->nentries = v->nfixed;
	v->nrows = v->noutside = v->nargs = 0;
	for (uint32_t i = 0; i < v->nlanes; i++)
		v->lane_of[v->lanes[i].path] = 0;
	v->nlanes = 0;
	if (v->made)
		v->made[rank] = v->program->nfifos;
	v->npars = v->njoins = v->nmembers = 0;
	v->channel = 0;
	v->at = 0;
	v->lane = NONE;
	v->step = false;
	v->joined = 0;
	v->top = v->high = v->program->cells;
	if (v->most < v->top)
		v->most = v->top;
	v->wrong = v->stopped = false;
	v->fault = NULL;
	for (const struct stmt *s = body; s; s = s->next) /* a long text is in no cache */
		v->work->done += s->span.hi - s->span.lo;
	cursor_push(v, NULL, body);
}

void cursor_push(struct cursor *v, const struct stmt *of, const struct stmt *body)
{
	ARENA_PUSH(v->arena, v->rows, v->nrows, v->caprows) =
		(struct row){ .of = of, .next = body, .top = v->top, .nentries = v->nentries };
	if (v->squad)
		squad_begin_list(v->squad);
}

/* ---- loops ------------------------------------------------------------------------------- */

/* Runs an iteration: of a par for, a block; else as many iterations at once as possible. */
static inline void iterate(struct cursor *v, struct row *r)
{
	if (r->of->kind == S_FOR && !v->squad && v->walked[r->of->number] < STRIP_NEVER &&
	    cursor_strip(v, r)) {
		r->next = NULL;
		return;
	}
	bind_spread(v, r->of->var, r->i);
	if (r->of->kind == S_PAR_FOR)
		cursor_block(v, r->block++);
	r->next = r->of->body;
}

static void loop(struct cursor *v, const struct stmt *s)
{
	struct spread i = eval_all(v, s->e), end = eval_all(v, s->e2);
	int64_t by = s->e3 ? spread_one(v, eval_all(v, s->e3)) : 1;
	if (v->stopped)
		return;
	if (by == 0)
		cursor_fail(v, s->e3->span, "a loop `by 0` does not end");
	if (by == 0 || !cursor_narrow(v, by > 0 ? OP_LT : OP_GT, i, end))
		return;
	if (v->spans_wanted && s->kind == S_FOR && by == 1 && cursor_links(v, s, i.base, end.base))
		return;
	if (s->kind == S_PAR_FOR)
		cursor_par(v);
	cursor_push(v, s, NULL);
	struct row *r = &v->rows[v->nrows - 1];
	r->i = i;
	r->end = end;
	r->by = by;
	iterate(v, r);
}

/* Whether there is one more iteration; none after the greatest number. */
static inline bool next_iteration(struct cursor *v, struct row *r)
{
	enum expr_op before = r->by > 0 ? OP_LT : OP_GT;
	struct spread i;
	if (v->squad)
		i = squad_next(v->squad, r->i, r->by);
	else if (__builtin_add_overflow(r->i.base, r->by, &i.base))
		return false;
	else
		i.step = 0;
	if (!cursor_narrow(v, before, i, r->end) || !eval_work(v, r->of->span, r->of->span))
		return false;
	if (v->squad)
		squad_keep(v->squad);
	r->i = i;
	iterate(v, r);
	return true;
}

/* ---- statements ----------------------------------------------------------------------------- */

/* A loop over a chain of else-ifs, which may be long. */
static void branch(struct cursor *v, const struct stmt *s)
{
	enum known is = NEVER;
	struct mask yes;
	while (s && (is = eval_holds(v, s->e, &yes)) == NEVER && !v->stopped) {
		if (s->orelse && (s->orelse->kind != S_IF || s->orelse->next)) {
			cursor_push(v, s, s->orelse);
			return;
		}
		s = s->orelse;
	}
	if (!s || v->stopped)
		return;
	if (is == SOMETIMES)
		squad_split(v->squad, s, &yes);
	cursor_push(v, s, s->body);
}

/* Begins a step in the row of its list: steps are frequent, and need no row of their own. */
static void begin_step(struct cursor *v, const struct stmt *s)
{
	struct row *r = &v->rows[v->nrows - 1];
	v->step = true;
	v->joined = 0;
	if (v->squad)
		v->squad->joined = mask_none();
	r->step = s;
	r->next = s->body;
}

static void end_step(struct cursor *v, struct row *r)
{
	v->step = false;
	v->joined = 0;
	r->next = r->step->next;
	r->step = NULL;
}

static void let(struct cursor *v, const struct stmt *s)
{
	uint32_t at;
	if (v->binds[s->var->id].kind == B_LAZY) /* a topology's */
		return;
	if (s->e->kind != E_TABLE) {
		bind_spread(v, s->var, eval_all(v, s->e));
		return;
	}
	uint32_t n = eval_table(v, s->e, &at);
	bind_table(v, s->var, at, n);
}

static void channel(struct cursor *v, const struct stmt *s)
{
	struct spread x = eval_all(v, s->e);
	if (v->stopped)
		return;
	if (!spread_is_within(v, x, (int64_t)UINT32_MAX + 1)) {
		cursor_report(v, 203, s->e->span,
			      "channel %" PRId64 ": channels are numbered from 0%s", x.base,
			      x.base < 0 ? "" : " to 4294967295");
		return;
	}
	cursor_push(v, s, s->body);
	v->rows[v->nrows - 1].i = v->squad ? v->squad->channel : spread_same(v->channel);
	cursor_use_channel(v, x);
}

static void check(struct cursor *v, const struct stmt *s)
{
	struct mask yes;
	if (eval_holds(v, s->e, &yes) != ALWAYS && !v->stopped)
		cursor_report(v, 205, s->span, "%s", s->text ? s->text : "assertion fails");
}

static struct switches *switches_of(struct cursor *v, const struct symbol *s)
{
	for (uint32_t i = 0; i < v->nswitches; i++)
		if (v->switches[i].of == s)
			return &v->switches[i];
	return NULL;
}

/* The first rank makes them; on other ranks the text must make the same number. */
static void make_switches(struct cursor *v, const struct stmt *s)
{
	struct switches *made = switches_of(v, s->var);
	int64_t n = s->e ? eval(v, s->e) : 1;
	if (v->squad)
		squad_fail(v->squad);
	if (v->stopped)
		return;
	if (made && n != made->n) {
		cursor_report(v, 205, s->e->span,
			      "%" PRId64
			      " switches on this rank, and %u on rank 0: their number must "
			      "not depend on the rank",
			      n, made->n);
		return;
	}
	if (n < 0 || n > LIMIT_RANKS || v->nnodes + (uint64_t)n > 2 * LIMIT_RANKS) {
		cursor_report(v, n < 0 ? 205 : 501, s->e->span,
			      n < 0 ? "%" PRId64 " switches: a number is at least 0"
				    : "%" PRId64 " switches: there are more than %u (LIMIT_RANKS)",
			      n, LIMIT_RANKS);
		v->stopped = true;
		return;
	}
	if (made)
		return;
	ARENA_PUSH(v->arena, v->switches, v->nswitches, v->capswitches) =
		(struct switches){ s->var, v->nnodes, (uint32_t)n };
	v->nnodes += (uint32_t)n;
}

/* The value of an end of a link; *of: the switches that it names, or NULL: it is a rank's number. */
static struct spread end_of_link(struct cursor *v, const struct expr *e, const struct switches **of)
{
	bool named = (e->kind == E_NAME || e->kind == E_ENTRY) && e->sym->kind == SYM_SWITCH;
	*of = named ? switches_of(v, e->sym) : NULL;
	return !named ? eval_all(v, e) : e->kind == E_ENTRY ? eval_all(v, e->a) : spread_same(0);
}

/* The node of an end; NONE: there is none, which is reported. */
static uint32_t node_of(struct cursor *v, const struct expr *e, const struct switches *of,
			int64_t at)
{
	uint32_t n = of ? of->n : v->program->nranks;
	if ((uint64_t)at < n)
		return (uint32_t)at + (of ? of->first : 0);
	if (of && n)
		cursor_report(v, 306, e->span, "%s[%" PRId64 "]: these switches are 0 to %u",
			      of->of->name, at, n - 1);
	else if (of)
		cursor_report(v, 306, e->span, "%s[%" PRId64 "]: there is none of these switches",
			      of->of->name, at);
	else
		cursor_report(v, 306, e->span, "a link with %" PRId64 ": ranks are 0 to %u", at,
			      n - 1);
	return NONE;
}

static void link(struct cursor *v, const struct stmt *s)
{
	const struct switches *from, *to;
	struct spread x = end_of_link(v, s->e, &from), y = end_of_link(v, s->e2, &to);
	if (v->stopped || (from == to && !cursor_narrow(v, OP_NE, x, y)))
		return;
	if (v->squad) {
		squad_link(v->squad, s, x, y);
		return;
	}
	uint32_t a = node_of(v, s->e, from, x.base),
		 b = a == NONE ? NONE : node_of(v, s->e2, to, y.base);
	if (b == NONE)
		return;
	v->idle = 0;
	v->work->done += WORK_OP;
	if (v->npairs >= LIMIT_LINKS) {
		cursor_report(v, 501, s->e2->span, "more than %u links (LIMIT_LINKS)", LIMIT_LINKS);
		v->stopped = true;
		return;
	}
	ARENA_PUSH(v->arena, v->pairs, v->npairs, v->cappairs) = (uint64_t)a << 32 | b;
	if (v->links_named)
		ARENA_PUSH(v->arena, v->named, v->nnamed, v->capnamed) = s;
}

/* Runs a statement. False: there is no room for its operation, and nothing was done. */
static bool statement(struct cursor *v, const struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO: break; /* operations() */
	case S_SCRATCH: return cursor_scratch(v, s);
	case S_STEP:
		if (s->body)
			begin_step(v, s);
		break;
	case S_PAR:
		cursor_par(v);
		cursor_push(v, s, s->body);
		break;
	case S_BLOCK: /* of a par */
		cursor_block(v, v->rows[v->nrows - 1].block++);
		cursor_push(v, s, s->body);
		break;
	case S_PAR_FOR:
	case S_FOR: loop(v, s); break;
	case S_CHANNEL: channel(v, s); break;
	case S_IF: branch(v, s); break;
	case S_WITHIN: cursor_within(v, s); break;
	case S_CALL: cursor_call(v, s); break;
	case S_ASSERT: check(v, s); break;
	case S_LET: let(v, s); break;
	case S_LINK: link(v, s); break;
	case S_SWITCH: make_switches(v, s); break;
	case S_COST: break;
	case S_FN: break;
	}
	return true;
}

/* Ends a list, with its scratch and its tables. False: there is no room for the waits of a par. */
static bool end(struct cursor *v)
{
	struct row *r = &v->rows[v->nrows - 1];
	v->top = r->top;
	v->nentries = r->nentries;
	switch (r->of ? (int)r->of->kind : -1) {
	case S_FOR:
	case S_PAR_FOR:
		if (r->of->kind == S_PAR_FOR)
			cursor_block_end(v);
		if (next_iteration(v, r))
			return true;
		if (r->of->kind == S_PAR_FOR && !cursor_par_end(v))
			return false;
		break;
	case S_PAR:
		if (!cursor_par_end(v))
			return false;
		break;
	case S_BLOCK: cursor_block_end(v); break;
	case S_CHANNEL: cursor_use_channel(v, r->i); break;
	case S_WITHIN:
	case S_CALL: cursor_leave(v); break;
	default: break;
	}
	v->nrows--;
	if (v->squad)
		squad_end_list(v->squad);
	return true;
}

/* Runs a sequence of operations. False: there is no room for one, or v->stopped. */
static inline bool operations(struct cursor *v, struct row *r)
{
	const struct stmt *s = r->next;
	bool ok = true;
	while (s && s->kind <= S_REDUCE_INTO && (ok = cursor_operation(v, s)))
		s = s->next;
	r->next = s;
	return ok;
}

enum cursor_state cursor_next(struct cursor *v)
{
	while (v->nrows > 0 && !v->stopped) {
		if (v->work->done > v->most_work) {
			eval_too_much(v, NOWHERE);
			break;
		}
		struct row *r = &v->rows[v->nrows - 1];
		bool ok = operations(v, r);
		const struct stmt *s = r->next;
		if (ok && s) {
			r->next = s->next;
			ok = statement(v, s);
			if (!ok)
				v->rows[v->nrows - 1].next = s; /* it is run again */
		} else if (ok && r->step) {
			end_step(v, r);
		} else if (ok) {
			ok = end(v);
		}
		if (!ok && !v->stopped)
			return CURSOR_ROOM;
	}
	if (v->fault)
		cursor_calls(v, v->fault->span, &v->fault->calls);
	v->fault = NULL;
	return v->stopped ? CURSOR_STOPPED : CURSOR_DONE;
}
