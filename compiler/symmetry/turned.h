/*
 * Values of rank 0, up to a turn: what its chunks hold, run on the quotient.
 *
 * A value is a node and a turn: node `id`, turned by `shift`. Nodes below p->cells are the
 * initial values of rank 0's cells, so (c, s) is the initial value of cell_turned(c, s) on rank
 * s. The others are sums that rank 0 makes, each with a number of its own, so (e, s) is the sum
 * that rank s makes there. A message from rank -c is what rank 0 sent to rank c, turned by -c:
 * O(1), as is a sum of adjacent ranks' contributions to one chunk; if ranks turn by sums, a sum may
 * also have gaps, O(arcs^2). Other sums are not looked into (`unclear`), and all ranks are run
 * instead.
 */
#ifndef CCS_COMPILER_SYMMETRY_TURNED_H
#define CCS_COMPILER_SYMMETRY_TURNED_H

#include "compiler/symmetry/arcs.h"
#include "compiler/symmetry/turns.h"

struct turned {
	uint32_t id; /* NONE: no value */
	uint32_t shift;
};

/* A sum, unturned: cell `cell` of ranks first .. first + n - 1, going round, each once; all
 * ranks begin at 0. By bits: of the ranks whose bits out of n - 1 are those of first. With n == 0, of
 * several arcs: row `first` of those that are scattered. */
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
	const char *unclear; /* why this cannot be said here; NULL: it can */
	uint32_t steps;	     /* longest chain of waves with messages */
	double sent;	     /* by a rank, in blocks of `count` elements */
	/* Of each operation, tasks one after the other: */
	bool *changes;	/* what it stores is another value */
	uint32_t *from; /* row of the message's send */
};

/** Runs the quotient in `order`; tables are in `arena`. A chunk that is read without a value, or
 *  stored where it is too long or too short, is unclear, too. O(chunks that rank 0 touches). */
void turned_run(struct turned_run *r, const struct quotient *l, const struct order *order,
		struct arena *arena);

/** The contributions of a value that there is; n == 0: of several arcs. */
struct share turned_share(const struct turned_run *r, struct turned v);

/** Whether two cells are at one place of their regions and blocks, so that they are wherever
 *  they turn to. */
bool turned_alike(const struct quotient *l, uint32_t a, uint32_t b);

#endif
