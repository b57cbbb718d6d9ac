/*
 * The plan format: a compiled schedule, as `lower` makes it and an engine runs it.
 *
 * A module (`ccs_module_v1` in an ar.so) is one block of bytes: position independent (offsets in
 * bytes from its start, 8-aligned), little-endian, read only. It has the schedule's texts and one
 * plan for each number of ranks N, and for each root where the root is chosen at run time.
 *
 * A plan is a program for N ranks. A rank has workers, which run concurrently; a worker runs its
 * operations in order. Ranks exchange messages over FIFOs; each end of a FIFO belongs to one
 * worker. Workers of a rank that touch the same cells wait for one another by `wait` rows.
 *
 * A *cell* is a chunk of one rank. The cells of a rank number all chunks of its buffers, in the
 * order of the schedule, and then the scratch chunks. The caller's `count` elements make a block.
 * A buffer is `blocks` blocks of `chunks` cells each, so chunk c of block b begins at element b *
 * count + min(c * q, count) with q = ceil(count / chunks), and the last chunks may be shorter or
 * empty. For a `by column` buffer the call gives a number of rows. All this then holds in each
 * row of the buffer, with count / rows elements for count: the elements of a chunk are its rows,
 * in order. For a `sized` buffer each rank's call gives the sizes of its chunks, which are stored
 * one after another. Cells of any ranks that have the same number in `sizes` must be equally
 * long; the call checks that.
 *
 * Every operation has one form (any of its parts may be absent):
 *
 *     v = next message of `in`  (+)  cells `a`  (+)  cells `b`
 *     cells `dst` = v;   send v on `out`
 *
 * where (+) combines the parts present. Thus send: a, out. recv: in, dst. receive-reduce: in, a,
 * dst. copy: a, dst. local reduce: a, b, dst. The fused forms (receive-reduce-copy-send: in, a,
 * dst, out; without the copy: no dst) pass a chunk on while it is in registers.
 *
 * Tiles. An executor may cut every chunk into tiles (all chunks alike) and run the whole plan
 * once for each tile. FIFOs end empty, so tile t+1 may follow tile t in each worker without a
 * barrier, and a wait for "operation k" means operation k of the same tile. One message is one
 * slot of its FIFO and holds one tile of each of its n cells.
 *
 * Replication. An executor may run R replicas of the plan concurrently, each on an R-th of every
 * chunk (cut as tiles are), with separate FIFOs and workers: NCCL calls them channels. A plan
 * does not state R.
 *
 * Direct copies. CCS_OP_DIRECT marks a sending operation whose message the receiver stores
 * unchanged, in cells that are free: all earlier operations of the receiver on these cells happen
 * before the sending operation starts, by the order of workers, waits, and received messages (not
 * of free slots). So an executor that sees both memories may write the message there instead of
 * into a slot, once the receiver has begun the call.
 *
 * Held messages. CCS_OP_HELD marks a sending operation. When it is done, its message is in cells
 * of its rank (ccs_plan_source), and no operation of the rank writes them until the receiving
 * operation is over (by the same orders). So an executor that sees both memories may let the
 * receiver read the message there, without a slot; then a rank's call is over only when its held
 * messages have been received. (The send buffer does not hold an initial value scaled, as
 * premul-sum needs it.) The mark assumes that no message is written directly: an executor uses
 * either direct copies or held messages.
 *
 * Direct reads. CCS_OP_READ marks a held message that is not direct, if also no direct message of
 * a later operation is written to its cells before the receiving operation is over. (The
 * receiving operation may itself send a direct message to exactly these cells: it reads each
 * element before it writes it.) So an executor may combine both: write direct messages, and read
 * messages with this mark. A message that is an initial value (ccs_plan_is_initial) is in the
 * send buffer. If that is separate from the receive buffer, no operation writes there, and the
 * message may be read whatever its marks are.
 *
 * Rounds. An engine that exchanges messages in groups (NCCL's grouped send and receive) sends all
 * messages of a round at once; between two rounds each rank does every operation that it can.
 * Phase p comes after round p (phase 0: before all rounds) and has the operations that can be
 * done then. An operation follows the message that it receives, and the earlier operations of its
 * rank on the same cells if one of the two writes. Ordered operations of one phase have ascending
 * levels, and a shifted one takes two. The message of an operation of phase p goes in round p +
 * 1: no plan can do with fewer rounds. The rounds always exist: a plan that ends with some number
 * of slots ends with more, so the orders of workers, waits and messages alone have no cycle.
 *
 * Where the plan promises an order of ranks (`after`), an operation also follows the previous one
 * of its worker and the operations that it waits for. Otherwise only values count, and messages
 * without cells are not sent.
 *
 * A message is in place on the sending side if no operation writes the cells that hold it before
 * its round, and on the receiving side if it is stored unchanged in cells that no operation uses
 * any more at that round. Then it needs no staging. A message of several cells is in place on
 * both sides or on neither, so that both cut it alike.
 *
 * Protocols. A plan's `choices` give, by size, the fastest protocol on GPUs and its number of
 * channels (replicas). A user can override them (choice.h).
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
	uint32_t abi;	   /* CCS_PLAN_ABI; another number: the rest has another format */
	uint32_t reserved; /* 0 */
	uint64_t checksum; /* FNV-1a, 64 bits, over all bytes after this field */
	uint32_t schedule; /* names: offsets of NUL-terminated text in `text` */
	uint32_t contract;
	uint32_t compiler;	  /* version of the compiler */
	uint32_t root_param;	  /* name of the parameter that is the root; CCS_NONE: no root */
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

#define CCS_MODULE_REDUCES 1u /* the contract combines values, so an operator is needed */
#define CCS_MODULE_MIXED \
	2u /* ... but some final values are single contributions: avg and premul-sum are refused
	      at run time */
#define CCS_MODULE_EVEN_COUNTS \
	4u			/* values move to chunks at other places of their block: only
				   counts that `chunks` divides */
#define CCS_MODULE_BY_COLUMN 8u /* has a buffer `by column` */
#define CCS_MODULE_SIZED 16u	/* has a `sized` buffer */

/* How messages are announced on CUDA (choice.h). */
enum ccs_protocol { CCS_SIMPLE = 0, CCS_LL = 1 };
#define CCS_NPROTOCOLS 2u

/* A compiled kernel. If no operator matters, `type` is the first in ccs_dtype of its size, and
 * `op` is 0. avg uses sum; premul-sum is 5. */
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

/* chunks and blocks may depend on N, so each plan has its own struct ccs_shape rows. */
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
	uint32_t root;	      /* CCS_NONE: the plan has no root */
	uint32_t cells;	      /* cells of all buffers, the same on every rank */
	uint32_t scratch;     /* scratch cells after them, the most of any rank */
	uint32_t steps;	      /* steps on the critical path */
	uint32_t max_message; /* most cells in one message; a local copy may have more */
	uint32_t rounds;      /* see Rounds */
	uint32_t reserved;
	struct ccs_table shapes;  /* struct ccs_shape, one a buffer */
	struct ccs_table ranks;	  /* struct ccs_rank, nranks + 1: the last ends the ranges */
	struct ccs_table workers; /* struct ccs_worker */
	struct ccs_table ops;	  /* struct ccs_op */
	struct ccs_table waits;	  /* struct ccs_wait */
	struct ccs_table fifos;	  /* struct ccs_fifo */
	struct ccs_table expect;  /* uint32_t, nranks * cells: first row of `sums` of the cell's
				     final value; CCS_NONE: undefined */
	struct ccs_table sums;	  /* struct ccs_sum, runs of contributions */
	struct ccs_table choices; /* struct ccs_choice, ascending; the last has no limit */
	struct ccs_table after;	  /* struct ccs_after */
	struct ccs_table sizes;	  /* uint32_t, nranks * cells if a buffer is `sized`, else none:
				     the number of the cell's size, or CCS_NONE */
};

/* Rank `rank` ends after ranks first .. first + n - 1 have begun. The contract requires it,
 * and messages, workers and waits enforce it. */
struct ccs_after {
	uint32_t rank, first, n;
	uint32_t reserved;
};

/* For calls with at most `bytes` bytes a rank in the larger buffer. */
struct ccs_choice {
	uint64_t bytes;	   /* UINT64_MAX: the last row */
	uint32_t protocol; /* enum ccs_protocol */
	uint32_t channels; /* most replicas; 0: chosen by choice_channels */
};

struct ccs_rank {
	uint32_t worker; /* its first worker */
	uint32_t reserved;
};

struct ccs_worker {
	uint32_t rank;
	uint32_t op, nops; /* its rows of ops */
	uint32_t stage;	   /* most cells of a shifted operation; 0: there is none */
};

#define CCS_OP_A_INITIAL \
	1u		    /* `a` is read from the caller's send buffer (an inout's value before
			       the run; premul-sum scales it) */
#define CCS_OP_B_INITIAL 2u /* the same for `b` */
#define CCS_OP_LEN_SAME 4u  /* all cells of the operation are as long as cell `len` */
#define CCS_OP_SHIFTED 8u   /* `dst` overlaps `a` or `b`: it writes cells that it has yet to read */
#define CCS_OP_AWAITED 16u  /* some `wait` row is for it */
#define CCS_OP_DIRECT 32u   /* see Direct copies */
#define CCS_OP_FROM_CELLS 64u /* see Rounds: its message is sent from its cells (ccs_plan_source) */
#define CCS_OP_TO_CELLS 128u  /* ... its message is received in `dst` */
#define CCS_OP_HELD 256u      /* see Held messages */
#define CCS_OP_READ 512u      /* see Direct reads */

/* Cells a.., b.., dst.. are n cells each. Absent parts are CCS_NONE. A cell of
 * an `in` buffer is always read with its _INITIAL flag set. */
struct ccs_op {
	uint32_t in, out;      /* FIFOs */
	uint32_t a, b, dst;    /* first cells */
	uint32_t n;	       /* number of cells; 0 is legal, and still a message */
	uint32_t len;	       /* a cell of a buffer: cell j of the operation is as long as cell
			          len + j, or with CCS_OP_LEN_SAME as cell len */
	uint32_t to;	       /* with `out`: the operation that receives it, or CCS_NONE */
	uint32_t wait, nwaits; /* rows of `waits`; all must hold before the operation starts */
	uint32_t phase, level; /* see Rounds */
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
	uint32_t channel;   /* as in the schedule, for messages */
	uint32_t max_cells; /* most cells in one of its messages */
	uint32_t messages;  /* messages in one run of the plan */
	uint32_t src_worker, dst_worker;
	uint32_t reserved;
};

/* Contributions to a final value: the initial value of cell `cell` of ranks first, ..., first
 * + n - 1, each `times` times. The rows of one value are adjacent; the last has `last` set.
 * `reduced`: the contract wrote a sum, even if over one rank. */
struct ccs_sum {
	uint32_t cell;
	uint32_t first, n;
	uint32_t times;
	uint8_t last, reduced;
	uint8_t reserved[6];
};

/* The first cell that holds the sent value when the operation is done, stored or read there;
 * CCS_NONE: no cell holds it. */
static inline uint32_t ccs_plan_source(const struct ccs_op *o)
{
	if (o->dst != CCS_NONE)
		return o->dst;
	return o->in == CCS_NONE && o->b == CCS_NONE ? o->a : CCS_NONE;
}

/* Whether ccs_plan_source is in the send buffer. */
static inline int ccs_plan_is_initial(const struct ccs_op *o)
{
	return o->dst == CCS_NONE && o->in == CCS_NONE && o->b == CCS_NONE &&
	       (o->flags & CCS_OP_A_INITIAL) != 0;
}

/* Whether the operation's message is sent in a round. */
static inline int ccs_plan_goes(const struct ccs_plan *p, const struct ccs_op *o)
{
	return o->out != CCS_NONE && (o->n || p->after.n);
}

/* The parts that an operation has, one bit each. */
static inline uint32_t ccs_plan_form(const struct ccs_op *o)
{
	return (o->in != CCS_NONE ? 1u : 0) | (o->a != CCS_NONE ? 2u : 0) |
	       (o->b != CCS_NONE ? 4u : 0) | (o->dst != CCS_NONE ? 8u : 0) |
	       (o->out != CCS_NONE ? 16u : 0);
}

/* The shape of a worker: a hash of its operations' forms. Generated code is specialised for some
 * shapes (device/step.h) and finds a worker's code by this number. Never UINT32_MAX. O(nops) */
static inline uint32_t ccs_plan_shape(const struct ccs_op *o, uint32_t nops)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < nops; i++)
		h = (h ^ ccs_plan_form(o + i)) * 16777619u;
	return h == CCS_NONE ? 0 : h;
}

#endif
