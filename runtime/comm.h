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
 * (request.c, group.c, p2p.c), all of them wait for ranks (p2p_wait.c, rendezvous.c), a wait that is
 * too long reports what each of them waits for (watch.c), and a failure of any ends all that is
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

/* Data that an engine keeps of a run, to repeat an equal run (post.c, cpu/shm/procs.c). */
struct kept {
	void *of;
	uint64_t id; /* 0: nothing */
	size_t mail; /* room for a rank's input, if inputs may be left for the other ranks
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
	size_t esize; /* bytes of an element: of the type, or of the user's own */
	ccs_dtype type;
	ccs_redop op;
	bool read;     /* every rank reads held messages in place: the engine has chosen so, for all
		      ranks */
	bool streamed; /* ... or stores long messages past the caches */
	bool reduces, premul;		/* an operator matters; ... and it is premul-sum */
	enum user_order order;		/* the library's or a user's operator, and the order of its
					   operands */
	const struct rank_order *turns; /* USER_IN_ORDER: the plan's; else NULL */
	int root;			/* -1: none */
	struct checked *like;		/* the rank's record of calls like this one */
	struct sizes *sizes;		/* of `sized` chunks; or NULL. A run's has all ranks' */
	struct ccs_run_options how;	/* its scalar is copied, and its sizes: */
	_Alignas(8) unsigned char scalar[8];
	bool done;    /* under world.lock, as are status and waits */
	bool waits;   /* a thread is inside the engine's wait for it, if the engine notes that, or
			 will be: it is a request's */
	void *stream; /* a GPU's */
	/** The call may return: no other thread refers to it any more. Without the lock. */
	_Atomic bool over;
	ccs_status status;
	struct run *run;   /* once joined */
	struct call *next; /* in the thread's group */
};

/* A rank's place in a run. */
struct seat {
	struct call *call; /* NULL before it has called and after its call returned */
	bool called, done;
};

struct run {
	uint64_t seq;
	struct call params;    /* a copy of the first call: all must agree with it */
	int arrived, finished; /* of this process's ranks */
	int refs;	       /* calls that have not returned, and the list */
	bool started;
	_Atomic bool failed;
	ccs_status status;
	char *text; /* of the failure, or NULL */
	struct run *next;
	struct seat seats[]; /* [nranks] */
};

static inline bool call_is_over(const struct call *c)
{
	return atomic_load_explicit(&c->over, memory_order_acquire);
}

/* Of a run's params, which have the sizes of all ranks. */
static inline struct cells_call call_cells(const struct call *c)
{
	return (struct cells_call){ c->module, c->view, c->count, c->how.rows, c->sizes };
}

struct opened { /* a module of ccs_call */
	const void *bytes;
	struct ccs_module *module;
	struct opened *next;
};

struct memory { /* of ccs_mem_alloc */
	void *at;
	size_t bytes;
	struct memory *next;
};

struct world {
	struct origin origin;	     /* a forked process can only free it */
	const struct engine *engine; /* NULL until the maker of the world has chosen */
	void *state;		     /* the engine's own */
	pthread_mutex_t lock;
	pthread_cond_t calls; /* threads inside a call sleep here */
	unsigned idle_calls;  /* their number */
	int nranks;	      /* in all */
	int first, nlocal;    /* those of this process */
	int handles;
	unsigned threads;	    /* as set; 0: one a core */
	unsigned timeout;	    /* ms; 0: never */
	bool kernels_end;	    /* ... was set: it ends kernels, too */
	unsigned (*idle)(void *of); /* ccs_comm_set_idle's; or NULL */
	void *idle_of;
	void (*late)(void *of, const char *report); /* ccs_comm_set_late's; or NULL */
	void *late_of;
	struct run *runs, *runs_last; /* the first is the current one */
	struct run *spare;	      /* one that is over, for the next; or NULL */
	struct posts *posts;	      /* post.c's; NULL: there are none */
	_Atomic uint64_t arrivals;    /* calls joined and finished: progress */
	struct ccs_trace *trace;      /* of the calls to come, which are runs then; NULL: none */
	bool dead;
	ccs_status died; /* of that; CCS_OK: it is not known */
	char *dead_text;
	struct ccs_run_shape shape; /* of the newest run, on GPUs */
	struct p2p *p2p;	    /* messages and requests; NULL: there were none yet */
	struct opened *opened;
	struct memory *memory;
	struct rendezvous *rendezvous; /* that are not over, or not left yet */
	const char *gathers;	       /* the call that processes gather for */
	bool meets; /* ... which is a rendezvous: all processes come to it soon */
};

/* A call with a plan, as it was checked, for the next one like it; it holds its module. */
struct checked {
	struct ccs_module *module; /* NULL: there is none */
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

#define CHECKED 8u

/* A rank's thread writes it at each call. Handles of other ranks may adjoin it in memory. */
struct ccs_comm {
	_Alignas(LINES_APART) struct world *world;
	int rank;
	uint64_t seq;	  /* calls so far */
	unsigned pending; /* calls and messages of requests that are not over; under p2p.lock */
	struct checked checked[CHECKED];
	unsigned newest;     /* of these */
	struct call grouped; /* the first in the thread's open group */
	bool has_grouped;
	uint64_t meetings; /* rendezvous so far */
};

/* A handle shares its cache lines with no other data, and a call reads few of them. */
_Static_assert(sizeof(struct ccs_comm) % LINES_APART == 0, "a handle's lines are its own");
_Static_assert(offsetof(struct ccs_comm, checked) <= CACHE_LINE, "a call's number, in the first");

/* ---- comm.c ------------------------------------------------------------------------- */

/** Handles of all ranks, in comm[0..nranks-1], of a world that has no engine yet. */
ccs_status comm_new(struct ccs_comm **comm, int nranks);
/** The handle of one rank. The world's other ranks are in other processes. */
ccs_status comm_new_rank(struct ccs_comm **comm, int nranks, int rank);
/** Frees the handles of comm_new, and their world. */
void comm_drop(struct ccs_comm **comm, int nranks);
/** CCS_EABORTED in a process that was forked from the one that made it: threads are
 *  missing there, and locks may never be given back. O(1), without a call. */
ccs_status world_here(const struct world *w);
/** CCS_EABORTED, with the reason, if it is dead. Under world.lock. */
ccs_status world_alive(const struct world *w);
/** The communicator dies of that. Under world.lock. */
void world_die(struct world *w, const char *text);
/** Allocates `bytes` bytes, at least one; where ranks are processes, in memory that the other
 *  processes can read in place, if the engine has such; world_release frees it. Under world.lock. */
ccs_status world_alloc(struct world *w, size_t bytes, void **out);
void world_release(struct world *w, void *at, size_t bytes);
/* ---- gather.c: of a world of several processes, under world.lock ------------------------- */

/** Each process gives `bytes` bytes, for the call of that name, and gets the bytes of all in the
 *  order of ranks. CCS_EINVAL, in all of them: calls, or numbers of bytes, differ; the
 *  communicator goes on. */
ccs_status world_gather(struct world *w, const char *call, const void *mine, void *all,
			size_t bytes);
/** How a step went on all processes, by gathering: `here`, with its text, if it failed in this
 *  one; else the failure of the first other process that failed. Under world.lock. */
ccs_status world_agree(struct world *w, ccs_status here);
/** Writes that this process has waited for the rank's process until the timeout. */
void world_tell_late(const struct world *w, int rank, struct text *t);
/** A condition that can be waited for until a time of CLOCK_MONOTONIC. */
bool world_cond_init(pthread_cond_t *c);

/* Out of the way of a call that is like one before. */
#define RARE __attribute__((noinline))

/* ---- call_check.c ------------------------------------------------------------------- */

/** Checks a call. Its module, comm, send, recv, count, type, op, premul and how are the caller's;
 *  the rest is filled in. O(1), if the rank remembers one like it. */
ccs_status call_check(struct call *c, int root, void *stream);
/** Whether a call with these options (or NULL) has the options of k, and none that would have to
 *  be checked. */
bool checked_suits(const struct checked *k, const struct ccs_run_options *how);

/* Whether a call's input must be copied aside, as it overlaps the output, and the contract does
 * not have both in one (`inout`). If that is in place, an engine that stores nothing before it does
 * an operation need not copy more than in_place.h says. Whether the call lacks an output buffer
 * that its operations touch. */
struct placing {
	bool copy_aside, in_place, lacks;
};
struct placing call_placing(const struct call *c, const struct prep_rank *p);

/** The rank's record of calls like this one, which was checked; NULL: none. */
struct checked *call_checked(const struct call *c);

/* ---- call.c ------------------------------------------------------------------------- */

/** Processes exchange the sizes of a checked call's chunks, if it has any. All call it. */
ccs_status call_tell_sizes(struct call *c);

/** A checked call joins its run. */
void call_join(struct call *c);

/* ---- run.c: joining, which call.c does, and what an engine calls back (engine.h). All under
 * world.lock, but for what says otherwise. */

/** The rank's next call joins its run. Starts what can start. */
void run_join(struct world *w, struct call *c);
/** A rank's part of the current run is done. */
void run_rank_done(struct world *w, uint32_t rank);
/** The parts of all ranks of this process are done. */
void run_all_done(struct world *w);
/** Fails a run: all its calls, those to come too. */
void run_fail(struct world *w, struct run *r, ccs_status s, const char *text);
/** The communicator dies of that, and with it all its runs. */
void run_fail_all(struct world *w, ccs_status s, const char *text);
/** The communicator has died: adds `more` to the text of the reason, also in its current run. */
void run_fail_more(struct world *w, const char *more);
/** Whether nothing of the current run, which has failed, is under way any more. */
bool run_halt(struct world *w);
/** Drops runs that are over, and starts the next. */
void run_retire(struct world *w);
/** Wakes the threads inside a call, to look whether their calls are over. */
void run_wake(struct world *w);
/** Whether the call may return. If so, *s is its status, and the reason is this
 *  thread's text if *s was CCS_OK before. */
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
void run_name(const struct call *c, struct call_name *name);
bool run_same(const struct call_name *x, const struct call_name *y);
/** CCS_EINVAL: "rank 1 calls ring_allreduce with count 3 of ...", and the other. */
ccs_status run_differ(const struct call_name *x, const struct call_name *y);

/* ---- post.c: without the lock, but for what says otherwise ------------------------------- */

#define MOST_POSTED 31	 /* ranks; if there are more, nothing is posted */
#define MAIL_BYTES 8192u /* of all ranks' inputs */
#define MAIL_LINE 32u	 /* of a thread's, in the line that says that it has posted */

/** Room for the input of one of `n` ranks, if all may be left; else 0. An input longer than
 *  MAIL_LINE begins a cache line, so that no vector of it is in two lines. */
static inline size_t post_mail(size_t bytes, size_t n)
{
	size_t unit = bytes > MAIL_LINE ? CACHE_LINE : 8, room = (bytes + unit - 1) / unit * unit;

	return bytes < MAIL_BYTES && room * n <= MAIL_BYTES ? room : 0;
}

/* Where a rank's buffers are, or a copy of its input. */
struct post {
	const unsigned char *send;
	unsigned char *recv;
};

/* A thread's view of the threads that have met for a run. */
struct meeting {
	uint64_t call;		  /* its number */
	uint64_t ranks;		  /* the thread's: a bit each */
	unsigned threads, thread; /* their number, and which it is */
	const struct post *posts; /* by rank; if its input was left: without the output, except for
				     the thread's own ranks */
	bool left;		  /* all inputs were */
};

/** After the first run, calls that equal the calls before are posted. Called when a world is made
 *  with all ranks in this process. False: no memory. */
bool post_enable(struct world *w);
/** At most `threads` threads wait awake. Under world.lock, in the first run. */
void post_limit(struct world *w, unsigned threads);
/** Keeps data of the call's run for the rank's next calls. Under world.lock, before it is over. */
void post_keep(struct call *c, struct kept kept);
/* Does a thread's part of a run that equals the kept one, after all threads have met: if any inputs
 * were left, it computes the outputs of the thread's ranks. False, in all threads: it cannot be
 * done. */
typedef bool post_play(struct world *w, struct kept kept, const struct meeting *m);
/** Does a thread's calls together with the calls of other threads, if all can be posted. False:
 *  nothing was done, and the calls are to join their runs. */
bool post_calls(struct call *calls, post_play *play);
/** None is posted from the rank's call of that number on, which joins a run. Under world.lock. */
void post_close(struct world *w, uint64_t call);
/** Called when no run is left: calls are posted again, unless they are traced. Under world.lock. */
void post_open(struct world *w);

/* ---- watch.c: waiting, but not for ever ----------------------------------------------- */

/* State of a sleeping caller, by which it sees whether anything still moves. */
struct vigil {
	uint64_t arrivals, mark;
	uint64_t since; /* ns of clock.h */
	uint64_t until; /* ... for other processes' answers; 0: they were not asked */
	bool set, told; /* told: lateness was reported */
};

/** The timeout is over: gives the program the text, if it has asked for it (ccs_comm_set_late).
 *  False: it has not, and the caller is to fail. */
bool run_is_late(const struct world *w, const char *text);
/** What the ranks of this process wait for, as far as it sees, and other processes' ranks. Adds
 *  nothing if it sees no wait. */
void run_waits(const struct world *w, struct text *t);
/** The timeout is over: gives the program a report of the ranks' waits, if it has asked for it;
 *  else the communicator dies. False: the other processes have been asked what they wait for, and
 *  the report waits for their answers; to be called again, with the same *until, which is 0 at
 *  first. */
bool run_time_out(struct world *w, uint64_t *until);
/** Notes progress; after the timeout without any the communicator dies, as below. */
void run_watch(struct world *w, struct vigil *v);
/** Sleeps until something happens, or an eighth of the timeout has passed. If nothing has moved
 *  for the timeout, the communicator dies, and every call in it fails with a report of the ranks'
 *  waits. */
void run_nap(struct world *w, struct vigil *v);
/** A thread's group may have calls on several communicators, which other processes make in
 *  another order: goes on with those, too. Whether there are any. Without the locks. */
bool run_poll_others(const struct world *w, const struct call *calls);
/** The `wait` of an engine that runs without the callers. Without the lock. */
void run_wait(struct world *w, struct call *calls, ccs_status *first);

#endif
