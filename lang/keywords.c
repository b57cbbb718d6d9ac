/*
 * The table of words. See keywords.h.
 */
#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"

#include <string.h>

enum starts { NOTHING, DECLARATION, STATEMENT };

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

enum { MANY = sizeof keywords / sizeof *keywords };

int keyword_token(const char *s, size_t n)
{
	for (int i = 0; i < MANY; i++)
		if (keywords[i].text[0] == s[0] && !strncmp(keywords[i].text, s, n) &&
		    !keywords[i].text[n])
			return keywords[i].token;
	return 0;
}

static bool starts(int token, enum starts what)
{
	for (int i = 0; i < MANY; i++)
		if (keywords[i].token == token)
			return keywords[i].starts == what;
	return false;
}

bool keyword_starts_declaration(int token)
{
	return starts(token, DECLARATION);
}

bool keyword_starts_statement(int token)
{
	return starts(token, STATEMENT);
}

bool keyword_text_starts_statement(const char *text)
{
	int token = keyword_token(text, strlen(text));

	return token && keyword_starts_statement(token);
}
