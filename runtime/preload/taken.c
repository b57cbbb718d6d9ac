/*
 * The collectives that can be taken: their names, and what they have. O(1).
 */
#include "runtime/preload/preload.h"

#include <string.h>

static const struct {
	const char *name, *also; /* MPI's name; the contract's */
	bool reduces, rooted;
} collectives[COLLECTIVES] = {
	[ALLREDUCE] = { "allreduce", "allreduce", true, false },
	[REDUCE_SCATTER_BLOCK] = { "reduce_scatter_block", "reduce_scatter", true, false },
	[ALLGATHER] = { "allgather", "allgather", false, false },
	[BROADCAST] = { "broadcast", "bcast", false, true },
	[REDUCE] = { "reduce", "reduce", true, true },
	[ALLTOALL] = { "alltoall", "all_to_all", false, false },
	[GATHER] = { "gather", "gather", false, true },
	[SCATTER] = { "scatter", "scatter", false, true },
	[BARRIER] = { "barrier", "barrier", false, false },
};

const char *collective_name(enum collective what)
{
	return collectives[what].name;
}

bool collective_reduces(enum collective what)
{
	return collectives[what].reduces;
}

bool collective_rooted(enum collective what)
{
	return collectives[what].rooted;
}

bool collective_find(const char *name, enum collective *what)
{
	for (int i = 0; i < COLLECTIVES; i++) {
		*what = (enum collective)i;
		if (!strcmp(name, collectives[i].name) || !strcmp(name, collectives[i].also))
			return true;
	}
	return false;
}
