/*
 * Operators on numbers: see number.h. O(1) each.
 */
#include "lang/number/number.h"
#include "lang/lang.h"

#include <inttypes.h>

static const struct number none = { .is = false };

struct number number_divide(int64_t a, int64_t b)
{
	if (b == 0 || (b == -1 && a == INT64_MIN))
		return none;
	return (struct number){ a / b - (a % b != 0 && (a < 0) != (b < 0)), true };
}

struct number number_modulo(int64_t a, int64_t b)
{
	int64_t m;

	if (b == 0)
		return none;
	m = b == -1 ? 0 : a % b; /* INT64_MIN % -1 would trap */
	return (struct number){ m != 0 && (m < 0) != (b < 0) ? m + b : m, true };
}

struct number number_shift(enum expr_op op, int64_t a, int64_t b)
{
	int64_t r;

	if (b < 0 || b > 63)
		return none;
	r = op == OP_SHR ? a >> b : (int64_t)((uint64_t)a << b);
	return (struct number){ r, op == OP_SHR || r >> b == a };
}

struct number number_function(enum builtin f, int64_t a)
{
	uint64_t u = (uint64_t)a;
	bool some = a != 0;

	switch ((int)f) {
	case BUILTIN_ABS: return (struct number){ a < 0 ? (int64_t)(0 - u) : a, a != INT64_MIN };
	case BUILTIN_ISPOW2: return (struct number){ a > 0 && (a & (a - 1)) == 0, true };
	case BUILTIN_POPCOUNT: return (struct number){ __builtin_popcountll(u), true };
	case BUILTIN_CTZ: return (struct number){ some ? __builtin_ctzll(u) : 0, some };
	default: break;
	}
	if (a < 1)
		return none;
	if (f == BUILTIN_ILOG2)
		return (struct number){ 63 - __builtin_clzll(u), true };
	return (struct number){ a == 1 ? 0 : 64 - __builtin_clzll(u - 1), true };
}

void number_fault(char text[NUMBER_TEXT], const struct expr *e, int64_t a, int64_t b)
{
	if (e->kind == E_UNARY)
		snprintf(text, NUMBER_TEXT, "overflow: the negated number needs more than 64 bits");
	else if (e->builtin == BUILTIN_ABS)
		snprintf(text, NUMBER_TEXT, "overflow: abs needs more than 64 bits");
	else if (e->builtin == BUILTIN_CTZ)
		snprintf(text, NUMBER_TEXT, "ctz(0) has no value");
	else if (e->kind == E_CALL)
		snprintf(text, NUMBER_TEXT, "%s(%" PRId64 "): the argument must be at least 1",
			 e->name.name, a);
	else if (b == 0 && (e->op == OP_DIV || e->op == OP_MOD))
		snprintf(text, NUMBER_TEXT, "division by zero: %" PRId64 " %s 0", a,
			 lang_op_text(e->op));
	else if ((e->op == OP_SHL || e->op == OP_SHR) && (b < 0 || b > 63))
		snprintf(text, NUMBER_TEXT, "shift by %" PRId64 ": must be 0..63", b);
	else
		snprintf(text, NUMBER_TEXT,
			 "overflow: %" PRId64 " %s %" PRId64 " needs more than 64 bits", a,
			 lang_op_text(e->op), b);
}
