/*
 * Evaluating an expression of --fill: see formula.h. O(steps), without allocation.
 */
#include "runtime/ccrun/values/formula.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* An evaluation: the step at hand, and what went wrong. */
struct evaluation {
	const struct formula_step *at;
	struct formula_fault *fault;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static int64_t fail(struct evaluation *v, const char *format,
							  ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(v->fault->text, sizeof(v->fault->text), format, ap);
	va_end(ap);
	v->fault->from = v->at->from;
	v->fault->to = v->at->to;
	v->failed = true;
	return 0;
}

static int64_t overflow(struct evaluation *v, int64_t a, const char *op, int64_t b)
{
	return fail(v, "overflow: %" PRId64 " %s %" PRId64 " needs more than 64 bits", a, op, b);
}

/* ---- operators ------------------------------------------------------------------------ */

/* Rounded down, as in the language. */
static int64_t divide(struct evaluation *v, int64_t a, int64_t b)
{
	if (b == 0)
		return fail(v, "division by zero: %" PRId64 " / 0", a);
	if (b == -1 && a == INT64_MIN)
		return overflow(v, a, "/", b);
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t modulo(struct evaluation *v, int64_t a, int64_t b)
{
	int64_t m;

	if (b == 0)
		return fail(v, "division by zero: %" PRId64 " %% 0", a);
	if (b == -1)
		return 0;
	m = a % b;
	return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static int64_t shift(struct evaluation *v, int64_t a, int64_t b)
{
	int64_t r;

	if (b < 0 || b > 63)
		return fail(v, "shift by %" PRId64 ": must be 0..63", b);
	if (v->at->action == STEP_SHR)
		return a >> b;
	r = (int64_t)((uint64_t)a << b);
	return r >> b == a ? r : overflow(v, a, "<<", b);
}

static int64_t logarithm(struct evaluation *v, int64_t a)
{
	bool up = v->at->action == STEP_CLOG2;

	if (a < 1)
		return fail(v, "%s(%" PRId64 "): the argument must be at least 1",
			    up ? "clog2" : "ilog2", a);
	if (up)
		return a == 1 ? 0 : 64 - __builtin_clzll((uint64_t)a - 1);
	return 63 - __builtin_clzll((uint64_t)a);
}

static int64_t unary(struct evaluation *v, int64_t a)
{
	switch ((int)v->at->action) {
	case STEP_IS_TRUE: return a != 0;
	case STEP_NOT: return !a;
	case STEP_COMPLEMENT: return ~a;
	case STEP_ISPOW2: return a > 0 && (a & (a - 1)) == 0;
	case STEP_POPCOUNT: return __builtin_popcountll((uint64_t)a);
	case STEP_CTZ: return a ? __builtin_ctzll((uint64_t)a) : fail(v, "ctz(0) has no value");
	case STEP_ILOG2:
	case STEP_CLOG2: return logarithm(v, a);
	default: break;
	}
	if (a == INT64_MIN)
		return fail(v, "overflow: the negated number needs more than 64 bits");
	return v->at->action == STEP_ABS && a >= 0 ? a : -a;
}

static int64_t binary(struct evaluation *v, int64_t a, int64_t b)
{
	int64_t r;

	switch ((int)v->at->action) {
	case STEP_MIN: return a < b ? a : b;
	case STEP_MAX: return a > b ? a : b;
	case STEP_OR: return a | b;
	case STEP_XOR: return a ^ b;
	case STEP_AND: return a & b;
	case STEP_EQ: return a == b;
	case STEP_NE: return a != b;
	case STEP_LT: return a < b;
	case STEP_LE: return a <= b;
	case STEP_GT: return a > b;
	case STEP_GE: return a >= b;
	case STEP_ADD: return __builtin_add_overflow(a, b, &r) ? overflow(v, a, "+", b) : r;
	case STEP_SUB: return __builtin_sub_overflow(a, b, &r) ? overflow(v, a, "-", b) : r;
	case STEP_MUL: return __builtin_mul_overflow(a, b, &r) ? overflow(v, a, "*", b) : r;
	case STEP_DIV: return divide(v, a, b);
	case STEP_MOD: return modulo(v, a, b);
	default: return shift(v, a, b);
	}
}

/* ---- steps ---------------------------------------------------------------------------- */

bool formula_value(const struct formula *f, const int64_t names[FORMULA_NAMES], int64_t *value,
		   struct formula_fault *fault)
{
	struct evaluation v = { .fault = fault };
	int64_t *top = f->stack; /* behind the last number */
	size_t i = 0;

	while (i < f->nsteps && !v.failed) {
		const struct formula_step *s = v.at = f->steps + i++;

		if (s->action == STEP_NUMBER) {
			*top++ = s->operand;
		} else if (s->action == STEP_NAME) {
			*top++ = names[s->operand];
		} else if (s->action == STEP_JUMP) {
			i = (size_t)s->operand;
		} else if (s->action == STEP_JUMP_UNLESS) {
			i = *--top ? i : (size_t)s->operand;
		} else if (s->action < STEP_MIN) {
			top[-1] = unary(&v, top[-1]);
		} else {
			top--;
			top[-1] = binary(&v, top[-1], *top);
		}
	}
	*value = v.failed ? 0 : top[-1];
	return !v.failed;
}

void formula_free(struct formula *f)
{
	if (!f)
		return;
	free(f->steps);
	free(f->stack);
	free(f);
}
