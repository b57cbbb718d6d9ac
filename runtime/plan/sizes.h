/*
 * Sizes of the chunks of `sized` buffers: each rank tells those of its own when it calls, and
 * all are compared before anything moves.
 *
 * A plan has a number for each size that chunks have (plan.h): chunks of one number, on
 * whatever ranks, must be equally long. So what a rank sends is as long as its receiver expects.
 */
#ifndef CCS_RUNTIME_PLAN_SIZES_H
#define CCS_RUNTIME_PLAN_SIZES_H

#include "runtime/plan/load.h"

struct sizes {
	uint32_t n;	 /* `sized` chunks of a rank, in the order of its cells */
	uint32_t nrows;	 /* 1: of one rank; else all ranks', in order */
	uint64_t digest; /* of all below; equal where these are */
	size_t of[];	 /* [nrows * n] elements */
};

/** Room for so many ranks' of a plan; to be freed. NULL: out of memory. */
struct sizes *sizes_new(const struct ccs_module *m, const struct plan_view *v, uint32_t nrows);
/** All ranks' have been told. CCS_EINVAL: two that must be equal are not, and the text names
 *  both. CCS_ENOMEM. O(cells of all ranks). */
ccs_status sizes_agree(const struct ccs_module *m, const struct plan_view *v, struct sizes *all);
/** The longest. */
size_t sizes_longest(const struct sizes *s);

#endif
