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
 * If both ends are in this process, the data is copied here, without the lock, or by the engine
 * where calls name streams; these transfers are in the list `ready`. If the peer is in
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

/* One end of a message, from ccs_send or ccs_recv until it is over. */
struct transfer {
	struct ccs_comm *comm;
	int peer;
	bool sends;
	bool request; /* it belongs to a request (request.h) */
	bool any;     /* it receives from any rank; `peer` is the sender, once it is in a queue */
	bool kept;    /* it is an inbox's, for a kept message */
	bool busy;    /* it has met its other end, in this process: it is in `ready`, or being
		         copied */
	unsigned char *at;
	size_t count, bytes;
	ccs_dtype type;
	int tag;
	int *source;	/* receives the sender's rank; or NULL */
	void *stream;	/* on GPUs */
	size_t moved;	/* bytes; as `state`, set by the engine */
	unsigned state; /* initially 0 */
	struct queue *queue;
	struct transfer *behind; /* the next in its queue, or in inbox.wanted */
	struct transfer *ready;	 /* in p2p.ready */
	struct transfer *next;	 /* in its group, or request, or inbox.kept */
	struct transfer *taker;	 /* of a kept one: the receive that is to get it */
	ccs_status status;
	char *text; /* of its failure, or NULL */
	/** No other thread uses it. Read without the lock. */
	_Atomic bool over;
};

/* The transfers of a rank to one peer, or from it. */
struct queue {
	int rank, peer;
	bool sends;
	struct transfer *first, *last;
	uint64_t over;	    /* number of finished messages, and so the number of the first */
	uint64_t turn;	    /* if it receives: when it last served a receive from any rank */
	struct queue *twin; /* the facing queue, in this process; or NULL */
	struct queue *next; /* of the rank */
	struct queue *next_foreign;
};

/* A rank's receives that are in no queue, and the messages that no receive has taken. */
struct inbox {
	struct transfer *wanted, *wanted_last; /* receives, in the order of their calls */
	struct transfer *kept,
		*kept_last; /* messages that came before their receive, in the order of arrival */
	size_t bytes;	    /* of the kept messages */
	bool full;	    /* some peer's next message did not fit */
	bool all;	    /* it has queues from all ranks */
	uint64_t turns;	    /* number of receives from any rank that have found a message */
};

struct job; /* of request.c */

struct p2p {
	pthread_mutex_t lock;
	pthread_cond_t moved;  /* threads sleep here, unless the engine has `rest` */
	struct queue **queues; /* [ranks of this process]; queues are never removed */
	struct inbox *inboxes; /* [ranks of this process] */
	struct queue *foreign;
	struct transfer *ready, *ready_last; /* sends with a posted receive */
	uint64_t moves;			     /* messages posted, continued, over: progress */
	/* Of requests (request.h), with their threads: */
	pthread_cond_t work;	      /* the threads sleep here */
	struct job *jobs, *jobs_last; /* runs of requests that are not over */
	unsigned messages;	      /* of requests, not over */
	bool stop, has_runner, has_carrier;
	pthread_t runner, carrier; /* wait for runs; move messages */
};

/** The world's state, made at first use. CCS_ENOMEM; CCS_EABORTED: the world is dead. Without
 *  locks. */
ccs_status p2p_open(struct world *w);
/** Frees it. No message is under way, and no thread is left. */
void p2p_free(struct world *w);

/** The messages of a list join their queues: all, or none, with this thread's error text.
 *  Messages through streams are then over. Without locks. */
ccs_status p2p_post(struct transfer *list);
/** Continues all messages of the world that can move. True: one has. Without locks. */
bool p2p_poll(struct world *w);
/** Waits until all messages of a list, of one or several communicators, are over. *first becomes
 *  the first failure, with this thread's text, unless it is a failure already. */
void p2p_wait(struct transfer *list, ccs_status *first);

/* The state by which a thread that waits for messages detects progress. */
struct p2p_vigil {
	uint64_t moves;
	uint64_t since; /* ns of clock.h */
	uint64_t until; /* of run_time_out() */
	unsigned idle;	/* polls without progress */
	bool set, told; /* told: the delay was reported */
};

/** Call after a poll without progress. Whether nothing has moved since the last call. After the
 *  timeout it ends the communicator; in a dead one, all messages. Without locks. */
bool p2p_still(struct world *w, struct p2p_vigil *v);
/** The same, then sleeps until something may have moved. */
void p2p_nap(struct world *w, struct p2p_vigil *v);
/** Appends which messages wait for which rank. Under world.lock. */
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
/** For an empty queue of receives: the sender's next message, if it has come, is taken by the
 *  first receive that fits; or kept, if a receive waits for another message of that rank.
 *  O(waiting receives + peers). */
void p2p_match(struct world *w, struct queue *q);
/** A kept message has come, or failed: passes it to the receive that waits for it. Releases the
 *  lock while data is copied. */
void p2p_kept_over(struct world *w, struct transfer *kept);
/** Ends all receives of the inboxes. */
void p2p_end_wanted(struct world *w, ccs_status s, const char *text);
/* The number of messages to or from another process. */
struct p2p_past {
	uint64_t over; /* their number */
	bool waits;    /* another message waits */
};

/** For this process's first rank. Without p2p.lock. */
struct p2p_past p2p_past(const struct world *w, int peer, bool sends);

/** Whether a receive waits for a message of the queue; whether a receive from any rank waits. */
bool p2p_awaits(const struct world *w, const struct queue *q);
bool p2p_awaits_any(const struct world *w);
/** Frees the kept messages. */
void p2p_drop_kept(struct world *w);

/* Functions for matching and waiting. */

/** A transfer joins a queue. */
void p2p_enter(struct p2p *p, struct queue *q, struct transfer *m);
/** Ends a transfer that is in no list. It belongs to its thread again: do not use it afterwards. */
void p2p_finish(struct p2p *p, struct transfer *m, ccs_status s, const char *text);
/** Something has moved: wakes sleeping threads. */
void p2p_progress(struct p2p *p);

/* ---- functions that an engine calls back, under p2p.lock ------------------------------------ */

/** The message, the first of its queue, is over. */
void p2p_over(struct world *w, struct transfer *m, ccs_status s, const char *text);

/* The properties that both ends of a message must share. */
struct p2p_shape {
	uint64_t count;
	uint32_t type;
};

/* A message that has come, but that no receive has taken. */
struct p2p_head {
	int tag;
	struct p2p_shape shape;
};

static inline struct p2p_shape p2p_shape_of(const struct transfer *m)
{
	return (struct p2p_shape){ m->count, (uint32_t)m->type };
}

/** CCS_EINVAL with the difference, if they differ. Also without the lock. */
ccs_status p2p_same(int from, int to, const struct p2p_shape *sent, const struct p2p_shape *wanted,
		    struct text *why);

#endif
