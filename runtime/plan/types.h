/*
 * Element types and operators: the one table of each, from which names, sizes, parsers, the
 * CPU's functions and the formats of floats come. The public enums (ccs.h), NCCL's numbers,
 * and those of the kernels (cuda/device/args.h) mirror it; types.c, cuda/nccl.c and
 * cuda/kernels.c assert that.
 *
 * A new type is a row here, and in ccs.h; and its conversions, for the CPU in plan/narrow.h
 * and cpu/reduce.c, on a GPU in cuda/device/element.h.
 */
#ifndef CCS_RUNTIME_PLAN_TYPES_H
#define CCS_RUNTIME_PLAN_TYPES_H

#include "runtime/ccs.h"

#include <stdbool.h>

/* Constant; number, here, in NCCL and in kernels; name; nccl-tests' name, where it is
 * another; bytes; bits of exponent and mantissa, 0 of integers; signed; the CPU's functions
 * (cpu/reduce.c): for order and quotients, and for sums, which wrap. */
#define TYPES(ROW) \
	ROW(CCS_INT8, 0, "int8", NULL, 1, 0, 0, true, i8, u8) \
	ROW(CCS_UINT8, 1, "uint8", NULL, 1, 0, 0, false, u8, u8) \
	ROW(CCS_INT32, 2, "int32", NULL, 4, 0, 0, true, i32, u32) \
	ROW(CCS_UINT32, 3, "uint32", NULL, 4, 0, 0, false, u32, u32) \
	ROW(CCS_INT64, 4, "int64", NULL, 8, 0, 0, true, i64, u64) \
	ROW(CCS_UINT64, 5, "uint64", NULL, 8, 0, 0, false, u64, u64) \
	ROW(CCS_FLOAT16, 6, "float16", "half", 2, 5, 10, true, f16, f16) \
	ROW(CCS_FLOAT32, 7, "float32", "float", 4, 8, 23, true, f32, f32) \
	ROW(CCS_FLOAT64, 8, "float64", "double", 8, 11, 52, true, f64, f64) \
	ROW(CCS_BFLOAT16, 9, "bfloat16", NULL, 2, 8, 7, true, bf16, bf16) \
	ROW(CCS_FLOAT8E4M3, 10, "float8e4m3", "f8e4m3", 1, 4, 3, true, e4m3, e4m3) \
	ROW(CCS_FLOAT8E5M2, 11, "float8e5m2", "f8e5m2", 1, 5, 2, true, e5m2, e5m2)

/* Constant; number, here, in NCCL and in kernels; name; nccl-tests' name, where it is
 * another; the CPU's function. Premul-sum has a function of its own in ccs.h, and no number
 * there or in NCCL. */
#define OPS(ROW) \
	ROW(CCS_SUM, 0, "sum", NULL, sum) \
	ROW(CCS_PROD, 1, "prod", NULL, prod) \
	ROW(CCS_MAX, 2, "max", NULL, max) \
	ROW(CCS_MIN, 3, "min", NULL, min) \
	ROW(CCS_AVG, 4, "avg", NULL, sum) \
	ROW(OP_PREMUL, 5, "premul", "mulsum", sum)

enum { OP_PREMUL = CCS_NREDOPS, OP_COUNT };

struct type_fact {
	const char *name, *alias;
	size_t size;
	int exponent, mantissa; /* bits of a float; 0 */
	bool has_sign;
};

/** NULL for a number that is no type. */
const struct type_fact *type_fact(ccs_dtype t);
/** The number of a type's name; -1: of none. */
int type_of_name(const char *name);
/** "sum", "premul"; NULL for a number that is no operator. */
const char *op_name(int op);
/** The number of an operator's name, OP_PREMUL among them; -1: of none. */
int op_of_name(const char *name);

#endif
