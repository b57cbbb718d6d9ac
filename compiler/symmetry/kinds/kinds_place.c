/*
 * Places: expressions for the place of a rank's chunk; see kinds.h, By mirrors.
 *
 * f(x) must be the same function of x on all ranks: its text consists of x, numbers, N, the
 * schedule's parameters, lets with one value an instance, and fns of these, all without `rank`. The
 * cursor's walks over names (fn_needs, eval_mentions) show it.
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

/* Whether a name has one value an instance: a parameter of the schedule, or a let at the outermost
 * level of the schedule or of a file. */
static bool is_fixed(const struct kinds *k, const struct symbol *s)
{
	const struct decl *schedule = k->v->program->instance.schedule;
	const struct stmt *at = schedule->body;

	for (const struct binding *p = schedule->params; p; p = p->next)
		if (p->sym == s)
			return true;
	if (s->kind != SYM_LET || !s->owner)
		return s->kind == SYM_LET;
	while (at && (at->kind != S_LET || at->var != s))
		at = at->next;
	return at != NULL;
}

/* Whether y, in the body of a fn, depends only on the parameter x and on what is fixed for the instance. */
static bool is_pure(struct kinds *k, const struct symbol *fn, const struct expr *y,
		    const struct symbol *x)
{
	struct fn_needs needs = fn_needs(k->v, fn);
	bool is = !eval_mentions(k->v, y, NULL, true);

	for (uint32_t i = 0; i < needs.nnames; i++)
		is = is && is_fixed(k, needs.names[i]);
	for (uint32_t i = 0; i < fn->fn->nparams; i++)
		is = is &&
		     (fn->fn->params[i] == x || !eval_mentions(k->v, y, fn->fn->params[i], false));
	return is;
}

/* ---- places -------------------------------------------------------------------------- */

static struct kind place_of(struct kinds *k, const struct expr *body, const struct symbol *x,
			    const struct expr *part)
{
	struct place_fn *f = ARENA_NEW(k->arena, struct place_fn);
	struct kind r = kind_of(KIND_PLACE, 0, 1e19);

	*f = (struct place_fn){ body, x };
	r.place = f;
	r.part = part;
	return r;
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
	return is_pure(k, call->sym, y, x) ? place_of(k, y, x, part) : OTHER;
}
