/*
 * MSCCL XML: algorithms in MSCCL's XML, as programs.
 *
 *   read.c        text -> a description: GPUs, thread blocks, steps, each with its place
 *   sound.c       consistency: FIFOs' ends, dependencies, chunks
 *   executors.c   limits and rules of the executors
 *   collective.c  the contract, the places of its buffers, and a schedule's text with them
 *   program.c     description -> struct program: a thread block is a task
 *   slots.c       the slots that it needs, by the number of chunks that fit a slot
 *   between.c     races between thread blocks, and the order by messages alone
 *   verdict.c     the report
 *
 * A file means what its executors do with it (the format has no specification):
 *
 *   - A thread block runs its steps in order. Before a step it waits until block `depid` of
 *     its GPU has finished step `deps`, which must have hasdep="1"; `nop` only waits.
 *   - (sender, receiver, chan) is a FIFO, with one block at each end.
 *   - s: send src. r: receive into dst. cpy: dst = src. re: dst += src. rcs: receive into dst
 *     and send it. rrc: dst = src + received. rrs: send src + received, which is stored nowhere.
 *     rrcs: dst = src + received, and send it. The operand of rr* is `src`.
 *   - In place, `o` is `i` for allreduce, alltoall, broadcast and reduce, `i` is part `rank` of
 *     `o` for allgather and gather, and `o` is part `rank` of `i` for reduce_scatter and scatter.
 *   - The `cnt` chunks of a step travel in messages of 1..MSCCL_MOST_CHUNKS chunks, as many as
 *     fit a slot. So for small sizes a step is one message, for large ones `cnt` messages.
 *
 * Two programs are made from one description. The *waiting* program has the blocks' steps as the
 * executors run them: a step that receives and sends starts when both can be done, and the message
 * keeps its slot until then. It decides deadlock. The *value* program has the same steps as plain
 * operations, and copies between the contract's buffers and the file's; it decides races and
 * results, and is compiled. Its steps wait for less than those of the waiting program, so it
 * finishes if the waiting program does.
 */
#ifndef CCS_COMPILER_MSCCL_MSCCL_H
#define CCS_COMPILER_MSCCL_MSCCL_H

#include "compiler/check/before.h"
#include "compiler/check/deadlock.h"

#define MSCCL_MOST_CHUNKS 71u	      /* of a message */
#define MSCCL_MOST_NUMBER 1000000000u /* of chunks, of any number that is read */

/* Limits of the executors, with their names there (W0601). */
#define MSCCL_MAX_NUM_STEPS 256
#define MSCCL_MAX_CHANNELS 32 /* MAXCHANNELS */
#define MSCCL_MAX_BLOCKS_PER_CHANNEL 32
#define MSCCL_MAX_COUNT 72
#define MSCCL_MAX_NODES 4096

enum msccl_type {
	STEP_NOP,
	STEP_S,
	STEP_R,
	STEP_CPY,
	STEP_RE,
	STEP_RCS,
	STEP_RRC,
	STEP_RRS,
	STEP_RRCS,
	STEP_TYPES
};

enum msccl_buffer { BUFFER_I, BUFFER_O, BUFFER_S, MSCCL_BUFFERS };

/* Chunks of a buffer: what a step reads or writes. */
struct msccl_chunks {
	enum msccl_buffer buffer;
	uint32_t at;
};

struct msccl_step {
	struct span span;
	enum msccl_type type;
	uint32_t s;		      /* its number in the file */
	struct msccl_chunks src, dst; /* as its type requires */
	uint32_t cnt;
	int32_t depid, deps; /* -1: it waits for nothing */
	bool hasdep;
	uint32_t waits_block, waits_step; /* by sound.c: rows of blocks, of its steps; or NONE */
};

struct msccl_block {
	struct span span;
	uint32_t gpu; /* row of gpus: the rank */
	uint32_t id, channel;
	int32_t send, recv; /* peers; -1: none */
	struct msccl_step *steps;
	uint32_t nsteps, capsteps;
	uint32_t out, in; /* by sound.c: its FIFOs, or NONE */
};

struct msccl_gpu {
	struct span span;
	bool given;
	uint32_t chunks[MSCCL_BUFFERS]; /* i_chunks, o_chunks, s_chunks */
	bool counted[MSCCL_BUFFERS];	/* whether they are given */
	uint32_t first, nblocks;	/* rows of msccl.blocks */
};

struct msccl_collective;

struct msccl {
	struct source *source;
	struct span span; /* of <algo> */
	const char *name, *protocol;
	const struct msccl_collective *collective;
	uint32_t nranks, nchunks, nchannels;
	bool inplace, outofplace;
	uint64_t min_bytes, max_bytes;
	struct msccl_gpu *gpus;	    /* [nranks] */
	struct msccl_block *blocks; /* by GPU, in the order of the file */
	uint32_t nblocks, capblocks;
	uint64_t nsteps;
	struct fifo *fifos; /* by sound.c */
	uint32_t nfifos, capfifos;
	uint32_t most;	   /* the largest cnt */
	uint32_t scratch;  /* the most s_chunks */
	bool writes_input; /* some step stores in `i` */
};

/* The effects of a type of step. */
struct msccl_does {
	const char *name;
	bool receives, sends, reads, writes; /* src; dst */
};
const struct msccl_does *msccl_does(enum msccl_type t);

/* ---- read.c ---------------------------------------------------------------------------- */

/** Reads a text of c->sources. E0601, E0602, E0306. NULL: there is no description. A document type,
 *  and so an entity, is refused; memory is a small multiple of the text. O(bytes). */
struct msccl *msccl_read(struct ctx *c, struct source *source);

/* ---- sound.c --------------------------------------------------------------------------- */

/** Finds each step's dependency and each block's FIFOs. E0306, E0406, E0602, E0603; W0601 as below.
 *  Returns whether there were no errors. O(steps log steps). */
bool msccl_sound(struct ctx *c, struct msccl *m);

/* ---- executors.c ------------------------------------------------------------------------- */

/** Warns of properties of a sound file that the executors do not accept. W0601. O(steps). */
void msccl_executors(struct ctx *c, const struct msccl *m);

/* ---- collective.c ---------------------------------------------------------------------- */

/** Whether a file of that name is read as MSCCL XML. */
bool msccl_is_name(const char *path);
/** The collective of that name, or NULL. */
const struct msccl_collective *msccl_collective(const char *name);
/** All names, up to a NULL. */
const char *const *msccl_collective_names(void);
/** The name of the collective's contract; "custom" has none. */
const char *msccl_contract_name(const struct msccl *m);
bool msccl_has_contract(const struct msccl *m);
/** Whether the collective has a root, which a file does not name. */
bool msccl_has_root(const struct msccl *m);
/** Whether values go to the root, not from it. */
bool msccl_to_root(const struct msccl *m);
/** Whether the collective promises anything about `o` on that rank. */
bool msccl_has_result(const struct msccl *m, uint32_t rank, uint32_t root);
/** Chunks of `i` and of `o`: of the whole, on each rank. */
uint32_t msccl_size(const struct msccl *m, enum msccl_buffer b);

/** The text of a schedule without operations, with the contract, its buffers, and the name of the
 *  file's algorithm; in the arena. */
const char *msccl_schedule_text(struct ctx *c, const struct msccl *m, uint32_t root);

/* The places of a file's buffers in a program. */
struct msccl_home {
	uint32_t base, by_rank; /* chunk 0 of rank r is cell base + r * by_rank */
};
struct msccl_homes {
	struct msccl_home at[MSCCL_BUFFERS];
	struct msccl_home given, begin; /* copied to `begin` first, `ngiven` chunks */
	struct msccl_home end, result;	/* copied to `result` last, `nresult` chunks */
	uint32_t ngiven, nresult;
	uint32_t scratch; /* cells after the contract's buffers */
};
/** `p` has the buffers of that schedule. */
struct msccl_homes msccl_homes(const struct msccl *m, const struct program *p, bool in_place);

/* ---- program.c ------------------------------------------------------------------------- */

/* Products of a description. */
struct msccl_form {
	const struct instance *instance; /* of msccl_schedule_text() */
	bool in_place;
	uint32_t root;
	bool waiting;	      /* the waiting program, else the value program */
	bool reuse;	      /* the value program: makes sums that are only sent in src */
	uint32_t per_message; /* chunks that fit a slot */
};

/** The program; NULL: it exceeds a limit, which is reported (E0501). O(operations). */
struct program *msccl_program(struct ctx *c, const struct msccl *m, const struct msccl_form *f);

/** Whether a step reads chunks to which it stores at other places of its message; many threads
 *  handle the chunks concurrently: E0402. `p` is of that description. O(steps). */
bool msccl_overlaps(struct ctx *c, const struct msccl *m, const struct program *p, bool in_place);

/* ---- slots.c --------------------------------------------------------------------------- */

enum { MSCCL_DEPTHS = 5 }; /* unlimited, 8, 4, 2, 1 slots */

/* The result for FIFOs of one depth. */
struct msccl_depth {
	uint32_t slots;	  /* NONE: unlimited */
	uint32_t blocked; /* blocks that wait for ever, one chunk a message */
	uint32_t hangs;	  /* most chunks a slot at which it hangs; 0: at none */
};

struct msccl_slots {
	int64_t chunk, step; /* least: one chunk a message; one step a message. -1: none suffices */
	struct msccl_depth depths[MSCCL_DEPTHS];
	bool finishes; /* at ctx.slots, for all sizes */
};

/** Decides deadlock for all sizes of chunks; `f` is completed here. E0301-E0304. False: ends of
 *  messages do not meet, which is reported. O(operations * sizes that differ * log slots). */
bool msccl_slots(struct ctx *c, const struct msccl *m, struct msccl_form f,
		 struct deadlock_report *d, struct msccl_slots *to);

/* ---- between.c ------------------------------------------------------------------------- */

/** Finds races between thread blocks: two steps that touch a chunk, one of them storing, without an
 *  order by steps, dependencies and messages. BEFORE_NO: there are races, with E0402 for each pair
 *  of steps. BEFORE_OPEN: it takes too much work (E0501). BEFORE_YES: there is none; operations
 *  that are ordered by messages only get an OP_WAIT, so that the program has all orders of a rank's
 *  operations. `order` is of the program before this. O(operations + chunks touched), mostly. */
enum answer msccl_between(struct ctx *c, struct program *p, const struct order *order);

/* ---- verdict.c ------------------------------------------------------------------------- */

enum msccl_answer {
	NOT_ASKED,
	PROVED,
	REFUTED,
	RACES, /* its result depends on which thread block is first */
	UNDECIDED,
	NO_CONTRACT
};

/* The findings on a file. */
struct msccl_verdict {
	const struct msccl *m;
	const char *name, *contract;
	struct msccl_slots slots;
	bool has_slots; /* they are known */
	enum msccl_answer in_place, out_of_place;
	bool races, any_values; /* it has races; values were checked */
	bool races_open;	/* in some way to run it, races were not decided */
	bool same_bits, same_bits_counts;
	const char *bits_why;
	uint32_t root; /* NONE: the collective has none */
	uint32_t steps;
	double sent, bound;
};

/** As text, or as one JSON object. */
void msccl_verdict_print(struct ctx *c, const struct msccl_verdict *v, bool json, FILE *out);

#endif
