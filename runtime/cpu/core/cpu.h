/*
 * The engine on this machine's cores: sequences, fibers, FIFOs, and the queue of ready fibers.
 *
 * core/, one run and one operation of it:
 *   layout.c   a run in memory: cells, tiles, FIFOs, fibers
 *   piece.c    the data of one operation
 *   notes.c    the pieces of operations, noted; ops.c plays them
 *   reduce.c   combining elements
 *   host.c     which host this is, and its cores
 * play/, all operations, and threads for them:
 *   exec.c     a fiber: one worker of a plan, that can stop and go on; waiting and waking
 *   sequence*.c a run that all ranks have called, in an order in which nothing waits
 *   fold*.c    what such a run computes, in as few passes as there can be
 *   sched.c    threads, and the queue
 *   cpu_comm.c communicators on the CPU, and the engine's row
 * shm/         ranks that are processes of one host, over shared memory (procs.h)
 * mpi/         ranks that are processes of any hosts, by MPI's messages (net.h)
 *
 * Threads, those of the communicator and all that are inside a call, play a run's sequence. If a
 * rank is late, or lives in another process, a rank's work is a fiber a worker of the plan; a
 * fiber runs on any thread, until its next operation has to wait; then it is parked, and the
 * thread that makes that operation possible makes the fiber ready again (exec.c). Threads take
 * fibers from one queue (sched.c).
 *
 * A message goes by way of a slot of its FIFO; or, if it is held (plan.h) and long enough, its
 * receiver reads it in its sender's cells, and the slot only says that the message is there.
 *
 * Everything that is not atomic is under world.lock, or belongs to the thread that runs the
 * fiber.
 */
#ifndef CCS_RUNTIME_CPU_CORE_CPU_H
#define CCS_RUNTIME_CPU_CORE_CPU_H

#include "runtime/base/spin.h"
#include "runtime/cpu/core/reduce.h"
#include "runtime/trace/trace.h"

/* Shorter chunks are copied into slots: their sender need not wait until they are read. (Or as the
 * wire says: struct wire.) */
#define HELD_BYTES ((size_t)4 << 10)

enum fiber_state {
	FIBER_INACTIVE, /* its rank has not called */
	FIBER_PARKED,
	FIBER_QUEUED,
	FIBER_RUNNING,
	FIBER_NOTIFIED, /* running, and something changed since it looked */
	FIBER_FINISHED
};

/* A worker of the plan (rows 0 .. workers-1), or the work of a rank before its workers start (rows
 * workers .. workers+nranks-1). */
struct fiber {
	_Alignas(CACHE_LINE) _Atomic uint32_t state;
	_Atomic uint32_t watched; /* a fiber of its rank waits for `done` */
	_Atomic uint32_t watches; /* it waits for another fiber's `done` */
	_Atomic uint64_t done;	  /* operations done, over all tiles */
	uint32_t op;		  /* next operation, in its worker */
	uint32_t rank;
	uint64_t tile;
	unsigned char *stage; /* for shifted operations, or NULL */
	struct fiber *next;   /* in the queue */
	uint32_t behind;      /* in the inbox (procs.h): 1 + the number of the next */
};

/* A FIFO. The sender writes the first line, the receiver the second; each sets its flag, in the
 * third, before it parks, and the other clears it and wakes the fiber. Between runs it is
 * empty, and the counts go on. */
struct fifo {
	_Alignas(CACHE_LINE) _Atomic uint64_t head; /* messages sent */
	uint64_t freed;				    /* of tail, as known to the sender */
	_Alignas(CACHE_LINE) _Atomic uint64_t tail; /* messages received */
	_Alignas(CACHE_LINE) _Atomic uint32_t src_waits;
	_Atomic uint32_t dst_waits;
};

/* Of a slot: which message is there, and the message itself, if it is as short. Two lines that
 * adjoin,
 * as cores fetch such together: 64 bytes took 0.59 us in them, and 0.63 with their data
 * elsewhere. */
#define LINE_BYTES (2 * CACHE_LINE - sizeof(uint64_t))
struct slot_line {
	_Alignas(2 * CACHE_LINE) _Atomic uint64_t there; /* layout.first + the message's number */
	unsigned char data[LINE_BYTES];
};

/* A FIFO's slots: message i is in slot i modulo `n`. */
struct slots {
	struct slot_line *lines;
	unsigned char *data; /* NULL: in the lines */
	size_t bytes;	     /* of one */
	uint32_t n;
};

/* Distance, in elements, of the cell's element `at` from its first. */
static inline size_t cell_offset(const struct cell_at *c, size_t at)
{
	return c->row ? at / c->row * c->apart + at % c->row : at;
}

/* How many of its `n` elements from `at` adjoin. */
static inline size_t cell_run(const struct cell_at *c, size_t at, size_t n)
{
	size_t left = c->row ? c->row - at % c->row : n;

	return left < n ? left : n;
}

/* A rank during the current run. For ranks of other processes (procs.h) only the fields that are
 * needed to read their held messages are set. */
struct rank_io {
	struct call *call;
	const unsigned char *send;
	unsigned char *recv;
	unsigned char *scratch;
	bool holds;	       /* its held messages stay where they are ... */
	bool foreign;	       /* ... at addresses of another process */
	_Atomic uint64_t left; /* fibers to finish, and held messages to be received */
	/* kept between runs: a copy of the input, or a receive buffer that the
	 * caller left out */
	unsigned char *aside;
	size_t aside_bytes;
	bool copy_aside;
	bool partly; /* copy aside only the cells that a call in place needs (in_place.h) */
};

/* A FIFO's slots that leave a core's own caches before they are used again. */
#define RING_BYTES ((size_t)2 << 20)
/* All FIFOs' slots together, where they are more than they need be: struct layout.ring. */
#define RINGS_BYTES ((size_t)4 << 20)

/* Everything that a layout depends on: the same in all processes, at whatever address the module
 * is. */
struct layout_key {
	uint64_t size, checksum; /* of the module; no size: there is no layout yet */
	int root;		 /* selects one of its plans for the communicator's ranks */
	size_t count, rows;
	uint64_t sizes; /* all ranks' in short; 0: there are none */
	ccs_dtype type;
	int op;	     /* -1: none matters */
	size_t tile; /* as the call has it */
	bool premul;
	size_t esize;
	enum user_order order;
	bool read, streamed;
};

/* The data that the current run's fibers read; fixed while it runs. */
struct layout {
	struct layout_key key;
	uint64_t id; /* another one whenever anything of it changes, but for `run`; not 0 */
	struct run *run;
	const struct plan_view *view;
	const struct prep *prep;
	const struct cell_at *cells; /* of the first rank; see layout_cells */
	size_t rank_cells;	     /* from one rank's to the next one's; 0: all have the same */
	struct fiber *fibers;
	struct fifo *fifos;
	const struct slots *slots;
	uint64_t first; /* more than `there` ever was in a layout before */
	struct rank_io *ranks;
	uint32_t nworkers, nranks;
	size_t esize;
	size_t tile; /* elements of a cell in a tile */
	uint64_t ntiles;
	uint32_t ahead; /* number of calls with messages that fit into the FIFOs, up to the
			   plan's slots */
	bool cached;	/* ... but of a message a call no more than stay in first-level caches */
	size_t ring; /* bytes of a FIFO's slots, if they have no less; 0: there are as few as do */
	size_t longest;		       /* elements of the longest cell */
	unsigned char *scratch;	       /* of all ranks, */
	size_t scratch_bytes;	       /* each */
	size_t send_bytes, recv_bytes; /* of each call's buffers */
	reduce_copy *copy;
	reduce_copy *stream; /* of long messages into slots; NULL: as any */
	reduce_copy *past;   /* of results, as the caches cannot hold the call's buffers; or NULL */
	reduce_combine *combine;
	reduce_fold *fold;
	reduce_scale *scale;
	reduce_combine *multiply; /* by a premul-sum's factors, one for each element */
	reduce_divide *divide;	  /* NULL unless averaging */
	bool premul;
	bool user;			/* the calls have users' operators */
	const struct rank_order *turns; /* ... in this order; or NULL */
	bool holds;    /* chunks are long enough for held messages to stay where they are */
	bool slotless; /* ... and all messages do, wherever buffers are: slots have no room for
			  data */
	bool parallel; /* enough work to wake other threads for */
	bool strided;  /* some chunks are groups of columns: their tiles are not contiguous */
	bool far;      /* a rank's buffers are too long for its core's own caches */
};

/* Parts of an operation for one piece; absent ones are NULL. */
struct parts {
	const unsigned char *in, *a, *b;
	unsigned char *dst, *out;
	uint32_t cell; /* of the operation's, where they begin */
};

/* Memory that only grows. */
struct arena_block {
	unsigned char *data;
	size_t cap;
	int fd;	   /* -1: of this process alone; else of a file that processes share */
	size_t at; /* where it begins there */
};

/* A place: `at` bytes after a base. */
struct place_at {
	uint32_t base, at;
};

/* A piece of a run, independent of the addresses of callers' buffers: a copy from `a` to `dst`;
 * `a` and `b` combined into it; or as its operation says. */
enum piece_kind { PIECE_COPY, PIECE_COMBINE, PIECE_OTHER };
struct piece_at {
	struct place_at in, a, b, dst, out;
	uint32_t n; /* elements */
	enum piece_kind kind;
};

/* Where an operation's pieces end; they begin where those of the operation before end. */
struct op_end {
	uint32_t row, rank, end;
};

/* The part of a run that a thread does for its ranks' outputs alone. No other thread uses it, but to make
 * another sequence in its place. */
struct own_part {
	uint64_t ranks;
	struct folds *folds; /* NULL: there was no memory, or room: it does all */
};

/* A run as a sequence of pieces (sequence.c). */
struct sequence {
	struct layout layout; /* its, but with whole chunks; no key: there is none */
	struct folds *folds;  /* the same in one pass each (fold.h); or NULL */
	struct piece_at *pieces;
	uint32_t n, room;
	struct op_end *ops; /* the operations in that order */
	size_t nops;
	bool too_long;
	uint64_t id;   /* another for each that was ever found */
	uint64_t used; /* when */
	size_t tile;   /* elements of a chunk that a thread takes at a time: several short tiles; */
	uint64_t ntiles;
	size_t short_tile; /* elements of a chunk that pieces are played for, and slots have room
			      for */
	size_t slot_bytes; /* of a thread: its slots, */
	size_t stage;	   /* and, from there, its stage */
	size_t mail;	   /* see struct kept */
	bool own;	   /* threads may do their own ranks' outputs, */
	size_t outputs;	   /* and have in their slots room for all ranks' outputs, of output_bytes
			      each */
	size_t output_bytes;
	struct own_part part[MOST_POSTED]; /* by the thread's lowest rank */
};

/* One that threads play. */
struct playing {
	struct sequence *q;   /* NULL: none */
	struct traced *trace; /* where it is noted; or NULL */
	unsigned threads;
	_Atomic uint64_t next, done; /* tiles */
};

/* How many tiles were taken of one that the threads which have met for it play; above that, in the
 * higher half, 1 + the call's number. */
struct shared {
	_Alignas(CACHE_LINE) _Atomic uint64_t taken;
};

/* The pieces of each operation of a process's own rank: [first, first + n) of `notes`. Each
 * FIFO's messages have their own base. */
struct op_pieces {
	uint32_t first, n; /* n: OP_UNKNOWN */
};

/* A FIFO's, in a thread's. */
struct fifo_slots {
	size_t cells; /* of the longest message that is not held */
	size_t at, bytes;
};

#define OP_UNKNOWN UINT32_MAX
#define SEQUENCES 8u

struct sequences {
	struct sequence of[SEQUENCES];
	uint64_t runs, found;
	unsigned char **bases;	   /* a thread's slots; each rank's buffers: a table a thread */
	struct arena_block memory; /* scratch, and slots */
	/* while an order is found */
	struct fifo_slots *slots;
	uint64_t *sent, *received; /* messages, by FIFO: of `counters` with */
	uint64_t *done;		   /* operations, by worker */
	size_t counters;
};

/* The memory of a layout; and, where ranks are processes, the pieces of its operations. */
struct laid {
	struct arena_block fibers, fifos, lines, slots, cells, data;
	struct sequence own;   /* their pieces */
	struct op_pieces *ops; /* by operation of the rank's workers: `nops` from op0 */
	size_t nops, ops_room;
	uint64_t op0;
};

/* How the current run is done: by fibers; not begun, until the last rank has called or waiting
 * for it has ended; by threads that play its sequence. */
enum { RUN_FIBERS, RUN_GATHERS, RUN_PLAYS };

struct cpu {
	struct world *world;
	const struct reduce_set *reduce;
	pthread_cond_t work;	    /* helpers sleep here */
	struct fiber *first, *last; /* ready fibers */
	struct fiber *own;	    /* in a run that is not parallel: the fibers that the only
				       running thread has made ready */
	_Atomic uint32_t ready;	    /* their number */
	unsigned running;	    /* threads inside a fiber */
	unsigned spinning;	    /* threads that wait without sleeping */
	unsigned cores;		    /* of the thread that made the engine: other threads may be
				       bound to one */
	size_t cache;		    /* bytes of the last cache */
	bool cached; /* each rank has a core: short messages' slots stay in their caches, and long
			ones' leave them */
	unsigned limit; /* most of them at a time; set at the first run */
	unsigned idle_helpers;
	pthread_t *helpers;
	unsigned nhelpers;
	bool helpers_tried;
	_Atomic bool stop;
	bool failed;		    /* the run before: messages may be left in FIFOs */
	_Atomic uint32_t mode;	    /* RUN_* */
	_Atomic unsigned gatherers; /* threads that wait for the last rank without sleeping */
	struct sequences sequences;
	struct sequence *known; /* of the run that is gathered, which then is not laid out */
	struct playing playing;
	struct shared shared;
	struct layout layout; /* of the current run */
	struct rank_io *ranks;
	uint64_t layouts;	 /* layouts made, plus failed runs */
	uint64_t ids;		 /* of layouts */
	struct laid *laid;	 /* the current run's */
	struct traced *trace;	 /* where it is noted; or NULL */
	const struct wire *wire; /* NULL: all ranks are in this process */
	struct procs *procs;	 /* the wire's own: one of these */
	struct net *net;
};

/* How a process's rank reaches ranks of other processes: the functions that the executor calls.
 * All without the lock, unless the comment says otherwise. */
struct wire {
	size_t tile;	/* bytes of a cell's; 0: as much as suits the caches */
	uint32_t ahead; /* number of calls of one kind that may have messages under way; 0: one */
	size_t held;	/* in the place of HELD_BYTES, if not 0 */
	bool locked;	/* fibers run under world.lock, as the process has but one rank */
	/** Number of further things, after its fibers and held messages, that the rank's end
	 *  waits for. Under world.lock. NULL: nothing. */
	uint64_t (*outgoing)(const struct cpu *e);
	/** The operation has sent its message of the tile that begins at element `lo`; one was
	 *  received. NULL: FIFOs are memory that both ends share. */
	void (*sent)(struct cpu *e, const struct ccs_op *o, size_t lo);
	void (*received)(struct cpu *e, uint32_t fifo);
	/** Whether that message is sent from the cells that hold it; where the next message to be
	 *  received is: in `slot`, or in the cells that store it. NULL: all are in slots. */
	bool (*sends_cells)(struct cpu *e, const struct ccs_op *o, size_t lo);
	const unsigned char *(*in_cells)(struct cpu *e, uint32_t fifo, const unsigned char *slot);
	/** A fiber of theirs is to be run. NULL: each process runs its own. */
	void (*wake)(struct cpu *e, struct fiber *t);
	/** This process's rank has finished its part of the current run. Under world.lock; or
	 *  NULL. */
	void (*done)(struct cpu *e);

	/* Of held messages; NULL: there are none. */
	/** Whether other processes can read this rank's held messages. Under world.lock. */
	bool (*holds)(struct cpu *e, const struct rank_io *io);
	/** Finds the rank's buffers for the current run, as its process published them. */
	void (*find)(struct cpu *e, uint32_t rank);
	/** Copies a message that a foreign rank holds into the cells where the operation stores
	 *  it, if the operation only stores it, or else into a slot. Whether into cells. */
	bool (*pull)(struct cpu *e, const struct ccs_op *o, const struct ccs_op *from, size_t lo,
		     unsigned char *slot);
	/** A message that the rank holds was received. */
	void (*pulled)(struct cpu *e, uint32_t rank);
	/** Whether another process has failed: then its memory may be gone. */
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

/** Makes a world's state. CCS_ENOMEM; CCS_EINVAL: $CCS_MAX_CPU_ISA is no such thing. */
ccs_status cpu_open(struct world *w);
/** See engine.h. */
void cpu_free(struct world *w);

/* ---- layout.c ---------------------------------------------------------------------- */

/** Lays the run out in the engine's memory. CCS_ENOMEM. Under world.lock, and
 *  with no fiber running. O(fibers + FIFOs + cells); of fibers alone where the run before
 *  was one like it. */
ccs_status layout_make(struct cpu *e, struct run *r);
/** Whether it takes at most `most` bytes of each memory that processes share. O(FIFOs + workers). */
bool layout_is_small(const struct cpu *e, const struct call *c, size_t most);
/** The same where the run is laid out already, for a call that has begun without it. */
void layout_go_on(struct cpu *e, struct run *r);
/** The layout serves that call, too. The call's module may be another copy of the same bytes. */
void layout_take(struct cpu *e, const struct call *c);
/** Whether such a run is laid out so. */
bool layout_is(const struct layout *l, const struct call *c);
/** Makes an arena at least `bytes` bytes large; its contents are lost. False: no memory. */
bool cpu_arena_grow(struct arena_block *b, size_t bytes);
/** Gives an arena's memory back. */
void cpu_arena_free(struct arena_block *b);
/** Room for a layout, in memory of this process alone as yet. NULL: no memory. */
struct laid *laid_new(void);
/** Frees it with all its memory. NULL is allowed. */
void laid_free(struct laid *d);

/** Whether chunks are so short that they are copied into slots. */
static inline bool layout_is_short(const struct cpu *e, const struct layout *l)
{
	size_t held = e->wire && e->wire->held ? e->wire->held : HELD_BYTES;

	return l->longest * l->esize < held;
}

/** The places of a rank's cells. */
static inline const struct cell_at *layout_cells(const struct layout *l, uint32_t rank)
{
	return l->cells + rank * l->rank_cells;
}

/* ---- exec.c ------------------------------------------------------------------------- */

/** Runs each fiber of a list (fiber.next) until it waits, finishes, or its run has failed. If
 *  `polled`, fibers that wait are not parked, and the list becomes the list of these. Whether any
 *  has done something. Without the lock. */
bool fibers_turn(struct cpu *e, struct fiber **turn, bool polled);
/** Makes those of the rank ready that are parked, and need not wait. Whether there are any. By
 *  the thread
 *  that runs them. */
bool fibers_wake_ready(struct cpu *e, uint32_t rank);
/** Whether all workers that the fiber's operation waits for are far enough, in its tile. */
bool fiber_has_waits(const struct layout *l, struct fiber *t, const struct ccs_op *o);
/** One thing less that the rank's end waits for. Without the lock. */
void rank_less(struct cpu *e, uint32_t rank);
/** Places the buffers of the call's rank, as it is laid out. CCS_ENOMEM. Under world.lock. */
ccs_status rank_place(struct cpu *e, struct call *c);
/** Frees the rank's memory that is kept between runs. */
void rank_free(struct cpu *e, struct rank_io *io);
/** Makes an arrived rank's fibers ready. CCS_ENOMEM. Under world.lock. */
ccs_status rank_start(struct cpu *e, uint32_t rank);
/** The same for one that is placed and has done some operations, fiber.op of each of its workers,
 *  of a run with one tile and nothing held. */
void rank_resume(struct cpu *e, uint32_t rank);

/* See engine.h. */
bool fibers_moved(const struct world *w, uint64_t *mark);
bool fibers_stuck(const struct world *w, int rank, struct text *t);

/** The message of that number is in its slot; `tail` messages were received. Each wakes the fiber
 *  that waits for it. */
void fifo_filled(struct cpu *e, uint32_t fifo, uint64_t message);
void fifo_freed(struct cpu *e, uint32_t fifo, uint64_t tail);
/** Wakes the worker's fiber, if it has set the flag, which was seen. */
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

/** Whether the next message is there; there is a slot for it. If not, a fiber that has set
 *  dst_waits (or src_waits) before the look is woken later. */
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

/** Whether the message that the operation of a rank sends stays where it is, to be read there. */
static inline bool is_held(const struct rank_io *from, const struct ccs_op *o)
{
	return from->holds && o->flags & CCS_OP_HELD;
}

/* ---- piece.c ------------------------------------------------------------------------ */

/* An operation's messages: their slots; or, for a message that it receives and the sender holds,
 * the operation that sent it. NULL: neither. */
struct ends {
	const unsigned char *in;
	const struct ccs_op *held;
	unsigned char *out;
	bool stored; /* the received message is in its cells already */
};

struct notes; /* notes.h; or NULL: pieces are not noted */
/** Does an operation's data movement for the tile that begins at element `lo`. */
void piece_op(const struct layout *l, const struct fiber *t, const struct ccs_op *o, size_t lo,
	      struct ends ends, struct notes *notes);
/** Copies bytes, the same into a slot, and combines n elements, of `left` that x and y have and are
 *  combined one after another, as suits the run. */
void piece_copy(const struct layout *l, void *to, const void *from, size_t bytes);
void piece_put(const struct layout *l, void *to, const void *from, size_t bytes);
/** The same for data that this run does not read again, by l->past; other threads see it after
 *  reduce_streamed. */
void piece_rest(const struct layout *l, void *to, const void *from, size_t bytes);
void piece_combine(const struct layout *l, void *to, const void *x, const void *y, size_t n,
		   size_t left);
/** Does a piece of `n` elements again, as it was noted. */
void piece_again(const struct layout *l, const struct parts *s, size_t n);
/** How many bytes its message has in a slot; `o` is the rank's. */
size_t piece_bytes(const struct layout *l, uint32_t rank, const struct ccs_op *o, size_t lo);
/** The parts of a held message, for the tile from `lo`, in the cells of its sender; `from` is the
 *  sender's operation. For each cell j of it, each part with its offset in a slot, in bytes. */
typedef void piece_part(void *of, uint32_t j, size_t at, const unsigned char *part, size_t bytes);
void piece_held(const struct layout *l, const struct rank_io *io, const struct ccs_op *from,
		size_t lo, piece_part *part, void *of);
/** Whether the operation stores its message unchanged, in contiguous chunks; and where the rank
 *  has that cell, of which at most *bytes are asked for. */
bool piece_stores(const struct layout *l, const struct ccs_op *o);
unsigned char *piece_target(const struct layout *l, const struct rank_io *io,
			    const struct ccs_op *o, uint32_t j, size_t lo, size_t *bytes);
/** A rank's work before its fibers, and after them. */
void piece_before(const struct layout *l, struct rank_io *io);
void piece_after(const struct layout *l, uint32_t rank, struct notes *notes);
/** Whether there is any after them. */
bool piece_has_after(const struct layout *l, uint32_t rank);

/* ---- ops.c -------------------------------------------------------------------------- */

/** Does elements [lo, lo + most) of the chunks of pieces [p, end), where the bases are. */
void ops_play(const struct layout *l, const struct piece_at *p, const struct piece_at *end,
	      unsigned char *const *bases, size_t lo, size_t most);
/** Where ranks are processes: begins to note the pieces of operations, in a new layout. */
void ops_begin(struct cpu *e);
/** The rank's buffers are placed, for the current run. */
void ops_place(struct cpu *e);
/** Does an operation, as piece_op, and the next time as it was noted. */
void ops_do(struct cpu *e, const struct fiber *t, const struct ccs_op *o, size_t lo,
	    struct ends ends);

/* ---- sequence.c: under world.lock, unless noted otherwise --------------------------------- */

/** The sequence of a run with such calls; NULL if it is not known. */
struct sequence *sequence_known(struct cpu *e, const struct call *c);
/** Whether the run that is laid out may be done in one sequence. */
bool sequence_may(const struct cpu *e);
/* It cannot be done so; it is done; threads are to play it. */
enum sequence_how { SEQUENCE_NOT, SEQUENCE_DONE, SEQUENCE_PLAYS };
/** The sequence of the run that is laid out; NULL: it has none. */
struct sequence *sequence_find(struct cpu *e);
/** Does the run in one sequence, unless that is NULL. All ranks are
 *  placed. */
enum sequence_how sequence_begin(struct cpu *e, struct sequence *q);
/** See engine.h. */
bool sequence_again(struct cpu *e, struct sequence *q, const struct meeting *m);
/** Whether a thread could take part. */
bool sequence_left(const struct cpu *e);
/** Takes part, as one of at most e->limit threads; sequence_over may be asked when all have
 *  returned. Without the lock. */
void sequence_play(struct cpu *e, const struct sequence *q, unsigned thread);
/** Whether all of it was done; it is forgotten then. */
bool sequence_over(struct cpu *e);
/** All ranks' calls end. */
void sequence_played(struct cpu *e);
/** Nothing more of it begins. */
void sequence_stop(struct cpu *e);
void sequences_free(struct cpu *e);

/* ---- host.c ------------------------------------------------------------------------- */

#define HOST_CORES 1024u

/* Cores that a process may use, a bit each. */
struct host_cores {
	unsigned char of[HOST_CORES / 8];
};

/** The same for processes that can share memory: this boot of this host, and the space of
 *  process numbers. */
uint64_t host_of(void);
void host_cores_read(struct host_cores *c);
/** Bytes of the largest cache of its first core, from the system, or else a usual size. */
size_t host_cache(void);
/** Adds those of another process. */
void host_cores_add(struct host_cores *all, const struct host_cores *c);
int host_cores_count(const struct host_cores *c);

/* ---- queue.c: under world.lock, unless noted otherwise -------------------------------- */

/** Adds a ready fiber. The calling thread soon takes one itself, and wakes other threads if more
 *  are left. */
void sched_add(struct cpu *e, struct fiber *t);
/** The same, without the lock, by a thread that runs a fiber, and wakes another for it. */
void sched_ready(struct cpu *e, struct fiber *t);
/** Wakes a sleeping thread, if there is one; or enough for the ready fibers, with so many threads
 *  that look for some. */
void sched_wake_one(struct cpu *e);
void sched_wake_for(struct cpu *e, unsigned takers);

/* ---- sched.c: under world.lock, unless noted otherwise -------------------------------- */

/** Nothing more of the current run begins; whether nothing of it runs any more. */
bool sched_halt(struct world *w);
/** How many cores this thread may use. */
unsigned sched_cores(void);
/** How many threads run fibers at a time. */
unsigned sched_threads(const struct world *w);
/** Starts the communicator's threads, once. */
void sched_start(struct cpu *e);
/** Ends them. Without the lock. */
void sched_stop(struct cpu *e);
/** See engine.h. Without the lock. */
void sched_wait(struct world *w, struct call *calls, ccs_status *first);
/** Ends the wait for ranks that have not called: the ranks that have called begin. Under
 *  world.lock. False: they have begun before. */
bool cpu_begin(struct cpu *e);
/** The current run's sequence was played to its end: it is over, and kept. Under world.lock. */
void cpu_played(struct cpu *e);
/** The thread waits for these calls now. Under world.lock. */
void cpu_wait(struct cpu *e, struct call *calls);
/* See engine.h. */
ccs_status cpu_start(struct world *w, struct run *r, int rank);
bool cpu_at_once(struct world *w, struct call *calls, ccs_status *first);

#endif
