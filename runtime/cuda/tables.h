/*
 * A plan's tables as kernels read them (device/args.h), in one block of bytes that the host
 * copies to a device. No CUDA calls here.
 */
#ifndef CCS_RUNTIME_CUDA_TABLES_H
#define CCS_RUNTIME_CUDA_TABLES_H

#include "runtime/base/divide.h"
#include "runtime/cuda/device/args.h"
#include "runtime/plan/prep.h"

struct cuda_tables {
	unsigned char *bytes; /* 16-aligned; the tables' offsets in it: */
	size_t size;
	size_t ops, briefs, workers, waits, cells, fifos, posts, ranges;
	uint32_t nworkers; /* rows; a rank without workers has one without operations */
	uint32_t nfifos;
	uint32_t *first_worker; /* [nranks]: a rank's workers are adjacent */
	uint32_t *part_worker;	/* [nparts + 1]: so are those of a part */
	uint32_t max_cells;	/* most cells of a message: at least 1 */
	uint64_t stage_cells;	/* of all workers together, for one replica */
	uint32_t scratch;	/* scratch cells of a rank */
	uint32_t chunks;	/* in a block of the first cell's buffer; 0: no buffer */
	uint32_t nops;		/* rows */
	bool laid_out;		/* kernels have CCS_LAYOUTS */
	bool *slotted;		/* [nfifos]: slots are used, even in a direct call */
};

/** Builds the tables for ranks in parts part_of[nranks] (NULL: all in one), numbered from 0
 *  without a gap. Workers are ordered by part, then by rank; messages between ranks of one part
 *  may be direct. Pointers of FIFOs, slots and slot_bytes stay 0: the caller sets them
 *  (cuda_tables_fifos) before it copies the bytes. CCS_ENOMEM. Cost: tables.c. */
ccs_status cuda_tables_make(struct cuda_tables *t, const struct ccs_module *m,
			    const struct plan_view *v, const struct prep *p,
			    const uint32_t *part_of);
void cuda_tables_free(struct cuda_tables *t);
struct ccs_dev_fifo *cuda_tables_fifos(const struct cuda_tables *t);

/** Makes the operations' brief rows (device/args.h), which LL's kernels read, after the
 *  pointers are set. */
void cuda_tables_brief(struct cuda_tables *t);

/** Fills in the table pointers of a call, for tables copied to address `device`. */
void cuda_tables_bind(const struct cuda_tables *t, const unsigned char *device,
		      struct ccs_dev_call *c);

/** Sets a call's elements of a block, and so of its chunks, after its tables are bound. */
static inline void cuda_tables_count(struct ccs_dev_call *c, uint64_t count)
{
	c->count = count;
	c->chunk = c->chunks ? ceil_div(count, c->chunks) : 0;
}

/** Whether a message that may be direct is better read than written: it is an initial value,
 *  and the operation after the receiving one adds to it. */
static inline bool cuda_tables_better_read(const struct plan_view *v, const struct ccs_op *o)
{
	const struct ccs_worker *w = v->workers + v->fifos[o->out].dst_worker;
	const struct ccs_op *to = v->ops + o->to, *next = to + 1;

	return ccs_plan_is_initial(o) && o->to + 1 < w->op + w->nops && next->dst != CCS_NONE &&
	       next->a == to->dst && (next->in != CCS_NONE || next->b != CCS_NONE);
}

#endif
