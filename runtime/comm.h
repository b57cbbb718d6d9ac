/*
 * A communicator's shared part, the `world`: its ranks, threads, queue of ready
 * tasks, and runs. Private to the runtime.
 *
 * A run is one collective call of all ranks: the k-th call of each rank joins
 * run k. Runs are done one after another; within one, ranks start as they call.
 * A rank's work is a task a worker of the plan; a task runs on any thread, until
 * its next operation has to wait; then it is parked, and whoever makes that
 * operation possible makes it ready again (exec.c). Threads take tasks from one
 * queue: those of the communicator, and all that are inside a call (sched.c).
 *
 * Everything that is not said to be atomic is under world.lock, or belongs to
 * the thread that runs the task.
 */
#ifndef CCS_RUNTIME_COMM_H
#define CCS_RUNTIME_COMM_H

#include "runtime/error.h"
#include "runtime/origin.h"
#include "runtime/prep.h"
#include "runtime/reduce.h"

#include <pthread.h>
#include <stdatomic.h>

#define CACHE_LINE 64

/* One rank's call, from ccs_run to its end. */
struct call {
	struct ccs_comm *comm;
	struct ccs_module *module;
	struct plan_view *view;
	const struct prep *prep;
	const unsigned char *send;
	unsigned char *recv;
	size_t count;
	size_t send_bytes, recv_bytes;
	ccs_dtype type;
	ccs_redop op;
	bool reduces, premul;		/* an operator matters; ... and it is premul-sum */
	int root;			/* -1: none */
	_Alignas(8) unsigned char scalar[8];
	bool done;			/* under world.lock, as is status */
	void *stream;			/* a GPU's */
	bool over;			/* the calling thread knows how it ended */
	ccs_status status;
	struct run *run;		/* once joined */
	struct call *next;		/* in the thread's group */
};

enum task_state {
	TASK_INACTIVE,		/* its rank has not called */
	TASK_PARKED,
	TASK_QUEUED,
	TASK_RUNNING,
	TASK_NOTIFIED,		/* running, and something changed since it looked */
	TASK_FINISHED
};

/* A worker of the plan (rows 0 .. workers-1), or what a rank does before its
 * workers start (rows workers .. workers+nranks-1). */
struct task {
	_Alignas(CACHE_LINE) _Atomic uint32_t state;
	_Atomic uint32_t watched;	/* a task of its rank waits for `done` */
	_Atomic uint32_t watches;	/* it waits for another task's `done` */
	_Atomic uint64_t done;		/* operations done, over all tiles */
	uint32_t op;			/* next operation, in its worker */
	uint32_t rank;
	uint64_t tile;
	unsigned char *stage;		/* for shifted operations, or NULL */
	struct task *next;		/* in the queue */
};

/* A FIFO. The sender writes the first line, the receiver the second; each sets
 * its flag before it parks, and the other clears it and wakes the task. */
struct channel {
	_Alignas(CACHE_LINE) _Atomic uint64_t head;	/* messages sent */
	_Atomic uint32_t src_waits;
	uint32_t src_slot;
	_Alignas(CACHE_LINE) _Atomic uint64_t tail;	/* messages received */
	_Atomic uint32_t dst_waits;
	uint32_t dst_slot;
	_Alignas(CACHE_LINE) unsigned char *data;
	size_t slot_bytes;
	uint32_t slots;
};

/* Where a cell lies, in elements. */
struct cell_at {
	size_t send, recv;	/* from the buffers' starts; scratch: recv, from scratch's */
	size_t len;
};

/* A rank during the current run. */
struct rank_io {
	struct call *call;
	const unsigned char *send;
	unsigned char *recv;
	unsigned char *scratch;
	_Atomic uint32_t left;		/* tasks to finish */
	/* kept between runs: a copy of the input, or a receive buffer that the
	 * caller left out */
	unsigned char *aside;
	size_t aside_bytes;
	bool copy_aside;
};

/* A rank's place in a run. */
struct seat {
	struct call *call;		/* NULL before it has called and after its call returned */
	bool called, done;
};

struct run {
	uint64_t seq;
	struct call params;		/* a copy of the first call: all must agree with it */
	int first_rank;
	struct seat *seats;		/* [nranks] */
	int arrived, finished;		/* of this process's ranks */
	int refs;			/* calls that have not returned, and the list */
	bool started;
	_Atomic bool failed;
	ccs_status status;
	char *text;			/* of the failure, or NULL */
	struct run *next;
};

/* What the current run's tasks read; fixed while it runs. */
struct layout {
	struct run *run;
	const struct plan_view *view;
	const struct prep *prep;
	const struct cell_at *cells;
	struct task *tasks;
	struct channel *channels;
	struct rank_io *ranks;
	uint32_t nworkers, nranks;
	size_t esize;
	size_t tile;			/* elements of a cell in a tile */
	uint64_t ntiles;
	size_t longest;			/* elements of the longest cell */
	reduce_combine *combine;
	reduce_scale *scale;
	reduce_divide *divide;		/* NULL unless averaging */
	bool premul;
	bool parallel;			/* enough work to wake other threads for */
};

struct arena_block {
	unsigned char *data;
	size_t cap;
};

struct opened {			/* a module of ccs_call */
	const void *bytes;
	struct ccs_module *module;
	struct opened *next;
};

struct world {
	struct origin origin;		/* a forked process can only free it */
	pthread_mutex_t lock;
	pthread_cond_t work;		/* helpers sleep here */
	pthread_cond_t calls;		/* threads inside a call sleep here */
	int nranks, nlocal;		/* ranks in all; of this process */
	int handles;
	unsigned threads;		/* as set; 0: one a core */
	unsigned timeout;		/* ms; 0: never */
	struct task *first, *last;	/* ready tasks */
	_Atomic uint32_t ready;		/* their number */
	unsigned running;		/* threads inside a task */
	unsigned limit;			/* most of them at a time; set at the first call */
	unsigned idle_helpers, idle_calls;
	pthread_t *helpers;
	unsigned nhelpers;
	bool helpers_tried;
	_Atomic bool stop;
	struct run *runs, *runs_last;	/* the first is the current one */
	struct layout layout;
	uint64_t arrivals;		/* calls joined and finished: progress */
	struct rank_io *ranks;
	struct arena_block tasks, channels, cells, data;
	bool dead;
	char *dead_text;
	struct opened *opened;
	struct gpu *gpu;		/* where the ranks live; NULL: on the CPU (cuda_comm.h) */
};

struct ccs_comm {
	struct world *world;
	int rank;
	uint64_t seq;			/* calls so far */
};

/* ---- comm.c ------------------------------------------------------------------------- */

/** For `nranks` ranks, of which `nlocal` have a handle in this process. NULL: no memory. */
struct world *world_new(int nranks, int nlocal);
void world_free(struct world *w);
/** CCS_EABORTED in a process that was forked from the one that made it: threads are
 *  missing there, and locks may never be given back. O(1), without a call. */
ccs_status world_here(const struct world *w);

/* ---- run.c: runs, under world.lock ---------------------------------------------- */

/** The rank's next call joins its run. Starts what can start. */
void run_join(struct world *w, struct call *c);
/** A rank's tasks are all done. */
void run_rank_done(struct world *w, struct layout *l, uint32_t rank);
/** Fails a run: all its calls, those to come too. */
void run_fail(struct world *w, struct run *r, ccs_status s, const char *text);
/** Drops runs that are over, and starts the next. */
void run_retire(struct world *w);
/** Whether the call may return. If so, *s is its status, and the reason is this
 *  thread's text if *s was CCS_OK before. */
bool run_call_over(struct world *w, struct call *c, ccs_status *s);
void run_unref(struct run *r);
/** Frees it, whoever holds it. */
void run_drop(struct run *r);
/* What must be the same in all ranks' calls; and how it is called in messages. */
struct call_name {
	uint64_t size, checksum;	/* of the module */
	uint64_t count;
	uint32_t type, op, reduces, premul;
	int32_t root;
	char text[236];			/* "rank 1 calls ring_allreduce with count 3 of ..." */
};
void run_name(const struct call *c, int rank, struct call_name *name);
bool run_same(const struct call_name *x, const struct call_name *y);
/** CCS_EINVAL, with both. */
ccs_status run_differ(const struct call_name *x, const struct call_name *y);

/* ---- layout.c ---------------------------------------------------------------------- */

/** Lays the run out in the world's memory. CCS_ENOMEM. Under world.lock, and
 *  with no task running. O(tasks + FIFOs + cells). */
ccs_status layout_make(struct world *w, struct run *r);

/* ---- exec.c ------------------------------------------------------------------------- */

/** Runs a task until it waits, finishes, or its run has failed. */
void task_run(struct world *w, struct task *t);
/* Whether a call's input must be copied aside, as it overlaps the output otherwise
 * than in place; whether it lacks an output buffer that its operations touch. */
struct placing {
	bool copy_aside, lacks;
};
struct placing call_placing(const struct call *c, const struct prep_rank *p);

/** Makes an arrived rank's tasks ready. Under world.lock. */
void rank_start(struct world *w, uint32_t rank);

/* What the task's next operation waits for (watch.c); none if it is not parked. */
enum blocked { BLOCKED_NOT, BLOCKED_RECV, BLOCKED_SEND, BLOCKED_WORKER };
enum blocked task_blocked(struct layout *l, struct task *t);

/* ---- piece.c ------------------------------------------------------------------------ */

/** Does an operation's data movement for the tile that begins at element `lo`;
 *  `in` and `out` are its messages' slots, or NULL. */
void piece_op(const struct layout *l, const struct task *t, const struct ccs_op *o, size_t lo,
	      const unsigned char *in, unsigned char *out);
/** A rank's work before its tasks, and after them. */
void piece_before(struct rank_io *io);
void piece_after(const struct layout *l, uint32_t rank);

/* ---- sched.c ------------------------------------------------------------------------ */

/** Adds a ready task. Under world.lock. */
void sched_push(struct world *w, struct task *t);
void sched_wake_calls(struct world *w);
/** Decides how many threads there are; before the first run. */
void sched_limit(struct world *w);
/** Starts the communicator's threads, once. Under world.lock. */
void sched_start(struct world *w);
void sched_stop(struct world *w);
/** Takes part until the world's calls in a list are over. *first is the first
 *  failure, and stays what it was if it was one. */
void sched_wait(struct world *w, struct call *calls, ccs_status *first);

/* ---- cuda_comm.c ---------------------------------------------------------------------- */

/** On a GPU: launches the run if all ranks have called. Under world.lock. */
void gpu_start(struct world *w, struct run *r);
/** In a forked process: without a call of the driver, whose things are another's. */
void gpu_free(struct world *w);

/* ---- watch.c ------------------------------------------------------------------------ */

/** A number that grows with every operation and every call. Under world.lock. */
uint64_t watch_progress(const struct world *w);
/** Nothing moved for the timeout: the communicator dies, and every call in it
 *  fails with a report of who waits for whom. Under world.lock, no task runs. */
void watch_timeout(struct world *w);

#endif
