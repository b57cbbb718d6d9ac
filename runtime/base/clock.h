/*
 * Monotonic time.
 */
#ifndef CCS_RUNTIME_BASE_CLOCK_H
#define CCS_RUNTIME_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ms(void)
{
	return clock_ns() / 1000000u;
}

static inline double clock_seconds(void)
{
	return (double)clock_ns() * 1e-9;
}

/** The time that many milliseconds from now, for pthread_cond_timedwait. */
static inline struct timespec clock_after(uint64_t ms)
{
	uint64_t t = clock_ns() + ms * 1000000u;

	return (struct timespec){ (time_t)(t / 1000000000u), (long)(t % 1000000000u) };
}

#endif
