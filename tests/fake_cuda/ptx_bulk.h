/*
 * Bulk copies and mbarriers of a block whose PTX is executed (ptx.h).
 *
 * A copy is late: it reads its source at some moment after it was asked for, writes its destination
 * at a later one, in no order with others, and at the latest when a thread waits for it: so what
 * goes on without waiting finds old bytes. `.read` waits for the first moment only.
 *
 * An mbarrier is a word of shared memory: its phase, arrivals and bytes to come. O(copies) a call.
 */
#ifndef CCS_TESTS_PTX_BULK_H
#define CCS_TESTS_PTX_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_copy {
	unsigned char *to, *held; /* held: what it has read; NULL: not yet */
	const unsigned char *from;
	uint32_t bytes, thread;
	uint32_t group;	   /* of the thread's, in order of their commits; of a store */
	uint64_t *barrier; /* that it arrives at, of a load; else NULL */
};

struct ptx_copies {
	struct ptx_copy *v;
	uint32_t n, room;
	uint64_t chance;
};

/** Asks for one; false: out of memory. */
bool ptx_copies_add(struct ptx_copies *c, const struct ptx_copy *copy);
/** One of them goes on by a step. */
void ptx_copies_go_on(struct ptx_copies *c);
/** Whether all of the thread's groups below that have written, or at least read. */
bool ptx_copies_done(const struct ptx_copies *c, uint32_t thread, int64_t below, bool read);

void ptx_barrier_init(uint64_t *word, uint32_t arrivals);
/** Bytes are to come in this phase, and one has arrived. */
void ptx_barrier_expect(uint64_t *word, uint32_t bytes);
/** Whether the phase of that parity is over. */
bool ptx_barrier_over(const uint64_t *word, uint32_t parity);

#endif
