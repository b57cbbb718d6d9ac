/*
 * The least time that any schedule of a collective can take on a machine, from its cuts.
 */
#ifndef CCS_COMPILER_COST_BOUND_H
#define CCS_COMPILER_COST_BOUND_H

#include "compiler/cost/cost.h"

/* The contracts of the prelude. */
enum collective {
	ALLREDUCE,
	ALLGATHER,
	REDUCE_SCATTER,
	BROADCAST,
	REDUCE,
	GATHER,
	SCATTER,
	ALL_TO_ALL,
	BARRIER,
	NCOLLECTIVES
};

/** Their names, [NCOLLECTIVES] and a NULL. */
extern const char *const bound_names[];

/** Whether the collective has a root. */
static inline bool bound_has_root(enum collective k)
{
	return k >= BROADCAST && k <= SCATTER;
}

struct bound {
	double per_byte; /* s, of a byte of a rank's larger buffer; 0: N = 1, or a barrier */
	double near;	 /* s: the start of a call, and the latency between the nearest ranks */
	double far;	 /* s: ... and the latency of the farthest ranks */
	const char *cut; /* what binds, in words: "the links from spine to rank 3: 25 GB/s" */
};

/** Finds the bound. `root` counts if the collective has one. `most`: links that flows may look at; beyond
 *  them the bound may be less than the machine's. False: some rank has no path to another
 *  that needs its data, which is reported (E0702). bound.c has the cost. */
bool bound_find(struct ctx *c, const struct machine *m, enum collective k, uint32_t root,
		uint64_t most, struct bound *to);

/** The least time of a call with that many bytes in a rank's larger buffer, in s. */
static inline double bound_seconds(const struct bound *b, double bytes)
{
	double whole = bytes > 0 && b->per_byte > 0 ? b->near + bytes * b->per_byte : 0;

	return whole > b->far ? whole : b->far;
}

#endif
