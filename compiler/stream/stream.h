/*
 * Verdicts on programs that are too large to be stored.
 *
 *   batches.c  texts -> batches: each rank's sends and receives, a loop's messages once
 *   meet.c     as many sends as receives on every FIFO, of one size
 *   greedy.c   one run of all ranks by counters alone; the least slots; the graph of waits
 *   chain.h    the longest chain of messages, found along such a run
 *   text.h     races and values, in parts of the chunks
 *   stream.c   all of this, in order; stream_words.c: what all parts say
 *
 * In: a schedule and N, as for expand(). Out: whether the k-th send of each FIFO meets a k-th
 * receive of its size (ccs(5) 6, Matching), whether the program finishes (Blocking), has no races
 * (Races), and fulfils its contract; or why the last two were not checked. The report says so,
 * and so must every user of this verdict.
 *
 * The idea: a message is a FIFO and a direction here, 8 bytes. A loop with constant peers that a
 * cursor runs as a whole (expand/strips.c) is stored as one iteration's messages and a count,
 * however long it is: a ring of 24,576 ranks has 1.2 billion messages, and 98,304 of these. The
 * greedy run keeps two counters a FIFO, as deadlock.c does, and a place in its batches for each
 * rank.
 *
 * Memory: 28 bytes a message that no loop repeats, 200 a loop, about 100 a FIFO and 80 a rank, 40
 * a message on its way; 12 a chunk of one rank; and the memory of one part. Time: O(messages),
 * for each number of slots that is tried, and for the values.
 *
 * `ccc check` uses it with --stream, and when the stored check met a limit on stored programs
 * (ctx.too_large). In the second case the verdict is complete, or E0501.
 *
 * Unsupported constructs are E0501, which names them: blocks of pars, `sized` buffers, and FIFOs
 * with messages of different numbers of chunks.
 */
#ifndef CCS_COMPILER_STREAM_STREAM_H
#define CCS_COMPILER_STREAM_STREAM_H

#include "compiler/check/values/bits.h"
#include "compiler/check/deadlock.h"

/* A send or a receive. Those of a wave follow one another. */
struct end {
	uint32_t fifo;
	uint32_t site : 24;
	uint32_t recv : 1;
	uint32_t joined : 1; /* to the wave of the one before */
};

/* Ends first .. first + n - 1, one wave or more, repeated `times` times. */
struct batch {
	uint32_t first, n;
	uint64_t times;
};

/* All sends and receives of all ranks. */
struct stream {
	struct ctx *ctx;
	struct program *p; /* its FIFOs, sites and buffers; no operations */
	struct end *ends;
	uint32_t nends, capends;
	struct batch *batches;
	uint32_t nbatches, capbatches;
	uint32_t *first; /* [nranks + 1]: a rank's batches */
	uint64_t nmessages;
	uint32_t *width; /* by FIFO: chunks of each message; NONE: nothing yet */
	uint32_t capwidth;
	uint32_t scratch;  /* cells behind the buffers' */
	struct text *text; /* all operations (text.h) */
};

/* The results; all but the first two are of an instance without a mistake. */
struct stream_report {
	bool counted; /* no mistake kept messages from being counted */
	uint64_t messages;
	int64_t min_slots;
	struct fewer_slots fewer; /* as in struct deadlock_report */
	uint32_t steps;		  /* as of a proof */
	const char *no_steps;	  /* why these are not counted; or NULL */
	struct program *program;  /* its buffers and FIFOs; no operations */
	bool looked;		  /* there are no races, and values are the contract's */
	const char *why;	  /* that was not looked at; or NULL */
	struct bits bits;	  /* if it was: ranks, counts and why */
	bool counts_known;	  /* bits.counts is */
	double *sent;		  /* [nranks], as of a proof */
};

/* How finely chunks are cut. */
struct stream_grain {
	uint64_t split;	  /* most nodes of one rank each (parts.c) */
	uint64_t touches; /* chunks that a part's operations touch, if it is not one piece */
};

/** Looks at one instance; `grain`: NULL as usual. False: it has a mistake, reported (E0203-E0206, E0301-E0306, E0406,
 *  E0501), or `where` does not admit it. */
bool stream_instance(struct ctx *c, const struct instance *in, bool quiet_where,
		     const struct stream_grain *grain, struct stream_report *to);

/** E0501: says why the program cannot be streamed, and if that was not asked for, which limit of
 *  stored ones it is over. Returns false. (stream.c) */
bool stream_refuse(struct ctx *c, struct span at, const char *why);

/** Shows at `g` (NULL: does nothing) the calls that a rank's end was run in, in this iteration of its
 *  batch, from 0. (stream.c) */
void stream_show_calls(const struct stream *s, uint32_t rank, uint32_t batch, uint64_t iteration,
		       uint32_t end, struct diag *g);

/** Fills in the stream, all but ctx. False as above. (batches.c) */
bool stream_batches(struct stream *s, const struct instance *in, bool quiet_where);

/** Counts the FIFOs' ends into p->fifos. Reports E0301, E0302 and E0501; returns whether there
 *  were none. (meet.c) */
bool stream_meet(struct stream *s);

/** Finds the least slots, and of a program that finishes why, and the steps; reports E0304 where
 *  the context has fewer. Empties the scratch arena. (greedy.c) */
bool stream_finishes(struct stream *s, struct stream_report *to);

#endif
