/*
 * Altered texts: see text_alter.h.
 */
#include "tests/support/text_alter.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token {
	size_t at, n;
};

/* The words and operators of a text, without comments, from its first schedule or proc on. */
static int tokens(const char *text, struct token *v, int most)
{
	int n = 0;

	for (size_t i = 0; text[i] && n < most; i++) {
		size_t from = i;
		if (text[i] == '/' && text[i + 1] == '/') {
			i += strcspn(text + i, "\n") - 1;
			continue;
		}
		if (text[i] == '"')
			i += strcspn(text + i + 1, "\"") + 1;
		else if (isalnum((unsigned char)text[i]) || text[i] == '_')
			while (isalnum((unsigned char)text[i + 1]) || text[i + 1] == '_')
				i++;
		else if (!strchr("+-*/%<>=&|^", text[i]))
			continue;
		v[n++] = (struct token){ from, i + 1 - from };
	}
	return n;
}

static void put(char *text, struct token t, const char *by)
{
	static char rest[MOST_TEXT];
	size_t n = strlen(by);

	if (strlen(text) + n + 1 >= MOST_TEXT)
		return;
	strcpy(rest, text + t.at + t.n);
	memcpy(text + t.at, by, n);
	strcpy(text + t.at + n, rest);
}

static bool is_word(const char *text, struct token t, const char *word)
{
	return strlen(word) == t.n && !memcmp(text + t.at, word, t.n);
}

static const char *pick(struct rng *g, const char *const *v, int n)
{
	return v[rng_below(g, n)];
}

#define PICK(g, ...) \
	pick(g, (const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* Another text for a token; NULL: it stays. */
static const char *another(struct rng *g, const char *text, struct token t)
{
	static const char *const verbs[] = { "send", "recv", "reduce", "copy" };

	if (isdigit((unsigned char)text[t.at]))
		return PICK(g, "0", "1", "2", "3", "N", "rank", "(N - 1)");
	if (is_word(text, t, "rank"))
		return PICK(g, "(rank + 1) % N", "rank / 2", "(rank * 2)", "0", "(-rank)",
			    "(rank ^ 1)", "min(rank, N - 2)", "(rank + 2)",
			    "(rank == 3 ? 0 : rank)");
	if (is_word(text, t, "N"))
		return PICK(g, "(N - 1)", "2", "(N + 1)", "(2 * N)", "rank", "4");
	for (int i = 0; i < 4; i++)
		if (is_word(text, t, verbs[i]))
			return verbs[rng_below(g, 4)];
	if (is_word(text, t, "to") || is_word(text, t, "from"))
		return PICK(g, "to", "from", "into");
	if (is_word(text, t, "R"))
		return PICK(g, "0", "1", "rank", "(R + 1) % N", "(N - 1 - R)", "R / 2");
	if (is_word(text, t, "d") || is_word(text, t, "k") || is_word(text, t, "s"))
		return PICK(g, "2", "1", "rank", "N / 2", "(rank & 1)");
	if (t.n == 1 && strchr("+-*/%^&", text[t.at]))
		return PICK(g, "+", "-", "*", "%", "/", "^", "&", ">>");
	return NULL;
}

/* A line that begins with an operation is left out, doubled, or made to depend on the rank. */
static void alter_line(struct rng *g, char *text)
{
	size_t at[256], n = 0;

	for (size_t i = 0; text[i] && n < 256; i++)
		if (text[i] == '\n' && strlen(text + i) > 8) {
			const char *first = text + i + 1 + strspn(text + i + 1, " ");
			if (!strncmp(first, "send", 4) || !strncmp(first, "re", 2) ||
			    !strncmp(first, "copy", 4))
				at[n++] = i + 1;
		}
	if (!n)
		return;
	char line[512], by[1200];
	size_t i = at[rng_below(g, (int)n)];
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text + i, "\n"), text + i);
	struct token t = { i, strlen(line) };
	switch (rng_below(g, 4)) {
	case 0: by[0] = '\0'; break;
	case 1: snprintf(by, sizeof(by), "%s %s", line, line); break;
	case 2: snprintf(by, sizeof(by), "if rank != 2 { %s }", line); break;
	default: snprintf(by, sizeof(by), "if N > 2 { %s }", line); break;
	}
	put(text, t, by);
}

void text_alter(struct rng *g, char *text)
{
	static struct token v[4096];
	int n = tokens(text, v, 4096);

	if (rng_below(g, 5) == 0 || n == 0) {
		alter_line(g, text);
		return;
	}
	for (int tries = 0; tries < 50; tries++) {
		struct token t = v[rng_below(g, n)];
		const char *by = another(g, text, t);
		if (by) {
			put(text, t, by);
			return;
		}
	}
}
