/*
 * The token stream between scanner and parser, and the values of literals.
 *
 * In: tokens as scanned. Out: tokens for the parser in which every '{' has its '}'. If a keyword
 * that only begins a declaration, or the end of the file, comes inside an open block, the missing
 * '}' is reported here and supplied. After a syntax error the stream drops tokens up to one at
 * which an error production of the parser can resume, so that one mistake gives one report. O(1) a
 * token.
 */
#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int parse_scan(union CCS_STYPE *lval, struct span *lloc, void *scanner);
int ccs_lex(union CCS_STYPE *lval, struct span *lloc, struct parse *ps);

/* ---- reports ------------------------------------------------------------------ */

struct diag *parse_error(struct parse *ps, struct span span, const char *fmt, ...)
{
	struct diag *g;
	va_list ap;

	if (ps->stopped || ps->quiet)
		return NULL;
	va_start(ap, fmt);
	g = diag_vadd(ps->front->diags, SEV_ERROR, 101, span, NO_RANK, fmt, ap);
	va_end(ap);
	if (++ps->nerrors < MAX_SYNTAX_ERRORS)
		return g;
	diag_note(ps->front->diags, g, (struct span){ 0 },
		  "that makes %d syntax errors: the rest of this file is skipped",
		  MAX_SYNTAX_ERRORS);
	ps->stopped = true;
	return g;
}

void parse_cure(struct parse *ps, struct diag *g, const char *help, struct span span,
		const char *text)
{
	if (!g)
		return;
	if (help)
		diag_help(ps->front->diags, g, "%s", help);
	if (text)
		ARENA_PUSH(ps->arena, ps->fixes, ps->nfixes, ps->capfixes) = (struct untried){
			.diag = g,
			.span = span,
			.text = text,
			.reached = ps->last.span.lo,
		};
}

void parse_too_deep(struct parse *ps, struct span span)
{
	struct diag *g = parse_error(ps, span, "nested more than %d deep", MAX_DEPTH);

	diag_note(ps->front->diags, g, (struct span){ 0 },
		  "each block, parenthesis, operator of a chain and else if is a level");
	ps->stopped = true;
}

const char *parse_clip(struct parse *ps, const char *s, size_t n)
{
	return n <= 40 ? arena_strndup(ps->arena, s, n) : arena_printf(ps->arena, "%.37s...", s);
}

/* ---- literals ------------------------------------------------------------------- */

/* The value of a digit, or -1. */
static int digit(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static int64_t bad_number(struct parse *ps, const char *s, size_t n, struct span span,
			  const char *why)
{
	struct diag *g =
		parse_error(ps, span, "malformed number `%s`: %s", parse_clip(ps, s, n), why);

	if (span.lo == ps->source->base) /* 0F0 */
		diag_help(ps->front->diags, g, "the name of a pipeline's file ends in .csv");
	return 1;
}

int64_t parse_int(struct parse *ps, const char *s, size_t n, struct span span, bool *min)
{
	bool hex = n > 1 && s[0] == '0' && (s[1] | 0x20) == 'x';
	uint64_t base = hex ? 16 : 10, value = 0;
	const uint64_t most = (uint64_t)INT64_MAX + 1;
	bool large = false;
	size_t i = hex ? 2 : 0;

	if (i == n)
		return bad_number(ps, s, n, span, "no digits follow the 0x");
	for (; i < n; i++) {
		int d = digit(s[i]);

		if (s[i] == '_') {
			/* ccs(5) 2: '_' between digits */
			if (i == (hex ? 2 : 0) || i + 1 == n || s[i + 1] == '_')
				return bad_number(ps, s, n, span,
						  "`_` is only allowed between "
						  "digits");
			continue;
		}
		if (d < 0 || (uint64_t)d >= base)
			return bad_number(ps, s, n, span,
					  hex ? "only 0-9 and a-f follow 0x"
					      : "a number has only digits, and a name "
						"does not start with one");
		if (value > (most - (uint64_t)d) / base)
			large = true;
		else
			value = value * base + (uint64_t)d;
	}
	if (large) {
		/* ccs(5) 8: a literal over 64 bits */
		parse_error(ps, span, "the number `%s` needs more than 64 bits",
			    parse_clip(ps, s, n));
		return INT64_MAX;
	}
	*min = value == most;
	return *min ? INT64_MIN : (int64_t)value;
}

double parse_float(struct parse *ps, const char *s, size_t n, struct span span)
{
	char *text = arena_alloc(ps->arena, n + 1), *end;
	const char *why = NULL;
	size_t k = 0;
	double value;

	for (size_t i = 0; i < n; i++) {
		if (s[i] != '_')
			text[k++] = s[i];
		else if (i + 1 == n || !isdigit((unsigned char)s[i - 1]) ||
			 !isdigit((unsigned char)s[i + 1]))
			why = "`_` is only allowed between digits";
	}
	value = strtod(text, &end);
	/* strtod accepts more than the language, such as hexadecimal numbers. */
	if (!why && (*end || strspn(text, "0123456789.eE+-") != k))
		why = "a fraction consists of digits, `.` and an exponent";
	else if (!why && isinf(value))
		why = "it is too large";
	return why ? (double)bad_number(ps, s, n, span, why) : value;
}

/* Decodes an escape at s (after the backslash); returns its length, 0: it is malformed. */
static size_t unescape(const char *s, size_t n, char *out)
{
	static const char from[] = "abfnrtv\\\"'?", to[] = "\a\b\f\n\r\t\v\\\"'?";
	const char *at = n ? memchr(from, s[0], sizeof(from) - 1) : NULL;
	int base = n && s[0] == 'x' ? 16 : 8, value = 0;
	size_t i = base == 16;

	if (at) {
		*out = to[at - from];
		return 1;
	}
	for (; i < n && i < 3 && digit(s[i]) >= 0 && digit(s[i]) < base; i++)
		value = value * base + digit(s[i]);
	if (value == 0 || value > 255) /* NUL would end the text early */
		return 0;
	*out = (char)value;
	return i;
}

const char *parse_string(struct parse *ps, const char *s, size_t n, struct span span)
{
	char *text = arena_alloc(ps->arena, n + 1);
	size_t k = 0;

	for (size_t i = 1; i < n; i++) {
		size_t used;

		if (s[i] != '\\') {
			text[k++] = s[i];
			continue;
		}
		used = unescape(s + i + 1, n - i - 1, &text[k]);
		if (used) {
			k++;
			i += used;
		} else {
			uint32_t lo = span.lo + (uint32_t)i;

			parse_error(ps, (struct span){ lo, i + 1 < n ? lo + 2 : lo + 1 },
				    "no such escape in a string: use \\n, \\t, \\\", \\\\, \\ooo, "
				    "\\xhh or another of C's (but no NUL)");
			ps->bad_string = span.lo;
			i++;
		}
	}
	return text;
}

/* ---- the place of a token --------------------------------------------------------- */

static bool first_on_line(const struct source *src, uint32_t at)
{
	uint32_t i = at - src->base;

	while (i && (src->text[i - 1] == ' ' || src->text[i - 1] == '\t'))
		i--;
	return i == 0 || src->text[i - 1] == '\n';
}

/* The column of the first word on the line of `at`; bounded for long lines. */
static uint32_t indent_of(const struct source *src, uint32_t at)
{
	uint32_t i = at - src->base, n = 0, word = i;

	while (i && src->text[i - 1] != '\n' && n++ < 1000) {
		i--;
		if (src->text[i] != ' ' && src->text[i] != '\t')
			word = i;
	}
	return word - i;
}

/* ---- resuming after a syntax error --------------------------------------------------- */

/* Whether the parser can resume at the last token, in that mode. */
static bool may_resume(const struct parse *ps, enum skip mode, int t)
{
	bool outside = t == TOK_YYEOF || (keyword_starts(t) == DECLARATION && ps->line_first);

	switch (mode) {
	case SKIP_NONE: return true;
	case SKIP_STMT:
		return keyword_starts(t) == STATEMENT || t == '{' || t == '}' ||
		       (t == TOK_IDENT && ps->line_first);
	case SKIP_PAR: return t == '{' || t == '}';
	case SKIP_HEAD: return t == '{' || outside;
	case SKIP_ENSURES: return t == TOK_ENSURES || outside;
	case SKIP_DECL:
		return outside ||
		       ((t == TOK_LET || t == TOK_FN) && ps->line_first && ps->nbraces == 0);
	}
	return true;
}

bool parse_resync(struct parse *ps, enum skip mode, int lookahead)
{
	ps->parens = 0;
	ps->after_arrow = false;
	if (lookahead != TOK_CCS_EMPTY && may_resume(ps, mode, lookahead)) {
		/* A name may begin a call, or be a part of the mistake; a stray brace is in the
		 * middle of it. */
		if (lookahead == TOK_IDENT)
			ps->mute = 3;
		else if (lookahead == '{' || lookahead == '}')
			ps->mute = 2;
		return false;
	}
	ps->skip = mode;
	return lookahead != TOK_CCS_EMPTY;
}

/* ---- blocks -------------------------------------------------------------------------- */

static void open_brace(struct parse *ps, uint32_t at)
{
	struct open_brace b = { at, indent_of(ps->source, at) };

	ARENA_PUSH(ps->arena, ps->braces, ps->nbraces, ps->capbraces) = b;
	ps->parens = 0;
	if (ps->nbraces > MAX_DEPTH)
		parse_too_deep(ps, (struct span){ at, at + 1 });
}

static void close_brace(struct parse *ps, uint32_t at)
{
	ps->parens = 0;
	if (!ps->nbraces)
		return;
	if (--ps->nbraces == 0) {
		ps->suspect = 0;
		return;
	}
	/* A '}' that is further left than the line of its '{': one before it is probably
	 * missing. */
	if (!ps->suspect && ps->line_first &&
	    indent_of(ps->source, at) < ps->braces[ps->nbraces].indent)
		ps->suspect = ps->braces[ps->nbraces].at;
}

/* At a declaration, or the end, inside a block: reports the missing tokens, and supplies them. */
static void close_all(struct parse *ps, int t, struct span span)
{
	uint32_t at = ps->suspect ? ps->suspect : ps->braces[ps->nbraces - 1].at;
	struct diag *g = NULL;

	if (ps->missing_close)
		ps->missing_close = 0;
	else
		g = parse_error(
			ps, span,
			t == TOK_YYEOF
				? "the text ends inside a block: a `}` is missing"
				: "a declaration inside a block: a `}` is missing before it");
	diag_note(ps->front->diags, g, (struct span){ at, at + 1 },
		  ps->suspect ? "this `{` seems to have no `}`, judging by the indentation"
			      : "this `{` has no `}`");
	ps->closing = ps->nbraces;
	ps->nbraces = 0;
	ps->suspect = 0;
	ps->queued = (struct lexeme){ t, span };
}

/* ---- the stream ------------------------------------------------------------------------- */

int parse_statement_word(const struct parse *ps, const char *s, size_t n)
{
	static const int ends[] = { 0,	      '{',	 '}',	    ';',       ')',
				    ']',      TOK_IDENT, TOK_INT,   TOK_FLOAT, TOK_N,
				    TOK_RANK, TOK_TRUE,	 TOK_FALSE, TOK_STRING };
	const struct word *w = keyword_find(s, n);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && w; i++)
		if (ps->last.kind == ends[i])
			return w->token;
	return 0;
}

/* Counts parentheses, and recognizes links and costs, for the '(' of their attributes. */
static void follow(struct parse *ps, int t, struct span span)
{
	if (t == '(' || t == '[' || t == TOK_ATTR_OPEN) {
		if (++ps->parens > MAX_DEPTH)
			parse_too_deep(ps, span);
	} else if ((t == ')' || t == ']') && ps->parens) {
		ps->parens--;
	}
	if (t == TOK_ARROW || t == TOK_COST)
		ps->after_arrow = true;
	else if (t == TOK_ATTR_OPEN || t == '{' || t == '}' || keyword_starts(t) == STATEMENT)
		ps->after_arrow = false;
}

/* The place after the last word of the text, which may be a comment. */
static struct span end_of_text(const struct source *src)
{
	uint32_t n = src->len;

	while (n && strchr(" \t\r\n\f\v", src->text[n - 1]))
		n--;
	return (struct span){ src->base + n, src->base + n };
}

void parse_keep(struct parse *ps, int token, struct span span)
{
	struct lexemes *l = &ps->unit->lexemes;

	ARENA_PUSH(ps->arena, l->v, l->n, l->cap) = (struct lexeme){ token, span };
}

static int next_token(union CCS_STYPE *lval, struct span *span, struct parse *ps)
{
	int t;

	ps->is_virtual = ps->closing > 0;
	if (ps->closing) {
		ps->closing--;
		*span = (struct span){ ps->queued.span.lo, ps->queued.span.lo };
		return '}';
	}
	if (ps->queued.kind) {
		t = ps->queued.kind;
		*span = ps->queued.span;
		ps->queued = (struct lexeme){ 0 };
		return t;
	}
	if (ps->at_end || ps->stopped) {
		*span = end_of_text(ps->source);
		return TOK_YYEOF;
	}
	ps->quiet = ps->skip != SKIP_NONE;
	t = parse_scan(lval, span, ps->scanner);
	ps->quiet = false;
	if (t == TOK_YYEOF || ps->stopped) {
		*span = end_of_text(ps->source);
		ps->at_end = true;
		t = TOK_YYEOF;
	} else {
		parse_keep(ps, t, *span);
	}
	ps->line_first = first_on_line(ps->source, span->lo);
	follow(ps, t, *span);
	if (t == '{')
		open_brace(ps, span->lo);
	else if (t == '}')
		close_brace(ps, span->lo);
	if (!ps->nbraces || ps->stopped ||
	    !(t == TOK_YYEOF || (keyword_starts(t) == DECLARATION && ps->line_first)))
		return t;
	if (ps->skip == SKIP_DECL || ps->skip == SKIP_HEAD || ps->skip == SKIP_ENSURES) {
		ps->nbraces = 0; /* the block was skipped */
		return t;
	}
	close_all(ps, t, *span);
	return next_token(lval, span, ps);
}

int ccs_lex(union CCS_STYPE *lval, struct span *lloc, struct parse *ps)
{
	int t = ps->last.kind;

	if (!t && ps->front->formula && !ps->source->prelude) {
		*lloc = (struct span){ ps->source->base, ps->source->base };
		return ps->last.kind = TOK_FORMULA;
	}
	if (!ps->nbraces && (keyword_starts(t) == DECLARATION || t == TOK_LET || t == TOK_FN))
		ps->head = t;
	if (keyword_starts(t) == STATEMENT)
		ps->statement = t;
	do {
		t = next_token(lval, lloc, ps);
		if (ps->stopped)
			break;
	} while (ps->skip != SKIP_NONE && !may_resume(ps, ps->skip, t));
	if (ps->skip != SKIP_NONE && t == TOK_IDENT)
		ps->mute = 3;
	else if (ps->mute)
		ps->mute--;
	ps->skip = SKIP_NONE;
	if (ps->bad_bytes) {
		ps->bad_bytes = false;
		ps->mute = 2;
	}
	ps->before = ps->previous;
	ps->previous = ps->last;
	ps->last = (struct lexeme){ t, *lloc };
	return t;
}
