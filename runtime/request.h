/*
 * Groups, and requests: calls that go on while their caller does something else. Private to the
 * runtime.
 *
 * A request is a group that goes on without its caller. Two threads of each communicator do the
 * work of its calls; they are made at first use: the runner waits for runs inside the engine, as
 * ccs_run would, in the order of their calls; the carrier moves messages (p2p.h). So each moves
 * the data that the other waits for. A lone engine's requests move when its rank's process tests,
 * waits, or calls anything else of the communicator.
 *
 * A request's runs of one communicator are a job. Jobs and messages of requests are counted by
 * handle, so that ccs_comm_free can wait for their ends: all end, as the threads keep the timeout.
 */
#ifndef CCS_RUNTIME_REQUEST_H
#define CCS_RUNTIME_REQUEST_H

#include "runtime/p2p.h"

/** Where the thread puts a call together: if a group is open the place that its communicator has for
 *  the first one, if that is free, so that it need not be copied; else `own`. */
struct call *group_room(const struct thread_state *t, struct ccs_comm *comm, struct call *own);
/** In the thread's open group; of group_room. CCS_ENOMEM, which is the group's then. */
ccs_status group_record(struct thread_state *t, struct call *c);
ccs_status group_record_message(struct thread_state *t, const struct transfer *m);

/** Frees a group's calls. */
void group_free_calls(struct call *calls);
/** Until all calls of a list are over; *s is the first failure. */
void group_take_part(struct call *calls, ccs_status *s);

/** Begins calls and messages, which are the request's then, and gone with it; and on a failure. */
ccs_status request_start(struct call *calls, struct transfer *messages, struct ccs_request **out);
/** The same of one call, which is copied; waits for its end. */
ccs_status request_run(const struct call *c);
/** Whether runs of requests are to be waited for by one thread alone, and there are any. */
bool request_busy(struct world *w);
/** Waits for what the handle has in flight. */
void request_drain(struct ccs_comm *c);
/** Ends the threads. Nothing is in flight. */
void request_stop(struct world *w);

#endif
