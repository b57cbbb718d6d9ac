/*
 * The table of words. See keywords.h.
 */
#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"

#include <string.h>

static const struct word keywords[] = {
	{ "schedule", TOK_SCHEDULE, DECLARATION, WORD_DECLARATION,
	  "schedule NAME(PARAMETERS) implements CONTRACT(BUFFERS) on TOPOLOGY where CONDITION { ... }",
	  "can be compiled: every rank runs its text, and together the ranks fulfil a contract" },
	{ "import", TOK_IMPORT, DECLARATION, WORD_DECLARATION, "import \"FILE.ccs\"",
	  "includes another file: from this file's folder, then -I, then the installed library" },
	{ "contract", TOK_CONTRACT, DECLARATION, WORD_DECLARATION,
	  "contract NAME(BUFFERS; PARAMETERS) ensures ...",
	  "the required result when every rank has finished" },
	{ "topology", TOK_TOPOLOGY, DECLARATION, WORD_DECLARATION,
	  "topology NAME(PARAMETERS) where CONDITION { ... }",
	  "defines which pairs of ranks have a link; its names are visible in a schedule on it" },
	{ "proc", TOK_PROC, DECLARATION, WORD_DECLARATION, "proc NAME(d[K], number) { ... }",
	  "named statements; d is a view of the chunks passed, in K equal parts" },
	{ "send", TOK_SEND, STATEMENT, WORD_OPERATION, "send X to P",
	  "sends the present value of X to rank P" },
	{ "recv", TOK_RECV, STATEMENT, WORD_OPERATION, "recv X from P",
	  "stores the next message from P in X" },
	{ "reduce", TOK_REDUCE, STATEMENT, WORD_OPERATION, "reduce X from P, reduce X into Y",
	  "combines X with the next message from P, or Y with X, by the caller's operator" },
	{ "copy", TOK_COPY, STATEMENT, WORD_OPERATION, "copy X into Y", "a copy within this rank" },
	{ "step", TOK_STEP, STATEMENT, WORD_BLOCK, "step { ... }",
	  "its operations run concurrently: all reads see the values from before the step" },
	{ "par", TOK_PAR, STATEMENT, WORD_BLOCK, "par { {...} {...} }, par for i in a..b { ... }",
	  "its blocks run concurrently, each on separate channels" },
	{ "for", TOK_FOR, STATEMENT, WORD_BLOCK, "for i in a..b by c { ... }",
	  "half-open: i is never b; empty if b <= a; downwards if c is negative" },
	{ "if", TOK_IF, STATEMENT, WORD_BLOCK, "if CONDITION { ... } else { ... }",
	  "each rank decides for itself" },
	{ "within", TOK_WITHIN, STATEMENT, WORD_BLOCK, "within group(FIRST, COUNT, STRIDE) { ... }",
	  "only these ranks run the block; in it, `rank` and `N` are the group's" },
	{ "channel", TOK_CHANNEL, STATEMENT, WORD_BLOCK, "channel E { ... }",
	  "puts its messages on channel E; the default is channel 0" },
	{ "assert", TOK_ASSERT, STATEMENT, WORD_DEFINITION, "assert CONDITION, \"TEXT\"",
	  "a compile-time check (E0205)" },
	{ "let", TOK_LET, STATEMENT, WORD_DEFINITION,
	  "let NAME = EXPRESSION, let NAME = [A, B, ...]",
	  "an immutable name for a number or a table" },
	{ "fn", TOK_FN, STATEMENT, WORD_DEFINITION, "fn NAME(a, b) = EXPRESSION",
	  "a pure function, which may call itself; `rank` and `N` are its caller's" },
	{ "scratch", TOK_SCRATCH, STATEMENT, WORD_DEFINITION, "scratch NAME[K]",
	  "chunks of this rank, without values at first; a chunk takes the length of the value "
	  "stored into it" },
	{ "link", TOK_LINK, STATEMENT, WORD_OPERATION,
	  "link rank -> E (bandwidth = 50e9, latency = 1e-6)",
	  "a link of a topology, one way; bytes/s and s are optional" },
	{ "implements", TOK_IMPLEMENTS, NOTHING, WORD_CLAUSE,
	  "implements CONTRACT(BUFFERS; root = R)",
	  "the contract that the schedule fulfils; buffers correspond by position" },
	{ "on", TOK_ON, NOTHING, WORD_CLAUSE, "on TOPOLOGY(ARGUMENTS)",
	  "restricts messages to its links (E0305); by default every pair of ranks has a link" },
	{ "where", TOK_WHERE, NOTHING, WORD_CLAUSE, "where CONDITION",
	  "the numbers of ranks that the text is for" },
	{ "ensures", TOK_ENSURES, NOTHING, WORD_CLAUSE, "ensures CONDITION: x[i] == y[e]@q",
	  "the final value of a chunk, for every index i; x[e]@q is an initial value on rank q" },
	{ "in", TOK_IN, NOTHING, WORD_DIRECTION, "in x[C]; for i in a..b",
	  "a read-only buffer; or the range of a loop" },
	{ "out", TOK_OUT, NOTHING, WORD_DIRECTION, "out x[C]", "a buffer without values at first" },
	{ "inout", TOK_INOUT, NOTHING, WORD_DIRECTION, "inout x[C]",
	  "a buffer that is read and written; the caller may pass two, or one (in place)" },
	{ "into", TOK_INTO, NOTHING, WORD_PREPOSITION, "copy X into Y",
	  "the destination of a copy" },
	{ "to", TOK_TO, NOTHING, WORD_PREPOSITION, "send X to P", "the rank that receives" },
	{ "from", TOK_FROM, NOTHING, WORD_PREPOSITION, "recv X from P", "the rank that sends" },
	{ "by", TOK_BY, NOTHING, WORD_PREPOSITION, "for i in a..b by c; out x[N] by column",
	  "a loop's step; or a layout: chunk k is the k-th group of adjacent columns" },
	{ "else", TOK_ELSE, NOTHING, WORD_BLOCK, "if CONDITION { ... } else { ... }",
	  "what other ranks run" },
	{ "group", TOK_GROUP, NOTHING, WORD_PREPOSITION,
	  "within group(FIRST, COUNT, STRIDE), group(TABLE)",
	  "some of the ranks, renumbered from 0" },
	{ "sum", TOK_SUM, NOTHING, WORD_FUNCTION, "sum(q in a..b: x[e]@q)",
	  "initial values of several ranks, combined by the caller's operator" },
	{ "sized", TOK_SIZED, NOTHING, WORD_CLAUSE, "in x[N] sized S[rank][i]",
	  "gives chunk i its own length, from a table that the caller passes" },
	{ "rank", TOK_RANK, NOTHING, WORD_CONSTANT, "rank", "the number of this rank, from 0" },
	{ "N", TOK_N, NOTHING, WORD_CONSTANT, "N", "the number of ranks" },
	{ "true", TOK_TRUE, NOTHING, WORD_CONSTANT, "true", "1" },
	{ "false", TOK_FALSE, NOTHING, WORD_CONSTANT, "false", "0" },
};

/* In the order of enum builtin. */
static const struct word functions[] = {
	{ "min", 0, NOTHING, WORD_FUNCTION, "min(a, b, ...)", "the least of its arguments" },
	{ "max", 0, NOTHING, WORD_FUNCTION, "max(a, b, ...)", "the greatest of its arguments" },
	{ "abs", 0, NOTHING, WORD_FUNCTION, "abs(a)", "the absolute value" },
	{ "ilog2", 0, NOTHING, WORD_FUNCTION, "ilog2(a)",
	  "the floor of the binary logarithm; a is at least 1" },
	{ "clog2", 0, NOTHING, WORD_FUNCTION, "clog2(a)", "the least k with 1 << k >= a" },
	{ "ispow2", 0, NOTHING, WORD_FUNCTION, "ispow2(a)", "1 for 1, 2, 4, 8 ..., else 0" },
	{ "popcount", 0, NOTHING, WORD_FUNCTION, "popcount(a)", "the number of set bits, of 64" },
	{ "ctz", 0, NOTHING, WORD_FUNCTION, "ctz(a)",
	  "the number of zero bits below the lowest set bit; a is not 0" },
	{ "len", 0, NOTHING, WORD_FUNCTION, "len(table)", "the number of a table's entries" },
};
_Static_assert(sizeof(functions) / sizeof(*functions) == BUILTIN_LEN, "a row for each builtin");

static const struct word places[] = {
	{ "column", 0, NOTHING, WORD_PLACE, "out x[N] by column",
	  "chunk k is the k-th group of adjacent columns of a row-major matrix" },
	{ "after", 0, NOTHING, WORD_PLACE, "ensures after(q in a..b)",
	  "this rank ends after each rank q has begun" },
	{ "bandwidth", 0, NOTHING, WORD_PLACE, "link a -> b (bandwidth = 50e9)",
	  "bytes per second" },
	{ "latency", 0, NOTHING, WORD_PLACE, "link a -> b (latency = 1e-6)", "seconds" },
	{ "switch", TOK_SWITCH, STATEMENT, WORD_PLACE, "switch NAME, switch NAME[K]",
	  "nodes of a topology that carry messages and are no ranks: link rank -> NAME[k]" },
	{ "cost", TOK_COST, STATEMENT, WORD_PLACE,
	  "cost (call = 4e-6, step = 1e-6, worker = 20e9, reduce = 20e9)",
	  "times of a topology's ranks: s a call, s an operation, bytes/s of one worker" },
};

enum {
	MANY = sizeof(keywords) / sizeof(*keywords),
	FUNCTIONS = sizeof(functions) / sizeof(*functions),
	PLACES = sizeof(places) / sizeof(*places)
};

const struct word *keyword_words(size_t *n)
{
	*n = MANY;
	return keywords;
}

const struct word *keyword_builtins(size_t *n)
{
	*n = FUNCTIONS;
	return functions;
}

const struct word *keyword_places(size_t *n)
{
	*n = PLACES;
	return places;
}

const char *keyword_class_name(enum word_class class)
{
	static const char *const names[WORD_CLASSES] = {
		[WORD_DECLARATION] = "declaration", [WORD_CLAUSE] = "clause",
		[WORD_OPERATION] = "operation",	    [WORD_BLOCK] = "block",
		[WORD_DEFINITION] = "definition",   [WORD_DIRECTION] = "direction",
		[WORD_PREPOSITION] = "preposition", [WORD_CONSTANT] = "constant",
		[WORD_FUNCTION] = "function",	    [WORD_PLACE] = "place"
	};
	return names[class];
}

static const struct word *find(const struct word *v, size_t many, const char *s, size_t n)
{
	for (size_t i = 0; i < many && n; i++)
		if (v[i].text[0] == s[0] && !strncmp(v[i].text, s, n) && !v[i].text[n])
			return &v[i];
	return NULL;
}

const struct word *keyword_find(const char *s, size_t n)
{
	const struct word *w = find(keywords, MANY, s, n);

	if (!w)
		w = find(functions, FUNCTIONS, s, n);
	return w ? w : find(places, PLACES, s, n);
}

int keyword_token(const char *s, size_t n)
{
	const struct word *w = find(keywords, MANY, s, n);

	return w ? w->token : 0;
}

/* Asked several times for each token: most are names, numbers and signs, which parse.y declares after
 * the words, or are characters. */
enum starts keyword_starts(int token)
{
	if (token < TOK_SCHEDULE || token >= TOK_IDENT)
		return NOTHING;
	for (int i = 0; i < MANY; i++)
		if (keywords[i].token == token)
			return keywords[i].starts;
	for (int i = 0; i < PLACES; i++)
		if (places[i].token == token && token)
			return places[i].starts;
	return NOTHING;
}

enum starts keyword_text_starts(const char *text)
{
	const struct word *w = keyword_find(text, strlen(text));

	return w ? w->starts : NOTHING;
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
