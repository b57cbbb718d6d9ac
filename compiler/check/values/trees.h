/*
 * Numbers for trees of additions: two trees have the same number exactly if they are equal.
 *
 * Two sums of floats have the same bits if their trees are equal up to exchanging the two operands
 * of a (+), which is commutative in IEEE arithmetic. Each tree is stored once, as its two operands'
 * numbers, the smaller first (hash-consing: Ershov, CACM 1958). So (0+1)+2 and 2+(1+0) have one
 * number, and (1+2)+0 has another.
 *
 *   values (value.h)  node -> left, right       the history of a run, with each sum separate
 *   trees             number -> a <= b          each tree once
 *   struct history    node -> number            made on demand
 *
 * Two runs, such as the runs of a program and of its lowered form, may share one struct trees.
 * Operands have smaller numbers than their sums.
 */
#ifndef CCS_COMPILER_CHECK_VALUES_TREES_H
#define CCS_COMPILER_CHECK_VALUES_TREES_H

#include "compiler/check/values/value.h"

struct trees {
	struct arena *arena;
	uint32_t leaves; /* smaller numbers are initial values: rank * cells + cell */
	struct tree {
		uint32_t a, b;
	} *v; /* of number leaves + row */
	uint32_t n, cap;
	struct hash_table rows; /* of v */
	uint32_t *stack;	/* values that are being numbered */
	size_t nstack, capstack;
};

/* The trees of one run's values. */
struct history {
	struct values *values;
	uint32_t *number;      /* by node; 0: not numbered yet */
	bool all;	       /* all are numbered */
	const uint32_t *place; /* by cell: the cell that stands for a leaf of it, so that chunks of
				  a block can be compared */
};

void trees_init(struct trees *t, struct arena *a, uint32_t leaves);
struct history history_of(struct arena *a, struct values *v, const uint32_t *place);

/** The number of a value's tree. O(1) for each value of its history that has no number yet. */
uint32_t tree_number(struct trees *t, struct history *h, uint32_t id);

/** Numbers all values: several times faster than tree_number, if most numbers are needed. */
void trees_number(struct trees *t, struct history *h);

#endif
