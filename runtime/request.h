/*
 * Groups, and requests: calls that continue while their caller does other work. Private to the
 * runtime.
 *
 * A request is a group that runs without its caller. Two threads of each communicator, made at
 * first use, do the work of its calls: the runner waits for runs inside the engine, as ccs_run
 * would, in the order of their calls; the carrier moves messages (p2p.h). So a run and a message
 * that wait for each other on other ranks both go on. A lone engine's requests move when its
 * process tests, waits, or calls any other function of the communicator.
 *
 * A request's runs on one communicator are a job. Jobs and messages of requests are counted by
 * handle, so that ccs_comm_free can wait for their ends. They all end, because the threads
 * observe the timeout.
 */
#ifndef CCS_RUNTIME_REQUEST_H
#define CCS_RUNTIME_REQUEST_H

#include "runtime/p2p.h"

/** Where the thread builds a call: in an open group, the communicator's place for the first
 *  call, if free, which saves a copy; else `own`. */
struct call *group_room(const struct thread_state *t, struct ccs_comm *comm, struct call *own);
/** Records a call from group_room in the thread's open group. CCS_ENOMEM, which also fails the
 *  group. */
ccs_status group_record(struct thread_state *t, struct call *c);
ccs_status group_record_message(struct thread_state *t, const struct transfer *m);

/** Frees a group's calls. */
void group_free_calls(struct call *calls);
/** Takes part until all calls of a list are over; *s is the first failure. */
void group_take_part(struct call *calls, ccs_status *s);

/** Begins calls and messages, and takes them over, also on failure. */
ccs_status request_start(struct call *calls, struct transfer *messages, struct ccs_request **out);
/** The same for one call, which is copied if it is not prepared; waits for its end. */
ccs_status request_run(struct call *c);
/** Whether there are runs of requests that only one thread may wait for. */
bool request_busy(struct world *w);
/** Waits for all requests of the handle. */
void request_drain(struct ccs_comm *c);
/** Ends the threads. No request may be in flight. */
void request_stop(struct world *w);

#endif
