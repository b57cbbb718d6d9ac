/*
 * Operators and built-in functions on numbers of the language (ccs(5) 3): 64 bits, without
 * wrapping; division and modulo round down.
 *
 * A result is a struct number, which fits in two registers: operators run once for each operation
 * of each rank. number_fault gives the reason of a result that is none.
 */
#ifndef CCS_LANG_NUMBER_NUMBER_H
#define CCS_LANG_NUMBER_NUMBER_H

#include "lang/ast.h"

struct number {
	int64_t value;
	bool is; /* false: there is no such number */
};

#define NUMBER_TEXT 100 /* bytes of the longest reason */

/* Rarely needed, and so not inlined. */
struct number number_divide(int64_t a, int64_t b);
struct number number_modulo(int64_t a, int64_t b);
struct number number_shift(enum expr_op op, int64_t a, int64_t b);

/** !a, ~a, -a */
static inline struct number number_unary(enum expr_op op, int64_t a)
{
	if (op == OP_NEG)
		return (struct number){ (int64_t)(0 - (uint64_t)a), a != INT64_MIN };
	return (struct number){ op == OP_NOT ? !a : ~a, true };
}

/** a op b, also for && and ||, of which both operands are evaluated. */
static inline __attribute__((always_inline)) struct number number_binary(enum expr_op op, int64_t a,
									 int64_t b)
{
	struct number r = { .is = true };

	switch ((int)op) {
	case OP_ADD: r.is = !__builtin_add_overflow(a, b, &r.value); break;
	case OP_SUB: r.is = !__builtin_sub_overflow(a, b, &r.value); break;
	case OP_MUL: r.is = !__builtin_mul_overflow(a, b, &r.value); break;
	case OP_MOD: /* a is mostly within b of the range */
		r.value = b > 0 && a < 0 ? a + b : a;
		return r.value >= 0 && r.value < b ? r : number_modulo(a, b);
	case OP_DIV: return number_divide(a, b);
	case OP_OR: r.value = a || b; break;
	case OP_AND: r.value = a && b; break;
	case OP_BOR: r.value = a | b; break;
	case OP_BXOR: r.value = a ^ b; break;
	case OP_BAND: r.value = a & b; break;
	case OP_EQ: r.value = a == b; break;
	case OP_NE: r.value = a != b; break;
	case OP_LT: r.value = a < b; break;
	case OP_GT: r.value = a > b; break;
	case OP_LE: r.value = a <= b; break;
	case OP_GE: r.value = a >= b; break;
	default: return number_shift(op, a, b);
	}
	return r;
}

/** A built-in function of one number. */
struct number number_function(enum builtin f, int64_t a);

/** Why this operation on a (and b, of two operands) has no result. */
void number_fault(char text[NUMBER_TEXT], const struct expr *e, int64_t a, int64_t b);

#endif
