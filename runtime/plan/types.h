/*
 * Lookups in the tables of element types and operators (rows.h).
 */
#ifndef CCS_RUNTIME_PLAN_TYPES_H
#define CCS_RUNTIME_PLAN_TYPES_H

#include "runtime/ccs.h"
#include "runtime/plan/rows.h"

#include <stdbool.h>

enum { OP_PREMUL = CCS_NREDOPS, OP_COUNT };

struct op_fact {
	const char *name;
	uint32_t number; /* in modules and kernels */
	int nccl;	 /* NCCL's number; -1: none */
	bool chooses;	 /* the result is one of the operands, bit for bit */
	bool bits;	 /* it combines the bits of elements */
};

/** NULL for a number that is no type. */
const struct ccs_dtype_info *type_fact(ccs_dtype t);

/** `op`: a ccs_redop or OP_PREMUL. NULL for other numbers. */
const struct op_fact *op_fact(int op);
/** "sum", "premul"; NULL for other numbers. */
const char *op_name(int op);
/** The operator with this number in modules and kernels; -1: none. */
int op_of_number(uint32_t number);

#endif
