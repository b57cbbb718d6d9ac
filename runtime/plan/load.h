/*
 * A module in memory: its bytes, and checked pointers to its tables.
 *
 * Once module_verify has accepted the bytes, every offset, row number and range
 * that plan.h names is inside its table, so that whoever reads a plan needs no
 * further checks to stay within memory. What a plan computes, and whether it ends,
 * is another matter: prove.h.
 *
 * It has no lock, so that a process that was forked while another thread used it can go
 * on using it.
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
	struct prep *_Atomic prep;	       /* made at first use (prep.c), and so is ... */
	struct rank_order *_Atomic rank_order; /* (rank_order.c) */
};

struct ccs_module {
	unsigned char *owned; /* what bytes points to, if it is ours */
	const unsigned char *bytes;
	const struct ccs_module_head *head;
	const char *text;
	const struct ccs_file *files;
	const struct ccs_param *params;
	const struct ccs_buffer *buffers;
	uint32_t nbuffers;
	const char *cuda; /* source of the kernels, or NULL: for the CPU only */
	const struct ccs_kernel *kernels;
	struct plan_view *plans;
	size_t nplans;
	_Atomic unsigned refs; /* the user's, and one a run */
};

void module_ref(struct ccs_module *m);

/** Checks the module's bytes (8-aligned, `size` readable) and fills in the
 *  pointers. `what` names the file in the error's text. O(size). */
ccs_status module_verify(struct ccs_module *m, const void *bytes, size_t size, const char *what);

/** Checks one plan, whose tables are known to lie inside the module. NULL, or what is
 *  wrong with it, and, behind that, at which ranks, as far as it is theirs. O(rows x buffers). */
const char *plan_verify(const struct ccs_module *m, const struct plan_view *v, struct text *who);

/** Whether n cells of the operation's lengths lie at `cell` without a gap; `even`: for counts
 *  that chunks divide. O(n x buffers). */
bool plan_whole(const struct plan_view *v, bool even, const struct ccs_op *o, uint32_t cell);

/** The plan for that number of ranks and root (ignored where the module has
 *  none), or NULL. O(log plans). */
struct plan_view *module_plan(const struct ccs_module *m, int nranks, int root);

/** Whether cells [first, first + n) lie only in buffers that the rank's caller
 *  gives values to (`in`, `inout`), or takes them from (`out`, `inout`). */
enum cell_use { CELL_INITIAL, CELL_FINAL };
bool module_cells_are(const struct ccs_module *m, const struct plan_view *v, uint32_t first,
		      uint32_t n, enum cell_use use);

/** Elements of the send and the receive buffer; `sizes`: of the rank's `sized` chunks, or NULL if
 *  there are none. CCS_EINVAL on overflow. */
ccs_status module_sizes(const struct ccs_module *m, const struct plan_view *v, size_t count,
			const size_t *sizes, size_t *send, size_t *recv);

/** The longest chunk for `count`, in elements, with so many rows of what is `by column` (0: 1);
 *  of buffers that are not `sized`. */
uint64_t module_longest(const struct ccs_module *m, const struct plan_view *v, uint64_t count,
			uint64_t rows);

#endif
