/*
 * Lookups in the tables of rows.h. Numbers that are no type have size 0 and no name. O(1), or
 * O(rows) for a number in modules.
 */
#include "runtime/plan/types.h"

#define ASSERT(constant, number, ...) \
	_Static_assert((int)(constant) == (number), "ccs.h's numbers are those of the table");
TYPES(ASSERT)

#define COUNT(...) +1
_Static_assert(TYPES(COUNT) == CCS_NDTYPES, "each of ccs.h's types has a row");
_Static_assert(OPS(COUNT) == OP_COUNT, "each of ccs.h's operators has a row");

static const struct ccs_dtype_info types[CCS_NDTYPES] = {
#define TYPE(t, number, nccl, name, alias, size, exponent, mantissa, has_sign, code) \
	[t] = { name, alias, size, exponent, mantissa, has_sign, nccl },
	TYPES(TYPE)
};

enum { COMPUTE, CHOOSE, BITS };

static const struct op_fact ops[OP_COUNT] = {
#define OP(op, number, nccl, name, alias, how, result) \
	[op] = { name, number, nccl, how == CHOOSE, how == BITS },
	OPS(OP)
};
#undef OP

const struct ccs_dtype_info *type_fact(ccs_dtype t)
{
	return (unsigned)t < CCS_NDTYPES ? types + t : NULL;
}

size_t ccs_dtype_size(ccs_dtype t)
{
	return (unsigned)t < CCS_NDTYPES ? types[t].size : 0;
}

const char *ccs_dtype_name(ccs_dtype t)
{
	return (unsigned)t < CCS_NDTYPES ? types[t].name : NULL;
}

const struct op_fact *op_fact(int op)
{
	return (unsigned)op < OP_COUNT ? ops + op : NULL;
}

const char *op_name(int op)
{
	return (unsigned)op < OP_COUNT ? ops[op].name : NULL;
}

const char *ccs_redop_name(ccs_redop op)
{
	return (unsigned)op < CCS_NREDOPS ? ops[op].name : NULL;
}

/* Expands the rows' conditions for one kind of numbers. */
#define COMPUTE(expression) 0
#define CHOOSE(condition) (condition)
#define BITS(expression) 0
#define OP(op, number, nccl, name, alias, how, result) \
	case op: return how(result);
#define TAKES(kind, type) \
	static int takes_##kind(int op, type p, type q) \
	{ \
		switch (op) { \
			OPS(OP) \
		} \
		return 0; \
	}
#define ISNAN(v) false
TAKES(signed, int64_t)
TAKES(unsigned, uint64_t)
#undef ISNAN
#define ISNAN(v) ((v) != (v))
TAKES(float, double)

int ccs_redop_takes(ccs_redop op, ccs_dtype wide, const void *p, const void *q)
{
	switch ((int)wide) {
	case CCS_INT64: return takes_signed((int)op, *(const int64_t *)p, *(const int64_t *)q);
	case CCS_UINT64: return takes_unsigned((int)op, *(const uint64_t *)p, *(const uint64_t *)q);
	case CCS_FLOAT64: return takes_float((int)op, *(const double *)p, *(const double *)q);
	default: return 0;
	}
}

int op_of_number(uint32_t number)
{
	for (int op = 0; op < OP_COUNT; op++)
		if (ops[op].number == number)
			return op;
	return -1;
}
