/*
 * Point to point: messages between two ranks, and the threads that move them. Private to the
 * runtime.
 *
 * ccs_send and ccs_recv make one transfer each: one end of a message. A sending transfer joins
 * the queue of its rank, peer and direction. A receiving transfer joins its rank's inbox, and a
 * queue when its message has come (p2p_match.c). Each queue faces the peer's queue. The first
 * transfers of the two meet: they must agree, the data is copied, both are over, and the next may
 * meet. So messages between two ranks with the same tag match in order, and never wait for
 * messages of other pairs of ranks.
 *
 * If both ends are in this process, memcpy makes the copy here, without the lock, or the engine
 * makes it where calls name streams; these transfers are in the list `ready`. If the peer is in
 * another process, the engine carries the transfer (engine.h) piece by piece; such queues are in
 * the list `foreign`.
 *
 * Transfers move inside p2p_poll. Each thread that waits for a transfer calls it, for all
 * transfers of the communicator. For transfers of requests (request.h), for which no thread may
 * wait, a thread of the communicator calls it, unless its engine is `lone`.
 *
 * Processes on GPUs have no queues: NCCL carries their messages in their streams, and a group's
 * messages enter NCCL together (`exchange` of engine.h). Each is over at once.
 *
 * A transfer that differs from its other end fails at both, and the communicator goes on. If none
 * moves for the timeout, while a thread waits for one, the communicator ends.
 *
 * Order of locks: world.lock, then p2p.lock.
 */
#ifndef CCS_RUNTIME_P2P_H
#define CCS_RUNTIME_P2P_H

#include "runtime/comm.h"

/* From ccs_send or ccs_recv until it is over. */
struct transfer {
	struct ccs_comm *comm;
	int peer;
	bool sends;
	bool request; /* it belongs to a request (request.h) */
	bool any;     /* it receives from any rank: `peer` is the sender, once it is in a queue */
	bool kept;    /* it is an inbox's own */
	bool busy;    /* it has met its other end, in this process, and is in `ready`, or copied */
	unsigned char *at;
	size_t count, bytes;
	ccs_dtype type;
	int tag;
	int *source;	/* where to write the sender's rank; or NULL */
	void *stream;	/* a GPU's */
	size_t moved;	/* bytes; the engine's, as is */
	unsigned state; /* 0 at first */
	struct queue *queue;
	struct transfer *behind; /* in its queue, or inbox.wanted */
	struct transfer *ready;	 /* in p2p.ready */
	struct transfer *next;	 /* in its group, or request, or inbox.kept */
	struct transfer *taker;	 /* of a kept one: the receive that gets it when it has come */
	ccs_status status;
	char *text; /* of its failure; or NULL */
	/** No other thread refers to it any more. Without the lock. */
	_Atomic bool over;
};

/* The transfers of a rank to a peer, or from it. */
struct queue {
	int rank, peer;
	bool sends;
	struct transfer *first, *last;
	uint64_t over;	    /* messages: the number of the first */
	uint64_t turn;	    /* a receiver's: turn in which it last served a receive from any rank */
	struct queue *twin; /* the queue that faces it, in this process; or NULL */
	struct queue *next; /* of the rank */
	struct queue *next_foreign;
};

/* A rank's receives that are in no queue, and its messages that no receive has taken. */
struct inbox {
	struct transfer *wanted, *wanted_last; /* receives, in the order of their calls */
	struct transfer *kept,
		*kept_last; /* messages that came before their receive, in the order of arrival */
	size_t bytes;	    /* of the kept messages */
	bool full;	    /* some peer's next message was not kept */
	bool all;	    /* it has queues from all ranks */
	uint64_t turns;	    /* receives from any rank that have found one */
};

struct job; /* of request.c */

struct p2p {
	pthread_mutex_t lock;
	pthread_cond_t moved;  /* threads sleep here, unless the engine has `rest` */
	struct queue **queues; /* [ranks of this process]; queues are never removed */
	struct inbox *inboxes; /* [ranks of this process] */
	struct queue *foreign;
	struct transfer *ready, *ready_last; /* sends with a posted receive */
	uint64_t moves;			     /* progress: messages posted, carried on, over */
	/* Of requests (request.h), with their threads: */
	pthread_cond_t work;	      /* the threads sleep here */
	struct job *jobs, *jobs_last; /* runs of requests that are not over */
	unsigned messages;	      /* of requests, not over */
	bool stop, has_runner, has_carrier;
	pthread_t runner, carrier; /* wait for runs; move messages */
};

/** The world's, which it makes at first use. CCS_ENOMEM; CCS_EABORTED: it is dead. Without
 *  locks. */
ccs_status p2p_open(struct world *w);
/** Frees it. No message is under way, and no thread is left. */
void p2p_free(struct world *w);

/** The messages of a list join their queues: all, or none, with this thread's text. Messages that
 *  streams carry are then over. Without locks. */
ccs_status p2p_post(struct transfer *list);
/** Goes on with all messages of the world that can move. Whether any has. Without locks. */
bool p2p_poll(struct world *w);
/** Waits until all messages of a list, of one or several communicators, are over. *first becomes
 *  the first failure, with this thread's text, unless it is a failure already. */
void p2p_wait(struct transfer *list, ccs_status *first);

/* State of a thread that waits for messages of a communicator, by which it sees whether they
 * move. */
struct p2p_vigil {
	uint64_t moves;
	uint64_t since; /* ns of clock.h */
	uint64_t until; /* of run_time_out() */
	unsigned idle;	/* polls without progress */
	bool set, told; /* told: the delay was reported */
};

/** To be called after a poll without progress: whether nothing has moved since the last time.
 *  Ends the communicator after the timeout, and all its messages, if it has ended. Without locks. */
bool p2p_still(struct world *w, struct p2p_vigil *v);
/** The same, and then sleeps until something may move. */
void p2p_nap(struct world *w, struct p2p_vigil *v);
/** Adds which messages wait for which rank. Under world.lock. */
void p2p_report(const struct world *w, struct text *t);
void p2p_list_free(struct transfer *list);

/** Appends to a queue, or to the receives of an inbox. */
static inline void transfer_append(struct transfer **first, struct transfer **last,
				   struct transfer *m)
{
	m->behind = NULL;
	if (*first)
		(*last)->behind = m;
	else
		*first = m;
	*last = m;
}

static inline bool message_is_over(const struct transfer *m)
{
	return atomic_load_explicit(&m->over, memory_order_acquire);
}

/* ---- matching (p2p_match.c), under p2p.lock ------------------------------------------------- */

/** A receive begins: it takes a kept message, or waits in its inbox. */
void p2p_receive(struct world *w, struct transfer *m);
/** A queue of receives that is empty: the sender's next message, if it has come, is taken by the
 *  first receive that fits, or kept, if one waits for another message of that rank. O(receives
 *  that wait + peers). */
void p2p_match(struct world *w, struct queue *q);
/** A kept message has come, or failed: to the receive that waits for it. Gives the lock back while
 *  data is copied. */
void p2p_kept_over(struct world *w, struct transfer *kept);
/** All receives of the inboxes are over. */
void p2p_end_wanted(struct world *w, ccs_status s, const char *text);
/* Messages to another process, or from it. */
struct p2p_past {
	uint64_t over; /* their number */
	bool waits;    /* one more waits */
};

/** Of this process's first rank. Without p2p.lock. */
struct p2p_past p2p_past(const struct world *w, int peer, bool sends);

/** Whether anything waits for a message of the queue; whether a receive from any rank waits. */
bool p2p_awaits(const struct world *w, const struct queue *q);
bool p2p_awaits_any(const struct world *w);
/** Frees the kept messages. */
void p2p_drop_kept(struct world *w);

/* What matching and waiting call back. */

/** A transfer joins a queue. */
void p2p_enter(struct p2p *p, struct queue *q, struct transfer *m);
/** It is over, and its thread's again. It is in no list. */
void p2p_finish(struct p2p *p, struct transfer *m, ccs_status s, const char *text);
/** Something has moved: threads that sleep look again. */
void p2p_progress(struct p2p *p);

/* ---- what an engine calls back, under p2p.lock ------------------------------------------- */

/** The message, the first of its queue, is over. */
void p2p_over(struct world *w, struct transfer *m, ccs_status s, const char *text);

/* What both ends of a message must have alike. */
struct p2p_shape {
	uint64_t count;
	uint32_t type;
};

/* A message that has come, and that no receive has taken. */
struct p2p_head {
	int tag;
	struct p2p_shape shape;
};

static inline struct p2p_shape p2p_shape_of(const struct transfer *m)
{
	return (struct p2p_shape){ m->count, (uint32_t)m->type };
}

/** CCS_EINVAL, and why, if they differ. Without the lock, too. */
ccs_status p2p_same(int from, int to, const struct p2p_shape *sent, const struct p2p_shape *wanted,
		    struct text *why);

#endif
