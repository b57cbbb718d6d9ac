/*
 * The plan format: a compiled schedule, as `lower` makes it and an engine runs it.
 *
 * A module (`ccs_module_v1` in an ar.so) is one block of bytes, position
 * independent (offsets from its start, in bytes, 8-aligned), little-endian,
 * read only. It holds the schedule's texts and one plan for each number of
 * ranks N, and each root where the root is chosen at run time.
 *
 * A plan is a program for N ranks. A rank has workers, which run concurrently;
 * a worker runs its operations in order. Ranks exchange messages over FIFOs;
 * each end of a FIFO belongs to one worker. Workers of a rank wait for one
 * another with `wait` rows, where they touch the same cells.
 *
 * A *cell* is a chunk of one rank: the cells of a rank number all chunks of its buffers, in the
 * order of the schedule, and then the scratch chunks. The caller's `count` elements make a block;
 * a buffer is `blocks` blocks of `chunks` cells each, so chunk c of block b begins at element b *
 * count + min(c * q, count) with q = ceil(count / chunks), and the last chunks may be shorter or
 * empty. Where a buffer is `by column` the call has a number of rows, and all this holds for each
 * row of the buffer, with count / rows elements in the place of count: the rows of a chunk, in
 * order, are its elements. Where a buffer is `sized`, each rank's call gives the sizes of its
 * chunks, which are stored one after another. Cells, of any ranks, that have one number in
 * `sizes` are equally long: the call sees to that.
 *
 * Every operation is one form (any of its parts may be absent):
 *
 *     v = next message of `in`  (+)  cells `a`  (+)  cells `b`
 *     cells `dst` = v;   send v on `out`
 *
 * where (+) combines the parts present. Thus send: a, out. recv: in, dst.
 * receive-reduce: in, a, dst. copy: a, dst. local reduce: a, b, dst. The fused
 * forms (receive-reduce-copy-send: in, a, dst, out; without the copy: no dst)
 * hand a chunk on while it is in registers.
 *
 * Tiles. An executor may cut every chunk into tiles (the same cut for all
 * chunks) and run the whole plan once a tile: FIFOs end empty, so tile t+1 may
 * follow tile t in each worker without a barrier, and a wait on "operation k"
 * means operation k of the same tile. One message is one slot of its FIFO and
 * holds one tile of each of its n cells.
 *
 * Replication. An executor may run R replicas of the plan concurrently, each on an R-th of every
 * chunk (cut as tiles are), each with separate FIFOs and workers: "channels" in NCCL's sense. A
 * plan says nothing about R.
 *
 * Direct copies. CCS_OP_DIRECT marks a sending operation whose message the receiver
 * stores unchanged, in cells that are free: all operations of the receiver that touch
 * them before it is stored have happened before the sending operation starts (by the
 * orders of workers, waits, and messages that were received; not by free slots). So an
 * executor that sees both memories may write there instead of into a slot, once the
 * receiver has begun the call.
 *
 * Held messages. CCS_OP_HELD marks a sending operation. When it is done, its message is in cells
 * of its rank (ccs_plan_source) that no operation of the rank writes until the receiving
 * operation is over (by the same orders). So an executor that sees both memories may let the
 * receiver read the message there, without a slot; a rank's call is over only when its held
 * messages have been received. (The send buffer does not hold an initial value scaled, as
 * premul-sum needs it.) The mark assumes that no message is written directly: an executor does
 * either direct copies or held messages.
 *
 * Direct reads. CCS_OP_READ marks a held message that is not direct, if also no direct message of
 * a later operation is written to its cells before the receiving operation is over. (The
 * receiving operation may itself send a direct message to exactly these cells: it reads each
 * element before it writes it.) So an executor may combine both: write direct messages, and read
 * messages with this mark. A message that is an initial value (ccs_plan_is_initial) is in the
 * send buffer. If that is apart from the receive buffer, no operation writes there, and the
 * message may be read whatever its marks are.
 *
 * Rounds. An engine that exchanges messages in groups (NCCL's grouped send and receive) sends all
 * messages of a round at once; between two rounds each rank does every operation that it can.
 * Phase p comes after round p (phase 0: before all) and holds the operations that can be done
 * then: an operation follows the message that it receives and the operations of its rank that
 * touch the same cells before it, if at least one of the two writes; ordered operations of one
 * phase have ascending levels, and a shifted one takes two. The message that an
 * operation of phase p sends goes in round p + 1: no plan can do with fewer rounds. They always
 * exist: a plan that ends with some slots ends with more, so that the orders of workers, waits
 * and messages alone have no cycle.
 *   Where the plan promises an order of ranks (`after`), an operation also follows the one before
 *   it in its worker, and the operations that it waits for. Elsewhere only values count, and
 * messages without cells are not sent.
 *   A message is in place on the sending side if no operation writes the cells that hold it
 *   before its round, and on the receiving side if it is stored unchanged in cells that no
 *   operation uses any more at that round: no staging is needed then. One of several cells is in
 * place on both sides or on none, so that both cut it alike.
 *
 * Protocols. A plan's `choices` give, by size, the quickest protocol on GPUs and its number of
 * channels (replicas). A user can override it (choice.h).
 */
#ifndef CCS_RUNTIME_PLAN_PLAN_H
#define CCS_RUNTIME_PLAN_PLAN_H

#include "runtime/ccs.h"

#define CCS_PLAN_MAGIC "CCSPLAN\n"
#define CCS_PLAN_ABI 11u
#define CCS_NONE UINT32_MAX

/* A table: `n` rows of a fixed size, `at` bytes from the module's start. */
struct ccs_table {
	uint64_t at;
	uint64_t n;
};

/* The head of `ccs_module_v1`. */
struct ccs_module_head {
	uint64_t size;	   /* bytes of the whole module, this head included */
	char magic[8];	   /* CCS_PLAN_MAGIC */
	uint32_t abi;	   /* CCS_PLAN_ABI; another number: do not read on */
	uint32_t reserved; /* 0 */
	uint64_t checksum; /* FNV-1a, 64 bits, over all bytes behind this field */
	uint32_t schedule; /* names: offsets of NUL-terminated text in `text` */
	uint32_t contract;
	uint32_t compiler;	  /* version of the compiler */
	uint32_t root_param;	  /* name of the parameter that is the root, or CCS_NONE */
	uint32_t slots;		  /* FIFO depth that the plans were checked for */
	uint32_t flags;		  /* CCS_MODULE_* */
	struct ccs_table text;	  /* char: all strings; ends in NUL */
	struct ccs_table files;	  /* struct ccs_file: the sources, main file last */
	struct ccs_table params;  /* struct ccs_param: the schedule's, as compiled */
	struct ccs_table buffers; /* struct ccs_buffer */
	struct ccs_table plans;	  /* struct ccs_plan, ascending by (nranks, root) */
	struct ccs_table cuda;	  /* char: CUDA source, ends in NUL; empty: CPU only */
	struct ccs_table kernels; /* struct ccs_kernel; each key once, in no order */
};

#define CCS_MODULE_REDUCES 1u /* the contract combines values: an operator matters */
#define CCS_MODULE_MIXED \
	2u /* ... but some final values are single contributions, so
					   avg and premul-sum have no meaning: refused at run time */
#define CCS_MODULE_EVEN_COUNTS \
	4u			/* values move to chunks at other places in their block:
					   only counts that `chunks` divides */
#define CCS_MODULE_BY_COLUMN 8u /* has a buffer `by column` */
#define CCS_MODULE_SIZED 16u	/* has a `sized` buffer */

/* How messages are announced on CUDA. */
enum ccs_protocol { CCS_SIMPLE = 0, CCS_LL = 1 };
#define CCS_NPROTOCOLS 2u

/* A compiled kernel. Where no operator matters, type is the first in ccs_dtype
 * of its size, and op is 0; avg is a sum, divided; premul-sum is 5. */
struct ccs_kernel {
	uint32_t arch;	   /* 10 * major + minor compute capability: 90 */
	uint32_t variant;  /* 'a', 'f' (as in sm_90a), or 0 */
	uint32_t type, op; /* ccs_dtype, ccs_redop or 5 */
	uint32_t protocol; /* enum ccs_protocol */
	uint32_t reserved;
	struct ccs_table cubin; /* char */
};

struct ccs_file {
	uint32_t name;	  /* text offset */
	uint32_t content; /* text offset */
};

struct ccs_param {
	uint32_t name;
	uint32_t reserved;
	int64_t value;
};

/* chunks and blocks depend on N: each plan has its own struct ccs_shape rows. */
struct ccs_buffer {
	uint32_t name;
	uint32_t direction; /* ccs_direction */
	uint32_t by_column;
	uint32_t sized;
};

struct ccs_shape {
	uint32_t chunks; /* cells in a block */
	uint32_t blocks; /* blocks of `count` elements */
	uint32_t cell;	 /* its first cell */
	uint32_t reserved;
};

struct ccs_plan {
	uint32_t nranks;
	uint32_t root;	      /* or CCS_NONE */
	uint32_t cells;	      /* cells of all buffers, the same on every rank */
	uint32_t scratch;     /* scratch cells behind them, the most of any rank */
	uint32_t steps;	      /* steps on the critical path */
	uint32_t max_message; /* most cells in one message; a local copy may have more */
	uint32_t rounds;      /* between hosts */
	uint32_t reserved;
	struct ccs_table shapes;  /* struct ccs_shape, one a buffer */
	struct ccs_table ranks;	  /* struct ccs_rank, nranks + 1: the last closes */
	struct ccs_table workers; /* struct ccs_worker */
	struct ccs_table ops;	  /* struct ccs_op */
	struct ccs_table waits;	  /* struct ccs_wait */
	struct ccs_table fifos;	  /* struct ccs_fifo */
	struct ccs_table expect;  /* uint32_t, nranks * cells: row of `sums` where the final
					   value of the cell begins, or CCS_NONE: may be anything */
	struct ccs_table sums;	  /* struct ccs_sum, runs of contributions */
	struct ccs_table choices; /* struct ccs_choice, ascending; the last has no limit */
	struct ccs_table after;	  /* struct ccs_after */
	struct ccs_table sizes;	  /* uint32_t, nranks * cells if a buffer is `sized`, else none:
					   of the cell's size; CCS_NONE for other buffers' */
};

/* Rank `rank` ends after ranks first .. first + n - 1 have begun: the contract asks for
 * it, and messages, workers and waits see to it. */
struct ccs_after {
	uint32_t rank, first, n;
	uint32_t reserved;
};

/* For calls with at most `bytes` bytes a rank in the larger buffer. */
struct ccs_choice {
	uint64_t bytes;	   /* UINT64_MAX: the last row */
	uint32_t protocol; /* enum ccs_protocol */
	uint32_t channels; /* most replicas; 0: as many as pay */
};

struct ccs_rank {
	uint32_t worker; /* its first worker */
	uint32_t reserved;
};

struct ccs_worker {
	uint32_t rank;
	uint32_t op, nops; /* its rows of ops */
	uint32_t stage;	   /* most cells of an operation that is shifted; 0: none is */
};

#define CCS_OP_A_INITIAL \
	1u		    /* `a` is read from the caller's send buffer (an inout's
				   value before the run; premul-sum scales it) */
#define CCS_OP_B_INITIAL 2u /* the same for `b` */
#define CCS_OP_LEN_SAME 4u  /* all cells of the operation are as long as cell `len` */
#define CCS_OP_SHIFTED 8u   /* it writes cells that it has yet to read: `a` or `b` overlaps `dst` */
#define CCS_OP_AWAITED 16u  /* some wait is for it */
#define CCS_OP_DIRECT 32u   /* its message may be written where the receiver stores it */
#define CCS_OP_FROM_CELLS \
	64u		     /* between hosts: its message is sent from its cells
				   (ccs_plan_source) */
#define CCS_OP_TO_CELLS 128u /* ... its message is received in `dst` */
#define CCS_OP_HELD 256u     /* its message may be read in the cells that hold it */
#define CCS_OP_READ 512u     /* ... even if direct messages are written where they are stored */

/* Cells a.., b.., dst.. are n cells each. Absent parts are CCS_NONE. A cell of
 * an `in` buffer is always read with its _INITIAL flag set. */
struct ccs_op {
	uint32_t in, out;      /* FIFOs */
	uint32_t a, b, dst;    /* first cells */
	uint32_t n;	       /* number of cells; 0 is legal and still a message */
	uint32_t len;	       /* cell of a buffer: cell j of the operation is as long as cell
				   len + j, or with CCS_OP_LEN_SAME, as cell len */
	uint32_t to;	       /* with `out`: the operation that receives it, or CCS_NONE */
	uint32_t wait, nwaits; /* rows of `waits`: all must hold before it starts */
	uint32_t phase, level; /* between hosts: when it is done */
	uint32_t line;	       /* source line, for messages */
	uint16_t file;	       /* row of `files` */
	uint16_t flags;	       /* CCS_OP_* */
};

/* Worker `worker` (of the same rank) has done `ops` operations of this tile. */
struct ccs_wait {
	uint32_t worker; /* row of `workers` */
	uint32_t ops;
};

struct ccs_fifo {
	uint32_t src, dst;  /* ranks */
	uint32_t channel;   /* as in the schedule */
	uint32_t max_cells; /* most cells in one of its messages */
	uint32_t messages;  /* messages in one run */
	uint32_t src_worker, dst_worker;
	uint32_t reserved;
};

/* Contributions to a final value: the initial value of cell `cell` on ranks
 * first, first + 1, ... first + n - 1, each `times` times. The runs of one
 * value are adjacent; the last has `last` set. `reduced` says that the contract
 * wrote a sum, even over one rank. */
struct ccs_sum {
	uint32_t cell;
	uint32_t first, n;
	uint32_t times;
	uint8_t last, reduced;
	uint8_t reserved[6];
};

/* The first cell of its rank that holds the value that an operation sends, when the operation is
 * done: it stores or reads it there; CCS_NONE: no cell holds it. */
static inline uint32_t ccs_plan_source(const struct ccs_op *o)
{
	if (o->dst != CCS_NONE)
		return o->dst;
	return o->in == CCS_NONE && o->b == CCS_NONE ? o->a : CCS_NONE;
}

/* Whether that is the send buffer. */
static inline int ccs_plan_is_initial(const struct ccs_op *o)
{
	return o->dst == CCS_NONE && o->in == CCS_NONE && o->b == CCS_NONE &&
	       (o->flags & CCS_OP_A_INITIAL) != 0;
}

/* Whether that message has a round. */
static inline int ccs_plan_goes(const struct ccs_plan *p, const struct ccs_op *o)
{
	return o->out != CCS_NONE && (o->n || p->after.n);
}

/* The shape of a worker: a hash of which parts each of its operations has.
 * Generated code has a straight line for some shapes (device/step.h); it
 * finds a worker's by this number. Never UINT32_MAX. O(nops) */
static inline uint32_t ccs_plan_form(const struct ccs_op *o)
{
	return (o->in != CCS_NONE ? 1u : 0) | (o->a != CCS_NONE ? 2u : 0) |
	       (o->b != CCS_NONE ? 4u : 0) | (o->dst != CCS_NONE ? 8u : 0) |
	       (o->out != CCS_NONE ? 16u : 0);
}

static inline uint32_t ccs_plan_shape(const struct ccs_op *o, uint32_t nops)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < nops; i++)
		h = (h ^ ccs_plan_form(o + i)) * 16777619u;
	return h == CCS_NONE ? 0 : h;
}

#endif
