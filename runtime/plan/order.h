/*
 * An order of each rank's operations in which one thread can do them.
 */
#ifndef CCS_RUNTIME_PLAN_ORDER_H
#define CCS_RUNTIME_PLAN_ORDER_H

#include "runtime/plan/load.h"

/* Rows [first, first + n) of ops. */
struct op_range {
	uint32_t first, n;
};

/** The operations of a rank, which are contiguous. O(its workers) */
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

/** [ops] rows, freed by the caller. A rank's part is at the rank's range of ops. NULL: no
 *  memory, or no order exists with that many slots; one exists for every proved plan. Cost:
 *  order.c. */
uint32_t *plan_order(const struct plan_view *v, uint32_t slots);

#endif
