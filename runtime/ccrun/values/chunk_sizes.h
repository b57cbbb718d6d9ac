/*
 * How long the chunks of `sized` buffers are: by --sizes, or made up.
 *
 * Which of them must be equally long the module says (ccs_module_size_number): all with one number
 * are as long as one of them, which is the first that a rank begins with, by rank and place; for
 * all-to-all that is what the sender sends. Made up lengths depend on that number alone, so that
 * all processes have the same; some are 0, and others many times as long as their neighbours.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_CHUNK_SIZES_H
#define CCS_RUNTIME_CCRUN_VALUES_CHUNK_SIZES_H

#include "runtime/ccrun/ccrun.h"
#include "runtime/ccrun/values/formula.h"

struct sizes {
	uint32_t n;	  /* `sized` chunks of a rank, in the order of its chunks */
	uint32_t *number; /* [ranks * n] */
	uint32_t *named;  /* of each number, the chunk that --sizes is asked for */
	size_t *of;	  /* [ranks * n]: elements */
	size_t *at;	  /* [ranks * n]: ... before it in its buffer */
};

/** Reads the numbers of c's plan into c->sizes; stays NULL if nothing is `sized`. CCS_ENOMEM.
 *  O(ranks x chunks). */
ccs_status sizes_open(struct check *c);
void sizes_close(struct check *c);

/** Makes lengths up, such that no rank's buffers of one kind have more than so many elements.
 *  O(ranks x chunks). */
void sizes_draw(struct check *c, size_t most);
/** Lengths by an expression, for rank and index, the chunk's number among the rank's `sized` ones.
 *  CCS_EINVAL: one has none, or a rank would have more than `most`; the text shows where. */
ccs_status sizes_compute(struct check *c, const struct formula *f, const char *expression,
			 size_t most);

/** A rank's, as a call takes them. */
const size_t *sizes_of(const struct check *c, uint32_t rank);
/** Elements of a `sized` chunk of a rank; *at: from its buffer's beginning. O(buffers) */
size_t sizes_find(const struct check *c, uint32_t rank, uint32_t chunk, size_t *at);
/** Elements of a buffer of a rank, `sized` or not. O(buffers) */
size_t sizes_buffer(const struct check *c, uint32_t rank, const struct ccs_buffer_info *b);
/** ... of all its send or receive buffers. O(buffers^2) */
size_t sizes_elements(const struct check *c, uint32_t rank, bool recv);

#endif
