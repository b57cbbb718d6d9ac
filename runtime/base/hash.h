/*
 * FNV-1a, 64 bits (Fowler, Noll, Vo): checksums of files, and names of equal data. Not
 * cryptographic.
 */
#ifndef CCS_RUNTIME_BASE_HASH_H
#define CCS_RUNTIME_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/** Continues the hash h, at first HASH_START. O(bytes). */
static inline uint64_t hash_fnv1a(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
