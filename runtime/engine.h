/*
 * What a communicator asks of whatever runs its plans: the engine.
 *
 * A communicator (comm.h) gathers its ranks' calls into runs, one after another (run.c). An
 * engine moves the data of the current run: fibers on this machine's cores (cpu/), kernels
 * on GPUs (cuda/), rounds of messages between hosts (hosts/). It keeps what it needs in
 * world.state. Whoever makes a communicator chooses its engine; nothing else knows one by
 * name.
 *
 * An engine is a row of this table, five of them so far: tasks, processes, MPI's messages
 * (all cpu/), GPUs, hosts. Its seven functions are what every communicator needs: runs that
 * begin, end, or fail, a child, a text, and an end. What only some engines have lies in tables
 * beside them, by why they have it, and NULL says what its absence means:
 *
 *	tables		tasks	procs	mpi	cuda	hosts
 *	quick		x	x				calls that need no run
 *	watched		x	x	x			data moves while no call does
 *	processes		x	x	x	x	ranks in several processes
 *	progress		x	x			it moves in their calls alone
 *	gpus					x	x	ranks on GPUs
 *
 * What an engine calls back is in comm.h (run.c). All functions are called under
 * world.lock, but for those that say otherwise.
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

#define RUN_BEGINS (-1) /* to `start`, where others pass the rank that has called */

/* A communicator that is made of some of another's ranks. */
#define INVITATION 128u
struct branch {
	const int *ranks; /* [child's ranks] of the parent; NULL without a child */
	int color;	  /* CCS_NO_COLOR without a child */
	int rank;	  /* this process's, in the child; 0 where that has all */
	_Alignas(8) unsigned char invitation[INVITATION];
};

/* Calls that need no run, as they are like ones before. Without the lock. */
struct quick_engine {
	/** Does the calls of a thread, which are in no run yet, the first of this world; *first as
	 *  `wait`'s. False: they have not begun, and join their runs. NULL: all do. */
	bool (*at_once)(struct world *w, struct call *calls, ccs_status *first);
	/** The same of one that is like the rank's last with what it has kept of it (comm.h), if
	 *  its buffers are the same, too. False: it is not over; at_once begins it, or goes on with
	 *  it. NULL: there are none. */
	bool (*once_more)(struct ccs_comm *comm, const struct kept *kept, const void *send,
			  const void *recv);
};

/* WHERE_STILL: it is in a call, but its process does not run, and *t says which that is; WHERE_BEFORE:
 * it is in a call before the current run's. */
enum whereabouts { WHERE_IN_TURN, WHERE_STILL, WHERE_BEFORE };

/* Runs of which something moves, or waits, that is no call's beginning or end: watch.c. */
struct watched_engine {
	/** Whether anything of the current run has moved since *mark, or is about to; marks
	 *  anew. */
	bool (*moved)(const struct world *w, uint64_t *mark);
	/** Tells what the rank, which has called, waits for: "rank 1 waits at ...". False: for
	 *  no other rank. */
	bool (*stuck)(const struct world *w, int rank, struct text *t);
	/** Where in its calls a rank is whose part of the current run is not done, as far as that says
	 *  why nothing moves. NULL: all ranks are in the current one, or in none. */
	enum whereabouts (*whereabouts)(const struct world *w, int rank, struct text *t);
};

/* Of ranks in several processes. */
struct processes_engine {
	/** Each gives so many bytes, and gets those of all, in the order of ranks. All of them call
	 *  it, together. */
	ccs_status (*gather)(struct world *w, const void *mine, void *all, size_t bytes);
	/** Before `branch`, in each process with a child: what can fail in one alone; rank 0 of the
	 *  child writes what the others, which get it, need to find it. NULL: nothing is needed. */
	ccs_status (*invite)(struct world *w, struct world *child, struct branch *b);
	/** Memory for buffers that the others can read where it is, and back. NULL: it is of no
	 *  sort of its own. */
	ccs_status (*alloc)(struct world *w, size_t bytes, void **out);
	void (*release)(struct world *w, void *at, size_t bytes);
	/** Has the communicator fail in all processes, this one too, when they look next. Any thread
	 *  may call it. NULL: it fails in this one (run_fail_all). */
	void (*fail)(struct world *w, ccs_status s, const char *text);
};

/* Of processes whose data, and messages of two ranks (p2p.h), move only while a thread of theirs is
 * in a call. Without world.lock. */
struct progress_engine {
	/** Goes on with the current run, and does not wait: for a thread that waits for something
	 *  else. */
	void (*poll)(struct world *w);
	/** Goes on with a message to or from another process, which is the first of its queue;
	 *  p2p_over() when it is over. Whether anything has moved. Under p2p.lock. */
	bool (*carry)(struct world *w, struct transfer *m);
	/** The next message of another process's, for an empty queue of receives: whether it has
	 *  come, and with what. Under p2p.lock. NULL: that is not seen before a receive takes it,
	 *  and so there are no tags, and no receives from any rank. */
	bool (*next)(const struct world *w, const struct queue *q, struct p2p_head *head);
	/** For a report: the message, between other processes, that is posted and not begun to be
	 *  taken, and what it is. False: there is none. NULL: that is not seen here. */
	bool (*posted)(const struct world *w, int from, int to, struct p2p_head *head);
	/** Messages did not move, so many times in a row: waits a little until they may, or does
	 *  not, and looks whether the others are alive. When the communicator has died, here
	 *  (UINT_MAX times, then), it lets the others know, and leaves no message's memory in use.
	 *  Without locks. */
	void (*rest)(struct world *w, unsigned idle);
};

/* Of ranks on GPUs, whose calls name streams, and are over when what they do is there. */
struct gpus_engine {
	/** A message of two ranks of this process, by the one that sends: puts it into the streams
	 *  of both, p2p_over() for both. Under p2p.lock, without world.lock. */
	void (*deliver)(struct world *w, struct transfer *from);
	/** Where ranks are processes: puts all messages of a list (by transfer.behind), of
	 *  communicators of one sort of engine, into their streams, as one group; or none. Without
	 *  locks. */
	ccs_status (*exchange)(struct transfer *list);
	/** All ranks of this process have come to a barrier, with a stream each: what is put there
	 *  behind it comes after what is in those of all ranks. */
	ccs_status (*barrier)(struct world *w, void *const *streams);
	/** Without the lock. The GPU of a rank of this process. */
	int (*device)(const struct world *w, int rank);
	/** NCCL's communicator of the processes, or NULL. */
	void *(*nccl)(const struct world *w);
	/** Tells of ranks of this process that have waited in kernels for longer than the timeout
	 *  since it was last asked. */
	void (*waits)(struct world *w, struct text *t);
};

struct engine {
	const char *name; /* as ccs_comm_engine tells it */
	bool idles;	  /* a call that waits asks world.idle */
	bool tiles;	  /* a call may name a tile */
	bool traces;	  /* its calls can be traced (trace.h) */
	bool protocols;	  /* a call may name a protocol, and a number of channels */
	bool host_code;	  /* elements are combined by code of this process: a call may have an
			     operator of the user's own */
	bool lone;	  /* it is called by one thread at a time: requests have no threads */

	struct quick_engine quick;	      /* here, as small calls look for it: one load less */
	const struct watched_engine *watched; /* NULL: nothing moves but calls */
	const struct processes_engine *processes; /* NULL: all ranks are in this one */
	const struct progress_engine *progress;	  /* NULL: runs go on without the callers; messages
						     are of this process, or streams carry them */
	const struct gpus_engine *gpus;		  /* NULL: ranks are on the CPU; calls name no
						     streams, and are over when they return */

	/** The run has become the current one (rank is RUN_BEGINS), and the ranks with a seat in it
	 *  have called; or one more has, of this process. A failure is the run's, with this thread's
	 *  text. */
	ccs_status (*start)(struct world *w, struct run *r, int rank);
	/** The current run has failed: nothing more of it may begin. True: nothing of it is
	 *  under way any more, so that the callers may have their buffers back; when that
	 *  becomes true later, the engine calls run_retire. May be called again. NULL: always
	 *  true. */
	bool (*halt)(struct world *w);
	/** Without the lock. Takes part, or waits, until the calls of a list (struct call.next)
	 *  that are of this world are over; *first is the first failure, and stays what it was
	 *  if it was one. run_wait() if there is nothing to take part in. */
	void (*wait)(struct world *w, struct call *calls, ccs_status *first);
	/** Whether something has failed behind the calls' backs: CCS_OK, or the communicator is
	 *  dead now (world_die), and the text says why. NULL: nothing can. */
	ccs_status (*check)(struct world *w);
	/** Makes the engine of another communicator, `child`, of some of this one's ranks (split.c),
	 *  which shares nothing with it. All ranks of this one call it, together; child is NULL in a
	 *  process whose rank is in none. What there is of it at a failure is freed with child. */
	ccs_status (*branch)(struct world *w, struct world *child, const struct branch *b);
	/** Where the ranks live, for people: "4 ranks on the CPU, run by ...". */
	void (*describe)(const struct world *w, char *text, size_t size);
	/** Without the lock: nobody else has a handle any more. Stops and frees all that is in
	 *  world.state, which may be NULL. In a forked process (origin_here() is false) it
	 *  frees memory alone: it waits for nobody, and touches nothing of the parent's. */
	void (*free)(struct world *w);
};

#endif
