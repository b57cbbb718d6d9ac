/*
 * Calls of procs, schedules that are called like procs, groups, and scratch.
 *
 * A call evaluates its arguments with the caller's names, then binds the callee's names, cuts the
 * views, and checks the `where` of the callee and of its topology. A call with a mistake is left
 * out, and the rank continues after it. A group's block runs only on its members, with other values
 * of `rank` and N. O(arguments) evaluations, and O(members) for a group by a table. ccs(5) 4.
 */
#include "compiler/expand/squad.h"

#include <inttypes.h>

/* ---- names outside of a block ------------------------------------------------------------ */

static void enter(struct cursor *v, const struct stmt *s, const struct stmt *body)
{
	ARENA_PUSH(v->arena, v->outside, v->noutside, v->capoutside) = (struct outside){
		.here = v->here,
		.home = v->home,
		.call = v->call,
		.ntrail = v->ntrail,
		.nmembers = v->nmembers,
		.part = v->part,
		.depth = v->depth,
	};
	v->work->done += WORK_CALL;
	cursor_push(v, s, body);
}

void cursor_leave(struct cursor *v)
{
	const struct outside *o = &v->outside[--v->noutside];
	if (o->call != v->call)
		bind_undo(v, o->ntrail);
	cursor_stand(v, o->here);
	v->home = o->home;
	v->call = o->call;
	v->nmembers = o->nmembers;
	v->part = o->part;
	v->depth = o->depth;
}

/* ---- calls ---------------------------------------------------------------------------- */

static void push(struct cursor *v, struct spread x)
{
	ARENA_PUSH(v->arena, v->args, v->nargs, v->capargs) = x;
}

/* Evaluates the arguments: cells of views (first, number), numbers, then the given parameters of a
 * schedule. False: one has a mistake. */
static bool arguments(struct cursor *v, const struct stmt *s)
{
	struct cell_spread c;
	for (const struct arg *a = s->args; a && !v->stopped; a = a->next) {
		if (!a->ref) {
			push(v, eval_all(v, a->expr));
			continue;
		}
		if (!cursor_cells(v, a->ref, NULL, &c))
			return false;
		push(v, c.lo);
		push(v, c.n);
	}
	for (const struct binding *m = s->more; m && !v->stopped; m = m->next)
		push(v, eval_all(v, m->value));
	return !v->stopped;
}

/* Binds the callee's names; `at`: the first argument. */
static void bind_arguments(struct cursor *v, const struct stmt *s, uint32_t at)
{
	for (const struct arg *a = s->args; a; a = a->next, at++) {
		if (a->number) {
			bind_spread(v, a->number, v->args[at]);
			continue;
		}
		struct view w = { .first = v->args[at++] };
		w.part = (uint32_t)spread_one(v, v->args[at]);
		bind_view(v, a->view->sym, w);
	}
	for (const struct binding *m = s->more; m; m = m->next)
		bind_spread(v, m->sym, v->args[at++]);
}

/* Defaults may use the parameters before them. */
static void bind_defaults(struct cursor *v, const struct stmt *s)
{
	for (const struct binding *p = s->defaults; p && !v->stopped; p = p->next)
		bind_spread(v, p->sym, eval_all(v, p->value));
}

/* The number of parts in the brackets; *inner: of the parts of a block. */
static int64_t parts_of(struct cursor *v, const struct buffer_def *b, int64_t *inner)
{
	int64_t count, parts, blocks = b->blocks ? spread_one(v, eval_all(v, b->blocks)) : 1;
	*inner = 0;
	count = spread_one(v, eval_all(v, b->count));
	if (!b->blocks || v->stopped)
		return count;
	/* A negative count is 0. */
	*inner = count < 0 ? 0 : count;
	if (!__builtin_mul_overflow(blocks < 0 ? 0 : blocks, *inner, &parts))
		return parts;
	return cursor_fail(v, b->span,
			   "overflow: %" PRId64 " * %" PRId64 " needs more than 64 bits", blocks,
			   *inner);
}

/* Cuts a view into parts of one size (ccs(5) 4). */
static bool cut(struct cursor *v, const struct stmt *s, const struct arg *a,
		const struct buffer_def *b)
{
	int64_t inner, parts = parts_of(v, b, &inner);
	struct view *w = &v->binds[b->sym->id].view;
	uint32_t cells = w->part;
	if (v->stopped)
		return false;
	if (parts >= 1 && cells % parts == 0) {
		w->part = (uint32_t)(cells / parts);
		w->parts = (uint32_t)parts;
		w->inner = (uint32_t)inner;
		return true;
	}
	struct diag *g = cursor_report(v, 203, a->span,
				       "%s takes %" PRId64 " parts here, and %u chunk%s passed: %s",
				       s->name.name, parts, cells, cells == 1 ? " is" : "s are",
				       parts < 1 ? "there must be at least one part"
						 : "the number of parts "
						   "must divide the number "
						   "of chunks");
	diag_note(v->ctx->diags, g, b->span, "the parts");
	return false;
}

/* Cuts the views. If the callee has scratch, its parts are as large as the parts of all views,
 * which must then be equal. */
static bool cut_all(struct cursor *v, const struct stmt *s)
{
	bool first = true, alike = lang_has_stmt(s->callee->body, S_SCRATCH);
	for (const struct arg *a = s->args; a; a = a->next) {
		if (!a->view)
			continue;
		if (!cut(v, s, a, a->view))
			return false;
		uint32_t part = v->binds[a->view->sym->id].view.part;
		if (first)
			v->part = part;
		first = false;
		if (!alike || part == v->part)
			continue;
		cursor_report(v, 203, a->span,
			      "%s has a scratch, so the parts of its arguments must have the same "
			      "size in chunks: it is %u here, and %u in the first argument",
			      s->name.name, part, v->part);
		return false;
	}
	return true;
}

static bool where(struct cursor *v, const struct stmt *s, const struct decl *d, const char *what)
{
	struct mask yes;
	if (!d->where || eval_holds(v, d->where, &yes) == ALWAYS || v->stopped)
		return !v->stopped;
	struct diag *g =
		cursor_report(v, 205, s->span, "`where` of %s %s does not hold for this call", what,
			      d->name.name);
	diag_note(v->ctx->diags, g, d->where->span, "the condition");
	return false;
}

/* Checks the callee's `where` and its topology; its `where` may use the topology's parameters. */
static bool topology(struct cursor *v, const struct stmt *s)
{
	const struct decl *t = s->callee->topology;
	if (t)
		bind_topology(v, s->callee);
	if (!where(v, s, s->callee, "schedule"))
		return false;
	if (!t)
		return true;
	for (const struct binding *p = s->callee->on; p; p = p->next)
		bind_spread(v, p->sym, eval_all(v, p->value));
	return !v->stopped && where(v, s, t, "topology");
}

void cursor_call(struct cursor *v, const struct stmt *s)
{
	uint32_t at = v->nargs;
	if (!arguments(v, s)) {
		v->nargs = at;
		return;
	}
	if (v->depth >= LIMIT_CALL_DEPTH) {
		cursor_fail(v, s->span, "calls are nested more than %u deep (LIMIT_CALL_DEPTH)",
			    LIMIT_CALL_DEPTH);
		return;
	}
	if (!eval_work(v, s->callee->span, s->span))
		return;
	enter(v, s, s->callee->body);
	v->depth++;
	v->call = ++v->ncalls;
	v->home = v->here;
	v->part = 1;
	bind_arguments(v, s, at);
	v->nargs = at;
	bind_defaults(v, s);
	if (!v->stopped && cut_all(v, s) && topology(v, s))
		return;
	v->rows[v->nrows - 1].next = NULL; /* the body is left out */
}

/* ---- groups --------------------------------------------------------------------------- */

static void add_member(struct cursor *v, uint32_t rank)
{
	ARENA_PUSH(v->arena, v->members, v->nmembers, v->capmembers) = rank;
}

/* The first entry with that value. */
static uint32_t first_entry(const struct cursor *v, uint32_t at, int64_t e)
{
	uint32_t i = 0;
	while (v->entries[at + i] != e)
		i++;
	return i;
}

/* Help for a table of as many entries as there are ranks, of which entry i is there twice: the ranks that
 * are in none. O(entries). */
static void help_missing(struct cursor *v, const struct stmt *s, uint32_t at, uint32_t i,
			 struct diag *g)
{
	const struct group *group = &v->here;
	uint32_t missing = 0, least = 0, entry = i;

	for (uint32_t k = i; k < group->size; k++)
		if ((uint64_t)v->entries[at + k] < (uint64_t)group->size)
			v->met[cursor_whole(v, group, v->entries[at + k])] = v->group;
	for (uint32_t k = (uint32_t)group->size; k-- > 0;)
		if (v->met[cursor_whole(v, group, k)] != v->group) {
			missing++;
			least = k;
		}
	const struct expr *e = s->e->kind == E_TABLE ? s->e->args : s->e->sym->value->args;
	while (i-- > 0)
		e = e->next;
	diag_note(v->ctx->diags, g, e->span, "here is entry %u", entry);
	if (missing == 1)
		diag_help(v->ctx->diags, g, "rank %u is in no entry", least);
}

/* Entry i of the table of n that begins at `at`. */
static bool add_entry(struct cursor *v, const struct stmt *s, uint32_t at, uint32_t i, uint32_t n)
{
	int64_t e = v->entries[at + i];
	const struct group *g = &v->here;
	bool rank = (uint64_t)e < (uint64_t)g->size;
	uint32_t whole = rank ? cursor_whole(v, g, e) : 0;
	if (rank && v->met[whole] != v->group) {
		v->met[whole] = v->group;
		add_member(v, whole);
		return true;
	}
	if (rank) {
		struct diag *d = cursor_report(v, 306, s->e->span,
					       "entry %u of the group, rank %" PRId64
					       ", is already a member: entry %u",
					       i, e, first_entry(v, at, e));
		if (d && n == g->size)
			help_missing(v, s, at, i, d);
	} else {
		cursor_report(v, 306, s->e->span,
			      "entry %u of the group, %" PRId64
			      ", is not a rank: ranks are 0 to %" PRId64,
			      i, e, g->size - 1);
	}
	return false;
}

/* group([0, 2, 1]), group(order): the entries are numbers of the enclosing group, each once; a rank
 * that is not among them skips the block. */
static void within_table(struct cursor *v, const struct stmt *s)
{
	uint32_t nentries = v->nentries, start = v->nmembers, number = NONE, at = 0, n;
	if (v->squad)
		squad_fail(v->squad);
	n = s->e->kind == E_TABLE ? eval_table(v, s->e, &at) : eval_table_of(v, s->e->sym, &at);
	if (v->stopped)
		return;
	if (!v->met)
		v->met = ARENA_ARRAY(v->arena, uint32_t, v->program->nranks);
	v->group++;
	bool ok = true;
	for (uint32_t i = 0; i < n && ok; i++) {
		ok = add_entry(v, s, at, i, n);
		if (ok && v->members[v->nmembers - 1] == v->rank)
			number = i;
	}
	v->nentries = nentries;
	v->idle += n;
	if (ok && number != NONE) {
		uint32_t nmembers = v->nmembers;
		v->nmembers = start;
		enter(v, s, s->body);
		v->nmembers = nmembers;
		cursor_stand(v, (struct group){ .number = spread_same(number),
						.size = n,
						.first = spread_same(start) });
		return;
	}
	v->nmembers = start;
}

/* Reports a group(first, count, stride) with a member that is no rank. */
static void report_members(struct cursor *v, const struct stmt *s, int64_t first, int64_t count,
			   int64_t stride)
{
	int64_t n = v->here.size, last;
	bool over = __builtin_mul_overflow(count - 1, stride, &last) ||
		    __builtin_add_overflow(first, last, &last);
	bool is_first = first >= 0 && first < n;
	struct diag *g = cursor_report(v, 306, s->span,
				       "group(%" PRId64 ", %" PRId64 ", %" PRId64 "): %s%" PRId64
				       " is not a rank: ranks are 0 to %" PRId64,
				       first, count, stride, over ? "a member beyond " : "member ",
				       over || !is_first ? first : last, n - 1);
	bool fixed = s->e->kind == E_INT && s->e2->kind == E_INT && s->e3->kind == E_INT;
	if (fixed && !over && first >= 0 && last >= n && v->program->nranks == n)
		diag_help(v->ctx->diags, g, "for N without this rank: where N > %" PRId64, last);
	else if (!over && last >= n)
		diag_help(v->ctx->diags, g,
			  "a group is group(first, count, stride): here the last member is %" PRId64
			  " + (%" PRId64 " - 1) * %" PRId64,
			  first, count, stride);
}

/* Whether the members of group(first, count, stride) are ranks. */
static bool members_are_ranks(struct cursor *v, const struct stmt *s, struct spread first,
			      int64_t count, int64_t stride)
{
	int64_t n = v->here.size, way;
	if (count < 0) {
		cursor_report(v, 306, s->e2->span, "a group of %" PRId64 " ranks", count);
		return false;
	}
	if (stride == 0 && count > 1) {
		cursor_report(v, 306, s->e3->span,
			      "a group of %" PRId64 " ranks with stride 0: rank %" PRId64
			      " would be in it more than once",
			      count, first.base);
		return false;
	}
	if (spread_is_within(v, first, n) && !__builtin_mul_overflow(count - 1, stride, &way) &&
	    way < n && way > -n &&
	    spread_is_within(v, spread_op(v, OP_ADD, first, spread_same(way)), n))
		return true;
	report_members(v, s, first.base, count, stride);
	return false;
}

/* ccs(5) 4, within: every member must be a rank; a rank that is no member skips the block. */
void cursor_within(struct cursor *v, const struct stmt *s)
{
	if (!s->e2) {
		within_table(v, s);
		return;
	}
	struct spread first = eval_all(v, s->e);
	int64_t count = spread_one(v, eval_all(v, s->e2)),
		stride = spread_one(v, eval_all(v, s->e3));
	struct group g = v->here;
	if (v->stopped || count == 0 || !members_are_ranks(v, s, first, count, stride))
		return;
	if (count == 1)
		stride = 1;
	struct spread way = spread_op(v, OP_SUB, g.number, first);
	struct spread number = stride == 1 ? way : spread_op(v, OP_DIV, way, spread_same(stride));
	struct spread back = stride == 1 ? way : spread_op(v, OP_MUL, number, spread_same(stride));
	if ((stride != 1 && !cursor_narrow(v, OP_EQ, back, way)) ||
	    !cursor_narrow(v, OP_GE, number, spread_same(0)) ||
	    !cursor_narrow(v, OP_LT, number, spread_same(count))) {
		squad_widen(v);
		return;
	}
	enter(v, s, s->body);
	cursor_stand(v, (struct group){ .number = number,
					.first = spread_op(
						v, OP_ADD, g.first,
						spread_op(v, OP_MUL, first, spread_same(g.stride))),
					.size = count,
					.stride = g.stride * stride });
	if (g.stride)
		return;
	v->here.first = spread_same(v->nmembers); /* a part of a group that is given by a table */
	for (int64_t i = 0; i < count; i++)
		add_member(v, cursor_whole(v, &g, first.base + i * stride));
}

/* ---- scratch -------------------------------------------------------------------------- */

/* Adds the row that marks a new scratch, of n cells. */
static void put_fresh(struct cursor *v, const struct stmt *s, uint32_t n)
{
	const struct opsite *site = cursor_site(v, s);
	if (v->squad) {
		const struct cell_spread x = { spread_same(v->top), spread_same(n) };
		squad_push(v->squad, site, &x, spread_same(NONE), spread_same(0));
		return;
	}
	struct lane *l = &v->lanes[v->lane];
	cursor_put(&l->ops[l->n++], site, OP_FRESH, (struct cells){ v->top, n }, 0);
	v->nsilent++;
	v->idle = 0;
}

bool cursor_scratch(struct cursor *v, const struct stmt *s)
{
	int64_t inner, parts = parts_of(v, s->buffer, &inner), n;
	uint32_t most = cursor_most_cells(v);
	if (v->stopped || (v->squad ? !squad_scratch_is_even(v->squad) : !cursor_room(v)))
		return false;
	v->stopped = true;
	if (parts < 1) {
		cursor_report(v, 203, s->buffer->count->span,
			      "scratch %s[%" PRId64 "]: it must have at least one chunk",
			      s->buffer->name.name, parts);
		return false;
	}
	if (__builtin_mul_overflow(v->part, parts, &n) || n > (int64_t)most - v->top) {
		struct diag_calls calls = { .n = 0 };
		v->over = true;
		cursor_calls(v, s->span, &calls);
		if (!v->quiet)
			program_too_large(
				v->ctx, s->span, &calls, v->report_rank,
				"more than %u chunks on each of %u ranks (LIMIT_CELLS: %u in "
				"all)",
				most, v->program->nranks, LIMIT_CELLS);
		return false;
	}
	v->stopped = false;
	bind_view(v, s->buffer->sym,
		  (struct view){ spread_same(v->top), v->part, (uint32_t)parts, (uint32_t)inner });
	put_fresh(v, s, (uint32_t)n);
	v->top += (uint32_t)n;
	if (v->top > v->high)
		v->high = v->top;
	if (v->high > v->most)
		v->most = v->high;
	return true;
}
