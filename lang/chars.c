/*
 * Characters that are not in the language, and their intended meaning.
 *
 * The scanner calls these functions for bytes that match no token. Each reports the character; if
 * it stands for a token of the language (a typographic quote, an arrow), the scanner continues with
 * that token, so that there are no further errors.
 */
#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"

#include <string.h>

static struct span part(struct span span, size_t from, size_t to)
{
	return (struct span){ span.lo + (uint32_t)from, span.lo + (uint32_t)to };
}

/* ---- outside ASCII -------------------------------------------------------------------- */

static const struct sign {
	const char *bytes; /* UTF-8 */
	const char *number;
	const char *write;
	int token; /* 0: a space */
} signs[] = {
	{ "\xc2\xa0", "U+00A0, a no-break space", " ", 0 },
	{ "\xe2\x80\x83", "U+2003, an em space", " ", 0 },
	{ "\xe2\x80\xaf", "U+202F, a narrow no-break space", " ", 0 },
	{ "\xe3\x80\x80", "U+3000, a wide space", " ", 0 },
	{ "\xe2\x80\x8b", "U+200B, a zero-width space", "", 0 },
	{ "\xe2\x81\xa0", "U+2060, a word joiner", "", 0 },
	{ "\xef\xbb\xbf", "U+FEFF, a byte order mark", "", 0 },
	{ "\xe2\x88\x92", "U+2212, a minus sign", "-", '-' },
	{ "\xe2\x80\x93", "U+2013, a dash", "-", '-' },
	{ "\xe2\x80\x94", "U+2014, a dash", "-", '-' },
	{ "\xc3\x97", "U+00D7, a multiplication sign", "*", '*' },
	{ "\xc3\xb7", "U+00F7, a division sign", "/", '/' },
	{ "\xe2\x89\xa4", "U+2264, less or equal", "<=", TOK_LE },
	{ "\xe2\x89\xa5", "U+2265, greater or equal", ">=", TOK_GE },
	{ "\xe2\x89\xa0", "U+2260, not equal", "!=", TOK_NE },
	{ "\xe2\x86\x90", "U+2190, an arrow", "from", TOK_FROM },
	{ "\xe2\x86\x92", "U+2192, an arrow", "->", TOK_ARROW },
	{ "\xe2\x80\xa6", "U+2026, an ellipsis", "..", TOK_DOTDOT },
	{ "\xef\xbc\x88", "U+FF08, a wide parenthesis", "(", '(' },
	{ "\xef\xbc\x89", "U+FF09, a wide parenthesis", ")", ')' },
};

/* An arrow stands for `to` or another word in an operation, and for -> only in a link. */
static struct sign in_statement(const struct parse *ps, struct sign sign)
{
	if (sign.token == TOK_ARROW && ps->statement == TOK_SEND)
		return (struct sign){ sign.bytes, sign.number, "to", TOK_TO };
	if (sign.token == TOK_ARROW && (ps->statement == TOK_COPY || ps->statement == TOK_REDUCE))
		return (struct sign){ sign.bytes, sign.number, "into", TOK_INTO };
	return sign;
}

size_t parse_foreign(struct parse *ps, const char *s, size_t n, struct span span, int *token)
{
	static const char only[] = "characters outside ASCII are allowed only in comments and "
				   "strings";
	struct diag *g;

	*token = 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		const struct sign found = in_statement(ps, signs[i]), *sign = &found;
		size_t len = strlen(sign->bytes);
		struct span at = part(span, 0, len);

		if (n < len || memcmp(s, sign->bytes, len))
			continue;
		g = parse_error(ps, at, "this is %s: %s", sign->number, only);
		parse_cure(ps, g,
			   *sign->write == ' ' ? "write a space"
			   : *sign->write      ? arena_printf(ps->arena, "write `%s`", sign->write)
					       : "remove it",
			   at, sign->write);
		*token = sign->token;
		return len;
	}
	ps->bad_bytes = true;
	g = parse_error(ps, span, "%s", only);
	parse_cure(ps, g, "names consist of the letters a to z and A to Z, digits and `_`", span,
		   NULL);
	return n;
}

const char *parse_quoted(struct parse *ps, const char *s, size_t n, size_t quote, struct span span)
{
	const char *text = arena_strndup(ps->arena, s + quote, n - 2 * quote);

	parse_cure(ps, parse_error(ps, span, "strings use straight double quotes"), NULL, span,
		   strpbrk(text, "\\\"") ? NULL : arena_printf(ps->arena, "\"%s\"", text));
	return text;
}

/* ---- signs of other languages ------------------------------------------------------------ */

/* #define NAME VALUE, #define NAME(a) VALUE: suggests a let or a fn. */
static void define(struct parse *ps, struct diag *g, const char *s, size_t used, struct span span)
{
	const char *name = s + used + strspn(s + used, " \t");
	size_t end = (size_t)(name - s) + word_length(name), close = end;

	if (s[end] == '(')
		close += strcspn(s + end, ")\r\n") + 1;
	parse_cure(ps, g,
		   close > end ? "to name an expression: fn NAME(a) = EXPRESSION"
			       : "to name a number: let NAME = NUMBER",
		   part(span, 0, close),
		   arena_printf(ps->arena, "%s %.*s =", close > end ? "fn" : "let",
				(int)(s + close - name), name));
}

/* `#`: a comment of other languages, up to the end of its line, or a directive. */
static size_t hash(struct parse *ps, const char *s, struct span span)
{
	size_t n = strcspn(s, "\r\n"), used = 1 + strspn(s + 1, " \t");
	struct diag *g = parse_error(ps, span, "`#` is not part of the language");

	ps->bad_bytes = false; /* the line is skipped, without further errors */
	if (word_is_one_of(s + used, "include")) {
		const char *name = s + used + 7 + strspn(s + used + 7, " \t");

		parse_cure(ps, g, "to use another file: import \"FILE.ccs\"",
			   part(span, 0, used + 7), *name == '"' ? "import" : NULL);
	} else if (used == 1 && word_is_one_of(s + 1, "define")) {
		define(ps, g, s, used + 6, span);
	} else if (used == 1 &&
		   word_is_one_of(s + 1, "if ifdef ifndef elif else endif pragma undef")) {
		parse_cure(ps, g,
			   "there is no preprocessor; remove the line, or write if E { ... }", span,
			   NULL);
	} else {
		parse_cure(ps, g, "a comment begins with `//`", part(span, 0, 1), "//");
	}
	return n;
}

/* The equivalent of a member of an object: comm.rank, self.size() */
static const char *member(const char *s)
{
	if (word_is_one_of(s, "rank"))
		return "rank";
	return word_is_one_of(s, "size nranks world_size num_ranks N n") ? "N" : NULL;
}

/* Help for a method of chunks: chunk(...).copy(...). */
static const char *method_help(const char *s)
{
	const char *end = s + strcspn(s, "\r\n");

	for (; s + 1 < end; s++)
		if (s[0] == ')' && s[1] == '.' && foreign_help(s + 2))
			return foreign_help(s + 2);
	return NULL;
}

static size_t dot(struct parse *ps, const char *s, struct span span)
{
	bool behind_name = ps->last.kind == TOK_IDENT && ps->last.span.hi == span.lo;
	const char *write = behind_name ? member(s + 1) : NULL;
	size_t word = word_length(s + 1);
	struct span whole;
	struct diag *g;

	bool buffer =
		behind_name && word_is_one_of(s - (ps->last.span.hi - ps->last.span.lo), "Buffer");

	if (span.lo < ps->mute_until)
		return 1 + word;
	parse_show_text(ps);
	if (word && (foreign_help(s + 1) || buffer)) /* the whole line is in another language */
		ps->mute_until = span.lo + (uint32_t)strcspn(s, "\n");
	if (!word || !behind_name) {
		g = parse_error(ps, span, "`.` is not part of the language");
		parse_cure(ps, g, foreign_help(s + 1), span, NULL);
		return 1;
	}
	whole = (struct span){ ps->last.span.lo, span.lo + 1 + (uint32_t)word };
	g = parse_error(ps, whole, "`.` is not part of the language: names contain no dots");
	if (write)
		parse_cure(ps, g, arena_printf(ps->arena, "write `%s`", write), whole, write);
	else if (foreign_help(s + 1))
		parse_cure(ps, g, foreign_help(s + 1), whole, NULL);
	else if (buffer)
		parse_cure(ps, g,
			   method_help(s) ? method_help(s)
					  : "write a chunk as buffer[number]: data[0]",
			   whole, NULL);
	else if (!ps->nbraces)
		parse_cure(ps, g, "a name consists of letters, digits and `_`", span, "_");
	else
		parse_cure(ps, g,
			   "rank, N and the names of a topology, such as next, have no prefix",
			   whole, NULL);
	return 1 + word;
}

size_t parse_stray(struct parse *ps, const char *s, struct span span)
{
	struct diag *g;

	ps->bad_bytes = true;
	if (*s == '#')
		return hash(ps, s, span);
	if (*s == '.' && s[1] == '.') { /* the third dot */
		parse_cure(ps, parse_error(ps, span, "a range has two dots"),
			   "write a range as a..b (b is not included)", span, "");
		ps->bad_bytes = false;
		return 1;
	}
	if (*s == '.')
		return dot(ps, s, span);
	g = parse_error(ps, span, "`%s` is not part of the language",
			parse_clip(ps, s, span.hi - span.lo));
	if (*s == '$')
		parse_cure(ps, g, "write the name without a sign before it", span, "");
	return 1;
}
