/*
 * Busy waiting for a store of another core.
 */
#ifndef CCS_RUNTIME_BASE_SPIN_H
#define CCS_RUNTIME_BASE_SPIN_H

#include <stdatomic.h>

#define CACHE_LINE 64
/* Distance between data that different threads write often. The processor may prefetch the
 * adjacent cache line together with a line, hence two. */
#define LINES_APART (2 * CACHE_LINE)
#define SPINS 1000u /* polls before a thread sleeps: about 50 microseconds */

/** The processor's pause instruction: yields to the core's other hardware thread. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/** Full memory barrier: other threads see all earlier stores before this thread's later loads. */
static inline void fence(void)
{
#ifdef __SANITIZE_THREAD__ /* the thread sanitizer does not model fences */
	_Atomic int here = 0;

	atomic_fetch_add(&here, 1);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
