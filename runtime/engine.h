/*
 * The engine: the interface between a communicator and the code that runs its plans.
 *
 * A communicator (comm.h) gathers its ranks' calls into runs, one after another (run.c). An
 * engine moves the data of the current run: fibers on this machine's cores (cpu/), kernels on
 * GPUs (cuda/), rounds of messages between hosts (hosts/). Its state is world.state. The function
 * that makes a communicator chooses the engine; no other code knows an engine by name.
 *
 * There are five engines: tasks, processes, MPI's messages (all cpu/), GPUs, hosts. Seven
 * functions serve every communicator: a run starts, halts, is waited for and checked; a child is
 * made; the engine describes itself, and is freed. `halt` and `check` may be NULL. Five tables hold
 * functions that only some engines have. The comment of a table or function gives the meaning of
 * NULL:
 *
 *	tables		tasks	procs	mpi	cuda	hosts
 *	quick		x	x				calls that need no run
 *	watched		x	x	x			data moves while no call begins or ends
 *	processes		x	x	x	x	ranks in several processes
 *	progress		x	x			it moves in their calls alone
 *	gpus					x	x	ranks on GPUs
 *
 * The functions that an engine calls back are in comm.h (run.c). All functions are called under
 * world.lock, unless their comment says otherwise.
 */
#ifndef CCS_RUNTIME_ENGINE_H
#define CCS_RUNTIME_ENGINE_H

#include "runtime/base/error.h"

#include <stdbool.h>

struct world;
struct run;
struct call;
struct kept;
struct transfer;
struct queue;
struct ccs_comm;
struct p2p_head;

#define RUN_BEGINS (-1) /* passed to `start` in place of a rank that has called */

/* A child communicator: some of the parent's ranks. */
#define INVITATION 128u
struct branch {
	const int *ranks; /* [child's ranks] of the parent; NULL without a child */
	int color;	  /* CCS_NO_COLOR without a child */
	int rank;	  /* this process's rank in the child; 0 if this process has all ranks */
	_Alignas(8) unsigned char invitation[INVITATION];
};

/* Calls that need no run, because they equal earlier calls. Without the lock. */
struct quick_engine {
	/** Does the calls of a thread that are in no run yet; the first is of this world. *first
	 *  as in `wait`. False: the calls have not begun, and join their runs. NULL: all calls
	 *  join runs. */
	bool (*at_once)(struct world *w, struct call *calls, ccs_status *first);
	/** Does one call that equals the rank's last call, by the engine's data on that call
	 *  (struct kept), if the buffers are the same too. False: the call is not over; at_once
	 *  begins it or goes on with it. NULL: the engine has no such calls. */
	bool (*once_more)(struct ccs_comm *comm, const struct kept *kept, const void *send,
			  const void *recv);
};

/* WHERE_STILL: the rank is in a call, but its process does not run, and *t names the process;
 * WHERE_BEFORE: the rank is in a call before the current run's. */
enum whereabouts { WHERE_IN_TURN, WHERE_STILL, WHERE_BEFORE };

/* Runs in which data moves, or waits, between the beginnings and the ends of calls: watch.c. */
struct watched_engine {
	/** Whether anything of the current run has moved since *mark, or is about to; marks
	 *  anew. */
	bool (*moved)(const struct world *w, uint64_t *mark);
	/** Describes what the rank, which has called, waits for: "rank 1 waits at ...". False: it
	 *  waits for no other rank. */
	bool (*stuck)(const struct world *w, int rank, struct text *t);
	/** Where a rank is in its calls when its part of the current run is not done, so that a
	 *  report can say why nothing moves. NULL: each rank is in the current run, or in none. */
	enum whereabouts (*whereabouts)(const struct world *w, int rank, struct text *t);
};

/* Functions for ranks in several processes. */
struct processes_engine {
	/** Each process gives `bytes` bytes, and gets the bytes of all processes in the order of
	 *  ranks. All processes call it together. */
	ccs_status (*gather)(struct world *w, const void *mine, void *all, size_t bytes);
	/** Called before `branch` in each process with a child: the steps that can fail in one
	 *  process alone. Rank 0 of the child writes the invitation, by which the other ranks
	 *  find it. NULL: no step is needed. */
	ccs_status (*invite)(struct world *w, struct world *child, struct branch *b);
	/** Allocates memory for buffers that other processes can read in place; release frees it.
	 *  NULL: ordinary memory. */
	ccs_status (*alloc)(struct world *w, size_t bytes, void **out);
	void (*release)(struct world *w, void *at, size_t bytes);
	/** Makes the communicator fail in all processes, this one included, when they look next.
	 *  Any thread may call it, unless it returns CCS_EUNSUPPORTED. NULL: it fails in this
	 *  process only (run_fail_all). */
	ccs_status (*fail)(struct world *w, ccs_status s, const char *text);
	/** Makes the engine of a child, of which this process is rank b->rank. Only the processes
	 *  of the ranks b->ranks[0 .. n-1] call it, with one tag. `here`: this process's status so
	 *  far; if it is a failure, `child` may be NULL, and all of them fail. NULL: all processes
	 *  must come (`branch`). */
	ccs_status (*members)(struct world *w, struct world *child, const struct branch *b, int n,
			      int tag, ccs_status here);
};

/* Functions for processes in which data and messages between two ranks (p2p.h) move only while a
 * thread is in a call. Without world.lock. */
struct progress_engine {
	/** Continues the current run without waiting. A thread calls it while it waits for
	 *  something else. */
	void (*poll)(struct world *w);
	/** Continues a message to or from another process, the first of its queue; calls
	 *  p2p_over() at its end. Returns whether anything has moved. Under p2p.lock. */
	bool (*carry)(struct world *w, struct transfer *m);
	/** For an empty queue of receives: whether the other process's next message has come, and
	 *  its head. Under p2p.lock. NULL: a message is not seen before a receive takes it, so
	 *  there are no tags and no receives from any rank. */
	bool (*next)(const struct world *w, const struct queue *q, struct p2p_head *head);
	/** For a report: the head of the message between two other processes that is posted and
	 *  that the receiver has not begun to take. False: there is none. NULL: this engine
	 *  cannot see it. */
	bool (*posted)(const struct world *w, int from, int to, struct p2p_head *head);
	/** For a report: asks the other processes what they wait for. NULL: this process sees
	 *  what the report needs. */
	void (*ask)(struct world *w);
	/** Adds the answers to *t, unless that is NULL. True: all have answered. */
	bool (*answers)(const struct world *w, struct text *t);
	/** Called when no message has moved for `idle` polls in a row: may wait a little, and
	 *  checks that the other processes are alive. When the communicator has died here (idle
	 *  is UINT_MAX then), it informs the other processes, and leaves no message's memory in
	 *  use. Without locks. */
	void (*rest)(struct world *w, unsigned idle);
};

/* Functions for ranks on GPUs. A call there names a stream, and is over when its work is in the
 * stream. */
struct gpus_engine {
	/** A message between two ranks of this process, named by its sending end: puts it into
	 *  both ranks' streams, and calls p2p_over() for both ends. Under p2p.lock, without
	 *  world.lock. */
	void (*deliver)(struct world *w, struct transfer *from);
	/** Where ranks are processes: puts all messages of a list (linked by transfer.behind)
	 *  into their streams as one group, or none. Their communicators have the same sort of
	 *  engine. Without locks. */
	ccs_status (*exchange)(struct transfer *list);
	/** All ranks of this process have come to a barrier, with a stream each. Work put into a
	 *  stream after it starts after the work that is in the streams of all ranks. */
	ccs_status (*barrier)(struct world *w, void *const *streams);
	/** Without the lock. The GPU of a rank of this process. */
	int (*device)(const struct world *w, int rank);
	/** NCCL's communicator of the processes, or NULL. */
	void *(*nccl)(const struct world *w);
	/** Waits for the call that is traced, and notes its times, if that was not done. Under
	 *  world.lock. NULL: none is traced. */
	ccs_status (*traced)(struct world *w);
	/** Describes ranks of this process that have waited in kernels for longer than the
	 *  timeout since the last call. */
	void (*waits)(struct world *w, struct text *t);
};

struct engine {
	const char *name; /* as ccs_comm_engine returns it */
	bool idles;	  /* a waiting call calls world.idle */
	bool tiles;	  /* a call may name a tile */
	bool traces;	  /* its calls can be traced (trace.h) */
	bool protocols;	  /* a call may name a protocol, and a number of channels */
	bool host_code;	  /* code of this process combines elements: a call may have a user's
			     operator */
	bool lone;	  /* it is called by one thread at a time: requests have no threads */

	struct quick_engine quick;	      /* not behind a pointer: small calls save one load */
	const struct watched_engine *watched; /* NULL: nothing moves but calls */
	const struct processes_engine *processes; /* NULL: all ranks are in this one */
	const struct progress_engine *progress;	  /* NULL: runs go on without the callers; messages
						     stay in this process, or streams carry them */
	const struct gpus_engine *gpus;		  /* NULL: ranks are on the CPU; calls name no
						     streams, and are over on return */

	/** Either the run has become the current one (rank is RUN_BEGINS), and the ranks with a
	 *  seat in it have called; or one more rank of this process has called. A failure becomes
	 *  the run's, with this thread's text. */
	ccs_status (*start)(struct world *w, struct run *r, int rank);
	/** The current run has failed: no more of its work may begin. True: none of its work is
	 *  under way, so the callers may have their buffers back. If that becomes true later, the
	 *  engine calls run_retire. May be called again. NULL: always true. */
	bool (*halt)(struct world *w);
	/** Without the lock. Takes part in the work, or waits, until this world's calls of a list
	 *  (struct call.next) are over. *first becomes the first failure, unless it is a failure
	 *  already. An engine without work by its callers uses run_wait(). */
	void (*wait)(struct world *w, struct call *calls, ccs_status *first);
	/** Whether something has failed outside a call: CCS_OK, or the communicator is dead now
	 *  (world_die), and the text has the reason. NULL: nothing can fail so. */
	ccs_status (*check)(struct world *w);
	/** Makes the engine of `child`, a communicator of some of this one's ranks (split.c). The
	 *  two share nothing. All ranks of this communicator call it together; child is NULL in a
	 *  process without a rank in a child. After a failure, freeing child frees the parts made
	 *  so far. */
	ccs_status (*branch)(struct world *w, struct world *child, const struct branch *b);
	/** Where the ranks run, in words: "4 ranks on the CPU, run by ...". */
	void (*describe)(const struct world *w, char *text, size_t size);
	/** Without the lock, as this thread has the last handle. Stops and frees everything in
	 *  world.state, which may be NULL. In a forked process (origin_here() is false) it only
	 *  frees memory: it does not wait, and touches nothing that belongs to the parent. */
	void (*free)(struct world *w);
};

#endif
