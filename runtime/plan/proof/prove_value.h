/*
 * Symbolic values of the prover: which initial values were combined, and how often each.
 *
 * A value is a cell and a set. The set has contributions: a rank, and the distance of its cell
 * from the value's cell, which is the lowest. So the chunks of one message, to which the same
 * ranks have contributed, share one set. Example: after a ring's first step cell 3 may be {ranks
 * 0..1, distance 0}. A set of one contribution is a number; other sets are sorted runs of ranks
 * in one pool of 16-byte units, with reference counts. Equal sets are stored once (hash consing).
 * Counts of a contribution stop at 2^32 - 1, as a contract's do.
 *
 * A value is as long as the chunk that its cell names.
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_VALUE_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_VALUE_H

#include "runtime/plan/proof/prove_parts.h"

#define SET_NONE 0u	       /* no value */
#define SET_SINGLE 0x80000000u /* + a rank: its cell, once */

struct prove_value {
	uint32_t cell, set;
};

/* Cell `cell` of ranks first .. first + n - 1, `times` times each. */
struct prove_run {
	uint32_t cell, first, n, times;
};

union prove_unit {
	struct prove_set {
		uint32_t owners; /* in a free block: the next one */
		uint32_t nruns;	 /* in the following units */
		uint32_t hash;	 /* of its runs */
		uint32_t next;	 /* the next set of its bucket */
	} set;
	struct prove_run run;
	uint32_t word[4];
	struct prove_value value[2];
};

#define VALUE_KEPT 16u	 /* free blocks of up to this number of units are listed by size */
#define VALUE_SUMS 4096u /* remembered sums */

/* A remembered sum of two sets, y's cells `behind` cells after x's. It owns all three. */
struct prove_sum {
	uint32_t x, y, behind, sum;
};

struct prove_values {
	struct prove *p;
	union prove_unit *units;
	uint64_t nunits, cap;
	uint32_t kept[VALUE_KEPT + 1]; /* lists of free blocks of that size */
	uint32_t large[32];	       /* ... of 2^i units */
	uint32_t *buckets;	       /* sets by contents; a power of two */
	uint32_t nbuckets, nsets;
	struct prove_sum *sums;	  /* [VALUE_SUMS] */
	struct prove_run *merged; /* space for a result */
	uint64_t capmerged;
};

bool prove_values_init(struct prove_values *s, struct prove *p);

/** Allocates a block of at least `size` units; 0: no memory. */
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

/** x (+) y; consumes the caller's references to both. SET_NONE: no memory. O(runs), or O(1) if
 *  the sum is remembered. */
struct prove_value prove_value_add(struct prove_values *s, struct prove_value x,
				   struct prove_value y);

/** The value that the rows of `sums` from `row` on promise: SET_NONE if none. False: no memory.
 *  O(rows * log). */
bool prove_value_promised(struct prove_values *s, uint32_t row, struct prove_value *value);

/** Whether the value contains the initial value of that cell. O(log runs). */
bool prove_value_has(const struct prove_values *s, struct prove_value v, uint32_t rank,
		     uint32_t cell);
/** The first cell from `cell` on with an initial value of that rank in the value, or CCS_NONE.
 *  O(cells of other ranks in between * log runs). */
uint32_t prove_value_next(const struct prove_values *s, struct prove_value v, uint32_t rank,
			  uint32_t cell);

/** "data[0] of ranks 0..3, data[1] of rank 2 3 times" */
struct prove_text prove_value_text(const struct prove_values *s, struct prove_value v);

#endif
