/*
 * Rows and tracks of the ranks' texts; see text.h.
 */
#include "compiler/stream/text.h"

#define MOST_ROWS (1u << 25) /* kept; programs of more that repeat in no loop are stored ones */

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

/* x with a * x = 1 mod m, for a and m without a common divisor (Euclid, extended). */
static int64_t inverse(int64_t a, int64_t m)
{
	int64_t r = m, s = a % m, x = 0, y = 1;

	while (s) {
		int64_t q = r / s, t = r - q * s;
		r = s;
		s = t;
		t = x - q * y;
		x = y;
		y = t;
	}
	return x < 0 ? x + m : x % m;
}

static struct track track_of(const struct stride *s)
{
	struct track t = { .first = s->first, .part = s->part, .number = s->number };
	const struct going *g = &s->number;

	if (g->ring == INT64_MAX) {
		t.period = g->step ? INT64_MAX : 1;
		return t;
	}
	int64_t d = common_divisor(g->ring, g->step);
	t.period = g->ring / d;
	t.inverse = inverse(g->step / d, t.period);
	return t;
}

uint32_t track_cell(const struct track *t, uint64_t i)
{
	const struct going *g = &t->number;
	int64_t way = g->ring == INT64_MAX ? (int64_t)i : (int64_t)(i % (uint64_t)t->period);
	int64_t at = g->at + way * g->step; /* below 2^62: rings fit 31 bits */

	if (g->ring != INT64_MAX)
		at %= g->ring;
	return t->first + t->part * (uint32_t)(g->off + at);
}

int64_t track_find(const struct track *t, uint32_t cell, uint32_t n, uint32_t *at)
{
	const struct going *g = &t->number;

	if (t->period == 1) {
		*at = cell - track_cell(t, 0);
		return *at < n ? 0 : -1;
	}
	int64_t way = (int64_t)((cell - t->first) / t->part) - g->off - g->at;
	*at = (cell - t->first) % t->part;
	if (cell < t->first || *at >= n)
		return -1;
	if (g->ring == INT64_MAX)
		return way % g->step || way / g->step < 0 ? -1 : way / g->step;
	if (way + g->at < 0 || way + g->at >= g->ring)
		return -1;
	int64_t d = g->ring / t->period;
	way += way < 0 ? g->ring : 0;
	return way % d ? -1 : way / d * t->inverse % t->period;
}

void text_take(struct text *t, struct arena *a, uint32_t first, const struct op *o, uint32_t n,
	       uint64_t times, const struct stride *strides)
{
	struct passage *last = t->n > first ? &t->v[t->n - 1] : NULL;

	t->full |= t->nops + n > MOST_ROWS;
	if (t->full || !n)
		return;
	if (times == 1 && last && last->times == 1)
		last->n += n;
	else
		ARENA_PUSH(a, t->v, t->n, t->cap) =
			(struct passage){ t->nops, n, t->ntracks, times };
	for (uint32_t i = 0; i < n; i++)
		ARENA_PUSH(a, t->ops, t->nops, t->capops) = o[i];
	for (uint32_t i = 0; i < 2 * n && times > 1; i++)
		ARENA_PUSH(a, t->tracks, t->ntracks, t->captracks) = track_of(&strides[i]);
}
