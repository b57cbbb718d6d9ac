/*
 * Numbers on all ranks of a squad, and what is made of them.
 *
 * In: one or two spreads. Out: the spread of their sum, quotient ..., exactly as eval.c has it for one
 * rank. As long as spreads are the same on all ranks, or grow evenly, that is O(1); else O(ranks
 * from the first to the last that runs). A rank that does not run may have any number here: what
 * fails there is no mistake.
 */
#include "compiler/expand/squad.h"

#define CHUNK 16u /* spreads that get room at once */

int64_t *spread_room(struct squad *b)
{
	if (b->used == b->npool * CHUNK)
		ARENA_PUSH(b->v->arena, b->pool, b->npool, b->cappool) =
			ARENA_ARRAY(b->v->arena, int64_t, CHUNK *SQUAD);
	int64_t *room = b->pool[b->used / CHUNK] + (size_t)(b->used % CHUNK) * SQUAD;
	b->used++;
	return room;
}

/* ---- looks ------------------------------------------------------------------------------- */

/* The least number on the ranks that run, or the greatest one. */
static inline int64_t end_of(const struct squad *b, const struct spread *x, bool greatest)
{
	int64_t end;
	if (!x->v)
		return spread_at(x, (x->step < 0) != greatest ? b->run.hi : b->run.lo);
	end = x->v[b->run.lo];
	for (uint64_t m = b->run.mask; m; m &= m - 1) {
		int64_t value = x->v[__builtin_ctzll(m)];
		end = (greatest ? value > end : value < end) ? value : end;
	}
	return end;
}

int64_t spread_least(const struct squad *b, const struct spread *x)
{
	return end_of(b, x, false);
}

int64_t spread_greatest(const struct squad *b, const struct spread *x)
{
	return end_of(b, x, true);
}

uint64_t spread_holds(const struct squad *b, const struct spread *x)
{
	uint64_t holds = 0;
	if (spread_is_same(x))
		return x->base ? b->run.mask : 0;
	for (uint32_t i = b->run.lo; i <= b->run.hi; i++)
		holds |= (uint64_t)(spread_at(x, i) != 0) << i;
	return holds & b->run.mask;
}

int64_t spread_only(struct squad *b, const struct spread *x)
{
	if (spread_is_same(x))
		return x->base;
	int64_t least = spread_least(b, x);
	if (least != spread_greatest(b, x))
		squad_fail(b);
	return b->failed ? 0 : least;
}

/* ---- without a look at each rank ------------------------------------------------------------- */

/* Whether an even spread stays within 64 bits on all ranks of the squad. */
static bool fits(const struct spread *x)
{
	int64_t way;
	return !__builtin_mul_overflow(x->step, (int64_t)(SQUAD - 1), &way) &&
	       !__builtin_add_overflow(x->base, way, &way);
}

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* x / by or x % by, if all ranks that run have the same quotient. */
static bool divide_even(const struct squad *b, enum expr_op op, const struct spread *x, int64_t by,
			struct spread *r)
{
	if (by <= 0)
		return false;
	int64_t q = floor_divide(spread_at(x, b->run.lo), by);
	if (q != floor_divide(spread_at(x, b->run.hi), by))
		return false;
	*r = spread_same(q);
	if (op == OP_DIV)
		return true;
	*r = *x;
	return !__builtin_mul_overflow(q, by, &q) &&
	       !__builtin_sub_overflow(x->base, q, &r->base) && fits(r);
}

static bool compare(enum expr_op op, int64_t a, int64_t b)
{
	switch ((int)op) {
	case OP_EQ: return a == b;
	case OP_NE: return a != b;
	case OP_LT: return a < b;
	case OP_GT: return a > b;
	case OP_LE: return a <= b;
	default: return a >= b;
	}
}

/* Of two even spreads: where they lie on one side of each other from the first rank that runs to
 * the last. */
static bool compare_even(const struct squad *b, enum expr_op op, const struct spread *x,
			 const struct spread *y, struct spread *r)
{
	int64_t xl = spread_at(x, b->run.lo), yl = spread_at(y, b->run.lo);
	int64_t xh = spread_at(x, b->run.hi), yh = spread_at(y, b->run.hi);
	if ((xl > yl) - (xl < yl) != (xh > yh) - (xh < yh))
		return false;
	*r = spread_same(compare(op, xl, yl));
	return true;
}

/* False: rank by rank. */
static bool even(const struct squad *b, enum expr_op op, const struct spread *x,
		 const struct spread *y, struct spread *r)
{
	if (x->v || y->v)
		return false;
	*r = *x;
	if (op == OP_ADD)
		return !__builtin_add_overflow(x->base, y->base, &r->base) &&
		       !__builtin_add_overflow(x->step, y->step, &r->step) && fits(r);
	if (op == OP_SUB)
		return !__builtin_sub_overflow(x->base, y->base, &r->base) &&
		       !__builtin_sub_overflow(x->step, y->step, &r->step) && fits(r);
	if (op == OP_MUL && (x->step == 0 || y->step == 0)) {
		const struct spread *by = x->step == 0 ? x : y, *f = x->step == 0 ? y : x;
		return !__builtin_mul_overflow(f->base, by->base, &r->base) &&
		       !__builtin_mul_overflow(f->step, by->base, &r->step) && fits(r);
	}
	if ((op == OP_DIV || op == OP_MOD) && y->step == 0)
		return divide_even(b, op, x, y->base, r);
	return spread_compares(op) && compare_even(b, op, x, y, r);
}

/* ---- rank by rank ---------------------------------------------------------------------------- */

/* An operand: on rank number i it is v[i & all]. */
struct side {
	const int64_t *v;
	uint32_t all; /* 0: the same on all ranks */
};

static struct side side_of(struct squad *b, const struct spread *x)
{
	if (x->v)
		return (struct side){ x->v, UINT32_MAX };
	if (x->step == 0)
		return (struct side){ &x->base, 0 };
	int64_t *v = spread_room(b);
	for (uint32_t i = b->run.lo; i <= b->run.hi; i++)
		v[i] = spread_at(x, i);
	return (struct side){ v, UINT32_MAX };
}

static bool divide(enum expr_op op, int64_t x, int64_t y, int64_t *r)
{
	if (y > 0 && x >= 0 && x < y) { /* mostly so */
		*r = op == OP_DIV ? 0 : x;
		return true;
	}
	if (y == 0 || (op == OP_DIV && y == -1 && x == INT64_MIN))
		return false;
	if (y == -1) {
		*r = op == OP_DIV ? -x : 0;
		return true;
	}
	int64_t m = x % y;
	bool other_side = m != 0 && (m < 0) != (y < 0);
	*r = op == OP_DIV ? x / y - other_side : other_side ? m + y : m;
	return true;
}

static bool shift(enum expr_op op, int64_t x, int64_t y, int64_t *r)
{
	if (y < 0 || y > 63)
		return false;
	*r = op == OP_SHR ? x >> y : (int64_t)((uint64_t)x << y);
	return op == OP_SHR || *r >> y == x;
}

/* One rank's; false: it is a mistake. */
static inline bool one(enum expr_op op, int64_t x, int64_t y, int64_t *r)
{
	switch ((int)op) {
	case OP_ADD: return !__builtin_add_overflow(x, y, r);
	case OP_SUB: return !__builtin_sub_overflow(x, y, r);
	case OP_MUL: return !__builtin_mul_overflow(x, y, r);
	case OP_DIV:
	case OP_MOD: return divide(op, x, y, r);
	case OP_BOR: *r = x | y; return true;
	case OP_BXOR: *r = x ^ y; return true;
	case OP_BAND: *r = x & y; return true;
	case OP_SHL:
	case OP_SHR: return shift(op, x, y, r);
	default: *r = compare(op, x, y); return true;
	}
}

/* Those that programs are full of get a loop of their own. */
#define EACH(OP) \
	case OP: \
		for (uint32_t i = b->run.lo; i <= b->run.hi; i++) \
			wrong |= (uint64_t)!one(OP, x.v[i & x.all], y.v[i & y.all], &r[i]) << i; \
		break

static struct spread each(struct squad *b, enum expr_op op, struct side x, struct side y)
{
	uint64_t wrong = 0;
	int64_t *r = spread_room(b);
	switch ((int)op) {
		EACH(OP_ADD);
		EACH(OP_SUB);
		EACH(OP_BOR);
		EACH(OP_BXOR);
		EACH(OP_BAND);
		EACH(OP_MOD);
	default:
		for (uint32_t i = b->run.lo; i <= b->run.hi; i++)
			wrong |= (uint64_t)!one(op, x.v[i & x.all], y.v[i & y.all], &r[i]) << i;
	}
	if (wrong & b->run.mask)
		squad_fail(b);
	return (struct spread){ .v = r };
}

/* x % m, or x / m, where x goes up by less than m from rank to rank: without divisions. */
static struct spread divide_going(struct squad *b, enum expr_op op, const struct spread *x,
				  int64_t m)
{
	int64_t *r = spread_room(b), q = floor_divide(spread_at(x, b->run.lo), m);
	int64_t rest = spread_at(x, b->run.lo) - q * m;
	for (uint32_t i = b->run.lo; i <= b->run.hi; i++) {
		r[i] = op == OP_DIV ? q : rest;
		rest += x->step;
		if (rest >= m) {
			rest -= m;
			q++;
		} else if (rest < 0) {
			rest += m;
			q--;
		}
	}
	return (struct spread){ .v = r };
}

#define TEST(OP) \
	case OP: \
		for (uint32_t i = b->run.lo; i <= b->run.hi; i++) \
			holds |= (uint64_t)compare(OP, u.v[i & u.all], w.v[i & w.all]) << i; \
		break

uint64_t spread_compare(struct squad *b, enum expr_op op, const struct spread *x,
			const struct spread *y)
{
	uint64_t holds = 0;
	struct spread r;
	if (even(b, op, x, y, &r))
		return spread_holds(b, &r);
	struct side u = side_of(b, x), w = side_of(b, y);
	switch ((int)op) {
		TEST(OP_EQ);
		TEST(OP_NE);
		TEST(OP_LT);
		TEST(OP_GT);
		TEST(OP_LE);
		TEST(OP_GE);
	}
	return holds & b->run.mask;
}

struct spread spread_binary(struct squad *b, enum expr_op op, const struct spread *x,
			    const struct spread *y)
{
	struct spread r;
	if (even(b, op, x, y, &r))
		return r;
	if (spread_is_same(x) && spread_is_same(y)) {
		if (!one(op, x->base, y->base, &r.base))
			squad_fail(b);
		return spread_same(b->failed ? 0 : r.base);
	}
	if ((op == OP_MOD || op == OP_DIV) && !x->v && spread_is_same(y) && y->base > 0 &&
	    x->step < y->base && x->step > -y->base && y->base < INT32_MAX)
		return divide_going(b, op, x, y->base);
	return each(b, op, side_of(b, x), side_of(b, y));
}
