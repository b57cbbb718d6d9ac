/*
 * Kinds of expressions: see kinds.h. Evaluates an expression to a kind in place of a number; a known
 * value becomes its number, by the operators of number.h, and calls of fns by the cursor of
 * the instance. A fn that calls itself with arguments that are SAME is SAME if the rest of it is: by
 * induction on the calls, as every run of it ends. Any other recursion is OTHER.
 */
#include "compiler/symmetry/kinds/kinds.h"
#include "lang/number/number.h"

#define SAFE 1e18	   /* below 2^63 with room for additions on other ranks */
#define MOST_RANKS 65536.0 /* LIMIT_RANKS; |rank|, |N| <= this */
#define MOST_FN_DEPTH 64u
#define MOST_TIMES 1024
#define MOST_VALUES 64u	     /* for which a fn is run, to learn its bounds */
#define LIMIT_FUEL (1 << 20) /* work of all these runs */

/* Of a let or a fn. A fn with an open call: IS_OPEN_SAME if its arguments are SAME, else IS_OPEN;
 * IS_CALLED_AGAIN once it has called itself with arguments that are SAME. */
enum state { IS_NEW, IS_OPEN, IS_DONE, IS_OPEN_SAME, IS_CALLED_AGAIN };

static const struct kind OTHER = { .form = KIND_OTHER };

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

/* The kind with closer bounds, if these are exact. */
static struct kind between(struct kind k, double lo, double hi)
{
	if (k.form == KIND_OTHER || !(lo >= -KIND_EXACT && hi <= KIND_EXACT))
		return k;
	k.lo = lo;
	k.hi = hi;
	k.most = max_of(-lo, hi);
	return k;
}

struct kind kinds_known(int64_t value)
{
	double x = (double)value;

	return between(kind_same(x < 0 ? -x : x), x, x);
}

/* The kind of an operation on known numbers. One without a result has none on any rank. */
static struct kind result(struct number r)
{
	return r.is ? kinds_known(r.value) : kind_any_same();
}

bool kinds_is_number(struct kinds *k, const struct expr *e, int64_t n)
{
	struct kind x = kinds_of(k, e);

	return kind_is_known(x) && kind_value(x) == n;
}

/* ---- operators ------------------------------------------------------------------------ */

/* NEAR, if no rank can overflow; else OTHER. A bound may be no number: 0 times infinity. */
static struct kind near(int64_t times, double most)
{
	if (!(most <= SAFE) || times > MOST_TIMES || times < -MOST_TIMES)
		return OTHER;
	return kind_of(KIND_NEAR, (int32_t)times, most);
}

static struct kind add(struct kind a, struct kind b, int sign)
{
	if (kind_is_same(a) && kind_is_same(b))
		return kind_same(a.most + b.most);
	struct kind r = near((int64_t)a.times + sign * (int64_t)b.times, a.most + b.most);
	r.exact = (a.exact && kind_is_same(b)) || (kind_is_same(a) && b.exact);
	return r;
}

/* A value that turns is multiplied only by a number that is known. */
static struct kind multiply(struct kind a, struct kind b)
{
	if (kind_is_same(a) && kind_is_same(b))
		return kind_same(a.most * b.most);
	struct kind by = kind_is_known(a) ? a : b, x = kind_is_known(a) ? b : a;
	if (!kind_is_known(by) || by.most > MOST_TIMES)
		return OTHER;
	struct kind r = near(kind_value(by) * x.times, by.most * x.most);
	r.exact = x.exact;
	return by.lo < 0 ? between(r, by.lo * x.hi, by.lo * x.lo)
			 : between(r, by.lo * x.lo, by.lo * x.hi);
}

/* Modulo N, NEAR becomes WITHIN. By mirrors, modulo 2 is SAME: even turns keep the parity. */
static struct kind modulo(const struct kinds *k, const struct expr *e, struct kind a, struct kind b)
{
	double ranks = k->v->program->nranks;

	if (kind_is_same(a) && kind_is_same(b))
		return kind_same(b.most);
	if (k->by == TURN_BY_MIRROR && kind_is_known(b) && b.lo == 2 && e->b->kind != E_N)
		return between(kind_same(1), 0, 1);
	if (!kind_is_known(b) || b.lo != ranks)
		return OTHER;
	struct kind r = kind_of(a.times ? KIND_WITHIN : KIND_SAME, a.times, ranks);
	r.exact = a.times == 1;
	return between(r, 0, ranks - 1);
}

/* Two values WITHIN that turn alike are equal on all ranks or on none. */
static struct kind compare(const struct expr *e, struct kind a, struct kind b)
{
	bool equality = e->op == OP_EQ || e->op == OP_NE;

	if (equality && a.form == KIND_WITHIN && b.form == KIND_WITHIN && a.times == b.times)
		return kind_same(1);
	return OTHER;
}

/* Operators that need SAME operands. */
static struct kind same_only(const struct expr *e, struct kind a, struct kind b)
{
	switch ((int)e->op) {
	case OP_DIV: return kind_same(a.most);
	case OP_BAND:
		return kind_same(2 * max_of(a.most, b.most) + 2); /* of negative numbers, too */
	case OP_BOR:
	case OP_BXOR: return kind_same(2 * (a.most + b.most) + 2);
	case OP_SHR: return kind_same(a.most);
	case OP_SHL:
		return kind_same(b.most < 62 ? a.most * (double)((int64_t)1 << (int)b.most) : 1e19);
	default: return kind_same(1);
	}
}

/* By bits, if not both are SAME. The bounds hold, as a turning value has only a rank's bits. */
static struct kind bitwise(const struct expr *e, struct kind a, struct kind b)
{
	bool turns = a.form == KIND_WITHIN || b.form == KIND_WITHIN;
	struct kind near_bits = kind_of(KIND_NEAR, 0, SAFE), turned = kind_of(KIND_WITHIN, 1, SAFE);

	switch ((int)e->op) {
	case OP_BXOR:
		if (a.form == b.form)
			return turns ? kind_same(SAFE) : near_bits;
		return turns && (kind_is_same(a) || kind_is_same(b)) ? turned : near_bits;
	case OP_BAND: return kind_is_same(a) || kind_is_same(b) ? near_bits : OTHER;
	case OP_SHR: return kind_is_same(b) ? near_bits : OTHER;
	default: return compare(e, a, b);
	}
}

/* Whether the bounds decide a comparison; *is: its value. An order that holds where it is hardest,
 * or fails where it is easiest, has one value. */
static bool is_decided(enum expr_op op, struct kind a, struct kind b, bool *is)
{
	if (op < OP_EQ || op > OP_GE || !(max_of(a.most, b.most) <= KIND_EXACT))
		return false;
	*is = number_binary(op, (int64_t)a.lo, (int64_t)b.hi).value;
	if (op == OP_EQ || op == OP_NE)
		return a.hi < b.lo || a.lo > b.hi;
	return *is == number_binary(op, (int64_t)a.hi, (int64_t)b.lo).value;
}

/* ANY, if the operation is sure to have a value on every rank; else OTHER. */
static struct kind any(const struct expr *e, struct kind a, struct kind b)
{
	struct kind r = kind_of(KIND_ANY, 0, a.most + b.most);

	if (e->op >= OP_EQ && e->op <= OP_GE)
		return between(r, 0, 1);
	return (e->op == OP_ADD || e->op == OP_SUB) && r.most <= SAFE ? r : OTHER;
}

static struct kind operator(struct kinds *k, const struct expr *e, struct kind a, struct kind b)
{
	bool same = kind_is_same(a) && kind_is_same(b);

	if (a.form >= KIND_ANY || b.form >= KIND_ANY)
		return OTHER;
	if (k->by == TURN_BY_BITS && !same)
		return bitwise(e, a, b);
	switch ((int)e->op) {
	case OP_ADD: return add(a, b, 1);
	case OP_SUB: return add(a, b, -1);
	case OP_MUL: return multiply(a, b);
	case OP_MOD: return modulo(k, e, a, b);
	default: return same ? same_only(e, a, b) : compare(e, a, b);
	}
}

/* The kind of the product place / n * n: PLACE, or OTHER. */
static struct kind place_of_part(struct kinds *k, const struct expr *product)
{
	const struct expr *y = kinds_of_parts(product);
	struct kind a = y ? kinds_of(k, y) : OTHER;

	if (a.form != KIND_PLACE || a.part || !kind_is_same(kinds_of(k, product->b)))
		return OTHER;
	a.part = product->b;
	return a;
}

static struct kind binary(struct kinds *k, const struct expr *e)
{
	struct kind a = kinds_of(k, e->a), b, r;
	bool is;

	if (kind_is_known(a) && (e->op == OP_AND ? a.lo == 0 : e->op == OP_OR && a.lo != 0))
		return kinds_known(e->op == OP_OR);
	b = kinds_of(k, e->b);
	if (kind_is_known(a) && kind_is_known(b))
		return result(number_binary(e->op, kind_value(a), kind_value(b)));
	if (k->by == TURN_BY_MIRROR && e->op == OP_MUL && a.form >= KIND_PLACE)
		return place_of_part(k, e);
	if (a.form >= KIND_PLACE || b.form >= KIND_PLACE)
		return OTHER;
	if (is_decided(e->op, a, b, &is))
		return between(kind_same(1), is, is);
	r = operator(k, e, a, b);
	if (r.form == KIND_OTHER)
		r = any(e, a, b);
	if (e->op == OP_ADD)
		return between(r, a.lo + b.lo, a.hi + b.hi);
	if (e->op == OP_SUB)
		return between(r, a.lo - b.hi, a.hi - b.lo);
	if (e->op == OP_SHL && kind_is_same(a) && kind_is_known(b) && b.lo >= 0 && b.lo < 50)
		return between(r, a.lo * (double)((int64_t)1 << (int)b.lo),
			       a.hi * (double)((int64_t)1 << (int)b.lo));
	return r;
}

static struct kind join(const struct kinds *k, struct kind a, struct kind b)
{
	double most = max_of(a.most, b.most);
	struct kind r = kind_of(a.form, a.times, most);

	if (a.form >= KIND_ANY || b.form >= KIND_ANY || a.times != b.times)
		return OTHER;
	r.exact = a.exact && b.exact;
	if (a.form == b.form)
		return between(r, a.lo < b.lo ? a.lo : b.lo, max_of(a.hi, b.hi));
	if (k->by == TURN_BY_BITS)
		return OTHER;
	if (kind_is_same(a) || kind_is_same(b)) /* = v (mod N) on all ranks, whichever it is */
		return near(0, most);
	return near(a.times, most);
}

static struct kind unary(struct kinds *k, const struct expr *e)
{
	struct kind a = kinds_of(k, e->a);

	if (kind_is_known(a))
		return result(number_unary(e->op, kind_value(a)));
	if (kind_is_same(a))
		return e->op == OP_NEG ? between(kind_same(a.most + 1), -a.hi, -a.lo)
				       : kind_same(a.most + 1);
	if (a.form >= KIND_ANY)
		return OTHER;
	if (k->by == TURN_BY_BITS)
		return e->op == OP_COMPL ? a : OTHER;
	return e->op == OP_NEG ? near(-(int64_t)a.times, a.most) : OTHER;
}

static struct kind condition(struct kinds *k, const struct expr *e)
{
	struct kind is = kinds_of(k, e->a);

	if (kind_is_known(is))
		return kinds_of(k, is.lo != 0 ? e->b : e->c);
	return kind_is_same(is) ? join(k, kinds_of(k, e->b), kinds_of(k, e->c)) : OTHER;
}

/* A let of a file or a topology, evaluated at its first use. A bare count has no kind. */
static struct kind lazy(struct kinds *k, const struct symbol *s)
{
	uint8_t *state = &k->state[s->id];

	if (s->kind == SYM_COUNT)
		return kind_any_same();
	if (*state == IS_DONE || !s->value)
		return k->of[s->id];
	if (*state == IS_OPEN)
		return OTHER;
	*state = IS_OPEN;
	k->of[s->id] = kinds_of(k, s->value);
	*state = IS_DONE;
	return k->of[s->id];
}

/* ---- tables and built-in functions ------------------------------------------------------ */

/* The kind that the first n expressions of a list have in common. */
static struct kind joined(struct kinds *k, const struct expr *list, int64_t n)
{
	struct kind r = list ? kinds_of(k, list) : kind_any_same();

	while (list && --n > 0 && (list = list->next))
		r = join(k, r, kinds_of(k, list));
	return r;
}

/* An entry may be of any kind, but must have a value on every rank. */
static struct kind table(struct kinds *k, const struct expr *e)
{
	struct kind all = joined(k, e->args, e->nargs);

	if (kind_is_same(all))
		return all;
	for (const struct expr *x = e->args; x; x = x->next)
		if (kinds_of(k, x).form >= KIND_PLACE)
			return OTHER;
	return kind_of(KIND_ANY, 0, 0);
}

/* The entries that the index can have. */
static struct kind entry(struct kinds *k, const struct expr *e)
{
	struct kind i = kinds_of(k, e->a), all = lazy(k, e->sym);
	const struct expr *x = e->sym->value->args;
	int64_t n = e->sym->value->nargs, at = 0;

	if (all.form == KIND_OTHER || !kind_is_same(i))
		return OTHER;
	if (kind_is_same(all) && !kind_is_known(i))
		return all;
	if (!(i.most <= KIND_EXACT))
		return joined(k, x, n);
	for (; x && at < kind_value(i); at++)
		x = x->next;
	return joined(k, x, (int64_t)i.hi - at + 1);
}

/* The least or the greatest of numbers that are SAME. */
static struct kind end_of(struct kinds *k, const struct expr *e)
{
	struct kind r = kinds_of(k, e->args);

	for (const struct expr *x = e->args->next; x; x = x->next) {
		struct kind b = kinds_of(k, x), same = kind_same(max_of(r.most, b.most));
		r = e->builtin == BUILTIN_MAX
			    ? between(same, max_of(r.lo, b.lo), max_of(r.hi, b.hi))
			    : between(same, -max_of(-r.lo, -b.lo), -max_of(-r.hi, -b.hi));
	}
	return r;
}

/* Where it has a value, which grows with its argument. */
static struct kind logarithm(enum builtin f, struct kind a)
{
	double lo = max_of(a.lo, 1), hi = max_of(a.hi, 1);

	if (!(a.most <= KIND_EXACT))
		return kind_same(64);
	return between(kind_same(64), (double)number_function(f, (int64_t)lo).value,
		       (double)number_function(f, (int64_t)hi).value);
}

static struct kind builtin(struct kinds *k, const struct expr *e)
{
	if (e->builtin == BUILTIN_LEN)
		return kinds_known(e->args->sym->value->nargs);
	struct kind a = joined(k, e->args, e->nargs);
	if (!kind_is_same(a))
		return OTHER;
	if (e->builtin == BUILTIN_MIN || e->builtin == BUILTIN_MAX)
		return end_of(k, e);
	if (kind_is_known(a))
		return result(number_function(e->builtin, kind_value(a)));
	if (e->builtin == BUILTIN_ILOG2 || e->builtin == BUILTIN_CLOG2)
		return logarithm(e->builtin, a);
	return kind_same(max_of(a.most, 64));
}

/* ---- calls of fns --------------------------------------------------------------------- */

/* SAME, with the bounds that running f for these arguments shows; OTHER: it could not be run. At
 * most one argument, or name that f mentions, is not known, and that one has few values. */
static struct kind run_call(struct kinds *k, const struct expr *call, const struct kind *args)
{
	const struct fn_def *f = call->sym->fn;
	struct fn_needs needs = fn_needs(k->v, call->sym);
	uint32_t n = f->nparams + needs.nnames, many = n;
	const struct symbol **names = ARENA_ARRAY(k->arena, const struct symbol *, n + 1);
	int64_t *values = ARENA_ARRAY(k->arena, int64_t, n + 1), last = 0, value;
	struct kind all = OTHER;

	for (uint32_t i = 0; i < n; i++) {
		names[i] = i < f->nparams ? f->params[i] : needs.names[i - f->nparams];
		struct kind x = i < f->nparams ? args[i] : lazy(k, names[i]);
		bool one = kind_is_known(x);
		if (!kind_is_same(x) || !(x.most <= KIND_EXACT) || symbol_is_table(names[i]) ||
		    (!one && (many < n || x.hi - x.lo >= MOST_VALUES)))
			return OTHER;
		values[i] = kind_value(x);
		if (!one) {
			many = i;
			last = (int64_t)x.hi;
		}
	}
	for (bool more = !needs.rank; more;) {
		if (!eval_with(k->v, n, names, values, f->body, &value))
			return OTHER;
		all = kind_is_same(all) ? join(k, all, kinds_known(value)) : kinds_known(value);
		more = many < n && values[many]++ < last;
	}
	return all;
}

/* The kind of a call within the fn's own body. */
static struct kind call_again(uint8_t *state, bool same)
{
	if (!same || *state == IS_OPEN)
		return OTHER;
	*state = IS_CALLED_AGAIN;
	return kind_any_same();
}

/* The kind of a fn that calls itself, for all arguments that are SAME: no branch that depends on them
 * may be left out. */
static struct kind by_induction(struct kinds *k, const struct fn_def *f)
{
	for (uint32_t i = 0; i < f->nparams; i++)
		k->of[f->params[i]->id] = kind_any_same();
	return kind_is_same(kinds_of(k, f->body)) ? kind_any_same() : OTHER;
}

/* Binds the fn's parameters to the kinds of the arguments while its body is evaluated. */
static struct kind call(struct kinds *k, const struct expr *e)
{
	const struct fn_def *f = e->sym->fn;
	uint8_t *state = &k->state[e->sym->id];
	struct kind *args = ARENA_ARRAY(k->arena, struct kind, 2 * (size_t)f->nparams + 1), r;
	bool same = true;
	uint32_t n = 0;

	for (const struct expr *a = e->args; a && n < f->nparams; a = a->next) {
		args[n] = kinds_of(k, a);
		if (args[n].form == KIND_OTHER) /* it may fail on some rank, even if f ignores it */
			return OTHER;
		same &= kind_is_same(args[n++]);
	}
	if (*state != IS_NEW)
		return call_again(state, same);
	if (same && kind_is_same(r = run_call(k, e, args)))
		return r;
	if (k->depth >= MOST_FN_DEPTH)
		return OTHER;
	for (uint32_t i = 0; i < n; i++) {
		args[n + i] = k->of[f->params[i]->id];
		k->of[f->params[i]->id] = args[i];
	}
	*state = same ? IS_OPEN_SAME : IS_OPEN;
	k->depth++;
	r = kinds_of(k, f->body);
	if (*state == IS_CALLED_AGAIN)
		r = by_induction(k, f);
	k->depth--;
	*state = IS_NEW;
	if (k->by == TURN_BY_MIRROR && r.form >= KIND_PLACE)
		r = kinds_place_of_call(k, e, args, r);
	for (uint32_t i = 0; i < n; i++)
		k->of[f->params[i]->id] = args[n + i];
	return r;
}

struct kind kinds_rank(const struct kinds *k)
{
	double last = k->v->program->nranks - 1.0;
	struct kind r = kind_of(KIND_WITHIN, 1, last);

	r.exact = true;
	return between(r, 0, last);
}

struct kind kinds_of(struct kinds *k, const struct expr *e)
{
	if (!kinds_work(k, e->span))
		return OTHER;
	switch (e->kind) {
	case E_INT: return kinds_known(e->value);
	case E_RANK: return kinds_rank(k);
	case E_N: return kinds_known(k->v->program->nranks);
	case E_NAME: return lazy(k, e->sym);
	case E_UNARY: return unary(k, e);
	case E_BINARY: return binary(k, e);
	case E_COND: return condition(k, e);
	case E_CALL: return e->builtin != BUILTIN_NONE ? builtin(k, e) : call(k, e);
	case E_ENTRY: return entry(k, e);
	case E_TABLE: return table(k, e);
	case E_TERM: break;
	}
	return OTHER;
}

void kinds_bind(struct kinds *k, const struct symbol *s, struct kind kind)
{
	k->of[s->id] = kind;
	k->state[s->id] = IS_DONE;
}

void kinds_forget(struct kinds *k, const struct symbol *let)
{
	k->state[let->id] = IS_NEW;
}

/* ---- the walk ---------------------------------------------------------------------------- */

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

struct cursor *kinds_cursor(struct ctx *c, const struct instance *in)
{
	struct ctx *own = ARENA_COPY(c->scratch, c);
	struct cursor *v = ARENA_NEW(c->scratch, struct cursor);
	struct work *work = ARENA_NEW(c->scratch, struct work);

	own->arena = c->scratch;
	own->work = work;
	cursor_init(v, own, program_new(own, in, 1), c->scratch, true);
	v->program->alone = true; /* not all ranks' chunks are needed at once */
	if (instance_make(v, true) != INSTANCE_OK)
		return NULL;
	cursor_start(v, NULL, 0);
	v->most_work = work->done + LIMIT_FUEL;
	return v;
}
