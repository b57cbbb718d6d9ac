/*
 * Whether ranks that are processes of their own leave a barrier too early.
 */
#ifndef TESTS_SUPPORT_ORDER_H
#define TESTS_SUPPORT_ORDER_H

#include "runtime/cuda/gpu_comm.h"

struct order; /* shared by the processes; made before they are */

struct order *order_make(int nranks);
void order_free(struct order *o);
/** By all ranks together: calls `m`, a module without buffers on GPUs, or ccs_barrier if that is
 * NULL, once for each rank that comes late. *early: how often this rank was through before another had begun. */
ccs_status order_try(struct order *o, const struct ccs_module *m, struct ccs_comm *comm,
		     int *early);

#endif
