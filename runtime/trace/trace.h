/*
 * Traces: when each operation of a call was done (ccs.h: ccs_trace_create).
 *
 * A process's part of a trace is one piece of memory: a head, then calls, one after another. A
 * call has a time for each of its ranks, and one for each operation and tile, at a computed
 * place. So an engine records an operation by two stores, without a lock, and memory is bounded:
 * of a call that does not fit, the first tiles are recorded, and the operations of later ones are
 * counted.
 *
 * If ranks are processes the part is a memory file (memfd_create(2)), which rank 0 finds in /proc
 * and maps. So rank 0 can save what all have done even after the communicator has failed or a
 * process was killed. A process found in /proc is also on this host, with the same
 * CLOCK_MONOTONIC. The parts of other processes are copied to rank 0 when the trace stops
 * (trace_hosts.c).
 *
 * At most two clock readings an operation. Operations of one pass over the data (cpu/play/fold.h)
 * have two together, and an equal share of the time. A call that is not traced costs one read of
 * world.trace.
 */
#ifndef CCS_RUNTIME_TRACE_TRACE_H
#define CCS_RUNTIME_TRACE_TRACE_H

#include "runtime/comm.h"

/* The times of an operation: ns of CLOCK_MONOTONIC. */
struct trace_time {
	uint64_t begin;
	_Atomic uint64_t end; /* stored last; 0: not done */
	uint64_t bytes;
	uint32_t thread; /* number of a thread or channel that shares tiles of a worker
			    (cpu/play/sequence.c) */
	uint32_t pass;	 /* operations in the pass that did it: each has an equal share of its
			    time; 0: the times are the operation's own */
};

/* A call, in an array of `times`: this head takes the first CALL_TIMES; then come its ranks',
 * and its operations' of each tile. */
struct trace_call {
	uint64_t first, ops; /* rows of the plan's operations */
	uint64_t tiles, all; /* tiles recorded; tiles of the run */
	uint64_t times;
};
#define CALL_TIMES 2u
_Static_assert(sizeof(struct trace_call) <= CALL_TIMES * sizeof(struct trace_time), "it has room");

struct trace_part {
	uint64_t token; /* of this trace, to recognise its memory */
	int64_t process;
	_Atomic uint64_t calls;
	_Atomic uint64_t left_out; /* operations without room */
	_Atomic uint64_t error;	   /* ns: the largest error of its clock against rank 0's
				      CLOCK_MONOTONIC */
	struct trace_time times[];
};

/* The call of this process that is being traced. */
struct traced {
	uint64_t call; /* 1 + run.seq; 0: none */
	uint64_t first, ops, tiles;
	struct trace_time *ranks; /* from the process's first rank on */
	struct trace_time *times;
};

/* A process's part, as rank 0 sees it. */
struct trace_seen {
	const struct trace_part *part; /* NULL: not visible */
	size_t bytes;
	struct trace_part *copy; /* if the process is on another host; NULL: it is mapped */
	char host[64];		 /* its name */
};

static inline uint64_t trace_room(const struct trace_seen *x)
{
	return (x->bytes - sizeof(struct trace_part)) / sizeof(struct trace_time);
}

/* Description of the calls, the same in all processes. */
struct trace_what {
	struct ccs_module *module;
	struct plan_view *view;
	const struct prep *prep;
	size_t count;
	ccs_dtype type;
	const char *op; /* NULL: no operator matters */
	int root;	/* -1: none */
	bool warmup;	/* the next call replaces it */
};

struct ccs_trace {
	struct world *world;
	struct trace_part *own;
	int fd;			  /* of the file; -1: none */
	struct trace_seen *parts; /* on rank 0 of all processes; else of this one */
	int nparts;
	bool copies;		/* rank 0 has copies, */
	struct ccs_comm *hosts; /* ... which are sent through this communicator of the same
				   ranks; NULL: none are */
	uint64_t sent;		/* start, in this process's part, of what rank 0 does not have */
	struct trace_what *what;
	size_t ncalls, room;
	uint64_t used; /* number of times */
	unsigned warmup;
	struct traced current;
};

/** The current run's place in the world's trace, made for the first rank that begins. NULL: it
 *  is not traced, or there is no room. `tiles`: of the run. Under world.lock. */
struct traced *trace_run(struct world *w, const struct run *r, uint64_t tiles);

/** The place of an operation's row in that tile; NULL: it is not recorded. */
static inline struct trace_time *trace_at(const struct traced *x, uint64_t row, uint64_t tile)
{
	return tile < x->tiles ? x->times + tile * x->ops + (row - x->first) : NULL;
}

static inline void trace_note(struct trace_time *x, uint64_t begin, uint64_t end, uint64_t bytes,
			      uint32_t thread)
{
	x->begin = begin;
	x->bytes = bytes;
	x->thread = thread;
	atomic_store_explicit(&x->end, end, memory_order_release);
}

/* ---- trace_hosts.c --------------------------------------------------------------------- */

/** If trace.hosts: all processes send rank 0 what they have recorded since the last time,
 *  converted to its clock. Under the lock of the traced world, which may have failed. */
ccs_status trace_send(struct ccs_trace *t);

/* ---- trace_json.c ---------------------------------------------------------------------- */

/** The call of that number in a part, which another process may be writing; NULL: none. *times:
 *  those of its ranks. `ranks`: of the part. */
const struct trace_call *trace_call_of(const struct trace_seen *x, uint64_t number, uint64_t ranks,
				       const struct trace_time **times);

#endif
