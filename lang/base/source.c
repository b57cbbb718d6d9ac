/*
 * Source texts and places in them: see source.h.
 *
 * Texts follow one another in one space of offsets, with one unused offset between two of them, so
 * that the end of a text belongs to it. The table of line starts is made when a place in the text
 * is first printed. Texts and lines are then found by binary search.
 */
#include "lang/base/source.h"

#include <string.h>

struct source *source_adopt(struct sources *s, struct source fields)
{
	const struct source *last = s->n ? s->v[s->n - 1] : NULL;
	uint64_t base = last ? (uint64_t)last->base + last->len + 1 : 1;

	if (base + fields.len + 1 > UINT32_MAX)
		return NULL;
	fields.name = arena_strndup(s->arena, fields.name, strlen(fields.name));
	fields.base = (uint32_t)base;
	return ARENA_PUSH(s->arena, s->v, s->n, s->cap) = ARENA_COPY(s->arena, &fields);
}

struct source *source_add(struct sources *s, const char *name, const char *text, size_t len)
{
	char *copy;

	if (len > UINT32_MAX)
		return NULL;
	copy = arena_alloc(s->arena, len + 2);
	if (len)
		memcpy(copy, text, len);
	return source_adopt(s, (struct source){ .name = name, .text = copy, .len = (uint32_t)len });
}

static void find_lines(struct arena *a, struct source *s)
{
	uint32_t *lines = NULL, n = 0, cap = 0;

	ARENA_PUSH(a, lines, n, cap) = 0;
	for (uint32_t i = 0; i < s->len; i++)
		if (s->text[i] == '\n')
			ARENA_PUSH(a, lines, n, cap) = i + 1;
	s->lines = lines;
	s->nlines = n;
}

struct source *source_at(const struct sources *s, uint32_t offset)
{
	uint32_t lo = 0, hi = s->n; /* finds the last text that starts at or before the offset */

	if (!s->n || offset < s->v[0]->base)
		return NULL;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->v[mid]->base <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return offset - s->v[lo]->base <= s->v[lo]->len ? s->v[lo] : NULL;
}

struct source *source_of_file(const struct sources *s, uint64_t dev, uint64_t ino)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i]->is_file && s->v[i]->file.dev == dev && s->v[i]->file.ino == ino)
			return s->v[i];
	return NULL;
}

struct place source_place(struct sources *s, uint32_t offset)
{
	struct source *src = source_at(s, offset);
	uint32_t lo = 0, hi, at;

	if (!src)
		return (struct place){ 0 };
	if (!src->lines)
		find_lines(s->arena, src);
	at = offset - src->base;
	hi = src->nlines;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (src->lines[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return (struct place){ .source = src, .line = lo + 1, .column = at - src->lines[lo] + 1 };
}

const char *source_line(const struct source *s, uint32_t line, uint32_t *len)
{
	uint32_t at = s->lines[line - 1], end = line < s->nlines ? s->lines[line] - 1 : s->len;

	if (end > at && s->text[end - 1] == '\r')
		end--;
	*len = end - at;
	return s->text + at;
}
