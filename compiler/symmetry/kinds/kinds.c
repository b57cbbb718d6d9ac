/*
 * Kinds of expressions: see kinds.h. Evaluates an expression to a kind in place of a number. A fn
 * that calls itself with arguments that are SAME is SAME if the rest of it is: by induction on the
 * calls, as every run of it ends. Any other recursion is OTHER.
 */
#include "compiler/symmetry/kinds/kinds.h"

#define SAFE 1e18	   /* below 2^63 with room for additions on other ranks */
#define MOST_RANKS 65536.0 /* LIMIT_RANKS; |rank|, |N| <= this */
#define MOST_FN_DEPTH 64u
#define MOST_TIMES 1024

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
	if (k.form == KIND_OTHER || lo < -KIND_EXACT || hi > KIND_EXACT)
		return k;
	k.lo = lo;
	k.hi = hi;
	k.most = max_of(-lo, hi);
	return k;
}

/* ---- operators ------------------------------------------------------------------------ */

/* NEAR, if no rank can overflow; else OTHER. */
static struct kind near(int64_t times, double most)
{
	if (most > SAFE || times > MOST_TIMES || times < -MOST_TIMES)
		return OTHER;
	return (struct kind){
		.form = KIND_NEAR, .times = (int32_t)times, .most = most, .lo = -most, .hi = most
	};
}

static struct kind add(struct kind a, struct kind b, int sign)
{
	if (kind_is_same(a) && kind_is_same(b))
		return kind_same(a.most + b.most);
	return near((int64_t)a.times + sign * (int64_t)b.times, a.most + b.most);
}

/* Only a literal is accepted as the factor of a value that turns. */
static struct kind multiply(const struct expr *e, struct kind a, const struct expr *x,
			    struct kind b)
{
	if (kind_is_same(a) && kind_is_same(b))
		return kind_same(a.most * b.most);
	if (e->kind == E_INT && e->value >= 0 && e->value <= MOST_TIMES)
		return near(e->value * b.times, a.most * b.most);
	if (x->kind == E_INT && x->value >= 0 && x->value <= MOST_TIMES)
		return near(x->value * a.times, a.most * b.most);
	return OTHER;
}

/* Modulo N, NEAR becomes WITHIN. By mirrors, modulo 2 is SAME: even turns keep the parity. */
static struct kind modulo(const struct kinds *k, struct kind a, const struct expr *by,
			  struct kind b)
{
	if (kind_is_same(a) && kind_is_same(b))
		return kind_same(b.most);
	if (k->by == TURN_BY_MIRROR && by->kind == E_INT && by->value == 2)
		return between(kind_same(1), 0, 1);
	if (by->kind != E_N)
		return OTHER;
	if (a.times == 0)
		return kind_same(MOST_RANKS);
	return (struct kind){
		.form = KIND_WITHIN, .times = a.times, .most = MOST_RANKS, .hi = MOST_RANKS - 1
	};
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
	struct kind near_bits = { .form = KIND_NEAR, .most = SAFE, .lo = -SAFE, .hi = SAFE },
		    turned = {
			    .form = KIND_WITHIN, .times = 1, .most = SAFE, .lo = -SAFE, .hi = SAFE
		    };

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

/* Whether the bounds decide a comparison; *is: its value. */
static bool is_decided(enum expr_op op, struct kind a, struct kind b, bool *is)
{
	bool below = a.hi<b.lo, above = a.lo> b.hi, not_above = a.hi <= b.lo,
	     not_below = a.lo >= b.hi;

	if (max_of(a.most, b.most) > KIND_EXACT)
		return false;
	*is = op == OP_LT   ? below
	      : op == OP_LE ? not_above
	      : op == OP_GT ? above
	      : op == OP_GE ? not_below
			    : op == OP_NE;
	switch ((int)op) {
	case OP_LT:
	case OP_GE: return below || not_below;
	case OP_LE:
	case OP_GT: return above || not_above;
	case OP_EQ:
	case OP_NE: return below || above;
	default: return false;
	}
}

/* ANY, if the operation is sure to have a value on every rank; else OTHER. */
static struct kind any(const struct expr *e, struct kind a, struct kind b)
{
	struct kind r = { .form = KIND_ANY,
			  .most = a.most + b.most,
			  .lo = -a.most - b.most,
			  .hi = a.most + b.most };

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
	case OP_MUL: return multiply(e->a, a, e->b, b);
	case OP_MOD: return modulo(k, a, e->b, b);
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
	struct kind a = kinds_of(k, e->a), b = kinds_of(k, e->b), r;
	bool is;

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

	if (a.form >= KIND_ANY || b.form >= KIND_ANY || a.times != b.times)
		return OTHER;
	if (a.form == b.form)
		return between((struct kind){ .form = a.form,
					      .times = a.times,
					      .most = most,
					      .lo = -most,
					      .hi = most },
			       a.lo < b.lo ? a.lo : b.lo, max_of(a.hi, b.hi));
	if (k->by == TURN_BY_BITS)
		return OTHER;
	if (kind_is_same(a) || kind_is_same(b)) /* = v (mod N) on all ranks, whichever it is */
		return near(0, most);
	return near(a.times, most);
}

static struct kind unary(struct kinds *k, const struct expr *e)
{
	struct kind a = kinds_of(k, e->a);

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
	return kind_is_same(kinds_of(k, e->a)) ? join(k, kinds_of(k, e->b), kinds_of(k, e->c))
					       : OTHER;
}

/* ---- calls and tables ----------------------------------------------------------------- */

/* SAME with a bound for all, if every expression of the list is SAME. */
static struct kind all_same(struct kinds *k, const struct expr *list)
{
	struct kind all = kind_same(0);

	for (; list; list = list->next) {
		struct kind x = kinds_of(k, list);
		all = kind_is_same(x) && kind_is_same(all) ? kind_same(max_of(all.most, x.most))
							   : OTHER;
	}
	return all;
}

static struct kind logarithm(struct kind a, bool up)
{
	int least = 0, most = 0;

	while (most < 62 && (double)((int64_t)1 << most) < a.most)
		most++; /* clog2 of the greatest */
	if (!kind_is_known(a) || a.lo < 1)
		return kind_same(most < 62 ? most : 63);
	while ((double)((int64_t)1 << (least + 1)) <= a.lo)
		least++;
	return between(kind_same(most), up ? most : least, up ? most : least);
}

static struct kind builtin(struct kinds *k, const struct expr *e)
{
	if (e->builtin == BUILTIN_LEN)
		return kind_same(1e9);
	struct kind all = all_same(k, e->args);
	if (!kind_is_same(all))
		return OTHER;
	if (e->builtin == BUILTIN_ILOG2 || e->builtin == BUILTIN_CLOG2)
		return logarithm(kinds_of(k, e->args), e->builtin == BUILTIN_CLOG2);
	return kind_same(max_of(all.most, 64));
}

/* The kind of a call within the fn's own body. */
static struct kind call_again(uint8_t *state, bool same)
{
	if (!same || *state == IS_OPEN)
		return OTHER;
	*state = IS_CALLED_AGAIN;
	return kind_any_same();
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
	if (k->depth >= MOST_FN_DEPTH)
		return OTHER;
	for (uint32_t i = 0; i < n; i++) {
		args[n + i] = k->of[f->params[i]->id];
		k->of[f->params[i]->id] = args[i];
	}
	*state = same ? IS_OPEN_SAME : IS_OPEN;
	k->depth++;
	r = kinds_of(k, f->body);
	k->depth--;
	if (*state == IS_CALLED_AGAIN)
		r = kind_is_same(r) && same ? kinds_bound_of_call(k, e, args) : OTHER;
	*state = IS_NEW;
	if (k->by == TURN_BY_MIRROR && r.form >= KIND_PLACE)
		r = kinds_place_of_call(k, e, args, r);
	for (uint32_t i = 0; i < n; i++)
		k->of[f->params[i]->id] = args[n + i];
	return r;
}

/* A let of a file or a topology, evaluated at its first use. */
static struct kind lazy(struct kinds *k, const struct symbol *s)
{
	uint8_t *state = &k->state[s->id];

	if (*state == IS_DONE || !s->value)
		return k->of[s->id];
	if (*state == IS_OPEN)
		return OTHER;
	*state = IS_OPEN;
	k->of[s->id] = kinds_of(k, s->value);
	*state = IS_DONE;
	return k->of[s->id];
}

static struct kind entry(struct kinds *k, const struct expr *e)
{
	struct kind table = lazy(k, e->sym), i = kinds_of(k, e->a);

	return kind_is_same(table) && kind_is_same(i) ? table : OTHER;
}

struct kind kinds_rank(const struct kinds *k)
{
	return between(kind_rank(), 0, (k->nranks ? k->nranks : MOST_RANKS) - 1);
}

struct kind kinds_of(struct kinds *k, const struct expr *e)
{
	double ranks = k->nranks ? k->nranks : MOST_RANKS;

	if (!kinds_work(k, e->span))
		return OTHER;
	switch (e->kind) {
	case E_INT:
		return between(kind_same(e->value < 0 ? -(double)e->value : (double)e->value),
			       (double)e->value, (double)e->value);
	case E_RANK: return kinds_rank(k);
	case E_N: return between(kind_same(ranks), k->nranks ? ranks : 1, ranks);
	case E_NAME: return lazy(k, e->sym);
	case E_UNARY: return unary(k, e);
	case E_BINARY: return binary(k, e);
	case E_COND: return condition(k, e);
	case E_CALL: return e->builtin != BUILTIN_NONE ? builtin(k, e) : call(k, e);
	case E_ENTRY: return entry(k, e);
	case E_TABLE: return all_same(k, e->args);
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
