/* The kernels with vectors of 64 bytes; reduce.c decides whether they are called. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
			     apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define SET reduce_avx512
#define STREAM_VECTOR(to, from) _mm512_stream_si512(to, _mm512_loadu_si512(from))
#define STREAMED __m512i
#define VECTOR 64
#include "runtime/cpu/core/reduce_types.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int reduce_avx512_has_none; /* a translation unit may not be empty */
#endif
