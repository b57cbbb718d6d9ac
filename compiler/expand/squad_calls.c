/*
 * Calls of procs and schedules, groups, and scratch, of a squad.
 *
 * The same as calls.c for one rank. The cuts of views, the sizes of groups and the amount of
 * scratch must be equal on all ranks that run; the begins of views and groups may differ.
 */
#include "compiler/expand/squad.h"

/* ---- calls ---------------------------------------------------------------------------- */

/* The value of an argument. */
struct actual {
	struct squad_cells cells; /* of a view, or */
	struct spread number;
};

static uint32_t count_arguments(const struct stmt *s)
{
	uint32_t n = 1;
	for (const struct arg *a = s->args; a; a = a->next)
		n++;
	for (const struct binding *m = s->more; m; m = m->next)
		n++;
	return n;
}

static void evaluate(struct squad *b, const struct stmt *s, struct actual *x)
{
	for (const struct arg *a = s->args; a && !b->v->stopped; a = a->next, x++)
		if (a->ref)
			x->cells = squad_cells(b, a->ref);
		else
			x->number = eval_all(b->v, a->expr);
	for (const struct binding *m = s->more; m && !b->v->stopped; m = m->next, x++)
		x->number = eval_all(b->v, m->value);
}

/* The number of parts in the brackets; *inner: of the parts of a block. 0: not supported. */
static int64_t parts_of(struct squad *b, const struct buffer_def *d, int64_t *inner)
{
	struct spread blocks = d->blocks ? eval_all(b->v, d->blocks) : spread_same(1);
	struct spread count = eval_all(b->v, d->count);
	int64_t n = b->v->stopped ? 0 : spread_only(b, &count),
		k = b->v->stopped ? 0 : spread_only(b, &blocks);
	int64_t parts;
	*inner = d->blocks ? n : 0;
	if (b->v->stopped || n < 1 || k < 1 || __builtin_mul_overflow(n, k, &parts) ||
	    parts > UINT32_MAX) {
		squad_fail(b);
		return 0;
	}
	return parts;
}

static void bind_cells(struct squad *b, const struct symbol *s, struct view view)
{
	bind_own(b->v, s, B_VIEW)->view = view;
}

/* Binds the callee's names to the arguments, and its other parameters to their defaults. */
static void bind_arguments(struct squad *b, const struct stmt *s, const struct actual *x)
{
	const struct param *p = s->callee->formals;
	const struct buffer_def *d = s->callee->buffers;
	for (const struct arg *a = s->args; a; a = a->next, x++) {
		const struct buffer_def *view = p ? p->view : d;
		if (view && !b->v->stopped) {
			uint32_t n = (uint32_t)spread_only(b, &x->cells.n);
			bind_cells(b, view->sym, (struct view){ .first = x->cells.lo, .part = n });
		} else if (!view) {
			bind_spread(b->v, p->number, x->number);
		}
		d = p ? d : d->next;
		p = p ? p->next : NULL;
	}
	for (const struct binding *m = s->more; m; m = m->next)
		bind_spread(b->v, m->sym, x++->number);
}

static void bind_defaults(struct squad *b, const struct stmt *s)
{
	for (const struct binding *p = s->callee->params; p && !b->v->stopped; p = p->next) {
		bool given = false;
		for (const struct binding *m = s->more; m; m = m->next)
			given |= m->sym == p->sym;
		if (!given && p->value)
			bind_spread(b->v, p->sym, eval_all(b->v, p->value));
	}
}

/* Cuts one view into parts; false: the squad has ended. */
static bool cut(struct squad *b, const struct buffer_def *d)
{
	int64_t inner, parts = parts_of(b, d, &inner);
	struct view *w = &b->v->binds[d->sym->id].view;
	if (b->v->stopped || w->part % parts != 0) {
		squad_fail(b);
		return false;
	}
	w->part = (uint32_t)(w->part / parts);
	w->parts = (uint32_t)parts;
	w->inner = (uint32_t)inner;
	return true;
}

/* Cuts all views. If the callee has scratch, its parts are as large as the parts of all views,
 * which must then be equal. */
static void cut_all(struct squad *b, const struct stmt *s)
{
	const struct param *p = s->callee->formals;
	const struct buffer_def *d = s->callee->buffers;
	bool first = true, alike = lang_has_stmt(s->callee->body, S_SCRATCH);
	for (const struct arg *a = s->args; a && !b->v->stopped; a = a->next) {
		const struct buffer_def *view = p ? p->view : d;
		d = p ? d : d->next;
		p = p ? p->next : NULL;
		if (!view || !cut(b, view))
			continue;
		uint32_t part = b->v->binds[view->sym->id].view.part;
		if (first)
			b->v->part = part;
		first = false;
		if (alike && part != b->v->part)
			squad_fail(b);
	}
}

static void where(struct squad *b, const struct decl *d)
{
	if (d->where && !b->v->stopped && !squad_always(b, d->where))
		squad_fail(b);
}

/* Checks the callee's `where` and its topology; its `where` may use the topology's parameters. */
static void topology(struct squad *b, const struct stmt *s)
{
	const struct decl *t = s->callee->topology;
	if (t)
		bind_topology(b->v, s->callee);
	where(b, s->callee);
	const struct expr *a = s->callee->topology_args;
	for (const struct binding *p = t ? t->params : NULL; p && !b->v->stopped;
	     p = p->next, a = a ? a->next : NULL)
		if (a || p->value)
			bind_spread(b->v, p->sym, eval_all(b->v, a ? a : p->value));
	if (t)
		where(b, t);
}

void squad_call(struct squad *b, const struct stmt *s)
{
	struct group home = b->v->home;
	uint64_t call = b->v->call;
	uint32_t ntrail = b->v->ntrail, part = b->v->part, used = b->used, top = b->top;
	struct actual *x = ARENA_ARRAY(b->v->arena, struct actual, count_arguments(s));
	evaluate(b, s, x);
	if (b->v->stopped || b->v->depth >= MOST_DEPTH ||
	    !eval_work(b->v, s->callee->span, s->span)) {
		squad_fail(b);
		return;
	}
	b->v->depth++;
	b->v->call = ++b->v->ncalls;
	b->v->home = b->v->here;
	b->v->part = 1;
	bind_arguments(b, s, x);
	bind_defaults(b, s);
	cut_all(b, s);
	topology(b, s);
	squad_list(b, s->callee->body);
	bind_undo(b->v, ntrail);
	b->v->depth--;
	b->v->call = call;
	b->v->home = home;
	b->v->part = part;
	b->used = used;
	b->top = top;
}

/* ---- groups --------------------------------------------------------------------------- */

/* The ranks' numbers in group(first, count, stride); only its members run then. */
static struct spread numbers(struct squad *b, const struct spread *first, int64_t count,
			     int64_t stride)
{
	struct spread by = spread_same(stride), none = spread_same(0), over = spread_same(count);
	struct spread way = spread_binary(b, OP_SUB, &b->v->here.number, first);
	if (count == 1) {
		struct mask it = spread_compare(b, OP_EQ, &way, &none);
		squad_use(b, &it);
		return none;
	}
	struct spread number = stride == 1 ? way : spread_binary(b, OP_DIV, &way, &by);
	struct spread back = stride == 1 ? way : spread_binary(b, OP_MUL, &number, &by);
	if (b->v->stopped)
		return number;
	struct mask above = spread_compare(b, OP_GE, &number, &none);
	struct mask below = spread_compare(b, OP_LT, &number, &over);
	struct mask on = spread_compare(b, OP_EQ, &back, &way);
	on = mask_and(mask_and(on, &above), &below);
	squad_use(b, &on);
	return number;
}

/* Whether the members are ranks, on every rank that runs. */
static bool members_are_ranks(const struct squad *b, const struct spread *first, int64_t count,
			      int64_t stride)
{
	int64_t lo = spread_least(b, first), hi = spread_greatest(b, first), way;
	if (count < 0 || (stride == 0 && count > 1) ||
	    __builtin_mul_overflow(count - 1, stride, &way) || lo < 0 || hi >= b->v->here.size)
		return false;
	return way <= b->v->here.size && way >= -b->v->here.size && lo + way >= 0 &&
	       hi + way < b->v->here.size;
}

/* ccs(5) 4, within: a rank that is no member skips the block. */
void squad_within(struct squad *b, const struct stmt *s)
{
	struct mask mask = b->run.mask;
	uint32_t used = b->used, top = b->top;
	struct group here = b->v->here;
	if (!s->e2 || !b->v->here.stride) {
		squad_fail(b); /* a group given by a table is not supported */
		return;
	}
	struct spread first = eval_all(b->v, s->e), n = eval_all(b->v, s->e2),
		      by = eval_all(b->v, s->e3);
	int64_t count = b->v->stopped ? 0 : spread_only(b, &n),
		stride = b->v->stopped ? 0 : spread_only(b, &by);
	if (b->v->stopped || count == 0)
		return;
	if (!members_are_ranks(b, &first, count, stride)) {
		squad_fail(b);
		return;
	}
	struct spread number = numbers(b, &first, count, stride), scale = spread_same(here.stride);
	struct spread at = spread_binary(b, OP_MUL, &first, &scale);
	at = spread_binary(b, OP_ADD, &at, &here.first);
	b->v->here = (struct group){ .number = number,
				     .first = at,
				     .size = count,
				     .stride = here.stride * (count == 1 ? 1 : stride) };
	if (b->run.any && !b->v->stopped)
		squad_list(b, s->body);
	squad_use(b, &mask);
	b->v->here = here;
	b->used = used;
	b->top = top;
}

/* ---- scratch -------------------------------------------------------------------------- */

void squad_scratch(struct squad *b, const struct stmt *s)
{
	int64_t inner, parts = parts_of(b, s->buffer, &inner), n;
	bool all = true;
	/* The scratch of a par's block comes after that of the blocks before, equally on all
	 * ranks. */
	for (uint32_t i = 0; i < b->npars; i++)
		all = all && mask_is(&b->pars[i].mask, &b->run.mask);
	if (b->v->stopped || !all || __builtin_mul_overflow((int64_t)b->v->part, parts, &n) ||
	    n > (int64_t)cursor_most_cells(b->v) - b->top) {
		squad_fail(b);
		return;
	}
	bind_cells(
		b, s->buffer->sym,
		(struct view){ spread_same(b->top), b->v->part, (uint32_t)parts, (uint32_t)inner });
	struct squad_cells x = { spread_same(b->top), spread_same(n) };
	struct spread none = spread_same(NONE), zero = spread_same(0);
	squad_push(b, s, OP_FRESH, &x, &none, &zero);
	b->top += (uint32_t)n;
	b->high = b->top > b->high ? b->top : b->high;
	b->most = b->high > b->most ? b->high : b->most;
}
