/*
 * A communicator's shared part, the `world`: its ranks, their calls and runs, and the engine
 * that runs them (engine.h). Private to the runtime.
 *
 * A run is one collective call of all ranks: the k-th call of each rank joins run k. Runs are
 * done one after another; within one, an engine may start a rank as soon as it calls.
 *
 * Everything that is not atomic is under world.lock, or belongs to the engine.
 *
 * A circle of files: a call joins a run (call.c, run.c), a run ends requests, groups and messages
 * (request.c, group.c, p2p.c), all of them wait for ranks (p2p_wait.c, rendezvous.c), a wait that
 * is too long reports what each of them waits for (watch.c), and a failure of any ends all that is
 * under way (comm.c, post.c).
 */
#ifndef CCS_RUNTIME_COMM_H
#define CCS_RUNTIME_COMM_H

#include "runtime/base/error.h"
#include "runtime/base/load/origin.h"
#include "runtime/base/spin.h"
#include "runtime/engine.h"
#include "runtime/plan/cells.h"
#include "runtime/plan/prep.h"
#include "runtime/plan/rank_order.h"
#include "runtime/user_op.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* An engine's data on a finished run, by which it repeats an equal one (post.c,
 * cpu/shm/procs.c). */
struct kept {
	void *of;    /* the engine's pointer */
	uint64_t id; /* 0: none */
	size_t mail; /* room for a rank's input, if inputs may be left for other ranks
		        (post_mail); or 0 */
};

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
	size_t esize; /* bytes of an element, of the type or as the user-defined operator says */
	ccs_dtype type;
	ccs_redop op;
	bool read;	       /* the engine has chosen: every rank reads held messages in place */
	bool streamed;	       /* ... or stores long messages past the caches */
	bool reduces, premul;  /* an operator is used; it is premul-sum */
	enum user_order order; /* library's or user-defined operator, and the order of
					   its operands */
	const struct rank_order *turns; /* USER_IN_ORDER: the plan's; else NULL */
	int root;			/* -1: none */
	struct checked *like;		/* the rank's record of calls like this one */
	struct sizes *sizes;		/* of `sized` chunks, or NULL; in a run, of all ranks */
	struct ccs_run_options how;	/* its scalar and sizes are copied: */
	_Alignas(8) unsigned char scalar[8];
	bool done;    /* under world.lock, as are status and waits */
	bool waits;   /* a thread waits for it inside the engine, if the engine records that; or
		         will, as it is a request's */
	void *stream; /* a GPU's */
	/** The call may return: no other thread uses it. Read without the lock. */
	_Atomic bool over;
	ccs_status status;
	struct run *run;	   /* once joined */
	struct call *next;	   /* in the thread's group */
	struct ccs_call *prepared; /* the handle that it is a part of; or NULL */
};

/* A rank's place in a run. */
struct seat {
	struct call *call; /* NULL before it has called and after its call has returned */
	bool called, done;
};

struct run {
	uint64_t seq;
	struct call params;    /* a copy of the first call, with which all must agree. Its
				  communicator may be freed before the last rank comes */
	int first;	       /* the rank of that call */
	int arrived, finished; /* of this process's ranks */
	int refs;	       /* calls that have not returned, and the list */
	bool started;
	_Atomic bool failed;
	ccs_status status;
	char *text; /* of its failure, or NULL */
	struct run *next;
	struct seat seats[]; /* [nranks] */
};

static inline bool call_is_over(const struct call *c)
{
	return atomic_load_explicit(&c->over, memory_order_acquire);
}

/* The parameters for cells.h of a run's params, which have the sizes of all ranks. */
static inline struct cells_call call_cells(const struct call *c)
{
	return (struct cells_call){ c->module, c->view, c->count, c->how.rows, c->sizes };
}

struct opened { /* a module opened by ccs_call */
	const void *bytes;
	struct ccs_module *module;
	struct opened *next;
};

struct memory { /* from ccs_mem_alloc */
	void *at;
	size_t bytes;
	struct memory *next;
};

struct world {
	struct origin origin;	     /* a forked process can only free the world */
	const struct engine *engine; /* NULL until the maker of the world has chosen */
	void *state;		     /* private to the engine */
	pthread_mutex_t lock;
	pthread_cond_t calls; /* threads inside a call sleep here */
	unsigned idle_calls;  /* their number */
	int nranks;	      /* in all */
	int first, nlocal;    /* ranks of this process */
	int handles;
	unsigned threads;	    /* as set; 0: one for each core */
	unsigned timeout;	    /* ms; 0: never */
	bool kernels_end;	    /* ... it was set, so it also ends kernels */
	unsigned (*idle)(void *of); /* ccs_comm_set_idle's; or NULL */
	void *idle_of;
	void (*late)(void *of, const char *report); /* ccs_comm_set_late's; or NULL */
	void *late_of;
	struct run *runs, *runs_last; /* the first is the current one */
	struct run *spare;	      /* a run that is over, for reuse; or NULL */
	struct posts *posts;	      /* private to post.c; NULL: no posting */
	_Atomic uint64_t arrivals;    /* calls joined, and finished: progress */
	struct ccs_trace *trace;      /* the trace of later calls, which then are runs; NULL:
				         none */
	bool dead;
	ccs_status died; /* the status of its death; CCS_OK: unknown */
	char *dead_text;
	struct ccs_run_shape shape; /* of the newest run, on GPUs */
	struct p2p *p2p;	    /* messages and requests; NULL: none yet */
	struct opened *opened;
	struct memory *memory;
	struct rendezvous *rendezvous; /* that are not over, or that some rank is still inside */
	const char *gathers;	       /* the call for which processes gather */
	bool meets;		       /* ... a rendezvous, to which all processes come soon */
};

/* A checked call with its plan, to check similar calls faster. It holds a reference to its
 * module. */
struct checked {
	struct ccs_module *module; /* NULL: unused */
	size_t count, rows, tile, esize;
	ccs_dtype type;
	ccs_redop op;
	bool premul;
	int root;
	struct plan_view *view;
	const struct prep *prep;
	const struct rank_order *turns;
	enum user_order order;
	size_t send_bytes, recv_bytes;
	struct kept kept;
};

#define CHECKED 8u /* the most that a handle remembers */

/* A prepared call. Its `checked` is not in the handle, so no other call replaces it. It shares no
 * cache line, as calls that other threads start may be adjacent in memory. */
struct ccs_call {
	_Alignas(LINES_APART) struct call call;
	struct checked checked;
	const void *send; /* as prepared */
	void *recv;
	bool begun;   /* a group or a request has it */
	bool dropped; /* to be freed when that is over */
};

/* Written by the rank's thread at each call. Handles of other ranks may be adjacent in memory. */
struct ccs_comm {
	_Alignas(LINES_APART) struct world *world;
	int rank;
	uint64_t seq;	  /* number of calls */
	unsigned pending; /* calls and messages of requests that are not over; under p2p.lock */
	struct checked checked[CHECKED];
	unsigned newest;     /* index of the latest in `checked` */
	struct call grouped; /* the first call of the thread's open group */
	bool has_grouped;
	uint64_t meetings; /* number of rendezvous */
};

/* A handle shares its cache lines with no other data, and a call reads few of them. */
_Static_assert(sizeof(struct ccs_comm) % LINES_APART == 0, "a handle's lines are its own");
_Static_assert(offsetof(struct ccs_comm, checked) <= CACHE_LINE, "a call's number, in the first");

/* ---- comm.c ------------------------------------------------------------------------- */

/** Handles of all ranks, in comm[0..nranks-1], of a world without an engine. */
ccs_status comm_new(struct ccs_comm **comm, int nranks);
/** The handle of one rank. The world's other ranks are in other processes. */
ccs_status comm_new_rank(struct ccs_comm **comm, int nranks, int rank);
/** Frees the handles of comm_new, and their world. */
void comm_drop(struct ccs_comm **comm, int nranks);
/** CCS_EABORTED in a forked process, which lacks the threads, and in which locks may stay
 *  locked. O(1), without a system call. */
ccs_status world_here(const struct world *w);
/** Why the world is dead. */
static inline const char *world_why(const struct world *w)
{
	return w->dead_text ? w->dead_text : "no memory for the text";
}
/** CCS_EABORTED with the reason, if the world is dead. Under world.lock. */
ccs_status world_alive(const struct world *w);
/** The communicator dies for that reason. Under world.lock. */
void world_die(struct world *w, const char *text);
/** Allocates `bytes` bytes, at least one. If ranks are processes, other processes can read the
 *  memory in place, if the engine supports that. world_release frees it. Under world.lock. */
ccs_status world_alloc(struct world *w, size_t bytes, void **out);
void world_release(struct world *w, void *at, size_t bytes);
/* ---- gather.c: of a world of several processes, under world.lock ------------------------- */

/** Each process gives `bytes` bytes for the call of that name, and gets the bytes of all in
 *  rank order. CCS_EINVAL on all: calls, or numbers of bytes, differ; the communicator stays
 *  usable. */
ccs_status world_gather(struct world *w, const char *call, const void *mine, void *all,
			size_t bytes);
/** Agrees on the status of a step: `here`, with its text, if it failed in this process; else
 *  the failure of the first other process that failed. Under world.lock. */
ccs_status world_agree(struct world *w, ccs_status here);
/** Appends that this process has waited for the rank's process until the timeout. */
void world_tell_late(const struct world *w, int rank, struct text *t);
/** Makes a condition variable with timeouts by CLOCK_MONOTONIC. */
bool world_cond_init(pthread_cond_t *c);

/* Kept out of line, so that repeated calls stay short. */
#define RARE __attribute__((noinline))

/* ---- call_check.c ------------------------------------------------------------------- */

/** Checks a call. The caller has set module, comm, send, recv, count, type, op, premul and how;
 *  the rest is set here. O(1), if the rank remembers a similar call. */
ccs_status call_check(struct call *c, int root, void *stream);
/** Checks the buffers of a call that is checked otherwise. O(1). */
ccs_status call_check_buffers(const struct call *c);
/** Whether a call with these options (or NULL) has the options of k, and none that must be
 *  checked. */
bool checked_suits(const struct checked *k, const struct ccs_run_options *how);

/* Whether a call's input must be copied aside: it overlaps the output, and they are not one
 * buffer in the contract (`inout`). If the overlap is in place, an engine that stores nothing
 * before it does an operation may copy less (in_place.h). Also whether the call lacks an
 * output buffer that its operations use. */
struct placing {
	bool copy_aside, in_place, lacks;
};
struct placing call_placing(const struct call *c, const struct prep_rank *p);

/** The rank's record of calls like this checked one; NULL: none. */
struct checked *call_checked(const struct call *c);

/* ---- call.c ------------------------------------------------------------------------- */

/** Exchanges the sizes of a checked call's chunks among processes, if it has any. Collective. */
ccs_status call_tell_sizes(struct call *c);

/** A checked call joins its run. */
void call_join(struct call *c);

/** A group or a request has finished with a prepared call. */
void call_rest(struct ccs_call *call);

/* ---- run.c: joining, and functions that an engine calls back (engine.h). Under world.lock
 * unless stated otherwise. */

/** The rank's next call joins its run. Starts what can start. */
void run_join(struct world *w, struct call *c);
/** A rank's part of the current run is done. */
void run_rank_done(struct world *w, uint32_t rank);
/** The parts of all ranks of this process are done. Does not retire the run. */
void run_all_done(struct world *w);
/** Fails a run: all its calls, including later ones. */
void run_fail(struct world *w, struct run *r, ccs_status s, const char *text);
/** The communicator dies for that reason, with all its runs. */
void run_fail_all(struct world *w, ccs_status s, const char *text);
/** The communicator has died: adds `more` to the reason, also in its current run. */
void run_fail_more(struct world *w, const char *more);
/** Whether no work of the current run, which has failed, is still under way. */
bool run_halt(struct world *w);
/** Drops runs that are over, and starts the next. */
void run_retire(struct world *w);
/** Wakes the threads inside a call, to check whether their calls are over. */
void run_wake(struct world *w);
/** Whether the call may return. If so, *s is its status, and the reason is this thread's text
 *  if *s was CCS_OK before. */
bool run_call_over(struct world *w, struct call *c, ccs_status *s);
void run_unref(struct world *w, struct run *r);
/** Frees the run, whatever its count of references. */
void run_drop(struct run *r);

/* The name of a call: the parts that must be equal in all ranks' calls, and parts for messages
 * only. Plain data: processes exchange it. */
struct call_name {
	uint64_t size, checksum; /* of the module */
	uint64_t count, rows, tile;
	uint32_t type, op, reduces, premul, protocol, channels;
	uint32_t order, esize; /* enum user_order; bytes of an element */
	int32_t root, rank;
	char schedule[104]; /* cut */
};
void run_name(const struct call *c, int rank, struct call_name *name);
bool run_same(const struct call_name *x, const struct call_name *y);
/** CCS_EINVAL with a text on both calls: "rank 1 calls ring_allreduce with count 3 of ...". */
ccs_status run_differ(const struct call_name *x, const struct call_name *y);
/** CCS_OK if all `n` calls agree; else as run_differ, of the first two that differ. */
ccs_status run_same_all(const struct call_name *all, int n);

/* ---- post.c: without the lock, unless stated otherwise -------------------------------------- */

#define MOST_POSTED 31	 /* ranks; with more, nothing is posted */
#define MAIL_BYTES 8192u /* of all ranks' inputs */
#define MAIL_LINE 32u	 /* of a thread's inputs, in the cache line by which it posts */

/** Room for the input of one of `n` ranks, if all may be left; else 0. An input longer than
 *  MAIL_LINE begins a cache line, so that no vector of it is in two lines. */
static inline size_t post_mail(size_t bytes, size_t n)
{
	size_t unit = bytes > MAIL_LINE ? CACHE_LINE : 8, room = (bytes + unit - 1) / unit * unit;

	return bytes < MAIL_BYTES && room * n <= MAIL_BYTES ? room : 0;
}

/* The addresses of a rank's buffers; or a copy of its input. */
struct post {
	const unsigned char *send;
	unsigned char *recv;
};

/* A thread's view of the threads that meet for a run. */
struct meeting {
	uint64_t call;		  /* number of the call */
	uint64_t ranks;		  /* the thread's ranks, one bit each */
	unsigned threads, thread; /* number of threads; index of this one */
	const struct post *posts; /* by rank; after inputs were left, only the thread's own ranks
				     have outputs */
	bool left;		  /* all inputs were left */
};

/** After the first run, calls that equal the calls before are posted. Called when a world is made
 *  with all ranks in this process. False: no memory. */
bool post_enable(struct world *w);
/** At most `threads` threads wait awake. Under world.lock, in the first run. */
void post_limit(struct world *w, unsigned threads);
/** Keeps data of the call's run for the rank's next calls. Under world.lock, before it is over. */
void post_keep(struct call *c, struct kept kept);
/* Does a thread's part of a run that equals the kept one, after all threads have met. If
 * inputs were left, it computes the outputs of the thread's ranks. False, in all threads: it
 * cannot be done. */
typedef bool post_play(struct world *w, struct kept kept, const struct meeting *m);
/** Does a thread's calls together with the calls of other threads, if all can be posted. False:
 *  nothing was done, and the calls must join their runs. */
bool post_calls(struct call *calls, post_play *play);
/** Nothing is posted from the rank's call of that number on, which joins a run. Under
 *  world.lock. */
void post_close(struct world *w, uint64_t call);
/** Called when no run is left: calls are posted again, unless they are traced. Under world.lock. */
void post_open(struct world *w);

/* ---- watch.c: waiting with a timeout ---------------------------------------------------- */

/* The state by which a waiting caller detects progress. */
struct vigil {
	uint64_t arrivals, mark;
	uint64_t since; /* ns of clock.h */
	uint64_t until; /* ... for other processes' answers; 0: not asked */
	bool set, told; /* told: the delay was reported */
};

/** After the timeout: gives the program the text, if it has asked for it (ccs_comm_set_late).
 *  False: it has not, and the caller must fail. */
bool run_is_late(const struct world *w, const char *text);
/** Appends what the ranks of this process wait for, as far as known, and the ranks of other
 *  processes. Nothing if no wait is known. */
void run_waits(const struct world *w, struct text *t);
/** After the timeout: gives the program a report of the ranks' waits, if it has asked for it;
 *  otherwise the communicator dies. False: other processes were asked for their waits, and the
 *  report waits for the answers; call again with the same *until, initially 0. */
bool run_time_out(struct world *w, uint64_t *until);
/** Records progress. After the timeout without any, the communicator dies, as below. */
void run_watch(struct world *w, struct vigil *v);
/** Sleeps until something happens, or an eighth of the timeout has passed. If nothing has moved
 *  for the timeout, the communicator dies, and every call in it fails with a report of the ranks'
 *  waits. */
void run_nap(struct world *w, struct vigil *v);
/** A thread's group may have calls on several communicators, which other processes make in
 *  another order: continues those, too. True: there are some. Without the locks. */
bool run_poll_others(const struct world *w, const struct call *calls);
/** The `wait` of an engine that runs without the callers. Without the lock. */
void run_wait(struct world *w, struct call *calls, ccs_status *first);

#endif
