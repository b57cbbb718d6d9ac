/*
 * Element types and operators: one table each. Names, sizes, parsers, numbers in modules and in
 * NCCL, float formats, and the functions of CPU and kernels are all made from them. This file
 * includes nothing: C reads it through plan/types.h, NVRTC before the device code. The public
 * enums (ccs.h) mirror it; types.c asserts that.
 *
 * A new operator is a row here, in ccs.h, in ccs(5) 5, and in the reference of
 * tests/cpu/results_test.c; CONTRIBUTING.md has an example. A new type also needs its
 * conversions: for the CPU in plan/narrow.h and cpu/core/reduce_types.inc, for GPUs in
 * cuda/device/element.h.
 */
#ifndef CCS_RUNTIME_PLAN_ROWS_H
#define CCS_RUNTIME_PLAN_ROWS_H

/* Constant; number in modules and kernels; NCCL's number, -1: none; name; nccl-tests' name, if
 * different; bytes; bits of exponent and of mantissa, 0 for integers; signed; name of its code
 * (cpu/core/reduce_types.inc, cuda/device/element.h). */
#define TYPES(ROW) \
	ROW(CCS_INT8, 0, 0, "int8", NULL, 1, 0, 0, true, i8) \
	ROW(CCS_UINT8, 1, 1, "uint8", NULL, 1, 0, 0, false, u8) \
	ROW(CCS_INT32, 2, 2, "int32", NULL, 4, 0, 0, true, i32) \
	ROW(CCS_UINT32, 3, 3, "uint32", NULL, 4, 0, 0, false, u32) \
	ROW(CCS_INT64, 4, 4, "int64", NULL, 8, 0, 0, true, i64) \
	ROW(CCS_UINT64, 5, 5, "uint64", NULL, 8, 0, 0, false, u64) \
	ROW(CCS_FLOAT16, 6, 6, "float16", "half", 2, 5, 10, true, f16) \
	ROW(CCS_FLOAT32, 7, 7, "float32", "float", 4, 8, 23, true, f32) \
	ROW(CCS_FLOAT64, 8, 8, "float64", "double", 8, 11, 52, true, f64) \
	ROW(CCS_BFLOAT16, 9, 9, "bfloat16", NULL, 2, 8, 7, true, bf16) \
	ROW(CCS_FLOAT8E4M3, 10, 10, "float8e4m3", "f8e4m3", 1, 4, 3, true, e4m3) \
	ROW(CCS_FLOAT8E5M2, 11, 11, "float8e5m2", "f8e5m2", 1, 5, 2, true, e5m2) \
	ROW(CCS_INT16, 12, -1, "int16", NULL, 2, 0, 0, true, i16) \
	ROW(CCS_UINT16, 13, -1, "uint16", NULL, 2, 0, 0, false, u16)

/*
 * Constant; number in modules and in kernels, which never changes and is never reused; NCCL's
 * number, -1: it has none; name; nccl-tests' name, where it is another; what two elements
 * become:
 *
 *   COMPUTE, an expression of p and q: in the type that elements are combined in. Integers
 *	are unsigned there, so that they wrap, and narrow floats float32.
 *   CHOOSE, a condition on p and q: p if it holds, else q, bit for bit. Integers have their
 *	sign there; ISNAN(p) may hold for floats.
 *   BITS, an expression of the bits p and q, of whatever type they are.
 *
 * All must be associative and commutative, but for rounding. Premul-sum, the last, has no number in
 * ccs.h, but a separate function (ccs_run_premul).
 */
#define CCS_DEV_PREMUL 5
#define OPS(ROW) \
	ROW(CCS_SUM, 0, 0, "sum", NULL, COMPUTE, p + q) \
	ROW(CCS_PROD, 1, 1, "prod", NULL, COMPUTE, p *q) \
	ROW(CCS_MAX, 2, 2, "max", NULL, CHOOSE, p > q || ISNAN(q)) \
	ROW(CCS_MIN, 3, 3, "min", NULL, CHOOSE, p < q || ISNAN(q)) \
	ROW(CCS_AVG, 4, 4, "avg", NULL, COMPUTE, p + q) \
	ROW(CCS_BAND, 6, -1, "band", NULL, BITS, p &q) \
	ROW(CCS_BOR, 7, -1, "bor", NULL, BITS, p | q) \
	ROW(CCS_BXOR, 8, -1, "bxor", NULL, BITS, p ^ q) \
	ROW(OP_PREMUL, CCS_DEV_PREMUL, -1, "premul", "mulsum", COMPUTE, p + q)

#endif
