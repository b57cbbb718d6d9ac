/*
 * The position and length of each cell in a call (plan.h), for every layout of buffers: blocks of
 * equal chunks, `by column`, or `sized`.
 *
 * The CPU engines make the table for every layout of a call; on GPUs only calls with other layouts
 * than equal chunks need it. Kernels and fibers read it.
 */
#ifndef CCS_RUNTIME_PLAN_CELLS_H
#define CCS_RUNTIME_PLAN_CELLS_H

#include "runtime/plan/sizes.h"

#include <stdbool.h>

/* The position of a cell, in elements. */
struct cell_at {
	size_t send, recv; /* from the start of the send and receive buffers; scratch cells:
			      recv, from the start of scratch */
	size_t len;
	/* By column: the elements of a row, and the distance of rows; row 0: contiguous. */
	size_t row, apart;
};

/* The parameters of a call that determine its cells. */
struct cells_call {
	const struct ccs_module *module;
	const struct plan_view *view;
	size_t count, rows;
	const struct sizes *sizes; /* of all ranks; NULL: no buffer is `sized` */
};

/** Whether the module has a buffer with another layout than equal chunks one after another. */
static inline bool cells_laid_out(const struct ccs_module *m)
{
	return m->head->flags & (CCS_MODULE_BY_COLUMN | CCS_MODULE_SIZED);
}

/** Elements of the longest chunk of any rank. O(buffers + sizes). */
size_t cells_longest(const struct cells_call *c);
/** Elements of the larger buffer, the most of any rank. CCS_EINVAL: too many. O(cells). */
ccs_status cells_most(const struct cells_call *c, size_t *most);
/** Fills at[cells and scratch of the plan] for one rank. Scratch cells are `longest` apart.
 *  Without `sized` buffers the table is the same for all ranks. O(cells). */
void cells_place(const struct cells_call *c, uint32_t rank, size_t longest, struct cell_at *at);

#endif
