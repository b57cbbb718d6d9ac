/*
 * The table of words. See keywords.h.
 */
#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"

#include <string.h>

static const struct keyword {
	const char *text;
	int token;
	enum starts starts;
} keywords[] = {
	{ "schedule", TOK_SCHEDULE, DECLARATION },
	{ "import", TOK_IMPORT, DECLARATION },
	{ "contract", TOK_CONTRACT, DECLARATION },
	{ "topology", TOK_TOPOLOGY, DECLARATION },
	{ "proc", TOK_PROC, DECLARATION },
	{ "send", TOK_SEND, STATEMENT },
	{ "recv", TOK_RECV, STATEMENT },
	{ "reduce", TOK_REDUCE, STATEMENT },
	{ "copy", TOK_COPY, STATEMENT },
	{ "step", TOK_STEP, STATEMENT },
	{ "par", TOK_PAR, STATEMENT },
	{ "for", TOK_FOR, STATEMENT },
	{ "if", TOK_IF, STATEMENT },
	{ "within", TOK_WITHIN, STATEMENT },
	{ "channel", TOK_CHANNEL, STATEMENT },
	{ "assert", TOK_ASSERT, STATEMENT },
	{ "let", TOK_LET, STATEMENT },
	{ "fn", TOK_FN, STATEMENT },
	{ "scratch", TOK_SCRATCH, STATEMENT },
	{ "link", TOK_LINK, STATEMENT },
	{ "implements", TOK_IMPLEMENTS, NOTHING },
	{ "on", TOK_ON, NOTHING },
	{ "where", TOK_WHERE, NOTHING },
	{ "ensures", TOK_ENSURES, NOTHING },
	{ "in", TOK_IN, NOTHING },
	{ "out", TOK_OUT, NOTHING },
	{ "inout", TOK_INOUT, NOTHING },
	{ "into", TOK_INTO, NOTHING },
	{ "to", TOK_TO, NOTHING },
	{ "from", TOK_FROM, NOTHING },
	{ "by", TOK_BY, NOTHING },
	{ "else", TOK_ELSE, NOTHING },
	{ "group", TOK_GROUP, NOTHING },
	{ "sum", TOK_SUM, NOTHING },
	{ "sized", TOK_SIZED, NOTHING },
	{ "rank", TOK_RANK, NOTHING },
	{ "N", TOK_N, NOTHING },
	{ "true", TOK_TRUE, NOTHING },
	{ "false", TOK_FALSE, NOTHING },
};

enum { MANY = sizeof(keywords) / sizeof(*keywords) };

int keyword_token(const char *s, size_t n)
{
	for (int i = 0; i < MANY; i++)
		if (keywords[i].text[0] == s[0] && !strncmp(keywords[i].text, s, n) &&
		    !keywords[i].text[n])
			return keywords[i].token;
	return 0;
}

enum starts keyword_starts(int token)
{
	for (int i = 0; i < MANY; i++)
		if (keywords[i].token == token)
			return keywords[i].starts;
	return NOTHING;
}

enum starts keyword_text_starts(const char *text)
{
	return keyword_starts(keyword_token(text, strlen(text)));
}

size_t word_length(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

bool word_is_one_of(const char *s, const char *words)
{
	size_t n = word_length(s), len;

	for (; n && *words; words += len + (words[len] == ' ')) {
		len = strcspn(words, " ");
		if (len == n && !memcmp(s, words, n))
			return true;
	}
	return false;
}
