/*
 * Elements of a check's type, by the type's definition (ccs_dtype_describe): their bits, and
 * the numbers that they are.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_ELEMENTS_H
#define CCS_RUNTIME_CCRUN_VALUES_ELEMENTS_H

#include "runtime/ccrun/ccrun.h"

/** Bits that are as good as random, for what is made up. */
static inline uint64_t element_hash(uint64_t x)
{
	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/** Of an integer type with a sign. */
bool element_is_signed(const struct check *c);
/** The lowest so many bytes. */
static inline uint64_t element_low(uint64_t x, size_t bytes)
{
	return bytes == 8 ? x : x & (((uint64_t)1 << (8 * bytes)) - 1);
}
uint64_t element_bits(const unsigned char *p, size_t bytes);
/** An integer's bits, of a type with a sign, as a number. */
int64_t element_widen(const struct check *c, uint64_t bits);
/** What the bits of a float of up to 16 bits are. */
double element_decode(const struct check *c, uint32_t bits);
/** A float, of any type. */
double element_float(const struct check *c, const unsigned char *p);
/** ... which the type holds exactly, and not as a subnormal. */
void element_put_float(const struct check *c, unsigned char *p, double x);
/** A whole number, which the type holds. */
void element_put(const struct check *c, unsigned char *p, int64_t x);
/** Whether the type holds that number exactly. */
bool element_holds(const struct check *c, int64_t x);
/** n elements of so many bytes, one behind another, of these low bits. */
void elements_put_bits(unsigned char *p, size_t bytes, const uint64_t *bits, size_t n);
/** n floats that lie so, of any type. */
void elements_floats(const struct check *c, const unsigned char *p, double *to, size_t n);
/** Writes the element as a person reads it. */
void element_text(const struct check *c, const unsigned char *p, char *text, size_t size);

#endif
