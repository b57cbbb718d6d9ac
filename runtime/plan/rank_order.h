/*
 * Whether a plan combines values in the order of their ranks, and how operands must be taken for
 * that: what an operator that does not commute needs.
 *
 * The contract's sums go over ranks in ascending order. A plan may bring the operands of an
 * operation together in any order; as it combines each of them once, the result is in ascending
 * order if, wherever two values are combined, all ranks in the one are below all ranks in the
 * other: then the lower one is the first operand. A ring's chunks begin at another rank each, and
 * go around: they have no such order. Brackets may stand anywhere, as the operator is associative.
 */
#ifndef CCS_RUNTIME_PLAN_RANK_ORDER_H
#define CCS_RUNTIME_PLAN_RANK_ORDER_H

#include "runtime/plan/load.h"

#include <stdlib.h>

/* Of an operation: in (+) a (+) b is combined from the left; in these steps operands change
 * places. */
enum { RANK_ORDER_FIRST = 1, RANK_ORDER_SECOND = 2 };

struct rank_order {
	unsigned char *turned; /* [ops.n]; NULL: there is no order, and `why` says where */
	char why[400];
};

/** The plan's, found at the first call. CCS_EUNSUPPORTED: it has none, and the text says why;
 *  CCS_ENOMEM. Thread-safe. O(operations' cells) once. */
ccs_status rank_order_get(const struct ccs_module *m, struct plan_view *v,
			  const struct rank_order **out);
static inline void rank_order_free(struct rank_order *r)
{
	if (r)
		free(r->turned);
	free(r);
}

#endif
