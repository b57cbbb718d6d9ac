/*
 * A plan as MSCCL XML: what MSCCL and RCCL load (--emit=msccl-xml).
 *
 *   export.c           what the format can express; the line of passes
 *   export_blocks.c    workers -> thread blocks, with one peer to send to and one to receive from
 *   export_channels.c  FIFOs -> channels
 *   export_places.c    cells -> chunks of input, output and scratch
 *   export_pieces.c    operations -> pieces: chunks that are adjacent at every end
 *   export_steps.c     operations -> steps
 *   export_waits.c     chunks that steps have in common -> depid, deps, hasdep
 *   export_run.c       runs the file on numbers: is it right, and with how few slots?
 *   export_refuse.c    E0501: properties that the format cannot express
 *   export_text.c      limits of the executors; the text
 *
 * Why the file is right: steps of different blocks of a rank that touch a chunk, one of them
 * writing it, keep the order of the plan. All waits agree with one order in which the plan's
 * operations can run with the slots for which it was proved. So with as many slots there is no
 * deadlock, if each slot holds a message. Executors may cut messages, so export_run.c runs the
 * file, chunk by chunk.
 *
 * Chunks. All chunks of a file have one size, while cells of a plan may have several sizes. So a
 * block of the caller's `count` elements is cut into the least common multiple of the buffers'
 * numbers of chunks, and a cell has one or more of these.
 *
 * Replicas (--protocols=simple/4) are copies of the thread blocks on separate channels, each for
 * its part of every block of elements. One replica is made, and the text repeats it.
 */
#ifndef CCS_COMPILER_EMIT_MSCCL_EXPORT_H
#define CCS_COMPILER_EMIT_MSCCL_EXPORT_H

#include "compiler/emit/module_bytes.h"
#include "runtime/plan/in_place.h"

/* Limits of the executors, by their names. */
#define MSCCL_MAX_NUM_STEPS 256u /* of a block */
#define MSCCL_MAX_COUNT 72u	 /* cnt is below it */
#define MSCCL_MAX_CHANNELS 32u	 /* MAXCHANNELS */
#define MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL 32u
#define MSCCL_MAX_NODES 4096u  /* elements that one rank reads */
#define MSCCL_MAX_SUBS 1024u   /* elements in one */
#define MSCCL_MAX_DEPID 127u   /* dependentBid has 8 bits */
#define MSCCL_MAX_OFFSET 32767 /* srcOffset has 16 */
#define MSCCL_SLOTS 8u	       /* of LL and LL128; */
#define MSCCL_SIMPLE_SLOTS 2u  /* of Simple, at least */

enum export_type { EX_S, EX_R, EX_CPY, EX_RE, EX_RCS, EX_RRC, EX_RRS, EX_RRCS };
enum export_buffer { EX_I, EX_O, EX_SCRATCH };

/* The effects of a type of step. */
struct export_does {
	const char *name;
	bool receives, sends, reads, writes; /* src; dst */
};

/* A chunk of a rank. */
struct export_at {
	enum export_buffer buffer;
	uint32_t chunk;
};

struct export_wait {
	uint32_t block, step;
};

struct export_step {
	enum export_type type;
	struct export_at src, dst;
	uint32_t n;	       /* chunks */
	uint32_t wait, nwaits; /* by export_waits.c: rows of waits */
	uint32_t number;       /* in the file, with a `nop` for each wait but the last before it */
	bool awaited;
};

struct export_block {
	uint32_t rank;
	uint32_t in, out; /* FIFOs, or NONE */
	uint32_t channel;
	struct export_step *steps;
	uint32_t nsteps, capsteps;
	bool awaited;
};

/* Chunks [at, at + n) of an operation. */
struct export_piece {
	uint32_t at, n;
};

struct msccl_export {
	struct ctx *c;
	struct arena *arena;
	const struct decl *schedule;
	const struct ccs_module *m;
	const struct plan_view *v;
	const char *name, *protocol, *collective;
	uint32_t replicas;
	uint32_t slots;	      /* the least number that the protocol has */
	bool in_place;	      /* the file is right in place, too */
	struct diag *remarks; /* or NULL */

	struct export_block *blocks; /* by rank */
	uint32_t nblocks, capblocks;
	uint32_t *first;	     /* [nranks + 1]: rows of blocks */
	uint32_t *sender, *receiver; /* by FIFO: its blocks */
	uint32_t *home;		     /* by worker: its first block, or NONE */
	uint32_t nchannels;	     /* of a replica */

	uint32_t per_block;		/* chunks of a block of elements, of a replica */
	uint32_t *input_at, *output_at; /* by buffer: its first chunk, of all replicas */
	uint32_t ninput, noutput;	/* chunks of all replicas */
	uint32_t nchunks;		/* nchunksperloop */
	uint32_t *scratch_at;		/* [nranks * scratch], of a replica */
	uint32_t *moved;    /* [nranks * buffers]: its place in scratch, if the contract asks for
			       nothing in the buffer; or NONE */
	uint32_t *stage_at; /* by worker: its private scratch */
	uint32_t *nscratch; /* by rank: chunks of a replica */

	struct export_piece *pieces;
	uint32_t npieces, cappieces;
	uint32_t *piece, *pieces_of; /* by operation: rows of pieces; their number */

	struct export_wait *order; /* all steps, rank by rank, in an order in which they can run */
	uint32_t norder, caporder;
	uint32_t *order_at; /* [nranks + 1]: rows of order */
	struct export_wait *waits;
	uint32_t nwaits, capwaits;
};

/* ---- one pass each ----------------------------------------------------------------------- */

/** Makes blocks with their FIFOs and channels. False: too many channels (E0501). O(operations log
 *  operations). */
bool export_blocks(struct msccl_export *x);

/** Places the chunks. False: there are too many (E0501). O(cells of all operations). */
bool export_places(struct msccl_export *x);

/** Cuts operations into pieces, alike at both ends of a message. O(cells of all operations). */
void export_pieces(struct msccl_export *x);

/** Makes the steps, and an order of them. O(pieces). */
void export_steps(struct msccl_export *x);

/** Finds the waits of steps, without those that follow from others. O(chunks of all steps + waits *
 *  blocks of the rank). */
void export_waits(struct msccl_export *x);

/** Whether the steps compute what the plan promises, in place or not, with `slots` slots a FIFO,
 *  where a message has one chunk (`single`) or all of a step's. `ends`: whether all steps finish.
 *  O(chunks of all steps * turns). */
bool export_run(const struct msccl_export *x, bool in_place, uint32_t slots, bool single,
		bool *ends);

/** Whether the file is within the executors' limits (E0501). O(steps). */
bool export_limits(const struct msccl_export *x);

void export_text(const struct msccl_export *x, FILE *out);

/* ---- shared ------------------------------------------------------------------------------ */

const struct export_does *export_does(enum export_type t);

/** Reports E0501 of the schedule: the limit, and a cure. Returns false. */
bool export_refuse(const struct msccl_export *x, const char *cure, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* FIFOs that have to be on one channel: sets of them, see export_channels.c. */
struct export_sets;
struct export_sets *export_sets(struct msccl_export *x);
/** Joins the sets of two FIFOs, unless one channel would then have two FIFOs of one sender and
 *  receiver. */
bool export_join(struct export_sets *s, uint32_t a, uint32_t b);
/** Assigns channels to blocks. False: there are not enough. */
bool export_color(struct msccl_export *x, struct export_sets *s);

/** Chunks of cell j of the operation. */
uint32_t export_width(const struct msccl_export *x, const struct ccs_op *o, uint32_t j);

/** The place of the cell's first chunk, on replica 0: of its initial value, or of the cell
 *  itself. */
struct export_at export_place(const struct msccl_export *x, uint32_t rank, uint32_t cell,
			      bool initial);

/** The place of the operation's chunk `at`, counted from cell `first`. */
struct export_at export_chunk(const struct msccl_export *x, uint32_t rank, const struct ccs_op *o,
			      uint32_t first, bool initial, uint32_t at);

/** Whether, in place, a chunk of the input and one of the output are the same memory. If one of the
 *  two is larger, the other is the rank's part of it. */
bool export_twins(const struct msccl_export *x, uint32_t rank, struct export_at in,
		  struct export_at out);

/** Whether the operation's value passes through its worker's stage: it is sent from another block,
 *  or by a step type that stores, and stored nowhere else; or the operation would overwrite chunks
 *  that it has yet to read. */
bool export_staged(const struct msccl_export *x, const struct ccs_op *o);

static inline bool export_same(struct export_at a, struct export_at b)
{
	return a.buffer == b.buffer && a.chunk == b.chunk;
}

#endif
