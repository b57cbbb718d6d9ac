/*
 * Sorted spans of a buffer. See fold_map.h.
 */
#include "runtime/cpu/play/fold_map.h"

#include <stdlib.h>
#include <string.h>

/* The first span that ends after that byte. */
static uint32_t find_span(const struct fold_map *m, uint32_t at)
{
	uint32_t low = 0, high = m->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m->of[mid].at + m->of[mid].bytes <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool map_room(struct fold_map *m, uint32_t more)
{
	uint32_t room = 2 * m->room + more;
	struct fold_span *of;

	if (m->n + more <= m->room)
		return true;
	of = realloc(m->of, room * sizeof(*of));
	if (!of)
		return false;
	m->of = of;
	m->room = room;
	return true;
}

struct fold_span fold_map_rest(struct fold_span s, uint32_t at, uint32_t esize)
{
	uint32_t skipped = at - s.at;

	s.at = at;
	s.bytes -= skipped;
	s.n -= skipped / esize;
	s.is.at += skipped;
	return s;
}

bool fold_map_store(struct fold_map *m, const struct fold_span *s, uint32_t esize)
{
	uint32_t end = s->at + s->bytes, first = find_span(m, s->at), last = first, n = 0;
	struct fold_span put[3];

	while (last < m->n && m->of[last].at < end)
		last++;
	if (first < last && m->of[first].at < s->at) {
		put[n] = m->of[first];
		put[n].bytes = s->at - put[n].at;
		put[n].n = put[n].bytes / esize;
		n++;
	}
	put[n++] = *s;
	if (first < last && m->of[last - 1].at + m->of[last - 1].bytes > end)
		put[n++] = fold_map_rest(m->of[last - 1], end, esize);
	if (!map_room(m, n))
		return false;
	memmove(m->of + first + n, m->of + last, (m->n - last) * sizeof(*m->of));
	memcpy(m->of + first, put, n * sizeof(*put));
	m->n = m->n - (last - first) + n;
	return true;
}

const struct fold_span *fold_map_look(const struct fold_map *m, uint32_t at)
{
	uint32_t i = find_span(m, at);

	return i < m->n && m->of[i].at <= at ? m->of + i : NULL;
}

bool fold_map_overlaps(const struct fold_map *m, uint32_t at, uint32_t bytes)
{
	uint32_t i = find_span(m, at);

	return i < m->n && m->of[i].at < at + bytes;
}
