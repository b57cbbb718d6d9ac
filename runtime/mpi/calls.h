/*
 * MPI, as libccs and ccrun call it: one table, `ccs_mpi_calls`, of the plug-in libccs_mpi.so.
 *
 * The plug-in alone is compiled against an MPI, by its mpicc; nothing else of ccs knows one.
 * ccs_mpi_library() of ccs.h finds it.
 *
 * An int that a function returns is 0 or MPI's error, of which `error` gives the text, unless its
 * comment or name says otherwise; an error ends no process. Calls of a process come from the thread
 * that opened the world, or one at a time from any; or, if it was opened for threads, of each world
 * and its messages one at a time.
 */
#ifndef CCS_RUNTIME_MPI_CALLS_H
#define CCS_RUNTIME_MPI_CALLS_H

#include "runtime/ccs.h"

enum { MPICALLS_VERSION = 7 };	       /* version of this header; grows with every change */
enum { MPICALLS_TAGS = 32768 };	       /* that every MPI has */
enum { MPICALLS_PATIENCE_MS = 30000 }; /* wait for processes at the end, if no timeout is set */

enum { MPICALLS_NO_THREADS = -1 }; /* no MPI_THREAD_MULTIPLE: an error of `open` */

/* How a world ends. */
enum {
	MPICALLS_WELL,
	MPICALLS_LEFT,	/* messages may be left that are never received */
	MPICALLS_FAILED /* ... and other processes may not come to the end of MPI */
};

struct mpi_world;    /* processes of the job, in a separate communicator */
struct mpi_messages; /* sends and receives under way */

/* A call of a collective, as ccs_run has it: counts and places are NCCL's, also in place. */
struct mpi_job {
	const void *send;
	void *recv;
	size_t count; /* at most mpi_calls.most */
	ccs_dtype type;
	ccs_redop op; /* where it reduces: one of mpi_calls.reduces */
	int root;
};

struct mpi_collective {
	const char *contract; /* of the prelude: "allreduce" ... */
	int (*run)(const struct mpi_world *w, const struct mpi_job *job);
};

struct mpi_calls {
	int version; /* MPICALLS_VERSION; the first member in every version */
	/** The table of MPI's collectives, up to a row with the contract NULL. */
	const struct mpi_collective *collectives;
	/** The most elements of a block, and bytes of a message: the limit of MPI's counts. */
	size_t most;

	/** Initialises MPI, unless it is. Returns when all processes have called it. `threads`:
	 *  worlds are used by several threads at the same time. */
	int (*open)(int threads, struct mpi_world **w);
	/** A world for each colour, of the processes that give it, in the order of their keys; a
	 *  negative colour: *child is NULL. All processes of `w` call it. Either may be closed
	 *  first. */
	int (*split)(struct mpi_world *w, int color, int key, struct mpi_world **child);
	/** A world of the `n` processes ranks[0 .. n-1] of w, in this order, which alone call it.
	 *  Calls with another tag, below MPICALLS_TAGS, may be under way in other threads. */
	int (*group)(struct mpi_world *w, int n, const int *ranks, int tag,
		     struct mpi_world **child);
	/** All processes call it. If MPI was initialised here, the last world closed ends it.
	 *  If messages may be left, MPI's communicator stays until MPI ends. After a failure of
	 *  any world, MPI ends if all processes come here within `ms`. Else stderr gets a line,
	 *  and MPI does not end: when a process exits so, its mpirun ends the job. */
	void (*close)(struct mpi_world *w, int how, unsigned ms);
	int (*rank)(const struct mpi_world *w);
	int (*size)(const struct mpi_world *w);
	/** "Open MPI v4.1.4", "MPICH Version: 4.3.2": the library that runs. */
	void (*name)(char *text, size_t size);
	void (*error)(int e, char *text, size_t size);
	/** Whether MPI combines elements of the type by the operator. It moves all types. */
	int (*reduces)(ccs_dtype type, ccs_redop op);

	/** Places 0 to room - 1, each for one message that is under way. */
	int (*messages_new)(const struct mpi_world *w, int room, struct mpi_messages **m);
	/** Ends all transfers: cancels receives with a message that has not begun to come, and
	 *  waits for all receives, up to 0.2 s. It does not wait for sends. Returns the number of
	 *  messages that have not ended; MPI may go on to use their memory. */
	int (*messages_free)(struct mpi_messages *m);
	/** Start a message in a place that has none, and return. Messages of one sender, receiver
	 *  and tag stay in order; tags are 0 to MPICALLS_TAGS - 1. */
	int (*send)(struct mpi_messages *m, int place, const void *from, size_t bytes, int rank,
		    int tag);
	int (*recv)(struct mpi_messages *m, int place, void *to, size_t bytes, int rank, int tag);
	/** Continues them, without waiting. (*places)[0 .. *n-1] have become free; valid until
	 *  the next call. On an error, the first is where it happened. O(places). */
	int (*test)(struct mpi_messages *m, const int **places, int *n);
	/** Whether MPI may use the memory of the place's message. */
	int (*busy)(const struct mpi_messages *m, int place);
	/** Cancels receives with a message that has not begun to come; they end like complete
	 * ones. */
	void (*cancel)(struct mpi_messages *m);
	/** Receives, into internal memory, messages of the world that have come without a receive,
	 *  and does not wait, so that their senders have their memory back. *moved: whether a
	 *  message has begun to come, or has come; *left: the number of messages on their way. */
	int (*drain)(struct mpi_world *w, int *moved, int *left);
};

#endif
