/*
 * Programs on a buffer `in` and one `out`: see in_and_out.h. Line by line; O(text).
 */
#include "tests/support/in_and_out.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rewriter {
	struct rng *g;
	const char *name;
	int chunks, half; /* half: its first chunk */
	uint64_t written; /* chunks of NAME, by the current rank's text so far */
	FILE *out;
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Whether the word before a reference reads it; `behind` is what follows it. */
static bool is_read(const char *line, const char *at, const char *behind)
{
	static const char *const words[] = { "send ", "copy ", "reduce " };

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(at - line) >= n && begins(at - n, words[i]))
			return i < 2 || begins(behind, " into");
	}
	return false;
}

/* "NAME[1]", "b[0..2]". Returns what is behind it. */
static const char *put_reference(struct rewriter *w, const char *line, const char *at)
{
	bool named = *at != 'b', old = false;
	const char *open = strchr(at, '[');
	int lo = 0, hi = 0, n = 0, add = named ? 0 : w->chunks;
	uint64_t chunks;

	if (sscanf(open, "[%d..%d]%n", &lo, &hi, &n) < 2 || !n) {
		hi = lo + 1;
		n = (int)(strchr(open, ']') + 1 - open);
	}
	chunks = (UINT64_C(1) << hi) - (UINT64_C(1) << lo);
	if (named && is_read(line, at, open + n))
		old = !(w->written & chunks) && rng_below(w->g, 4);
	else if (named)
		w->written |= chunks;
	add = old ? w->half : add;
	fprintf(w->out, "%s[%d..%d]", old ? "a" : w->name, lo + add, hi + add);
	return open + n;
}

/* Of the contract: what a rank ends with, and the sum of what ranks began with. */
static void put_ensures(const struct rewriter *w, const char *line)
{
	const char *of = strstr(line, ": ") + 2, *sum = strstr(line, " == sum(");
	const char *term = strchr(sum, ':') + 2, *chunk = strchr(term, '[') + 1;
	const char *end = strchr(chunk, ']');
	bool named = *of != 'b';

	fprintf(w->out, "%.*s%s[%d]%.*sa[%d + (%.*s)%s\n", (int)(of - line), line, w->name,
		atoi(strchr(of, '[') + 1) + (named ? 0 : w->chunks), (int)(term - sum), sum,
		w->half, (int)(end - chunk), chunk, end);
}

static void put_line(struct rewriter *w, const char *line)
{
	size_t n = strlen(w->name);
	const char *at = line;

	if (begins(line, "  if rank"))
		w->written = 0;
	while (*at) {
		bool word = at > line && at[-1] == ' ';

		if (word && ((begins(at, w->name) && at[n] == '[') || begins(at, "b[")))
			at = put_reference(w, line, at);
		else
			fputc(*at++, w->out);
	}
	fputc('\n', w->out);
	if (!strcmp(line, "{"))
		fprintf(w->out, "  copy a[%d..%d] into %s[0..%d]\n", w->half, w->half + w->chunks,
			w->name, w->chunks);
}

char *in_and_out(struct rng *g, char *text, const char *name, int chunks)
{
	struct rewriter w = { .g = g, .name = name, .chunks = chunks };
	char head[64], *to, *next, *at;
	size_t size;

	w.half = rng_below(g, 2) ? chunks : 0;
	snprintf(head, sizeof(head), "inout %s[%d], out b[%d]", name, chunks, chunks);
	w.out = open_memstream(&to, &size);
	if (!w.out)
		abort();
	for (char *line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next ? (*next = '\0', 1) : 0;
		at = strstr(line, head);
		if (at)
			fprintf(w.out, "%.*sin a[%d], out %s[%d])\n", (int)(at - line), line,
				2 * chunks, name, 2 * chunks);
		else if (begins(line, "  ensures"))
			put_ensures(&w, line);
		else
			put_line(&w, line);
	}
	fclose(w.out);
	free(text);
	return to;
}
