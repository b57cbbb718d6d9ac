/*
 * Rendezvous: a meeting of all ranks of a communicator outside runs, for a split (split.c) or a
 * barrier (barrier.c). Private to the runtime.
 *
 * Each rank brings a proposal, plain data of fixed size. When all have come, the proposals are
 * compared, in the same way for every engine, so that a mistake or difference fails on all ranks,
 * and the communicator stays usable. Then the functions of that kind of call do the work.
 *
 * The n-th rendezvous of each rank are the same one. If one process has all ranks, the last to
 * come does the work for all, under world.lock, while the other threads sleep; otherwise every
 * process gathers the proposals (engine.h) and does its part. A rank that does not come, or makes
 * another kind of call, is waited for as long as in a run; then the communicator is dead.
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
	int32_t status;		     /* CCS_OK, or the mistake in the rank's arguments */
	int32_t color, key;	     /* of a split */
	uint32_t n;		     /* length of its list, which must be the same on all ranks, */
	uint64_t hash;		     /* ... hash of all numbers; */
	int32_t list[PROPOSAL_LIST]; /* the first numbers */
};

struct attendee;

/* The functions of a kind of call, after all have come with equal proposals. Under world.lock. */
struct rendezvous_way {
	/** If all ranks are in this process: of[rank]. */
	ccs_status (*here)(struct world *w, struct attendee *const *of);
	/** If each rank is a process: `a` is this one's rank, all[r] the proposal of rank r; `all`
	 *  is NULL if the processes meet in their streams. */
	ccs_status (*apart)(struct world *w, struct attendee *a, const struct proposal *all);
	/** True: processes do not gather first, because they meet in their streams. NULL:
	 *  never. */
	bool (*streams)(const struct world *w);
};

/* One rank's call. */
struct attendee {
	struct ccs_comm *comm;
	const struct rendezvous_way *way;
	struct proposal own;
	char why[CCS_TEXT]; /* of own.status */
	void *stream;
	struct ccs_comm **out, *made; /* of a split: where the caller wants the result; the
				         result */
	struct rendezvous *at;	      /* after it has come */
	struct attendee *next;	      /* in the thread's group */
};

/** The proposal of a call of that kind; the list is hashed. O(n). */
struct proposal proposal_of(enum rendezvous_kind kind, const int *list, uint32_t n);
/** Comes, and waits until the rendezvous is over; or records a copy, in a group. */
ccs_status rendezvous_submit(struct attendee *a);

/* ---- called by group.c at the end of a group ------------------------------------------ */

/** CCS_EABORTED: a communicator belongs to another process. */
ccs_status rendezvous_here(const struct attendee *list);
/** All of the list come, without waiting. */
void rendezvous_join(struct attendee *list);
/** *first becomes the first failure, unless it is a failure already. */
void rendezvous_wait(struct attendee *list, ccs_status *first);
void rendezvous_drop(struct attendee *list);

/* ---- for run.c, watch.c and comm.c: under world.lock ------------------------------------ */

/** The communicator is dead: ends all waits. */
void rendezvous_fail(struct world *w, ccs_status s, const char *text);
/** "rank 1 has not called ccs_comm_split, as rank 0 has". False: no rank waits. */
bool rendezvous_report(const struct world *w, struct text *t);
/** In a forked process: frees those of threads that do not exist there. */
void rendezvous_forget(struct world *w);

#endif
