/*
 * The hash table: finds rows of an array by what they hold.
 *
 * The array is the caller's; the table has its row numbers, and their hashes, in slots with open
 * addressing and linear probing (Knuth, vol. 3, 6.4). It is at most half full, and doubles in the
 * arena. Rows are not removed.
 *
 *     uint32_t row = hash_find(&t, hash, same, v, &key);
 *     if (row == HASH_NONE)
 *             hash_add(&t, arena, hash, row = n), v[n++] = key;
 *
 * O(1) expected.
 */
#ifndef CCS_LANG_BASE_HASH_TABLE_H
#define CCS_LANG_BASE_HASH_TABLE_H

#include "lang/base/arena.h"

#define HASH_NONE UINT32_MAX

struct hash_table {
	struct hash_slot {
		uint32_t hash, row; /* 1 + row; 0: free */
	} *slots;
	uint32_t n, cap; /* cap: 0, or a power of two */
};

/** Continues a hash by a number. Its lower bits depend on all bits (multiplicative hashing). */
static inline uint32_t hash_mix(uint32_t h, uint32_t x)
{
	h = (h ^ x) * 0x9e3779b1u;
	return h ^ h >> 15;
}

/** The row of that hash that is the same as the key, or HASH_NONE. `of` is passed to `same`. */
static inline uint32_t hash_find(const struct hash_table *t, uint32_t hash,
				 bool (*same)(const void *of, uint32_t row, const void *key),
				 const void *of, const void *key)
{
	for (uint32_t at = hash; t->cap; at++) {
		const struct hash_slot *s = &t->slots[at & (t->cap - 1)];
		if (!s->row)
			break;
		if (s->hash == hash && same(of, s->row - 1, key))
			return s->row - 1;
	}
	return HASH_NONE;
}

/** Adds a row, which is not there yet. */
void hash_add(struct hash_table *t, struct arena *a, uint32_t hash, uint32_t row);

#endif
