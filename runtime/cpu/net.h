/*
 * Ranks that are processes, on one host or several, which reach one another by MPI's messages.
 * Private to cpu/net*.c.
 *
 *   net.c        calls: admitting, running, waiting; the engine
 *   net_wire.c   what FIFOs between processes are made of
 *   net_cells.c  messages that need no slot
 *   net_note.c   notes: that a rank begins another call, that it has failed; gathering
 *   net_p2p.c    messages of ccs_send and ccs_recv
 *   net_end.c    after a failure: what is under way
 *   net_open.c   making and freeing
 *
 * The engine is the one of tasks (cpu.h): each process runs its own rank's fibers, over FIFOs
 * and slots of its own. Of a FIFO to another process the sender's slot is an MPI_Isend, and is
 * free when that is through; the receiver has an MPI_Irecv in each of its free slots, and the
 * message is there when it is. Long messages that a rank's cells hold in one piece need no
 * slot's memory: they are sent from there, and received where they are stored, as soon as
 * nobody else uses these cells (net_cells.c). Receives are posted for what the current call
 * expects, and no more: so messages of calls to come, and of other layouts, wait in MPI until
 * it is their turn, as messages of one sender and tag stay in order. A call is over when its
 * fibers are, and what they sent is out.
 *
 * A call that differs from the one before is told to all that it exchanges messages with, and
 * waits until they have told the same; one like the one before tells nothing. So of two ranks
 * whose calls differ one tells, the other sees it, and no message of one is taken for the
 * other's. What fails in one process is told to all; a process that ends does not tell, and
 * its mpirun ends the job.
 *
 * Memory that MPI was given is MPI's until it says otherwise; what it was given of a caller's is so
 * before the call returns, also one that fails (net_end.c).
 *
 * MPI moves nothing while nobody calls it: who waits polls.
 */
#ifndef CCS_RUNTIME_CPU_NET_H
#define CCS_RUNTIME_CPU_NET_H

#include "runtime/cpu/cpu.h"
#include "runtime/mpi/calls.h"

/* Tags: below these the number of a FIFO among those of its two ranks. */
enum {
	NET_SENDS = MPICALLS_TAGS - 5, /* point to point, the first of them all */
	NET_WANTS,
	NET_DATA,
	NET_NOTE,
	NET_GATHER
};

/* What a rank tells another. */
struct net_note {
	int32_t status; /* CCS_OK: it begins the call ... */
	uint64_t call;	/* ... of this number */
	struct call_name name;
	char text[CCS_TEXT]; /* of a failure */
};

/* A FIFO with one end here. */
struct net_fifo {
	uint32_t fifo;
	bool sends;
	int rank, tag;	     /* of the other end, and its messages' */
	int place;	     /* in net.messages, of its first slot */
	uint64_t begin, end; /* messages before the current call, and by its end */
	uint32_t receive;    /* in net.receives, its first of a tile; if it comes here */
	bool late;	     /* a receive could not be posted yet */
};

/* The operation that receives a message, if it stores it in cells. */
struct net_receive {
	uint32_t op;	/* row of the plan's operations */
	uint32_t after; /* so many operations of its worker are the last, in a tile, to touch the
			   cells before it; CCS_NONE: other workers touch them, too */
};

/* A message that is under way. */
struct net_place {
	uint32_t of; /* row of net.fifos */
	uint64_t message;
	unsigned char *cells; /* where it lies; NULL: in its slot */
	size_t bytes;	      /* that it has, or can have */
};

/* How the communicator's messages end, once it has died. Times of clock.h, in ms. */
struct net_end_state {
	bool begun, over;
	uint64_t others; /* until then ranks that have told no failure are waited for */
	uint64_t memory; /* ... and until then MPI, for memory of callers' */
	unsigned quiet;	 /* looks in a row at which nothing had come */
	bool *told;	 /* [n] the rank has told a failure: it starts no message any more */
};

struct net {
	const struct mpi_calls *calls;
	struct mpi_world *world;
	struct text broken; /* what MPI failed with, if it did */
	ccs_status died;    /* what the communicator did */
	int hosts;
	bool spins; /* each rank of this host has a core */
	/* until then others than ranks compute on its cores: clock_ns() */
	_Atomic uint64_t crowded;

	/* The layout's. */
	struct mpi_messages *messages;
	struct net_fifo *fifos;
	uint32_t nfifos;
	uint32_t *row;		  /* [FIFOs of the plan] of `fifos`, or CCS_NONE */
	struct net_place *places; /* [nplaces] of `messages` */
	int nplaces;
	struct net_receive *receives;
	uint32_t leaving; /* messages that are being sent from cells */
	bool cells;	  /* chunks are long enough for messages to do without slots */
	uint64_t through; /* messages that were sent or received: progress */

	/* Notes: from rank i in place i, to it in n + i, of a failure in 2n + i. */
	struct mpi_messages *notes;
	struct net_note *heard;		 /* [n] the next from each comes here; or a failure did */
	struct net_note *kept;		 /* [n] of a call, */
	bool *holds;			 /* [n] ... which is to be looked at */
	struct net_note said, said_last; /* the last call that was another; a failure */
	struct call_name before;	 /* the call before `said` */
	int saying;			 /* notes under way */
	bool *asked;			 /* [n] is to tell the current call */
	int answers;			 /* that are missing */

	struct net_p2p *p2p; /* net_p2p.c's own; NULL: there were no such messages */
	struct net_end_state end;

	unsigned polls;	     /* by threads that wait for something else */
	uint64_t begun;	     /* calls that were laid out */
	bool laid, admitted; /* the current call */
	bool leaks;	     /* MPI may go on to use memory that it was given */
};

/* ---- net_wire.c ------------------------------------------------------------------------- */

extern const struct wire net_wire;

/** Makes room for what the layout's FIFOs exchange. CCS_ENOMEM, CCS_EUNSUPPORTED. No message
 *  is under way. O(FIFOs). */
ccs_status net_lay_out(struct cpu *e);
/** The call begins: its messages may come. */
void net_begin(struct cpu *e);
/** Lets messages go on. Whether any is through. Without the lock. O(slots). */
bool net_progress(struct cpu *e);
/** Adds for whom this rank waits, of the ranks that it has sent to: MPI has not sent all. False: it has. */
bool net_stuck(const struct cpu *e, struct text *t);
/** Whether MPI has any of a caller's memory. O(slots). */
bool net_holds(const struct net *n);
/** All messages of the layout have ended, or will not: forgets them. */
void net_forget(struct net *n);
/** MPI has failed, of a message with that rank: so will the communicator. */
void net_break(struct net *n, int rank, int error);

/* ---- net_cells.c ------------------------------------------------------------------------- */

/** Finds from when on each receive can be posted in the cells that it is for. After the
 *  layout's FIFOs. CCS_ENOMEM. O(operations + cells). */
ccs_status net_cells_lay_out(struct cpu *e);
/** Whether the operation's message, of the tile from `lo`, is sent from cells, and then which:
 *  p->cells, p->bytes. */
bool net_cells_out(const struct cpu *e, const struct ccs_op *o, size_t lo, struct net_place *p);
/** Finds the cells that a message is to be received in, if any. False: they are in use yet. */
bool net_cells_in(const struct cpu *e, const struct net_fifo *f, uint64_t message,
		  struct net_place *p);

/* ---- net_note.c: under world.lock ------------------------------------------------------- */

/** Waits for the first note of each rank. */
void net_listen(struct world *w);
/** Tells the current call to all that it exchanges messages with. */
void net_announce(struct world *w);
/** Takes in what others have told. Whether there was anything. */
bool net_hear(struct world *w);
/** The same once the communicator has died: who has told of a failure. */
void net_hear_ends(struct world *w);
/** Tells all others of a failure, the first; and fails here, too. */
void net_tell(struct world *w, ccs_status s, const char *text);
void net_fail(struct world *w, ccs_status s, const char *text);

/* See engine.h. */
ccs_status net_gather(struct world *w, const void *mine, void *all, size_t bytes);

/* ---- net_p2p.c: see engine.h ------------------------------------------------------------- */

struct transfer;
bool net_carry(struct world *w, struct transfer *m);
void net_rest_p2p(struct world *w, unsigned idle);
/** Takes back receives that have not begun. */
void net_cancel_p2p(struct net *n);
/** Whether MPI has any of a caller's memory. Lets messages go on. O(ranks). */
bool net_holds_p2p(struct net *n, int nranks);
/** All have ended, or will not: forgets them. */
void net_forget_p2p(struct net *n);

/* ---- net_end.c: under world.lock, of a communicator that has died ------------------------- */

/** Goes on with the end of what is under way, without waiting. Whether callers may have their
 *  memory back. O(ranks + slots). */
bool net_end(struct world *w);
/** Waits for that. */
void net_end_wait(struct world *w);
/** See engine.h. */
bool net_halt(struct world *w);

/* ---- net.c ------------------------------------------------------------------------------ */

extern const struct engine net_engine;

/** Whoever has polled so often in vain lets others have the core. Without the lock. */
void net_rest(struct net *n, unsigned idle);

/* ---- net_open.c: see engine.h ----------------------------------------------------------- */

void net_describe(const struct world *w, char *text, size_t size);
void net_free(struct world *w);
ccs_status net_branch(struct world *w, struct world *child, const struct branch *b);

static inline struct net *net_of(const struct world *w)
{
	return cpu_of(w)->net;
}

#endif
