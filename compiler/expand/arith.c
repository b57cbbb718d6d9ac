/*
 * The language's arithmetic: 64 bits, never a wrap; floor division and modulo.
 * Folding (code_expr.c) and running (cursor.c) share it. ccs(5) 3.
 */
#include "compiler/expand/code.h"

enum fail arith_unary(enum insn_op op, int64_t a, int64_t *r)
{
	uint64_t u = (uint64_t)a;
	switch ((int)op) {
	case I_NOT: *r = !a; return FAIL_NONE;
	case I_COMPL: *r = ~a; return FAIL_NONE;
	case I_NEG: return __builtin_sub_overflow((int64_t)0, a, r) ? FAIL_OVERFLOW : FAIL_NONE;
	case I_BOOL: *r = a != 0; return FAIL_NONE;
	case I_ABS: *r = a; return a >= 0 ? FAIL_NONE : arith_unary(I_NEG, a, r);
	case I_ILOG2:
		if (a < 1)
			return FAIL_LOG;
		*r = 63 - __builtin_clzll(u);
		return FAIL_NONE;
	case I_CLOG2:
		if (a < 1)
			return FAIL_LOG;
		*r = a == 1 ? 0 : 64 - __builtin_clzll(u - 1);
		return FAIL_NONE;
	case I_ISPOW2: *r = a > 0 && (u & (u - 1)) == 0; return FAIL_NONE;
	case I_POPCOUNT: *r = __builtin_popcountll(u); return FAIL_NONE;
	default: /* I_CTZ */
		if (a == 0)
			return FAIL_CTZ;
		*r = __builtin_ctzll(u);
		return FAIL_NONE;
	}
}

enum fail arith_binary(enum insn_op op, int64_t a, int64_t b, int64_t *r)
{
	bool over = false;
	*r = 0;
	switch ((int)op) {
	case I_ADD: over = __builtin_add_overflow(a, b, r); break;
	case I_SUB: over = __builtin_sub_overflow(a, b, r); break;
	case I_MUL: over = __builtin_mul_overflow(a, b, r); break;
	case I_DIV: return arith_div(a, b, r);
	case I_MOD: return arith_mod(a, b, r);
	case I_SHL: return arith_shl(a, b, r);
	case I_SHR: return arith_shr(a, b, r);
	case I_BAND: *r = a & b; break;
	case I_BOR: *r = a | b; break;
	case I_BXOR: *r = a ^ b; break;
	case I_EQ: *r = a == b; break;
	case I_NE: *r = a != b; break;
	case I_LT: *r = a < b; break;
	case I_LE: *r = a <= b; break;
	case I_MIN: *r = a < b ? a : b; break;
	default: /* I_MAX */ *r = a > b ? a : b; break;
	}
	return over ? FAIL_OVERFLOW : FAIL_NONE;
}
