/*
 * What an instance costs on a machine: the time that its operations take, and why.
 *
 *     topology with times, N --machine_make--> machine
 *     program that is right, machine, size --simulate--> the time of a call, and what limits it
 *
 * The program is the one that was checked, or its lowered form: the same operations, FIFOs and slots
 * (program.h), with times on the events that the deadlock check runs (check/deadlock.h). The model is LogGP
 * (Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995) on paths of links, with workers; docs/cost.md has
 * it in full. A lowered program runs once for each tile, as an executor runs its plan (runtime/plan/plan.h,
 * Tiles). Of a program that is not lowered, messages are whole, and a send and its receive are over together.
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

/** Finds the paths and the lengths of messages, in c->arena. `len`: of its proof. `tile`, of a lowered
 *  program: the most bytes of a cell in a tile; all bits set: as the plan is cut. `slices`: into which an
 *  operation is cut, so that the first goes on while the next one arrives. NULL: a message has no
 *  path on the machine, which is reported (E0702). O(operations + links of the paths). */
struct simulation *simulation_new(struct ctx *c, const struct program *p, uint32_t *const *len,
				  struct machine *m, uint64_t tile, uint32_t slices);

/** The same for a quotient (struct symmetric), with messages whole, where one rank decides (orbit.c). NULL: it does
 *  not; nothing is reported. In c->arena. */
struct simulation *simulation_of_one(struct ctx *c, const struct program *one, struct machine *m);

/** The same of a pipeline's program (pipe/pipe.h): a message is a block, and `takes` has, by site, the seconds of
 *  a computation. `m`: NULL: messages take no time. */
struct simulation *simulation_of_pipeline(struct ctx *c, const struct program *p,
					  const double *takes, struct machine *m);

struct predicted {
	double seconds;
	bool over; /* not if it stands still: a deadlock of a pipeline */
	/* Of the longest chain of messages, each of which leaves when the one before it arrives, or when its
	 * link is free: */
	double latency;	   /* s, of all its messages */
	uint32_t messages; /* their number */
	uint32_t link;	   /* the row of the link that is busy longest; NONE: no message is sent */
	double busy;	   /* s, of that link */
	uint32_t rank;	   /* that has the worker that works longest; NONE: workers take no time */
	double working;	   /* s, of that worker */
};

/* When what happens in a call: what simulate() notes if it is asked to. */
struct timeline {
	struct op_time { /* by their starts */
		uint32_t task, row, tile;
		double start, end; /* s: its wave has started; it has finished, below 0: never */
		double bytes;
	} *ops;
	uint32_t nops, capops;
	struct message_time {
		uint32_t send, recv;	/* rows of ops */
		double leaves, arrives; /* s: its first link takes it; it is at the receiver */
		uint32_t after; /* row of the message before which it could not leave; NONE: none */
		bool held; /* ... since that one held a link of its path; else its arrival was waited for */
	} *messages;
	uint32_t nmessages;
	uint32_t last; /* row of the message that arrives last; NONE: there is none */
};

/** Whether a call of that size has few enough tiles. */
bool simulation_fits(const struct simulation *s, double block);
/** A call with that many bytes in a block of `count` elements (ccs(5) 4). `noted`, if not NULL, is zero,
 *  and gets what happens. In c->scratch, which the caller empties. O(operations log operations), for each
 *  tile. */
struct predicted simulate(struct ctx *c, const struct simulation *s, double block,
			  struct timeline *noted);

/* An operation in reports. */
struct op_shown {
	uint32_t in, out; /* the messages that it receives and sends; or NONE */
	uint32_t
		lane; /* of its rank: in a lowered program that of its worker, else what is at once differs */
	double waits;  /* s: from then on it waits, until it */
	double begins; /* ... begins */
};

/* A simulated call, for its reports. */
struct simulated {
	const struct program *p; /* as it was simulated: lowered, or not */
	const struct timeline *t;
	const char *machine; /* its name, as --on has it */
	const char *limit;   /* in words */
	uint64_t bytes;	     /* of a rank's larger buffer */
	double block, seconds;
};

/* ---- contest.c: rows of the table ------------------------------------------------------------------ */

struct cost_row {
	const char *file, *schedule, *contract;
	const char *machine; /* "": none */
	uint32_t nranks;
	int64_t root; /* below 0: none is chosen */
	uint64_t bytes;
	double us, algbw, busbw; /* GB/s of 10^9 bytes; below 0: a pipeline has none */
	double bound_us;	 /* below 0: not known */
	const char *limit;
};

/* The rows of several schedules. */
struct contest {
	struct arena *arena;
	struct cost_row *rows;
	size_t n, cap;
	bool refused; /* -o cannot be written */
};

/** The head of a schedule's table, for each N; of CSV in all one, at the start of `out`. */
void cost_print_head(FILE *out, enum print_format format, const struct cost_row *r);
void cost_print_row(FILE *out, enum print_format format, const struct cost_row *r);
/** Adds a copy of the row. */
void contest_add(struct contest *x, const struct cost_row *r);
/** Prints the best at each size, or all rows as CSV or JSON. Returns NULL, or what prevents it. */
const char *contest_print(const struct contest *x, enum print_format format, FILE *out);

/* ---- timeline.c: reports of what happens ---------------------------------------------------- */

/** The operation of a program that is noted. */
const struct op *timeline_op(const struct program *p, const struct op_time *x);
/** Its place: "ring_allreduce.ccs:12", or the name of its site. In c->scratch. */
const char *timeline_place(struct ctx *c, const struct program *p, const struct op *o);
/** Prints the longest chain of messages, a line each: when it leaves and arrives, its ranks, chunks and
 *  place, and the message that it waited for; of a long chain the first and the last. O(messages of the chain). */
void timeline_print_chain(struct ctx *c, const struct simulated *x, FILE *out);
/** The messages of that chain are marked. In c->scratch. */
bool *timeline_chain(struct ctx *c, const struct timeline *t);
/** By noted operation. `lanes` [ranks]: of each rank. In c->scratch. O(operations * those at once). */
struct op_shown *timeline_shown(struct ctx *c, const struct simulated *x, uint32_t *lanes);

/* ---- drawn.c, traced.c ------------------------------------------------------------------------- */

/** Draws ranks over time, as SVG or a page. False: *why says why not. O(operations). */
bool timeline_draw(struct ctx *c, const struct simulated *x, const struct shown *view, FILE *out,
		   const char **why);
/** Prints the call as a trace, in the form of `ccrun --trace`. False: no memory. O(operations). */
bool timeline_trace(struct ctx *c, const struct simulated *x, FILE *out);

#endif
