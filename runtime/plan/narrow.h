/*
 * Narrow floats to float32 and back: float16, bfloat16, float8 e4m3 and e5m2.
 *
 * To float32 is exact. From float32 rounds to nearest, ties to even; subnormals are kept. float16
 * and bfloat16 overflow to infinity (IEEE 754), and NaN becomes 0x7fff, as on GPUs. The float8
 * types follow CUDA's saturating conversions (`satfinite`): a value beyond the largest finite
 * number, infinity included, becomes that number with its sign (448 for e4m3, 57344 for e5m2),
 * and NaN becomes 0x7f. e4m3 has no infinity; e5m2's is read as infinity, and only a minimum or
 * maximum returns it.
 *
 * Compiled functions have no branches, so that loops vectorise.
 */
#ifndef CCS_RUNTIME_PLAN_NARROW_H
#define CCS_RUNTIME_PLAN_NARROW_H

#if !defined(__CUDACC_RTC__) /* NVRTC has both as built-ins, or from device/args.h */
#include <stdint.h>
#include <string.h>
#endif

#if defined(__CUDACC__) /* also used in kernels, so that CPU and GPU give the same bits */
#define NARROW static __device__ inline
#else
#define NARROW static inline
#endif

NARROW float bits_float(uint32_t u)
{
	float f;
	memcpy(&f, &u, sizeof(f));
	return f;
}

NARROW uint32_t float_bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof(u));
	return u;
}

NARROW float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t u = (uint32_t)(h & 0x7fff) << 13;
	/* The biases of the exponents differ by 112. The product is exact, for subnormals too.
	 * Infinity and NaN need the largest exponent restored. */
	uint32_t v = float_bits(bits_float(u) * 0x1p112f);

	v |= u >= 0x0f800000u ? 0x7f800000u : 0;
	return bits_float(v | sign);
}

NARROW uint16_t half_from_float(float f)
{
	uint32_t u = float_bits(f);
	uint32_t sign = (u >> 16) & 0x8000u;
	uint32_t a = u & 0x7fffffffu;
	/* subnormal: adding 0.5 rounds the mantissa into the low bits */
	uint32_t sub = float_bits(bits_float(a) + 0.5f) - 0x3f000000u;
	uint32_t nor = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
	uint32_t r = a < (113u << 23) ? sub : nor;

	r = a >= (143u << 23) ? 0x7c00u : r;
	return (uint16_t)(a > 0x7f800000u ? 0x7fffu : r | sign);
}

NARROW float bfloat_to_float(uint16_t h)
{
	return bits_float((uint32_t)h << 16);
}

NARROW uint16_t bfloat_from_float(float f)
{
	uint32_t u = float_bits(f);
	uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;

	return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
}

NARROW float e4m3_to_float(uint8_t h)
{
	uint32_t sign = (uint32_t)(h & 0x80) << 24;
	uint32_t u = (uint32_t)(h & 0x7f) << 20;
	uint32_t v = float_bits(bits_float(u) * 0x1p120f);

	v = (h & 0x7f) == 0x7f ? 0x7fc00000u : v;
	return bits_float(v | sign);
}

/* To a float8 with that many mantissa bits. `least`: the float32 exponent of its least normal
 * number. `unit` plus a subnormal rounds it into the low bits. Values beyond `most` become
 * `largest`. */
NARROW uint8_t float8_from_float(float f, uint32_t mantissa, uint32_t least, float unit,
				 uint32_t most, uint32_t largest)
{
	uint32_t drop = 23 - mantissa;
	uint32_t u = float_bits(f);
	uint32_t sign = (u >> 24) & 0x80u;
	uint32_t a = u & 0x7fffffffu;
	uint32_t sub = float_bits(bits_float(a) + unit) - float_bits(unit);
	uint32_t half = (1u << (drop - 1)) - 1;
	uint32_t nor = (a - ((least - 1) << 23) + half + ((a >> drop) & 1u)) >> drop;
	uint32_t r = a < (least << 23) ? sub : nor;

	r = a > most ? largest : r;
	return (uint8_t)(a > 0x7f800000u ? 0x7fu : r | sign);
}

/* Largest 448. The ulp of a subnormal is 2^-9, so 2^14 + x rounds to it (float32 has 23
 * mantissa bits). */
NARROW uint8_t e4m3_from_float(float f)
{
	return float8_from_float(f, 3, 121, 0x1p14f, 0x43e00000u, 0x7e);
}

NARROW float e5m2_to_float(uint8_t h)
{
	return half_to_float((uint16_t)((uint32_t)h << 8));
}

/* Largest 57344. Ulp 2^-16, so 2^7. */
NARROW uint8_t e5m2_from_float(float f)
{
	return float8_from_float(f, 2, 113, 0x1p7f, 0x47600000u, 0x7b);
}

#endif
