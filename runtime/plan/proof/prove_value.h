/*
 * Symbolic values of the prover: which initial values were combined, and how often each.
 *
 * A value is a cell and a set: the set has contributions by rank, and by how far their
 * cell is behind the value's, which is the first of them. So the chunks of a message, to
 * which the same ranks have contributed, share one set; equal sets are one set. A set of
 * one contribution is a number; all others are runs, sorted, in one pool of 16-byte units,
 * and count their owners. Counts of a contribution stop at 2^32 - 1, as a contract's do.
 *
 * A value is as long as the chunk which it came from: its cell's.
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_VALUE_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_VALUE_H

#include "runtime/plan/proof/prove_parts.h"

#define SET_NONE 0u	       /* no value at all */
#define SET_SINGLE 0x80000000u /* + a rank: its cell, once */

struct prove_value {
	uint32_t cell, set;
};

/* Cell `cell` of ranks first .. first + n - 1, each so many times. */
struct prove_run {
	uint32_t cell, first, n, times;
};

union prove_unit {
	struct prove_set {
		uint32_t owners; /* of a free block: the next one */
		uint32_t nruns;	 /* in the units behind it */
		uint32_t hash;	 /* of its runs */
		uint32_t next;	 /* of its bucket */
	} set;
	struct prove_run run;
	uint32_t word[4];
	struct prove_value value[2];
};

#define VALUE_KEPT 16u	 /* blocks up to so many units are kept by their size */
#define VALUE_SUMS 4096u /* sums that are remembered */

/* A sum of two sets: y's cells begin `behind` x's. It owns all three. */
struct prove_sum {
	uint32_t x, y, behind, sum;
};

struct prove_values {
	struct prove *p;
	union prove_unit *units;
	uint64_t nunits, cap;
	uint32_t kept[VALUE_KEPT + 1]; /* free blocks of so many units */
	uint32_t large[32];	       /* ... of 2^i units */
	uint32_t *buckets;	       /* sets by what is in them; a power of two */
	uint32_t nbuckets, nsets;
	struct prove_sum *sums;	  /* [VALUE_SUMS] */
	struct prove_run *merged; /* room for a result */
	uint64_t capmerged;
};

bool prove_values_init(struct prove_values *s, struct prove *p);

/** Memory in the pool: at least `size` units, 0: none is left. */
uint32_t prove_values_take(struct prove_values *s, uint32_t size);
void prove_values_give(struct prove_values *s, uint32_t block, uint32_t size);

static inline struct prove_value prove_value_initial(uint32_t rank, uint32_t cell)
{
	return (struct prove_value){ cell, SET_SINGLE | rank };
}

static inline void prove_value_own(struct prove_values *s, struct prove_value v)
{
	if (v.set != SET_NONE && !(v.set & SET_SINGLE))
		s->units[v.set].set.owners++;
}

void prove_set_free(struct prove_values *s, uint32_t set);

static inline void prove_value_drop(struct prove_values *s, struct prove_value v)
{
	if (v.set != SET_NONE && !(v.set & SET_SINGLE) && !--s->units[v.set].set.owners)
		prove_set_free(s, v.set);
}

static inline bool prove_value_same(struct prove_value x, struct prove_value y)
{
	return x.cell == y.cell && x.set == y.set;
}

/** x (+) y; takes over what the caller owned of both. SET_NONE: no memory. O(runs), or O(1)
 *  where it was asked a moment ago. */
struct prove_value prove_value_add(struct prove_values *s, struct prove_value x,
				   struct prove_value y);

/** What rows of `sums` from `row` on promise: SET_NONE if nothing. False: no memory.
 *  O(rows * log). */
bool prove_value_promised(struct prove_values *s, uint32_t row, struct prove_value *value);

/** Whether the initial value of that cell is in it. O(log runs). */
bool prove_value_has(const struct prove_values *s, struct prove_value v, uint32_t rank,
		     uint32_t cell);
/** The first cell from `cell` on whose initial value, of that rank, is in it, or CCS_NONE.
 *  O(cells of other ranks in between * log runs). */
uint32_t prove_value_next(const struct prove_values *s, struct prove_value v, uint32_t rank,
			  uint32_t cell);

/** "data[0] of ranks 0..3, data[1] of rank 2 3 times" */
struct prove_text prove_value_text(const struct prove_values *s, struct prove_value v);

#endif
