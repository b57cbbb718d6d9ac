/*
 * Arithmetic on arrays of elements, for every type and operator; and copies.
 *
 * Integers: sums and products wrap (two's complement); an average is the wrapped sum, divided by
 * the number of ranks and truncated toward zero. float32 and float64 are combined in their own
 * type. Narrow floats are combined in float32, and each (+) rounds once, also within a fold
 * (narrow.h). A minimum or maximum is one of its operands, bit for bit: the number, if only one is
 * a NaN; the first of two NaNs; the second of -0 and +0. All sets give the same bits,
 * as none reorders operands or fuses operations (tests/cpu/unit_reduce_test.c compares them).
 *
 * All arrays are aligned to their element. `dst`, or a target of a fold, may be exactly one of the
 * operands; it must not overlap an operand in part, nor another target. `n` is a number of
 * elements.
 */
#ifndef CCS_RUNTIME_CPU_CORE_REDUCE_H
#define CCS_RUNTIME_CPU_CORE_REDUCE_H

#include "runtime/plan/types.h"

/* dst[i] = x[i] (+) y[i] */
typedef void reduce_combine(void *dst, const void *x, const void *y, size_t n);
/* dst[i] = x[i] * s, where s is the element at `scalar` */
typedef void reduce_scale(void *dst, const void *x, const void *scalar, size_t n);
/* data[i] /= by, for an average: integers truncate toward zero */
typedef void reduce_divide(void *data, size_t n, uint32_t by);

/* to[each][i] = from[m - 1][i] (+) (... (+) (from[1][i] (+) from[0][i])), of m >= 1 */
typedef void reduce_fold(unsigned char *const *to, size_t targets, const unsigned char *const *from,
			 size_t m, size_t n);

/* Copies `lines` cache lines of 64 bytes; source and target do not overlap. They need no alignment,
 * except as `stream` says. */
typedef void reduce_copy(void *to, const void *from, size_t lines);

/* The functions of one type. Arrays are by operator, a ccs_redop or OP_PREMUL. CCS_AVG and
 * OP_PREMUL add, as CCS_SUM does, and the caller divides or scales. */
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
	reduce_copy *stream; /* as copy, but it bypasses the caches; `to` is aligned to a line, and
			        the data is visible after reduce_streamed(). NULL: the instruction
			        set has no such stores */
};

/* reduce_plain runs on every machine, the rest only on machines with the instructions. */
extern const struct reduce_set reduce_plain, reduce_avx2, reduce_avx512;

/** The fastest set that this machine can run. $CCS_MAX_CPU_ISA, if set, is the best one to use:
 *  base, avx2 or avx512. NULL: it has another value. */
const struct reduce_set *reduce_best(void);

/** Store fence: streamed data becomes visible before anything stored later. Does nothing on
 *  machines with sets that have no `stream`. */
static inline void reduce_streamed(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#endif
}

#endif
