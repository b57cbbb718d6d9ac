/*
 * Arithmetic on arrays of elements, for every type and operator; and copies.
 *
 * Integers: sums and products wrap (two's complement); an average is the wrapped sum divided,
 * truncated toward zero. float32 and float64 are combined in their own type. Narrow floats are
 * combined in float32 and rounded once for each operation (narrow.h). A minimum or maximum
 * returns one of its operands, bit for bit, and a number rather than a NaN.
 *
 * All arrays are aligned to their element. `dst` may be one of the operands, but may not overlap
 * one otherwise; the same holds for each target of a fold.
 */
#ifndef CCS_RUNTIME_CPU_CORE_REDUCE_H
#define CCS_RUNTIME_CPU_CORE_REDUCE_H

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

/* Copies that many cache lines, at any address; source and target do not overlap. */
typedef void reduce_copy(void *to, const void *from, size_t lines);

/* The functions of one type, by ccs_redop or OP_PREMUL: CCS_AVG and OP_PREMUL combine as
 * CCS_SUM. */
struct reduce {
	reduce_combine *combine[OP_COUNT];
	reduce_fold *fold[OP_COUNT];
	reduce_scale *scale;
	reduce_divide *divide;
};

/* The functions for one instruction set. */
struct reduce_set {
	const struct reduce *types[CCS_NDTYPES];
	reduce_copy *copy;
	reduce_copy *stream; /* past the caches, to whole lines; visible after reduce_streamed.
			        NULL: no such stores */
};

/* For every machine; for those with the instructions. */
extern const struct reduce_set reduce_plain, reduce_avx2, reduce_avx512;

/** The fastest set for this machine, up to $CCS_MAX_CPU_ISA: base, avx2 or avx512. NULL: that
 *  variable has another value. */
const struct reduce_set *reduce_best(void);

/** Store fence: streamed data becomes visible before anything stored later. */
static inline void reduce_streamed(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#endif
}

#endif
