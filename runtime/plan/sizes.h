/*
 * Sizes of the chunks of `sized` buffers. Each rank passes its own when it calls; all are
 * compared before any data moves.
 *
 * A plan numbers the sizes (plan.h): chunks with the same number, on any ranks, must be equally
 * long. So a message is as long as its receiver expects.
 */
#ifndef CCS_RUNTIME_PLAN_SIZES_H
#define CCS_RUNTIME_PLAN_SIZES_H

#include "runtime/plan/load.h"

struct sizes {
	uint32_t n;	 /* `sized` chunks of a rank, in cell order */
	uint32_t nrows;	 /* 1: of one rank; else of all ranks, in order */
	uint64_t digest; /* hash of all below: equal for equal sizes */
	size_t of[];	 /* [nrows * n] elements */
};

/** Room for the sizes of that many ranks; to be freed. NULL: out of memory. */
struct sizes *sizes_new(const struct ccs_module *m, const struct plan_view *v, uint32_t nrows);
/** Compares the sizes of all ranks. CCS_EINVAL: two that must be equal differ, and the text
 *  names both. CCS_ENOMEM. O(cells of all ranks). */
ccs_status sizes_agree(const struct ccs_module *m, const struct plan_view *v, struct sizes *all);
/** The longest size. */
size_t sizes_longest(const struct sizes *s);

#endif
