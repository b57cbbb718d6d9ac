/*
 * The engine on this machine's cores: fibers, FIFOs, and the queue of what is ready.
 *
 *   comm.c     communicators on the CPU, and the engine's row
 *   layout.c   a run in memory: cells, tiles, FIFOs, fibers
 *   exec.c     a fiber: one worker of a plan, that can stop and go on; what moves, and who
 *              waits for whom
 *   piece.c    the data of one operation
 *   reduce.c   combining elements
 *   sched.c    threads, and the queue
 *   procs*.c   ranks that are processes of one host, over shared memory (procs.h)
 *   net*.c     ranks that are processes of any hosts, by MPI's messages (net.h)
 *   host.c     which host this is, and its cores
 *
 * A rank's work is a fiber a worker of the plan; a fiber runs on any thread, until its next
 * operation has to wait; then it is parked, and whoever makes that operation possible makes
 * it ready again (exec.c). Threads take fibers from one queue: those of the communicator, and
 * all that are inside a call (sched.c).
 *
 * A message goes by way of a slot of its FIFO; or, if it is held (plan.h) and long enough, its
 * receiver reads it in its sender's cells, and the slot's turn only says that it is there.
 *
 * Everything that is not said to be atomic is under world.lock, or belongs to the thread
 * that runs the fiber.
 */
#ifndef CCS_RUNTIME_CPU_CPU_H
#define CCS_RUNTIME_CPU_CPU_H

#include "runtime/cpu/reduce.h"
#include "runtime/comm.h"

#define CACHE_LINE 64

enum fiber_state {
	FIBER_INACTIVE, /* its rank has not called */
	FIBER_PARKED,
	FIBER_QUEUED,
	FIBER_RUNNING,
	FIBER_NOTIFIED, /* running, and something changed since it looked */
	FIBER_FINISHED
};

/* A worker of the plan (rows 0 .. workers-1), or what a rank does before its
 * workers start (rows workers .. workers+nranks-1). */
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
	uint64_t freed;				    /* of tail, what the sender knows */
	_Alignas(CACHE_LINE) _Atomic uint64_t tail; /* messages received */
	_Alignas(CACHE_LINE) _Atomic uint32_t src_waits;
	_Atomic uint32_t dst_waits;
};

/* Of a slot: which message is there, and the message itself, if it is as short. */
#define LINE_BYTES (CACHE_LINE - sizeof(uint64_t))
struct slot_line {
	_Alignas(CACHE_LINE) _Atomic uint64_t there; /* layout.first + the message's number */
	unsigned char data[LINE_BYTES];
};

/* Where its messages lie: number i in slot i modulo `n`. */
struct slots {
	struct slot_line *lines;
	unsigned char *data; /* NULL: in the lines */
	size_t bytes;	     /* of one */
	uint32_t n;
};

/* Where a cell lies, in elements. */
struct cell_at {
	size_t send, recv; /* from the buffers' starts; scratch: recv, from scratch's */
	size_t len;
};

/* A rank during the current run. Of other processes' ranks (procs.h) there is what is needed
 * to read the messages that they hold. */
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
};

/* What a layout follows from: the same in all processes, wherever the module lies there. */
struct layout_key {
	uint64_t size, checksum; /* of the module; no size: there is no layout yet */
	int root;		 /* tells which of its plans for the communicator's ranks */
	size_t count;
	ccs_dtype type;
	int op;	     /* -1: none matters */
	size_t tile; /* as the call has it */
	bool premul;
};

/* What the current run's fibers read; fixed while it runs. */
struct layout {
	struct layout_key key;
	struct run *run;
	const struct plan_view *view;
	const struct prep *prep;
	const struct cell_at *cells;
	struct fiber *fibers;
	struct fifo *fifos;
	const struct slots *slots;
	uint64_t first; /* more than `there` ever was in a layout before */
	struct rank_io *ranks;
	uint32_t nworkers, nranks;
	size_t esize;
	size_t tile; /* elements of a cell in a tile */
	uint64_t ntiles;
	size_t longest;		/* elements of the longest cell */
	unsigned char *scratch; /* of all ranks, */
	size_t scratch_bytes;	/* each */
	reduce_combine *combine;
	reduce_scale *scale;
	reduce_divide *divide; /* NULL unless averaging */
	bool premul;
	bool holds;    /* chunks are long enough for held messages to stay where they are */
	bool parallel; /* enough work to wake other threads for */
};

/* Memory that only grows. */
struct arena_block {
	unsigned char *data;
	size_t cap;
	int fd; /* -1: of this process alone; else of a file that processes share */
};

struct cpu {
	struct world *world;
	pthread_cond_t work;	    /* helpers sleep here */
	struct fiber *first, *last; /* ready fibers */
	struct fiber *own;	    /* in a run that is not parallel: those that the one thread
				       which runs fibers has made ready itself */
	_Atomic uint32_t ready;	    /* their number */
	unsigned running;	    /* threads inside a fiber */
	unsigned spinning;	    /* threads that wait without sleeping */
	unsigned limit;		    /* most of them at a time; set at the first run */
	unsigned idle_helpers;
	pthread_t *helpers;
	unsigned nhelpers;
	bool helpers_tried;
	_Atomic bool stop;
	bool failed;	      /* the run before: messages may lie in FIFOs */
	struct layout layout; /* of the current run */
	struct rank_io *ranks;
	uint64_t layouts; /* so many, one for each run that failed among them */
	struct arena_block fibers, fifos, lines, slots, cells, data;
	const struct wire *wire; /* NULL: all ranks are in this process */
	struct procs *procs;	 /* the wire's own: one of these */
	struct net *net;
};

/* How a process's rank reaches those of other processes: what the executor asks for. All
 * without the lock, but for what says otherwise. */
struct wire {
	size_t tile; /* bytes of a cell's; 0: as much as suits the caches */
	/** What the rank's end waits for beside its fibers, and held messages. Under world.lock.
	 *  NULL: nothing. */
	uint64_t (*outgoing)(const struct cpu *e);
	/** The operation has sent its message of the tile that begins at element `lo`; one was
	 *  received. NULL: FIFOs are memory that both ends share. */
	void (*sent)(struct cpu *e, const struct ccs_op *o, size_t lo);
	void (*received)(struct cpu *e, uint32_t fifo);
	/** A fiber of theirs is to be run. NULL: each process runs its own. */
	void (*wake)(struct cpu *e, struct fiber *t);
	/** This process's rank is through with the current run. Under world.lock; or NULL. */
	void (*done)(struct cpu *e);

	/* Of held messages; NULL: there are none. */
	/** Whether others can read what this rank holds. Under world.lock. */
	bool (*holds)(struct cpu *e, const struct rank_io *io);
	/** Finds what the rank has told of its buffers for the current run. */
	void (*find)(struct cpu *e, uint32_t rank);
	/** Copies a message that a foreign rank holds into a slot. */
	void (*pull)(struct cpu *e, const struct ccs_op *o, const struct ccs_op *from, size_t lo,
		     unsigned char *slot);
	/** A message that the rank holds was received. */
	void (*pulled)(struct cpu *e, uint32_t rank);
	/** Whether another process has failed: then what its memory held may be no more. */
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

/* ---- comm.c -------------------------------------------------------------------------- */

/** Makes a world's state. CCS_ENOMEM. */
ccs_status cpu_open(struct world *w);
/** See engine.h. */
void cpu_free(struct world *w);

/* ---- layout.c ---------------------------------------------------------------------- */

/** Lays the run out in the engine's memory. CCS_ENOMEM. Under world.lock, and
 *  with no fiber running. O(fibers + FIFOs + cells); of fibers alone where the run before
 *  was one like it. */
ccs_status layout_make(struct cpu *e, struct run *r);
/** Whether such a run is laid out as the one before. */
bool layout_is(const struct cpu *e, const struct call *c);
/** Gives an arena's memory back. */
void cpu_arena_free(struct arena_block *b);

/* ---- exec.c ------------------------------------------------------------------------- */

/** Runs a fiber until it waits, finishes, or its run has failed. True, if `polled`: it waits, and
 *  is not parked, but to be run again. Without the lock. */
bool fiber_run(struct cpu *e, struct fiber *t, bool polled);
/** One thing less that the rank's end waits for. Without the lock. */
void rank_less(struct cpu *e, uint32_t rank);
/** Makes an arrived rank's fibers ready. CCS_ENOMEM. Under world.lock. */
ccs_status rank_start(struct cpu *e, uint32_t rank);

/* See engine.h. */
bool fibers_moved(const struct world *w, uint64_t *mark);
bool fibers_stuck(const struct world *w, int rank, struct text *t);

/** The message of that number is in its slot; so many were received. They wake the fiber that
 *  waits for that. */
void fifo_filled(struct cpu *e, uint32_t fifo, uint64_t message);
void fifo_freed(struct cpu *e, uint32_t fifo, uint64_t tail);

static inline struct slot_line *slot_line_of(const struct slots *s, uint64_t message)
{
	return s->lines + (s->n & (s->n - 1) ? message % s->n : message & (s->n - 1));
}

/** Where it lies. */
static inline unsigned char *slot_of(const struct slots *s, uint64_t message)
{
	struct slot_line *line = slot_line_of(s, message);

	return s->data ? s->data + (size_t)(line - s->lines) * s->bytes : line->data;
}

/** Whether the message that the operation of a rank sends stays where it is, to be read there. */
static inline bool is_held(const struct rank_io *from, const struct ccs_op *o)
{
	return from->holds && o->flags & CCS_OP_HELD;
}

/* ---- piece.c ------------------------------------------------------------------------ */

/* An operation's messages: their slots; or, of what it receives, the operation that sent it,
 * if its rank holds it. NULL: neither. */
struct ends {
	const unsigned char *in;
	const struct ccs_op *held;
	unsigned char *out;
};

/** Does an operation's data movement for the tile that begins at element `lo`. */
void piece_op(const struct layout *l, const struct fiber *t, const struct ccs_op *o, size_t lo,
	      struct ends ends);
/** How many bytes its message has in a slot. */
size_t piece_bytes(const struct layout *l, const struct ccs_op *o, size_t lo);
/** The parts of a held message, for the tile from `lo`, as the operation `o` receives it, each
 *  with its place in a slot, in bytes. */
typedef void piece_part(void *of, size_t at, const unsigned char *part, size_t bytes);
void piece_held(const struct layout *l, const struct rank_io *io, const struct ccs_op *from,
		const struct ccs_op *o, size_t lo, piece_part *part, void *of);
/** A rank's work before its fibers, and after them. */
void piece_before(struct rank_io *io);
void piece_after(const struct layout *l, uint32_t rank);

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
/** Adds those of another process. */
void host_cores_add(struct host_cores *all, const struct host_cores *c);
int host_cores_count(const struct host_cores *c);

/* ---- sched.c: under world.lock, but for what says otherwise --------------------------- */

/** Adds a ready fiber. */
void sched_push(struct cpu *e, struct fiber *t);
/** The same, without the lock, by a thread that runs a fiber. */
void sched_ready(struct cpu *e, struct fiber *t);
/** Nothing more of the current run begins; whether nothing of it runs any more. */
bool sched_halt(struct world *w);
/** How many threads run fibers at a time. */
unsigned sched_threads(const struct world *w);
/** Starts the communicator's threads, once. */
void sched_start(struct cpu *e);
/** Ends them. Without the lock. */
void sched_stop(struct cpu *e);
/** See engine.h. Without the lock. */
void sched_wait(struct world *w, struct call *calls, ccs_status *first);

#endif
