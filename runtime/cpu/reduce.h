/*
 * Arithmetic on arrays of elements, for every type and operator; and copies.
 *
 * Integers: sums and products wrap (two's complement); an average is the
 * wrapped sum divided, truncated toward zero. float32 and float64 are combined
 * in their own type. Narrow floats are combined in float32 and rounded once an
 * operation (narrow.h). A minimum or maximum returns one of its operands, bit
 * for bit, and a number rather than a NaN.
 *
 * All arrays are aligned to their element. `dst` may be one of the operands,
 * but may not overlap one otherwise; so may each target of a fold.
 */
#ifndef CCS_RUNTIME_CPU_REDUCE_H
#define CCS_RUNTIME_CPU_REDUCE_H

#include "runtime/plan/types.h"

/* dst[i] = x[i] (+) y[i] */
typedef void reduce_combine(void *dst, const void *x, const void *y, size_t n);
/* dst[i] = x[i] * *scalar */
typedef void reduce_scale(void *dst, const void *x, const void *scalar, size_t n);
/* data[i] /= by */
typedef void reduce_divide(void *data, size_t n, uint32_t by);

/* to[each][i] = from[m - 1][i] (+) (... (+) (from[1][i] (+) from[0][i])), of m >= 1 */
typedef void reduce_fold(unsigned char *const *to, size_t targets, const unsigned char *const *from,
			 size_t m, size_t n);

/* Copies so many lines of the cache, at any address; they do not overlap. */
typedef void reduce_copy(void *to, const void *from, size_t lines);

/* What there is for one type, by ccs_redop or OP_PREMUL: CCS_AVG and OP_PREMUL combine as
 * CCS_SUM. */
struct reduce {
	reduce_combine *combine[OP_COUNT];
	reduce_fold *fold[OP_COUNT];
	reduce_scale *scale;
	reduce_divide *divide;
};

/* By type: for every machine, and where it has the instructions (reduce.c). */
extern const struct reduce *const reduce_plain[CCS_NDTYPES];
extern const struct reduce *const reduce_avx2[CCS_NDTYPES];
extern const struct reduce *const reduce_avx512[CCS_NDTYPES];

/* The same of copies. */
reduce_copy reduce_plain_copy, reduce_avx2_copy, reduce_avx512_copy;
/* The same past the caches, to whole lines; others see what they wrote after reduce_streamed. */
reduce_copy reduce_plain_stream, reduce_avx2_stream, reduce_avx512_stream;

/** The kernels that this machine runs best. */
const struct reduce *reduce_of(ccs_dtype t);
reduce_copy *reduce_copy_of(void);
/** NULL: it has no such stores. */
reduce_copy *reduce_stream_of(void);

/** What was streamed is seen by others before anything that is stored later. */
static inline void reduce_streamed(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#endif
}

#endif
