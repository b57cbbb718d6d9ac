/*
 * Traces: when each operation of a call was done (ccs.h: ccs_trace_create).
 *
 * A process's part of a trace is one piece of memory: a head, then calls, one behind another. A call has
 * a time for each of its ranks, and one for each operation and tile, at a place that follows from
 * these. So an engine notes an operation by two stores, without a lock, and memory is bounded: of a
 * call that does not fit the first tiles are noted, and the operations of all later ones are counted.
 *
 * Where ranks are processes the part is a file of memory (memfd), which rank 0 finds in /proc, and
 * maps: so it can save what all have done, also when the communicator has failed, and a
 * process has been killed. That other processes are found so also says that they are on
 * this host, and have the same CLOCK_MONOTONIC. The parts of others are copied to rank 0 where the trace
 * stops (trace_hosts.c).
 *
 * At most two clock readings an operation; nothing where nothing is traced, but a look at world.trace a call.
 */
#ifndef CCS_RUNTIME_TRACE_TRACE_H
#define CCS_RUNTIME_TRACE_TRACE_H

#include "runtime/comm.h"

/* When it was done: ns of CLOCK_MONOTONIC. */
struct trace_time {
	uint64_t begin;
	_Atomic uint64_t end; /* stored last; 0: it is not done */
	uint64_t bytes;	      /* of each of its parts */
	uint64_t thread;      /* which one, where several do tiles of one worker (cpu/play/sequence.c) */
};

/* A call, in `times` times: this takes the first CALL_TIMES; then come its ranks', and its operations' of each tile. */
struct trace_call {
	uint64_t first, ops; /* rows of the plan's operations */
	uint64_t tiles, all; /* noted; of the run */
	uint64_t times;
};
#define CALL_TIMES 2u
_Static_assert(sizeof(struct trace_call) <= CALL_TIMES * sizeof(struct trace_time), "it has room");

struct trace_part {
	uint64_t token; /* of this trace: that the memory is no other's */
	int64_t process;
	_Atomic uint64_t calls;
	_Atomic uint64_t left_out; /* operations that had no room */
	_Atomic uint64_t error;	   /* ns, at most, between its clock and rank 0's CLOCK_MONOTONIC */
	struct trace_time times[];
};

/* The call that is traced now, of this process. */
struct traced {
	uint64_t call; /* 1 + run.seq; 0: none */
	uint64_t first, ops, tiles;
	struct trace_time *ranks; /* from the process's first on */
	struct trace_time *times;
};

/* A process's part, as rank 0 has it. */
struct trace_seen {
	const struct trace_part *part; /* NULL: it does not */
	size_t bytes;
	struct trace_part *copy; /* where the process is on another host; NULL: it is mapped */
	char host[64];		 /* its name */
};

static inline uint64_t trace_room(const struct trace_seen *x)
{
	return (x->bytes - sizeof(struct trace_part)) / sizeof(struct trace_time);
}

/* What the calls are: the same in all processes. */
struct trace_what {
	struct ccs_module *module;
	struct plan_view *view;
	const struct prep *prep;
	size_t count;
	ccs_dtype type;
	const char *op; /* NULL: none matters */
	int root;	/* -1: none */
	bool warmup;	/* the next call takes its place */
};

struct ccs_trace {
	struct world *world;
	struct trace_part *own;
	int fd;			  /* of the file; -1: there is none */
	struct trace_seen *parts; /* of all processes, in rank 0's; else of this one */
	int nparts;
	bool copies;		/* rank 0 has some, */
	struct ccs_comm *hosts; /* ... which come by this: of the same ranks; NULL: none come */
	uint64_t sent;		/* what rank 0 does not have begins here, in this process's part */
	struct trace_what *what;
	size_t ncalls, room;
	uint64_t used; /* times */
	unsigned warmup;
	struct traced current;
};

/** The current run's place in the trace of the world, if there is one. Its first rank that begins
 *  makes it. NULL: it is not traced, or there is no room. `tiles`: of the run. Under world.lock. */
struct traced *trace_run(struct world *w, const struct run *r, uint64_t tiles);

/** Where the row of the plan's operations is noted for that tile; NULL: it is not. */
static inline struct trace_time *trace_at(const struct traced *x, uint64_t row, uint64_t tile)
{
	return tile < x->tiles ? x->times + tile * x->ops + (row - x->first) : NULL;
}

static inline void trace_note(struct trace_time *x, uint64_t begin, uint64_t end, uint64_t bytes,
			      uint64_t thread)
{
	x->begin = begin;
	x->bytes = bytes;
	x->thread = thread;
	atomic_store_explicit(&x->end, end, memory_order_release);
}

/* ---- trace_hosts.c --------------------------------------------------------------------- */

/** All processes give rank 0 what they have noted since the last time, by its clock, if trace.hosts. Under
 *  the lock of the traced world, which may have failed. */
ccs_status trace_send(struct ccs_trace *t);

/* ---- trace_json.c ---------------------------------------------------------------------- */

/** The call of that number in a part, which is another process's to write; NULL: it has none. *times:
 *  its ranks'. `ranks`: of the part. */
const struct trace_call *trace_call_of(const struct trace_seen *x, uint64_t number, uint64_t ranks,
				       const struct trace_time **times);

#endif
