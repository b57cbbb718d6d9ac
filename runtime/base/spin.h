/*
 * Waiting awake: for what another core is about to write.
 */
#ifndef CCS_RUNTIME_BASE_SPIN_H
#define CCS_RUNTIME_BASE_SPIN_H

#include <stdatomic.h>

#define CACHE_LINE 64
/* What one thread writes again and again and others' things: a core that fetches a line may fetch
 * the adjoining one, too. */
#define LINES_APART (2 * CACHE_LINE)
#define SPINS 1000u /* then a thread sleeps: some 50 microseconds */

/** Lets the core's other thread go on, and leaves memory in peace. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/** All earlier stores of this thread are seen by other threads before its later loads. */
static inline void fence(void)
{
#ifdef __SANITIZE_THREAD__ /* knows no fences */
	_Atomic int here = 0;

	atomic_fetch_add(&here, 1);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
