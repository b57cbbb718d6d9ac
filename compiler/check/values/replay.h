/*
 * Runs a program on symbolic values, in an order that deadlock() found.
 *
 * In: a matched program without races, and the order. Out: every cell's final value, the volume
 * that each rank sent, and each task's depth, the waves with messages on the longest chain that ends
 * there. A hook may watch every store. O(1) for an operation and chunk, as combining two values is
 * (value.h).
 */
#ifndef CCS_COMPILER_CHECK_VALUES_REPLAY_H
#define CCS_COMPILER_CHECK_VALUES_REPLAY_H

#include "compiler/check/values/value.h"

/* A task while it runs. Small, as there are many and they should fit the nearest cache. */
struct runner {
	const struct op *ops;
	uint64_t sent; /* chunks, where all have one size */
	size_t base;   /* its cells are replay.state[base + cell], modulo 2^64 */
	uint32_t next; /* row of the wave that starts or finishes next */
	uint32_t nops;
	uint32_t depth; /* waves with messages on the longest chain up to here */
	uint32_t rank : 31;
	uint32_t running : 1; /* the wave has started */
};

/* A message in flight; its row is reused after it has arrived. */
struct sent {
	uint32_t value;	   /* if it has one cell */
	uint32_t depth;	   /* of the sender when it began */
	uint32_t next;	   /* in its FIFO, or in the free list; NONE: last */
	uint32_t row;	   /* of the sender's operation */
	uint32_t at, room; /* values of more cells: replay.more[at, +room) */
};

/* Messages of a FIFO in flight, oldest first. At most two messages, of one cell each, are in few[0]
 * and few[1]; the value is NONE where there is no message. Otherwise all are in a list:
 * few[1].value is LISTED, and few[0] has the list's rows of `sent`. */
#define LISTED (POISON - 1) /* no value has this number: check_room */
struct queue {
	struct {
		union {
			uint32_t value; /* as in `sent` */
			uint32_t head;	/* NONE: empty */
		};
		union {
			uint32_t depth;
			uint32_t tail;
		};
	} few[2];
};

/* Passed to the hook: a cell gets a value, or a message without chunks arrives. */
struct stored {
	uint32_t task, row;
	uint32_t cell;		/* NONE: no chunks, no values */
	uint32_t before, after; /* values */
	uint32_t depth;		/* of the task after the wave */
	bool reduced;		/* `after` was made by this operation */
	uint32_t from;		/* the sender's operation, if the value came in a message */
};

/* The range of cells that a rank touches; `at`: the index of the first in an array for all
 * ranks. */
struct touched {
	struct extent cells;
	size_t at;
};

struct replay {
	struct ctx *c;
	const struct program *p;
	struct values values;
	uint32_t width;	 /* cells of a rank, scratch included */
	uint32_t *state; /* [nranks][width], or the cells that a rank touches; replay_value() */
	struct touched *touched; /* [nranks], or NULL: all. Other cells keep their initial values */
	struct runner *runners;	 /* [ntasks] */
	/* [ntasks], by row: the depth after it; NULL: no task waits for tasks. */
	uint32_t **depth_at;
	uint32_t **unbuffered; /* with 0 slots: the depths of unbuffered.c; or NULL */
	struct queue *queues;  /* [nfifos] */
	struct sent *sent;
	uint32_t nsent, capsent;
	uint32_t free;	/* first free row of `sent`, or NONE */
	uint32_t *more; /* values of messages of several cells */
	uint32_t nmore, capmore;
	uint32_t *place;     /* [cells]: equal for chunks of equal length; NULL: all are */
	uint8_t *given;	     /* [cells]: has a value before the run */
	uint32_t *buffer_of; /* [cells] */
	/* [nranks][nbuffers]: sent chunks of a buffer's size; NULL: all buffers have equally many
	   chunks, and runner.sent counts them. */
	uint64_t *moved;
	bool one_size;
	bool uneven;	/* a value moved to a chunk of another length or place */
	bool silent;	/* no reports: lowered, or run before */
	bool failed;	/* some chunk was read before it had a value, or stored in a cell
				   of another length */
	uint32_t *told; /* by site: 1 + the last rank that had E0303 there */
	struct program
		*sized; /* the program, if sizes of `sized` chunks must be compared; or NULL */
	uint32_t reports;
	uint32_t **len; /* struct proof.len, or NULL */
	void (*hook)(void *arg, const struct stored *s);
	void *arg;
};

/** The range of cells that each rank touches; *n: the sum of their lengths. O(operations). */
struct touched *replay_touched(const struct program *p, struct arena *arena, size_t *n);

/** Sets up the initial values of in and inout buffers. Tables are in `arena`. False: the program is
 *  too large for the numbers of values, which is reported. */
bool replay_init(struct replay *r, struct ctx *c, const struct program *p, struct arena *arena);

/** Runs all of `order`. Reports E0401 unless silent. */
void replay_run(struct replay *r, const struct order *order);

/** Adds to sent[nranks] the volume that each rank sent, in blocks of `count` elements. */
void replay_sent(const struct replay *r, double *sent);

/** The initial value of a rank's cell. */
uint32_t replay_start(const struct replay *r, uint32_t rank, uint32_t cell);

/** The current value of a rank's cell, which is below r->width. */
static inline uint32_t replay_value(const struct replay *r, uint32_t rank, uint32_t cell)
{
	if (!r->touched)
		return r->state[(size_t)rank * r->width + cell];
	const struct touched *t = &r->touched[rank];
	if (cell < t->cells.lo || cell >= t->cells.end)
		return replay_start(r, rank, cell);
	return r->state[t->at + (cell - t->cells.lo)];
}

/* ---- unbuffered.c ------------------------------------------------------------------- */

/** Depths after the waves of an order without slots, by task and a wave's last row. */
uint32_t **unbuffered_depths(const struct program *p, const struct order *order,
			     struct arena *arena);

/* ---- lengths.c ---------------------------------------------------------------------- */

/** A value from cell `home` meets a chunk at another place: their lengths are equal for some counts
 *  only, or for none, which is E0303. */
void replay_meets(struct replay *r, const struct runner *w, const struct op *o, uint32_t home,
		  uint32_t cell);
/** Adds to `g` (if not NULL) the calls in which the runner's operation was run. */
void replay_show_calls(const struct replay *r, const struct runner *w, const struct op *o,
		       struct diag *g);
/** ccs(5) 4, Sizes: compares the size expressions of a value and a cell where they meet, if they
 *  may be of `sized` buffers. */
void replay_same_sizes(struct replay *r, const struct runner *w, const struct op *o, uint32_t value,
		       uint32_t rank, uint32_t cell);
/** Notes in r->len the cell that determines the length of the operation's values: the cell itself
 *  if it has their length, else the cell from which they came; NONE: no cell. */
void replay_note_length(struct replay *r, const struct runner *w, const struct op *o, uint32_t cell,
			const uint32_t *v);

#endif
