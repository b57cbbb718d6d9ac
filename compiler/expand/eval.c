/*
 * Names and expressions: 64 bits, without wrapping; floor division and modulo. ccs(5) 3, 4.
 *
 * In: a tree with resolved names. Out: its value for the current rank, or E0204 at the place that
 * fails. The first failure stops the rank; evaluations while the recursion returns have no effect.
 * O(nodes), plus the cost of called fns.
 */
#include "compiler/expand/squad.h"
#include "lang/number/number.h"

#include <inttypes.h>

/* ---- lazy names ---------------------------------------------------------------------- */

void bind_fixed(struct cursor *v, const struct symbol *s, struct bind b)
{
	b.call = 0;
	v->binds[s->id] = b;
	bind_changed(v, s->id);
}

void bind_hide(struct cursor *v, const struct symbol *s)
{
	ARENA_PUSH(v->arena, v->trail, v->ntrail, v->captrail) =
		(struct hidden){ s->id, v->binds[s->id] };
	v->binds[s->id].call = v->call;
}

void bind_undo(struct cursor *v, uint32_t ntrail)
{
	while (v->ntrail > ntrail) {
		const struct hidden *h = &v->trail[--v->ntrail];
		v->binds[h->symbol] = h->bind;
		bind_changed(v, h->symbol);
	}
}

void bind_lazy(struct cursor *v, const struct symbol *s, const struct expr *e)
{
	struct bind *b = bind_own(v, s, B_LAZY);
	b->expr = e;
	b->at = v->nentries;
	b->n = e->kind == E_TABLE ? e->nargs : 0;
	if (v->squad)
		squad_late(v->squad, b);
	bind_changed(v, s->id);
	for (uint32_t i = 0; i < b->n; i++)
		eval_push(v, 0);
}

void bind_topology(struct cursor *v, const struct decl *d)
{
	for (const struct binding *p = d->on; p; p = p->next)
		bind_lazy(v, p->sym, p->value);
	for (const struct stmt *s = d->topology->body; s; s = s->next)
		if (s->kind == S_LET)
			bind_lazy(v, s->var, s->e);
}

void eval_push(struct cursor *v, int64_t entry)
{
	ARENA_PUSH(v->arena, v->entries, v->nentries, v->capentries) = entry;
}

/* The state of the place that uses a lazy name, saved while the name is evaluated. */
struct asking {
	struct group here;
	uint32_t depth, deepest;
	ptrdiff_t c_used;
};

/* A lazy name is evaluated in the scope that bound it: a file's in the whole program, a topology's
 * in its call; and not inside a call of a fn. So the first use does not determine the result. */
static struct asking enter_home(struct cursor *v, const struct symbol *s)
{
	struct asking a = { v->here, v->depth, v->deepest, v->c_used };
	v->depth = 0;
	cursor_stand(v, s->owner ? v->home : v->whole);
	return a;
}

static void leave_home(struct cursor *v, const struct asking *a)
{
	cursor_stand(v, a->here);
	v->depth = a->depth;
	v->deepest = a->deepest;
	v->c_used = a->c_used;
}

/* Evaluates a lazy name, and binds it to its value, if all ranks run. */
static struct spread lazy(struct cursor *v, const struct symbol *s)
{
	struct bind b = v->binds[s->id];
	struct asking by = enter_home(v, s);
	bool whole = !v->squad || squad_is_whole(v->squad);
	struct spread value = !v->squad ? eval_all(v, b.expr) : squad_lazy(v->squad, &b, whole);
	leave_home(v, &by);
	if (whole && !v->stopped)
		bind_spread(v, s, value);
	return value;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* A long table is in no cache: each rank's evaluation of it counts its text. */
static void count_table(struct cursor *v, const struct expr *table)
{
	uint64_t text = table->span.hi - table->span.lo;
	if (v->squad)
		v->squad->of->work->done += text * v->squad->n;
	else
		v->work->done += text;
}

uint32_t eval_table(struct cursor *v, const struct expr *table, uint32_t *at)
{
	*at = v->nentries;
	count_table(v, table);
	for (const struct expr *e = table->args; e && !v->stopped; e = e->next)
		eval_push(v, spread_one(v, eval_all(v, e)));
	return v->nentries - *at;
}

uint32_t eval_table_of(struct cursor *v, const struct symbol *s, uint32_t *at)
{
	const struct bind *b = &v->binds[s->id];
	struct bind lazy = *b;
	*at = b->at;
	if (b->kind == B_TABLE)
		return b->n;
	struct asking by = enter_home(v, s);
	uint32_t i = lazy.at;
	count_table(v, lazy.expr);
	for (const struct expr *e = lazy.expr->args; e && !v->stopped; e = e->next) {
		int64_t value = spread_one(v, eval_all(v, e));
		v->entries[i++] = value;
	}
	leave_home(v, &by);
	if (v->squad && !squad_is_whole(v->squad)) /* it is bound for all ranks */
		squad_fail(v->squad);
	if (v->stopped)
		return 0;
	bind_table(v, s, lazy.at, lazy.n);
	return lazy.n;
}

static struct spread entry(struct cursor *v, const struct expr *e)
{
	uint32_t at, n = eval_table_of(v, e->sym, &at);
	struct spread x = v->stopped ? spread_same(0) : eval_all(v, e->a);
	if (v->stopped)
		return spread_same(0);
	if (!spread_is_same(&x))
		return spread_entry(v->squad, v->entries + at, n, &x);
	int64_t i = x.base;
	if ((uint64_t)i < n)
		return spread_same(v->entries[at + i]);
	if (n == 0) {
		cursor_fail(v, e->span, "entry %" PRId64 " of a table without entries", i);
		return spread_same(0);
	}
	cursor_fail(v, e->span, "entry %" PRId64 " of a table that has entries 0 to %u", i, n - 1);
	diag_help(v->ctx->diags, v->fault,
		  e->a->kind == E_NAME ? "`%s[%s %% len(%s)]` wraps around"
				       : "`%s[(%s) %% len(%s)]` wraps around",
		  e->name.name, lang_expr_text(v->arena, e->a), e->name.name);
	return spread_same(0);
}

/* ---- operators ------------------------------------------------------------------------ */

/* E0204: the operation has no result. */
static RARE struct spread none(struct cursor *v, const struct expr *e, int64_t a, int64_t b)
{
	char why[NUMBER_TEXT];

	number_fault(why, e, a, b);
	return spread_same(cursor_fail(v, e->span, "%s", why));
}

/* x op y, for the operator of `e`. */
static inline struct spread binary(struct cursor *v, const struct expr *e, struct spread x,
				   struct spread y)
{
	if (!spread_both_same(&x, &y))
		return spread_binary(v->squad, e->op, &x, &y);
	struct number r = number_binary(e->op, x.base, y.base);
	return r.is ? spread_same(r.value) : none(v, e, x.base, y.base);
}

static struct spread unary(struct cursor *v, const struct expr *e)
{
	struct mask yes;
	if (e->op == OP_NOT) {
		enum known is = eval_holds(v, e->a, &yes);
		return is != SOMETIMES ? spread_same(is == NEVER) : squad_number(v->squad, &yes, 0);
	}
	struct spread x = eval_all(v, e->a);
	if (!spread_is_same(&x))
		return spread_unary(v->squad, e->op, &x);
	struct number r = number_unary(e->op, x.base);
	return r.is ? spread_same(r.value) : none(v, e, x.base, 0);
}

/* ---- conditions ------------------------------------------------------------------------- */

static bool is_logic(const struct expr *e)
{
	return e->kind == E_BINARY && (e->op == OP_OR || e->op == OP_AND);
}

/* a && b, a || b: b only for the ranks that a does not decide. */
static RARE enum known logic(struct cursor *v, const struct expr *e, struct mask *yes)
{
	bool or = e->op == OP_OR;
	enum known is = eval_holds(v, e->a, yes);
	if (is == (or ? ALWAYS : NEVER) || v->stopped)
		return is;
	return is == SOMETIMES ? squad_logic(v->squad, e, yes) : eval_holds(v, e->b, yes);
}

enum known eval_holds(struct cursor *v, const struct expr *e, struct mask *yes)
{
	if (is_logic(e))
		return logic(v, e, yes);
	bool compares = v->squad && e->kind == E_BINARY && spread_compares(e->op);
	struct spread x = eval_all(v, compares ? e->a : e);
	if (compares) {
		struct spread y = eval_all(v, e->b);
		if (!spread_both_same(&x, &y))
			return squad_compare(v->squad, e->op, &x, &y, yes);
		x = binary(v, e, x, y);
	}
	if (!spread_is_same(&x))
		return squad_compare(v->squad, OP_NE, &x, &(struct spread){ .base = 0 }, yes);
	return x.base ? ALWAYS : NEVER;
}

/* a ? b : c: b for the ranks on which a holds, c for the remaining ranks. */
static RARE struct spread choice(struct cursor *v, const struct expr *e)
{
	struct mask yes;
	enum known is = eval_holds(v, e->a, &yes);
	return is == SOMETIMES ? squad_choice(v->squad, e, &yes)
			       : eval_all(v, is == ALWAYS ? e->b : e->c);
}

/* ---- calls ---------------------------------------------------------------------------- */

static struct spread builtin(struct cursor *v, const struct expr *e)
{
	if (e->builtin == BUILTIN_LEN)
		return spread_same(e->args->sym->value->nargs);
	struct spread a = eval_all(v, e->args);
	bool least = e->builtin == BUILTIN_MIN;
	if (v->stopped)
		return spread_same(0);
	if (!least && e->builtin != BUILTIN_MAX) {
		if (!spread_is_same(&a))
			return spread_function(v->squad, e->builtin, &a);
		struct number r = number_function(e->builtin, a.base);
		return r.is ? spread_same(r.value) : none(v, e, a.base, 0);
	}
	for (const struct expr *x = e->args->next; x && !v->stopped; x = x->next) {
		struct spread b = eval_all(v, x);
		if (!spread_both_same(&a, &b))
			a = spread_end(v->squad, least, &a, &b);
		else if ((b.base < a.base) == least)
			a = b;
	}
	return a;
}

bool eval_too_much(struct cursor *v, struct span report)
{
	if (v->work->done > v->most_work)
		v->stopped = v->over = v->work->spent = true;
	else
		cursor_fail(
			v, report,
			"more than %u steps of evaluation without an operation (LIMIT_IDLE_WORK)",
			LIMIT_IDLE_WORK);
	return false;
}

/* The value of a condition. */
static RARE struct spread truth(struct cursor *v, const struct expr *e)
{
	struct mask yes;
	enum known is = logic(v, e, &yes);
	return is != SOMETIMES ? spread_same(is == ALWAYS) : squad_number(v->squad, &yes, 1);
}

static RARE struct spread other(struct cursor *v, const struct expr *e)
{
	switch (e->kind) {
	case E_NAME: return lazy(v, e->sym);
	case E_BINARY: return truth(v, e);
	case E_UNARY: return unary(v, e);
	case E_COND: return choice(v, e);
	case E_CALL: return builtin(v, e);
	case E_ENTRY: return entry(v, e);
	case E_INT:
	case E_RANK:
	case E_N:
	case E_TABLE:
	case E_TERM: break;
	}
	return spread_same(0);
}

/* Evaluates a chain, such as (rank - s) % N, from its leftmost operand on. */
struct spread eval_tree(struct cursor *v, const struct expr *e)
{
	const struct expr *x = e->first;
	if (!x && e->kind == E_CALL && e->builtin == BUILTIN_NONE)
		return fn_call(v, e); /* not in other(): deep recursion needs small frames */
	if (!x)
		return other(v, e);
	struct spread a = eval_all(v, x);
	do {
		x = x->up;
		a = binary(v, x, a, eval_all(v, x->b));
	} while (x != e);
	return a;
}

bool eval_fixed(struct cursor *v, const struct expr *e, int64_t *value)
{
	cursor_start(v, NULL, 0);
	v->report_rank = NO_RANK;
	*value = eval(v, e);
	bind_undo(v, 0);
	return !v->stopped;
}

/* ---- names in an expression ----------------------------------------------------------- */

struct walk {
	struct arena *arena;
	bool lets;		  /* also visits the values of lets */
	const struct expr **seen; /* bodies of fns, and lets' values */
	uint32_t nseen, capseen;
	void (*visit)(void *arg, const struct expr *e);
	void *arg;
};

static void walk_once(struct walk *w, const struct expr *e)
{
	for (uint32_t i = 0; i < w->nseen; i++)
		if (w->seen[i] == e)
			return;
	ARENA_PUSH(w->arena, w->seen, w->nseen, w->capseen) = e;
}

static void walk(struct walk *w, const struct expr *e)
{
	if (!e)
		return;
	w->visit(w->arg, e);
	if (w->lets && e->sym && e->sym->kind == SYM_LET && e->sym->value)
		walk_once(w, e->sym->value);
	if (e->kind == E_CALL && e->builtin == BUILTIN_NONE)
		walk_once(w, e->sym->fn->body);
	walk(w, e->a);
	walk(w, e->b);
	walk(w, e->c);
	/* The length of a table does not depend on its entries. */
	for (const struct expr *a = e->builtin == BUILTIN_LEN ? NULL : e->args; a; a = a->next)
		walk(w, a);
}

void eval_walk(struct cursor *v, const struct expr *e, bool lets,
	       void (*visit)(void *arg, const struct expr *e), void *arg)
{
	struct walk w = { .arena = v->arena, .lets = lets, .visit = visit, .arg = arg };
	walk(&w, e);
	for (uint32_t i = 0; i < w.nseen; i++)
		walk(&w, w.seen[i]);
}

/* The names to search for. */
struct mention {
	const struct symbol *sym; /* or NULL */
	bool rank;
	bool found;
};

static void look(void *arg, const struct expr *e)
{
	struct mention *m = arg;
	m->found |= (e->kind == E_RANK && m->rank) || (m->sym && e->sym == m->sym);
}

bool eval_mentions(struct cursor *v, const struct expr *e, const struct symbol *s, bool rank)
{
	struct mention m = { .sym = s, .rank = rank };
	eval_walk(v, e, true, look, &m);
	return m.found;
}

bool eval_with(struct cursor *v, uint32_t n, const struct symbol *const *names,
	       const int64_t *numbers, const struct expr *e, int64_t *value)
{
	uint32_t ntrail = v->ntrail;

	for (uint32_t i = 0; i < n; i++) {
		bind_hide(v, names[i]);
		v->binds[names[i]->id].kind = B_NUMBER;
		v->binds[names[i]->id].number = spread_same(numbers[i]);
		bind_changed(v, names[i]->id);
	}
	bool ok = eval_quietly(v, e, value);
	bind_undo(v, ntrail);
	return ok;
}

bool eval_quietly(struct cursor *v, const struct expr *e, int64_t *value)
{
	uint64_t idle = v->idle;
	bool quiet = v->quiet, ok;

	v->quiet = true;
	*value = eval(v, e);
	v->quiet = quiet;
	v->idle = idle;
	ok = !v->stopped;
	v->stopped = false;
	return ok;
}
