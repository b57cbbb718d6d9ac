/*
 * User-defined operators (ccs_user_op_create): a function, and the count of calls that use it.
 *
 * A checked call holds its operator until it is over, so that the operator is not freed
 * meanwhile. The function runs on whichever thread moves the rank's data.
 */
#ifndef CCS_RUNTIME_USER_OP_H
#define CCS_RUNTIME_USER_OP_H

#include "runtime/ccs.h"

#include <stdatomic.h>
#include <stdbool.h>

/* How a call combines; all ranks must agree. */
enum user_order {
	USER_NONE,     /* by an operator of ccs */
	USER_COMMUTES, /* by a user-defined operator, operands in any order */
	USER_IN_ORDER  /* ... only in the order of ranks */
};

struct ccs_user_op {
	ccs_combine *combine;
	void *context;
	size_t bytes; /* of an element; 0: those of the call's type */
	enum user_order order;
	_Atomic unsigned calls; /* calls that hold it */
};

/** Holds it for a call; releases it when the call is over. `op` may be NULL. */
void user_op_hold(const struct ccs_user_op *op);
void user_op_release(const struct ccs_user_op *op);

/** Bytes of an element; the alignment of its address. */
size_t user_op_bytes(const struct ccs_user_op *op, ccs_dtype type);
size_t user_op_alignment(size_t bytes);

/** to[i] = x[i] op y[i] for n elements of that many bytes; `to` may be one of the operands. */
void user_op_combine(const struct ccs_user_op *op, ccs_dtype type, size_t bytes, unsigned char *to,
		     const unsigned char *x, const unsigned char *y, size_t n);

#endif
