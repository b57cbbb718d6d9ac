/*
 * The launch contract: what the host hands to a kernel. Plain structs, the same
 * in C11, in NVRTC (which has no headers) and in the emulation of tests/emu.
 *
 * One launch runs one call, for the workers [worker0, worker0 + nworkers) of the plan, which are
 * on this device, in `replicas` replicas: block b runs worker worker0 + b / replicas in replica b
 * % replicas, with CCS_THREADS threads or fewer (at least 4, a multiple of 32 on a device). All
 * blocks of all devices must be resident together. A block runs all its operations once a tile.
 *
 * Cuts. Replica r runs tiles t = 0 .. ntiles-1 on elements [lo, lo + tile) of every chunk, lo =
 * ((tile0 + t) * replicas + r) * tile; so all launches of a call together (one, with tile0 == 0,
 * unless it says otherwise) must cover the longest chunk; tile * element size is a multiple of
 * 16. A tile of each of max_cells cells must fit into a slot: max_cells * tile * element size <=
 * slot_bytes, and for the LL protocol twice that. The work after the operations is done for those
 * tiles, too.
 *
 * Counters are 64 bits, only grow (modulo 2^64), and are never reset. All of a replica's blocks
 * have run the same number of tiles, `epoch`; message k of a tile of a FIFO with M messages a
 * tile is number (epoch + t) * M + k; it is in slot number & (slots - 1). head: messages sent.
 * tail: messages taken. A sender may write number m when tail >= m + 1 - slots; a receiver may
 * read it when head >= m + 1. `done` of a worker: operations of the plan, (epoch + t) * nops + k.
 * At its end, in success or not, a block leaves its ends of FIFOs, its `done` and its epoch where
 * a whole run of the call leaves them; so the next launch needs nothing from the host, and a
 * captured launch can be replayed.
 *
 * State (FIFOs, done, epochs) belongs to one plan and one protocol: LL and Simple have separate
 * FIFOs. Fresh state is all zero bytes. (A state may begin at any epoch E: then head = tail = E *
 * M, done = E * nops, and every 8-byte entry of an LL slot is (E * M) << 32.) A call may have fewer
 * replicas than the state.
 *
 * Several devices. Each device of a communicator launches its own part of the
 * workers. Everything but FIFOs, the abort flag and its report is the device's own.
 * `far` says that some FIFO of the launch reaches another device or the host: then
 * fences are for the whole system.
 *
 * Direct copies. If the receiver stores a message unchanged, in cells that are free when the
 * sender may send (plan.h), the sender can write it there at once, if both ranks are on this
 * device: the sender's row has CCS_DEV_OUT_DIRECT and `remote`, the receiver's CCS_DEV_IN_DIRECT.
 * In a call with `direct` set (Simple only) the sender writes cell remote + j of rank
 * fifos[out].dst instead of a slot; head and tail count as ever. The receiver finds cells dst ..
 * in place: it stores nothing there, and reads from there the data that it sends on.
 *
 * Direct reads. A message that stays in cells of its sender until it has been received (plan.h)
 * can be read there, if both ranks are on this device: the sender's row has CCS_DEV_OUT_READ, the
 * receiver's CCS_DEV_IN_READ and `origin`. In a call with `direct` set the sender writes no slot;
 * the receiver reads cell origin + j of rank fifos[in].src, its initial value if
 * CCS_DEV_IN_INITIAL. Head and tail count as ever. Rows with CCS_DEV_OUT_APART, and
 * CCS_DEV_IN_APART, do so only where that rank's `send` is not its `recv`; rows that are also
 * marked as a direct copy are direct copies when they are not read. Both ends decide alike: a
 * premul-sum scales initial values, so these are not read; with `divide` only initial values
 * outside `recv` are read, as a rank divides its cells at its end.
 *
 * Layouts. Kernels of schedules with buffers `by column` or `sized` are compiled with CCS_LAYOUTS
 * set, as their source says. They do not use `count`: `places` has the places of cells in this
 * call: a rank's cells and scratch, and the next rank's `rank_places` rows further; 0: all ranks
 * have the same places. Other kernels do not read `places`.
 *
 * Premul-sum. A value that is read as an initial one is multiplied before it is combined, moved
 * or kept: by its rank's `scalar`, or, with `factors`, by the factor with the same offset from
 * `factors` as the value has from `send`. Kernels of other operators look at neither.
 *
 * Turns. Launches of one communicator on one device share `turn`, if they may run concurrently (a
 * replayed graph and another stream): a launch waits until no other one has the turn. turn[0]:
 * 0, or the launch that has it, from `launch` and the number that the device gives to the grid;
 * turn[1]: blocks of it that are done. NULL: the host has ordered the launches. Both numbers are
 * needed: those of the device are alike in two graphs, and `launch` is alike in two graphs made
 * of one capture.
 *
 * Graphs of one capture work on the same buffers, and a turn does not distinguish them: they must
 * not run side by side. A captured launch has separate counters, `begun`, zero at first: [0]
 * counts its blocks that are done, [1 + b] how often block b has begun. The n-th time it must
 * find that all blocks are done n - 1 times; else it reports CCS_DEV_STUCK_TWICE, and stops the
 * call.
 *
 * Traces. Kernels compiled with -D CCS_TRACE record, if the launch has room for it, when each
 * operation began and ended, in times[tile * ops + its row - first], for the tiles below `tiles`
 * of all replicas, numbered (tile0 + t) * replicas + r; and when each block did, in blocks[its
 * number]. Times are ns of the device's clock, and 0 for what was not done: the host sets all to 0
 * before. Other kernels do not have `trace`, the last field.
 *
 * Waits. A rank may come minutes late, for good reasons: a wait that lasts longer than `limit` is
 * reported, and continues, unless `ends` is set.
 */
#ifndef CCS_RUNTIME_CUDA_DEVICE_ARGS_H
#define CCS_RUNTIME_CUDA_DEVICE_ARGS_H

#if defined(__CUDACC_RTC__)
typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
typedef unsigned long long uintptr_t;
#else
#include <stdint.h>
#endif

/* The parameters of a kernel: -D CCS_TYPE= -D CCS_OP= -D CCS_PROTO=, and
 * -D CCS_TRACE. Types and operators have the numbers of plan/rows.h. CCS_AVG uses sum's
 * kernel with `divide` set. A premul-sum has a separate kernel. */

#define CCS_DEV_SIMPLE 0
#define CCS_DEV_LL 1

#define CCS_DEV_NONE 0xffffffffu
#define CCS_DEV_RANKS 32 /* ranks with their pointers in the launch's arguments */
#define CCS_DEV_LINE 16	 /* distance of counters in uint64_t: 128 bytes */

#define CCS_DEV_ALIGNED __attribute__((aligned(16))) /* tables: rows load 16 bytes at a time */

/* An operation, made by tables.c from a ccs_op. Parts as in plan.h. */
struct CCS_DEV_ALIGNED ccs_dev_op {
	uint32_t form;		  /* CCS_DEV_IN ... below */
	uint32_t in, out;	  /* rows of fifos */
	uint32_t in_seq, out_seq; /* number of the message in its FIFO, within a tile */
	uint32_t a, b, dst;	  /* cells */
	uint32_t n, len;
	uint32_t wait, nwaits;
	uint32_t done; /* with CCS_DEV_PUBLISH: operations of the plan that are done after it */
	uint32_t line;
	uint32_t file;
	uint32_t remote, origin;
};

#define CCS_DEV_IN 1u
#define CCS_DEV_A 2u
#define CCS_DEV_B 4u
#define CCS_DEV_DST 8u
#define CCS_DEV_OUT 16u
#define CCS_DEV_FORM 31u      /* these five choose the code */
#define CCS_DEV_A_INITIAL 32u /* read `a` from the send buffer */
#define CCS_DEV_B_INITIAL 64u
#define CCS_DEV_PUBLISH 128u	  /* some worker waits for it */
#define CCS_DEV_TO_STAGE 256u	  /* OUT is the worker's stage, not a FIFO */
#define CCS_DEV_FROM_STAGE 512u	  /* IN likewise */
#define CCS_DEV_OUT_DIRECT 1024u  /* to cells `remote` of the peer, in a direct call */
#define CCS_DEV_IN_DIRECT 2048u	  /* in a direct call, the message is in cells `dst` already */
#define CCS_DEV_LEN_SAME 4096u	  /* all cells are as long as `len`; else cell j as len + j */
#define CCS_DEV_OUT_READ 8192u	  /* in a direct call the message stays in its cells */
#define CCS_DEV_IN_READ 16384u	  /* ... and is read there: in cells `origin` of the peer */
#define CCS_DEV_IN_INITIAL 32768u /* ... in the peer's send buffer */
#define CCS_DEV_OUT_APART 65536u  /* OUT_READ holds if the rank's buffers are separate */
#define CCS_DEV_IN_APART 131072u  /* IN_READ holds if the peer's buffers are separate */
#define CCS_DEV_A_LAST 262144u	  /* its cells `a` are not read again before they are written */

struct ccs_dev_worker {
	uint32_t rank;
	uint32_t op, nops;    /* rows of ops */
	uint32_t count;	      /* operations of the plan, by which `done` grows each tile */
	uint32_t index, of;   /* its number among the rank's workers, and theirs */
	uint32_t shape;	      /* number of the generated straight-line code; CCS_DEV_NONE: use
			         the table */
	uint32_t stage_cells; /* 0: no stage */
	uint64_t stage;	      /* cells of earlier stages: its bytes begin at (stage *
			         replicas_max + replica * stage_cells) * tile */
};

struct ccs_dev_wait {
	uint32_t worker, ops;
};

/* Cell: chunk `pos` of `chunks` of block `send` of the send buffer and block
 * `recv` of the receive buffer. Scratch: chunks == 0, and `recv` is its number. */
struct CCS_DEV_ALIGNED ccs_dev_cell {
	uint32_t send, recv;
	uint32_t pos, chunks;
};

/* The position of a cell, in elements from the start of the buffers: initial values, others
 * (scratch: from its start). By column: elements of a row, and the distance of rows; row 0:
 * contiguous. */
struct ccs_dev_place {
	uint64_t send, recv;
	uint64_t len;
	uint64_t row, apart;
};

/* Pointers are as this device sees them. Replica r has data + r * slots *
 * slot_bytes, head[r * CCS_DEV_LINE], tail[r * CCS_DEV_LINE]. Head is best near the
 * receiver, tail near the sender. */
struct CCS_DEV_ALIGNED ccs_dev_fifo {
	uint8_t *data; /* 16-aligned */
	uint64_t *head, *tail;
	uint64_t slot_bytes; /* a multiple of 32 */
	uint32_t slots;	     /* a power of two; at least the number that the plan was checked
			        with, or that of its messages */
	uint32_t messages;   /* in a tile */
	uint32_t src, dst;   /* ranks, for the report */
	uint32_t src_worker, dst_worker;
};

/* Chunk `pos` of block `block` of a buffer; for scratch `pos` is its number. In kernels with
 * CCS_LAYOUTS `pos` is the cell's row of `places` for this rank, and `block` only says whether
 * it is scratch. */
struct ccs_dev_brief_cell {
	uint32_t pos, block;
};

/* An operation in the format for small calls with LL, where the work before the first
 * operation counts: the data of its row, cells and FIFOs in one place, so that one thread gets
 * it with independent loads. An operation that is not plain (ll.h) in some call has
 * CCS_DEV_NONE as its form; the host fills in its FIFOs' counters, too. */
struct CCS_DEV_ALIGNED ccs_dev_brief {
	uint8_t *in, *out;     /* slots of replica 0 */
	uint64_t *tail, *head; /* likewise; NULL unless it is the last message of a tile; tail
			          also if there are more messages than slots */
	uint32_t form, fifo;   /* which parts, and which are initial; row of its FIFO `in` */
	uint32_t in_seq, out_seq;
	uint32_t in_messages, out_messages;
	uint32_t in_slots, out_slots;
	uint32_t in_bytes, out_bytes; /* of a slot */
	struct ccs_dev_brief_cell len, a, b, dst;
};

/* After a rank's operations: cells with a final value equal to their initial one are
 * copied (keep), sums are divided (if `divide`). Rows of ranges:
 * [keep, reduced) and [reduced, end). */
struct CCS_DEV_ALIGNED ccs_dev_post {
	uint32_t keep, reduced, end, reserved;
};

struct ccs_dev_range {
	uint32_t first, n;
};

/* Aligned to the element. */
struct ccs_dev_rank {
	const uint8_t *send;
	uint8_t *recv;
	uint8_t *scratch;	/* 16-aligned; cell i at element i * longest */
	const uint8_t *factors; /* for premul-sum, one for each element of `send`; or NULL */
	uint64_t scalar;	/* ... without factors: one element, in the low bytes */
};

/* The kind of wait, as in the host's report. */
#define CCS_DEV_STUCK_RECV 1u	/* no message from `peer` */
#define CCS_DEV_STUCK_SEND 2u	/* no free slot towards `peer` */
#define CCS_DEV_STUCK_WORKER 3u /* for worker `peer` of the same rank */
#define CCS_DEV_STUCK_TURN 4u	/* another launch has not ended */
#define CCS_DEV_STUCK_TWICE 5u	/* no peer: another graph of the same capture runs, too */

/* A wait. A part has two reports, zero before use. The first has the reason for the failure: the
 * wait of the part's first block that exceeded the limit, or that had lasted more than half of the
 * limit when the block saw the stop; a part without a report is the likely culprit. The second is
 * of the first wait that exceeded the limit and continued; the reader may zero it. */
struct ccs_dev_report {
	uint32_t taken; /* 1 once a block writes it */
	uint32_t kind;
	uint32_t worker, replica; /* the waiting worker */
	uint32_t op;		  /* row of the worker's; CCS_DEV_NONE: before or after all of
				     them */
	uint32_t peer;		  /* CCS_DEV_STUCK_WORKER: which one */
	uint32_t fifo;		  /* CCS_DEV_STUCK_RECV and _SEND: its other end is the peer */
	uint32_t complete;	  /* 1: all of it is written; set last */
	uint64_t tile;
	uint64_t need, have; /* the counter's value (LL: the flag's) */
};
#define CCS_DEV_REPORTS 2

/* Times of the device's clock. */
struct ccs_dev_time {
	uint64_t begin, end;
};

struct ccs_dev_trace {
	struct ccs_dev_time *times;  /* [tiles * ops] */
	struct ccs_dev_time *blocks; /* or NULL */
	uint64_t first, ops, tiles;
};

struct ccs_dev_call {
	const struct ccs_dev_op *ops;
	const struct ccs_dev_worker *workers;
	const struct ccs_dev_wait *waits;
	const struct ccs_dev_cell *cells;
	const struct ccs_dev_fifo *fifos;
	const struct ccs_dev_post *posts; /* [nranks of the plan] */
	const struct ccs_dev_range *ranges;
	uint64_t *done;		       /* [(worker * replicas_max + replica) * CCS_DEV_LINE] */
	uint64_t *epoch;	       /* likewise */
	uint8_t *stage;		       /* 16-aligned; NULL if no worker has one */
	uint32_t *abort;	       /* non-zero: stop. Set by a block that gives up; may be the
					  host's memory. The host zeroes it after the call. */
	struct ccs_dev_report *report; /* [CCS_DEV_REPORTS] */
	const struct ccs_dev_rank *far_ranks; /* [nranks] or NULL: use ranks[] below */
	uint64_t count;			      /* elements of a block of the contract */
	uint64_t tile;	  /* elements; a tile of all cells of a message has less than
				   2^32 units of 16 bytes */
	uint64_t ntiles;  /* of each replica */
	uint64_t longest; /* elements between scratch cells: at least the longest
				   chunk, and a multiple of 16 bytes */
	uint64_t limit;	  /* ns of one wait without progress until it is reported; 0: never. Only
			     in kernels with -D CCS_WATCHDOG */
	uint32_t worker0, nworkers;
	uint32_t replicas, replicas_max; /* of this call; of the state */
	uint32_t divide;		 /* CCS_AVG: the number of ranks; else 0 */
	uint32_t far;			 /* 1: FIFOs reach other devices or the host */
	uint32_t direct;		 /* 1: direct copies and reads, see above */
	uint32_t tile0;			 /* see Cuts; 0 unless a call takes several launches */
	uint32_t launch; /* with `turn`: counts launches; a replay has its capture's */
	uint32_t ends;	 /* 1: a wait that exceeds `limit` ends the call */
	uint64_t *turn;	 /* [2], or NULL */
	uint64_t *begun; /* [1 + blocks], for a captured launch with `turn`; else NULL */
	struct ccs_dev_rank ranks[CCS_DEV_RANKS];
	const struct ccs_dev_place *places; /* NULL: cells are parts of blocks */
	uint64_t rank_places;
	/* Elements of a chunk of a block of `chunks` chunks: saves the division for cells with
	 * this number of chunks. 0 chunks: none saved. */
	uint64_t chunk;
	uint32_t chunks;
	const struct ccs_dev_brief *briefs; /* a row for each of ops; only for LL */
#if !defined(__CUDACC_RTC__) || defined(CCS_TRACE)
	struct ccs_dev_trace trace;
#endif
};

/* The kernel: extern "C" __global__ void ccs_kernel(const struct ccs_dev_call c) */
#define CCS_DEV_KERNEL "ccs_kernel"

#ifndef CCS_THREADS
#define CCS_THREADS 256 /* most threads of a block; -D CCS_THREADS= */
#endif

#endif
