/*
 * Where the cells of a call lie, and how long they are (plan.h), whatever their buffers' layouts:
 * in blocks of equal chunks, `by column`, or `sized`.
 *
 * Engines ask here, once a call, when chunks are not all of a block; kernels and fibers then read
 * the table that came of it.
 */
#ifndef CCS_RUNTIME_PLAN_CELLS_H
#define CCS_RUNTIME_PLAN_CELLS_H

#include "runtime/plan/sizes.h"

#include <stdbool.h>

/* Where a cell lies, in elements. */
struct cell_at {
	size_t send, recv; /* from the buffers' starts; scratch: recv, from scratch's */
	size_t len;
	/* By column: elements of a row, and from row to row; row 0: all adjoin. */
	size_t row, apart;
};

/* What of a call decides that. */
struct cells_call {
	const struct ccs_module *module;
	const struct plan_view *view;
	size_t count, rows;
	const struct sizes *sizes; /* of all ranks; NULL: nothing is `sized` */
};

/** Whether the module has chunks that are not parts of a block, one after another. */
static inline bool cells_laid_out(const struct ccs_module *m)
{
	return m->head->flags & (CCS_MODULE_BY_COLUMN | CCS_MODULE_SIZED);
}

/** Elements of the longest chunk, of any rank. O(buffers + sizes). */
size_t cells_longest(const struct cells_call *c);
/** Elements of the larger buffer, of the rank that has most. CCS_EINVAL: too many. O(cells). */
ccs_status cells_most(const struct cells_call *c, size_t *most);
/** Fills in at[cells and scratch of the plan]: a rank's. Scratch cells are `longest` apart. If
 *  nothing is `sized`, all ranks' are the same. O(cells). */
void cells_place(const struct cells_call *c, uint32_t rank, size_t longest, struct cell_at *at);

#endif
