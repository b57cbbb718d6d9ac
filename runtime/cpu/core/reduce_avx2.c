/* The kernels with vectors of 32 bytes; reduce.c decides whether they are called. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define SET reduce_avx2
#define STREAM_VECTOR(to, from) _mm256_stream_si256(to, _mm256_loadu_si256(from))
#define STREAMED __m256i
#define VECTOR 32
#include "runtime/cpu/core/reduce_types.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int reduce_avx2_has_none; /* a translation unit may not be empty */
#endif
