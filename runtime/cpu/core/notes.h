/*
 * Notes: a run's pieces, independent of the addresses of callers' buffers.
 *
 * In: the data movement of an operation (piece.c), once. Out: its pieces, with places relative to
 * bases: a thread's slots, an operation's messages, ranks' buffers. With other addresses in the
 * table of bases they are played again (ops.c). Notes are of a sequence, the whole run in an
 * order in which no operation waits (play/sequence.c), or of the operations of a process, one by
 * one (ops.c).
 */
#ifndef CCS_RUNTIME_CPU_CORE_NOTES_H
#define CCS_RUNTIME_CPU_CORE_NOTES_H

#include "runtime/cpu/core/cpu.h"

#define MOST_PIECES 16384u /* of a sequence */

/* Bases: a thread's slots; an operation's own messages; ranks' buffers. */
enum { BASE_NONE, BASE_SLOTS, BASE_IN, BASE_OUT, BASE_RANKS };
enum { BUFFER_SEND, BUFFER_RECV, BUFFER_SCRATCH, NBUFFERS };

struct notes {
	struct cpu *e;
	struct sequence *q;
	const struct ccs_op *held; /* the operation that holds the received message, ... */
	uint32_t sender;	   /* ... and its rank; NULL: the message is in a slot, or at
				      BASE_IN */
	bool op; /* of one operation, which is also done; its messages will be elsewhere next
		    time */
};

/** The base of a buffer of a rank. */
static inline uint32_t notes_base(uint32_t rank, uint32_t buffer)
{
	return BASE_RANKS + NBUFFERS * rank + buffer;
}

/** A thread's table of bases; NULL: no memory. */
unsigned char **notes_bases(struct cpu *e, unsigned thread);
/** Sets the buffers of a rank of this process, from that byte of each chunk on. */
void notes_set_bases(unsigned char **bases, const struct rank_io *io, uint32_t rank,
		     unsigned char *scratch, size_t bytes);
/** Records a piece of the rank's operation; or, without one, of an initial value that stays or
 *  a division. True: recording it is all that is to be done. */
bool notes_add(struct notes *notes, const struct ccs_op *o, uint32_t rank, const struct parts *s,
	       size_t n);
/** Elements from one cell of its messages to the next; 0: contiguous. */
size_t notes_apart(const struct notes *notes);

#endif
