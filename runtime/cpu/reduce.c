/*
 * Kernels for all element types and operators, one table.
 *
 * Every loop is plain C over whole arrays, without calls, and is compiled for
 * vectors: gcc needs -O3 for that, and the word that operands do not overlap in
 * part. Integers are combined unsigned: no signed overflow anywhere. Signed
 * division works in int64_t, so that INT_MIN / N cannot overflow (N >= 1).
 */
#include "runtime/cpu/reduce.h"

#include "runtime/plan/narrow.h"

#if defined(__clang__)
#define VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#pragma GCC optimize("O3")
#define VECTORISE _Pragma("GCC ivdep")
#else
#define VECTORISE
#endif

#define NAME u8
#define ELEM uint8_t
#define SUMS uint32_t
#define WIDE uint32_t
#include "runtime/cpu/reduce_ops.inc"

#define NAME u32
#define ELEM uint32_t
#define SUMS uint32_t
#define WIDE uint32_t
#include "runtime/cpu/reduce_ops.inc"

#define NAME u64
#define ELEM uint64_t
#define SUMS uint64_t
#define WIDE uint64_t
#include "runtime/cpu/reduce_ops.inc"

#define NAME i8
#define ELEM int8_t
#define SUMS uint32_t
#define WIDE int64_t
#include "runtime/cpu/reduce_ops.inc"

#define NAME i32
#define ELEM int32_t
#define SUMS uint32_t
#define WIDE int64_t
#include "runtime/cpu/reduce_ops.inc"

#define NAME i64
#define ELEM int64_t
#define SUMS uint64_t
#define WIDE int64_t
#include "runtime/cpu/reduce_ops.inc"

#define NAME f32
#define ELEM float
#define SUMS float
#define WIDE float
#include "runtime/cpu/reduce_ops.inc"

#define NAME f64
#define ELEM double
#define SUMS double
#define WIDE double
#include "runtime/cpu/reduce_ops.inc"

#define NAME f16
#define ELEM uint16_t
#define SUMS float
#define WIDE float
#define LOAD(e) half_to_float(e)
#define STORE(w) half_from_float(w)
#include "runtime/cpu/reduce_ops.inc"

#define NAME bf16
#define ELEM uint16_t
#define SUMS float
#define WIDE float
#define LOAD(e) bfloat_to_float(e)
#define STORE(w) bfloat_from_float(w)
#include "runtime/cpu/reduce_ops.inc"

#define NAME e4m3
#define ELEM uint8_t
#define SUMS float
#define WIDE float
#define LOAD(e) e4m3_to_float(e)
#define STORE(w) e4m3_from_float(w)
#include "runtime/cpu/reduce_ops.inc"

#define NAME e5m2
#define ELEM uint8_t
#define SUMS float
#define WIDE float
#define LOAD(e) e5m2_to_float(e)
#define STORE(w) e5m2_from_float(w)
#include "runtime/cpu/reduce_ops.inc"

static const struct reduce *const table[CCS_NDTYPES] = {
#define TYPE(t, number, name, alias, size, exponent, mantissa, has_sign, code) [t] = &reduce_##code,
	TYPES(TYPE)
};

const struct reduce *reduce_of(ccs_dtype t)
{
	return table[t];
}
