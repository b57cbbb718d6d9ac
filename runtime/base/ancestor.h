/*
 * The ancestors of this process: its parent, the parent's parent, and so on, from /proc.
 * Independent of the rest of the runtime.
 */
#ifndef CCS_RUNTIME_BASE_ANCESTOR_H
#define CCS_RUNTIME_BASE_ANCESTOR_H

#include <stdbool.h>

struct ancestor {
	int pid;
	unsigned long long started; /* clock ticks since boot; distinguishes reused PIDs */
};

/** The nearest ancestor that runs a program of that name, of at most 15 bytes (the kernel keeps
 *  no more). False: none, or the system hides it. O(ancestors). */
bool ancestor_find(const char *program, struct ancestor *out);

#endif
