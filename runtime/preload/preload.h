/*
 * libccs-mpi.so: runs an MPI program's collectives by modules that the user names. Private to
 * preload/.
 *
 * It is preloaded into the program, defines MPI's functions anew, and calls MPI by its profiling
 * interface (PMPI_...): setup.c begins and ends it, collectives.c has the collectives.
 *
 *   taken.c        the collectives that can be taken
 *   decide.c       whether a call is taken, and by which entry of CCS_MPI (entries.c). All ranks
 *                  of a communicator decide alike without asking one another, as all that counts
 *                  is what MPI wants to be equal on all of them: bytes, root, and for what is
 *                  reduced type and operator (mpi_types.c).
 *   comms.c        the communicator of ccs beside MPI's, made when the first call is taken.
 *   run_taken.c    the call itself: places, types that have holes, failures. A call like one of the
 *                  last few of its communicator is run as that one was, and nothing is asked of MPI.
 *   late.c         what a rank says that waits for long.
 *   other_forms.c  the collectives' other forms, as MPI_Iallreduce, which are counted and are MPI's;
 *   starts.c       ... of persistent ones each start.
 *   tally.c        what ran where, and why, for the report at the end.
 *   process.c      the pointer to all of it
 *
 * It knows an MPI and the public interface of ccs, and nothing else.
 */
#ifndef CCS_RUNTIME_PRELOAD_H
#define CCS_RUNTIME_PRELOAD_H

#include "runtime/ccs.h"
#include "runtime/preload/other_forms.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#if MPI_VERSION >= 4
#define COUNTED(name) name##_c
typedef MPI_Count mpi_count;
#else
#define COUNTED(name) name
typedef int mpi_count;
#endif

/* Open MPI 5 has persistent collectives, and says that it is MPI 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

#define WHY 400 /* bytes of the reason why MPI runs a call */

enum collective {
	ALLREDUCE,
	REDUCE_SCATTER_BLOCK,
	ALLGATHER,
	BROADCAST,
	REDUCE,
	ALLTOALL,
	GATHER,
	SCATTER,
	BARRIER,
	COLLECTIVES
};

/* A part of CCS_MPI; or a row of a tuning that it names. */
struct entry {
	enum collective what;
	int ranks;	    /* that a row is for; 0: it is no row, and for any number */
	size_t least, most; /* bytes of a block that it is for; a row: of the larger buffer */
	const struct ccs_module *module;
	struct ccs_run_options options;
	char label[300];	/* "ring_allreduce (ring.so)" */
	_Atomic uint64_t calls; /* that it ran, of communicators whose rank 0 this is */
};

struct entries {
	size_t n, room;
	struct entry *of;
	struct ccs_module **modules; /* [parts] those of parts, and ... */
	struct ccs_tuning **tunings; /* ... of rows */
	size_t nmodules, ntunings;
	uint64_t digest; /* of CCS_MPI and the files' bytes */
	bool named[COLLECTIVES];
};

/* Calls of a collective that went one way. */
struct tally {
	struct tally *next;
	enum collective what;
	uint64_t calls;
	char by[]; /* "ring_allreduce (ring.so)", "MPI: an intercommunicator" */
};

enum meeting { NOT_MET, MET, REFUSED, FAILED };

/* A call. Arguments that the collective has not are 0; where it has one count, send has it too. */
struct job {
	enum collective what;
	const void *send;
	void *recv;
	MPI_Count send_count, recv_count;
	MPI_Datatype send_type, recv_type;
	MPI_Op op;
	int root;
	MPI_Comm comm;
};

/* How ccs is to run it. */
struct order {
	struct entry *entry;
	size_t count; /* of the contract's block */
	ccs_dtype type;
	ccs_redop op;
};

/* A call that ccs ran with the program's buffers as they were, of types that MPI defines: these are
 * never freed, so that their handles mean the same for ever. */
struct known {
	struct job job; /* not its buffers, but whether it is in place */
	bool in_place;
	struct order order;   /* no entry: there is no call here */
	bool has_in, has_out; /* the sides that this rank has */
	bool in_recv;	      /* its input lies in the buffer that MPI calls recv, ... */
	ptrdiff_t in_at;      /* ... so many bytes from its start */
	uintptr_t aligned;    /* bits that are 0 in all its buffers' addresses */
};

#define KNOWN 8u   /* calls of a communicator */
#define RECENT 8u  /* communicators */
#define STARTS 64u /* chains of persistent requests */

/* What is known of a communicator of MPI's: an attribute of it. One that is over is used again for
 * another, and freed at the end alone, as a thread may look at it for a moment. */
struct held {
	struct held *next, **from; /* all of this process, under preload.lock */
	_Atomic(MPI_Comm) comm;	   /* MPI_COMM_NULL: it is over */
	int rank, size;
	bool inter;
	bool counts; /* its calls are counted here */
	enum meeting meeting;
	const struct entry *entry; /* that runs the current call */
	struct ccs_comm *ccs;	   /* if they have met */
	char why[WHY];		   /* if it was refused */
	MPI_Comm probed;	   /* no message ever comes there */
	unsigned rounds;	   /* that the current call has waited */
	char *fits;		   /* [entries] FIT_... */
	struct known known[KNOWN];
	unsigned newest; /* of known */
};

/* All of this process. */
struct preload {
	struct entries entries;
	int keyval;    /* of struct held */
	MPI_Comm self; /* copies of MPI_COMM_SELF and MPI_COMM_WORLD */
	MPI_Comm job;
	unsigned timeout; /* CCS_MPI_TIMEOUT, in ms; 0: none */
	pthread_mutex_t lock;
	_Atomic uint64_t unnamed[COLLECTIVES];	    /* calls of those that CCS_MPI does not name */
	_Atomic uint64_t forms[NFORMS][FORM_KINDS]; /* calls of other forms */
	struct held *held, *spare;
	_Atomic(struct held *) recent[RECENT]; /* the last one, by its handle's bits; or NULL */
	struct started *started[STARTS]; /* persistent collectives that count here, under lock */
	_Atomic size_t nstarted;	 /* ... how many there are */
	struct tally *tallies;
};

/* Of a handle, which is a number, or an address. */
static inline uint64_t handle_bits(uintptr_t handle)
{
	return (uint64_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* Where that is looked for first. */
static inline _Atomic(struct held *) *held_place(struct preload *p, MPI_Comm comm)
{
	return p->recent + handle_bits((uintptr_t)comm) % RECENT;
}

/* ---- process.c, collectives.c, setup.c -------------------------------------------------------------------- */

/** This process's; NULL: MPI is not initialised, or over. */
struct preload *preload_get(void);
/** Sets it. Returns what it was. */
struct preload *preload_set(struct preload *p);
/** Whether a module ran the call, with MPI's error *e then; else it is for MPI. */
bool preload_takes(const struct job *j, int *e);

/* ---- taken.c, entries.c ------------------------------------------------------------------------------ */

/** The one of that name, MPI's or a contract's. */
bool collective_find(const char *name, enum collective *what);
/** "allreduce": as CCS_MPI and the report name it. */
const char *collective_name(enum collective what);
bool collective_reduces(enum collective what);
bool collective_rooted(enum collective what);
/** Whether a rank has a block for each rank, on one side. */
bool collective_blocks(enum collective what);
/** Reads CCS_MPI, and loads the modules. False: `why` says what is wrong with it. */
bool entries_read(struct entries *e, const char *text, char *why, size_t size);
void entries_free(struct entries *e);

/* ---- means.c -------------------------------------------------------------------------------- */

/** Whether the module's contract for so many ranks, and each root, is the collective's. False:
 *  `why` says what it lacks. O(chunks of all ranks). */
bool module_means(const struct ccs_module *m, enum collective what, int nranks, char *why,
		  size_t size);

/* ---- mpi_types.c -------------------------------------------------------------------------------- */

/** The type and the operator of a reduction. False: ccs has none, and `why` says so. */
bool type_find(MPI_Datatype type, ccs_dtype *found, char *why, size_t size);
bool op_find(MPI_Op op, ccs_redop *found, char *why, size_t size);
/** Whether MPI lets that operator combine a type that was found. */
bool op_suits(ccs_redop op, MPI_Datatype type);
/** Bytes of `count` elements, without their holes. False: MPI cannot tell, or they are too many. */
bool type_bytes(MPI_Datatype type, MPI_Count count, size_t *bytes);
/** Whether elements lie one after another, without holes, in the order of their parts. */
bool type_is_plain(MPI_Datatype type);
/** The element number `n` of a buffer. */
void *type_at(const void *buffer, MPI_Datatype type, MPI_Count n);

/* ---- decide.c ------------------------------------------------------------------------------- */

/** True: the call is ccs's, and *o is how. False: it is MPI's, and `why` says why; if that is
 *  empty, MPI will say what is wrong with it. */
bool decide(struct preload *p, struct held *h, const struct job *j, struct order *o, char *why,
	    size_t size);

/* ---- comms.c -------------------------------------------------------------------------------- */

/** What is known of the communicator. NULL: MPI refuses it, or there is no memory. */
struct held *held_of(struct preload *p, MPI_Comm comm);
/** The same, if it is one of the last. NULL: perhaps it is not. Another thread may make another
 *  communicator's of what is found there, but never this one's: it has one already. */
static inline struct held *held_recent(struct preload *p, MPI_Comm comm)
{
	struct held *h = atomic_load_explicit(held_place(p, comm), memory_order_acquire);

	return h && h->comm == comm && comm != MPI_COMM_NULL ? h : NULL;
}

/** All ranks call it: makes the communicator of ccs, or refuses, everywhere alike. */
void held_meet(const struct preload *p, struct held *h);
/** The attribute's end. */
int held_delete(MPI_Comm comm, int keyval, void *value, void *of);
/** Frees those that are over: all are. */
void held_free_spare(struct preload *p);

/* ---- late.c --------------------------------------------------------------------------------- */

/** CCS_MPI_TIMEOUT. False: `why` says what is wrong with it. */
bool late_read(unsigned *ms, char *why, size_t size);
/** All ranks come to the communicator's first call, however late. */
void late_meet(const struct preload *p, const struct held *h);
/** A call of a struct held's waits for long: ccs_comm_set_late's. */
void late_tell(void *of, const char *report);

/* ---- run_taken.c ---------------------------------------------------------------------------------- */

/** Runs it, and returns MPI's error. */
int job_run(struct held *h, const struct job *j, const struct order *o);
/** Runs it as a call before, if it is like one of those; MPI's error is *e then. False: it was not
 *  run. O(1). */
bool job_again(struct held *h, const struct job *j, int *e);

/* ---- other_forms.c -------------------------------------------------------------------------------- */

/** Counts a call, which is MPI's. O(1). */
void form_count(enum form form, enum form_kind kind, MPI_Comm comm);
/** Adds what was counted to the tallies. */
void forms_tally(struct preload *p);

/* ---- starts.c ------------------------------------------------------------------------------- */

/** From now on starts of that persistent collective are counted. O(1), as all of these. */
void starts_of(enum form form, MPI_Comm comm, MPI_Request request);
/** Counts those that are collectives: a program starts them. */
void starts_count(int n, const MPI_Request *requests);
/** The program frees it: its handle may be another's from now on. */
void starts_end(const MPI_Request *request);
/** Those that the program has not freed. */
void starts_free(struct preload *p);

/* ---- tally.c -------------------------------------------------------------------------------- */

#define TALLY_UNNAMED "MPI: CCS_MPI names no module for it"

/** Lists the entries before all that MPI runs, with no calls; but not a tuning's rows. */
void tally_begin(struct preload *p);
/** Counts a call that the entry runs. */
static inline void entry_count(struct entry *e, const struct held *h)
{
	if (h->counts)
		atomic_fetch_add_explicit(&e->calls, 1, memory_order_relaxed);
}

/** Counts calls. */
void tally_add(struct preload *p, enum collective what, const char *by, uint64_t calls);
/** All processes of the job call it: the first one prints. */
void tally_report(struct preload *p);
void tally_free(struct preload *p);

#endif
