/*
 * Lengths of the chunks of `sized` buffers: by --sizes, or generated.
 *
 * The module says which must be equal (ccs_module_size_number). All chunks with one number are as
 * long as the first of them with initial values, by rank and place: in an all-to-all, the
 * sender's. Generated lengths depend only on the number, so all processes have the same; some are
 * 0, and others many times as long as their neighbours.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_CHUNK_SIZES_H
#define CCS_RUNTIME_CCRUN_VALUES_CHUNK_SIZES_H

#include "runtime/ccrun/ccrun.h"

struct sizes {
	uint32_t n;	  /* number of `sized` chunks of a rank, in order */
	uint32_t *number; /* [ranks * n] */
	uint32_t *named;  /* by number, the chunk for which --sizes is evaluated */
	size_t *of;	  /* [ranks * n]: elements */
	size_t *at;	  /* [ranks * n]: elements before it in its buffer */
};

/** Reads the numbers of c's plan into c->sizes; stays NULL without `sized` buffers. CCS_ENOMEM.
 *  O(ranks x chunks). */
ccs_status sizes_open(struct check *c);
void sizes_close(struct check *c);

/** Generates lengths such that no rank's buffers of one kind have more than `most` elements.
 *  O(ranks x chunks). */
void sizes_draw(struct check *c, size_t most);
/** Sets lengths by an expression of rank and index, the chunk's number among the rank's `sized`
 *  ones. CCS_EINVAL: it has no value, or a rank would have more than `most`; the text shows the
 *  place. O(ranks x chunks). */
ccs_status sizes_compute(struct check *c, struct formula *f, size_t most);

/** A rank's sizes, as a call takes them. */
const size_t *sizes_of(const struct check *c, uint32_t rank);
/** Elements of a `sized` chunk of a rank; *at: its start in the buffer. O(buffers) */
size_t sizes_find(const struct check *c, uint32_t rank, uint32_t chunk, size_t *at);
/** Elements of a buffer of a rank, `sized` or not. O(buffers) */
size_t sizes_buffer(const struct check *c, uint32_t rank, const struct ccs_buffer_info *b);
/** ... of all its send or receive buffers. O(buffers^2) */
size_t sizes_elements(const struct check *c, uint32_t rank, bool recv);

#endif
