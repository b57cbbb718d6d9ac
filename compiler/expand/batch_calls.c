/*
 * Calls of procs and schedules, groups, and scratch, of a batch.
 *
 * As calls.c has them for one rank. How a view is cut, how large a group is and how much scratch
 * there is must be the same on all ranks that run; where views and groups begin need not.
 */
#include "compiler/expand/batch.h"

/* ---- calls ------------------------------------------------------------------------------------ */

/* What an argument is, in the caller's names. */
struct actual {
	struct batch_cells cells; /* of a view, or */
	struct form number;
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

static void evaluate(struct batch *b, const struct stmt *s, struct actual *x)
{
	for (const struct arg *a = s->args; a && !b->failed; a = a->next, x++)
		if (a->ref)
			x->cells = batch_cells(b, a->ref);
		else
			x->number = batch_eval(b, a->expr);
	for (const struct binding *m = s->more; m && !b->failed; m = m->next, x++)
		x->number = batch_eval(b, m->value);
}

/* The number of parts that the brackets ask for, and of those in a block; 0: it is none that a
 * batch knows. */
static int64_t parts_of(struct batch *b, const struct buffer_def *d, int64_t *inner)
{
	struct form blocks = d->blocks ? batch_eval(b, d->blocks) : form_same(1);
	struct form count = batch_eval(b, d->count);
	int64_t n = b->failed ? 0 : form_only(b, &count), k = b->failed ? 0 : form_only(b, &blocks);
	int64_t parts;
	*inner = d->blocks ? n : 0;
	if (b->failed || n < 1 || k < 1 || __builtin_mul_overflow(n, k, &parts) ||
	    parts > UINT32_MAX) {
		batch_fail(b);
		return 0;
	}
	return parts;
}

static void bind_cells(struct batch *b, const struct symbol *s, struct batch_view view)
{
	batch_bind_own(b, s, B_VIEW)->view = view;
}

/* Binds the callee's names to what was passed, and its parameters' defaults. */
static void bind_arguments(struct batch *b, const struct stmt *s, const struct actual *x)
{
	const struct param *p = s->callee->formals;
	const struct buffer_def *d = s->callee->buffers;
	for (const struct arg *a = s->args; a; a = a->next, x++) {
		const struct buffer_def *view = p ? p->view : d;
		if (view && !b->failed) {
			uint32_t n = (uint32_t)form_only(b, &x->cells.n);
			bind_cells(b, view->sym,
				   (struct batch_view){ .first = x->cells.lo, .part = n });
		} else if (!view) {
			batch_bind_number(b, p->number, x->number);
		}
		d = p ? d : d->next;
		p = p ? p->next : NULL;
	}
	for (const struct binding *m = s->more; m; m = m->next)
		batch_bind_number(b, m->sym, x++->number);
}

static void bind_defaults(struct batch *b, const struct stmt *s)
{
	for (const struct binding *p = s->callee->params; p && !b->failed; p = p->next) {
		bool given = false;
		for (const struct binding *m = s->more; m; m = m->next)
			given |= m->sym == p->sym;
		if (!given && p->value)
			batch_bind_number(b, p->sym, batch_eval(b, p->value));
	}
}

/* Cuts one view into parts; false: the batch has ended. */
static bool cut(struct batch *b, const struct buffer_def *d)
{
	int64_t inner, parts = parts_of(b, d, &inner);
	struct batch_view *w = &b->binds[d->sym->id].view;
	if (b->failed || w->part % parts != 0) {
		batch_fail(b);
		return false;
	}
	w->part = (uint32_t)(w->part / parts);
	w->parts = (uint32_t)parts;
	w->inner = (uint32_t)inner;
	return true;
}

/* The callee's scratch has parts as its views are, so these must be alike then. */
static void cut_all(struct batch *b, const struct stmt *s)
{
	const struct param *p = s->callee->formals;
	const struct buffer_def *d = s->callee->buffers;
	bool first = true, alike = stmts_have(s->callee->body, S_SCRATCH);
	for (const struct arg *a = s->args; a && !b->failed; a = a->next) {
		const struct buffer_def *view = p ? p->view : d;
		d = p ? d : d->next;
		p = p ? p->next : NULL;
		if (!view || !cut(b, view))
			continue;
		uint32_t part = b->binds[view->sym->id].view.part;
		if (first)
			b->part = part;
		first = false;
		if (alike && part != b->part)
			batch_fail(b);
	}
}

static void where(struct batch *b, const struct decl *d)
{
	if (d->where && !b->failed && batch_holds(b, d->where) != b->run.mask)
		batch_fail(b);
}

/* The callee's `where` may mention what its topology's parameters are. */
static void topology(struct batch *b, const struct stmt *s)
{
	const struct decl *t = s->callee->topology;
	if (t)
		batch_bind_topology(b, s->callee);
	where(b, s->callee);
	const struct expr *a = s->callee->topology_args;
	for (const struct binding *p = t ? t->params : NULL; p && !b->failed;
	     p = p->next, a = a ? a->next : NULL)
		if (a || p->value)
			batch_bind_number(b, p->sym, batch_eval(b, a ? a : p->value));
	if (t)
		where(b, t);
}

void batch_call(struct batch *b, const struct stmt *s)
{
	struct batch_group home = b->home;
	uint64_t call = b->call;
	uint32_t ntrail = b->ntrail, part = b->part, used = b->used, top = b->top;
	struct actual *x = ARENA_ARRAY(b->v->arena, struct actual, count_arguments(s));
	evaluate(b, s, x);
	if (b->failed || b->depth >= MOST_DEPTH || !batch_work(b, s->callee->span)) {
		batch_fail(b);
		return;
	}
	b->depth++;
	b->call = ++b->ncalls;
	b->home = b->here;
	b->part = 1;
	bind_arguments(b, s, x);
	bind_defaults(b, s);
	cut_all(b, s);
	topology(b, s);
	batch_list(b, s->callee->body);
	batch_undo(b, ntrail);
	b->depth--;
	b->call = call;
	b->home = home;
	b->part = part;
	b->used = used;
	b->top = top;
}

/* ---- groups ------------------------------------------------------------------------------------- */

/* The ranks' numbers in group(first, count, stride), for those that are in it: they run then. */
static struct form numbers(struct batch *b, const struct form *first, int64_t count, int64_t stride)
{
	struct form by = form_same(stride), none = form_same(0), over = form_same(count);
	struct form way = form_binary(b, OP_SUB, &b->here.number, first);
	if (count == 1) {
		struct form itself = form_binary(b, OP_EQ, &way, &none);
		batch_use(b, form_holds(b, &itself));
		return none;
	}
	struct form number = stride == 1 ? way : form_binary(b, OP_DIV, &way, &by);
	struct form back = stride == 1 ? way : form_binary(b, OP_MUL, &number, &by);
	struct form in[3] = { form_binary(b, OP_GE, &number, &none),
			      form_binary(b, OP_LT, &number, &over),
			      form_binary(b, OP_EQ, &back, &way) };
	if (!b->failed)
		batch_use(b, form_holds(b, &in[0]) & form_holds(b, &in[1]) & form_holds(b, &in[2]));
	return number;
}

/* Whether the members are ranks, whoever asks. */
static bool members_are_ranks(const struct batch *b, const struct form *first, int64_t count,
			      int64_t stride)
{
	int64_t lo = form_least(b, first), hi = form_greatest(b, first), way;
	if (count < 0 || (stride == 0 && count > 1) ||
	    __builtin_mul_overflow(count - 1, stride, &way) || lo < 0 || hi >= b->here.size)
		return false;
	return way <= b->here.size && way >= -b->here.size && lo + way >= 0 &&
	       hi + way < b->here.size;
}

/* ccs(5) 4, within: who is no member skips the block. */
void batch_within(struct batch *b, const struct stmt *s)
{
	uint64_t mask = b->run.mask;
	uint32_t used = b->used, top = b->top;
	struct batch_group here = b->here;
	if (!s->e2 || !b->here.stride) {
		batch_fail(b); /* of a table */
		return;
	}
	struct form first = batch_eval(b, s->e), n = batch_eval(b, s->e2),
		    by = batch_eval(b, s->e3);
	int64_t count = b->failed ? 0 : form_only(b, &n),
		stride = b->failed ? 0 : form_only(b, &by);
	if (b->failed || count == 0)
		return;
	if (!members_are_ranks(b, &first, count, stride)) {
		batch_fail(b);
		return;
	}
	struct form number = numbers(b, &first, count, stride), scale = form_same(here.stride);
	struct form at = form_binary(b, OP_MUL, &first, &scale);
	at = form_binary(b, OP_ADD, &at, &here.first);
	b->here = (struct batch_group){ .number = number,
					.first = at,
					.size = count,
					.stride = here.stride * (count == 1 ? 1 : stride) };
	if (b->run.mask && !b->failed)
		batch_list(b, s->body);
	batch_use(b, mask);
	b->here = here;
	b->used = used;
	b->top = top;
}

/* ---- scratch ---------------------------------------------------------------------------------------- */

void batch_scratch(struct batch *b, const struct stmt *s)
{
	int64_t inner, parts = parts_of(b, s->buffer, &inner), n;
	bool all = true;
	/* Blocks of a par have theirs behind those of the blocks before: on all ranks alike. */
	for (uint32_t i = 0; i < b->npars; i++)
		all = all && b->pars[i].mask == b->run.mask;
	if (b->failed || !all || __builtin_mul_overflow((int64_t)b->part, parts, &n) ||
	    n > (int64_t)cursor_most_cells(b->v) - b->top) {
		batch_fail(b);
		return;
	}
	bind_cells(b, s->buffer->sym,
		   (struct batch_view){ form_same(b->top), b->part, (uint32_t)parts,
					(uint32_t)inner });
	struct batch_cells x = { form_same(b->top), form_same(n) };
	struct form none = form_same(NONE), zero = form_same(0);
	batch_push(b, s, OP_FRESH, &x, &none, &zero);
	b->top += (uint32_t)n;
	b->high = b->top > b->high ? b->top : b->high;
	b->most = b->high > b->most ? b->high : b->most;
}
