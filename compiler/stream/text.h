/*
 * The text of every rank, kept as what it is: rows, and rows that repeat.
 *
 *   text.c         rows and tracks, taken as the cursor gives them
 *   parts.c        which chunks hang together; parts of them
 *   cut.c          a part -> a program of its own
 *   lone.c         a chunk that is a part by itself, at once
 *   part_values.c  all parts: contract, races, values, bits
 *
 * A passage is rows of a rank that come once or so many times. Where they repeat, the cells of
 * each go on by a constant, perhaps round a ring (expand/strips.c): a track. So which iterations
 * touch a chunk is a division, and a part of all chunks is cut out of the texts without running
 * them. O(1) memory a loop.
 *
 * What a part is: a message ties the chunk that it is sent from to the one that it is received
 * into, a copy its two chunks. Chunks that nothing ties have nothing to do with each other: their
 * values, and races on them, are those of a program that has their operations alone. It is made of
 * them, chunk by chunk, and the stored check's own passes run it (check/): match, race, proof, bits.
 * That program finishes, as the whole one does: it has fewer waits.
 */
#ifndef CCS_COMPILER_STREAM_TEXT_H
#define CCS_COMPILER_STREAM_TEXT_H

#include "compiler/expand/cursor.h"
#include "compiler/stream/stream.h"

/* Where an operand is in iteration i: first + part * (off + (at + step * i) mod ring). */
struct track {
	uint32_t first, part;
	struct going number;
	int64_t period;	 /* iterations after which it comes again; INT64_MAX: never */
	int64_t inverse; /* of the step, by the ring, both divided by what they have in common */
};

/* Rows first .. first + n - 1 of a rank, so many times. */
struct passage {
	uint32_t first, n;
	uint32_t tracks; /* if they repeat: two a row, of `cell` and of `other` */
	uint64_t times;
};

struct text {
	struct op *ops;
	uint32_t nops, capops;
	struct track *tracks;
	uint32_t ntracks, captracks;
	struct passage *v;
	uint32_t n, cap;
	uint32_t *first; /* [nranks + 1]: a rank's passages */
	bool full;	 /* there are more rows than are kept */
};

/** Adds rows of the rank whose passages begin at `first`. `strides`: of the rows, if they come
 *  more than once. O(rows) */
void text_take(struct text *t, struct arena *a, uint32_t first, const struct op *o, uint32_t n,
	       uint64_t times, const struct stride *strides);

/** The first cell in iteration i. */
uint32_t track_cell(const struct track *t, uint64_t i);
/** The first iteration that has `cell` among its `n` cells from there on, or -1; *at: which of
 *  these it is. The others follow, a period apart; n <= part, or the track stays where it is. */
int64_t track_find(const struct track *t, uint32_t cell, uint32_t n, uint32_t *at);

/* Row r of passage p: the tracks of its operands; only where it repeats. */
static inline const struct track *text_track(const struct text *t, const struct passage *p,
					     uint32_t row, bool other)
{
	return &t->tracks[p->tracks + 2 * (row - p->first) + other];
}

/* Whether the operation has chunks in `other`. */
static inline bool op_has_other(const struct op *o)
{
	return op_kind(o) == OP_COPY || op_kind(o) == OP_REDUCE_INTO;
}

static inline bool op_is_recv(const struct op *o)
{
	return op_is_end(o) && op_kind(o) != OP_SEND;
}

/* ---- parts.c ---------------------------------------------------------------------------------- */

/* Chunks in parts. A node is a chunk of all ranks; or, of small buffers, of one rank. */
struct parts {
	uint32_t nranks, width; /* cells of a rank, scratch too */
	uint32_t *split;	/* by cell: 1 + number among those of one rank each; 0: of all */
	uint32_t nsplit, nnodes;
	uint32_t *of;	 /* by node: its part */
	uint8_t *lone;	 /* by node: it is tied to no other */
	uint32_t *first; /* [n + 1]: a part's nodes, in */
	uint32_t *nodes; /* ... */
	uint32_t n;
	uint64_t heaviest; /* chunks touched by operations of a part, about; the most */
};

/** Cuts all chunks. O(messages whose ends are not of the same chunks + nodes) */
void parts_find(struct parts *x, const struct stream *s, const struct stream_grain *grain);

/* ---- cut.c ------------------------------------------------------------------------------------ */

/* A part on its way to a program. */
struct cut {
	const struct stream *s;
	const struct parts *parts;
	struct arena *arena;
	struct portion part; /* all its cells, scratch too */
	uint32_t *column;    /* by cell of a rank: its row of part.cells, or NONE */
	uint32_t cells;	     /* of these, in buffers */
};

/** The cells of part `number`. cut->column is there, all NONE, and to be closed. */
void cut_open(struct cut *x, uint32_t number);
/** Adds cells that no rank has of it, but the contract asks for. Returns how many there were. */
uint32_t cut_add(struct cut *x, const struct contract *k);
/** All ranks' operations on it, chunk by chunk; `rows`: with the rows that they were. O(operations
 *  of the part x log + passages of all ranks x its cells). */
struct program *cut_program(struct cut *x, bool rows);
void cut_close(struct cut *x);

/* ---- lone.c ----------------------------------------------------------------------------------- */

struct lone;
/** NULL: there are too many ranks. */
struct lone *lone_open(const struct stream *s);
/** Whether a chunk that is a part by itself has no race, and is what the contract asks for, with
 *  the same bits on every rank; false: this way does not tell. `columns`, `k`: of the contract's
 *  rows, and the chunk's. Best from chunk to chunk. */
bool lone_proved(struct lone *x, uint32_t cell, const struct contract *c, uint32_t columns,
		 uint32_t k);
/** Begins to count what is sent; keeps the count for the buffer that the cell is in; adds all that
 *  was kept to each rank's blocks. */
void lone_begin(struct lone *x);
void lone_keep(struct lone *x, uint32_t cell);
void lone_sent(const struct lone *x, double *sent);

/* ---- part_values.c --------------------------------------------------------------------------------- */

/** Races and values of all parts. Fills in to->looked, or to->why, and what follows. False: there
 *  is a mistake, reported. `finishes`: there is no deadlock, and values mean something. */
bool stream_values(struct stream *s, const struct stream_grain *grain, bool finishes,
		   struct stream_report *to);

#endif
