/*
 * What an instance costs on a machine: the time that its operations take, and why.
 *
 *     topology with times, N --machine_make--> machine
 *     program that is right, machine, size --simulate--> the time of a call, and what limits it
 *
 * The program is the one that was checked: the same waves, FIFOs and slots (program.h), with times on
 * the events that the deadlock check runs (check/deadlock.h). Model, with latency L and bandwidth b of
 * each link (LogGP without overheads: Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995):
 *
 *   - a message leaves when its wave has started and its slot is free, so receive k - slots of the FIFO
 *     has started;
 *   - a link carries messages one after another, in the order in which they leave; each takes its bytes
 *     / b, and arrives L later;
 *   - a send and its receive finish at the arrival (a receive not before its wave starts), a wave
 *     finishes with its last operation, and copies inside a rank cost nothing.
 */
#ifndef CCS_COMPILER_COST_COST_H
#define CCS_COMPILER_COST_COST_H

#include "compiler/check/check.h"

/* The nodes of a machine: its ranks, 0 to nranks - 1, then its switches, which carry messages and hold
 * no data. */
struct machine_link {
	uint32_t src, dst;	   /* nodes */
	double bandwidth, latency; /* bytes/s; s */
};

/* What ranks cost, ccs(5) 4. */
struct machine_cost {
	double call;   /* s, the start of a call */
	double step;   /* s, an operation at each of its ends */
	double worker; /* bytes/s that one worker sends or receives; 0: as fast as its links */
	double reduce; /* bytes/s that one worker reduces; 0: without end */
};

/* Links, by source and destination. */
struct machine {
	uint32_t nranks, nnodes;
	const char *name;		 /* of its topology */
	const struct switches *switches; /* for their names */
	uint32_t nswitches;
	struct machine_cost cost;
	struct machine_link *links;
	uint32_t nlinks;
	uint32_t *first; /* [nnodes + 1] rows of links, by source */
	/* Of a machine with switches, for paths: */
	struct arena *arena;
	uint32_t *into,
		*back; /* [nnodes + 1] by destination: its rows in `back`, which holds rows of links */
	struct routes **routes; /* [nranks] by source: its paths to switches; NULL: not asked for */
	uint32_t *place,
		placed; /* by switch: 1 + its place in the routes of rank `placed`; 0: none */
};

/* The links of the path of a message, in order. */
struct machine_path {
	const uint32_t *links; /* rows */
	uint32_t n;	       /* 0: there is no path */
};

/** The links of the topology of the instance's schedule, in c->arena. NULL: a mistake, which is
 *  reported: an N that it does not admit; a link without both times (E0702). O(links log links). */
struct machine *machine_make(struct ctx *c, const struct instance *in);
/** The row of a link between two nodes; NONE: there is none. O(log links of the source). */
uint32_t machine_link(const struct machine *m, uint32_t src, uint32_t dst);
/** The path from a rank to another one (ccs(5) 4): through switches only, of the fewest links; of these
 *  the one with the widest narrowest link. It stays valid as long as the machine. O(links of the source and
 *  of switches) for the first path of a source, then O(links to the destination). */
struct machine_path machine_path(struct machine *m, uint32_t src, uint32_t dst);
/** The name of a node for messages: "rank 3", or that of its switch. */
const char *machine_node(const struct machine *m, struct arena *a, uint32_t node);

/* A program that is to be simulated for several sizes. */
struct simulation;

/** Finds the links and the lengths of messages, in c->arena. `len`: of its proof. NULL: a message has
 *  no link on the machine, which is reported (E0702). O(operations). */
struct simulation *simulation_new(struct ctx *c, const struct program *p, uint32_t *const *len,
				  const struct machine *m);

struct predicted {
	double seconds;
	/* Of the longest chain of messages, each of which leaves when the one before it arrives, or when its
	 * link is free: */
	double latency;	   /* s, of all its messages */
	uint32_t messages; /* their number */
	uint32_t link;	   /* the row of the link that is busy longest; NONE: no message is sent */
	double busy;	   /* s, of that link */
};

/** A call with that many bytes in a block of `count` elements (ccs(5) 4). O(operations log
 *  operations). */
struct predicted simulate(struct ctx *c, const struct simulation *s, double block);

#endif
