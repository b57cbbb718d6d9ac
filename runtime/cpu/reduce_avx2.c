/* The kernels with vectors of 32 bytes; reduce.c decides who may call them. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define TABLE reduce_avx2
#define COPY reduce_avx2_copy
#define VECTOR 32
#include "runtime/cpu/reduce_types.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int reduce_avx2_has_none; /* a file has something in it */
#endif
