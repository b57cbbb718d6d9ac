/*
 * Union-find: disjoint sets of numbers, each with a root (Tarjan and van Leeuwen, "Worst-case
 * analysis of set union algorithms", J. ACM 1984).
 *
 * parent[x] is x for a root. Callers join two roots a and b by parent[b] = a, and choose which of
 * them stays.
 */
#ifndef CCS_LANG_BASE_UNION_FIND_H
#define CCS_LANG_BASE_UNION_FIND_H

#include <stdint.h>

/** The root of x's set. Halves the path to it. O(log n) amortized. */
static inline uint32_t union_find(uint32_t *parent, uint32_t x)
{
	while (parent[x] != x)
		x = parent[x] = parent[parent[x]];
	return x;
}

#endif
