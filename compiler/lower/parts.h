/*
 * Shared by the files of the lowering: lower.c, aside.c, flow.c, fuse.c, waits.c.
 *
 * Ranks are lowered one after another. A rank's operations are first put in one line: a sequence
 * in any order that its waves and waits allow. (In a program without races, conflicting operations
 * have the same order in all of these.) Each operation becomes an item:
 *
 *   line   lower.c   the rank's tasks -> items, in one line
 *   aside  aside.c   removes copies of the rank's own value to scratch
 *   flow   flow.c    finds the value that an item reads, the class of local operations, and pairs
 *                    of a receive and a send that can be fused
 *   fuse   fuse.c    ends of FIFOs -> workers; order in a worker; fused items
 *   waits  waits.c   waits between workers
 *   rows   lower.c   items -> tasks of the lowered program
 */
#ifndef CCS_COMPILER_LOWER_PARTS_H
#define CCS_COMPILER_LOWER_PARTS_H

#include "compiler/check/clocks.h"
#include "compiler/lower/lowered.h"
#include "lang/base/union_find.h"

/* How much a candidate combines. All but PLAIN can add waiting, and so a deadlock. */
enum lower_level {
	LOWER_ONE,   /* one worker a rank, in the order of the line */
	LOWER_FUSE,  /* workers of two ends, receives and sends fused */
	LOWER_MERGE, /* workers of two ends */
	LOWER_PLAIN, /* a worker an end: never waits where the program does not */
	LOWER_LEVELS
};

struct item {
	struct op op;		/* with the flags of a lowered operation */
	uint32_t task;		/* of the program */
	uint32_t wave;		/* number of its wave in the line */
	uint32_t node;		/* the worker that runs it (line.parent); NONE: OP_FRESH, OP_WAIT */
	uint32_t partner;	/* a receive's send of the same cells, and back; or NONE */
	uint32_t ordinal;	/* of a send or a receive, on its FIFO */
	uint32_t via;		/* of a local operation: the receive that just stored its operand;
				   or NONE */
	uint32_t unread;	/* with `via`: cells of the receive that no other item reads */
	uint32_t after;		/* of a reduction: the item right before it that wrote its addend;
				   or NONE */
	uint32_t dead;		/* receive with a partner: cells that no item reads after it */
	uint32_t worker, index; /* its place, set by fuse */
	uint32_t wait, nwaits;	/* rows of line.waits, set by waits */
	bool gone;		/* part of another item: a fused send, a receive in `via` */
};

static inline struct item item_of(struct op op, uint32_t task)
{
	return (struct item){
		.op = op, .task = task, .node = NONE, .partner = NONE, .via = NONE, .after = NONE
	};
}

/* Operation `index` of worker `worker` (both of the rank) must have finished. */
struct item_wait {
	uint32_t worker, index;
};

struct cell_state {
	uint32_t access;   /* last item that touched the cell, or NONE */
	uint32_t writer;   /* last item that wrote it, or NONE */
	uint32_t readers;  /* row of line.readers: items that read it since; or NONE */
	uint8_t direction; /* enum direction of its buffer */
	bool written;	   /* no longer the caller's value */
	bool keep;	   /* its initial value must be copied at the start */
	bool kept;	   /* ... and was */
	bool kept_group;   /* of a root: the group must be copied at the start */
};

struct reader {
	uint32_t item, next;
};

/* The line of one rank; the next rank reuses its arrays. */
struct rank_ops {
	struct arena *arena;
	const struct program *p;
	const struct contract *k;
	uint32_t slots;
	enum lower_level level;
	bool ordered; /* sends stay after the receives before them (ccs(5) 4, after); the
				   line then has the tasks' OP_WAITs, for waits.c */
	uint32_t rank;
	uint32_t extra_site; /* for copies that no statement asked for */

	struct item *items;
	uint32_t nitems, capitems;
	uint32_t nline;	  /* items 0 .. nline-1 are the program's */
	uint32_t nstarts; /* the next nstarts items run first; the rest run last */
	uint32_t nwaves;

	struct cell_state *cells; /* buffers' cells, then scratch */
	uint32_t *groups;	  /* union-find: the group of each cell (flow.c, group_read) */
	uint32_t ncells;

	/* Union-find over FIFO ends and local operations. */
	uint32_t *parent;
	bool *has_end;
	uint32_t *worker_of;
	uint32_t nnodes, capnodes;

	/* By FIFO. Each end belongs to one rank, so these need no reset. */
	uint32_t *send_node, *recv_node;
	uint32_t *sends, *placed; /* sends of the line; those placed in workers */
	uint32_t *received;	  /* receives already seen */
	uint32_t *vote, *votes;	  /* receiving end: the sending end it feeds most */
	uint32_t *feeder;	  /* sending end: the receiving end that feeds it most */
	bool by_chunk;		  /* as in struct ctx */
	uint32_t *load;		  /* number of slots that would hold all its messages */
	uint32_t *sums, *joined;  /* receiving end: receives of sums; those that continue another
				     receive's sum, or are continued by one */
	bool *send_merged, *recv_merged;
	uint32_t *own; /* by task: worker of local operations without an end */

	uint32_t *count; /* by worker: items placed */
	uint32_t nworkers, capworkers;
	struct item_wait *waits;
	uint32_t nwaits, capwaits;
	struct clocks clocks; /* of waits.c */
	struct reader *readers;
	uint32_t nreaders, capreaders;
};

/* The k-th item in the order of execution: starts, the text, ends. */
static inline uint32_t line_at(const struct rank_ops *l, uint32_t k)
{
	if (k < l->nstarts)
		return l->nline + k;
	return k < l->nstarts + l->nline ? k - l->nstarts : k;
}

/* aside.c */
void aside_line(struct rank_ops *l);

/* flow.c */
void flow_analyze(struct rank_ops *l);
void flow_union(struct rank_ops *l, uint32_t a, uint32_t b);

/* fuse.c */
void fuse_line(struct rank_ops *l);
bool fuse_chains(struct rank_ops *l);

/* waits.c */
void waits_compute(struct rank_ops *l);

#endif
