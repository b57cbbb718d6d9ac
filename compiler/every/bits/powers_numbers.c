/*
 * Arithmetic of values.
 *
 * A value is a sum of tracks and of functions such as a remainder, bits or a minimum. A function is
 * given by its graph, an automaton, and is proved to have a natural number as value on all of the
 * domain. Nothing is rounded: a result that is no such sum, such as a product of two tracks, is
 * refused. O(1) automata each.
 */
#include "compiler/every/bits/powers.h"

#define LARGE (1 << 20)		/* greatest factor */
#define MOST (INT64_C(1) << 41) /* greatest constant */
#define QUOTIENTS 4		/* greatest |x / m|, if m is not constant */

bool power_fail(struct power_forms *f, struct span at, const char *why)
{
	if (f->why || f->d.spent)
		return false;
	f->why = why;
	f->line = every_line(f->sources, f->in, at);
	return false;
}

const struct dfa *power_and(struct power_forms *f, const struct dfa *a, const struct dfa *b)
{
	return dfa_apply(&f->d, DFA_AND, a, b);
}

const struct dfa *power_less(struct power_forms *f, const struct dfa *a, const struct dfa *b)
{
	return dfa_apply(&f->d, DFA_LESS, a, b);
}

const struct dfa *power_or(struct power_forms *f, const struct dfa *a, const struct dfa *b)
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

/* Adds a function times a factor to a sum. False: there are too many functions. */
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
	ok = ok && b->sum.constant <= MOST && b->sum.constant >= -MOST;
	v.sum.constant += ok ? factor * b->sum.constant : 0;
	ok = ok && v.sum.constant <= MOST && v.sum.constant >= -MOST;
	for (uint32_t i = 0; i < b->nparts && ok && factor; i++)
		ok = b->part[i].factor <= LARGE && b->part[i].factor >= -LARGE &&
		     add_part(&v,
			      (struct value_part){ factor * b->part[i].factor, b->part[i].graph });
	*to = v;
	return ok;
}

/* The tuples where a sum is 0 (`zero`), or at least 0. */
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
		a = power_and(f, a, dfa_rename(&f->d, v->part[i].graph, to));
		a = dfa_exists(&f->d, a, BIT(TRACK_TEMP + i));
	}
	return a;
}

/* The tuples where the comparison a op b holds, and all functions have a value. */
const struct dfa *value_compare(struct power_forms *f, enum expr_op op, const struct value *a,
				const struct value *b)
{
	struct value v;
	bool less = op == OP_LT || op == OP_LE;

	if (!add(less ? b : a, -1, less ? a : b, &v)) {
		power_fail(f, NOWHERE, "a comparison of long sums");
		f->d.spent = true; /* marks the result as meaningless */
		return dfa_constant(&f->d, false);
	}
	if (op == OP_LT || op == OP_GT)
		v.sum.constant -= 1;
	if (op != OP_NE)
		return sum_holds(f, &v, op == OP_EQ);
	struct value minus = value_constant(-1), more = v, fewer;
	more.sum.constant -= 1;
	add(&minus, -1, &v, &fewer);
	return power_or(f, sum_holds(f, &more, false), sum_holds(f, &fewer, false));
}

const struct dfa *value_is_track(struct power_forms *f, const struct value *v, uint32_t track)
{
	struct value t = value_track(track);

	return value_compare(f, OP_EQ, &t, v);
}

bool value_of_graph(struct power_walk *w, const struct dfa *graph, struct span at, struct value *to)
{
	struct power_forms *f = w->f;

	*to = value_constant(0);
	if (!dfa_within(&f->d, w->domain, dfa_exists(&f->d, graph, BIT(TRACK_VALUE))))
		return power_fail(f, at, "a number that may be negative, or undefined");
	to->nparts = 1;
	to->part[0] = (struct value_part){ 1, graph };
	return true;
}

bool value_of_graphs(struct power_walk *w, const struct dfa *pos, const struct dfa *neg,
		     struct span at, struct value *to)
{
	struct value minus;

	return value_of_graph(w, pos, at, to) && value_of_graph(w, neg, at, &minus) &&
	       value_sum(w, to, -1, &minus, at, to);
}

/* Replaces a sum of many functions by one function. */
bool value_packed(struct power_walk *w, struct value *v, struct span at)
{
	return value_of_graph(w, value_is_track(w->f, v, TRACK_VALUE), at, v);
}

bool value_sum(struct power_walk *w, const struct value *a, int64_t factor, const struct value *b,
	       struct span at, struct value *to)
{
	struct value x = *a, y = *b;

	if (a->kind != VALUE_NUMBER || b->kind != VALUE_NUMBER)
		return power_fail(w->f, at, "a logarithm or a quotient in a sum");
	if (add(a, factor, b, to))
		return true;
	if (x.nparts && !value_packed(w, &x, at))
		return false;
	return (!y.nparts || value_packed(w, &y, at)) &&
	       (add(&x, factor, &y, to) || power_fail(w->f, at, "a number above 2^20"));
}

struct value value_plus(struct power_walk *w, const struct value *a, int64_t factor,
			const struct value *b, struct span at)
{
	struct value v = value_constant(0);

	value_sum(w, a, factor, b, at, &v);
	return v;
}

bool value_scaled(struct power_walk *w, const struct value *a, int64_t factor, struct span at,
		  struct value *to)
{
	struct value zero = value_constant(0);

	return value_sum(w, &zero, factor, a, at, to);
}

static bool always(struct power_walk *w, const struct dfa *good)
{
	return dfa_within(&w->f->d, w->domain, good);
}

bool value_always(struct power_walk *w, enum expr_op op, const struct value *a, int64_t n)
{
	struct value b = value_constant(n);

	return always(w, value_compare(w->f, op, a, &b));
}

bool value_is_power(struct power_walk *w, const struct value *v)
{
	struct power_forms *f = w->f;

	if (v->kind != VALUE_NUMBER)
		return false;
	const struct dfa *p =
		power_and(f, value_is_track(f, v, TRACK_VALUE), dfa_power(&f->d, TRACK_VALUE));
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

/* Renames a track of a relation. */
static const struct dfa *moved(struct power_forms *f, const struct dfa *a, uint32_t from,
			       uint32_t to)
{
	return power_renamed(f, a, (const uint8_t[]){ (uint8_t)from, (uint8_t)to, TRACKS });
}

const struct dfa *value_put(struct power_forms *f, const struct dfa *a, const struct value *v,
			    uint32_t track)
{
	const struct dfa *graph = moved(f, value_is_track(f, v, TRACK_VALUE), TRACK_VALUE, track);

	return dfa_exists(&f->d, power_and(f, a, graph), BIT(track));
}

/* a & b, both natural; the operands are bound to temporary tracks. */
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
	g = one ? g : value_put(f, g, a, X);
	g = other ? g : value_put(f, g, b, Y);
	return value_of_graph(w, moved(f, g, RESULT, TRACK_VALUE), at, to);
}

/* -v - 1 */
bool value_complement(struct power_walk *w, const struct value *v, struct span at, struct value *to)
{
	struct value minus = value_constant(-1);

	return value_sum(w, &minus, -1, v, at, to);
}

/* a & b, each of one sign on the domain. If a < 0, it is b - (b & ~a). */
bool value_and(struct power_walk *w, const struct value *a, const struct value *b, struct span at,
	       struct value *to)
{
	struct value c, d;
	bool na = value_always(w, OP_GE, a, 0), nb = value_always(w, OP_GE, b, 0);

	if (na && nb)
		return natural_and(w, a, b, at, to);
	if (nb)
		return value_and(w, b, a, at, to);
	if (!na || !value_always(w, OP_LT, b, 0))
		return power_fail(w->f, at, "bits of a number that may be negative");
	return value_complement(w, b, at, &c) && natural_and(w, a, &c, at, &d) &&
	       value_sum(w, a, -1, &d, at, to);
}

/* ---- quotients and remainders ------------------------------------------------------------- */

/* floor(x / n), natural. */
static bool quotient(struct power_walk *w, const struct value *x, int64_t n, struct span at,
		     struct value *to)
{
	struct value q = value_track(TRACK_VALUE), rest, most = value_constant(n);

	if (n < 1 || n > LARGE)
		return power_fail(w->f, at, "it may divide by a number that is not positive");
	if (!value_sum(w, x, -n, &q, at, &rest))
		return false;
	struct value zero = value_constant(0);
	const struct dfa *g = power_and(w->f, value_compare(w->f, OP_GE, &rest, &zero),
					value_compare(w->f, OP_LT, &rest, &most));
	return value_of_graph(w, g, at, to);
}

/* x modulo a constant n: x = n * k + v, or x = v - n * k. */
static bool remainder_number(struct power_walk *w, const struct value *x, int64_t n, struct span at,
			     struct value *to)
{
	struct power_forms *f = w->f;
	struct value v = value_track(TRACK_VALUE), k = value_track(TRACK_OFFSET), rest, a, b;
	struct value zero = value_constant(0), most = value_constant(n);

	if (n < 1 || n > LARGE)
		return power_fail(f, at, "it may divide by a number that is not positive");
	if (!value_sum(w, x, -1, &v, at, &rest) || !value_sum(w, &rest, n, &k, at, &a) ||
	    !value_sum(w, &rest, -n, &k, at, &b))
		return false;
	const struct dfa *g =
		power_or(f, value_compare(f, OP_EQ, &a, &zero), value_compare(f, OP_EQ, &b, &zero));
	g = power_and(f, dfa_exists(&f->d, g, BIT(TRACK_OFFSET)),
		      value_compare(f, OP_LT, &v, &most));
	return value_of_graph(w, g, at, to);
}

/* x modulo m: j * m <= x < (j + 1) * m for some small j. */
static bool remainder_small(struct power_walk *w, const struct value *x, const struct value *m,
			    struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	struct value v = value_track(TRACK_VALUE), rest, zero = value_constant(0);
	const struct dfa *g = dfa_constant(&f->d, false);

	if (!value_sum(w, x, -1, &v, at, &rest))
		return false;
	const struct dfa *below = power_and(f, w->domain, value_compare(f, OP_LT, &v, m));
	for (int k = 0; k <= 2 * QUOTIENTS; k++) { /* 0, -1, 1, -2 ... */
		struct value turned;
		if (!value_sum(w, &rest, k % 2 ? (k + 1) / 2 : -k / 2, m, at, &turned))
			return false;
		g = power_or(f, g, power_and(f, below, value_compare(f, OP_EQ, &turned, &zero)));
		if (always(w, dfa_exists(&f->d, g, BIT(TRACK_VALUE))))
			return value_of_graph(w, g, at, to);
	}
	return power_fail(f, at, "a quotient without a constant bound");
}

bool value_remainder(struct power_walk *w, const struct value *x, const struct value *m,
		     struct span at, struct value *to)
{
	int64_t n;
	struct value one = value_constant(1), below;

	if (value_number(m, &n))
		return remainder_number(w, x, n, at, to);
	if (!value_always(w, OP_GE, m, 1))
		return power_fail(w->f, at, "it may divide by a number that is not positive");
	bool sign = value_always(w, OP_GE, x, 0) || value_always(w, OP_LT, x, 0);
	if (sign && value_is_power(w, m))
		return value_sum(w, m, -1, &one, at, &below) && value_and(w, x, &below, at, to);
	return remainder_small(w, x, m, at, to);
}

bool value_divide(struct power_walk *w, const struct value *x, const struct value *m,
		  struct span at, struct value *to)
{
	int64_t n;

	if (value_number(m, &n))
		return quotient(w, x, n, at, to);
	if (!value_always(w, OP_GE, m, 1))
		return power_fail(w->f, at, "it may divide by a number that is not positive");
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
		if (!value_scaled(w, b, k, at, &all))
			return false;
		if (!always(w, value_compare(w->f, OP_EQ, &all, q->by)))
			continue;
		x.kind = VALUE_NUMBER;
		return value_remainder(w, &x, q->by, at, &rest) &&
		       value_sum(w, &x, -1, &rest, at, &all) &&
		       (k == 1 ? (*to = all, true) : quotient(w, &all, k, at, to));
	}
	return power_fail(w->f, at, "a quotient by a value that depends on N or the loop");
}

bool value_product(struct power_walk *w, const struct value *a, const struct value *b,
		   struct span at, struct value *to)
{
	int64_t n;

	if (a->kind == VALUE_QUOTIENT && b->kind == VALUE_NUMBER)
		return multiple(w, a, b, at, to);
	if (b->kind == VALUE_QUOTIENT && a->kind == VALUE_NUMBER)
		return multiple(w, b, a, at, to);
	if (value_number(a, &n))
		return value_scaled(w, b, n, at, to);
	if (value_number(b, &n))
		return value_scaled(w, a, n, at, to);
	return power_fail(w->f, at, "a product of two values that both depend on N or the rank");
}

/* ---- logarithms ----------------------------------------------------------------------- */

/* The power of two of a logarithm, times 2^shift. */
bool value_power_of(struct power_walk *w, const struct value *v, struct span at, struct value *to)
{
	struct value x = *v;
	int64_t n;

	if (v->kind == VALUE_NUMBER && value_number(v, &n) && n >= 0 && n < 20) {
		*to = value_constant((int64_t)1 << n);
		return true;
	}
	if (v->kind != VALUE_LOGARITHM || v->shift > 16 || v->shift < -16)
		return power_fail(w->f, at,
				  "a shift by something other than a number or a "
				  "logarithm");
	x.kind = VALUE_NUMBER;
	x.shift = 0;
	if (v->shift >= 0)
		return value_scaled(w, &x, (int64_t)1 << v->shift, at, to);
	/* exact: for a negative shift, a multiple of 2^-shift */
	struct value t = value_track(TRACK_VALUE), all;
	return value_scaled(w, &t, (int64_t)1 << -v->shift, at, &all) &&
	       value_of_graph(w, value_compare(w->f, OP_EQ, &all, &x), at, to);
}

bool value_logarithm(struct power_walk *w, const struct value *x, bool up, struct span at,
		     struct value *to)
{
	struct power_forms *f = w->f;
	struct value p = value_track(TRACK_VALUE), twice = p, double_x;

	twice.sum.factor[TRACK_VALUE] = 2;
	const struct dfa *g = dfa_power(&f->d, TRACK_VALUE);
	g = power_and(f, g, value_compare(f, up ? OP_GE : OP_LE, &p, x));
	if (up && !value_scaled(w, x, 2, at, &double_x))
		return false;
	g = power_and(f, g,
		      up ? value_compare(f, OP_LT, &p, &double_x)
			 : value_compare(f, OP_GT, &twice, x));
	if (!value_of_graph(w, g, at, to))
		return false;
	to->kind = VALUE_LOGARITHM;
	return true;
}

const struct dfa *power_renamed(struct power_forms *f, const struct dfa *a, const uint8_t *pairs)
{
	uint8_t to[TRACKS];

	for (uint32_t t = 0; t < TRACKS; t++)
		to[t] = (uint8_t)t;
	for (; *pairs != TRACKS; pairs += 2)
		to[pairs[0]] = pairs[1];
	return dfa_rename(&f->d, a, to);
}

bool power_always(struct power_walk *w, const struct dfa *good, struct span at, const char *why)
{
	return dfa_within(&w->f->d, w->domain, good) || power_fail(w->f, at, why);
}
