/*
 * Tests with a process a rank, on the CPU (ccs_comm_init_procs): a team. What its members
 * tell the test lies in memory that they share with it. All waits are bounded, and a member
 * ends with the test.
 */
#ifndef TESTS_SUPPORT_TEAM_H
#define TESTS_SUPPORT_TEAM_H

#include "tests/support/say.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TEAM_MOST = 16, TEAM_ENOUGH = 40 /* seconds for what should come to an end */ };

/* Of one member, for the test to read. */
struct told {
	ccs_status status; /* and the text of it, if it is a failure */
	char text[CCS_TEXT];
	_Atomic int step; /* how far it has come, in numbers of the test's own */
	uint64_t ms;	  /* that something took */
	int number;	  /* anything else */
};

struct team;

struct member {
	struct team *team;
	int rank, n;
	struct told *told; /* its own */
	void *of;	   /* the test's */
	struct ccs_comm *comm;
};

/* What a member does: true, if it is as it should be. Its communicator is freed at its end. */
typedef bool team_act(struct member *m);

struct team {
	int n;
	char job[64];
	unsigned seconds;  /* that it may take to meet; 0: TEAM_ENOUGH */
	struct told *told; /* [n] */
	pid_t pid[TEAM_MOST];
};

/** Starts a process each. team_end and team_free are to be called. */
void team_start(struct team *t, int n, team_act *act, void *of);
/** Until the member has come so far. False: not in TEAM_ENOUGH seconds. */
bool team_await(const struct team *t, int rank, int step);
/** Sends a signal to one. After SIGKILL its end is no failure. */
void team_signal(struct team *t, int rank, int signal);
/** Waits for their ends; true if all said that it was as it should be. Who is not at its end
 *  after so many seconds is killed, and it is false. */
bool team_end(struct team *t, unsigned seconds);
/** What they told is gone then. */
void team_free(struct team *t);
/** All of it. */
bool team_run(int n, team_act *act, void *of);

/** A member joins the others' communicator, the team's next. */
ccs_status member_join(struct member *m);
/** Tells the test how it went, and how far it is. */
ccs_status member_tell(struct member *m, ccs_status s);
void member_step(struct member *m, int step);
/** Waits until another has come so far. */
bool member_await(const struct member *m, int rank, int step);

/* ---- calls: $MODULES is where the tests' modules are ---------------------------------------- */

/** The module of that name; NULL, and why is printed, if there is none. */
struct ccs_module *team_module(const char *name);
/** member_join; whether it went well. */
bool member_joins(struct member *m);
/** A sum of all, in place: of x as it is; and of numbers that are made, and looked at. */
ccs_status member_sum(const struct member *m, const struct ccs_module *ring, int32_t *x,
		      size_t count);
bool member_sums(const struct member *m, const struct ccs_module *ring, int32_t *x, size_t count);
/** The same with a module and memory of its own. */
bool member_works(const struct member *m, size_t count);
/** Tells how far it is, and waits until all have come so far. */
bool member_meet(struct member *m, int step);

/* What a process has of the system: nothing of it may get lost. */
struct holdings {
	int files, maps; /* descriptors; mappings of our files without names */
};

struct holdings holdings_now(void);
/** Whether it is the same still; prints what is more. */
bool holdings_same(const struct holdings *before);

/** Milliseconds, of a clock that never goes back. */
uint64_t now_ms(void);

#endif
