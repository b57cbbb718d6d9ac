/*
 * The longest chain of messages, counted beside a greedy run.
 *
 * As in check/values/replay.c, a wave with messages is one deeper than its rank was before it, and than the
 * sender of each message that it receives was when that began. So a rank is one number here, and so is
 * a message on its way. Where messages are not buffered (--slots 0), a send waits for its receive as
 * well (check/values/unbuffered.c): a receive that has begun is as a message on its way back.
 *
 * Where rounds repeat (greedy.c), depths go on at rates. A trial finds out: from its begin on, every
 * depth has the rate at which it went up over the rounds before. A maximum takes the rate of what is
 * greatest; where a rival's rate is higher, it is how far the rival is behind that tells how often the
 * trial can be repeated before that one overtakes. If at the end each depth has gone up by its rate,
 * and still has it, all that lies between will repeat, that often at most, and each rate is added. A
 * trial that fails is made once more over as many rounds, then over more: depths may need several
 * periods of the counters until they repeat, or some time until they settle.
 *
 * 40 bytes a rank, 40 a message on its way, 16 a FIFO. O(1) an end of a message; a trial's begin and
 * end O(ranks + FIFOs + messages on their way).
 */
#ifndef CCS_COMPILER_STREAM_CHAIN_H
#define CCS_COMPILER_STREAM_CHAIN_H

#include "compiler/stream/stream.h"

/* A depth; and what each repeat of the trial at hand adds to it. */
struct rise {
	uint64_t depth, rate;
};

/* A message on its way; used again when it has arrived. */
struct sending {
	struct rise v; /* the sender's when it began */
	uint32_t next; /* in its FIFO, or of the free ones; NONE: last */
};

struct chain {
	const struct stream *s;
	struct rise *ranks; /* [nranks] */
	struct sending *sent;
	uint32_t nsent, capsent, free;
	bool unbuffered;
	uint32_t (*queue)[2][2]; /* by FIFO and side: first and last of `sent`, or NONE */
	const char *why;	 /* it is not counted to the end; or NULL */
	struct rise *then;	 /* when the trial began: ranks, then messages by FIFO and side */
	uint32_t nthen, capthen;
	bool rated;	/* the trial at hand knows the rates; else it finds them */
	uint64_t most;	/* repeats until a rival overtakes */
	uint64_t times; /* repeats that are being added */
};

/** All ranks at the begin. */
void chain_start(struct chain *x, const struct stream *s);
/** A rank starts to send or to receive a message. */
void chain_begin(struct chain *x, uint32_t rank, uint32_t fifo, uint32_t side);
/** A rank's wave is over, which is these ends. */
void chain_wave(struct chain *x, uint32_t rank, const struct end *e, uint32_t n);

/** Keeps all depths, for a trial without rates. */
void chain_keep(struct chain *x);
/** Ends the trial: returns how often it will repeat; 0: not at all, or that is not known. The next one
 *  begins, with the rates at which depths went up in this one. */
uint64_t chain_tried(struct chain *x);
/** Adds so many repeats of it. */
void chain_repeat(struct chain *x, uint64_t times);

/** The longest chain; x->why is NULL. */
uint32_t chain_length(const struct chain *x);

#endif
