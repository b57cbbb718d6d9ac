/*
 * A program's load on a machine: shared by simulation.c, which finds it, and timing.c, which runs it.
 */
#ifndef CCS_COMPILER_COST_TIMING_H
#define CCS_COMPILER_COST_TIMING_H

#include "compiler/cost/cost.h"

struct load {			  /* of a FIFO */
	struct machine_path path; /* n == 0: from a rank to itself */
	double latency;		  /* s, of the path */
	double share;		  /* bytes of all its messages / bytes of a block */
	uint32_t first;		  /* its messages are rows first, ... */
	uint32_t cells;		  /* the most of a message */
};

/* What sends along a link. */
struct link_use {
	uint32_t fifo; /* one of its FIFOs; NONE: it is not used */
	uint32_t task; /* all its messages come straight from this task; NONE: not so */
	bool shared;   /* several FIFOs of several tasks */
};

struct simulation {
	const struct program *p;
	struct machine *m;
	bool one; /* p is a quotient: rank 0 in place of all (orbit.c) */
	uint32_t slots;
	double tile;	     /* of a lowered program: the most bytes of a cell in a tile */
	uint32_t slices;     /* ... into which an operation is cut, if they are long enough */
	struct load *loads;  /* by FIFO */
	const double *takes; /* of a pipeline: by site, seconds of a computation; else NULL */
	/* By task and row: bytes of the operation / bytes of a block; of a computation, seconds. */
	double **shares;
	double computes; /* s: all computations */
	double longest;	 /* ... of a cell, the most; */
	double shortest; /* ... the least */
	double moved;	 /* ... of all operations */
	struct link_use *uses;
	uint32_t nmessages;
};

/** Whether the turn by 1 takes the machine to itself. O(links log links). */
bool orbit_turns(const struct machine *m);
/** The path of a quotient's message, as links of rank 0; n == 0: there is none, or it joins two switches. */
struct machine_path orbit_path(struct machine *m, uint32_t ahead);

#endif
