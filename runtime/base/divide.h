/*
 * Division of counts that rounds up and does not overflow.
 */
#ifndef CCS_RUNTIME_BASE_DIVIDE_H
#define CCS_RUNTIME_BASE_DIVIDE_H

#include <stdint.h>

static inline uint64_t ceil_div(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

/** The least multiple of `to` that is at least n. */
static inline uint64_t round_up(uint64_t n, uint64_t to)
{
	return ceil_div(n, to) * to;
}

#endif
