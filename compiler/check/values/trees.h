/*
 * Reduction trees, compared. Two sums of floats have the same bits if they are made in the
 * same order; that of the two operands of each (+) does not matter. Exact: a tree has a number,
 * and equal trees, equal numbers.
 *
 *   values (value.h)  node -> left, right       a run's history, each sum for itself
 *   trees             number -> a <= b          each tree once, whatever it is the sum of
 *   struct history    node -> number            as far as anyone has asked
 *
 * Trees of two runs, such as a program's and its lowered one's, may have numbers in common.
 * Operands have smaller numbers than what is made of them.
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
	uint32_t *slots; /* an open hash table of rows; NONE: free */
	uint32_t nslots;
	uint32_t *stack; /* values that are being numbered */
	size_t nstack, capstack;
};

/* The trees of one run's values. */
struct history {
	struct values *values;
	uint32_t *number;      /* by node; 0: nobody asked */
	bool all;	       /* all have one */
	const uint32_t *place; /* by cell: the cell that a leaf counts as, so that chunks of a
				  block may be compared */
};

void trees_init(struct trees *t, struct arena *a, uint32_t leaves);
struct history history_of(struct arena *a, struct values *v, const uint32_t *place);

/** The number of a value's tree. O(1) for each value of its history, once. */
uint32_t tree_number(struct trees *t, struct history *h, uint32_t id);

/** Numbers them all, if that was not done: several times quicker, where most will be asked for. */
void trees_number(struct trees *t, struct history *h);

#endif
