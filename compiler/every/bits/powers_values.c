/*
 * Expressions -> values over tracks.
 *
 * In: an expression and the tuples (N, D, root, rank, J) that evaluate it. Out: its exact value
 * there, or a reason why it cannot be expressed. O(expression) automata (powers_numbers.c).
 */
#include "compiler/every/bits/powers.h"

#define LARGE (1 << 20)		/* numbers beyond this need a bound of N */
#define MOST (INT64_C(1) << 40) /* ... and numbers beyond this are refused */
#define CALLS_DEEP 10u
#define FEW 2 /* greatest |factor| that is tried for a product */

/* ---- operators ------------------------------------------------------------------------ */

/* Whether two values are equal wherever they are evaluated. */
static bool same(const struct power_walk *w, const struct value *a, const struct value *b)
{
	return dfa_within(&w->f->d, w->domain, value_compare(w->f, OP_EQ, a, b));
}

/* X >> (log2(X) - 1 - log2(D) + shift) = 2 D / 2^shift */
static bool shifted_by_mirrored(struct power_walk *w, const struct value *a, const struct value *b,
				struct span at, struct value *to)
{
	struct value d = *b, by;

	d.kind = VALUE_NUMBER;
	d.shift = 0;
	if (b->shift < -15 || b->shift > 16 || !same(w, a, b->by))
		return power_fail(w->f, at, "a shift of another number than the loop's bound");
	if (b->shift <= 1)
		return value_scaled(w, &d, (int64_t)1 << (1 - b->shift), at, to);
	by = value_constant((int64_t)1 << (b->shift - 1));
	return value_divide(w, &d, &by, at, to);
}

static bool shifted(struct power_walk *w, const struct expr *e, const struct value *a,
		    const struct value *b, struct value *to)
{
	int64_t n;
	struct value p;

	if (e->op == OP_SHR && a->kind == VALUE_NUMBER && b->kind == VALUE_MIRRORED)
		return shifted_by_mirrored(w, a, b, e->span, to);
	if (a->kind != VALUE_NUMBER || !value_power_of(w, b, e->span, &p))
		return power_fail(w->f, e->span,
				  "a shift by something other than a number or a "
				  "logarithm");
	if (e->op == OP_SHR)
		return value_divide(w, a, &p, e->span, to);
	if (value_number(a, &n) || value_number(&p, &n))
		return value_product(w, a, &p, e->span, to);
	return power_fail(w->f, e->span,
			  "a product of two values that both depend on N or the rank");
}

/* 1 where a condition holds, else 0. */
static bool truth(struct power_walk *w, const struct dfa *s, struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	struct value one = value_constant(1), zero = value_constant(0);
	const struct dfa *g = power_and(f, s, value_is_track(f, &one, TRACK_VALUE));

	g = power_or(
		f, g,
		power_and(f, power_less(f, w->domain, s), value_is_track(f, &zero, TRACK_VALUE)));
	return value_of_graph(w, g, at, to);
}

/* (x / 2^k) & 1, and (x / 2^k) % 2, are 1 if x & 2^k is not 0. */
static bool one_bit(struct power_walk *w, const struct value *q, struct span at, struct value *to)
{
	struct value x = *q, bit, zero = value_constant(0);

	x.kind = VALUE_NUMBER;
	if (!value_is_power(w, q->by))
		return power_fail(w->f, at, "a quotient by a value that depends on N or the loop");
	return value_and(w, &x, q->by, at, &bit) &&
	       truth(w, power_and(w->f, w->domain, value_compare(w->f, OP_GT, &bit, &zero)), at,
		     to);
}

static bool chosen(struct power_walk *w, const struct dfa *yes, const struct value *b,
		   const struct value *c, struct span at, struct value *to);

/* a & b, where one of them may have both signs, as -rank in rank & -rank. */
static bool bits_of_both(struct power_walk *w, const struct value *a, const struct value *b,
			 struct span at, struct value *to)
{
	struct value zero = value_constant(0), x, y;
	const struct dfa *all = w->domain;

	if (value_always(w, OP_GE, b, 0)) {
		const struct value *c = a;
		a = b;
		b = c;
	}
	const struct dfa *below = power_and(w->f, all, value_compare(w->f, OP_LT, b, &zero));
	const struct dfa *other = power_less(w->f, all, below);
	if (dfa_is_empty(below) || dfa_is_empty(other))
		return value_and(w, a, b, at, to);
	w->domain = below;
	bool ok = value_and(w, a, b, at, &x);
	w->domain = other;
	ok = ok && value_and(w, a, b, at, &y);
	w->domain = all;
	return ok && chosen(w, below, &x, &y, at, to);
}

/* x ^ y = x + y - 2 (x & y), x | y = x + y - (x & y) */
static bool bits(struct power_walk *w, const struct expr *e, const struct value *a,
		 const struct value *b, struct value *to)
{
	struct value c, d;
	int64_t n;

	if (e->op == OP_BAND && a->kind == VALUE_QUOTIENT && value_number(b, &n) && n == 1)
		return one_bit(w, a, e->span, to);
	if (a->kind != VALUE_NUMBER || b->kind != VALUE_NUMBER)
		return power_fail(w->f, e->span, "bits of a logarithm or a quotient");
	if (e->op == OP_BAND)
		return bits_of_both(w, a, b, e->span, to);
	if (!value_always(w, OP_GE, a, 0) || !value_always(w, OP_GE, b, 0))
		return power_fail(w->f, e->span, "bits of a number that may be negative");
	return value_and(w, a, b, e->span, &c) && value_sum(w, a, 1, b, e->span, &d) &&
	       value_sum(w, &d, e->op == OP_BOR ? -1 : -2, &c, e->span, to);
}

/* The sum of a logarithm and a number is a logarithm, and log2(X) less a mirrored one of X too. */
static bool sum(struct power_walk *w, const struct expr *e, const struct value *a,
		const struct value *b, struct value *to)
{
	int64_t n, sign = e->op == OP_ADD ? 1 : -1;

	if ((a->kind == VALUE_LOGARITHM || a->kind == VALUE_MIRRORED) && value_number(b, &n)) {
		*to = *a;
		to->shift += sign * n;
		return true;
	}
	if (a->kind == VALUE_LOGARITHM && b->kind == VALUE_MIRRORED && sign < 0) {
		struct value x = *a;
		x.kind = VALUE_NUMBER;
		x.shift = 0;
		*to = *b;
		to->kind = VALUE_LOGARITHM;
		to->by = NULL;
		to->shift = 1 + a->shift - b->shift;
		return same(w, &x, b->by) ||
		       power_fail(w->f, e->span,
				  "a logarithm of another number than the loop's bound");
	}
	return value_sum(w, a, sign, b, e->span, to);
}

static bool product(struct power_walk *w, const struct value *a, const struct value *b,
		    struct span at, struct value *to);

static bool binary(struct power_walk *w, const struct expr *e, struct value *to)
{
	struct value a, b;
	int64_t n;

	if (!value_of(w, e->a, &a) || !value_of(w, e->b, &b))
		return false;
	if (a.kind == VALUE_REVERSED || b.kind == VALUE_REVERSED)
		return power_reversed_binary(w, e->op, &a, &b, e->span, to);
	switch (e->op) {
	case OP_ADD:
	case OP_SUB: return sum(w, e, &a, &b, to);
	case OP_MUL: return product(w, &a, &b, e->span, to);
	case OP_DIV:
	case OP_MOD:
		if (e->op == OP_MOD && a.kind == VALUE_QUOTIENT && value_number(&b, &n) && n == 2)
			return one_bit(w, &a, e->span, to);
		if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
			return power_fail(w->f, e->span, "a quotient of a logarithm or a quotient");
		return e->op == OP_DIV ? value_divide(w, &a, &b, e->span, to)
				       : value_remainder(w, &a, &b, e->span, to);
	case OP_BOR:
	case OP_BXOR:
	case OP_BAND: return bits(w, e, &a, &b, to);
	case OP_SHL:
	case OP_SHR: return shifted(w, e, &a, &b, to);
	case OP_EQ:
	case OP_NE:
	case OP_LT:
	case OP_GT:
	case OP_LE:
	case OP_GE:
	case OP_OR:
	case OP_AND:
	case OP_NOT:
	case OP_COMPL:
	case OP_NEG: break;
	}
	return power_fail(w->f, e->span, "an expression that is not a number");
}

/* Evaluates on some of the tuples. */
static bool value_within(struct power_walk *w, const struct dfa *some, const struct expr *e,
			 struct value *to)
{
	const struct dfa *all = w->domain;
	bool ok = true;

	w->domain = some;
	*to = value_constant(0);
	if (!dfa_is_empty(some))
		ok = value_of(w, e, to);
	w->domain = all;
	return ok;
}

/* The tuples where TRACK_VALUE is max(sign * v, 0). */
static const struct dfa *positive(struct power_walk *w, const struct value *v, int64_t sign,
				  struct span at)
{
	struct power_forms *f = w->f;
	struct value x = value_constant(0), zero = x;

	value_sum(w, &zero, sign, v, at, &x);
	return power_or(f, value_is_track(f, &x, TRACK_VALUE),
			power_and(f, value_compare(f, OP_LT, &x, &zero),
				  value_is_track(f, &zero, TRACK_VALUE)));
}

/* Chooses between logarithms and numbers, by their powers of two. */
static bool chosen_logarithm(struct power_walk *w, const struct dfa *yes, const struct value *b,
			     const struct value *c, struct span at, struct value *to)
{
	const struct dfa *all = w->domain;
	struct value p, q;

	w->domain = yes;
	bool ok = value_power_of(w, b, at, &p);
	w->domain = power_less(w->f, all, yes);
	ok = ok && value_power_of(w, c, at, &q);
	w->domain = all;
	if (!ok || !chosen(w, yes, &p, &q, at, to) || !value_packed(w, to, at))
		return false;
	to->kind = VALUE_LOGARITHM;
	return true;
}

/* b on `yes`, c elsewhere. */
static bool chosen(struct power_walk *w, const struct dfa *yes, const struct value *b,
		   const struct value *c, struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	const struct dfa *no = power_less(f, w->domain, yes);

	if (dfa_is_empty(no) || dfa_is_empty(yes)) {
		*to = dfa_is_empty(no) ? *b : *c;
		return true;
	}
	if (b->kind == VALUE_LOGARITHM || c->kind == VALUE_LOGARITHM)
		return chosen_logarithm(w, yes, b, c, at, to);
	if (b->kind != VALUE_NUMBER || c->kind != VALUE_NUMBER)
		return power_fail(f, at, "a choice between quotients");
	const struct dfa *g = power_or(f, power_and(f, yes, value_is_track(f, b, TRACK_VALUE)),
				       power_and(f, no, value_is_track(f, c, TRACK_VALUE)));
	if (dfa_within(&f->d, w->domain, dfa_exists(&f->d, g, BIT(TRACK_VALUE))))
		return value_of_graph(w, g, at, to);
	return value_of_graphs(w,
			       power_or(f, power_and(f, yes, positive(w, b, 1, at)),
					power_and(f, no, positive(w, c, 1, at))),
			       power_or(f, power_and(f, yes, positive(w, b, -1, at)),
					power_and(f, no, positive(w, c, -1, at))),
			       at, to);
}

/* a * b if b has only few values, by cases. False: it has more. */
static bool few(struct power_walk *w, const struct value *a, const struct value *b, struct span at,
		struct value *to)
{
	struct power_forms *f = w->f;
	const struct dfa *known = dfa_constant(&f->d, false);
	struct value v = value_constant(0), times;

	if (a->kind != VALUE_NUMBER || b->kind != VALUE_NUMBER)
		return false;
	for (int64_t k = -FEW; k <= FEW; k++) {
		struct value n = value_constant(k);
		known = power_or(f, known, value_compare(f, OP_EQ, b, &n));
	}
	if (!dfa_within(&f->d, w->domain, known))
		return false;
	for (int64_t k = -FEW; k <= FEW; k++) {
		struct value n = value_constant(k), rest = v;
		const struct dfa *at_k = power_and(f, w->domain, value_compare(f, OP_EQ, b, &n));
		if (dfa_is_empty(at_k))
			continue;
		if (!value_scaled(w, a, k, at, &times) || !chosen(w, at_k, &times, &rest, at, &v))
			return false;
	}
	*to = v;
	return true;
}

static bool product(struct power_walk *w, const struct value *a, const struct value *b,
		    struct span at, struct value *to)
{
	int64_t n;

	if (value_number(a, &n) || value_number(b, &n))
		return value_product(w, a, b, at, to);
	return few(w, a, b, at, to) || few(w, b, a, at, to) || value_product(w, a, b, at, to);
}

static bool choice(struct power_walk *w, const struct expr *e, struct value *to)
{
	const struct dfa *yes;
	struct value b, c;

	if (!value_where(w, e->a, &yes) || !value_within(w, yes, e->b, &b) ||
	    !value_within(w, power_less(w->f, w->domain, yes), e->c, &c))
		return false;
	return chosen(w, yes, &b, &c, e->span, to);
}

static bool unary(struct power_walk *w, const struct expr *e, struct value *to)
{
	struct value a;

	if (!value_of(w, e->a, &a))
		return false;
	return e->op == OP_COMPL ? value_complement(w, &a, e->span, to)
				 : value_scaled(w, &a, -1, e->span, to);
}

/* ---- names and calls ------------------------------------------------------------------------- */

/* min, max: of values that are natural where they are chosen. */
static bool extreme(struct power_walk *w, const struct expr *e, struct value *to)
{
	enum expr_op op = e->builtin == BUILTIN_MIN ? OP_LE : OP_GE;

	if (!value_of(w, e->args, to))
		return false;
	for (const struct expr *a = e->args->next; a; a = a->next) {
		struct value o, v = *to;
		if (!value_of(w, a, &o))
			return false;
		if (o.kind != VALUE_NUMBER || v.kind != VALUE_NUMBER)
			return power_fail(w->f, e->span, "the least of logarithms or quotients");
		const struct dfa *yes = power_and(w->f, w->domain, value_compare(w->f, op, &v, &o));
		if (!chosen(w, yes, &v, &o, e->span, to))
			return false;
	}
	return true;
}

static bool builtin(struct power_walk *w, const struct expr *e, struct value *to)
{
	struct value v, minus;

	switch (e->builtin) {
	case BUILTIN_MIN:
	case BUILTIN_MAX: return extreme(w, e, to);
	case BUILTIN_ILOG2:
	case BUILTIN_CLOG2:
		if (!value_of(w, e->args, &v))
			return false;
		if (v.kind != VALUE_NUMBER || !value_always(w, OP_GE, &v, 1))
			return power_fail(w->f, e->span,
					  "a logarithm of a number that may be below "
					  "1");
		return value_logarithm(w, &v, e->builtin == BUILTIN_CLOG2, e->span, to);
	case BUILTIN_CTZ: /* the lowest bit: x & -x */
		if (!value_of(w, e->args, &v))
			return false;
		if (v.kind != VALUE_NUMBER || !value_always(w, OP_GE, &v, 1))
			return power_fail(w->f, e->span, "ctz of a number that may be below 1");
		if (!value_scaled(w, &v, -1, e->span, &minus) ||
		    !value_and(w, &v, &minus, e->span, to))
			return false;
		if (!value_packed(w, to, e->span))
			return false;
		to->kind = VALUE_LOGARITHM;
		return true;
	case BUILTIN_ABS:
	case BUILTIN_ISPOW2:
	case BUILTIN_POPCOUNT:
	case BUILTIN_LEN:
	case BUILTIN_NONE: break;
	}
	return power_fail(w->f, e->span, "a function that automata do not have");
}

#define ARGUMENTS 8u

static bool call(struct power_walk *w, const struct expr *e, struct value *to)
{
	struct value v[ARGUMENTS];
	struct meaning before[ARGUMENTS];
	const struct fn_def *fn = e->sym ? e->sym->fn : NULL;
	uint32_t n = 0;

	if (e->builtin != BUILTIN_NONE)
		return builtin(w, e, to);
	if (!fn || fn->nparams > ARGUMENTS || w->calls == CALLS_DEEP)
		return power_fail(w->f, e->span, "calls of fns nested too deep");
	for (const struct expr *a = e->args; a && n < ARGUMENTS; a = a->next, n++)
		if (!value_of(w, a, &v[n]))
			return false;
	if (n == 1 && v[0].kind == VALUE_LOGARITHM && power_calls(fn->body, e->sym))
		return power_inductive(w, e->sym, &v[0], e->span, to);
	if (n == 2 && v[1].kind == VALUE_LOGARITHM && power_is_reversal(e->sym))
		return power_reversed(w, &v[0], &v[1], e->span, to);
	for (uint32_t i = 0; i < fn->nparams && i < n; i++) {
		struct meaning *m = &w->f->meaning[fn->params[i]->id];
		before[i] = *m;
		*m = (struct meaning){ .known = true, .value = v[i] };
	}
	w->calls++;
	bool ok = value_of(w, fn->body, to);
	w->calls--;
	for (uint32_t i = 0; i < fn->nparams && i < n; i++)
		w->f->meaning[fn->params[i]->id] = before[i];
	return ok;
}

/* A file's let has the rank and N of the whole schedule, also in groups (ccs(5) 4). For a text that
 * is called in groups the whole is not known; its lets must be constants. */
static bool of_file(struct power_walk *w, const struct expr *e, struct value *to)
{
	struct power_walk whole = *w;
	bool called = w->f->least == 1;
	int64_t n;

	whole.rank = value_track(TRACK_RANK);
	whole.n = value_track(TRACK_N);
	whole.domain = called ? w->f->context : w->domain;
	whole.calls++;
	return value_of(&whole, e->sym->value, to) &&
	       (!called || (to->kind == VALUE_NUMBER && value_number(to, &n)) ||
		power_fail(w->f, e->span, "a file's let, in a text that is called in groups"));
}

static bool name(struct power_walk *w, const struct expr *e, struct value *to)
{
	const struct symbol *s = e->sym;

	if (s && w->f->meaning[s->id].known) {
		*to = w->f->meaning[s->id].value;
		return true;
	}
	if (s && s->kind == SYM_LET && !s->owner && s->value && w->calls < CALLS_DEEP)
		return of_file(w, e, to);
	return power_fail(w->f, e->span, "a name whose value is not known for every N");
}

static bool is_condition(const struct expr *e)
{
	return (e->kind == E_BINARY &&
		(e->op == OP_OR || e->op == OP_AND || (e->op >= OP_EQ && e->op <= OP_GE))) ||
	       (e->kind == E_UNARY && e->op == OP_NOT) ||
	       (e->kind == E_CALL && e->builtin == BUILTIN_ISPOW2);
}

/* A large number is often a mask for all bits of a rank. It requires a bound of N. */
static bool literal(struct power_walk *w, const struct expr *e, struct value *to)
{
	bool large = e->value > LARGE || e->value < -LARGE;

	*to = value_constant(e->value);
	w->f->asks_bound |= large;
	return !large || (w->f->bounded && e->value <= MOST && e->value >= -MOST) ||
	       power_fail(w->f, e->span, "a number above 2^20");
}

bool value_of(struct power_walk *w, const struct expr *e, struct value *to)
{
	const struct dfa *s;

	*to = value_constant(0);
	if (w->f->d.spent)
		return false;
	if (is_condition(e))
		return value_where(w, e, &s) && truth(w, s, e->span, to);
	switch (e->kind) {
	case E_INT: return literal(w, e, to);
	case E_NAME: return name(w, e, to);
	case E_RANK: *to = w->rank; return true;
	case E_N: *to = w->n; return true;
	case E_UNARY: return unary(w, e, to);
	case E_BINARY: return binary(w, e, to);
	case E_COND: return choice(w, e, to);
	case E_CALL: return call(w, e, to);
	case E_ENTRY:
	case E_TABLE:
	case E_TERM: break;
	}
	return power_fail(w->f, e->span, "an expression that is not a number");
}

/* ---- conditions ----------------------------------------------------------------------- */

/* a || b, a && b: b is evaluated only where a does not decide. ccs(5) 3 */
static bool short_circuit(struct power_walk *w, const struct expr *e, const struct dfa **to)
{
	const struct dfa *a, *b, *all = w->domain;

	if (!value_where(w, e->a, &a))
		return false;
	b = w->domain = e->op == OP_OR ? power_less(w->f, all, a) : a;
	bool ok = dfa_is_empty(b) || value_where(w, e->b, &b);
	w->domain = all;
	*to = e->op == OP_OR && ok ? power_or(w->f, a, b) : b;
	return ok;
}

/* Logarithms are compared by their powers of two. */
static bool comparison(struct power_walk *w, const struct expr *e, const struct dfa **to)
{
	struct value a, b, x, y;

	if (!value_of(w, e->a, &a) || !value_of(w, e->b, &b))
		return false;
	if (a.kind == VALUE_LOGARITHM || b.kind == VALUE_LOGARITHM) {
		if (!value_power_of(w, &a, e->span, &x) || !value_power_of(w, &b, e->span, &y))
			return false;
		a = x;
		b = y;
	}
	if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
		return power_fail(w->f, e->span,
				  "a quotient by a value that depends on N or the "
				  "loop");
	*to = power_and(w->f, w->domain, value_compare(w->f, e->op, &a, &b));
	return true;
}

bool value_where(struct power_walk *w, const struct expr *e, const struct dfa **to)
{
	struct value v, zero = value_constant(0);
	struct power_forms *f = w->f;

	if (e->kind == E_BINARY && (e->op == OP_OR || e->op == OP_AND))
		return short_circuit(w, e, to);
	if (e->kind == E_BINARY && e->op >= OP_EQ && e->op <= OP_GE)
		return comparison(w, e, to);
	if (e->kind == E_UNARY && e->op == OP_NOT) {
		if (!value_where(w, e->a, to))
			return false;
		*to = power_less(f, w->domain, *to);
		return true;
	}
	if (e->kind == E_CALL && e->builtin == BUILTIN_ISPOW2) {
		if (!value_of(w, e->args, &v))
			return false;
		if (v.kind != VALUE_NUMBER)
			return power_fail(f, e->span, "ispow2 of a logarithm or a quotient");
		const struct dfa *g = power_and(f, value_is_track(f, &v, TRACK_VALUE),
						dfa_power(&f->d, TRACK_VALUE));
		*to = power_and(f, w->domain, dfa_exists(&f->d, g, BIT(TRACK_VALUE)));
		return true;
	}
	if (!value_of(w, e, &v))
		return false;
	if (v.kind != VALUE_NUMBER)
		return power_fail(f, e->span, "a logarithm or a quotient as a condition");
	*to = power_and(f, w->domain, value_compare(f, OP_NE, &v, &zero));
	return true;
}
