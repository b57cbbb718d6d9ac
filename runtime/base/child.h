/*
 * Processes that this one has started.
 */
#ifndef CCS_RUNTIME_BASE_CHILD_H
#define CCS_RUNTIME_BASE_CHILD_H

#include <errno.h>
#include <sys/types.h>
#include <sys/wait.h>

/** Waits until the child has ended, whatever interrupts it. *status: how, as waitpid returns it;
 *  NULL: never mind. Nothing happens if it was waited for before. */
static inline void child_wait(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
}

#endif
