/*
 * Names and sizes of element types and operators. Numbers that are no type have
 * size 0 and no name. O(1).
 */
#include "runtime/ccs.h"

struct type_fact {
	const char *name;
	size_t size;
};

static const struct type_fact types[CCS_NDTYPES] = {
	[CCS_INT8] = { "int8", 1 },
	[CCS_UINT8] = { "uint8", 1 },
	[CCS_INT32] = { "int32", 4 },
	[CCS_UINT32] = { "uint32", 4 },
	[CCS_INT64] = { "int64", 8 },
	[CCS_UINT64] = { "uint64", 8 },
	[CCS_FLOAT16] = { "float16", 2 },
	[CCS_FLOAT32] = { "float32", 4 },
	[CCS_FLOAT64] = { "float64", 8 },
	[CCS_BFLOAT16] = { "bfloat16", 2 },
	[CCS_FLOAT8E4M3] = { "float8e4m3", 1 },
	[CCS_FLOAT8E5M2] = { "float8e5m2", 1 },
};

static const char *const ops[CCS_NREDOPS] = {
	[CCS_SUM] = "sum", [CCS_PROD] = "prod", [CCS_MAX] = "max",
	[CCS_MIN] = "min", [CCS_AVG] = "avg",
};

size_t ccs_dtype_size(ccs_dtype t)
{
	return (unsigned)t < CCS_NDTYPES ? types[t].size : 0;
}

const char *ccs_dtype_name(ccs_dtype t)
{
	return (unsigned)t < CCS_NDTYPES ? types[t].name : NULL;
}

const char *ccs_redop_name(ccs_redop op)
{
	return (unsigned)op < CCS_NREDOPS ? ops[op] : NULL;
}
