/*
 * What the table of element types and operators (rows.h) says.
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
	int nccl;	 /* NCCL's number; -1: it has none */
	bool chooses;	 /* one of its operands, bit for bit */
	bool bits;	 /* of the elements' bits */
};

/** NULL for a number that is no type. */
const struct ccs_dtype_info *type_fact(ccs_dtype t);

/** Of a ccs_redop, or OP_PREMUL; NULL for a number that is neither. */
const struct op_fact *op_fact(int op);
/** "sum", "premul"; NULL for a number that is no operator. */
const char *op_name(int op);
/** The operator that has this number in modules and kernels; -1: none. */
int op_of_number(uint32_t number);

#endif
