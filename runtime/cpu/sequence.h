/*
 * What sequence.c, which notes and plays, and sequence_find.c, which finds the order, have in
 * common.
 */
#ifndef CCS_RUNTIME_CPU_SEQUENCE_H
#define CCS_RUNTIME_CPU_SEQUENCE_H

#include "runtime/cpu/cpu.h"

/* Places are relative to: a thread's slots; an operation's own messages; ranks' buffers. */
enum { BASE_NONE, BASE_SLOTS, BASE_IN, BASE_OUT, BASE_RANKS };
enum { BUFFER_SEND, BUFFER_RECV, BUFFER_SCRATCH, NBUFFERS };

struct notes {
	struct cpu *e;
	struct sequence *q;
	const struct ccs_op *held; /* the operation that holds the message that is received, ... */
	uint32_t sender;	   /* ... and its rank; NULL: it lies in a slot, or at BASE_IN */
	bool op; /* of one operation, which is done, too: its messages lie elsewhere next time */
};

/** Scratch of all ranks, and slots of all threads. False: no memory. */
bool sequence_memory(struct cpu *e, const struct sequence *q);
/** A rank's scratch there. */
unsigned char *sequence_scratch(const struct cpu *e, const struct sequence *q, uint32_t rank);
/** A thread's bases, for the tiles from element `lo` of all chunks. */
unsigned char **sequence_place(struct cpu *e, const struct sequence *q, unsigned thread, size_t lo);

/** Forgets the folds that it came to. */
void sequence_drop_folds(struct sequence *q);

#endif
