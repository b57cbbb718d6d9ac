/*
 * Whether an object was made by this process or by the process from which it was forked.
 *
 * A page that the kernel clears in a child (madvise(2), MADV_WIPEONFORK) answers without a system
 * call. Before Linux 4.14, which has no such pages, the process number is compared.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_ORIGIN_H
#define CCS_RUNTIME_BASE_LOAD_ORIGIN_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

struct origin {
	const volatile unsigned char *page; /* NULL: not available */
	pid_t pid;
};

void origin_set(struct origin *o);
void origin_free(struct origin *o);

static inline bool origin_here(const struct origin *o)
{
	return o->page ? *o->page != 0 : o->pid == getpid();
}

#endif
