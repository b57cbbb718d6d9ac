/*
 * A simulator of plans that shares no code with the compiler or the runtime: it
 * reads what `ccc --emit=json` prints, and executes it under a scheduler that
 * may run any worker next. It knows the plan format only from its description:
 * workers, FIFOs of some places, waits, cells, initial reads, tiles.
 *
 * A value is a sum of contributions, held as one number: contribution (rank,
 * cell) weighs sim_weight(rank, cell), modulo 2^64. Two different multisets get
 * the same number with a probability of about 2^-64.
 */
#ifndef CCS_TESTS_PLAN_SIM_H
#define CCS_TESTS_PLAN_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { ABSENT = -1 };
enum sim_direction { SIM_IN, SIM_OUT, SIM_INOUT };

struct sim_buffer {
	enum sim_direction direction;
	int chunks, blocks, cell;
};

struct sim_op { /* absent parts are ABSENT */
	int in, out, a, b, dst, n, len, remote;
	bool a_initial, b_initial;
	bool held;     /* its message may be read in the cells that hold it */
	bool read;     /* ... even if messages with a remote cell are written there */
	bool len_same; /* all its cells are as long as cell len */
	int wait, nwaits;
	int line;
};

struct sim_wait {
	int worker, ops;
};

struct sim_worker {
	int rank, op, nops;
};

struct sim_fifo {
	int src, dst, src_worker, dst_worker, messages, max_cells;
};

/* What a final cell must hold; a table of nranks * cells. An inout's cell that no
 * operation writes keeps its initial value, which executors copy. */
struct sim_want {
	bool asked;
	uint64_t sum;
};

/* Rank `rank` ends after ranks first .. first + n - 1 have begun. */
struct sim_after {
	int rank, first, n;
};

struct sim_plan {
	int nranks, root, cells, scratch, max_message;
	int most; /* most cells in one operation */
	int nbuffers, nworkers, nops, nwaits, nfifos;
	struct sim_buffer *buffers;
	struct sim_worker *workers;
	struct sim_op *ops;
	struct sim_wait *waits;
	struct sim_fifo *fifos;
	struct sim_after *after;
	int nafter;
	struct sim_want *promised; /* what the plan itself says that it computes */
};

struct sim_module {
	char contract[32];
	int slots;
	bool even_counts;
	bool runs;    /* lies chunk after chunk, in all buffers */
	bool columns; /* has a buffer `by column`, and none that is `sized` */
	int nplans;
	struct sim_plan *plans;
};

struct sim_config {
	int slots; /* places of a FIFO */
	int tiles;
	bool in_place;	     /* send and receive buffers of an inout are one */
	bool even_counts;    /* values may move to other places of blocks cut alike */
	bool scaled;	     /* initial values are scaled when they are read */
	bool free_remote;    /* do not compare `remote` with what the receiver does */
	bool direct;	     /* messages with a remote cell are written there by their sender */
	bool held;	     /* messages that are held are read in their cells; if
				   `direct`, those only that are marked so */
	int slow, slow_from; /* worker `slow` (or ABSENT) moves only if no other can, once
				   it has made slow_from moves, two an operation */
	uint64_t seed;
};

struct sim_failure {
	char text[200];
};

uint64_t sim_weight(int rank, int cell);
/** Cells of buffers in one class are equally long for every count; or for even ones. */
int sim_length_class(const struct sim_plan *p, int cell, bool even_counts);

/** Reads one module; false if the text is no such thing. */
bool sim_load(FILE *f, struct sim_module *m);
void sim_free(struct sim_module *m);

/** What the cells of a plan must hold at the end; false: no such collective, or not with
 * these buffers. */
bool sim_contract(const char *contract, const struct sim_plan *p, struct sim_want *want);

/** What does not depend on any order: numbers in range, ends of FIFOs. */
bool sim_check(const struct sim_plan *p, struct sim_failure *why);
/** One run; false, and why, if it is stuck, reads nonsense or ends with wrong values. */
bool sim_run(const struct sim_plan *p, const struct sim_want *want, const struct sim_config *c,
	     struct sim_failure *why);
enum { SIM_RUNS = 8 };
/** The k-th of a plan's runs: FIFOs as compiled or without end, 1 to 3 tiles. */
struct sim_config sim_nth_config(const struct sim_module *m, const struct sim_plan *p, int k);
/** Most messages of a FIFO. */
int sim_most_messages(const struct sim_plan *p);
/** All of these, and several runs: FIFOs as compiled or without end, 1 to 3 tiles, in place
 *  or not, direct and held messages or not. */
bool sim_holds(const struct sim_module *m, const struct sim_plan *p, const struct sim_want *want,
	       struct sim_failure *why);
/**
 * Whether two operations of a rank touch one cell, at least one to write it, and
 * neither must be done before the other begins, whatever the depth of FIFOs: by
 * happens-before, exact for all interleavings. A plan that sticks is no race.
 */
bool sim_races(const struct sim_plan *p, bool in_place, struct sim_failure *why);
/** The same by the order of workers and waits alone: what messages order is a race. */
bool sim_local_races(const struct sim_plan *p, bool in_place, struct sim_failure *why);

/**
 * Whether exactly the free messages have a remote cell: those that their receiver stores
 * unchanged where all that it does with these cells before must be done before the
 * send begins, whatever the depth of FIFOs.
 */
bool sim_direct(const struct sim_plan *p, struct sim_failure *why);
/** Whether none but free messages have one. */
bool sim_free_only(const struct sim_plan *p, struct sim_failure *why);
/**
 * Whether exactly those messages are held that can be: that lie in cells of their sender's
 * rank all of whose later writes must begin after the receiving operation. A rank that copies
 * its initial value to its place changes nothing of a message that is this value.
 */
bool sim_held(const struct sim_plan *p, struct sim_failure *why);
/** Whether none but these are. */
bool sim_held_only(const struct sim_plan *p, struct sim_failure *why);
/**
 * Whether exactly those messages are read in their cells, beside direct ones, that can be: held
 * and without a remote cell, and what is written directly into their cells later is sent
 * after the receiving operation.
 */
bool sim_reads(const struct sim_plan *p, struct sim_failure *why);
/** Whether none but these are. */
bool sim_reads_only(const struct sim_plan *p, struct sim_failure *why);
/** Whether the ranks end in the order that the plan promises, in every run. */
bool sim_orders(const struct sim_plan *p, struct sim_failure *why);
/** The operation that receives what operation `op` sends; ABSENT: none. */
int sim_receiver(const struct sim_plan *p, int op);
/** Whether it stores its message and nothing else, and some of it. */
bool sim_stores(const struct sim_op *o);
/** Whether it copies initial values to their own cells: in place that changes nothing. */
bool sim_keeps(const struct sim_op *o);
/** The first of the cells that hold what an operation sends, when it is done: where it stores
 *  it, or else has read it unchanged; ABSENT: none. */
int sim_source(const struct sim_op *o);
/** Whether an operation reads or writes one of n cells (initial values lie in them). */
bool sim_touches(const struct sim_op *o, int cell, int n);

#endif
