/*
 * The values of rank 0's chunks: runs the quotient (turns.h) on symbolic values, up to a turn.
 *
 * A value is a node `id` and a turn `shift`. Nodes below p->cells are the initial values of rank
 * 0's cells: (c, s) is the initial value of cell_turned(c, s) on rank s. Every other node is a sum
 * that rank 0 makes: (e, s) is the sum that rank s makes in the same place. The message that rank 0
 * receives from rank -c is the message that it sent to rank c, turned by -c.
 *
 * Each operation on a chunk takes O(1) where sums have the contributions of adjacent ranks to one
 * chunk. Unless ranks turn by bits, the ranks may also have gaps: O(arcs^2). Any other sum is
 * `unclear`; the passes over all ranks then decide.
 */
#ifndef CCS_COMPILER_SYMMETRY_TURNED_H
#define CCS_COMPILER_SYMMETRY_TURNED_H

#include "compiler/symmetry/arcs.h"
#include "compiler/symmetry/turns.h"

struct turned {
	uint32_t id; /* NONE: no value */
	uint32_t shift;
};

/* A sum before its turn: cell `cell` of ranks first .. first + n - 1 (mod N), each once; all ranks
 * begin at 0. By bits: of the ranks that agree with `first` in all bits outside n - 1. n == 0: of
 * several arcs, row `first` of `scattered`. */
struct turned_sum {
	struct turned left, right;
	uint32_t cell, first, n;
};

struct scattered {
	struct arc *v;
	uint32_t n;
};

struct turned_run {
	const struct quotient *l;
	struct turned *state; /* by cell, scratch included */
	struct turned_sum *sums;
	uint32_t nsums, capsums;
	struct scattered *scattered;
	uint32_t nscattered, capscattered;
	const char *unclear; /* why the run gave up; NULL: it did not */
	uint32_t steps;	     /* longest chain of waves with messages */
	double sent;	     /* by a rank, in blocks of `count` elements */
	/* By operation, tasks one after another: */
	bool *changes;	/* it stores a value that was not in the cells before */
	uint32_t *from; /* row of the message's send */
};

/** Runs the quotient in `order`; tables are in `arena`. A chunk that is read without a value, or
 *  stored where it is too long or too short, is unclear, too. O(chunks that rank 0 touches). */
void turned_run(struct turned_run *r, const struct quotient *l, const struct order *order,
		struct arena *arena);

/** The contributions of a value; its id must not be NONE; n == 0: they are of several arcs. */
struct share turned_share(const struct turned_run *r, struct turned v);

/** Whether two cells are at the same place of their regions and blocks; then so are all their
 *  turns. */
bool turned_alike(const struct quotient *l, uint32_t a, uint32_t b);

#endif
