/*
 * MPI's collectives that can be taken over, with int counts and, from MPI 4, with 64-bit counts.
 * In: a call of the program. Out: it was run by a module or by MPI.
 */
#include "runtime/preload/preload.h"

#include <stdio.h>

/* The slow path: the call is not like a recent one of its communicator. */
static bool take(struct preload *p, const struct job *j, int *e)
{
	struct held *h = held_of(p, j->comm);
	char why[WHY], by[WHY + 20];
	struct order o;

	if (!h)
		return false;
	if (!p->entries.named[j->what]) {
		atomic_fetch_add_explicit(p->unnamed + j->what, h->counts, memory_order_relaxed);
		return false;
	}
	if (job_again(h, j, e))
		return true;
	if (decide(p, h, j, &o, why, sizeof(why))) {
		entry_count(o.entry, h);
		*e = job_run(h, j, &o);
		return true;
	}
	snprintf(by, sizeof(by), "MPI: %s", why);
	if (*why && h->counts)
		tally_add(p, j->what, by, 1);
	return false;
}

bool preload_takes(const struct job *j, int *e)
{
	struct preload *p = preload_get();
	struct held *h = p ? held_recent(p, j->comm) : NULL;

	if (h && job_again(h, j, e))
		return true;
	return p && take(p, j, e);
}

#pragma GCC visibility push(default)

int MPI_Barrier(MPI_Comm comm)
{
	struct job j = { .what = BARRIER, .comm = comm };
	int e;

	return preload_takes(&j, &e) ? e : PMPI_Barrier(comm);
}

#define COUNT int
#define NAME(name) name
#include "runtime/preload/calls.inc"
#undef COUNT
#undef NAME

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define NAME(name) name##_c
#include "runtime/preload/calls.inc"
#endif

#pragma GCC visibility pop
