/*
 * Expressions -> values over tracks.
 *
 * In: an expression and the tuples (N, D, root, rank, J) that evaluate it. Out: its value
 * there, exact, or a reason why it has none. A value is a sum of tracks and of functions whose
 * graphs are automata: a remainder, bits, a minimum. Each such function is a natural number
 * on all of the domain, which is shown when it is made. O(expression) automata.
 */
#include "compiler/every/powers.h"

#include <string.h>

#define LARGE (1 << 20)	   /* factors beyond this are not looked at */
#define QUOTIENTS 4	   /* |x / m| up to this, where m is no number */
#define CALLS_DEEP 24u

bool power_fail(struct power_forms *f, struct span at, const char *why)
{
	if (f->why)
		return false;
	f->why = why;
	f->line = at.hi > at.lo ? source_place(f->sources, at.lo).line : 0;
	return false;
}

const struct dfa *both(struct power_forms *f, const struct dfa *a, const struct dfa *b)
{
	return dfa_apply(&f->d, DFA_AND, a, b);
}

const struct dfa *without(struct power_forms *f, const struct dfa *a, const struct dfa *b)
{
	return dfa_apply(&f->d, DFA_LESS, a, b);
}

const struct dfa *either(struct power_forms *f, const struct dfa *a, const struct dfa *b)
{
	return dfa_apply(&f->d, DFA_OR, a, b);
}

/* ---- sums ---------------------------------------------------------------------------------- */

struct value value_constant(int64_t n)
{
	return (struct value){ .sum.constant = n };
}

struct value value_track(uint32_t track)
{
	struct value v = { .kind = VALUE_NUMBER };

	v.sum.factor[track] = 1;
	return v;
}

bool value_number(const struct value *v, int64_t *n)
{
	*n = v->sum.constant;
	if (v->kind != VALUE_NUMBER || v->nparts)
		return false;
	for (uint32_t t = 0; t < TRACKS; t++)
		if (v->sum.factor[t])
			return false;
	return true;
}

/* Adds factor * graph's number to a sum. False: too many of them. */
static bool add_part(struct value *v, struct value_part p)
{
	for (uint32_t i = 0; i < v->nparts; i++)
		if (v->part[i].graph == p.graph) {
			v->part[i].factor += p.factor;
			if (!v->part[i].factor)
				v->part[i] = v->part[--v->nparts];
			return true;
		}
	if (v->nparts == PARTS)
		return false;
	v->part[v->nparts++] = p;
	return true;
}

/* a + factor * b. False: too large, or too many parts. */
static bool add(const struct value *a, int64_t factor, const struct value *b, struct value *to)
{
	struct value v = *a;
	bool ok = factor <= LARGE && factor >= -LARGE;

	for (uint32_t t = 0; t < TRACKS && ok; t++) {
		v.sum.factor[t] += factor * b->sum.factor[t];
		ok = v.sum.factor[t] <= LARGE && v.sum.factor[t] >= -LARGE;
	}
	v.sum.constant += ok ? factor * b->sum.constant : 0;
	ok = ok && v.sum.constant <= LARGE && v.sum.constant >= -LARGE;
	for (uint32_t i = 0; i < b->nparts && ok && factor; i++)
		ok = b->part[i].factor <= LARGE && b->part[i].factor >= -LARGE &&
		     add_part(&v, (struct value_part){ factor * b->part[i].factor,
						       b->part[i].graph });
	*to = v;
	return ok;
}

/* Where a sum is 0, or at least 0, as a relation of the tracks. */
static const struct dfa *sum_holds(struct power_forms *f, const struct value *v, bool zero)
{
	struct linear l = v->sum;
	uint8_t to[TRACKS];

	for (uint32_t i = 0; i < v->nparts; i++)
		l.factor[TRACK_TEMP + i] = v->part[i].factor;
	const struct dfa *a = zero ? dfa_zero(&f->d, &l) : dfa_at_least_zero(&f->d, &l);
	for (uint32_t t = 0; t < TRACKS; t++)
		to[t] = (uint8_t)t;
	for (uint32_t i = 0; i < v->nparts; i++) {
		to[TRACK_VALUE] = (uint8_t)(TRACK_TEMP + i);
		a = both(f, a, dfa_rename(&f->d, v->part[i].graph, to));
		a = dfa_exists(&f->d, a, BIT(TRACK_TEMP + i));
	}
	return a;
}

/* The same relation where all functions are known to have a value: what is not so. */
const struct dfa *value_compare(struct power_forms *f, enum expr_op op, const struct value *a,
				const struct value *b)
{
	struct value v;
	bool less = op == OP_LT || op == OP_LE;

	if (!add(less ? b : a, -1, less ? a : b, &v)) {
		f->d.spent = true;
		return dfa_constant(&f->d, false);
	}
	if (op == OP_LT || op == OP_GT)
		v.sum.constant -= 1;
	if (op != OP_NE)
		return sum_holds(f, &v, op == OP_EQ);
	struct value minus = value_constant(-1), more = v, fewer;
	more.sum.constant -= 1;
	add(&minus, -1, &v, &fewer);
	return either(f, sum_holds(f, &more, false), sum_holds(f, &fewer, false));
}

/* Where the number of a track is the value. */
static const struct dfa *is_track(struct power_forms *f, const struct value *v, uint32_t track)
{
	struct value t = value_track(track);

	return value_compare(f, OP_EQ, &t, v);
}

bool value_of_graph(struct power_walk *w, const struct dfa *graph, struct span at, struct value *to)
{
	struct power_forms *f = w->f;

	*to = value_constant(0);
	if (!dfa_within(&f->d, w->domain, dfa_exists(&f->d, graph, BIT(TRACK_VALUE))))
		return power_fail(f, at, "a number that may be negative, or none");
	to->nparts = 1;
	to->part[0] = (struct value_part){ 1, graph };
	return true;
}

/* A sum of many functions becomes one. */
static bool packed(struct power_walk *w, struct value *v, struct span at)
{
	return value_of_graph(w, is_track(w->f, v, TRACK_VALUE), at, v);
}

static bool plus(struct power_walk *w, const struct value *a, int64_t factor, const struct value *b,
		 struct span at, struct value *to)
{
	struct value x = *a, y = *b;

	if (a->kind != VALUE_NUMBER || b->kind != VALUE_NUMBER)
		return power_fail(w->f, at, "a logarithm or a quotient in a sum");
	if (add(a, factor, b, to))
		return true;
	if (x.nparts && !packed(w, &x, at))
		return false;
	return (!y.nparts || packed(w, &y, at)) &&
	       (add(&x, factor, &y, to) || power_fail(w->f, at, "a number above 2^20"));
}

struct value value_plus(struct power_walk *w, const struct value *a, int64_t factor,
			const struct value *b, struct span at)
{
	struct value v = value_constant(0);

	plus(w, a, factor, b, at, &v);
	return v;
}

static bool scaled(struct power_walk *w, const struct value *a, int64_t factor, struct span at,
		   struct value *to)
{
	struct value zero = value_constant(0);

	return plus(w, &zero, factor, a, at, to);
}

static bool always(struct power_walk *w, const struct dfa *good)
{
	return dfa_within(&w->f->d, w->domain, good);
}

static bool always_compares(struct power_walk *w, enum expr_op op, const struct value *a, int64_t n)
{
	struct value b = value_constant(n);

	return always(w, value_compare(w->f, op, a, &b));
}

bool value_is_power(struct power_walk *w, const struct value *v)
{
	struct power_forms *f = w->f;

	if (v->kind != VALUE_NUMBER)
		return false;
	const struct dfa *p = both(f, is_track(f, v, TRACK_VALUE), dfa_power(&f->d, TRACK_VALUE));
	return always(w, dfa_exists(&f->d, p, BIT(TRACK_VALUE)));
}

/* ---- bits ---------------------------------------------------------------------------------- */

static bool is_one_track(const struct value *v, uint32_t *track)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < TRACKS; t++)
		if (v->sum.factor[t]) {
			n += v->sum.factor[t] == 1 ? 1 : 2;
			*track = t;
		}
	return n == 1 && !v->sum.constant && !v->nparts;
}

/* A track of a relation is another. */
static const struct dfa *moved(struct power_forms *f, const struct dfa *a, uint32_t from,
			       uint32_t to)
{
	return renamed(f, a, (const uint8_t[]){ (uint8_t)from, (uint8_t)to, TRACKS });
}

/* Where a track of `a` is v; the track goes. */
static const struct dfa *where_is(struct power_forms *f, const struct dfa *a, const struct value *v,
				  uint32_t track)
{
	const struct dfa *graph = moved(f, is_track(f, v, TRACK_VALUE), TRACK_VALUE, track);

	return dfa_exists(&f->d, both(f, a, graph), BIT(track));
}

/* a & b, both natural. The result is on a temporary track while the operands are named. */
static bool natural_and(struct power_walk *w, const struct value *a, const struct value *b,
			struct span at, struct value *to)
{
	enum { X = TRACK_TEMP, Y, RESULT };
	uint32_t x = X, y = Y;
	struct power_forms *f = w->f;
	bool one = is_one_track(a, &x), other = is_one_track(b, &y);

	x = one ? x : X;
	y = other ? y : Y;
	if (x == y) {
		*to = *a;
		return true;
	}
	const struct dfa *g = dfa_and_bits(&f->d, x, y, RESULT);
	g = one ? g : where_is(f, g, a, X);
	g = other ? g : where_is(f, g, b, Y);
	return value_of_graph(w, moved(f, g, RESULT, TRACK_VALUE), at, to);
}

/* -v - 1 */
static bool complement(struct power_walk *w, const struct value *v, struct span at, struct value *to)
{
	struct value minus = value_constant(-1);

	return plus(w, &minus, -1, v, at, to);
}

/* a & b, each of one sign on the domain. Where a < 0: b - (b & ~a). */
static bool and_bits(struct power_walk *w, const struct value *a, const struct value *b,
		     struct span at, struct value *to)
{
	struct value c, d;
	bool na = always_compares(w, OP_GE, a, 0), nb = always_compares(w, OP_GE, b, 0);

	if (na && nb)
		return natural_and(w, a, b, at, to);
	if (nb)
		return and_bits(w, b, a, at, to);
	if (!na || !always_compares(w, OP_LT, b, 0))
		return power_fail(w->f, at, "bits of a number that may be negative");
	return complement(w, b, at, &c) && natural_and(w, a, &c, at, &d) &&
	       plus(w, a, -1, &d, at, to);
}

/* ---- quotients and remainders ------------------------------------------------------------- */

/* floor(x / n), natural. */
static bool quotient(struct power_walk *w, const struct value *x, int64_t n, struct span at,
		     struct value *to)
{
	struct value q = value_track(TRACK_VALUE), rest, most = value_constant(n);

	if (n < 1 || n > LARGE)
		return power_fail(w->f, at, "it may divide by what is not positive");
	if (!plus(w, x, -n, &q, at, &rest))
		return false;
	struct value zero = value_constant(0);
	const struct dfa *g = both(w->f, value_compare(w->f, OP_GE, &rest, &zero),
				   value_compare(w->f, OP_LT, &rest, &most));
	return value_of_graph(w, g, at, to);
}

/* x modulo a number: x = n * k + v, or x = v - n * k. */
static bool remainder_number(struct power_walk *w, const struct value *x, int64_t n, struct span at,
			     struct value *to)
{
	struct power_forms *f = w->f;
	struct value v = value_track(TRACK_VALUE), k = value_track(TRACK_OFFSET), rest, a, b;
	struct value zero = value_constant(0), most = value_constant(n);

	if (n < 1 || n > LARGE)
		return power_fail(f, at, "it may divide by what is not positive");
	if (!plus(w, x, -1, &v, at, &rest) || !plus(w, &rest, n, &k, at, &a) ||
	    !plus(w, &rest, -n, &k, at, &b))
		return false;
	const struct dfa *g = either(f, value_compare(f, OP_EQ, &a, &zero),
				     value_compare(f, OP_EQ, &b, &zero));
	g = both(f, dfa_exists(&f->d, g, BIT(TRACK_OFFSET)), value_compare(f, OP_LT, &v, &most));
	return value_of_graph(w, g, at, to);
}

/* x modulo m: j * m <= x < (j + 1) * m for some small j. */
static bool remainder_small(struct power_walk *w, const struct value *x, const struct value *m,
			    struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	struct value v = value_track(TRACK_VALUE), rest, zero = value_constant(0);
	const struct dfa *g = dfa_constant(&f->d, false);

	if (!plus(w, x, -1, &v, at, &rest))
		return false;
	const struct dfa *below = both(f, w->domain, value_compare(f, OP_LT, &v, m));
	for (int k = 0; k <= 2 * QUOTIENTS; k++) { /* 0, -1, 1, -2 ... */
		struct value turned;
		if (!plus(w, &rest, k % 2 ? (k + 1) / 2 : -k / 2, m, at, &turned))
			return false;
		g = either(f, g, both(f, below, value_compare(f, OP_EQ, &turned, &zero)));
		if (always(w, dfa_exists(&f->d, g, BIT(TRACK_VALUE))))
			return value_of_graph(w, g, at, to);
	}
	return power_fail(f, at, "a quotient is not bounded by a number");
}

static bool remainder_of(struct power_walk *w, const struct value *x, const struct value *m,
			 struct span at, struct value *to)
{
	int64_t n;
	struct value one = value_constant(1), below;

	if (value_number(m, &n))
		return remainder_number(w, x, n, at, to);
	if (!always_compares(w, OP_GE, m, 1))
		return power_fail(w->f, at, "it may divide by what is not positive");
	bool sign = always_compares(w, OP_GE, x, 0) || always_compares(w, OP_LT, x, 0);
	if (sign && value_is_power(w, m))
		return plus(w, m, -1, &one, at, &below) && and_bits(w, x, &below, at, to);
	return remainder_small(w, x, m, at, to);
}

static bool divide(struct power_walk *w, const struct value *x, const struct value *m,
		   struct span at, struct value *to)
{
	int64_t n;

	if (value_number(m, &n))
		return quotient(w, x, n, at, to);
	if (!always_compares(w, OP_GE, m, 1))
		return power_fail(w->f, at, "it may divide by what is not positive");
	*to = *x;
	to->kind = VALUE_QUOTIENT;
	to->by = arena_copy(w->f->arena, m, sizeof(*m));
	return true;
}

/* (x / m) * b where m = b * k for a number k: (x - x % m) / k. */
static bool multiple(struct power_walk *w, const struct value *q, const struct value *b,
		     struct span at, struct value *to)
{
	for (int64_t k = 1; k <= 8; k++) {
		struct value all, x = *q, rest;
		if (!scaled(w, b, k, at, &all))
			return false;
		if (!always(w, value_compare(w->f, OP_EQ, &all, q->by)))
			continue;
		x.kind = VALUE_NUMBER;
		return remainder_of(w, &x, q->by, at, &rest) && plus(w, &x, -1, &rest, at, &all) &&
		       (k == 1 ? (*to = all, true) : quotient(w, &all, k, at, to));
	}
	return power_fail(w->f, at, "a quotient by what depends on N or the loop");
}

static bool product(struct power_walk *w, const struct value *a, const struct value *b,
		    struct span at, struct value *to)
{
	int64_t n;

	if (a->kind == VALUE_QUOTIENT && b->kind == VALUE_NUMBER)
		return multiple(w, a, b, at, to);
	if (b->kind == VALUE_QUOTIENT && a->kind == VALUE_NUMBER)
		return multiple(w, b, a, at, to);
	if (value_number(a, &n))
		return scaled(w, b, n, at, to);
	if (value_number(b, &n))
		return scaled(w, a, n, at, to);
	return power_fail(w->f, at, "a product of two values that both depend on N or the rank");
}

/* ---- logarithms -------------------------------------------------------------------------------- */

/* The power of two of which a logarithm is one: times 2^shift. */
static bool power_of(struct power_walk *w, const struct value *v, struct span at, struct value *to)
{
	struct value x = *v;
	int64_t n;

	if (v->kind == VALUE_NUMBER && value_number(v, &n) && n >= 0 && n < 20) {
		*to = value_constant((int64_t)1 << n);
		return true;
	}
	if (v->kind != VALUE_LOGARITHM || v->shift > 16 || v->shift < -16)
		return power_fail(w->f, at, "a shift by what is no number and no logarithm");
	x.kind = VALUE_NUMBER;
	x.shift = 0;
	if (v->shift >= 0)
		return scaled(w, &x, (int64_t)1 << v->shift, at, to);
	/* exact: where the shift goes below 0 there is no such number */
	struct value t = value_track(TRACK_VALUE), all;
	return scaled(w, &t, (int64_t)1 << -v->shift, at, &all) &&
	       value_of_graph(w, value_compare(w->f, OP_EQ, &all, &x), at, to);
}

static bool logarithm(struct power_walk *w, const struct value *x, bool up, struct span at,
		      struct value *to)
{
	struct power_forms *f = w->f;
	struct value p = value_track(TRACK_VALUE), twice = p, double_x;

	twice.sum.factor[TRACK_VALUE] = 2;
	const struct dfa *g = dfa_power(&f->d, TRACK_VALUE);
	g = both(f, g, value_compare(f, up ? OP_GE : OP_LE, &p, x));
	if (up && !scaled(w, x, 2, at, &double_x))
		return false;
	g = both(f, g, up ? value_compare(f, OP_LT, &p, &double_x)
			  : value_compare(f, OP_GT, &twice, x));
	if (!value_of_graph(w, g, at, to))
		return false;
	to->kind = VALUE_LOGARITHM;
	return true;
}

static bool shifted(struct power_walk *w, const struct expr *e, const struct value *a,
		    const struct value *b, struct value *to)
{
	int64_t n;
	struct value p;

	if (a->kind != VALUE_NUMBER || !power_of(w, b, e->span, &p))
		return power_fail(w->f, e->span, "a shift by what is no number and no logarithm");
	if (e->op == OP_SHR)
		return divide(w, a, &p, e->span, to);
	if (value_number(a, &n) || value_number(&p, &n))
		return product(w, a, &p, e->span, to);
	return power_fail(w->f, e->span, "a product of two values that both depend on N or the rank");
}

/* ---- operators ----------------------------------------------------------------------------------- */

/* 1 where a condition holds, else 0. */
static bool truth(struct power_walk *w, const struct dfa *s, struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	struct value one = value_constant(1), zero = value_constant(0);
	const struct dfa *g = both(f, s, is_track(f, &one, TRACK_VALUE));

	g = either(f, g, both(f, without(f, w->domain, s), is_track(f, &zero, TRACK_VALUE)));
	return value_of_graph(w, g, at, to);
}

/* (x / 2^k) & 1 is whether x & 2^k is not 0. */
static bool one_bit(struct power_walk *w, const struct value *q, struct span at, struct value *to)
{
	struct value x = *q, bit, zero = value_constant(0);

	x.kind = VALUE_NUMBER;
	if (!value_is_power(w, q->by))
		return power_fail(w->f, at, "a quotient by what depends on N or the loop");
	return and_bits(w, &x, q->by, at, &bit) &&
	       truth(w, both(w->f, w->domain, value_compare(w->f, OP_GT, &bit, &zero)), at, to);
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
		return and_bits(w, a, b, e->span, to);
	if (!always_compares(w, OP_GE, a, 0) || !always_compares(w, OP_GE, b, 0))
		return power_fail(w->f, e->span, "bits of a number that may be negative");
	return natural_and(w, a, b, e->span, &c) && plus(w, a, 1, b, e->span, &d) &&
	       plus(w, &d, e->op == OP_BOR ? -1 : -2, &c, e->span, to);
}

/* Logarithms plus numbers stay logarithms. */
static bool sum(struct power_walk *w, const struct expr *e, const struct value *a,
		const struct value *b, struct value *to)
{
	int64_t n, sign = e->op == OP_ADD ? 1 : -1;

	if (a->kind == VALUE_LOGARITHM && value_number(b, &n)) {
		*to = *a;
		to->shift += sign * n;
		return true;
	}
	return plus(w, a, sign, b, e->span, to);
}

static bool binary(struct power_walk *w, const struct expr *e, struct value *to)
{
	struct value a, b;

	if (!value_of(w, e->a, &a) || !value_of(w, e->b, &b))
		return false;
	switch (e->op) {
	case OP_ADD:
	case OP_SUB: return sum(w, e, &a, &b, to);
	case OP_MUL: return product(w, &a, &b, e->span, to);
	case OP_DIV:
	case OP_MOD:
		if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
			return power_fail(w->f, e->span, "a quotient of a logarithm or a quotient");
		return e->op == OP_DIV ? divide(w, &a, &b, e->span, to)
				       : remainder_of(w, &a, &b, e->span, to);
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
	return power_fail(w->f, e->span, "an expression that is no number");
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

/* b on `yes`, c elsewhere. */
static bool chosen(struct power_walk *w, const struct dfa *yes, const struct value *b,
		   const struct value *c, struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	const struct dfa *no = without(f, w->domain, yes);

	if (dfa_is_empty(no) || dfa_is_empty(yes)) {
		*to = dfa_is_empty(no) ? *b : *c;
		return true;
	}
	if (b->kind != VALUE_NUMBER || c->kind != VALUE_NUMBER)
		return power_fail(f, at, "a choice between logarithms or quotients");
	const struct dfa *g = either(f, both(f, yes, is_track(f, b, TRACK_VALUE)),
				     both(f, no, is_track(f, c, TRACK_VALUE)));
	return value_of_graph(w, g, at, to);
}

static bool choice(struct power_walk *w, const struct expr *e, struct value *to)
{
	const struct dfa *yes;
	struct value b, c;

	if (!value_where(w, e->a, &yes) || !value_within(w, yes, e->b, &b) ||
	    !value_within(w, without(w->f, w->domain, yes), e->c, &c))
		return false;
	return chosen(w, yes, &b, &c, e->span, to);
}

static bool unary(struct power_walk *w, const struct expr *e, struct value *to)
{
	struct value a;

	if (!value_of(w, e->a, &a))
		return false;
	return e->op == OP_COMPL ? complement(w, &a, e->span, to) : scaled(w, &a, -1, e->span, to);
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
		const struct dfa *yes = both(w->f, w->domain, value_compare(w->f, op, &v, &o));
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
		if (v.kind != VALUE_NUMBER || !always_compares(w, OP_GE, &v, 1))
			return power_fail(w->f, e->span, "a logarithm of what may be below 1");
		return logarithm(w, &v, e->builtin == BUILTIN_CLOG2, e->span, to);
	case BUILTIN_CTZ: /* the lowest bit: x & -x */
		if (!value_of(w, e->args, &v))
			return false;
		if (v.kind != VALUE_NUMBER || !always_compares(w, OP_GE, &v, 1))
			return power_fail(w->f, e->span, "ctz of what may be below 1");
		if (!scaled(w, &v, -1, e->span, &minus) || !and_bits(w, &v, &minus, e->span, to))
			return false;
		if (!packed(w, to, e->span))
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
		return power_fail(w->f, e->span, "calls in calls, too deep");
	for (const struct expr *a = e->args; a && n < ARGUMENTS; a = a->next, n++)
		if (!value_of(w, a, &v[n]))
			return false;
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

static bool name(struct power_walk *w, const struct expr *e, struct value *to)
{
	const struct symbol *s = e->sym;

	if (s && w->f->meaning[s->id].known) {
		*to = w->f->meaning[s->id].value;
		return true;
	}
	if (s && s->kind == SYM_LET && !s->owner && s->value && w->calls < CALLS_DEEP) {
		w->calls++;
		bool ok = value_of(w, s->value, to);
		w->calls--;
		return ok;
	}
	return power_fail(w->f, e->span, "a name whose value is not known for every N");
}

static bool is_condition(const struct expr *e)
{
	return (e->kind == E_BINARY && (e->op == OP_OR || e->op == OP_AND ||
					(e->op >= OP_EQ && e->op <= OP_GE))) ||
	       (e->kind == E_UNARY && e->op == OP_NOT) ||
	       (e->kind == E_CALL && e->builtin == BUILTIN_ISPOW2);
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
	case E_INT:
		*to = value_constant(e->value);
		return (e->value <= LARGE && e->value >= -LARGE) ||
		       power_fail(w->f, e->span, "a number above 2^20");
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
	return power_fail(w->f, e->span, "an expression that is no number");
}

/* ---- conditions ------------------------------------------------------------------------------- */

/* a || b, a && b: b is evaluated only where a leaves it open. ccs(5) 3 */
static bool short_circuit(struct power_walk *w, const struct expr *e, const struct dfa **to)
{
	const struct dfa *a, *b, *all = w->domain;

	if (!value_where(w, e->a, &a))
		return false;
	b = w->domain = e->op == OP_OR ? without(w->f, all, a) : a;
	bool ok = dfa_is_empty(b) || value_where(w, e->b, &b);
	w->domain = all;
	*to = e->op == OP_OR && ok ? either(w->f, a, b) : b;
	return ok;
}

/* Logarithms are compared as what they are logarithms of. */
static bool comparison(struct power_walk *w, const struct expr *e, const struct dfa **to)
{
	struct value a, b, x, y;

	if (!value_of(w, e->a, &a) || !value_of(w, e->b, &b))
		return false;
	if (a.kind == VALUE_LOGARITHM || b.kind == VALUE_LOGARITHM) {
		if (!power_of(w, &a, e->span, &x) || !power_of(w, &b, e->span, &y))
			return false;
		a = x;
		b = y;
	}
	if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
		return power_fail(w->f, e->span, "a quotient by what depends on N or the loop");
	*to = both(w->f, w->domain, value_compare(w->f, e->op, &a, &b));
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
		*to = without(f, w->domain, *to);
		return true;
	}
	if (e->kind == E_CALL && e->builtin == BUILTIN_ISPOW2) {
		if (!value_of(w, e->args, &v))
			return false;
		if (v.kind != VALUE_NUMBER)
			return power_fail(f, e->span, "ispow2 of a logarithm or a quotient");
		const struct dfa *g =
			both(f, is_track(f, &v, TRACK_VALUE), dfa_power(&f->d, TRACK_VALUE));
		*to = both(f, w->domain, dfa_exists(&f->d, g, BIT(TRACK_VALUE)));
		return true;
	}
	if (!value_of(w, e, &v))
		return false;
	if (v.kind != VALUE_NUMBER)
		return power_fail(f, e->span, "a logarithm or a quotient as a condition");
	*to = both(f, w->domain, value_compare(f, OP_NE, &v, &zero));
	return true;
}
