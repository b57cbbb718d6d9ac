/*
 * What the tables of types.h say. Numbers that are no type have size 0 and no name. O(1), and
 * O(rows) for a name.
 */
#include "runtime/plan/types.h"

#include <string.h>

#define ASSERT(constant, number, ...) \
	_Static_assert((int)(constant) == (number), "ccs.h's numbers are those of the table");
TYPES(ASSERT)
OPS(ASSERT)

#define COUNT(...) +1
_Static_assert(TYPES(COUNT) == CCS_NDTYPES, "each of ccs.h's types has a row");
_Static_assert(OPS(COUNT) == OP_COUNT, "each of ccs.h's operators has a row");

static const struct type_fact types[CCS_NDTYPES] = {
#define TYPE(t, number, name, alias, size, exponent, mantissa, has_sign, ...) \
	[t] = { name, alias, size, exponent, mantissa, has_sign },
	TYPES(TYPE)
};

static const struct {
	const char *name, *alias;
} ops[OP_COUNT] = {
#define OP(op, number, name, alias, ...) [op] = { name, alias },
	OPS(OP)
};

const struct type_fact *type_fact(ccs_dtype t)
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

const char *op_name(int op)
{
	return (unsigned)op < OP_COUNT ? ops[op].name : NULL;
}

const char *ccs_redop_name(ccs_redop op)
{
	return (unsigned)op < CCS_NREDOPS ? ops[op].name : NULL;
}

static bool is(const char *name, const char *own, const char *alias)
{
	return !strcmp(name, own) || (alias && !strcmp(name, alias));
}

int type_of_name(const char *name)
{
	for (int t = 0; t < CCS_NDTYPES; t++)
		if (is(name, types[t].name, types[t].alias))
			return t;
	return -1;
}

int op_of_name(const char *name)
{
	for (int op = 0; op < OP_COUNT; op++)
		if (is(name, ops[op].name, ops[op].alias))
			return op;
	return -1;
}
