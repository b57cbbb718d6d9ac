/*
 * What this process has of it all: one pointer. NULL: nothing is taken.
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
