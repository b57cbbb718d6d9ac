/*
 * The engine on this machine's cores: sequences, fibers, FIFOs, and the queue of ready fibers.
 *
 * core/, a run in memory, and one operation of it:
 *   layout.c   a run in memory: cells, tiles, FIFOs, fibers
 *   piece.c    the data of one operation
 *   notes.c    records the pieces of operations; ops.c plays them
 *   reduce.c   combining elements
 *   host.c     the host and its cores
 * play/, all operations, and threads for them:
 *   exec.c     a fiber: one worker of a plan, which can stop and continue; waiting and waking
 *   sequence*.c a run that all ranks have called, in an order in which no operation waits
 *   fold*.c    the results of such a run, computed in as few passes as possible
 *   queue.c    the queue of ready fibers
 *   sched.c    threads
 *   cpu_comm.c communicators with all ranks in this process, and their struct engine
 * shm/         ranks that are processes of one host, over shared memory (procs.h)
 * mpi/         ranks that are processes of any hosts, by MPI's messages (net.h)
 *
 * Threads (the communicator's, and all inside a call) play a run's sequence: its operations in an
 * order in which none waits. If a rank is
 * late, or is another process, the work of a rank is one fiber for each worker of the plan. A
 * fiber runs on any thread until its next operation has to wait; then it is parked, and the
 * thread that makes the operation possible makes the fiber ready again (exec.c). Threads take
 * fibers from one queue (queue.c).
 *
 * A message goes through a slot of its FIFO. If it is held (plan.h) and long enough, the receiver
 * reads it in the sender's cells, and the slot only announces it.
 *
 * Data that is not atomic is protected by world.lock, or belongs to the thread that runs the
 * fiber.
 */
#ifndef CCS_RUNTIME_CPU_CORE_CPU_H
#define CCS_RUNTIME_CPU_CORE_CPU_H

#include "runtime/base/spin.h"
#include "runtime/cpu/core/reduce.h"
#include "runtime/trace/trace.h"

/* Shorter chunks are copied into slots even if held, so that the sender need not wait for the
 * reader. (struct wire may give another limit.) */
#define HELD_BYTES ((size_t)4 << 10)

enum fiber_state {
	FIBER_INACTIVE, /* its rank has not called */
	FIBER_PARKED,
	FIBER_QUEUED,
	FIBER_RUNNING,
	FIBER_NOTIFIED, /* running; an event came since it checked */
	FIBER_FINISHED
};

/* A worker of the plan (rows 0 .. workers-1), or the start of a rank before its workers (rows
 * workers .. workers+nranks-1). */
struct fiber {
	_Alignas(CACHE_LINE) _Atomic uint32_t state;
	_Atomic uint32_t watched; /* a fiber of its rank waits for its `done` */
	_Atomic uint32_t watches; /* it waits for another fiber's `done` */
	_Atomic uint64_t done;	  /* operations done, in all tiles */
	uint32_t op;		  /* its next operation */
	uint32_t rank;
	uint64_t tile;
	unsigned char *stage; /* for shifted operations; may be NULL */
	struct fiber *next;   /* in the queue */
	uint32_t behind;      /* in the inbox (procs.h): 1 + the number of the next fiber */
};

/* A FIFO. The sender writes the first line, the receiver the second. Each sets its flag, in
 * the third line, before it parks, and the other end clears the flag and wakes the fiber.
 * Between runs it is empty, and the counts continue. */
struct fifo {
	_Alignas(CACHE_LINE) _Atomic uint64_t head; /* messages sent */
	uint64_t freed;				    /* `tail`, as last read by the sender */
	_Alignas(CACHE_LINE) _Atomic uint64_t tail; /* messages received */
	_Alignas(CACHE_LINE) _Atomic uint32_t src_waits;
	_Atomic uint32_t dst_waits;
};

/* A slot's line: the number of its message, and the message, if it is short. Two adjacent
 * lines, which processors fetch together: 64 bytes took 0.59 us in them, and 0.63 with the
 * data elsewhere. */
#define LINE_BYTES (2 * CACHE_LINE - sizeof(uint64_t))
struct slot_line {
	_Alignas(2 * CACHE_LINE) _Atomic uint64_t there; /* layout.first + the message's number */
	unsigned char data[LINE_BYTES];
};

/* A FIFO's slots: message i is in slot i modulo `n`. */
struct slots {
	struct slot_line *lines;
	unsigned char *data; /* NULL: messages are in the lines */
	size_t bytes;	     /* of one */
	uint32_t n;
};

/* Distance in elements from the cell's first element to element `at`. */
static inline size_t cell_offset(const struct cell_at *c, size_t at)
{
	return c->row ? at / c->row * c->apart + at % c->row : at;
}

/* The number of its `n` elements from `at` that are contiguous. */
static inline size_t cell_run(const struct cell_at *c, size_t at, size_t n)
{
	size_t left = c->row ? c->row - at % c->row : n;

	return left < n ? left : n;
}

/* A rank in the current run. For ranks of other processes (procs.h) only the fields for
 * reading their held messages are set. */
struct rank_io {
	struct call *call;
	const unsigned char *send;
	unsigned char *recv;
	unsigned char *scratch;
	bool holds;	       /* its held messages are read in its cells ... */
	bool foreign;	       /* ... at addresses of another process */
	_Atomic uint64_t left; /* fibers that have not ended, and held messages not yet received */
	/* kept between runs: a copy of the input, or a receive buffer that the caller did not
	 * give */
	unsigned char *aside;
	size_t aside_bytes;
	bool copy_aside;
	bool partly; /* copies aside only the cells that an in-place call needs (in_place.h) */
};

/* Bytes of a FIFO's slots from which slots leave a core's private caches before reuse. */
#define RING_BYTES ((size_t)2 << 20)
/* Bytes of all FIFOs' slots together, for slots beyond the necessary ones: struct layout.ring. */
#define RINGS_BYTES ((size_t)4 << 20)

/* All that a layout depends on. The same in all processes, wherever the module is in memory. */
struct layout_key {
	uint64_t size, checksum; /* of the module; size 0: there is no layout yet */
	int root;		 /* selects one of its plans for the communicator's ranks */
	size_t count, rows;
	uint64_t sizes; /* hash of all ranks' sizes; 0: none */
	ccs_dtype type;
	int op;	     /* -1: no operator matters */
	size_t tile; /* from the call */
	bool premul;
	size_t esize;
	enum user_order order;
	bool read, streamed;
};

/* The data that fibers read; constant during a run. */
struct layout {
	struct layout_key key;
	uint64_t id; /* changes with every change but that of `run`; not 0 */
	struct run *run;
	const struct plan_view *view;
	const struct prep *prep;
	const struct cell_at *cells; /* of the first rank; see layout_cells */
	size_t rank_cells;	     /* from one rank's to the next; 0: all ranks share them */
	struct fiber *fibers;
	struct fifo *fifos;
	const struct slots *slots;
	uint64_t first; /* larger than any `there` of earlier layouts */
	struct rank_io *ranks;
	uint32_t nworkers, nranks;
	size_t esize;
	size_t tile; /* elements of a cell in a tile */
	uint64_t ntiles;
	uint32_t ahead; /* calls whose messages fit into the FIFOs, up to the plan's slots */
	bool cached;	/* FIFOs of one message a call have no more slots than fit first-level
			   caches */
	size_t ring;	/* least bytes of a FIFO's slots; 0: as few slots as necessary */
	size_t longest; /* elements of the longest cell */
	unsigned char *scratch;	       /* of all ranks, */
	size_t scratch_bytes;	       /* each */
	size_t send_bytes, recv_bytes; /* of each call's buffers */
	reduce_copy *copy;
	reduce_copy *stream; /* stores long messages into slots; NULL: as others */
	reduce_copy *past;   /* stores results past the caches, which cannot hold the call's
			        buffers; or NULL */
	reduce_combine *combine;
	reduce_fold *fold;
	reduce_scale *scale;
	reduce_combine *multiply; /* by the factors of a premul-sum, one for each element */
	reduce_divide *divide;	  /* NULL unless averaging */
	bool premul;
	bool user;			/* the calls have user-defined operators */
	const struct rank_order *turns; /* ... in rank order; or NULL */
	bool holds;			/* chunks are long enough to read held messages in place */
	bool slotless; /* ... and all messages are held, wherever buffers are: slots have no room
		          for data */
	bool parallel; /* enough work to wake other threads */
	bool strided;  /* some chunks are groups of columns: their tiles are not contiguous */
	bool far;      /* a rank's buffers exceed its core's private caches */
};

/* The operands of a piece; absent ones are NULL. */
struct parts {
	const unsigned char *in, *a, *b;
	unsigned char *dst, *out;
	uint32_t cell; /* first cell of the operation's */
};

/* Memory that only grows. */
struct arena_block {
	unsigned char *data;
	size_t cap;
	int fd;	   /* -1: private memory; else a shared file */
	size_t at; /* its start in the file */
};

/* A place: `at` bytes after a base. */
struct place_at {
	uint32_t base, at;
};

/* A piece of a run, independent of the addresses of callers' buffers: a copy from `a` to
 * `dst`; `a` and `b` combined into `dst`; or as its operation needs. */
enum piece_kind { PIECE_COPY, PIECE_COMBINE, PIECE_OTHER };
struct piece_at {
	struct place_at in, a, b, dst, out;
	uint32_t n; /* elements */
	enum piece_kind kind;
};

/* The end of an operation's pieces; they begin at the end of the previous operation's. */
struct op_end {
	uint32_t row, rank, end;
};

/* The part of a run that a thread does for its own ranks' outputs. Only that thread uses it,
 * except when another sequence replaces it. */
struct own_part {
	uint64_t ranks;
	struct folds *folds; /* NULL: no memory or room; the thread does all outputs */
};

/* A run as a sequence of pieces (sequence.c). */
struct sequence {
	struct layout layout; /* as of the run, but with whole chunks; no key: unused */
	struct folds *folds;  /* the same results in fewer passes (fold.h); or NULL */
	struct piece_at *pieces;
	uint32_t n, room;
	struct op_end *ops; /* the operations in the order of the sequence */
	size_t nops;
	bool too_long;
	uint64_t id;   /* unique among all sequences found */
	uint64_t used; /* time of last use */
	size_t tile;   /* elements of a chunk that a thread takes at a time: several short tiles; */
	uint64_t ntiles;
	size_t short_tile; /* elements of a chunk for which pieces are played and slots have room */
	size_t slot_bytes; /* of a thread: its slots, */
	size_t stage;	   /* and the stage's offset there */
	size_t mail;	   /* see struct kept */
	bool own;	   /* threads may do their own ranks' outputs, */
	size_t outputs;	   /* with room at this offset of their slots for all ranks' outputs,
			      output_bytes each */
	size_t output_bytes;
	struct own_part part[MOST_POSTED]; /* by the thread's lowest rank */
};

/* A sequence that threads are playing. */
struct playing {
	struct sequence *q;   /* NULL: none */
	struct traced *trace; /* the trace, or NULL */
	unsigned threads;
	_Atomic uint64_t next, done; /* tiles */
};

/* The tiles taken of a sequence that threads in a meeting play; in the upper 32 bits, 1 + the
 * call's number. */
struct shared {
	_Alignas(CACHE_LINE) _Atomic uint64_t taken;
};

/* The pieces of an operation of this process's rank: [first, first + n) of laid.own.pieces. Its
 * messages are at BASE_IN and BASE_OUT (notes.h). */
struct op_pieces {
	uint32_t first, n; /* n: OP_UNKNOWN */
};

/* A FIFO's slots in a thread's memory. */
struct fifo_slots {
	size_t cells; /* of the longest message that is not held */
	size_t at, bytes;
};

#define OP_UNKNOWN UINT32_MAX
#define SEQUENCES 8u

struct sequences {
	struct sequence of[SEQUENCES];
	uint64_t runs, found;
	unsigned char **bases;	   /* of each thread: slots, and each rank's buffers */
	struct arena_block memory; /* scratch, and slots */
	/* only while an order is searched */
	struct fifo_slots *slots;
	uint64_t *sent, *received; /* messages, by FIFO */
	uint64_t *done;		   /* operations, by worker */
	size_t counters;
};

/* The memory of a layout; if ranks are processes, also the pieces of its operations. */
struct laid {
	struct arena_block fibers, fifos, lines, slots, cells, data;
	struct sequence own;   /* their pieces */
	struct op_pieces *ops; /* by operation of the rank's workers: `nops` from op0 */
	size_t nops, ops_room;
	uint64_t op0;
};

/* How the current run is done: by fibers; not yet begun, while it waits for the last rank's
 * call; or by threads that play its sequence. */
enum { RUN_FIBERS, RUN_GATHERS, RUN_PLAYS };

struct cpu {
	struct world *world;
	const struct reduce_set *reduce;
	pthread_cond_t work;	    /* helpers sleep here */
	struct fiber *first, *last; /* ready fibers */
	struct fiber *own;	    /* if the run is not parallel: fibers that the only running
				       thread has made ready */
	_Atomic uint32_t ready;	    /* their number */
	unsigned running;	    /* threads inside a fiber */
	unsigned spinning;	    /* threads that spin */
	unsigned cores;		    /* of the thread that made the engine; later threads may be
				       bound to one */
	size_t cache;		    /* bytes of the last-level cache */
	bool cached;	/* each rank has a core: slots of short messages stay in its caches, slots
		        of long ones leave them */
	unsigned limit; /* most threads at a time; set at the first run */
	unsigned idle_helpers;
	pthread_t *helpers;
	unsigned nhelpers;
	bool helpers_tried;
	_Atomic bool stop;
	bool failed;		    /* the previous run failed: messages may be left in FIFOs */
	_Atomic uint32_t mode;	    /* RUN_* */
	_Atomic unsigned gatherers; /* threads that spin for the last rank */
	struct sequences sequences;
	struct sequence *known; /* of the gathered run, which is then not laid out */
	struct playing playing;
	struct shared shared;
	struct layout layout; /* of the current run */
	struct rank_io *ranks;
	uint64_t layouts;	 /* layouts made, plus failed runs */
	uint64_t ids;		 /* the last id */
	struct laid *laid;	 /* the current run's */
	struct traced *trace;	 /* the trace, or NULL */
	const struct wire *wire; /* NULL: all ranks are in this process */
	struct procs *procs;	 /* private to the wire: one of these */
	struct net *net;
};

/* The functions by which the executor reaches ranks of other processes. Called without the
 * lock, unless the comment says otherwise. */
struct wire {
	size_t tile;	/* bytes of a cell's tile; 0: as suits the caches */
	uint32_t ahead; /* calls of one kind that may have messages under way; 0: one */
	size_t held;	/* replaces HELD_BYTES, if not 0 */
	bool locked;	/* fibers run under world.lock, as the process has one rank */
	/** The number of further events that the rank's end waits for, besides fibers and held
	 *  messages. Under world.lock. NULL: 0. */
	uint64_t (*outgoing)(const struct cpu *e);
	/** The operation has sent its message of the tile at element `lo`; has received one.
	 *  NULL: both ends share the FIFO's memory. */
	void (*sent)(struct cpu *e, const struct ccs_op *o, size_t lo);
	void (*received)(struct cpu *e, uint32_t fifo);
	/** Whether that message is sent from the cells that hold it; where the next message is
	 *  received: in `slot`, or in the cells that store it. NULL: all messages are in slots. */
	bool (*sends_cells)(struct cpu *e, const struct ccs_op *o, size_t lo);
	const unsigned char *(*in_cells)(struct cpu *e, uint32_t fifo, const unsigned char *slot);
	/** Makes a fiber of another process ready. NULL: each process runs its own. */
	void (*wake)(struct cpu *e, struct fiber *t);
	/** This process's rank has finished its part of the run. Under world.lock; may be NULL. */
	void (*done)(struct cpu *e);

	/* Of held messages; NULL: there are none. */
	/** Whether other processes can read this rank's held messages. Under world.lock. */
	bool (*holds)(struct cpu *e, const struct rank_io *io);
	/** Finds the rank's buffers in the current run, as published by its process. */
	void (*find)(struct cpu *e, uint32_t rank);
	/** Copies a message that a foreign rank holds: into the cells that store it, if the
	 *  operation only stores it (returns true), or into a slot. */
	bool (*pull)(struct cpu *e, const struct ccs_op *o, const struct ccs_op *from, size_t lo,
		     unsigned char *slot);
	/** A message that the rank holds was received. */
	void (*pulled)(struct cpu *e, uint32_t rank);
	/** Whether another process has failed. Its memory may be gone. */
	bool (*failed)(struct cpu *e);
};

static inline struct cpu *cpu_of(const struct world *w)
{
	return w->state;
}

/** Whether the rank is of this process. */
static inline bool is_here(const struct cpu *e, uint32_t rank)
{
	return rank - (uint32_t)e->world->first < (uint32_t)e->world->nlocal;
}

/* ---- cpu_comm.c -------------------------------------------------------------------------- */

/** Makes a world's state. CCS_ENOMEM; CCS_EINVAL: $CCS_MAX_CPU_ISA has no valid value. */
ccs_status cpu_open(struct world *w);
/** See engine.h. */
void cpu_free(struct world *w);

/* ---- layout.c ---------------------------------------------------------------------- */

/** Lays the run out in the engine's memory. CCS_ENOMEM. Under world.lock, with no fiber
 *  running. O(fibers + FIFOs + cells); O(fibers) if the previous run was like it. */
ccs_status layout_make(struct cpu *e, struct run *r);
/** Whether the layout takes at most `most` bytes of each shared file. O(FIFOs + workers). */
bool layout_is_small(const struct cpu *e, const struct call *c, size_t most);
/** As layout_make for a run that is laid out already, for a call that has begun without a run. */
void layout_go_on(struct cpu *e, struct run *r);
/** Uses the layout for that call, too, perhaps with another copy of its module. */
void layout_take(struct cpu *e, const struct call *c);
/** Whether it is the layout of such a call. */
bool layout_is(const struct layout *l, const struct call *c);
/** Grows an arena to at least `bytes` bytes; its contents are lost. False: no memory. */
bool cpu_arena_grow(struct arena_block *b, size_t bytes);
/** Frees an arena's memory. */
void cpu_arena_free(struct arena_block *b);
/** A new layout, in private memory. NULL: no memory. */
struct laid *laid_new(void);
/** Frees it with all its memory. NULL is allowed. */
void laid_free(struct laid *d);

/** Whether chunks are so short that they are copied into slots. */
static inline bool layout_is_short(const struct cpu *e, const struct layout *l)
{
	size_t held = e->wire && e->wire->held ? e->wire->held : HELD_BYTES;

	return l->longest * l->esize < held;
}

/** The positions of a rank's cells. */
static inline const struct cell_at *layout_cells(const struct layout *l, uint32_t rank)
{
	return l->cells + rank * l->rank_cells;
}

/* ---- exec.c ------------------------------------------------------------------------- */

/** Runs each fiber of a list (fiber.next) until it waits, ends, or its run has failed. If
 *  `polled`, waiting fibers are not parked, and the list becomes these fibers. True: one has
 *  made progress. Without the lock. */
bool fibers_turn(struct cpu *e, struct fiber **turn, bool polled);
/** Makes the rank's parked fibers ready that need not wait. True: there were some. Called by
 *  the thread that runs them. */
bool fibers_wake_ready(struct cpu *e, uint32_t rank);
/** Whether all workers that the fiber's operation waits for are far enough, in its tile. */
bool fiber_has_waits(const struct layout *l, struct fiber *t, const struct ccs_op *o);
/** An event that the rank's end waits for has come. Without the lock. */
void rank_less(struct cpu *e, uint32_t rank);
/** Sets the buffers of the call's rank in the layout. CCS_ENOMEM. Under world.lock. */
ccs_status rank_place(struct cpu *e, struct call *c);
/** Frees the rank's memory that is kept between runs. */
void rank_free(struct cpu *e, struct rank_io *io);
/** Makes the fibers of a rank that has called ready. CCS_ENOMEM. Under world.lock. */
ccs_status rank_start(struct cpu *e, uint32_t rank);
/** The same for a placed rank that has done fiber.op operations of each worker, in a run with
 *  one tile and no held messages. */
void rank_resume(struct cpu *e, uint32_t rank);

/* See engine.h. */
bool fibers_moved(const struct world *w, uint64_t *mark);
bool fibers_stuck(const struct world *w, int rank, struct text *t);

/** The message of that number is in its slot (fifo_filled); `tail` messages were received
 *  (fifo_drained). Each wakes the fiber that waits for it. */
void fifo_filled(struct cpu *e, uint32_t fifo, uint64_t message);
void fifo_freed(struct cpu *e, uint32_t fifo, uint64_t tail);
/** Wakes the worker's fiber, whose flag was seen set. */
void fifo_wake(struct cpu *e, _Atomic uint32_t *waits, uint32_t worker);

static inline struct slot_line *slot_line_of(const struct slots *s, uint64_t message)
{
	return s->lines + (s->n & (s->n - 1) ? message % s->n : message & (s->n - 1));
}

/** The address of the message's slot. */
static inline unsigned char *slot_of(const struct slots *s, uint64_t message)
{
	struct slot_line *line = slot_line_of(s, message);

	return s->data ? s->data + (size_t)(line - s->lines) * s->bytes : line->data;
}

/** Whether the next message is there; whether it has a slot. If not, a fiber that set dst_waits
 *  (or src_waits) before the check is woken later. */
static inline bool slots_have_message(const struct layout *l, const struct fifo *c,
				      const struct slots *s)
{
	uint64_t tail = atomic_load_explicit(&c->tail, memory_order_relaxed);

	return atomic_load(&slot_line_of(s, tail)->there) == l->first + tail;
}

static inline bool slots_have_room(struct fifo *c, const struct slots *s)
{
	uint64_t head = atomic_load_explicit(&c->head, memory_order_relaxed);

	if (head - c->freed < s->n)
		return true;
	c->freed = atomic_load(&c->tail);
	return head - c->freed < s->n;
}

static inline bool fifo_has_message(const struct layout *l, uint32_t fifo)
{
	return slots_have_message(l, l->fifos + fifo, l->slots + fifo);
}

static inline bool fifo_has_slot(const struct layout *l, uint32_t fifo)
{
	return slots_have_room(l->fifos + fifo, l->slots + fifo);
}

/** Whether the message that a rank's operation sends is read in the sender's cells. */
static inline bool is_held(const struct rank_io *from, const struct ccs_op *o)
{
	return from->holds && o->flags & CCS_OP_HELD;
}

/* ---- piece.c ------------------------------------------------------------------------ */

/* The messages of an operation: their slots; or, for a received message that the sender holds,
 * the sending operation. NULL: neither. */
struct ends {
	const unsigned char *in;
	const struct ccs_op *held;
	unsigned char *out;
	bool stored; /* the received message is already in its cells */
};

struct notes; /* notes.h; NULL: pieces are not recorded */
/** Moves the data of an operation for the tile at element `lo`. */
void piece_op(const struct layout *l, const struct fiber *t, const struct ccs_op *o, size_t lo,
	      struct ends ends, struct notes *notes);
/** Copies bytes; copies them into a slot; combines n elements, of `left` that x and y have and
 *  that are combined one after another. Each as suits the run. */
void piece_copy(const struct layout *l, void *to, const void *from, size_t bytes);
void piece_put(const struct layout *l, void *to, const void *from, size_t bytes);
/** A copy, by l->past, of data that this run does not read again. Other threads see it after
 *  reduce_streamed. */
void piece_rest(const struct layout *l, void *to, const void *from, size_t bytes);
void piece_combine(const struct layout *l, void *to, const void *x, const void *y, size_t n,
		   size_t left);
/** Does a recorded piece of `n` elements. */
void piece_again(const struct layout *l, const struct parts *s, size_t n);
/** The bytes of its message in a slot; `o` is the rank's. */
size_t piece_bytes(const struct layout *l, uint32_t rank, const struct ccs_op *o, size_t lo);
/** Finds the parts of a held message of the tile at `lo` in the cells of its sender; `from` is
 *  the sender's operation. Called for each part of each cell j, with its byte offset in a slot. */
typedef void piece_part(void *of, uint32_t j, size_t at, const unsigned char *part, size_t bytes);
void piece_held(const struct layout *l, const struct rank_io *io, const struct ccs_op *from,
		size_t lo, piece_part *part, void *of);
/** Whether the operation stores its message unchanged, in contiguous chunks; and the address of
 *  that cell, with the *bytes of it that are wanted. */
bool piece_stores(const struct layout *l, const struct ccs_op *o);
unsigned char *piece_target(const struct layout *l, const struct rank_io *io,
			    const struct ccs_op *o, uint32_t j, size_t lo, size_t *bytes);
/** The work of a rank before its fibers, and after them. */
void piece_before(const struct layout *l, struct rank_io *io);
void piece_after(const struct layout *l, uint32_t rank, struct notes *notes);
/** Whether there is work after them. */
bool piece_has_after(const struct layout *l, uint32_t rank);

/* ---- ops.c -------------------------------------------------------------------------- */

/** Plays pieces [p, end) for elements [lo, lo + most) of their chunks, at the bases. */
void ops_play(const struct layout *l, const struct piece_at *p, const struct piece_at *end,
	      unsigned char *const *bases, size_t lo, size_t most);
/** If ranks are processes: begins to record the pieces of operations in a new layout. */
void ops_begin(struct cpu *e);
/** The rank's buffers are set for the current run. */
void ops_place(struct cpu *e);
/** Does an operation as piece_op, or as recorded. */
void ops_do(struct cpu *e, const struct fiber *t, const struct ccs_op *o, size_t lo,
	    struct ends ends);

/* ---- sequence.c: under world.lock, unless noted otherwise --------------------------------- */

/** The kept sequence of such calls; NULL: none. */
struct sequence *sequence_known(struct cpu *e, const struct call *c);
/** Whether the current layout may be done as a sequence. */
bool sequence_may(const struct cpu *e);
/* It cannot; it is done; threads shall play it. */
enum sequence_how { SEQUENCE_NOT, SEQUENCE_DONE, SEQUENCE_PLAYS };
/** The sequence of the current layout; NULL: none. */
struct sequence *sequence_find(struct cpu *e);
/** Does the run as a sequence, unless that is NULL. All ranks are placed. */
enum sequence_how sequence_begin(struct cpu *e, struct sequence *q);
/** See engine.h. */
bool sequence_again(struct cpu *e, struct sequence *q, const struct meeting *m);
/** Whether another thread could take part. */
bool sequence_left(const struct cpu *e);
/** Takes part, as one of at most e->limit threads. sequence_over may be asked when all have
 *  returned. Without the lock. */
void sequence_play(struct cpu *e, const struct sequence *q, unsigned thread);
/** Whether all of it is done; then it is no longer being played. */
bool sequence_over(struct cpu *e);
/** Ends all ranks' calls in the trace. */
void sequence_played(struct cpu *e);
/** No more tiles begin. */
void sequence_stop(struct cpu *e);
void sequences_free(struct cpu *e);

/* ---- host.c ------------------------------------------------------------------------- */

#define HOST_CORES 1024u

/* The cores that a process may use, one bit each. */
struct host_cores {
	unsigned char of[HOST_CORES / 8];
};

/** A number that is equal for processes that can share memory: made from the host's boot and
 *  the PID namespace. */
uint64_t host_of(void);
void host_cores_read(struct host_cores *c);
/** Bytes of the largest cache of its first core, as the system reports it, or a usual size. */
size_t host_cache(void);
/** Adds the cores of another process. */
void host_cores_add(struct host_cores *all, const struct host_cores *c);
int host_cores_count(const struct host_cores *c);

/* ---- queue.c: under world.lock, unless noted otherwise -------------------------------- */

/** Adds a ready fiber. The calling thread soon takes one itself, and wakes other threads if
 *  more remain. */
void sched_add(struct cpu *e, struct fiber *t);
/** The same without the lock, by a thread that runs a fiber; wakes another thread for it. */
void sched_ready(struct cpu *e, struct fiber *t);
/** Wakes a sleeping thread, if there is one (sched_wake_one); or one if more fibers are ready
 *  than `takers` and the spinning threads will take. */
void sched_wake_one(struct cpu *e);
void sched_wake_for(struct cpu *e, unsigned takers);

/* ---- sched.c: under world.lock, unless noted otherwise -------------------------------- */

/** No more of the run begins. True: none of it runs any more. */
bool sched_halt(struct world *w);
/** The number of cores that this thread may use. */
unsigned sched_cores(void);
/** The number of threads that run fibers at a time. */
unsigned sched_threads(const struct world *w);
/** Ends them. Without the lock. */
void sched_stop(struct cpu *e);
/** See engine.h. Without the lock. */
void sched_wait(struct world *w, struct call *calls, ccs_status *first);
/* See engine.h. */
ccs_status cpu_start(struct world *w, struct run *r, int rank);
bool cpu_at_once(struct world *w, struct call *calls, ccs_status *first);

#endif
