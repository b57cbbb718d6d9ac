/*
 * Splitting a communicator: functions shared by ccs_comm_split, ccs_comm_group and
 * ccs_mesh_slice. See split.c. Private to the runtime.
 */
#ifndef CCS_RUNTIME_SPLIT_SPLIT_H
#define CCS_RUNTIME_SPLIT_SPLIT_H

#include "runtime/rendezvous.h"

/** Checks that `call` can be made. If not, an open group fails. */
ccs_status split_enter(const struct ccs_comm *comm, const char *call);
/** Comes with a.comm, a.out and a.own. `wrong`: comes only to report this thread's last failure
 *  to the other ranks. */
ccs_status split_submit(struct attendee *a, ccs_status wrong);

#endif
