/*
 * Bulk copies and mbarriers of a block, for those who run kernels without a GPU: fake_cuda/ptx.h
 * executes their PTX, emu/emu.h their source.
 *
 * A copy is late: it reads its source at some moment after it was asked for, writes its destination
 * at a later one, in no order with others, and at the latest when a thread waits for it: so what
 * goes on without waiting finds old bytes. `.read` waits for the first moment only.
 *
 * An mbarrier is a word of shared memory: its phase, arrivals and bytes to come. O(copies) a call.
 */
#ifndef CCS_TESTS_BULK_COPIES_H
#define CCS_TESTS_BULK_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bulk_copy {
	unsigned char *to, *held; /* held: what it has read; NULL: not yet */
	const unsigned char *from;
	uint32_t bytes, thread;
	uint32_t group;	   /* of the thread's, in order of their commits; of a store */
	uint64_t *barrier; /* that it arrives at, of a load; else NULL */
};

struct bulk_copies {
	struct bulk_copy *v;
	uint32_t n, room;
	uint64_t chance;
	/* What it finds there, and leaves there; NULL: memory is as it is. */
	void (*read)(void *of, const struct bulk_copy *copy, unsigned char *to);
	void (*write)(void *of, const struct bulk_copy *copy);
	void *of;
};

/** Asks for one; false: out of memory. */
bool bulk_copies_add(struct bulk_copies *c, const struct bulk_copy *copy);
/** One of them goes on by a step. */
void bulk_copies_go_on(struct bulk_copies *c);
/** Whether all of the thread's groups below that have written, or at least read. */
bool bulk_copies_done(const struct bulk_copies *c, uint32_t thread, int64_t below, bool read);

void mbarrier_init(uint64_t *word, uint32_t arrivals);
/** Bytes are to come in this phase, and one has arrived. */
void mbarrier_expect(uint64_t *word, uint32_t bytes);
/** Whether the phase of that parity is over. */
bool mbarrier_over(const uint64_t *word, uint32_t parity);

#ifdef __cplusplus
}
#endif

#endif
