/*
 * Runs a program on symbolic values, in an order that deadlock() found.
 *
 * In: a matched program without races, and the order. Out: every cell's final value, and counts
 * of the run. A hook may watch every store. O(1) for an operation and chunk, plus the cost of
 * combining values (value.h).
 */
#ifndef CCS_COMPILER_CHECK_VALUES_REPLAY_H
#define CCS_COMPILER_CHECK_VALUES_REPLAY_H

#include "compiler/check/values/value.h"

/* A task while it runs. There are many, and few fit the nearest cache. */
struct runner {
	const struct op *ops;
	uint64_t sent; /* chunks, where all have one size */
	size_t base;   /* replay.state[base + cell], modulo the numbers that there are */
	uint32_t next; /* row of the wave that starts or finishes next */
	uint32_t nops;
	uint32_t depth; /* waves with messages on the longest chain up to here */
	uint32_t rank : 31;
	uint32_t running : 1; /* the wave has started */
};

/* A message on its way; used again when it has arrived, so that few are alive. */
struct sent {
	uint32_t value;	   /* if it has one cell */
	uint32_t depth;	   /* of the sender when it began */
	uint32_t next;	   /* in its FIFO, or of the free ones; NONE: last */
	uint32_t row;	   /* of the sender's operation */
	uint32_t at, room; /* values of more cells: replay.more[at, +room) */
};

/* Messages of a FIFO that are on their way, oldest first. Up to two of one cell are here, in
 * few[0] and few[1]; without a message the value is NONE. The rest are in a list: then
 * few[1].value is LISTED, and few[0] holds its rows of `sent`. */
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

/* A cell gets a value; or a message of no chunks comes. */
struct stored {
	uint32_t task, row;
	uint32_t cell;		/* NONE: no chunks, no values */
	uint32_t before, after; /* values */
	uint32_t depth;		/* of the task when the wave is done */
	bool reduced;		/* `after` was made by this operation */
	uint32_t from;		/* the sender's operation, if it came in a message */
};

/* The cells that a rank touches, from the first to the last; `at`: of the first, in an array of
 * what all ranks have. */
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
	struct touched *touched; /* [nranks]: or NULL: all. Other cells keep what they begin with */
	struct runner *runners;	 /* [ntasks] */
	/* [ntasks], by row: depth behind it; NULL: no task waits for tasks. */
	uint32_t **depth_at;
	uint32_t **unbuffered; /* the same without slots, where there are none; or NULL */
	struct queue *queues;  /* [nfifos] */
	struct sent *sent;
	uint32_t nsent, capsent;
	uint32_t free;	/* first free row of `sent`, or NONE */
	uint32_t *more; /* values of messages of several cells */
	uint32_t nmore, capmore;
	uint32_t *place;     /* [cells]: equal for chunks of equal length; NULL: all are */
	uint8_t *given;	     /* [cells]: has a value before the run */
	uint32_t *buffer_of; /* [cells] */
	/* [nranks][nbuffers]: chunks of a buffer's size that were sent; NULL: the runners have
	   counted them, as all buffers have equally many chunks: */
	uint64_t *moved;
	bool one_size;
	bool uneven;	       /* a value moved to a chunk of another length or place */
	bool silent;	       /* no reports: lowered, or run before */
	bool failed;	       /* some chunk was read before it had a value, or stored where
				   it is too long or too short */
	uint32_t *told;	       /* by site: 1 + the last rank that had E0303 there */
	struct program *sized; /* its `sized` chunks are to be compared; or NULL */
	uint32_t reports;
	uint32_t **len; /* struct proof.len, or NULL */
	void (*hook)(void *arg, const struct stored *s);
	void *arg;
};

/** The cells that each rank touches; *n: all of them. O(operations). */
struct touched *replay_touched(const struct program *p, struct arena *arena, size_t *n);

/** Sets up the start: values of in and inout buffers. Tables are in `arena`. False
 *  after reporting that the program is too large for value numbers. */
bool replay_init(struct replay *r, struct ctx *c, const struct program *p, struct arena *arena);

/** Runs all of `order`. Reports E0401 unless silent. */
void replay_run(struct replay *r, const struct order *order);

/** sent[nranks], which holds zeros: what each rank sent, in blocks of `count` elements. */
void replay_sent(const struct replay *r, double *sent);

/** What a rank's cell begins with. */
uint32_t replay_start(const struct replay *r, uint32_t rank, uint32_t cell);

/** What a rank's cell holds; it is below r->width. */
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

/** Depths behind the waves that an order without slots has, by task and a wave's last row. */
uint32_t **unbuffered_depths(const struct program *p, const struct order *order,
			     struct arena *arena);

/* ---- lengths.c ---------------------------------------------------------------------- */

/** What came from cell `home` meets another place's chunk: the lengths are equal for some counts
 *  only, or for none, which is E0303. */
void replay_meets(struct replay *r, const struct runner *w, const struct op *o, uint32_t home,
		  uint32_t cell);
/** Shows at `g` (NULL: does nothing) the calls that the runner's operation was run in. */
void replay_show_calls(const struct replay *r, const struct runner *w, const struct op *o,
		       struct diag *g);
/** ccs(5) 4, Sizes: where a value meets a cell of a rank, and both may be of `sized` buffers,
 *  they are compared by their expressions. */
void replay_same_sizes(struct replay *r, const struct runner *w, const struct op *o, uint32_t value,
		       uint32_t rank, uint32_t cell);
/** Notes in r->len the cell that determines the length of the operation's values: the cell itself,
 *  if they are at home there, else their cell of origin; NONE: no cell. */
void replay_note_length(struct replay *r, const struct runner *w, const struct op *o, uint32_t cell,
			const uint32_t *v);

#endif
