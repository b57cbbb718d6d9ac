/*
 * The hash table: see hash_table.h.
 */
#include "lang/base/hash_table.h"

#define LEAST 64u

static void put(struct hash_table *t, struct hash_slot slot)
{
	uint32_t at = slot.hash;

	while (t->slots[at & (t->cap - 1)].row)
		at++;
	t->slots[at & (t->cap - 1)] = slot;
}

void hash_add(struct hash_table *t, struct arena *a, uint32_t hash, uint32_t row)
{
	const struct hash_table old = *t;

	if (2 * ++t->n > t->cap) {
		t->cap = t->cap ? 2 * t->cap : LEAST;
		t->slots = ARENA_ARRAY(a, struct hash_slot, t->cap);
		for (uint32_t i = 0; i < old.cap; i++)
			if (old.slots[i].row)
				put(t, old.slots[i]);
	}
	put(t, (struct hash_slot){ hash, row + 1 });
}
