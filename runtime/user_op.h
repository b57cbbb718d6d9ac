/*
 * Operators of the user's own (ccs_user_op_create): a function, and whose calls use it.
 *
 * A call that has been checked holds its operator until it is over, so that none is freed under
 * it. Its function runs on whatever thread moves the rank's data.
 */
#ifndef CCS_RUNTIME_USER_OP_H
#define CCS_RUNTIME_USER_OP_H

#include "runtime/ccs.h"

#include <stdatomic.h>
#include <stdbool.h>

/* How a call combines, as far as ranks must agree on it. */
enum user_order {
	USER_NONE,     /* by an operator of ccs's */
	USER_COMMUTES, /* by one of the user's, in any order */
	USER_IN_ORDER  /* ... in the order of ranks alone */
};

struct ccs_user_op {
	ccs_combine *combine;
	void *context;
	size_t bytes; /* of an element; 0: of the call's type */
	enum user_order order;
	_Atomic unsigned calls; /* that hold it */
};

/** For a call, and back when it is over. `op`: may be NULL, which holds nothing. */
void user_op_hold(const struct ccs_user_op *op);
void user_op_release(const struct ccs_user_op *op);

/** Bytes of an element; what its address is a multiple of. */
size_t user_op_bytes(const struct ccs_user_op *op, ccs_dtype type);
size_t user_op_alignment(size_t bytes);

/** to[i] = x[i] op y[i], of n elements of so many bytes; `to` may be one of the operands. */
void user_op_combine(const struct ccs_user_op *op, ccs_dtype type, size_t bytes, unsigned char *to,
		     const unsigned char *x, const unsigned char *y, size_t n);

#endif
