/*
 * Names and expressions of a batch.
 *
 * In: a tree, the ranks that run. Out: its form, where eval.c would have a value on each of these
 * ranks; or the batch has ended. Of `a ? b : c`, && and || each part is evaluated for the ranks
 * that need it. O(nodes), once for all ranks, and what their forms take.
 */
#include "compiler/expand/batch.h"

#include <string.h>

#define MOST_WORK (1u << 20)  /* of a batch: what fns computed before is not kept here */
#define MOST_FORMS (1u << 14) /* alive */

/* ---- names ------------------------------------------------------------------------------- */

void batch_hide(struct batch *b, const struct symbol *s)
{
	ARENA_PUSH(b->v->arena, b->trail, b->ntrail, b->captrail) =
		(struct batch_hidden){ s->id, b->binds[s->id] };
	b->binds[s->id].call = b->call;
}

void batch_undo(struct batch *b, uint32_t ntrail)
{
	while (b->ntrail > ntrail) {
		const struct batch_hidden *h = &b->trail[--b->ntrail];
		b->binds[h->symbol] = h->bind;
	}
}

struct batch_bind *batch_bind_own(struct batch *b, const struct symbol *s, enum bind_kind kind)
{
	struct batch_bind *x = &b->binds[s->id];
	if (x->call != b->call)
		batch_hide(b, s);
	x->kind = kind;
	return x;
}

void batch_bind_number(struct batch *b, const struct symbol *s, struct form value)
{
	batch_bind_own(b, s, B_NUMBER)->number = value;
}

void batch_bind_lazy(struct batch *b, const struct symbol *s, const struct expr *e)
{
	struct batch_bind *x = batch_bind_own(b, s, B_LAZY);
	x->lazy.expr = e;
	x->lazy.known = 0;
	x->lazy.values = form_room(b);
}

void batch_bind_topology(struct batch *b, const struct decl *d)
{
	const struct expr *a = d->topology_args;
	for (const struct binding *p = d->topology->params; p; p = p->next) {
		if (a || p->value)
			batch_bind_lazy(b, p->sym, a ? a : p->value);
		a = a ? a->next : NULL;
	}
	for (const struct stmt *s = d->topology->body; s; s = s->next)
		if (s->kind == S_LET)
			batch_bind_lazy(b, s->var, s->e);
}

bool batch_work(struct batch *b, struct span text)
{
	uint64_t work = 1 + (text.hi - text.lo) / 8;
	b->work += work;
	for (uint64_t m = b->run.mask; m; m &= m - 1)
		b->idle[__builtin_ctzll(m)] += work;
	if (b->work > MOST_WORK || b->used > MOST_FORMS)
		batch_fail(b);
	return !b->failed;
}

/* Keeps the values of the ranks that run. */
static void keep(const struct batch *b, int64_t *values, const struct form *x)
{
	for (uint64_t m = b->run.mask; m; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(m);
		values[i] = form_at(x, i);
	}
}

/* A lazy name's value, found once for each rank that asks. If all ask at once, it is the name's
 * own from then on. */
static struct form lazy(struct batch *b, const struct symbol *s)
{
	struct batch_bind x = b->binds[s->id];
	uint64_t mask = b->run.mask, new = mask & ~x.lazy.known;
	if (new) {
		struct batch_group here = b->here;
		uint32_t used = b->used;
		batch_use(b, new);
		b->here = s->owner ? b->home : b->whole;
		struct form value = batch_eval(b, x.lazy.expr);
		b->here = here;
		keep(b, x.lazy.values, &value);
		batch_use(b, mask);
		b->used = used;
		if (b->failed)
			return form_same(0);
		b->binds[s->id].lazy.known |= new;
		if (!value.v && !x.lazy.known)
			return value;
	}
	return (struct form){ .v = x.lazy.values };
}

static struct form name(struct batch *b, const struct symbol *s)
{
	const struct batch_bind *x = &b->binds[s->id];
	if (x->kind == B_NUMBER)
		return x->number;
	if (x->kind == B_LAZY && x->lazy.expr->kind != E_TABLE)
		return lazy(b, s);
	batch_fail(b);
	return form_same(0);
}

/* ---- parts that only some ranks need --------------------------------------------------------- */

/* The form of x on the ranks of `first`, of y on the others. */
static struct form blend(struct batch *b, uint64_t first, const struct form *x,
			 const struct form *y)
{
	int64_t *r = form_room(b);
	for (uint64_t m = b->run.mask; m; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(m);
		r[i] = first >> i & 1 ? form_at(x, i) : form_at(y, i);
	}
	return (struct form){ .v = r };
}

static struct form choice(struct batch *b, const struct expr *e)
{
	uint64_t mask = b->run.mask, yes = batch_holds(b, e->a);
	if (b->failed)
		return form_same(0);
	if (yes == mask || !yes)
		return batch_eval(b, yes ? e->b : e->c);
	batch_use(b, yes);
	struct form x = batch_eval(b, e->b);
	batch_use(b, mask & ~yes);
	struct form y = batch_eval(b, e->c);
	batch_use(b, mask);
	if (form_is_same(&x) && form_is_same(&y) && x.base == y.base)
		return x;
	return blend(b, yes, &x, &y);
}

static struct form of_mask(struct batch *b, uint64_t holds)
{
	if (holds == b->run.mask || !holds)
		return form_same(holds != 0);
	int64_t *r = form_room(b);
	for (uint32_t i = b->run.lo; i <= b->run.hi; i++)
		r[i] = holds >> i & 1;
	return (struct form){ .v = r };
}

/* a && b, a || b: b for the ranks that a does not decide. */
static uint64_t logic(struct batch *b, const struct expr *e)
{
	uint64_t mask = b->run.mask, holds = batch_holds(b, e->a);
	uint64_t open = e->op == OP_OR ? mask & ~holds : holds;
	if (!open || b->failed)
		return holds;
	batch_use(b, open);
	uint64_t second = batch_holds(b, e->b);
	batch_use(b, mask);
	return e->op == OP_OR ? holds | second : second;
}

static bool is_logic(const struct expr *e)
{
	return e->kind == E_BINARY && (e->op == OP_OR || e->op == OP_AND);
}

uint64_t batch_holds(struct batch *b, const struct expr *e)
{
	if (is_logic(e))
		return logic(b, e);
	uint32_t used = b->used;
	struct form x = batch_eval(b, e);
	b->used = used;
	return form_holds(b, &x);
}

/* ---- operators of one operand, and calls -------------------------------------------------------- */

static struct form unary(struct batch *b, const struct expr *e)
{
	static const struct form zero = { .base = 0 }, all = { .base = -1 };
	if (e->op == OP_NOT)
		return of_mask(b, b->run.mask & ~batch_holds(b, e->a));
	struct form x = batch_eval(b, e->a);
	return e->op == OP_COMPL ? form_binary(b, OP_BXOR, &x, &all)
				 : form_binary(b, OP_SUB, &zero, &x);
}

/* A built-in function of one argument; false: it has no value. */
static bool builtin_one(enum builtin f, int64_t a, int64_t *r)
{
	bool log = f == BUILTIN_ILOG2 || f == BUILTIN_CLOG2;
	if ((log && a < 1) || (f == BUILTIN_ABS && a == INT64_MIN) || (f == BUILTIN_CTZ && a == 0))
		return false;
	switch ((int)f) {
	case BUILTIN_ABS: *r = a < 0 ? -a : a; break;
	case BUILTIN_ILOG2: *r = 63 - __builtin_clzll((uint64_t)a); break;
	case BUILTIN_CLOG2: *r = a == 1 ? 0 : 64 - __builtin_clzll((uint64_t)a - 1); break;
	case BUILTIN_ISPOW2: *r = a > 0 && (a & (a - 1)) == 0; break;
	case BUILTIN_POPCOUNT: *r = __builtin_popcountll((uint64_t)a); break;
	default: *r = __builtin_ctzll((uint64_t)a); break;
	}
	return true;
}

static struct form map(struct batch *b, enum builtin f, const struct form *x)
{
	int64_t *r, value = 0;
	if (form_is_same(x)) {
		if (!builtin_one(f, x->base, &value))
			batch_fail(b);
		return form_same(value);
	}
	r = form_room(b);
	for (uint64_t m = b->run.mask; m; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(m);
		if (!builtin_one(f, form_at(x, i), &r[i]))
			batch_fail(b);
	}
	return (struct form){ .v = r };
}

static struct form least(struct batch *b, bool min, const struct form *x, const struct form *y)
{
	struct form less = form_binary(b, OP_LT, y, x);
	uint64_t second = form_holds(b, &less);
	second = min ? second : b->run.mask & ~second;
	if (second == b->run.mask || !second)
		return second ? *y : *x;
	return blend(b, second, y, x);
}

static struct form builtin(struct batch *b, const struct expr *e)
{
	if (e->builtin == BUILTIN_LEN)
		return form_same(e->args->sym->value->nargs);
	struct form a = batch_eval(b, e->args);
	if (b->failed)
		return form_same(0);
	if (e->builtin != BUILTIN_MIN && e->builtin != BUILTIN_MAX)
		return map(b, e->builtin, &a);
	for (const struct expr *x = e->args->next; x && !b->failed; x = x->next) {
		struct form y = batch_eval(b, x);
		a = least(b, e->builtin == BUILTIN_MIN, &a, &y);
	}
	return a;
}

/* Arguments are evaluated before any of them is bound: a fn may be an argument of itself. */
static void bind_params(struct batch *b, const struct fn_def *f, const struct expr *arg, uint32_t i)
{
	if (!arg || b->failed)
		return;
	struct form value = batch_eval(b, arg);
	bind_params(b, f, arg->next, i + 1);
	if (b->failed)
		return;
	batch_hide(b, f->params[i]);
	b->binds[f->params[i]->id].kind = B_NUMBER;
	b->binds[f->params[i]->id].number = value;
}

static struct form fn(struct batch *b, const struct expr *e)
{
	const struct fn_def *f = e->sym->fn;
	uint32_t ntrail = b->ntrail, used = b->used;
	struct form r = form_same(0);
	if (b->depth >= MOST_DEPTH)
		batch_fail(b);
	b->depth++;
	bind_params(b, f, e->args, 0);
	if (!b->failed && batch_work(b, f->body->span))
		r = batch_eval(b, f->body);
	b->depth--;
	batch_undo(b, ntrail);
	b->used = used;
	if (r.v && !b->failed) { /* what it was made of goes, it stays */
		int64_t *v = form_room(b);
		memmove(v, r.v, BATCH * sizeof(*v));
		r.v = v;
	}
	return r;
}

struct form batch_eval(struct batch *b, const struct expr *e)
{
	struct form x, y;
	if (b->failed)
		return form_same(0);
	switch (e->kind) {
	case E_INT: return form_same(e->value);
	case E_NAME: return name(b, e->sym);
	case E_RANK: return b->here.number;
	case E_N: return form_same(b->here.size);
	case E_UNARY: return unary(b, e);
	case E_BINARY:
		if (is_logic(e))
			return of_mask(b, logic(b, e));
		x = batch_eval(b, e->a);
		y = batch_eval(b, e->b);
		return b->failed ? form_same(0) : form_binary(b, e->op, &x, &y);
	case E_COND: return choice(b, e);
	case E_CALL: return e->builtin == BUILTIN_NONE ? fn(b, e) : builtin(b, e);
	case E_ENTRY:
	case E_TABLE:
	case E_TERM: break;
	}
	batch_fail(b);
	return form_same(0);
}
