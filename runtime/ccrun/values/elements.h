/*
 * Elements of a check's type, by the type's definition (ccs_dtype_describe): bits, and numbers.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_ELEMENTS_H
#define CCS_RUNTIME_CCRUN_VALUES_ELEMENTS_H

#include "runtime/ccrun/ccrun.h"

/** Pseudo-random bits, for generated inputs. */
static inline uint64_t element_hash(uint64_t x)
{
	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/** Whether it is a signed integer type. */
bool element_is_signed(const struct check *c);
/** The lowest `bytes` bytes. */
static inline uint64_t element_low(uint64_t x, size_t bytes)
{
	return bytes == 8 ? x : x & (((uint64_t)1 << (8 * bytes)) - 1);
}
uint64_t element_bits(const unsigned char *p, size_t bytes);
/** The value of a signed integer's bits. */
int64_t element_widen(const struct check *c, uint64_t bits);
/** The value of a float of up to 16 bits. */
double element_decode(const struct check *c, uint32_t bits);
/** The value of a float of any type. */
double element_float(const struct check *c, const unsigned char *p);
/** Stores a number that the type holds exactly, as a normal number. */
void element_put_float(const struct check *c, unsigned char *p, double x);
/** Stores a whole number that the type holds. */
void element_put(const struct check *c, unsigned char *p, int64_t x);
/** Whether the type holds the number exactly. */
bool element_holds(const struct check *c, int64_t x);
/** Stores n elements of that many bytes, contiguous, with these low bits. */
void elements_put_bits(unsigned char *p, size_t bytes, const uint64_t *bits, size_t n);
/** Reads n contiguous floats of any type. */
void elements_floats(const struct check *c, const unsigned char *p, double *to, size_t n);
/** Writes the element as text. */
void element_text(const struct check *c, const unsigned char *p, char *text, size_t size);

#endif
