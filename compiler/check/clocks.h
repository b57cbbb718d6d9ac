/*
 * Vector clocks (Fidge, 1988; Mattern, "Virtual time and global states of distributed systems",
 * 1989).
 *
 * Several strands (workers, or tasks) run concurrently, and learn of each other's progress by waits
 * and messages. A row is the clock of one strand at one moment: for each strand, how many of its
 * operations are known to have finished. Event a happens before event b exactly if b's row counts
 * a. Consecutive events of a strand share a row until the strand learns more.
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

/** Leaves only row 0, all zeros. Reuses the memory. */
void clocks_begin(struct clocks *k, struct arena *a, uint32_t width);

/** Adds n rows of zeros; returns the first. */
size_t clocks_add(struct clocks *k, size_t n);

static inline uint32_t *clocks_row(const struct clocks *k, size_t row)
{
	return k->words + row * k->width;
}

/** Row `to` becomes the maximum of both rows, strand by strand. O(width). */
void clocks_join(struct clocks *k, size_t to, size_t from);

/** Row *row learns that strand `of` has finished `over` operations, with row `from` as its clock
 *  then. False: *row had that already. Otherwise *row becomes a new row, unless the row is not
 *  shared (`own`). O(width). */
bool clocks_learn(struct clocks *k, size_t *row, bool own, uint32_t of, uint32_t over, size_t from);

#endif
