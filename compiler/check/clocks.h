/*
 * What has happened before: vector clocks.
 *
 * Several strands (workers, or tasks) go on side by side, and learn from one another how far
 * they have come. A row says that for one moment of one strand: so many rows of each
 * strand are over. Rows are shared until somebody learns more.
 */
#ifndef CCS_COMPILER_CHECK_CLOCKS_H
#define CCS_COMPILER_CHECK_CLOCKS_H

#include "lang/base/arena.h"

struct clocks {
	struct arena *arena;
	uint32_t width; /* strands */
	uint32_t *words;
	size_t n, cap; /* rows; words that there is room for */
};

/** No rows but row 0, which knows of nothing. The memory is used again. */
void clocks_begin(struct clocks *k, struct arena *a, uint32_t width);

/** So many more rows, which know of nothing; returns the first. */
size_t clocks_add(struct clocks *k, size_t n);

static inline uint32_t *clocks_row(const struct clocks *k, size_t row)
{
	return k->words + row * k->width;
}

/** Row `to` learns what row `from` knows. O(width). */
void clocks_join(struct clocks *k, size_t to, size_t from);

/** Row *row learns that strand `of` has come to `over`, and knew row `from` then. False: it
 *  knew. Else it becomes a new row, unless it is its owner's alone (`own`). O(width). */
bool clocks_learn(struct clocks *k, size_t *row, bool own, uint32_t of, uint32_t over, size_t from);

#endif
