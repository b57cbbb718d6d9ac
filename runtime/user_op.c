/*
 * User-defined operators: see user_op.h.
 */
#include "runtime/user_op.h"

#include "runtime/base/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4096, ALIGNMENT = 8 };

ccs_status ccs_user_op_create(struct ccs_user_op **out, ccs_combine *combine, void *context,
			      size_t bytes, int commutes)
{
	struct ccs_user_op *op;

	if (!out || !combine)
		return error_set(CCS_EINVAL, "ccs_user_op_create: the %s is NULL",
				 out ? "function" : "place for the operator");
	*out = NULL;
	if (bytes > MOST_BYTES)
		return error_set(CCS_EINVAL,
				 "ccs_user_op_create: elements have at most %d bytes, not %zu",
				 MOST_BYTES, bytes);
	op = calloc(1, sizeof(*op));
	if (!op)
		return error_set(CCS_ENOMEM, "out of memory for an operator");
	op->combine = combine;
	op->context = context;
	op->bytes = bytes;
	op->order = commutes ? USER_COMMUTES : USER_IN_ORDER;
	*out = op;
	return CCS_OK;
}

ccs_status ccs_user_op_free(struct ccs_user_op *op)
{
	unsigned calls = op ? atomic_load(&op->calls) : 0;

	if (calls)
		return error_set(CCS_EINVAL,
				 "ccs_user_op_free: %u call%s still under way with the operator",
				 calls, calls == 1 ? " is" : "s are");
	free(op);
	return CCS_OK;
}

/* Only the operator's count ever changes. */
static struct ccs_user_op *counted(const struct ccs_user_op *op)
{
	return (struct ccs_user_op *)(uintptr_t)op;
}

void user_op_hold(const struct ccs_user_op *op)
{
	if (op)
		atomic_fetch_add(&counted(op)->calls, 1);
}

void user_op_release(const struct ccs_user_op *op)
{
	if (op)
		atomic_fetch_sub(&counted(op)->calls, 1);
}

size_t user_op_bytes(const struct ccs_user_op *op, ccs_dtype type)
{
	return op && op->bytes ? op->bytes : ccs_dtype_size(type);
}

size_t user_op_alignment(size_t bytes)
{
	size_t lowest = bytes & (0 - bytes);

	return lowest < ALIGNMENT ? lowest : ALIGNMENT;
}

/* The user's function may assume that its result does not overlap the operands, so it may need
 * a copy. */
void user_op_combine(const struct ccs_user_op *op, ccs_dtype type, size_t bytes, unsigned char *to,
		     const unsigned char *x, const unsigned char *y, size_t n)
{
	_Alignas(64) unsigned char block[MOST_BYTES];
	size_t step = sizeof(block) / bytes;

	if (to != x && to != y) {
		op->combine(to, x, y, n, type, op->context);
		return;
	}
	for (size_t i = 0; i < n; i += step) {
		size_t now = n - i < step ? n - i : step, at = i * bytes;

		op->combine(block, x + at, y + at, now, type, op->context);
		memcpy(to + at, block, now * bytes);
	}
}
