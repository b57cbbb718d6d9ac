/*
 * Places: expressions for the place of a rank's chunk; see kinds.h, By mirrors.
 *
 * f(x) must be the same function of x on all ranks: its text consists of x, numbers, N, the
 * schedule's parameters, lets with one value an instance, and fns of these, all without `rank`.
 */
#include "compiler/symmetry/kinds/kinds.h"

static const struct kind OTHER = { .form = KIND_OTHER };

bool kinds_equal_texts(const struct expr *a, const struct expr *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || a->op != b->op || a->value != b->value || a->sym != b->sym ||
	    a->builtin != b->builtin || a->nargs != b->nargs)
		return false;
	const struct expr *x = a->args, *y = b->args;
	for (; x && y; x = x->next, y = y->next)
		if (!kinds_equal_texts(x, y))
			return false;
	return kinds_equal_texts(a->a, b->a) && kinds_equal_texts(a->b, b->b) &&
	       kinds_equal_texts(a->c, b->c);
}

/* ---- functions of x alone ------------------------------------------------------------ */

/* The fns that are known to be pure, or are being checked. */
struct pure {
	struct kinds *k;
	const struct symbol **fns;
	uint32_t nfns, capfns;
};

static bool is_pure(struct pure *u, const struct expr *e, const struct symbol *const *x,
		    uint32_t nx);

static bool all_pure(struct pure *u, const struct expr *list, const struct symbol *const *x,
		     uint32_t nx)
{
	for (; list; list = list->next)
		if (!is_pure(u, list, x, nx))
			return false;
	return true;
}

/* Whether a let has one value an instance: it is at the outermost level of the schedule or of a
 * file, and the same on all ranks. */
static bool is_fixed_let(struct pure *u, const struct symbol *s)
{
	const struct stmt *at = u->k->schedule->body;

	if (s->owner && s->owner != u->k->schedule)
		return false;
	while (s->owner && at && (at->kind != S_LET || at->var != s))
		at = at->next;
	return at && s->value && is_pure(u, s->value, NULL, 0);
}

static bool is_pure_name(struct pure *u, const struct symbol *s, const struct symbol *const *x,
			 uint32_t nx)
{
	for (uint32_t i = 0; i < nx; i++)
		if (x[i] == s)
			return true;
	for (const struct binding *p = u->k->schedule->params; p; p = p->next)
		if (p->sym == s)
			return true;
	return s->kind == SYM_LET && is_fixed_let(u, s);
}

static bool is_pure_call(struct pure *u, const struct expr *e)
{
	for (uint32_t i = 0; i < u->nfns; i++)
		if (u->fns[i] == e->sym)
			return true;
	ARENA_PUSH(u->k->arena, u->fns, u->nfns, u->capfns) = e->sym;
	return is_pure(u, e->sym->fn->body, (const struct symbol *const *)e->sym->fn->params,
		       e->sym->fn->nparams);
}

/* Whether the value depends only on the names x and on values that are fixed for the instance. */
static bool is_pure(struct pure *u, const struct expr *e, const struct symbol *const *x,
		    uint32_t nx)
{
	if (!e)
		return true;
	if (!kinds_work(u->k, e->span))
		return false;
	switch (e->kind) {
	case E_INT:
	case E_N: return true;
	case E_NAME: return is_pure_name(u, e->sym, x, nx);
	case E_UNARY:
	case E_BINARY:
	case E_COND:
		return is_pure(u, e->a, x, nx) && is_pure(u, e->b, x, nx) &&
		       is_pure(u, e->c, x, nx);
	case E_CALL:
		return e->builtin != BUILTIN_LEN && all_pure(u, e->args, x, nx) &&
		       (e->builtin != BUILTIN_NONE || is_pure_call(u, e));
	case E_RANK:
	case E_ENTRY:
	case E_TABLE:
	case E_TERM: break;
	}
	return false;
}

/* ---- places -------------------------------------------------------------------------- */

static struct kind place_of(struct kinds *k, const struct expr *body, const struct symbol *x,
			    const struct expr *part)
{
	struct place_fn *f = ARENA_NEW(k->arena, struct place_fn);

	*f = (struct place_fn){ body, x };
	return (struct kind){
		.form = KIND_PLACE, .most = 1e19, .lo = -1e19, .hi = 1e19, .place = f, .part = part
	};
}

const struct expr *kinds_of_parts(const struct expr *e)
{
	bool is = e->kind == E_BINARY && e->op == OP_MUL && e->a->kind == E_BINARY &&
		  e->a->op == OP_DIV && kinds_equal_texts(e->a->b, e->b) &&
		  (e->b->kind == E_NAME || e->b->kind == E_INT);

	return is ? e->a->a : NULL;
}

/* The argument of the call for the parameter `name` of f; a number is returned as it is. NULL: the
 * argument is neither a name nor a number. */
static const struct expr *argument_of(const struct expr *call, const struct expr *name)
{
	const struct fn_def *f = call->sym->fn;
	const struct expr *a = call->args;

	if (name->kind == E_INT)
		return name;
	for (uint32_t i = 0; i < f->nparams && a; i++, a = a->next)
		if (f->params[i] == name->sym)
			return a->kind == E_NAME || a->kind == E_INT ? a : NULL;
	return NULL;
}

struct kind kinds_place_of_call(struct kinds *k, const struct expr *call, const struct kind *args,
				struct kind body)
{
	const struct fn_def *f = call->sym->fn;
	const struct expr *y = kinds_of_parts(f->body), *part = y ? f->body->b : body.part;
	struct pure u = { .k = k };
	const struct symbol *x = NULL;

	for (uint32_t i = 0; i < f->nparams; i++) {
		if (kind_turns(args[i]) && !x)
			x = f->params[i];
		else if (!kind_is_same(args[i]))
			return OTHER;
	}
	part = part ? argument_of(call, part) : NULL;
	if (!x || ((y || body.part) && !part))
		return OTHER;
	if (body.form == KIND_PLACE) { /* f's body calls the function of the place */
		body.part = part;
		return body;
	}
	y = y ? y : f->body;
	return is_pure(&u, y, &x, 1) ? place_of(k, y, x, part) : OTHER;
}
