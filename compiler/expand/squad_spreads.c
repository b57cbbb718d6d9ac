/*
 * Spreads: numbers on all ranks of a squad, and arithmetic on them.
 *
 * In: one or two spreads. Out: the spread of their sum, quotient ..., on each rank that runs exactly
 * as in eval.c. Ranks that do not run may have any number; a failure there is no mistake.
 *
 * A spread is even if it has no v: it is the same on all ranks, or grows by a constant from rank to
 * rank. Even results of even spreads cost O(1); other results O(ranks from the first to the last
 * that runs), in loops over whole words of a mask, which compile to vector code.
 */
#include "compiler/expand/squad.h"
#include "lang/number/number.h"

#include <string.h>

#define CHUNK 16u /* spreads that get room at once */

/* Loops over the first ranks `at` of all words with ranks that run. */
#define EACH_WORD(b, at) \
	for (uint32_t at = (b)->run.lo / WORD * WORD; at <= (b)->run.hi; at += WORD)

int64_t *spread_room(struct squad *b)
{
	if (b->used == b->npool * CHUNK)
		ARENA_PUSH(b->of->arena, b->pool, b->npool, b->cappool) =
			ARENA_ARRAY(b->of->arena, int64_t, (size_t)CHUNK * b->width);
	int64_t *room = b->pool[b->used / CHUNK] + (size_t)(b->used % CHUNK) * b->width;
	b->used++;
	return room;
}

/* ---- queries ------------------------------------------------------------------------------ */

/* The least number on the ranks that run, or the greatest one. */
static inline int64_t end_of(const struct squad *b, const struct spread *x, bool greatest)
{
	int64_t end;
	if (!spread_is_by_rank(x))
		return spread_at(x, (x->step < 0) != greatest ? b->run.hi : b->run.lo);
	end = x->v[b->run.lo];
	EACH_RANK(i, &b->run.mask)
	{
		int64_t value = x->v[i];
		end = (greatest ? value > end : value < end) ? value : end;
	}
	return end;
}

bool spread_within(const struct squad *b, const struct spread *x, int64_t end)
{
	bool within = true;
	if (!spread_is_by_rank(x))
		return end_of(b, x, false) >= 0 && end_of(b, x, true) < end;
	EACH_WORD(b, at)
	{
		uint64_t outside = 0;
		for (uint32_t i = WORD; i-- > 0;)
			outside = outside << 1 | (x->v[at + i] < 0 || x->v[at + i] >= end);
		within = within && !(outside & b->run.mask.w[at / WORD]);
	}
	return within;
}

int64_t spread_least(const struct squad *b, const struct spread *x)
{
	return end_of(b, x, false);
}

int64_t spread_greatest(const struct squad *b, const struct spread *x)
{
	return end_of(b, x, true);
}

int64_t spread_only(struct squad *b, const struct spread *x)
{
	if (spread_is_same(x))
		return x->base;
	int64_t least = spread_least(b, x);
	if (least != spread_greatest(b, x))
		squad_fail(b);
	return b->v->stopped ? 0 : least;
}

/* ---- even spreads, in O(1) ------------------------------------------------------------ */

/* Whether an even spread stays within 64 bits on all ranks of the squad. */
static inline bool fits(const struct spread *x)
{
	int64_t way;
	if (x->base == (int32_t)x->base && x->step == (int32_t)x->step) /* mostly */
		return true;
	return !__builtin_mul_overflow(x->step, (int64_t)(SQUAD - 1), &way) &&
	       !__builtin_add_overflow(x->base, way, &way);
}

/* Floor division, b > 0; fast for powers of two, which are frequent. */
static inline int64_t floor_divide(int64_t a, int64_t b)
{
	if ((b & (b - 1)) == 0)
		return a >> __builtin_ctzll((uint64_t)b);
	return a / b - (a % b < 0);
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

/* Compares two even spreads, if one is on the same side of the other on all ranks from the first to
 * the last that runs. */
static inline bool compare_even(const struct squad *b, enum expr_op op, const struct spread *x,
				const struct spread *y, struct spread *r)
{
	int64_t xl = spread_at(x, b->run.lo), yl = spread_at(y, b->run.lo);
	int64_t xh = spread_at(x, b->run.hi), yh = spread_at(y, b->run.hi);
	if ((xl > yl) - (xl < yl) != (xh > yh) - (xh < yh))
		return false;
	*r = spread_same(number_binary(op, xl, yl).value);
	return true;
}

/* x op y as an even spread; false: it must be computed rank by rank. */
static inline bool even(const struct squad *b, enum expr_op op, const struct spread *x,
			const struct spread *y, struct spread *r)
{
	if (spread_is_by_rank(x) || spread_is_by_rank(y))
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

static void fill(int64_t *v, uint64_t value, uint64_t step)
{
	if (step == 0)
		for (uint32_t i = 0; i < WORD; i++)
			v[i] = (int64_t)value;
	else
		for (uint32_t i = 0; i < WORD; i++, value += step)
			v[i] = (int64_t)value;
}

/* The numbers of all ranks of words with ranks that run: loops over whole words have no branches,
 * and compile to vector instructions. */
static const int64_t *numbers_of(struct squad *b, const struct spread *x)
{
	if (spread_is_by_rank(x))
		return x->v;
	int64_t *v = spread_room(b);
	EACH_WORD(b, at)
	fill(v + at, (uint64_t)x->base + (uint64_t)x->step * at, (uint64_t)x->step);
	return v;
}

struct spread spread_copy(const struct squad *b, int64_t *to, const struct spread *x)
{
	if (!spread_is_by_rank(x))
		return *x;
	uint32_t at = b->run.lo / WORD * WORD, end = b->run.hi / WORD * WORD + WORD;
	memmove(to + at, x->v + at, (end - at) * sizeof(*to));
	return spread_by_rank(to);
}

/* x op y on one rank; the squad fails where there is no such number. */
static inline int64_t one(struct squad *b, enum expr_op op, int64_t x, int64_t y)
{
	struct number r = number_binary(op, x, y);
	if (!r.is)
		squad_fail(b);
	return r.value;
}

/* Sums; false: one overflows. */
static bool add_all(int64_t *restrict r, const int64_t *x, const int64_t *y)
{
	uint64_t wraps = 0;
	for (uint32_t i = 0; i < WORD; i++) {
		uint64_t u = (uint64_t)x[i], w = (uint64_t)y[i], sum = u + w;
		wraps |= (u ^ sum) & (w ^ sum);
		r[i] = (int64_t)sum;
	}
	return !(wraps >> 63);
}

static bool subtract_all(int64_t *restrict r, const int64_t *x, const int64_t *y)
{
	uint64_t wraps = 0;
	for (uint32_t i = 0; i < WORD; i++) {
		uint64_t u = (uint64_t)x[i], w = (uint64_t)y[i], rest = u - w;
		wraps |= (u ^ w) & (u ^ rest);
		r[i] = (int64_t)rest;
	}
	return !(wraps >> 63);
}

/* x % m, if all x are near 0 .. m - 1, the common case; false: some are not. */
static bool modulo_all(int64_t *restrict r, const int64_t *x, int64_t m)
{
	uint64_t far = 0, over = (uint64_t)m;
	for (uint32_t i = 0; i < WORD; i++) {
		uint64_t u = (uint64_t)x[i];
		u -= x[i] >= m ? over : 0;
		u += x[i] < 0 ? over : 0;
		far |= u >= over;
		r[i] = (int64_t)u;
	}
	return !far;
}

#define EACH(OP, WHAT) \
	case OP: \
		for (uint32_t i = 0; i < WORD; i++) \
			r[i] = WHAT; \
		return true

/* x op y for whole words; false: it fails on some rank, perhaps on one that does not run. */
static bool all_at_once(enum expr_op op, int64_t *restrict r, const int64_t *x, const int64_t *y)
{
	switch ((int)op) {
		EACH(OP_BOR, x[i] | y[i]);
		EACH(OP_BXOR, x[i] ^ y[i]);
		EACH(OP_BAND, x[i] & y[i]);
	case OP_ADD: return add_all(r, x, y);
	case OP_SUB: return subtract_all(r, x, y);
	}
	return false;
}

static struct spread each(struct squad *b, enum expr_op op, const struct spread *u,
			  const struct spread *w)
{
	const int64_t *x = numbers_of(b, u), *y = numbers_of(b, w);
	int64_t *r = spread_room(b);
	bool by_one = op == OP_MOD && spread_is_same(w) && w->base > 0;
	EACH_WORD(b, at)
	{
		bool known = by_one ? modulo_all(r + at, x + at, w->base)
				    : all_at_once(op, r + at, x + at, y + at);
		for (uint64_t m = known ? 0 : b->run.mask.w[at / WORD]; m; m &= m - 1) {
			uint32_t i = at + (uint32_t)__builtin_ctzll(m);
			r[i] = one(b, op, x[i], y[i]);
		}
	}
	return spread_by_rank(r);
}

/* x % m, or x / m, for a power of two: the lower bits, or the upper ones. */
static struct spread divide_bits(struct squad *b, enum expr_op op, const struct spread *x,
				 int64_t m)
{
	const int64_t *v = numbers_of(b, x);
	int64_t *r = spread_room(b), low = m - 1;
	int bits = __builtin_ctzll((uint64_t)m);
	EACH_WORD(b, at)
	{
		for (uint32_t i = 0; i < WORD && op == OP_MOD; i++)
			r[at + i] = v[at + i] & low;
		for (uint32_t i = 0; i < WORD && op == OP_DIV; i++)
			r[at + i] = v[at + i] >> bits;
	}
	return spread_by_rank(r);
}

/* x % m, or x / m, where x grows by less than m from rank to rank: without divisions. */
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
	return spread_by_rank(r);
}

#define TEST(OP, IS) \
	case OP: \
		for (uint32_t i = WORD; i-- > 0;) \
			holds = holds << 1 | (u[i] IS(w ? w[i] : value)); \
		break

/* Compares a word of ranks with w[i], or, if w is NULL, with one value; bit i is for rank i. */
static inline __attribute__((always_inline)) uint64_t compare_word(enum expr_op op,
								   const int64_t *u,
								   const int64_t *w, int64_t value)
{
	uint64_t holds = 0;
	switch ((int)op) {
		TEST(OP_EQ, ==);
		TEST(OP_NE, !=);
		TEST(OP_LT, <);
		TEST(OP_GT, >);
		TEST(OP_LE, <=);
		TEST(OP_GE, >=);
	}
	return holds;
}

struct mask spread_compare(struct squad *b, enum expr_op op, const struct spread *x,
			   const struct spread *y)
{
	struct mask holds = mask_none();
	struct spread r;
	if (even(b, op, x, y, &r))
		return r.base ? b->run.mask : holds;
	bool with_one = spread_is_same(y);
	const int64_t *u = numbers_of(b, x), *w = with_one ? NULL : numbers_of(b, y);
	EACH_WORD(b, at)
	{
		uint64_t bits = with_one ? compare_word(op, u + at, NULL, y->base)
					 : compare_word(op, u + at, w + at, 0);
		holds.w[at / WORD] = bits & b->run.mask.w[at / WORD];
	}
	return holds;
}

struct spread spread_blend(struct squad *b, const struct mask *first, const struct spread *x,
			   const struct spread *y)
{
	const int64_t *u = numbers_of(b, x), *w = numbers_of(b, y);
	int64_t *r = spread_room(b);
	EACH_WORD(b, at)
	{
		uint64_t bits = first->w[at / WORD];
		for (uint32_t i = at; i < at + WORD; i++, bits >>= 1)
			r[i] = bits & 1 ? u[i] : w[i];
	}
	return spread_by_rank(r);
}

/* Whether `x op 0` is x. */
static bool leaves(enum expr_op op)
{
	return op == OP_ADD || op == OP_SUB || op == OP_BOR || op == OP_BXOR || op == OP_SHL ||
	       op == OP_SHR;
}

struct spread spread_binary(struct squad *b, enum expr_op op, const struct spread *x,
			    const struct spread *y)
{
	struct spread r;
	if (even(b, op, x, y, &r))
		return r;
	if (spread_is_same(y) && y->base == 0 && leaves(op))
		return *x;
	if ((op == OP_MOD || op == OP_DIV) && spread_is_same(y) && y->base > 0) {
		int64_t m = y->base;
		if ((m & (m - 1)) == 0)
			return divide_bits(b, op, x, m);
		if (!spread_is_by_rank(x) && x->step < m && x->step > -m && m < INT32_MAX)
			return divide_going(b, op, x, m);
	}
	return each(b, op, x, y);
}

struct spread spread_unary(struct squad *b, enum expr_op op, const struct spread *x)
{
	const struct spread zero = spread_same(0), all = spread_same(-1);
	return op == OP_COMPL ? spread_binary(b, OP_BXOR, x, &all)
			      : spread_binary(b, OP_SUB, &zero, x);
}

struct spread spread_function(struct squad *b, enum builtin f, const struct spread *x)
{
	int64_t *r = spread_room(b);
	EACH_RANK(i, &b->run.mask)
	{
		struct number y = number_function(f, spread_at(x, i));
		if (!y.is)
			squad_fail(b);
		r[i] = y.value;
	}
	return spread_by_rank(r);
}

struct spread spread_entry(struct squad *b, const int64_t *entries, uint32_t n,
			   const struct spread *x)
{
	int64_t *r = spread_room(b);
	bool within = spread_within(b, x, n);
	if (!within)
		squad_fail(b);
	EACH_RANK(i, &b->run.mask)
	r[i] = within ? entries[spread_at(x, i)] : 0;
	return spread_by_rank(r);
}

struct spread spread_end(struct squad *b, bool least, const struct spread *x,
			 const struct spread *y)
{
	struct mask second = spread_compare(b, least ? OP_LT : OP_GE, y, x);
	if (mask_is(&second, &b->run.mask) || !mask_any(&second))
		return mask_any(&second) ? *y : *x;
	return spread_blend(b, &second, y, x);
}
