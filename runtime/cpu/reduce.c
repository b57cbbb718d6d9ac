/*
 * The kernels that every machine can run, and which ones this machine runs best. Vectors of 16
 * bytes are in the base of x86-64 and of arm64 (NEON).
 */
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
