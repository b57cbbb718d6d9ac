/*
 * Bounds of a recursive fn, by running it for all possible arguments.
 *
 * In: a call with arguments that are SAME. At most one of them is not a known number, and that one
 * has at most MOST_VALUES values. Out: the exact least and greatest value; or no bounds, if the run
 * does not end soon, overflows, or meets an expression with an unknown value.
 * O(LIMIT_FUEL nodes) a call. Also the walk's limit of work, and its first failure.
 */
#include "compiler/symmetry/kinds/kinds.h"

#define MOST_VALUES 64
#define LIMIT_FUEL 100000u
#define MOST_CALLS 200u /* depth of calls */

struct machine {
	struct kinds *k;
	int64_t *of; /* by symbol: the value of a parameter */
	bool *bound; /* by symbol */
	uint32_t fuel, depth;
};

static bool evaluate(struct machine *m, const struct expr *e, int64_t *v);

/* Floor division and modulo, as eval.c has them; not modulo a negative number. */
static bool divide(enum expr_op op, int64_t a, int64_t b, int64_t *v)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	int64_t rest = a % b;
	bool below = rest && (rest < 0) != (b < 0);
	*v = op == OP_DIV ? a / b - below : below ? rest + b : rest;
	return op == OP_DIV || b > 0;
}

static bool operate(enum expr_op op, int64_t a, int64_t b, int64_t *v)
{
	switch ((int)op) {
	case OP_ADD: return !__builtin_add_overflow(a, b, v);
	case OP_SUB: return !__builtin_sub_overflow(a, b, v);
	case OP_MUL: return !__builtin_mul_overflow(a, b, v);
	case OP_DIV:
	case OP_MOD: return divide(op, a, b, v);
	case OP_EQ: *v = a == b; return true;
	case OP_NE: *v = a != b; return true;
	case OP_LT: *v = a < b; return true;
	case OP_LE: *v = a <= b; return true;
	case OP_GT: *v = a > b; return true;
	case OP_GE: *v = a >= b; return true;
	default: return false;
	}
}

/* Evaluates the fn's body with its parameters bound to `args`. */
static bool run_call(struct machine *m, const struct fn_def *f, const int64_t *args, int64_t *v)
{
	struct arena *a = m->k->arena;
	int64_t *was = ARENA_ARRAY(a, int64_t, (size_t)f->nparams + 1);
	bool *had = ARENA_ARRAY(a, bool, (size_t)f->nparams + 1), is;

	for (uint32_t i = 0; i < f->nparams; i++) {
		uint32_t id = f->params[i]->id;
		was[i] = m->of[id];
		had[i] = m->bound[id];
		m->of[id] = args[i];
		m->bound[id] = true;
	}
	is = m->depth < MOST_CALLS;
	m->depth++;
	is = is && evaluate(m, f->body, v);
	m->depth--;
	for (uint32_t i = 0; i < f->nparams; i++) {
		m->of[f->params[i]->id] = was[i];
		m->bound[f->params[i]->id] = had[i];
	}
	return is;
}

static bool call_again(struct machine *m, const struct expr *e, int64_t *v)
{
	const struct fn_def *f = e->builtin == BUILTIN_NONE ? e->sym->fn : NULL;
	uint32_t n = 0;

	if (!f)
		return false;
	int64_t *args = ARENA_ARRAY(m->k->arena, int64_t, (size_t)f->nparams + 1);
	for (const struct expr *a = e->args; a && n < f->nparams; a = a->next)
		if (!evaluate(m, a, &args[n++]))
			return false;
	return run_call(m, f, args, v);
}

static bool evaluate(struct machine *m, const struct expr *e, int64_t *v)
{
	int64_t a, b;

	if (m->fuel-- == 0) {
		m->fuel = 0;
		return false;
	}
	switch (e->kind) {
	case E_INT: *v = e->value; return true;
	case E_N: *v = m->k->nranks; return m->k->nranks > 0;
	case E_NAME: *v = m->of[e->sym->id]; return m->bound[e->sym->id];
	case E_UNARY: return e->op == OP_NEG && evaluate(m, e->a, &a) && operate(OP_SUB, 0, a, v);
	case E_BINARY:
		return evaluate(m, e->a, &a) && evaluate(m, e->b, &b) && operate(e->op, a, b, v);
	case E_COND: return evaluate(m, e->a, &a) && evaluate(m, a ? e->b : e->c, v);
	case E_CALL: return call_again(m, e, v);
	case E_RANK:
	case E_ENTRY:
	case E_TABLE:
	case E_TERM: break;
	}
	return false;
}

struct kind kinds_bound_of_call(struct kinds *k, const struct expr *call, const struct kind *args)
{
	const struct fn_def *f = call->sym->fn;
	int64_t *v = ARENA_ARRAY(k->arena, int64_t, (size_t)f->nparams + 1), x;
	struct machine m = { .k = k, .fuel = LIMIT_FUEL };
	struct kind r = kind_any_same();
	uint32_t many = f->nparams;

	for (uint32_t i = 0; i < f->nparams; i++) {
		if (!(args[i].most <= KIND_EXACT) || args[i].hi - args[i].lo >= MOST_VALUES ||
		    (args[i].lo < args[i].hi && many < f->nparams))
			return r;
		many = args[i].lo < args[i].hi ? i : many;
		v[i] = (int64_t)args[i].lo;
	}
	m.of = ARENA_ARRAY(k->arena, int64_t, k->module->nsymbols + 1);
	m.bound = ARENA_ARRAY(k->arena, bool, k->module->nsymbols + 1);
	int64_t last = many < f->nparams ? (int64_t)args[many].hi : 0;
	for (bool any = false, more = true; more; any = true) {
		if (!run_call(&m, f, v, &x) || x > (int64_t)KIND_EXACT || x < -(int64_t)KIND_EXACT)
			return kind_any_same();
		r.lo = any && r.lo < (double)x ? r.lo : (double)x;
		r.hi = any && r.hi > (double)x ? r.hi : (double)x;
		more = many < f->nparams && v[many]++ < last;
	}
	r.most = -r.lo > r.hi ? -r.lo : r.hi;
	return r;
}

void kinds_broken(struct kinds *k, struct span place, const char *why)
{
	if (!k->symmetric)
		return;
	k->symmetric = false;
	k->place = place;
	k->why = why;
}

bool kinds_work(struct kinds *k, struct span place)
{
	if (++k->work > LIMIT_KIND_WORK)
		kinds_broken(k, place, "a text that is too long to examine");
	return k->work <= LIMIT_KIND_WORK;
}
