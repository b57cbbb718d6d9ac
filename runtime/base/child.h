/*
 * Processes that this one has started.
 */
#ifndef CCS_RUNTIME_BASE_CHILD_H
#define CCS_RUNTIME_BASE_CHILD_H

#include <errno.h>
#include <sys/types.h>
#include <sys/wait.h>

/** Waits until the child has ended, through interrupts. *status: as waitpid sets it; may be
 *  NULL. Does nothing if the child was already waited for. */
static inline void child_wait(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
}

#endif
