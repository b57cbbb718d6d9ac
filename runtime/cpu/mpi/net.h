/*
 * Ranks that are processes on one or several hosts and exchange MPI messages. Private to this
 * folder.
 *
 *   net.c        calls: admitting, running, waiting; the engine
 *   net_wire.c   FIFOs between processes
 *   net_cells.c  messages that need no slot
 *   net_note.c   notes: a rank begins another call, or has failed; gathering
 *   net_ask.c    notes after a time-out: what the ranks wait for
 *   net_p2p.c    messages of ccs_send and ccs_recv
 *   net_leave.c  notes of ranks that free the communicator
 *   net_end.c    after a failure: ending the messages under way
 *   net_open.c   making and freeing
 *
 * The engine is that of tasks (cpu.h): each process runs its rank's fibers, over FIFOs and slots
 * in its memory. For a FIFO to another process, the sender's slot is an MPI_Isend, and is free
 * when the MPI_Isend is complete; the receiver has an MPI_Irecv in each free slot, and the
 * message has come when the MPI_Irecv is complete. A long message that is contiguous in a rank's
 * cells needs no slot: it is sent from the cells, and received in the cells that store it as soon
 * as no other operation uses them (net_cells.c). Receives are posted only for messages that the
 * current call expects. Messages of later calls, and of other layouts, wait in MPI until their
 * turn, as messages of one sender and tag stay in order. A call is over when its fibers are over
 * and MPI has sent their messages.
 *
 * A rank that begins a call unlike its last one announces it, in a note, to all ranks that it
 * exchanges messages with, and waits for their notes of the same call. A call like the last one
 * sends no note. So if the calls of two ranks differ, one of them sends a note and the other sees
 * it: no message is taken for one of another call. A failure in one process is announced to all.
 * A process that is killed announces nothing; its mpirun ends the job.
 *
 * Memory passed to MPI belongs to MPI until the request is complete. A call, also one that fails,
 * returns only when MPI has no memory of its caller; or after 10 s, with a text that says that MPI
 * still has some (net_end.c).
 *
 * MPI moves data only inside its calls, so a waiting thread polls.
 *
 * A circle of files: a process that waits for anything serves everything that other ranks may send
 * (messages, notes, questions, ends), or yields (net_rest, net_hear). So each file calls net.c and
 * net_note.c, and these call each file.
 */
#ifndef CCS_RUNTIME_CPU_MPI_NET_H
#define CCS_RUNTIME_CPU_MPI_NET_H

#include "runtime/cpu/core/cpu.h"
#include "runtime/mpi/calls.h"

/* Tags: lower ones are FIFOs, numbered among those of their two ranks. */
enum {
	NET_SENDS = MPICALLS_TAGS - 5, /* point to point, the first of all */
	NET_WANTS,
	NET_DATA,
	NET_NOTE,
	NET_GATHER
};

/* A note from one rank to another. */
enum net_note_kind {
	NET_NOTE_CALL, /* it begins a call */
	NET_NOTE_FAILED,
	NET_NOTE_ASKS,	/* it asks what the other rank waits for */
	NET_NOTE_WAITS, /* ... and the answer */
	NET_NOTE_LEAVES /* it frees the communicator */
};

struct net_note {
	int32_t kind;	/* enum net_note_kind */
	int32_t status; /* of a failure */
	uint64_t call;	/* number of the call, or of the question; of a rank that leaves: its
			   number of calls, ... */
	uint64_t gathers, sent, received; /* ... of gathers, and of messages to and from the
					     receiver of the note */
	struct call_name name;
	char text[CCS_TEXT]; /* of a failure, or an answer */
};

/* A FIFO with one end here. */
struct net_fifo {
	uint32_t fifo;
	bool sends;
	int rank, tag;	     /* of the other end; of its messages in MPI */
	int place;	     /* its first slot's row of net.messages */
	uint64_t begin, end; /* number of messages before the current call, and at its end */
	uint32_t receive;    /* the first of a tile in net.receives, if it is received here */
	bool late;	     /* a receive is due but its cells are still in use */
};

/* The operation that receives a message, if it stores it in cells. */
struct net_receive {
	uint32_t op;	/* row of the plan's operations */
	uint32_t after; /* the receive may be posted after this number of its worker's operations
			   in the tile; CCS_NONE: other workers touch the cells, too */
};

/* A message that is under way. */
struct net_place {
	uint32_t of; /* row of net.fifos */
	uint64_t message;
	unsigned char *cells; /* its data in cells; NULL: in its slot */
	size_t bytes;	      /* its length, for a receive at most */
};

/* How the messages of a dead communicator end. Times of clock.h, in ms. */
struct net_end_state {
	bool begun, over;
	uint64_t others; /* until then, wait for ranks that have announced no failure */
	uint64_t memory; /* until then, wait for MPI to release callers' memory */
	unsigned quiet;	 /* consecutive polls without news */
	bool *told;	 /* [n] the rank has announced a failure, so it starts no message */
};

struct net {
	const struct mpi_calls *calls;
	struct mpi_world *world;
	bool threads;	    /* other threads may call MPI concurrently */
	struct text broken; /* MPI's failure, if any */
	ccs_status died;    /* status of the dead communicator */
	int hosts;
	bool spins; /* each rank of this host has a core */
	/* until then other programs use the ranks' cores (clock_ns()) */
	_Atomic uint64_t crowded;

	/* Messages of the layout. */
	struct mpi_messages *messages;
	struct net_fifo *fifos;
	uint32_t nfifos;
	uint32_t *row;		  /* [FIFOs of the plan]: row of `fifos`, or CCS_NONE */
	struct net_place *places; /* [nplaces] of `messages` */
	int nplaces;
	struct net_receive *receives;
	uint32_t leaving; /* messages under way from cells */
	bool cells;	  /* chunks are long enough for messages without slots */
	uint64_t through; /* messages sent or received: progress */

	/* Notes: from rank i at i, to it at n + i, of a failure at 2n + i. */
	struct mpi_messages *notes;
	struct net_note *heard;		 /* [n] where the next note, or a failure, of each rank
					    is received */
	struct net_note *kept;		 /* [n] the last note of a call, */
	bool *holds;			 /* [n] ... if it is not yet used */
	struct net_note said, said_last; /* the last announced call; an announced failure */
	struct call_name before;	 /* the call before `said` */
	int saying;			 /* notes being sent */
	struct net_note *left;		 /* [n] of ranks that have left; NULL: none has */
	bool listens;			 /* all ranks have met */
	bool *asked;			 /* [n] has yet to announce the current call */
	int answers;			 /* answers that are missing */

	struct net_p2p *p2p;	   /* private to net_p2p.c; NULL: no such messages yet */
	struct net_asking *asking; /* private to net_ask.c; NULL: no time-out yet */
	struct net_end_state end;

	uint64_t gathers;    /* that this rank has begun */
	uint64_t heard_at;   /* time of the last check of notes; ms of clock.h */
	unsigned polls;	     /* by threads that wait for something else */
	uint64_t begun;	     /* calls that were laid out */
	bool laid, admitted; /* the current call */
	bool leaks;	     /* MPI may still use some memory, which is never freed */
};

/* ---- net_wire.c ------------------------------------------------------------------------- */

extern const struct wire net_wire;

/** Allocates the messages of the layout's FIFOs. No message may be under way. CCS_ENOMEM,
 *  CCS_EUNSUPPORTED. O(FIFOs). */
ccs_status net_lay_out(struct cpu *e);
/** The call begins: posts its receives. */
void net_begin(struct cpu *e);
/** Continues messages, without the lock. True: one has completed. O(slots). */
bool net_progress(struct cpu *e);
/** Adds to *t a rank to which MPI has not yet sent all of this rank's messages. False: none. */
bool net_stuck(const struct cpu *e, struct text *t);
/** Whether MPI uses memory of a caller. O(slots). */
bool net_holds(const struct net *n);
/** Forgets all messages of the layout. Each has ended or never will. */
void net_forget(struct net *n);
/** MPI reported an error on a message with that rank: the communicator fails. */
void net_break(struct net *n, int rank, int error);

/* ---- net_cells.c ------------------------------------------------------------------------- */

/** Finds for each receive the operation after which it can be posted in its cells. Call it
 *  after net_lay_out. CCS_ENOMEM. O(operations + cells). */
ccs_status net_cells_lay_out(struct cpu *e);
/** Whether the operation's message of the tile at `lo` is sent from cells. Sets p->cells,
 *  p->bytes. */
bool net_cells_out(const struct cpu *e, const struct ccs_op *o, size_t lo, struct net_place *p);
/** Finds the cells in which a message is received, if any. False: the cells are still in use. */
bool net_cells_in(const struct cpu *e, const struct net_fifo *f, uint64_t message,
		  struct net_place *p);

/* ---- net_note.c: under world.lock ------------------------------------------------------- */

/** Waits for the first note of each rank. */
void net_listen(struct world *w);
/** Announces the current call to all ranks that it exchanges messages with. */
void net_announce(struct world *w);
/** Reads the notes that have come. True: there were some. */
bool net_hear(struct world *w);
/** The same after the communicator has died: records which ranks have announced a failure. */
void net_hear_ends(struct world *w);
/** Announces a failure, if it is the first, to all other ranks. net_fail also makes the
 *  communicator fail here. */
void net_tell(struct world *w, ccs_status s, const char *text);
void net_fail(struct world *w, ccs_status s, const char *text);
/** See engine.h: announces it. A thread inside a call fails the call. */
ccs_status net_abort(struct world *w, ccs_status s, const char *text);
/** The number of bytes of a note that are sent. */
size_t net_note_bytes(const struct net_note *x);

/* ---- net_ask.c: under world.lock -------------------------------------------------------- */

/** See engine.h. */
void net_ask(struct world *w);
bool net_answers(const struct world *w, struct text *t);
/** A rank asks: answers. */
void net_answer(struct world *w, int rank, uint64_t number);
/** A rank has answered. */
void net_answered(struct world *w, int rank, uint64_t number, const char *text);
/** Whether an answer to this rank may still come. */
bool net_is_owed(const struct net *n);
/** Ends all questions and answers. Returns the number that MPI has not completed. */
int net_end_asking(struct net *n, int nranks);

/* ---- net_leave.c ------------------------------------------------------------------------- */

/** A rank has announced that it frees the communicator. Under world.lock, as are the next two. */
void net_leaves(struct world *w, int rank, const struct net_note *x);
/** Fails if this rank waits for that rank, which has left. O(FIFOs). */
void net_miss(struct world *w, int rank);
/** Whether that rank has left; whether all other ranks have. */
bool net_has_left(const struct net *n, int rank);
bool net_all_left(const struct world *w);
/** This rank frees the communicator: announces it, and waits a little for the other ranks. */
void net_leave(struct world *w);

/* See engine.h. */
ccs_status net_gather(struct world *w, const void *mine, void *all, size_t bytes);

/* ---- net_p2p.c: see engine.h ------------------------------------------------------------- */

struct transfer;
bool net_carry(struct world *w, struct transfer *m);
void net_rest_p2p(struct world *w, unsigned idle);
/** Cancels receives that have not begun. */
void net_cancel_p2p(struct net *n);
/** Whether MPI uses memory of a caller. Continues messages. O(ranks). */
bool net_holds_p2p(struct net *n, int nranks);
/** Forgets all of them. Each has ended or never will. */
void net_forget_p2p(struct net *n);

/* ---- net_end.c: under world.lock, of a communicator that has died ------------------------- */

/** Continues to end the messages under way, without waiting. True: callers may have their
 *  memory back. O(ranks + slots). */
bool net_end(struct world *w);
/** Waits until net_end is true. */
void net_end_wait(struct world *w);
/** See engine.h. */
bool net_halt(struct world *w);

/* ---- net.c ------------------------------------------------------------------------------ */

extern const struct engine net_engine;

/** Whether notes and timeouts must be checked, after `idle` polls without progress. Under
 *  world.lock. */
bool net_is_due(struct net *n, unsigned idle);
/** Yields the core after `idle` polls without progress. Without the lock. */
void net_rest(struct net *n, unsigned idle);

/* ---- net_open.c: see engine.h ----------------------------------------------------------- */

void net_describe(const struct world *w, char *text, size_t size);
void net_free(struct world *w);
ccs_status net_branch(struct world *w, struct world *child, const struct branch *b);
ccs_status net_members(struct world *w, struct world *child, const struct branch *b, int n, int tag,
		       ccs_status here);

static inline struct net *net_of(const struct world *w)
{
	return cpu_of(w)->net;
}

#endif
