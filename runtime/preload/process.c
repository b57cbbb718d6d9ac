/*
 * The one pointer to this process's state. NULL: no call is taken. A function of MPI has no
 * argument that leads to the state, so a writable global is needed.
 */
#include "runtime/preload/preload.h"

static _Atomic(struct preload *) of_process;

struct preload *preload_get(void)
{
	return of_process;
}

struct preload *preload_set(struct preload *p)
{
	return atomic_exchange(&of_process, p);
}
