/*
 * Whether a plan combines values in rank order, as an operator that is not commutative needs, and
 * where the operands must be exchanged for that.
 *
 * The contract's sums go over ascending ranks. A plan combines each operand once, but the two
 * sides of a combination may come in either order. The result is in ascending order if at each
 * combination all ranks of one side are below all ranks of the other: the lower side becomes the
 * first operand. Brackets are free, as the operator is associative. Example: {2,3} and {0,1} are
 * combined as {0,1} (+) {2,3}. A ring over 3 ranks combines a chunk as 2, 0, 1: {0,2} is neither
 * below nor above {1}, so it has no such order.
 */
#ifndef CCS_RUNTIME_PLAN_RANK_ORDER_H
#define CCS_RUNTIME_PLAN_RANK_ORDER_H

#include "runtime/plan/load.h"

#include <stdlib.h>

/* Bits of an operation `in (+) a (+) b`, combined from the left: exchange the operands of the
 * first or the second step. */
enum { RANK_ORDER_FIRST = 1, RANK_ORDER_SECOND = 2 };

struct rank_order {
	unsigned char *turned; /* [ops.n]; NULL: no such order, and `why` has the place */
	char why[400];
};

/** The order of the plan, found at the first call. CCS_EUNSUPPORTED: none, and the text has the
 *  reason; CCS_ENOMEM. Thread-safe. O(operations' cells) once. */
ccs_status rank_order_get(const struct ccs_module *m, struct plan_view *v,
			  const struct rank_order **out);
static inline void rank_order_free(struct rank_order *r)
{
	if (r)
		free(r->turned);
	free(r);
}

#endif
