/*
 * Kernels for all element types and operators, one table.
 *
 * Every loop is plain C over whole arrays, without calls, and is compiled for
 * vectors: gcc needs -O3 for that, and the word that operands do not overlap in
 * part. Integers are combined unsigned: no signed overflow anywhere. Signed
 * division works in int64_t, so that INT_MIN / N cannot overflow (N >= 1).
 */
#include "runtime/reduce.h"

#include "runtime/narrow.h"

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
#define WIDE uint32_t
#define LOAD(e) ((uint32_t)(e))
#define STORE(w) ((uint8_t)(w))
#define ISNAN(w) 0
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME u32
#define ELEM uint32_t
#define WIDE uint32_t
#define LOAD(e) (e)
#define STORE(w) (w)
#define ISNAN(w) 0
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME u64
#define ELEM uint64_t
#define WIDE uint64_t
#define LOAD(e) (e)
#define STORE(w) (w)
#define ISNAN(w) 0
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME i8
#define ELEM int8_t
#define WIDE int64_t
#define LOAD(e) ((int64_t)(e))
#define STORE(w) ((int8_t)(w))
#define ISNAN(w) 0
#define SUMS 0
#include "runtime/reduce_ops.inc"

#define NAME i32
#define ELEM int32_t
#define WIDE int64_t
#define LOAD(e) ((int64_t)(e))
#define STORE(w) ((int32_t)(w))
#define ISNAN(w) 0
#define SUMS 0
#include "runtime/reduce_ops.inc"

#define NAME i64
#define ELEM int64_t
#define WIDE int64_t
#define LOAD(e) (e)
#define STORE(w) (w)
#define ISNAN(w) 0
#define SUMS 0
#include "runtime/reduce_ops.inc"

#define NAME f32
#define ELEM float
#define WIDE float
#define LOAD(e) (e)
#define STORE(w) (w)
#define ISNAN(w) ((w) != (w))
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME f64
#define ELEM double
#define WIDE double
#define LOAD(e) (e)
#define STORE(w) (w)
#define ISNAN(w) ((w) != (w))
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME f16
#define ELEM uint16_t
#define WIDE float
#define LOAD(e) half_to_float(e)
#define STORE(w) half_from_float(w)
#define ISNAN(w) ((w) != (w))
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME bf16
#define ELEM uint16_t
#define WIDE float
#define LOAD(e) bfloat_to_float(e)
#define STORE(w) bfloat_from_float(w)
#define ISNAN(w) ((w) != (w))
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME e4m3
#define ELEM uint8_t
#define WIDE float
#define LOAD(e) e4m3_to_float(e)
#define STORE(w) e4m3_from_float(w)
#define ISNAN(w) ((w) != (w))
#define SUMS 1
#include "runtime/reduce_ops.inc"

#define NAME e5m2
#define ELEM uint8_t
#define WIDE float
#define LOAD(e) e5m2_to_float(e)
#define STORE(w) e5m2_from_float(w)
#define ISNAN(w) ((w) != (w))
#define SUMS 1
#include "runtime/reduce_ops.inc"

struct kernels {
	reduce_combine *sum, *prod, *max, *min;
	reduce_scale *scale;
	reduce_divide *divide;
};

static const struct kernels table[CCS_NDTYPES] = {
	[CCS_INT8] = { sum_u8, prod_u8, max_i8, min_i8, scale_u8, divide_i8 },
	[CCS_UINT8] = { sum_u8, prod_u8, max_u8, min_u8, scale_u8, divide_u8 },
	[CCS_INT32] = { sum_u32, prod_u32, max_i32, min_i32, scale_u32, divide_i32 },
	[CCS_UINT32] = { sum_u32, prod_u32, max_u32, min_u32, scale_u32, divide_u32 },
	[CCS_INT64] = { sum_u64, prod_u64, max_i64, min_i64, scale_u64, divide_i64 },
	[CCS_UINT64] = { sum_u64, prod_u64, max_u64, min_u64, scale_u64, divide_u64 },
	[CCS_FLOAT16] = { sum_f16, prod_f16, max_f16, min_f16, scale_f16, divide_f16 },
	[CCS_FLOAT32] = { sum_f32, prod_f32, max_f32, min_f32, scale_f32, divide_f32 },
	[CCS_FLOAT64] = { sum_f64, prod_f64, max_f64, min_f64, scale_f64, divide_f64 },
	[CCS_BFLOAT16] = { sum_bf16, prod_bf16, max_bf16, min_bf16, scale_bf16, divide_bf16 },
	[CCS_FLOAT8E4M3] = { sum_e4m3, prod_e4m3, max_e4m3, min_e4m3, scale_e4m3,
			     divide_e4m3 },
	[CCS_FLOAT8E5M2] = { sum_e5m2, prod_e5m2, max_e5m2, min_e5m2, scale_e5m2,
			     divide_e5m2 },
};

reduce_combine *reduce_combine_of(ccs_dtype t, ccs_redop op)
{
	switch (op) {
	case CCS_SUM:
	case CCS_AVG:
		return table[t].sum;
	case CCS_PROD:
		return table[t].prod;
	case CCS_MAX:
		return table[t].max;
	case CCS_MIN:
		return table[t].min;
	case CCS_NREDOPS:
		break;
	}
	return NULL;
}

reduce_scale *reduce_scale_of(ccs_dtype t)
{
	return table[t].scale;
}

reduce_divide *reduce_divide_of(ccs_dtype t)
{
	return table[t].divide;
}
