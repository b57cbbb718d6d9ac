/*
 * Whether a thing was made by this process, or by another, from which it was forked.
 *
 * A page that the kernel empties in a child answers that without a call; where it does
 * not know of such pages (before Linux 4.14), the number of the process does.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_ORIGIN_H
#define CCS_RUNTIME_BASE_LOAD_ORIGIN_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

struct origin {
	const volatile unsigned char *page; /* NULL: there is none */
	pid_t pid;
};

void origin_set(struct origin *o);
void origin_free(struct origin *o);

static inline bool origin_here(const struct origin *o)
{
	return o->page ? *o->page != 0 : o->pid == getpid();
}

#endif
