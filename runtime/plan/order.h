/*
 * An order of each rank's operations in which they can be done one after another.
 */
#ifndef CCS_RUNTIME_PLAN_ORDER_H
#define CCS_RUNTIME_PLAN_ORDER_H

#include "runtime/plan/load.h"

/* Rows [first, first + n) of ops. */
struct op_range {
	uint32_t first, n;
};

/** The operations of a rank, which adjoin. O(its workers) */
static inline struct op_range plan_ops_of(const struct plan_view *v, uint32_t rank)
{
	const struct ccs_rank *r = v->ranks + rank;
	struct op_range range = { 0, 0 };

	for (uint32_t i = r[0].worker; i < r[1].worker; i++)
		range.n += v->workers[i].nops;
	if (range.n)
		range.first = v->workers[r[0].worker].op;
	return range;
}

/** [ops] rows, the caller's to free: a rank's where its operations lie. NULL: memory is short, or
 *  there is no order with so many slots, as there is in every plan that was proved. */
uint32_t *plan_order(const struct plan_view *v, uint32_t slots);

#endif
