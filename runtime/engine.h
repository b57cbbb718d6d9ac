/*
 * What a communicator asks of whatever runs its plans: the engine.
 *
 * A communicator (comm.h) gathers its ranks' calls into runs, one after another (run.c). An
 * engine moves the data of the current run: fibers on this machine's cores (cpu/), kernels
 * on GPUs (cuda/), rounds of messages between hosts (hosts/). It keeps what it needs in
 * world.state. Whoever makes a communicator chooses its engine; nothing else knows one by
 * name.
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

struct engine {
	const char *name; /* as ccs_comm_engine tells it */
	bool streams;	  /* a call may name a stream */
	bool idles;	  /* a call that waits asks world.idle */
	bool tiles;	  /* a call may name a tile */
	bool protocols;	  /* a call may name a protocol, and a number of channels */
	bool layouts;	  /* buffers may be `by column`, or `sized` */

	/** The run has become the current one, and the ranks with a seat in it have called.
	 *  A failure is the run's, with this thread's text. */
	ccs_status (*start)(struct world *w, struct run *r);
	/** One more rank of this process has called, as above. NULL: it has one rank. */
	ccs_status (*join)(struct world *w, struct run *r, int rank);
	/** The current run has failed: nothing more of it may begin. True: nothing of it is
	 *  under way any more, so that the callers may have their buffers back; when that
	 *  becomes true later, the engine calls run_retire. May be called again. NULL: always
	 *  true. */
	bool (*halt)(struct world *w);

	/** Without the lock. Takes part, or waits, until the calls of a list (struct call.next)
	 *  that are of this world are over; *first is the first failure, and stays what it was
	 *  if it was one. run_wait() if there is nothing to take part in. */
	void (*wait)(struct world *w, struct call *calls, ccs_status *first);
	/** Without the lock. Goes on with the current run, and does not wait: for a thread that
	 *  waits for another communicator's. NULL: runs go on without it. */
	void (*poll)(struct world *w);
	/** Whether anything of the current run has moved since *mark, or is about to; marks
	 *  anew. NULL: nothing moves but calls. */
	bool (*moved)(const struct world *w, uint64_t *mark);
	/** Tells what the rank, which has called, waits for: "rank 1 waits at ...". False: for
	 *  no other rank. NULL: always false. */
	bool (*stuck)(const struct world *w, int rank, struct text *t);

	/** Whether something has failed behind the calls' backs: CCS_OK, or the communicator is
	 *  dead now (world_die), and the text says why. NULL: nothing can. */
	ccs_status (*check)(struct world *w);
	/** The communicator has several processes, and all call it: each gives so many bytes,
	 *  and gets those of all, in the order of ranks. NULL: there is never but one. */
	ccs_status (*gather)(struct world *w, const void *mine, void *all, size_t bytes);
	/** Memory for buffers that suits it, and back. NULL: any does. */
	ccs_status (*alloc)(struct world *w, size_t bytes, void **out);
	void (*release)(struct world *w, void *at, size_t bytes);
	/** Without the lock. The GPU of a rank of this process. NULL: ranks are on the CPU. */
	int (*device)(const struct world *w, int rank);
	/** NCCL's communicator of the processes, or NULL, as the function may be. */
	void *(*nccl)(const struct world *w);
	/** Where the ranks live, for people: "4 ranks on the CPU, run by ...". */
	void (*describe)(const struct world *w, char *text, size_t size);
	/** Without the lock: nobody else has a handle any more. Stops and frees all that is in
	 *  world.state, which may be NULL. In a forked process (origin_here() is false) it
	 *  frees memory alone: it waits for nobody, and touches nothing of the parent's. */
	void (*free)(struct world *w);
};

#endif
