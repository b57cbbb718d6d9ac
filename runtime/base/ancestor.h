/*
 * The processes that this one comes from: its parent, the parent's parent, and so on, from /proc.
 * It knows nothing of the rest of the runtime.
 */
#ifndef CCS_RUNTIME_BASE_ANCESTOR_H
#define CCS_RUNTIME_BASE_ANCESTOR_H

#include <stdbool.h>

struct ancestor {
	int pid;
	unsigned long long started; /* in the system's ticks since it booted: numbers come again */
};

/** The nearest that runs a program of that name, of at most 15 bytes, which is what the kernel
 *  keeps. False: there is none, or the system does not show it. O(ancestors). */
bool ancestor_find(const char *program, struct ancestor *out);

#endif
