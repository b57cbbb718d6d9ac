/*
 * The kernels that every machine can run, and which ones this machine runs best. Vectors of 16
 * bytes are in the base of x86-64 and of arm64 (NEON).
 */
#if defined(__x86_64__)
#include <emmintrin.h>
#define STREAM reduce_plain_stream
#define STREAM_VECTOR(to, from) _mm_stream_si128(to, _mm_loadu_si128(from))
#define STREAMED __m128i
#endif
#define TABLE reduce_plain
#define COPY reduce_plain_copy
#define VECTOR 16
#include "runtime/cpu/reduce_types.inc"

/* The processor is asked each time, which costs a load: once a call of a collective. */
const struct reduce *reduce_of(ccs_dtype t)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return reduce_avx512[t];
	if (__builtin_cpu_supports("avx2"))
		return reduce_avx2[t];
#endif
	return reduce_plain[t];
}

reduce_copy *reduce_copy_of(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return reduce_avx512_copy;
	if (__builtin_cpu_supports("avx2"))
		return reduce_avx2_copy;
#endif
	return reduce_plain_copy;
}

reduce_copy *reduce_stream_of(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return reduce_avx512_stream;
	return __builtin_cpu_supports("avx2") ? reduce_avx2_stream : reduce_plain_stream;
#else
	return NULL;
#endif
}
