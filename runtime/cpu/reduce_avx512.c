/* The kernels with vectors of 64 bytes; reduce.c decides who may call them. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
			     apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define TABLE reduce_avx512
#define COPY reduce_avx512_copy
#define VECTOR 64
#include "runtime/cpu/reduce_types.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int reduce_avx512_has_none; /* a file has something in it */
#endif
