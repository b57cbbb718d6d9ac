/* See clocks.h. */
#include "compiler/check/clocks.h"

#include <string.h>

void clocks_begin(struct clocks *k, struct arena *a, uint32_t width)
{
	k->arena = a;
	k->width = width;
	k->n = 0;
	clocks_add(k, 1);
}

size_t clocks_add(struct clocks *k, size_t n)
{
	size_t first = k->n, need = (first + n) * k->width;

	if (need > k->cap) {
		size_t cap = n > 1 ? need : 2 * need; /* many rows at once: all there will be */
		k->words = arena_grow(k->arena, k->words, k->cap * sizeof(*k->words),
				      cap * sizeof(*k->words));
		k->cap = cap;
	}
	if (k->width)
		memset(clocks_row(k, first), 0, n * k->width * sizeof(*k->words));
	k->n += n;
	return first;
}

void clocks_join(struct clocks *k, size_t to, size_t from)
{
	uint32_t *mine = clocks_row(k, to);
	const uint32_t *theirs = clocks_row(k, from);

	for (uint32_t i = 0; i < k->width; i++)
		mine[i] = theirs[i] > mine[i] ? theirs[i] : mine[i];
}

bool clocks_learn(struct clocks *k, size_t *row, bool own, uint32_t of, uint32_t over, size_t from)
{
	size_t was = *row;

	if (clocks_row(k, was)[of] >= over)
		return false;
	if (!own) {
		*row = clocks_add(k, 1);
		clocks_join(k, *row, was);
	}
	clocks_join(k, *row, from);
	if (clocks_row(k, *row)[of] < over)
		clocks_row(k, *row)[of] = over;
	return true;
}
