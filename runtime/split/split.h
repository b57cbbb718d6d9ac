/*
 * Splitting a communicator: what ccs_comm_split, ccs_comm_group and ccs_mesh_slice share. See
 * split.c. Private to the runtime.
 */
#ifndef CCS_RUNTIME_SPLIT_SPLIT_H
#define CCS_RUNTIME_SPLIT_SPLIT_H

#include "runtime/rendezvous.h"

/** That `call` can be made at all; else its group, if one is open, has failed. */
ccs_status split_enter(const struct ccs_comm *comm, const char *call);
/** Comes with a.comm, a.out and a.own; or, if `wrong`, to tell the others of this thread's last
 *  failure. */
ccs_status split_submit(struct attendee *a, ccs_status wrong);

#endif
