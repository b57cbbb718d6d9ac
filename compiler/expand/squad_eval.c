/*
 * Names and expressions of a squad.
 *
 * In: an expression, and the ranks that run. Out: a spread (squad.h): on each of these ranks the
 * value that eval.c would give. Or, for a mistake or an expression that is not supported, the squad
 * fails; then the cursor runs its ranks again, so nothing is reported here. In `a ? b : c`, && and
 * ||, each part is evaluated only for the ranks that need it, as eval.c does.
 *
 * A name has one entry, which a call hides and restores. Work is counted for each rank as by the
 * cursor: of a set of ranks that runs alone it is a debt, which is added to its ranks later.
 *
 * O(nodes), once for all ranks, and O(ranks) for each number that is given rank by rank.
 */
#include "compiler/expand/squad.h"
#include "lang/number/number.h"

/* Beyond these the squad fails, and the cursor runs its ranks. */
#define MOST_WORK (1u << 20)	/* as eval_work() counts it */
#define MOST_SPREADS (1u << 14) /* in use at a time */

/* ---- names ------------------------------------------------------------------------------- */

/* Saves the name's meaning on the trail; from now on the entry is the running call's. */
void squad_hide(struct squad *b, const struct symbol *s)
{
	ARENA_PUSH(b->v->arena, b->trail, b->ntrail, b->captrail) =
		(struct squad_hidden){ s->id, b->binds[s->id] };
	b->binds[s->id].call = b->call;
}

/* Restores the meanings that were saved since the trail had this length. */
void squad_undo(struct squad *b, uint32_t ntrail)
{
	while (b->ntrail > ntrail) {
		const struct squad_hidden *h = &b->trail[--b->ntrail];
		b->binds[h->symbol] = h->bind;
	}
}

/* The name's entry, for a value until the end of the running call. */
struct squad_bind *squad_bind_own(struct squad *b, const struct symbol *s, enum bind_kind kind)
{
	struct squad_bind *x = &b->binds[s->id];
	if (x->call != b->call)
		squad_hide(b, s);
	x->kind = kind;
	return x;
}

void squad_bind_number(struct squad *b, const struct symbol *s, struct spread value)
{
	squad_bind_own(b, s, B_NUMBER)->number = value;
}

void squad_forget(struct squad_bind *x)
{
	x->lazy.known = mask_none();
	x->lazy.whole = false;
}

void squad_bind_lazy(struct squad *b, const struct symbol *s, const struct expr *e)
{
	struct squad_bind *x = squad_bind_own(b, s, B_LAZY);
	x->lazy.expr = e;
	x->lazy.values = spread_room(b);
	squad_forget(x);
}

/* Binds the parameters of d's topology, to the arguments or else the defaults, and its lets. */
void squad_bind_topology(struct squad *b, const struct decl *d)
{
	const struct expr *a = d->topology_args;
	for (const struct binding *p = d->topology->params; p; p = p->next) {
		if (a || p->value)
			squad_bind_lazy(b, p->sym, a ? a : p->value);
		a = a ? a->next : NULL;
	}
	for (const struct stmt *s = d->topology->body; s; s = s->next)
		if (s->kind == S_LET)
			squad_bind_lazy(b, s->var, s->e);
}

void squad_pay(struct squad *b)
{
	for (uint32_t k = 0; k < b->ndebts; k++)
		EACH_RANK(i, &b->debts[k].of)
	b->idle[i] += b->debts[k].work;
	b->ndebts = 0;
	b->npaid++;
}

/* Work of the ranks that run: common work, if all run; else added to the debt of this set of ranks.
 * A new set needs a free row: if there is none, all debts are paid first. */
void squad_settle(struct squad *b)
{
	uint32_t k = 0;
	if (mask_is(&b->run.mask, &b->all)) {
		b->shared += b->owed;
		b->owed = 0;
		return;
	}
	while (k < b->ndebts && !mask_is(&b->debts[k].of, &b->run.mask))
		k++;
	if (k == MOST_DEBTS)
		squad_pay(b);
	k = b->ndebts < k ? b->ndebts : k; /* row 0, after squad_pay */
	if (k == b->ndebts)
		b->debts[b->ndebts++] = (struct squad_owed){ .of = b->run.mask };
	b->debts[k].work += b->owed;
	b->owed = 0;
}

bool squad_work(struct squad *b, struct span text)
{
	return squad_works(b, 1 + (text.hi - text.lo) / 8);
}

bool squad_works(struct squad *b, uint64_t work)
{
	b->work += work;
	b->owed += work;
	if (b->work > MOST_WORK || b->used > MOST_SPREADS)
		squad_fail(b);
	return !b->failed;
}

/* Copies the values of the ranks that run. */
static void keep(const struct squad *b, int64_t *values, const struct spread *x)
{
	EACH_RANK(i, &b->run.mask)
	values[i] = spread_at(x, i);
}

/* A lazy name's value, evaluated once for each rank that uses it. If the first use is by all ranks
 * at once, the spread is kept as it is; else values are kept rank by rank. The expression is
 * evaluated outside all calls: at depth 0, and in the group of the name's place in the text. */
static struct spread lazy(struct squad *b, const struct symbol *s)
{
	struct squad_bind *x = &b->binds[s->id];
	if (x->lazy.whole)
		return x->lazy.value;
	const struct mask mask = b->run.mask, known = x->lazy.known, new = mask_less(mask, &known);
	struct spread all = { .v = x->lazy.values };
	if (!mask_any(&new))
		return all;
	struct squad_group here = b->here;
	uint32_t used = b->used, depth = b->depth, deepest = b->deepest;
	b->depth = 0;
	squad_use(b, &new);
	b->here = s->owner ? b->home : b->whole;
	struct spread value = squad_eval(b, x->lazy.expr);
	b->here = here;
	b->used = used;
	b->depth = depth;
	b->deepest = deepest;
	if (mask_is(&new, &b->all)) {
		x->lazy.value = value = spread_copy(b, x->lazy.values, &value);
		x->lazy.whole = true;
	} else {
		keep(b, x->lazy.values, &value);
		x->lazy.known = mask_or(known, &new);
	}
	/* `value` is for the new ranks only; and its array, if any, was just given back */
	bool own = x->lazy.whole || (!value.v && !mask_any(&known));
	squad_use(b, &mask);
	return b->failed ? spread_same(0) : own ? value : all;
}

struct spread squad_name(struct squad *b, const struct symbol *s)
{
	const struct squad_bind *x = &b->binds[s->id];
	if (x->kind == B_NUMBER)
		return x->number;
	if (x->kind == B_LAZY && x->lazy.expr->kind != E_TABLE)
		return lazy(b, s);
	squad_fail(b);
	return spread_same(0);
}

/* ---- parts that only some ranks need --------------------------------------------------------- */

/* a ? b : c: b for the ranks on which a holds, c for the remaining ranks. */
static struct spread choice(struct squad *b, const struct expr *e)
{
	struct mask mask = b->run.mask, yes = squad_holds(b, e->a), no = mask_less(mask, &yes);
	if (b->failed)
		return spread_same(0);
	if (!mask_any(&no) || !mask_any(&yes))
		return squad_eval(b, mask_any(&yes) ? e->b : e->c);
	squad_use(b, &yes);
	struct spread x = squad_eval(b, e->b);
	squad_use(b, &no);
	struct spread y = squad_eval(b, e->c);
	squad_use(b, &mask);
	if (spread_is_same(&x) && spread_is_same(&y) && x.base == y.base)
		return x;
	return spread_blend(b, &yes, &x, &y);
}

/* A set of ranks as a number: 1 on its ranks, else 0. */
static struct spread of_mask(struct squad *b, const struct mask *holds)
{
	if (mask_is(holds, &b->run.mask) || !mask_any(holds))
		return spread_same(mask_any(holds));
	int64_t *r = spread_room(b);
	for (uint32_t i = b->run.lo; i <= b->run.hi; i++)
		r[i] = mask_has(holds, i);
	return (struct spread){ .v = r };
}

/* a && b, a || b: b for the ranks that a does not decide. */
static struct mask logic(struct squad *b, const struct expr *e)
{
	struct mask mask = b->run.mask, holds = squad_holds(b, e->a);
	struct mask open = e->op == OP_OR ? mask_less(mask, &holds) : holds;
	if (!mask_any(&open) || b->failed)
		return holds;
	squad_use(b, &open);
	struct mask second = squad_holds(b, e->b);
	squad_use(b, &mask);
	return e->op == OP_OR ? mask_or(holds, &second) : second;
}

static bool is_logic(const struct expr *e)
{
	return e->kind == E_BINARY && (e->op == OP_OR || e->op == OP_AND);
}

struct mask squad_holds(struct squad *b, const struct expr *e)
{
	if (is_logic(e))
		return logic(b, e);
	uint32_t used = b->used;
	struct mask holds = mask_none();
	bool compares = e->kind == E_BINARY && spread_compares(e->op);
	struct spread x = squad_eval(b, compares ? e->a : e);
	struct spread y = compares ? squad_eval(b, e->b) : x;
	if (!b->failed)
		holds = compares ? spread_compare(b, e->op, &x, &y) : spread_holds(b, &x);
	b->used = used;
	return holds;
}

bool squad_always(struct squad *b, const struct expr *e)
{
	struct mask holds = squad_holds(b, e);
	return mask_is(&holds, &b->run.mask);
}

/* ---- operators of one operand, and built-in functions --------------------------------- */

static struct spread unary(struct squad *b, const struct expr *e)
{
	static const struct spread zero = { .base = 0 }, all = { .base = -1 };
	if (e->op == OP_NOT) {
		struct mask holds = squad_holds(b, e->a);
		holds = mask_less(b->run.mask, &holds);
		return of_mask(b, &holds);
	}
	struct spread x = squad_eval(b, e->a);
	return e->op == OP_COMPL ? spread_binary(b, OP_BXOR, &x, &all)
				 : spread_binary(b, OP_SUB, &zero, &x);
}

/* The function's value; the squad fails where there is none, as for ilog2(0). */
static int64_t function(struct squad *b, enum builtin f, int64_t a)
{
	struct number r = number_function(f, a);
	if (!r.is)
		squad_fail(b);
	return r.value;
}

static struct spread map(struct squad *b, enum builtin f, const struct spread *x)
{
	if (spread_is_same(x))
		return spread_same(function(b, f, x->base));
	int64_t *r = spread_room(b);
	EACH_RANK(i, &b->run.mask)
	r[i] = function(b, f, spread_at(x, i));
	return (struct spread){ .v = r };
}

/* min(x, y), or without `min` max(x, y), rank by rank. */
static struct spread least(struct squad *b, bool min, const struct spread *x,
			   const struct spread *y)
{
	struct mask second = spread_compare(b, OP_LT, y, x);
	second = min ? second : mask_less(b->run.mask, &second);
	if (mask_is(&second, &b->run.mask) || !mask_any(&second))
		return mask_any(&second) ? *y : *x;
	return spread_blend(b, &second, y, x);
}

static struct spread builtin(struct squad *b, const struct expr *e)
{
	if (e->builtin == BUILTIN_LEN)
		return spread_same(e->args->sym->value->nargs);
	struct spread a = squad_eval(b, e->args);
	if (b->failed)
		return spread_same(0);
	if (e->builtin != BUILTIN_MIN && e->builtin != BUILTIN_MAX)
		return map(b, e->builtin, &a);
	for (const struct expr *x = e->args->next; x && !b->failed; x = x->next) {
		struct spread y = squad_eval(b, x);
		a = least(b, e->builtin == BUILTIN_MIN, &a, &y);
	}
	return a;
}

struct spread squad_eval(struct squad *b, const struct expr *e)
{
	struct spread x, y;
	if (b->failed)
		return spread_same(0);
	switch (e->kind) {
	case E_INT: return spread_same(e->value);
	case E_NAME: return squad_name(b, e->sym);
	case E_RANK: return b->here.number;
	case E_N: return spread_same(b->here.size);
	case E_UNARY: return unary(b, e);
	case E_BINARY:
		if (is_logic(e)) {
			struct mask holds = logic(b, e);
			return of_mask(b, &holds);
		}
		x = squad_eval(b, e->a);
		y = squad_eval(b, e->b);
		return b->failed ? spread_same(0) : spread_binary(b, e->op, &x, &y);
	case E_COND: return choice(b, e);
	case E_CALL: return e->builtin == BUILTIN_NONE ? squad_fn(b, e) : builtin(b, e);
	case E_ENTRY:
	case E_TABLE:
	case E_TERM: break; /* only the cursor evaluates these */
	}
	squad_fail(b);
	return spread_same(0);
}
