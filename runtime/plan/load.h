/*
 * A module in memory: its bytes, and checked pointers to its tables.
 *
 * After module_verify has accepted the bytes, every offset, row number and range in plan.h's
 * structures is inside its table, so readers of a plan stay within memory without further checks.
 * Whether the plan computes the right values, and ends, is proved elsewhere: prove.h.
 *
 * A module has no lock, so a child that was forked while another thread used it can go on using
 * it.
 */
#ifndef CCS_RUNTIME_PLAN_LOAD_H
#define CCS_RUNTIME_PLAN_LOAD_H

#include "runtime/ccs.h"
#include "runtime/plan/plan.h"

#include <stdatomic.h>
#include <stdbool.h>

struct prep;
struct text;
struct rank_order;

struct plan_view {
	const struct ccs_plan *plan;
	const struct ccs_shape *shapes;
	const struct ccs_rank *ranks;
	const struct ccs_worker *workers;
	const struct ccs_op *ops;
	const struct ccs_wait *waits;
	const struct ccs_fifo *fifos;
	const uint32_t *expect;
	const struct ccs_sum *sums;
	const struct ccs_choice *choices;
	const struct ccs_after *after;
	const uint32_t *sizes;
	struct prep *_Atomic prep;	       /* made at first use (prep.c); so is ... */
	struct rank_order *_Atomic rank_order; /* ... this (rank_order.c) */
};

struct ccs_module {
	unsigned char *owned; /* the memory of `bytes`, if the module owns it */
	const unsigned char *bytes;
	const struct ccs_module_head *head;
	const char *text;
	const struct ccs_file *files;
	const struct ccs_param *params;
	const struct ccs_buffer *buffers;
	uint32_t nbuffers;
	const char *cuda; /* source of the kernels; NULL: for the CPU only */
	const struct ccs_kernel *kernels;
	struct plan_view *plans;
	size_t nplans;
	_Atomic unsigned refs; /* of the user, runs, prepared calls, and handles that remember a
				  call */
};

void module_ref(struct ccs_module *m);

/** Checks the module's bytes (8-aligned, `size` readable) and sets the pointers. `what` names
 *  the file in the error text. O(size), plus plan_verify of each plan. */
ccs_status module_verify(struct ccs_module *m, const void *bytes, size_t size, const char *what);

/** Checks one plan with tables inside the module. NULL, or the mistake; `who` then has
 *  the ranks, if the mistake belongs to ranks. O((rows + cells of all operations) x buffers). */
const char *plan_verify(const struct ccs_module *m, const struct plan_view *v, struct text *who);

/** Whether n cells with the operation's lengths are contiguous from `cell`; `even`: for counts
 *  that chunks divide. O(n x buffers). */
bool plan_whole(const struct plan_view *v, bool even, const struct ccs_op *o, uint32_t cell);

/** The plan for that number of ranks and root (ignored if the module has no root), or NULL.
 *  O(log plans). */
struct plan_view *module_plan(const struct ccs_module *m, int nranks, int root);

/** Whether all cells [first, first + n) are in buffers that the caller fills (`in`, `inout`),
 *  or that the caller reads afterwards (`out`, `inout`). */
enum cell_use { CELL_INITIAL, CELL_FINAL };
bool module_cells_are(const struct ccs_module *m, const struct plan_view *v, uint32_t first,
		      uint32_t n, enum cell_use use);

/** Elements of the send and the receive buffer. `sizes`: of the rank's `sized` chunks; NULL if
 *  there are none. CCS_EINVAL on overflow. */
ccs_status module_sizes(const struct ccs_module *m, const struct plan_view *v, size_t count,
			const size_t *sizes, size_t *send, size_t *recv);

/** The longest chunk for `count`, in elements, of the buffers that are not `sized`. `by column`
 *  buffers have that many rows (0: 1). */
uint64_t module_longest(const struct ccs_module *m, const struct plan_view *v, uint64_t count,
			uint64_t rows);

#endif
