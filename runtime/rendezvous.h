/*
 * Rendezvous: where all ranks of a communicator come together outside runs, as to split it
 * (split.c), or for a barrier (barrier.c). Private to the runtime.
 *
 * Each rank brings a proposal, plain data of one size. When all have come, the proposals of all
 * are compared, the same way for every engine, so that what is wrong in one rank, or differs,
 * fails in all, and the communicator goes on; then the way of that call does its work.
 *
 * The n-th rendezvous of each rank is one. Where one process has all ranks, the last to come does
 * the work for all, under world.lock, and the others sleep; else every process gathers the
 * proposals (engine.h) and does its part. Who does not come, or makes another kind of call, is
 * waited for as long as in a run: then the communicator is dead.
 *
 * In a group (ccs_group_start) calls are recorded, and come at its end: all of them first, then
 * the thread waits for each, so that one thread can come for all ranks. O(ranks) a call and rank.
 */
#ifndef CCS_RUNTIME_RENDEZVOUS_H
#define CCS_RUNTIME_RENDEZVOUS_H

#include "runtime/comm.h"

enum rendezvous_kind { MEET_SPLIT, MEET_GROUP, MEET_MESH, MEET_BARRIER, NMEET };

#define PROPOSAL_LIST 8u

struct proposal {
	uint32_t kind;		     /* enum rendezvous_kind */
	int32_t status;		     /* CCS_OK; else what is wrong with the rank's arguments */
	int32_t color, key;	     /* of a split */
	uint32_t n;		     /* numbers of its list, which all must give alike, */
	uint64_t hash;		     /* ... and of all of them; */
	int32_t list[PROPOSAL_LIST]; /* the first */
};

struct attendee;

/* How a call goes on when all have come with proposals that agree. Under world.lock. */
struct rendezvous_way {
	/** All ranks are of this process: of[rank]. */
	ccs_status (*here)(struct world *w, struct attendee *const *of);
	/** Each is a process, and this is `a`; all[rank]. */
	ccs_status (*apart)(struct world *w, struct attendee *a, const struct proposal *all);
	/** Processes do not gather first: they meet in their streams. NULL: never. */
	bool (*streams)(const struct world *w);
};

/* One rank's call. */
struct attendee {
	struct ccs_comm *comm;
	const struct rendezvous_way *way;
	struct proposal own;
	char why[CCS_TEXT]; /* of own.status */
	void *stream;
	struct ccs_comm **out, *made; /* of a split: where the caller wants it; what it is */
	struct rendezvous *at;	      /* once it has come */
	struct attendee *next;	      /* in the thread's group */
};

/** The proposal of a call of that kind; the list is hashed. O(n). */
struct proposal proposal_of(enum rendezvous_kind kind, const int *list, uint32_t n);
/** Comes, and waits until it is over; or records a copy, in a group. */
ccs_status rendezvous_submit(struct attendee *a);

/* ---- what call.c does at the end of a group ------------------------------------------- */

/** CCS_EABORTED: one is of a communicator of another process. */
ccs_status rendezvous_here(const struct attendee *list);
/** All of the list come; none is waited for. */
void rendezvous_join(struct attendee *list);
/** *first is the first failure, and stays what it was if it was one. */
void rendezvous_wait(struct attendee *list, ccs_status *first);
void rendezvous_drop(struct attendee *list);

/* ---- for run.c, watch.c and comm.c: under world.lock ------------------------------------ */

/** The communicator is dead: nobody waits any longer. */
void rendezvous_fail(struct world *w, ccs_status s, const char *text);
/** "rank 1 has not called ccs_comm_split, as rank 0 has". False: nobody waits. */
bool rendezvous_report(const struct world *w, struct text *t);
/** In a forked process: of threads that are not here. */
void rendezvous_forget(struct world *w);

#endif
