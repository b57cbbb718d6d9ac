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

struct machine_link {
	uint32_t src, dst;
	double bandwidth, latency; /* bytes/s; s */
};

/* Links, by source and destination. */
struct machine {
	uint32_t nranks;
	const char *name; /* of its topology */
	struct machine_link *links;
	uint32_t nlinks;
	uint32_t *first; /* [nranks + 1] rows of links, by source */
};

/** The links of the topology of the instance's schedule, in c->arena. NULL: a mistake, which is
 *  reported: an N that it does not admit; a link without both times (E0702). O(links log links). */
struct machine *machine_make(struct ctx *c, const struct instance *in);
/** The row of a link; NONE: there is none. O(log links of a rank). */
uint32_t machine_link(const struct machine *m, uint32_t src, uint32_t dst);

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
