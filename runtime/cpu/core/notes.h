/*
 * Notes of a run's pieces, independent of the addresses of callers' buffers.
 *
 * In: the data movement of an operation (piece.c), once. Out: its pieces with places relative to
 * bases: a thread's slots, an operation's messages, ranks' buffers. With other addresses in the
 * table of bases they are played again (ops.c). Notes are of a sequence: the whole run in an order
 * in which nothing waits (play/sequence.c), or the operations of a process, one by one (ops.c).
 */
#ifndef CCS_RUNTIME_CPU_CORE_NOTES_H
#define CCS_RUNTIME_CPU_CORE_NOTES_H

#include "runtime/cpu/core/cpu.h"

#define MOST_PIECES 16384u /* of a sequence */

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

/** The base of a buffer of a rank. */
static inline uint32_t notes_base(uint32_t rank, uint32_t buffer)
{
	return BASE_RANKS + NBUFFERS * rank + buffer;
}

/** A thread's table of bases; NULL: no memory. */
unsigned char **notes_bases(struct cpu *e, unsigned thread);
/** The buffers of a rank of this process, so many bytes into each chunk. */
void notes_set_bases(unsigned char **bases, const struct rank_io *io, uint32_t rank,
		     unsigned char *scratch, size_t bytes);
/** Notes a piece of the rank's operation; or of none: initial values that stay, or a division.
 *  Whether that is all that is to be done with it. */
bool notes_add(struct notes *notes, const struct ccs_op *o, uint32_t rank, const struct parts *s,
	       size_t n);
/** Elements from one cell of its messages to the next; 0: they are packed. */
size_t notes_apart(const struct notes *notes);

#endif
