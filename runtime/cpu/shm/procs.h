/*
 * Ranks that are processes of one host: shared memory, and waiting. Private to this folder.
 *
 * The engine is that of tasks (cpu.h): each process runs its own rank's fibers. FIFOs, fibers and
 * their data are in memory that all processes share, at the same places, because all lay a run
 * out alike. A fiber is written only by its own process, except for its state. A held message is
 * read in the sender's memory, through a mapping or by the system (process_vm_readv), if trials
 * among the calls show that this is faster than a copy into a slot and one out of it
 * (procs_ways.c).
 *
 * The table, also shared, has a seat for each process. The k-th call of a rank
 *
 *   1. is posted in its seat, once no rank is PROCS_LAG calls behind. If it differs from the rank's
 *      previous call, or another rank's does, it is compared with the calls that all ranks have
 *      posted: at once, and again before it is over;
 *   2. is admitted at once, if the layout of an equal earlier call is kept: FIFOs continue from one
 *      such call to the next, and are shared with no other layout. Otherwise it gets the memory of
 *      the least recently used layout, when all ranks have finished the calls of that layout;
 *   3. runs, and is over when its fibers are over and all its held messages were received. With
 *      short chunks there are no fibers at first: the operations are done in the plan's order
 *      (prep.h), each as soon as it need not wait. If that takes long, fibers do the rest. A call
 *      like the previous one that needs no fibers needs no run (comm.h) either.
 *
 * A process without work polls its fibers for a while, then parks them and sleeps on the bell of
 * its seat (a futex). A process that makes a parked fiber ready puts it into the inbox of its
 * seat and rings. If ranks share cores, a process yields its core between two rounds of polling,
 * and polls for fewer rounds: among ranks that are all in the call, this costs less than a sleep
 * and a wake-up for each message. If other programs keep the core busy the process sleeps at
 * once, because a woken process gets the core sooner.
 *
 * A process that makes something ready then looks for sleepers; a process checks once more for
 * work before it sleeps. Both need a fence between the store and the load (Dekker's pattern). But
 * if each rank has a core and membarrier(2) is available (procs_barrier), the process that is
 * about to sleep, which has time, issues the fence for all, and calls that proceed need none. A
 * call like the previous one needs no lock either, if the communicator has no threads.
 *
 * A failure in one call or process ends the communicator for all; the first process to see it
 * writes the reason. A killed process is noticed, as each process holds a descriptor of every
 * other. The shared files have no names: they are freed when the last process ends.
 */
#ifndef CCS_RUNTIME_CPU_SHM_PROCS_H
#define CCS_RUNTIME_CPU_SHM_PROCS_H

#include "runtime/cpu/core/cpu.h"

#define PROCS_LAG 16u
#define PROCS_NAMES (2 * PROCS_LAG)	   /* names of calls that a rank keeps */
#define PROCS_LAYOUTS 9u		   /* kept layouts; the last is for large ones */
#define PROCS_HELD (((size_t)8 << 10) + 1) /* bytes of the shortest chunk that is held */
#define PROCS_KINDS 16u			   /* kinds of calls with long chunks that are remembered */
#define PROCS_TIMED 9u			   /* timed calls of a trial */
#define PROCS_WATCHED 3u		   /* later calls that check the cost found by the trial */
#define PROCS_BEFORE 16u		   /* the most calls of a trial before the timed ones */
#define PROCS_BOARD 2048u		   /* bytes that a process shows to the others at a time */
#define PROCS_REGIONS 64u
#define PROCS_RELAY PROCS_REGIONS /* one more region: messages under way, procs_p2p.c */

enum { SEAT_EMPTY, SEAT_TAKEN, SEAT_LEFT };
/* Whether a process can read another's memory; or must always, even if slower. Unknown until
 * it has tried. */
enum { READS_UNKNOWN, READS_ALWAYS, READS_MAY, READS_REFUSED };
/* The way of long messages: through slots; through slots, stored past the caches; or read in
 * place by the system. */
enum procs_way { WAY_COPIED, WAY_STREAMED, WAY_READ, PROCS_WAYS };

/* The addresses of a rank's data in a call, once it is admitted. */
struct procs_call {
	uint64_t send, recv, scratch;	   /* addresses in its process */
	uint32_t send_region, recv_region; /* 1: the first region; 0: none */
	uint32_t holds;
};

/* A buffer of ccs_mem_alloc. Other processes look only for regions that a call names. */
struct procs_region {
	uint64_t at, bytes; /* 0 bytes: unused */
	uint64_t birth;	    /* unique among its process's regions */
	uint64_t in_file;   /* its start in FILE_BUFFERS */
};

/* A region of another process, mapped here. */
struct procs_mapped {
	unsigned char *data;
	size_t bytes;
	uint64_t birth;
};

/* A timed call: when its process began and finished it; ns of the host's clock. */
struct procs_times {
	uint64_t begun, over;
};

/* Calls with long chunks and one key. The same in all processes. */
struct procs_kind {
	uint64_t key;	 /* 0: unused */
	uint64_t calls;	 /* number of calls; restarts from 1 at each trial */
	uint64_t until;	 /* if decided: the number of calls at which the next trial begins */
	uint64_t check;	 /* if decided: the number of calls at which the cost is checked, see
			    procs_ways.c */
	uint64_t least;	 /* ns: the least time in the trial */
	uint64_t used;	 /* number of calls of all kinds, at its last use */
	unsigned class;	 /* of the length of its chunks */
	unsigned before; /* first calls of a trial, not timed */
	bool decided;	 /* its calls go this way: */
	enum procs_way way;
};

struct procs_seat {
	/* The owner writes the first two parts (each begins with an _Alignas); other processes read
	 * the first one in every call. */
	_Alignas(2 * CACHE_LINE) _Atomic uint64_t begun; /* calls posted */
	uint64_t key[PROCS_LAG]; /* of the posted calls: equal if the calls agree; not 0 */
	_Alignas(2 * CACHE_LINE) _Atomic uint64_t finished; /* calls */
	/* All processes write the third part. */
	_Alignas(2 * CACHE_LINE) _Atomic uint32_t bell; /* number of rings */
	_Atomic uint32_t asleep;
	_Atomic uint32_t inbox;	 /* 1 + the number of a fiber to run; 0: none */
	_Atomic uint64_t pulled; /* held messages that were received */
	/* The same for messages between two ranks, on which other threads sleep. */
	_Atomic uint32_t p2p_bell, p2p_asleep;
	/* The owner writes the rest. */
	_Alignas(2 * CACHE_LINE) _Atomic uint32_t state;
	_Atomic uint32_t reads; /* READS_... */
	bool barriers;		/* the process takes part in barriers (procs_barriers_join) */
	int32_t pid;
	uint64_t probe; /* address of its copy of the table's token */
	/* Times of a trial's calls, then of the checked calls. */
	struct procs_times times[PROCS_KINDS][PROCS_TIMED + PROCS_WATCHED];
	struct host_cores cores;
	/* Names, by key, of calls that differed from the call before; `named` in all, the last
	 * ones kept. A name that is used again is copied to a new place before it is
	 * overwritten. No rank is more than PROCS_LAG calls behind, so no name in use is
	 * overwritten. */
	uint64_t named, name_key[PROCS_NAMES];
	struct call_name name[PROCS_NAMES];
	struct procs_call call[PROCS_LAG];
	struct procs_region regions[PROCS_REGIONS + 1];
	_Atomic uint64_t awake;	      /* when it last went to sleep; ms of the host's clock */
	_Atomic uint64_t told, heard; /* number of times it has written its board, and read all
				         boards */
	unsigned char board[PROCS_BOARD];
};

/* Messages from one rank to another (procs_p2p.c), one at a time. */
struct procs_pair {
	/* The sender's: */
	_Alignas(CACHE_LINE) _Atomic uint64_t posted; /* number of messages; of the last one: */
	uint64_t count, at;			      /* at: an address in its process */
	uint32_t type, how, region;		      /* 1: the first region; 0: none */
	int32_t tag;
	_Atomic uint64_t relayed; /* bytes of it that went through the relay */
	/* The receiver's: */
	_Alignas(CACHE_LINE) _Atomic uint64_t taken; /* number of messages; expected in the last: */
	uint64_t wanted;
	uint32_t wanted_type;
	_Atomic uint64_t come;	  /* number of messages that it has begun to take */
	_Atomic uint64_t drained; /* bytes of the last that it has taken from the relay */
};

struct procs_table {
	uint64_t token;		   /* random, to recognise these processes */
	_Atomic uint64_t buffers;  /* bytes of FILE_BUFFERS ever allocated; none is reused */
	_Atomic uint64_t others;   /* 1 + the last call that differed from the one before */
	_Atomic uint32_t sleepers; /* processes asleep until another finishes a call or writes its
				      board */
	_Atomic uint32_t failing, failed; /* a process is writing the reason; it is written */
	int32_t status;
	char text[CCS_TEXT];
	struct procs_seat seats[]; /* [nranks], then the pairs, [nranks][nranks] */
};

/* The shared files. */
enum { FILE_TABLE, FILE_FIFOS, FILE_LINES, FILE_FIBERS, FILE_DATA, FILE_BUFFERS, NFILES };

/* An operation of the process's rank, with its FIFOs and slots in the current layout. */
struct procs_op {
	const struct ccs_op *op;
	struct fiber *fiber;
	struct fifo *in, *out;	       /* NULL: none */
	const struct slots *from, *to; /* their slots */
};

/* Whether the rank stores its short messages past the caches. Each rank decides alone, by the
 * times of its calls. */
struct procs_manner {
	bool asked;	   /* messages are long enough for the question */
	bool ahead;	   /* the rank sends last, so its call ends before the message is read */
	bool streams;	   /* the result of the last trial */
	uint32_t calls;	   /* since the last trial began */
	uint64_t begun;	   /* ns: when the current call of a trial began; 0: not in a trial */
	uint64_t least[2]; /* ns of the fastest call: through the caches; past them */
};

/* The rank's operations in the plan's order. */
struct procs_order {
	struct procs_op *ops;
	uint32_t n, room;
	uint32_t done; /* operations of the current call that are done */
	uint32_t told; /* operations announced to processes that may sleep */
	bool ends;     /* the rank has work after them */
	uint64_t of;   /* id of the layout that the list is for; 0: no list */
	bool placed;   /* the rank is placed in that layout, with these buffers: */
	const unsigned char *send;
	unsigned char *recv;
	struct procs_manner manner;
};

/* A kept layout, and this process's data for it. While it is the current one only `laid` and
 * `order` are up to date. */
struct procs_layout {
	struct laid *laid; /* NULL: never used */
	struct layout layout;
	struct procs_order order;
	uint64_t key;  /* of its calls, as in struct procs_seat */
	uint64_t used; /* 1 + the last call that was laid out here */
};

struct procs {
	struct procs_table *table;
	size_t table_bytes;
	struct procs_seat *own;
	int files[NFILES];
	int door, caller;  /* on rank 0, while processes come for the files; else -1 */
	unsigned patience; /* ms for all to take their seats; 0: no limit */
	int *ends;	   /* [nranks] descriptors that become readable when the process ends; -1:
			    none */
	uint64_t token;	   /* a copy of the table's, which other processes read to try reading */
	uint64_t pulled;   /* the part of own->pulled that was subtracted from the rank's count */
	uint64_t *found;   /* [nranks] 1 + the call for which e->ranks[rank] was set; 0: none */
	struct procs_mapped *mapped;  /* [nranks][PROCS_REGIONS + 1] */
	uint64_t births;	      /* number of regions ever made here */
	void *buffers[PROCS_REGIONS]; /* the addresses of own regions; NULL: none */
	unsigned char *relay;	      /* for messages to other ranks; NULL: not yet made */
	size_t relay_bytes;
	const struct transfer *relaying; /* the message that uses it, or NULL */
	uint64_t finished;		 /* number of calls that all ranks have finished, as last
					    seen */
	struct procs_layout layouts[PROCS_LAYOUTS];
	struct procs_layout *current;
	struct fiber *turn;		 /* fibers that this process runs in turn */
	bool posted, admitted;		 /* the current call */
	bool in_order;			 /* its operations are being done in the plan's order */
	bool answered;			 /* rank 0: processes may ask for the files */
	bool spins;			 /* each rank has a core */
	bool light;			 /* membarrier is used: calls need no fence */
	unsigned nways;			 /* 0: some process has not yet tried to read */
	enum procs_way ways[PROCS_WAYS]; /* usable on all processes */
	bool always;			 /* all messages are read, even if slower */
	bool permits, permitted;   /* other processes may read this one; the system was asked */
	enum procs_way way;	   /* of the current call, or the one to be posted */
	struct procs_kind *kind;   /* its kind; NULL: none */
	struct procs_times *timed; /* NULL: it is not timed */
	struct procs_kind kinds[PROCS_KINDS];
	unsigned char best[64]; /* by class of lengths: the last decided way */
	uint64_t tried;		/* bit i: best[i] is set */
	unsigned polls;		/* rounds of polling without progress before the process sleeps */
	unsigned crowded;	/* > 0: no rounds, because other programs use the core */
};

static inline unsigned procs_polls(const struct procs *p)
{
	return p->crowded ? 0 : p->polls;
}

/* ---- procs_end.c ---------------------------------------------------------------------- */

/** Registers this process for membarrier. Whether it can be used. */
bool procs_barriers_join(void);
/** If p->light: a full barrier on all registered processes, so that this process sees
 *  everything stored before a writer last looked for sleepers. */
void procs_barrier(const struct procs *p);
/** The fence between a store and the look for sleepers. */
static inline void procs_fence(const struct procs *p)
{
	if (p->light)
		atomic_signal_fence(memory_order_seq_cst);
	else
		fence();
}
/** Wakes the seat's owner if it sleeps. The data for it must be stored before. */
void procs_ring(struct procs_seat *s);
/** Wakes all sleepers. */
void procs_ring_sleepers(const struct world *w);
/** Between two rounds without progress: yields the core if ranks share cores. False: no more
 *  rounds, as the process was off the core for long. */
bool procs_pause(struct procs *p);
/** To sleep: procs_lie_down; check once more for work; procs_sleep until the bell rings, or for
 *  `ms`; procs_get_up. */
uint32_t procs_lie_down(struct procs *p);
void procs_sleep(struct procs *p, uint32_t heard, unsigned ms);
void procs_get_up(struct procs *p);
/** Sleeps until the number differs from `was`, or for `ms`; wakes all sleepers on it. */
void procs_futex_wait(_Atomic uint32_t *at, uint32_t was, unsigned ms);
void procs_futex_wake(_Atomic uint32_t *at);
/** Begins to watch for the end of the rank's process. */
void procs_watch(struct procs *p, int rank);
bool procs_ended(const struct procs *p, int rank);
/** Whether the rank is in a call or a gather, and has not polled for half of the timeout and for
 *  much longer than a waiting process sleeps. */
bool procs_stands_still(const struct world *w, int rank);
void procs_tell_still(const struct world *w, int rank, struct text *t);
/** How the rank left: its process has freed the communicator, or ended. NULL: it is there. */
const char *procs_gone(const struct world *w, int rank);
/** Ends the communicator for all ranks with that text; the first text counts. On return all
 *  processes can see it: only then may a caller have its buffers back. */
void procs_fail(struct world *w, ccs_status s, const char *text);
/** If the communicator has died here, publishes the reason, unless there is one. */
void procs_tell_death(struct world *w);
/** Checks for failures of other processes, and for ended processes. Under world.lock. */
void procs_look(struct world *w);
/** See struct wire. */
bool procs_failed(struct cpu *e);
/** Whether all ranks have finished `calls` calls. */
bool procs_all_finished(const struct world *w, uint64_t calls);

/* ---- procs.c -------------------------------------------------------------------------- */

/* See engine.h. */
void procs_wait(struct world *w, struct call *calls, ccs_status *first);
bool procs_at_once(struct world *w, struct call *c, ccs_status *first);
bool procs_once_more(struct ccs_comm *comm, const struct kept *kept, const void *send,
		     const void *recv);
void procs_poll(struct world *w);
bool procs_moved(const struct world *w, uint64_t *mark);
bool procs_stuck(const struct world *w, int rank, struct text *t);
enum whereabouts procs_whereabouts(const struct world *w, int rank, struct text *t);
/** The processes' wire. */
extern const struct wire procs_wire;

/* ---- procs_layouts.c: under world.lock -------------------------------------------------- */

/** The key of a call: see struct procs_seat. */
uint64_t procs_key(const struct call *c);
/** Room for layouts; the first is current. CCS_ENOMEM. */
ccs_status procs_layouts_open(struct cpu *e);
void procs_layouts_close(struct cpu *e);
/** The kept layout of that call, other than the current one. NULL: none. */
struct procs_layout *procs_layouts_find(struct cpu *e, const struct call *c);
/** Makes it the current one from that call on, which is posted. */
void procs_layouts_use(struct cpu *e, struct procs_layout *at, uint64_t call);
/** The same with memory for a new layout, which may be laid out when all ranks have finished
 *  the calls up to procs.current->used. CCS_ENOMEM. */
ccs_status procs_layouts_clear(struct cpu *e, const struct call *c, uint64_t call);

/* ---- procs_order.c: under world.lock ---------------------------------------------------- */

/** Whether a call with that layout may be done in the plan's order. */
bool procs_order_may(const struct layout *l);
/** Whether that is known already. */
static inline bool procs_order_listed(const struct procs *p, const struct layout *l)
{
	return p->current->order.of == l->id && l->id;
}

/** Begins the call in the plan's order. CCS_ENOMEM. */
ccs_status procs_order_begin(struct cpu *e, struct call *c);
/** The same for a call like the previous one, with these buffers. False: it needs its struct
 *  call. */
bool procs_order_again(struct cpu *e, const void *send, const void *recv);
/** Continues, and polls for `polls` rounds when an operation has to wait. True: all operations
 *  are done, and all stores before this call are visible to other processes. */
bool procs_order_go(struct cpu *e, unsigned polls);
/** All operations are done: does the rank's remaining work, without a run. */
void procs_order_end(struct cpu *e);
/** Makes fibers ready for the remaining operations, if any, of the run. */
void procs_order_leave(struct cpu *e);

/* ---- procs_files.c --------------------------------------------------------------------- */

/* Where rank 0 gives the files: the name of an abstract socket, with its leading NUL. Plain
 * data. */
struct procs_door {
	uint64_t token;
	int32_t pid;
	char name[6];
};

/** On rank 0: makes the files, the table, and the socket. CCS_ESYSTEM, CCS_ENOMEM. */
ccs_status procs_files_make(struct procs *p, int nranks);
void procs_files_tell(const struct procs *p, struct procs_door *d);
/** On rank 0, until all have their seats: gives the files to the next process that asks within
 *  a fraction of a millisecond. CCS_ESYSTEM: no process can be let in. */
ccs_status procs_files_give(const struct world *w);
/** On other ranks: receives the files, checks that they are rank 0's, and maps the table. */
ccs_status procs_files_take(struct procs *p, int nranks, const struct procs_door *d);
/** Whether the file has these bytes. */
bool procs_file_holds(int file, uint64_t at, uint64_t bytes);
/** Closes the socket: all processes have come, or no more may come. */
void procs_door_close(struct procs *p);
void procs_files_close(struct procs *p);

/* ---- procs_memory.c ------------------------------------------------------------------- */

/** Publishes the addresses of this rank's data in the call. */
void procs_tell(struct cpu *e, struct procs_call *c);
/** See struct wire. */
bool procs_holds(struct cpu *e, const struct rank_io *io);
void procs_find(struct cpu *e, uint32_t rank);
bool procs_pull(struct cpu *e, const struct ccs_op *o, const struct ccs_op *from, size_t lo,
		unsigned char *slot);
/** Memory that other processes can read in place. CCS_ENOMEM. */
ccs_status procs_alloc(struct world *w, size_t bytes, void **out);
void procs_release(struct world *w, void *at, size_t bytes);
/** Unmaps all regions of other processes. */
void procs_unmap(struct procs *p, int nranks);
/** The region of an address in this process, from 1; 0: none. */
uint32_t procs_region_of(const struct procs *p, uint64_t at);
/** The local address of an address in that rank's process. NULL: not mapped, or the region is
 *  0. */
unsigned char *procs_place(struct procs *p, uint32_t rank, uint64_t at, uint32_t region);
/** Makes the relay. CCS_ENOMEM. */
ccs_status procs_make_relay(struct world *w, size_t bytes);
void procs_free_relay(struct procs *p);

/* ---- procs_p2p.c: see engine.h ---------------------------------------------------------- */

bool procs_carry(struct world *w, struct transfer *m);
bool procs_next_message(const struct world *w, const struct queue *q, struct p2p_head *head);
bool procs_posted_message(const struct world *w, int from, int to, struct p2p_head *head);
void procs_rest(struct world *w, unsigned idle);

/* ---- procs_seat.c --------------------------------------------------------------------- */

/** Takes this process's seat, and returns when all seats are taken. CCS_EABORTED, CCS_ETIMEOUT:
 *  one stays empty, for the reason in the text. */
ccs_status procs_take_seat(struct world *w);
/** Rank 0's process keeps the files open for a short time, for processes that are still coming. */
void procs_settle(const struct world *w);

/* ---- procs_ways.c --------------------------------------------------------------------- */

/** Lets this user's processes read this one while there is such a communicator, unless
 *  $CCS_CROSS_MEMORY_DISABLE is 1; procs_forbid ends that. */
void procs_permit(struct procs *p);
void procs_forbid(const struct procs *p);
/** Tries whether this process can read another's memory. All call it after all have taken their
 *  seats. */
void procs_try_reading(struct world *w);
/** Whether all have tried. No call begins before, as layouts depend on it. */
bool procs_tried(struct world *w);
/** Chooses the way of a call before it is posted: p->way and c->read. False: not yet possible.
 *  Under world.lock. */
bool procs_choose(const struct world *w, struct call *c);
/** The call is posted with that number. */
void procs_chosen(struct procs *p, uint64_t call);
/** The call is over. */
void procs_timed(struct procs *p);
/** Describes the fastest ways by length of chunks: "copied from 16 KiB, read in place from 2 MiB".
 *  "": none tried yet. O(classes of lengths). */
void procs_tell_ways(const struct procs *p, char *text, size_t size);

/* ---- procs_board.c: see engine.h ------------------------------------------------------ */

ccs_status procs_gather(struct world *w, const void *mine, void *all, size_t bytes);

#endif
