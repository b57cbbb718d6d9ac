/*
 * The cursor: runs one rank's code and yields its operations.
 *
 * The caller gives room for operations, lane by lane (a lane is what becomes a
 * task: the rank's main line, or one path of par blocks). cursor_next runs until
 * a lane's room is used up, or the rank is done. Who stores the operations
 * enlarges the room; who streams them consumes the lane's rows and empties it:
 *
 *     cursor_start(v, func, rank);
 *     while ((s = cursor_next(v)) == CURSOR_ROOM)
 *             ... v->lanes[v->full]: more room, or consumed: done += n, n = 0 ...
 *
 * Mistakes are reported as they are met; an operation that has one is left out,
 * and a failing expression stops the rank.
 */
#ifndef CCS_COMPILER_EXPAND_CURSOR_H
#define CCS_COMPILER_EXPAND_CURSOR_H

#include "compiler/expand/code.h"

/* Paths and FIFOs by name: hash tables over the program's rows. */
struct tables {
	struct arena *arena;
	struct program *program;
	uint32_t *path_slots, path_cap; /* 1 + row; a power of two */
	uint32_t *fifo_slots, fifo_cap;
	uint32_t *direct; /* [src * nranks + dst] for path 0, channel 0: 1 + row; or NULL */
	bool *unlinked;	  /* by FIFO, up to the last one that has no link */
	uint32_t nunlinked, capunlinked;
};

/** `fifos`: FIFOs are wanted too. */
void tables_init(struct tables *t, struct arena *a, struct program *p, bool fifos);
/** The row of a path; made if `make`, else NONE where there is none. */
uint32_t tables_path(struct tables *t, uint32_t parent, uint32_t block, bool make);
/** The row of a FIFO, or NONE. */
uint32_t tables_fifo(const struct tables *t, uint32_t src, uint32_t dst, uint32_t path,
		     uint32_t channel);
/** Makes a FIFO that is not there; `linked`: the topology has its pair. */
uint32_t tables_new_fifo(struct tables *t, uint32_t src, uint32_t dst, uint32_t path,
			 uint32_t channel, bool linked);

/* Links of a topology, by their source. */
struct links {
	bool all;	  /* every pair */
	uint32_t *first;  /* [nranks + 1]: rows of runs */
	struct link_run { /* targets lo .. hi - 1; ascending, not adjacent */
		uint32_t lo, hi;
	} *runs;
};

/** Runs the topology's body for every rank. Reports E0204, E0205, E0306, E0501. */
void links_make(struct links *l, struct code *k, const struct decl *topology);
bool links_has(const struct links *l, uint32_t src, uint32_t dst);

struct lane {
	struct op *ops; /* room for cap */
	uint32_t n, cap;
	uint32_t done; /* rows that were consumed before ops[0] */
	uint32_t path, task;
};

/* A par that is being run. */
struct par_row {
	uint32_t block;	    /* the running block's number */
	uint32_t lane;	    /* its lane; NONE: it has no operation yet */
	uint32_t start;	    /* rows of the lane before it */
	uint32_t joins;	    /* first of its rows of joins */
	uint32_t top, high; /* scratch in use at its beginning; most in use then */
	uint32_t most;	    /* the most that its blocks so far have used */
};

/* Lanes to wait for at the end of a par. */
struct join {
	uint32_t lane, rows;
};

struct frame {
	uint32_t pc;   /* of the call */
	uint32_t base; /* the caller's window */
	uint32_t func; /* the callee */
	uint32_t top;  /* scratch in use at the call */
};

/* One contribution of a contract's clause. */
struct term_row {
	uint32_t cell, first, n;
};

enum cursor_state { CURSOR_ROOM, CURSOR_DONE, CURSOR_STOPPED };

struct cursor {
	struct code *code;
	struct program *program;
	struct tables *tables;	   /* NULL: no FIFO is made (quiet runs) */
	const struct links *links; /* NULL: no check of links */
	struct arena *arena;
	bool quiet;	     /* report nothing */
	int64_t report_rank; /* rank of reports, or NO_RANK */
	uint32_t rank;
	uint64_t rank_key;
	uint32_t ntasks; /* next task's row */

	uint32_t pc, base, func;
	int64_t *stack;
	uint32_t capstack;
	struct frame *frames;
	uint32_t nframes, capframes;
	uint64_t idle; /* work since the last operation */

	struct lane *lanes;
	uint32_t nlanes, caplanes;
	uint32_t lane;	   /* that operations go to; NONE: a block without any yet */
	uint32_t full;	   /* CURSOR_ROOM: the lane that needs room */
	uint32_t *lane_of; /* by path: 1 + lane of this rank */
	uint32_t caplane_of;
	struct op *out, *end; /* in the lane's room */
	uint64_t at;	      /* path << 32 | channel */
	uint32_t channel;
	bool joined; /* the step has an operation */
	struct par_row *pars;
	uint32_t npars, cappars;
	struct join *joins;
	uint32_t njoins, capjoins;
	uint32_t *members; /* of groups of tables that are entered: whole ranks */
	uint32_t nmembers, capmembers;
	uint32_t *met;	    /* by rank: the last group of a table that had it */
	uint32_t group;	    /* number of the last one */
	uint32_t top, high; /* scratch: in use, most in use in this block */
	uint32_t most;	    /* scratch: most in use on any rank so far */
	uint64_t nsilent;   /* FRESH and WAIT rows so far, of all ranks */

	uint32_t (*pairs)[2]; /* I_LINK: source, target */
	uint32_t npairs, cappairs;
	struct term_row *terms; /* I_TERM, I_TERMS */
	uint32_t nterms, capterms;
	int64_t value; /* I_VALUE */
	uint64_t reports;
	bool wrong;	     /* this rank has a report: the first one's path, and */
	uint32_t wrong_path; /* rows of its lane before it */
	uint32_t wrong_row;
	bool over;  /* a limit of the whole program was reached: E0501 */
	char *text; /* of the last report */
	size_t captext;
};

void cursor_init(struct cursor *v, struct code *k, struct tables *t, struct arena *a);
/** Begins `func` for a rank; its registers 0-3 are set. */
void cursor_start(struct cursor *v, uint32_t func, uint32_t rank);
/** Runs on from where it stopped. */
enum cursor_state cursor_next(struct cursor *v);
/** Register `reg` of the function that was started (before it runs). */
void cursor_set(struct cursor *v, uint32_t reg, int64_t value);

/* The rank of the whole program that has a number in the group of the context at `g`:
 * first + stride * number; without a stride, first is a row of members. */
static inline uint32_t cursor_whole(const struct cursor *v, const int64_t *g, int64_t number)
{
	return g[3] ? (uint32_t)(g[2] + g[3] * number) : v->members[g[2] + number];
}

/* ---- cursor_op.c, cursor_slow.c, for cursor.c */

enum slow { SLOW_GO, SLOW_ROOM, SLOW_STOP };

void cursor_par(struct cursor *v);
void cursor_block(struct cursor *v, int64_t number);
void cursor_block_end(struct cursor *v);
enum slow cursor_par_end(struct cursor *v, const struct insn *in);
/** Cells of an operand. False: out of range; reported, unless `s` (or NULL) was
 *  before, for this rank. */
bool cursor_cells(struct cursor *v, const struct operand *o, struct opsite *s, struct cells *cells);
/** A rarer instruction; v->pc is behind it and may be changed. */
enum slow cursor_slow(struct cursor *v, const struct insn *in);
/** An I_OP or an I_MESSAGE that is not of the quick kind. */
enum slow cursor_operation(struct cursor *v, const struct insn *in);
/** Makes room where out == end: creates the tasks of blocks that have no
 *  operation yet, with their waits. SLOW_ROOM: v->full needs room first. */
enum slow cursor_room(struct cursor *v);
/** E0204 at the instruction. */
void cursor_fail(struct cursor *v, const struct insn *in, enum fail f, int64_t a, int64_t b);
struct diag *cursor_report(struct cursor *v, int number, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** Opens a window for a call; false: E0204 was reported. */
bool cursor_push(struct cursor *v, const struct insn *in, uint32_t func, uint32_t d);

#endif
