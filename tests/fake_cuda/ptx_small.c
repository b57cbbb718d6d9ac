/*
 * What instructions of PTX compute from floats of 16 and 8 bits. See ptx.h.
 *
 * A value is a double, which all of them are exactly. What an operation gives is exact, too, or
 * rounded to odd, so that rounding it to the type's digits is as if it were exact (Boldo and
 * Melquiond). Rounding, to nearest and even, is done on the value, not on bits: nothing here is
 * shared with the code that is judged by it. Not a number is written in one way, as GPUs do.
 *
 * Source: PTX ISA 9.0, 5.2.3 and 9.7.3; OCP's OFP8.
 */
#include "tests/fake_cuda/ptx.h"

#include <math.h>
#include <string.h>

struct format {
	char kind;
	unsigned bits, mantissa;
	int least; /* exponent of the least normal number */
	double most;
	unsigned largest, nan, infinity; /* infinity 0: there is none */
};

static const struct format formats[] = {
	{ 'f', 16, 10, -14, 65504, 0x7bff, 0x7fff, 0x7c00 },
	{ 'B', 16, 7, -126, 0x1.fep127, 0x7f7f, 0x7fff, 0x7f80 },
	{ 'X', 8, 3, -6, 448, 0x7e, 0x7f, 0 },
	{ 'Y', 8, 2, -14, 57344, 0x7b, 0x7f, 0x7c },
};

bool ptx_is_small(struct ptx_type type)
{
	return type.kind == 'B' || type.kind == 'X' || type.kind == 'Y' ||
	       (type.kind == 'f' && (type.lanes > 1 || type.bytes < 4));
}

/* NULL: a float of 32 or 64 bits. */
static const struct format *format_of(struct ptx_type type)
{
	for (size_t i = 0; ptx_is_small(type) && i < sizeof(formats) / sizeof(*formats); i++)
		if (formats[i].kind == type.kind)
			return formats + i;
	return NULL;
}

static double from_bits(const struct format *f, unsigned bits)
{
	unsigned sign = bits >> (f->bits - 1), rest = bits & ((1u << (f->bits - 1)) - 1);
	unsigned field = rest >> f->mantissa, part = rest & ((1u << f->mantissa) - 1);
	double v = field ? ldexp((1u << f->mantissa) + part, (int)field - 1) : part;

	v = ldexp(v, f->least - (int)f->mantissa);
	if (f->infinity ? rest > f->infinity : rest == f->nan)
		v = NAN;
	else if (f->infinity && rest == f->infinity)
		v = INFINITY;
	return sign ? -v : v;
}

static unsigned to_bits(const struct format *f, double v, bool saturates)
{
	unsigned sign = (unsigned)!!signbit(v) << (f->bits - 1), whole;
	double a = fabs(v);
	int exponent;

	if (isnan(v))
		return f->nan;
	exponent = a > 0 && !isinf(a) && ilogb(a) > f->least ? ilogb(a) : f->least;
	if (!isinf(a)) /* in units of its last digit; that may be one more than there is room for */
		a = ldexp(nearbyint(ldexp(a, (int)f->mantissa - exponent)),
			  exponent - (int)f->mantissa);
	if (a > f->most)
		return sign | (saturates || !f->infinity ? f->largest : f->infinity);
	if (a < ldexp(1, f->least))
		return sign | (unsigned)ldexp(a, (int)f->mantissa - f->least);
	exponent = ilogb(a);
	whole = (unsigned)ldexp(a, (int)f->mantissa - exponent) - (1u << f->mantissa);
	return sign | (unsigned)(exponent - f->least + 1) << f->mantissa | whole;
}

/* x + y, of which nothing is lost that rounding once more would need. */
static double odd_sum(double x, double y)
{
	double s = x + y, part = s - x, lost = (x - (s - part)) + (y - part);
	uint64_t bits;

	memcpy(&bits, &s, sizeof(bits));
	if (isnan(s) || isinf(s) || lost == 0 || bits & 1)
		return s;
	return nextafter(s, lost > 0 ? INFINITY : -INFINITY);
}

static double operate(const struct ptx_insn *i, double a, double b, double c, const char **why)
{
	switch ((int)i->op) {
	case P_ADD: return odd_sum(a, b);
	case P_SUB: return odd_sum(a, -b);
	case P_MUL: return a * b; /* exact, as is the product below */
	case P_FMA: return odd_sum(a * b, c);
	case P_CVT: return a;
	default: *why = "an operation that small floats do not have"; return 0;
	}
}

static double value(const struct format *f, struct ptx_type type, uint64_t v, unsigned lane)
{
	uint32_t low = (uint32_t)v;
	float one;
	double d;

	if (f)
		return from_bits(f, (unsigned)(v >> lane * f->bits) & ((1u << f->bits) - 1));
	memcpy(&one, &low, sizeof(one));
	memcpy(&d, &v, sizeof(d));
	return type.bytes == 4 ? one : d;
}

uint64_t ptx_compute_small(const struct ptx_insn *i, uint64_t a, uint64_t b, uint64_t c,
			   const char **why)
{
	struct ptx_type from = i->from.bytes ? i->from : i->type;
	const struct format *in = format_of(from), *out = format_of(i->type);
	uint64_t to = 0, bits;

	if (!strchr("fBXY", from.kind) || !strchr("fBXY", i->type.kind))
		*why = "small floats and whole numbers";
	for (unsigned lane = 0; lane < i->type.lanes && !*why; lane++) {
		bool apart = i->type.lanes > from.lanes; /* b is the lower lane's */
		double v = operate(i, value(in, from, apart && !lane ? b : a, apart ? 0 : lane),
				   value(in, from, b, lane), value(in, from, c, lane), why);
		float one = (float)v;

		if (out) {
			to |= (uint64_t)to_bits(out, v, i->what) << lane * out->bits;
		} else if (i->type.bytes == 4) {
			uint32_t low;

			memcpy(&low, &one, sizeof(low));
			to = low;
		} else {
			memcpy(&bits, &v, sizeof(bits));
			to = bits;
		}
	}
	return to;
}
