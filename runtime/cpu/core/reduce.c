/*
 * The kernels for every machine, and the choice of kernels for this one. Vectors of 16 bytes are
 * in the base of x86-64 and arm64 (NEON).
 */
#if defined(__x86_64__)
#include <emmintrin.h>
#define STREAM_VECTOR(to, from) _mm_stream_si128(to, _mm_loadu_si128(from))
#define STREAMED __m128i
#endif
#define SET reduce_plain
#define VECTOR 16
#include "runtime/cpu/core/reduce_types.inc"

#include <stdlib.h>

const struct reduce_set *reduce_best(void)
{
	enum { BASE, AVX2, AVX512, LEVELS };
	static const char *const names[LEVELS] = { "base", "avx2", "avx512" };
	const char *most = getenv("CCS_MAX_CPU_ISA");
	int level = LEVELS - 1;

	while (most && *most && level >= 0 && strcmp(most, names[level]) != 0)
		level--;
	if (level < 0)
		return NULL;
#if defined(__x86_64__)
	if (level >= AVX512 && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl"))
		return &reduce_avx512;
	if (level >= AVX2 && __builtin_cpu_supports("avx2"))
		return &reduce_avx2;
#endif
	return &reduce_plain;
}
