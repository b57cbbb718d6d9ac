/*
 * Inside `ccc explain`: a program's run as a script of moves (explain.c), what of it is
 * shown (explain_view.c), and what is wrong with it (explain_fault.c).
 *
 *     program, order --replay--> moves by step --view--> text
 *     diagnostics ----------------^ marks the first wrong one
 */
#ifndef CCS_COMPILER_WITNESS_EXPLAIN_H
#define CCS_COMPILER_WITNESS_EXPLAIN_H

#include "compiler/check/deadlock.h"
#include "compiler/check/replay.h"
#include "compiler/witness/witness.h"

/* Diagnostics that are looked for among the moves. */
#define EXPLAIN_MARKS 64u

/* Larger tables are left out, which is said. */
#define MAX_TABLE_RANKS 16u
#define MAX_TABLE_CELLS 16u

/* One operation that stores, or a message of no chunks. */
struct move {
	uint32_t task, row;
	uint32_t depth;	   /* its step; 0: before the first message */
	uint32_t first, n; /* rows of script.stores */
	uint32_t from;	   /* the sender's operation, or NONE: local */
	int fault;	   /* code of what is wrong with it, or 0 */
};

struct script {
	struct replay r;
	struct arena *arena;
	struct move *moves; /* by step, within each by rank, then as it runs */
	uint32_t n, cap;
	struct stored *stores;
	uint32_t nstores, capstores;
	uint32_t steps;			    /* greatest depth of a move */
	uint32_t fault_step[EXPLAIN_MARKS]; /* of the first diagnostics; NONE: it has none */
	/* the view */
	bool *cell; /* [width]: shown in tables; moves that touch one are shown */
	bool *rank; /* [nranks] */
	const struct shown *view;
	/* tables: these are shown if they are not more than there is room */
	uint32_t cells[MAX_TABLE_CELLS], ncells, ranks[MAX_TABLE_RANKS], nranks;
	bool tables;
};

/** "0-2" for this cell's own number on ranks 0-2, else "a[3]@0-2". */
const char *explain_shares_text(struct script *x, const struct share *v, uint32_t n, uint32_t cell);
/** The same of a value; "-": none. */
const char *explain_value_text(struct script *x, uint32_t id, uint32_t cell);

/* ---- explain_view.c ---- */

/** Reads the view. False: it names a chunk or a rank that is not there; *why is in the
 *  compilation's arena. */
bool explain_view_read(struct script *x, const struct shown *view, const char **why);
bool explain_shows_step(const struct script *x, uint32_t step);
bool explain_shows_move(const struct script *x, const struct move *m);

/* ---- explain_fault.c ---- */

/** An order of all that happens in a program that is wrong; `far` is the state that it comes
 *  to. Messages whose two ends have different numbers of chunks (E0303) are cut to the
 *  lesser. O(operations). */
const struct order *explain_run_far(struct script *x, struct program *p, struct greedy *far);
/** Marks the moves that diagnostics are about. Returns the step of the first that is wrong in
 *  itself (E0303, E0401, E0402), or NONE. O(moves) for each of the first diagnostics. */
uint32_t explain_mark(struct script *x, uint32_t first_diag);
/** What is wrong: who is stuck, which results are not those of the contract (NULL: it has
 *  mistakes itself, or the run ended before), and what the diagnostics say. */
void explain_fault(struct script *x, const struct greedy *stuck, const struct contract *k,
		   uint32_t first_diag, FILE *out);

#endif
