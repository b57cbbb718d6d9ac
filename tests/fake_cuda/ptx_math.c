/*
 * What instructions of PTX compute from values. See ptx.h.
 */
#include "tests/fake_cuda/ptx.h"

#include <math.h>
#include <string.h>

uint64_t ptx_narrow(uint64_t v, struct ptx_type type)
{
	return type.bytes == 8 ? v : v & ((UINT64_C(1) << 8 * type.bytes) - 1);
}

static int64_t wide(uint64_t v, struct ptx_type type)
{
	switch (type.bytes) {
	case 1: return (int8_t)v;
	case 2: return (int16_t)v;
	case 4: return (int32_t)v;
	default: return (int64_t)v;
	}
}

/* A number as its type has it: signed ones are extended. */
uint64_t ptx_number(uint64_t v, struct ptx_type type)
{
	return type.kind == 's' ? (uint64_t)wide(v, type) : ptx_narrow(v, type);
}

static double real(uint64_t v, struct ptx_type type)
{
	uint32_t low = (uint32_t)v;
	float f;
	double d;

	if (type.bytes == 4) {
		memcpy(&f, &low, sizeof(f));
		return f;
	}
	memcpy(&d, &v, sizeof(d));
	return d;
}

static uint64_t bits(double d, struct ptx_type type)
{
	float f = (float)d;
	uint32_t low;
	uint64_t v;

	if (type.bytes == 4) {
		memcpy(&low, &f, sizeof(low));
		return low;
	}
	memcpy(&v, &d, sizeof(v));
	return v;
}

static bool compared(enum ptx_compare what, bool less, bool equal)
{
	switch (what) {
	case C_EQ: return equal;
	case C_NE: return !equal;
	case C_LT: return less;
	case C_LE: return less || equal;
	case C_GT: return !less && !equal;
	case C_GE: return !less;
	case C_NUM: return true;
	case C_NAN: return false;
	}
	return false;
}

static bool compare(const struct ptx_insn *i, uint64_t a, uint64_t b)
{
	enum ptx_compare what = (enum ptx_compare)i->what;

	if (i->type.kind == 'f') {
		double x = real(a, i->type), y = real(b, i->type);

		return isnan(x) || isnan(y) ? i->unordered : compared(what, x < y, x == y);
	}
	a = ptx_number(a, i->type);
	b = ptx_number(b, i->type);
	return compared(what, i->type.kind == 's' ? (int64_t)a < (int64_t)b : a < b, a == b);
}

/* The upper half of a product of 64 bits. */
static uint64_t upper(uint64_t a, uint64_t b)
{
	uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
	uint64_t middle = ah * bl + (al * bl >> 32), low = (uint32_t)middle + al * bh;

	return ah * bh + (middle >> 32) + (low >> 32);
}

static uint64_t high(uint64_t a, uint64_t b, struct ptx_type type)
{
	bool is_signed = type.kind == 's';

	if (type.bytes < 8)
		return is_signed ? (uint64_t)(((int64_t)a * (int64_t)b) >> 8 * type.bytes)
				 : a * b >> 8 * type.bytes;
	return upper(a, b) - (is_signed && (int64_t)a < 0 ? b : 0) -
	       (is_signed && (int64_t)b < 0 ? a : 0);
}

static double reals(const struct ptx_insn *i, double a, double b, double c)
{
	bool one = i->type.bytes == 4; /* rounded once, not twice */

	switch ((int)i->op) {
	case P_ADD: return one ? (double)((float)a + (float)b) : a + b;
	case P_SUB: return one ? (double)((float)a - (float)b) : a - b;
	case P_MUL: return one ? (double)((float)a * (float)b) : a * b;
	case P_DIV: return one ? (double)((float)a / (float)b) : a / b;
	case P_MAX: return isnan(a) ? b : isnan(b) || a > b ? a : b;
	case P_MIN: return isnan(a) ? b : isnan(b) || a < b ? a : b;
	case P_NEG: return -a;
	case P_ABS: return fabs(a);
	default: return one ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
	}
}

static uint64_t whole(const struct ptx_insn *i, uint64_t a, uint64_t b, uint64_t c,
		      const char **why)
{
	bool is_signed = i->type.kind == 's', less = is_signed ? (int64_t)a < (int64_t)b : a < b;
	uint64_t product = i->what == F_HI ? high(a, b, i->type) : a * b;

	switch ((int)i->op) {
	case P_ADD: return a + b;
	case P_SUB: return a - b;
	case P_MUL: return product;
	case P_MAD: return product + c;
	case P_MAX: return less ? b : a;
	case P_MIN: return less ? a : b;
	case P_NEG: return 0 - a;
	case P_ABS: return (int64_t)a < 0 ? 0 - a : a;
	case P_DIV:
	case P_REM: break;
	default: *why = "an operation that whole numbers do not have"; return 0;
	}
	if (!b || (is_signed && (int64_t)b == -1 && (int64_t)a == INT64_MIN)) {
		*why = "a division by zero";
		return 0;
	}
	if (is_signed)
		return (uint64_t)(i->op == P_DIV ? (int64_t)a / (int64_t)b
						 : (int64_t)a % (int64_t)b);
	return i->op == P_DIV ? a / b : a % b;
}

/* Shifts by more than there are bits are by as many. */
static uint64_t shift(const struct ptx_insn *i, uint64_t a, uint64_t by)
{
	unsigned n = 8u * i->type.bytes;

	by = (uint32_t)by;
	if (i->op == P_SHL)
		return by < n ? a << by : 0;
	if (i->type.kind == 's')
		return (uint64_t)(wide(a, i->type) >> (by < n ? by : n - 1));
	return by < n ? ptx_narrow(a, i->type) >> by : 0;
}

static uint64_t convert(const struct ptx_insn *i, uint64_t a)
{
	struct ptx_type to = i->type, from = i->from.bytes ? i->from : i->type;

	if (to.kind != 'f' && from.kind != 'f')
		return ptx_number(ptx_number(a, from), to);
	if (to.kind == 'f' && from.kind == 'f')
		return bits(real(a, from), to);
	if (to.kind != 'f')
		return ptx_number((uint64_t)(int64_t)real(a, from), to);
	a = ptx_number(a, from);
	if (to.bytes == 4) /* rounded once */
		return bits(from.kind == 's' ? (double)(float)(int64_t)a : (double)(float)a, to);
	return bits(from.kind == 's' ? (double)(int64_t)a : (double)a, to);
}

/* The bytes that c's digits choose of those of a and b. */
static uint64_t permuted(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t all = ptx_narrow(a, (struct ptx_type){ 'b', 4, 1 }) | b << 32, to = 0;

	for (unsigned k = 0; k < 4; k++) {
		uint64_t digit = c >> 4 * k & 15, byte = all >> 8 * (digit & 7) & 255;

		if (digit & 8)
			byte = byte & 128 ? 255 : 0;
		to |= byte << 8 * k;
	}
	return to;
}

/* b's low bits into a, from bit c on, d of them; or those of a, as a number. */
static uint64_t field(const struct ptx_insn *i, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	unsigned n = 8u * i->type.bytes;
	uint64_t mask;

	if (i->op == P_BFI) {
		c &= 255;
		d &= 255;
		mask = d < 64 ? (UINT64_C(1) << d) - 1 : UINT64_MAX;
		return c >= n ? b : (b & ~(mask << c)) | (a & mask) << c;
	}
	b &= 255;
	c &= 255;
	mask = c < 64 ? (UINT64_C(1) << c) - 1 : UINT64_MAX;
	a = b < n ? ptx_narrow(a, i->type) >> b & mask : 0;
	if (i->type.kind == 's' && c && c < 64 && a >> (c - 1) & 1)
		a |= ~mask;
	return a;
}

uint64_t ptx_compute(const struct ptx_insn *i, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		     const char **why)
{
	struct ptx_type type = i->type, result = type;
	uint64_t v;

	if (ptx_is_small(type) || ptx_is_small(i->from))
		return ptx_compute_small(i, a, b, c, why);
	switch ((int)i->op) {
	case P_AND: v = a & b; break;
	case P_OR: v = a | b; break;
	case P_XOR: v = a ^ b; break;
	case P_NOT: v = type.kind == 'p' ? !a : ~a; break;
	case P_SHL:
	case P_SHR: v = shift(i, a, b); break;
	case P_SETP: return compare(i, a, b);
	case P_SELP: v = c ? a : b; break;
	case P_CVTA: v = a; break;
	case P_CVT: v = convert(i, a); break;
	case P_PRMT: v = permuted(a, b, c); break;
	case P_BFI:
	case P_BFE: v = field(i, a, b, c, d); break;
	default:
		if (type.kind == 'f')
			v = bits(reals(i, real(a, type), real(b, type), real(c, type)), type);
		else
			v = whole(i, ptx_number(a, type), ptx_number(b, type), c, why);
		if ((i->op == P_MUL || i->op == P_MAD) && i->what == F_WIDE)
			result.bytes = (uint8_t)(2 * type.bytes);
		break;
	}
	return ptx_narrow(v, result);
}
