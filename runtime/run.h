/*
 * Runs: joining them, which call.c does, and what an engine calls back (engine.h). All under
 * world.lock, but for what says otherwise.
 */
#ifndef CCS_RUNTIME_RUN_H
#define CCS_RUNTIME_RUN_H

#include "runtime/comm.h"

/** The rank's next call joins its run. Starts what can start. */
void run_join(struct world *w, struct call *c);
/** A rank's part of the current run is done. */
void run_rank_done(struct world *w, uint32_t rank);
/** So are all ranks' of this process. */
void run_all_done(struct world *w);
/** Fails a run: all its calls, those to come too. */
void run_fail(struct world *w, struct run *r, ccs_status s, const char *text);
/** Drops runs that are over, and starts the next. */
void run_retire(struct world *w);
/** Wakes the threads inside a call, to look whether theirs are over. */
void run_wake(struct world *w);
/** Whether the call may return. If so, *s is its status, and the reason is this
 *  thread's text if *s was CCS_OK before. */
bool run_call_over(struct world *w, struct call *c, ccs_status *s);
void run_unref(struct run *r);
/** Frees it, whoever holds it. */
void run_drop(struct run *r);

/* What must be the same in all ranks' calls; and how it is called in messages. */
struct call_name {
	uint64_t size, checksum; /* of the module */
	uint64_t count;
	uint32_t type, op, reduces, premul;
	int32_t root;
	char text[236]; /* "rank 1 calls ring_allreduce with count 3 of ..." */
};
void run_name(const struct call *c, int rank, struct call_name *name);
bool run_same(const struct call_name *x, const struct call_name *y);
/** CCS_EINVAL, with both. */
ccs_status run_differ(const struct call_name *x, const struct call_name *y);

/* ---- watch.c: waiting, but not for ever ----------------------------------------------- */

/* What a sleeping caller remembers to see whether anything still moves. */
struct vigil {
	uint64_t arrivals, mark;
	uint64_t since; /* ns of clock.h */
	bool set;
};

/** Sleeps until something happens, or an eighth of the timeout has passed. If nothing has
 *  moved for the timeout, the communicator dies, and every call in it fails with a report
 *  of who waits for whom. */
void run_nap(struct world *w, struct vigil *v);
/** The `wait` of an engine whose runs go on without the callers. Without the lock. */
void run_wait(struct world *w, struct call *calls, ccs_status *first);

#endif
