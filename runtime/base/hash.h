/*
 * FNV-1a of 64 bits: checksums of files, and names of equal data. No protection from anybody.
 */
#ifndef CCS_RUNTIME_BASE_HASH_H
#define CCS_RUNTIME_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/** Goes on from `h`, which is HASH_START at first. O(bytes). */
static inline uint64_t hash_fnv1a(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
