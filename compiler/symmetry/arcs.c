/*
 * Arcs: see arcs.h. Ranks are renumbered so that the first arc begins at 0. Then an arc that wraps
 * around to 0 overlaps the first one.
 */
#include "compiler/symmetry/arcs.h"

static void sort(struct arc *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct arc a = v[i];
		uint32_t k = i;
		for (; k > 0 && v[k - 1].first > a.first; k--)
			v[k] = v[k - 1];
		v[k] = a;
	}
}

bool arcs_join(struct arc *v, uint32_t *n, uint32_t nranks)
{
	uint32_t base = v[0].first, last = 0;

	for (uint32_t i = 0; i < *n; i++) {
		v[i].first = (v[i].first + nranks - base) % nranks;
		if (v[i].n > nranks - v[i].first)
			return false;
	}
	sort(v, *n);
	for (uint32_t i = 1; i < *n; i++) {
		uint32_t end = v[last].first + v[last].n;
		if (v[i].first < end)
			return false;
		if (v[i].first == end)
			v[last].n += v[i].n;
		else
			v[++last] = v[i];
	}
	if (last > 0 && v[last].first + v[last].n == nranks) { /* adjacent to the arc at 0 */
		v[0] = (struct arc){ v[last].first, v[last].n + v[0].n };
		last--;
	}
	for (uint32_t i = 0; i <= last; i++)
		v[i].first = (v[i].first + base) % nranks;
	if (v[0].n == nranks)
		v[0].first = 0;
	*n = last + 1;
	return *n <= MOST_ARCS;
}
