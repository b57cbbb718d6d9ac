/*
 * Elements, by the definition of their type: see elements.h. O(1) an element.
 */
#include "runtime/ccrun/values/elements.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool element_is_signed(const struct check *c)
{
	return c->format.is_signed && !c->format.mantissa;
}

double element_decode(const struct check *c, uint32_t bits)
{
	const struct ccs_dtype_info *f = &c->format;
	uint32_t width = (uint32_t)(f->exponent + f->mantissa);
	uint32_t mantissa = bits & ((1u << f->mantissa) - 1);
	uint32_t exponent = (bits >> f->mantissa) & ((1u << f->exponent) - 1);
	int bias = (1 << (f->exponent - 1)) - 1;
	double sign = bits >> width & 1 ? -1 : 1;

	if (c->type == CCS_FLOAT8E4M3) {
		if ((bits & 0x7f) == 0x7f)
			return (double)NAN;
	} else if (exponent == (1u << f->exponent) - 1) {
		return mantissa ? (double)NAN : sign * (double)INFINITY;
	}
	if (!exponent)
		return sign * ldexp(mantissa, 1 - bias - f->mantissa);
	return sign * ldexp(mantissa + (1u << f->mantissa), (int)exponent - bias - f->mantissa);
}

/* Bits of a number that the type holds exactly, and not as a subnormal: so does float32, of whose
 * bits they are the highest. */
static uint32_t encode(const struct check *c, double x)
{
	const struct ccs_dtype_info *f = &c->format;
	uint32_t bits, bias = (1u << (f->exponent - 1)) - 1;
	float y = (float)x;

	if (x == 0)
		return 0;
	memcpy(&bits, &y, sizeof(bits));
	return bits >> 31 << (f->exponent + f->mantissa) |
	       ((bits >> 23 & 0xff) - 127 + bias) << f->mantissa |
	       (bits & 0x7fffff) >> (23 - f->mantissa);
}

uint64_t element_bits(const unsigned char *p, size_t bytes)
{
	uint64_t x = 0;

	memcpy(&x, p, bytes); /* little-endian, as plans are */
	return x;
}

double element_float(const struct check *c, const unsigned char *p)
{
	float f;
	double d;

	if (c->type == CCS_FLOAT32) {
		memcpy(&f, p, sizeof(f));
		return f;
	}
	if (c->type == CCS_FLOAT64) {
		memcpy(&d, p, sizeof(d));
		return d;
	}
	if (c->values)
		return c->values[element_bits(p, c->format.size)];
	return element_decode(c, (uint32_t)element_bits(p, c->format.size));
}

void element_put_float(const struct check *c, unsigned char *p, double x)
{
	float f = (float)x;
	uint32_t bits;

	if (c->type == CCS_FLOAT64) {
		memcpy(p, &x, sizeof(x));
	} else if (c->type == CCS_FLOAT32) {
		memcpy(p, &f, sizeof(f));
	} else {
		bits = encode(c, x);
		memcpy(p, &bits, c->format.size);
	}
}

int64_t element_widen(const struct check *c, uint64_t bits)
{
	unsigned shift = (unsigned)(64 - 8 * c->format.size);

	return (int64_t)(bits << shift) >> shift;
}

void element_put(const struct check *c, unsigned char *p, int64_t x)
{
	if (c->format.mantissa)
		element_put_float(c, p, (double)x);
	else
		memcpy(p, &x, c->format.size);
}

/* 2^63 is no int64_t, and so is nothing that is rounded up to it. */
static bool is_whole(double x, int64_t y)
{
	return x < 0x1p63 && (int64_t)x == y;
}

bool element_holds(const struct check *c, int64_t x)
{
	size_t size = c->format.size;
	double d = (double)x;

	if (element_is_signed(c))
		return element_widen(c, (uint64_t)x) == x;
	if (!c->format.mantissa)
		return x >= 0 && element_low((uint64_t)x, size) == (uint64_t)x;
	if (size == 8)
		return is_whole(d, x);
	if (size == 4)
		return is_whole((double)(float)d, x);
	return is_whole(d, x) && element_decode(c, encode(c, d)) == d;
}

/* The type is chosen outside of loops, so that an element costs no more than its memory. */
#define PUT(TYPE) \
	for (size_t i = 0; i < n; i++) { \
		TYPE x = (TYPE)bits[i]; \
		memcpy(p + i * sizeof(x), &x, sizeof(x)); \
	}

void elements_put_bits(unsigned char *p, size_t bytes, const uint64_t *bits, size_t n)
{
	switch (bytes) {
	case 1: PUT(uint8_t) break;
	case 2: PUT(uint16_t) break;
	case 4: PUT(uint32_t) break;
	default: memcpy(p, bits, n * sizeof(*bits));
	}
}

void elements_floats(const struct check *c, const unsigned char *p, double *to, size_t n)
{
	if (c->type == CCS_FLOAT32) {
		for (size_t i = 0; i < n; i++) {
			float x;

			memcpy(&x, p + i * sizeof(x), sizeof(x));
			to[i] = x;
		}
	} else if (c->type == CCS_FLOAT64) {
		memcpy(to, p, n * sizeof(*to));
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = element_float(c, p + i * c->format.size);
	}
}

void element_text(const struct check *c, const unsigned char *p, char *text, size_t size)
{
	uint64_t bits = element_bits(p, c->format.size);

	if (c->format.mantissa)
		snprintf(text, size, "%.*g", c->format.size == 8 ? 10 : 7, element_float(c, p));
	else if (element_is_signed(c))
		snprintf(text, size, "%" PRId64, element_widen(c, bits));
	else
		snprintf(text, size, "%" PRIu64, bits);
}
