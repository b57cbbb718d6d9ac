/*
 * libccs-mpi.so: runs an MPI program's collectives by modules that the user names. Private to
 * preload/.
 *
 * It is preloaded into the program, replaces MPI's functions, and calls MPI by the profiling
 * interface (PMPI_...). setup.c begins and ends it, collectives.c has the collectives.
 *
 *   taken.c        the collectives that can be taken
 *   decide.c       whether a call is taken, and by which entry of CCS_MPI (entries.c)
 *   means.c        whether a module computes MPI's collective
 *   mpi_types.c    types and operators
 *   comms.c        the communicator of ccs for one of MPI's, made when the first call is taken
 *   run_taken.c    running a call: buffers, types with holes, failures. A call that equals a
 *                  recent one of its communicator is run again without asking MPI anything.
 *   late.c         the report of a rank that waits for long
 *   other_forms.c  forms that are counted and left to MPI, such as MPI_Iallreduce
 *   starts.c       counts starts of persistent collectives
 *   fortran.c      the same for programs in Fortran
 *   tally.c        which calls ran where, and why, for the report at the end
 *   process.c      the pointer to this process's state
 *
 * It depends only on MPI and on the public interface of ccs.
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

/* Open MPI 5 has persistent collectives, but reports MPI 3.1. */
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

/* A part of CCS_MPI, or a row of a tuning. */
struct entry {
	enum collective what;
	int ranks;	    /* of a tuning's row; 0: not a row, for any number of ranks */
	size_t least, most; /* bytes of a block; in a tuning's row, of the larger buffer */
	const struct ccs_module *module;
	struct ccs_run_options options;
	char label[300];	/* "ring_allreduce (ring.so)" */
	_Atomic uint64_t calls; /* that it ran, on communicators in which this is rank 0 */
};

struct entries {
	size_t n, room;
	struct entry *of;
	struct ccs_module **modules; /* [parts] modules of parts, and ... */
	struct ccs_tuning **tunings; /* ... of tunings */
	size_t nmodules, ntunings;
	uint64_t digest; /* of CCS_MPI and the files' bytes */
	bool named[COLLECTIVES];
};

/* The calls of a collective that were run by the same module, or left to MPI for the same
 * reason. */
struct tally {
	struct tally *next;
	enum collective what;
	uint64_t calls;
	char by[]; /* "ring_allreduce (ring.so)", "MPI: an intercommunicator" */
};

enum meeting { NOT_MET, MET, REFUSED, FAILED };

/* A call. Arguments that the collective does not have are 0. A single count is in `send` as
 * well. */
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

/* How ccs runs a call. */
struct order {
	struct entry *entry;
	size_t count; /* elements of a block of the contract */
	ccs_dtype type;
	ccs_redop op;
};

/* A call that ccs ran on the program's buffers, with predefined types. Their handles are never
 * freed, so they keep their meaning. */
struct known {
	struct job job; /* without buffers, but whether it is in place */
	bool in_place;
	struct order order;
	struct ccs_call *call; /* prepared; NULL: this record is empty */
	bool has_in, has_out;  /* sides with data on this rank */
	bool in_recv;	       /* its input is in the buffer that MPI calls recv, ... */
	ptrdiff_t in_at;       /* ... at this byte */
	uintptr_t aligned;     /* address bits that must be 0 in its buffers */
};

#define KNOWN 8u   /* recent calls of a communicator */
#define RECENT 8u  /* recent communicators */
#define STARTS 64u /* hash chains of persistent requests */

/* What is known of a communicator of MPI, stored as its attribute. When the communicator ends,
 * the struct is reused, and freed only at the end, because another thread may still read it. */
struct held {
	struct held *next, **from; /* all of this process, under preload.lock */
	_Atomic(MPI_Comm) comm;	   /* MPI_COMM_NULL: it has ended */
	int rank, size;
	bool inter;
	bool counts; /* this rank counts its calls */
	enum meeting meeting;
	const struct entry *entry; /* of the current call */
	struct ccs_comm *ccs;	   /* NULL until the ranks have met */
	char why[WHY];		   /* why ccs was refused */
	MPI_Comm probed;	   /* a communicator without messages, to progress MPI */
	unsigned rounds;	   /* polls of the current call */
	char *fits;		   /* [entries] FIT_... */
	struct known known[KNOWN];
	unsigned newest; /* index in known */
};

/* State of this process. */
struct preload {
	struct entries entries;
	int keyval;    /* of struct held */
	MPI_Comm self; /* copies of MPI_COMM_SELF and MPI_COMM_WORLD */
	MPI_Comm job;
	unsigned timeout; /* CCS_MPI_TIMEOUT, in ms; 0: none */
	pthread_mutex_t lock;
	_Atomic uint64_t unnamed[COLLECTIVES];	    /* calls of collectives that CCS_MPI does not
						       name */
	_Atomic uint64_t forms[NFORMS][FORM_KINDS]; /* calls of other forms */
	struct held *held, *spare;
	_Atomic(struct held *) recent[RECENT]; /* the most recent one in each place of
					          held_place, or NULL */
	struct started *started[STARTS]; /* persistent collectives that are counted here, under
					    lock */
	_Atomic size_t nstarted;	 /* ... how many there are */
	struct tally *tallies;
};

/* The bits of a handle, which is an integer or a pointer. */
static inline uint64_t handle_bits(uintptr_t handle)
{
	return (uint64_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* The place of the communicator in `recent`. */
static inline _Atomic(struct held *) *held_place(struct preload *p, MPI_Comm comm)
{
	return p->recent + handle_bits((uintptr_t)comm) % RECENT;
}

/* ---- process.c, collectives.c, setup.c -------------------------------------------------------------------- */

/** This process's; NULL: MPI is not initialised, or finalised. */
struct preload *preload_get(void);
/** Sets the pointer, and returns the previous one. */
struct preload *preload_set(struct preload *p);
/** True: a module ran the call, and *e is MPI's error. False: MPI must run it. */
bool preload_takes(const struct job *j, int *e);

/* ---- taken.c, entries.c ------------------------------------------------------------------------------ */

/** The collective with that name, MPI's or a contract's. False: none. */
bool collective_find(const char *name, enum collective *what);
/** The name in CCS_MPI and in the report: "allreduce". */
const char *collective_name(enum collective what);
bool collective_reduces(enum collective what);
bool collective_rooted(enum collective what);
/** Whether one side has a block for each rank. */
bool collective_blocks(enum collective what);
/** Reads CCS_MPI and loads the modules. False: `why` has the error. */
bool entries_read(struct entries *e, const char *text, char *why, size_t size);
void entries_free(struct entries *e);

/* ---- means.c -------------------------------------------------------------------------------- */

/** Whether the module's contract for that many ranks, for each root, is the collective's.
 *  False: `why` has the difference. O(chunks of all ranks). */
bool module_means(const struct ccs_module *m, enum collective what, int nranks, char *why,
		  size_t size);

/* ---- mpi_types.c ------------------------------------------------------------------------- */

/** The type of a reduction. False: ccs has none, and `why` has the reason. */
bool type_find(MPI_Datatype type, ccs_dtype *found, char *why, size_t size);
bool op_find(MPI_Op op, ccs_redop *found, char *why, size_t size);
/** Whether MPI allows the operator on that type. */
bool op_suits(ccs_redop op, MPI_Datatype type);
/** Bytes of `count` elements without holes. False: undefined in MPI, or too many. */
bool type_bytes(MPI_Datatype type, MPI_Count count, size_t *bytes);
/** Whether elements are contiguous, without holes, their parts in order. */
bool type_is_plain(MPI_Datatype type);
/** The address of element number `n`. */
void *type_at(const void *buffer, MPI_Datatype type, MPI_Count n);

/* ---- decide.c ------------------------------------------------------------------------------- */

/** True: ccs runs the call as *o says. False: MPI runs it for the reason in `why`. If `why` is
 *  empty, MPI will report an error. */
bool decide(struct preload *p, struct held *h, const struct job *j, struct order *o, char *why,
	    size_t size);

/* ---- comms.c -------------------------------------------------------------------------------- */

/** The struct of the communicator. NULL: MPI refuses it, or no memory. */
struct held *held_of(struct preload *p, MPI_Comm comm);
/** The same if it is in `recent`; NULL if not. Another thread may reuse the struct that is
 *  found, but never for `comm`, which has its own. */
static inline struct held *held_recent(struct preload *p, MPI_Comm comm)
{
	struct held *h = atomic_load_explicit(held_place(p, comm), memory_order_acquire);

	return h && h->comm == comm && comm != MPI_COMM_NULL ? h : NULL;
}

/** Collective: makes the communicator of ccs, or refuses, alike on all ranks. */
void held_meet(const struct preload *p, struct held *h);
/** Frees the communicator of ccs, with its prepared calls. */
void held_end_ccs(struct held *h);
/** Called by MPI when the attribute is deleted. */
int held_delete(MPI_Comm comm, int keyval, void *value, void *of);
/** Frees the spare structs. All are spare at the end. */
void held_free_spare(struct preload *p);

/* ---- late.c --------------------------------------------------------------------------------- */

/** Reads CCS_MPI_TIMEOUT. False: `why` has the error. */
bool late_read(unsigned *ms, char *why, size_t size);
/** Collective: waits until all ranks have come to the communicator's first call. */
void late_meet(const struct preload *p, const struct held *h);
/** The callback of ccs_comm_set_late: a call waits for long. `of`: a struct held. */
void late_tell(void *of, const char *report);

/* ---- run_taken.c ------------------------------------------------------------------------- */

/** Runs the call, and returns MPI's error. */
int job_run(struct held *h, const struct job *j, const struct order *o);
/** Runs the call if it is like a recent one; *e is MPI's error. False: it was not run. O(1). */
bool job_again(struct held *h, const struct job *j, int *e);

/* ---- other_forms.c ----------------------------------------------------------------------- */

/** Counts a call that MPI runs. O(1). */
void form_count(enum form form, enum form_kind kind, MPI_Comm comm);
/** Adds what was counted to the tallies. */
void forms_tally(struct preload *p);

/* ---- starts.c ------------------------------------------------------------------------------- */

/** Counts starts of that persistent collective from now on. O(1), as all of these. */
void starts_of(enum form form, MPI_Comm comm, MPI_Request request);
/** The program starts these requests: counts the collectives among them. */
void starts_count(int n, const MPI_Request *requests);
/** The program frees the request. Its handle may be reused. */
void starts_end(const MPI_Request *request);
/** Frees the records of requests that the program did not free. */
void starts_free(struct preload *p);

/* ---- tally.c -------------------------------------------------------------------------------- */

#define TALLY_UNNAMED "MPI: CCS_MPI names no module for it"

/** Lists the entries of parts with no calls, before all that MPI runs. */
void tally_begin(struct preload *p);
/** Counts a call that the entry runs. */
static inline void entry_count(struct entry *e, const struct held *h)
{
	if (h->counts)
		atomic_fetch_add_explicit(&e->calls, 1, memory_order_relaxed);
}

/** Counts calls. */
void tally_add(struct preload *p, enum collective what, const char *by, uint64_t calls);
/** Collective over the job: the first process prints. */
void tally_report(struct preload *p);
void tally_free(struct preload *p);

#endif
