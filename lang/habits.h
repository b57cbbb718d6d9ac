/*
 * Inside the report of a syntax error: what people write who come from other languages,
 * and what they mean. syntax.c asks; habits_*.c answer. Nobody else includes this.
 */
#ifndef CCS_LANG_HABITS_H
#define CCS_LANG_HABITS_H

#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"

/* A token that does not fit. Names of tokens are as in parse.y: words, or 'c'. */
struct mistake {
	struct parse *ps;
	struct span span;
	const char *got;	  /* its name */
	const char *at;		  /* its text, and all that follows */
	const char *const *names; /* what could stand here */
	int n;

	/* what to say, which a habit finds: */
	struct span place;   /* the place to report, or lo == 0: the token's */
	const char *message; /* or NULL: "unexpected X, expected Y" */
	const char *help;    /* or NULL */
	struct span where;   /* a fix: `text` in its place ... */
	const char *text;    /* ... or NULL */
	const char *mute;    /* up to there all is a consequence; or NULL */
};

/* Each knows some habits; false: it is none of them. */
bool habit_statement(struct mistake *m); /* a statement's first word */
bool habit_operation(struct mistake *m); /* send, recv, reduce, copy */
bool habit_loop(struct mistake *m);	 /* for, and blocks */
bool habit_expression(struct mistake *m);
bool habit_head(struct mistake *m); /* declarations */

/* The fix: `text` in place of from..to. */
void cure_fix(struct mistake *m, const char *from, const char *to, const char *text);
/* All true: the help; and a fix; and one in place of the token. */
bool cure_help(struct mistake *m, const char *help);
bool cure_both(struct mistake *m, const char *help, const char *from, const char *to,
	       const char *text);
bool cure_token(struct mistake *m, const char *help, const char *text);
/* The nearest of `n` words in place of the one at `word`; false: none is near. */
bool cure_near(struct mistake *m, const char *word, const char *const *words, size_t n);

/* ---- what could stand here, and what does ------------------------------------- */

bool mistake_may(const struct mistake *m, const char *name);
bool mistake_got(const struct mistake *m, const char *name);
/* A statement, a declaration, an expression, an operator. */
bool mistake_may_statement(const struct mistake *m);
bool mistake_may_declare(const struct mistake *m);
bool mistake_may_operand(const struct mistake *m);
bool mistake_may_operator(const struct mistake *m);
/* Whether an expression begins with it. */
bool mistake_got_operand(const struct mistake *m);

/* ---- text (habits_text.c): a source ends in NULs, which stop all of these ---------- */

/* A copy of from..to. */
const char *text_piece(const struct mistake *m, const char *from, const char *to);
/* Behind the spaces of a line; and `to`, or before the spaces at its end. */
const char *text_skip(const char *s);
const char *text_trim(const char *from, const char *to);
const char *text_word_end(const char *s);
/* The bracket that closes the one at s, on the same line, or NULL. */
const char *text_closing(const char *s);
/* The first of these characters in from..to that is in no brackets, or NULL. */
const char *text_find(const char *from, const char *to, const char *any);
/* Behind the `}` that closes the block at s, or NULL. */
const char *text_block_end(const char *s);
/* Where the line of s begins, in a text. */
const char *text_line_begin(const char *s, const char *text);
/* The end of what stands on the line of s: no spaces and no comment. */
const char *text_line_end(const char *s);

/* The source's text at an offset, and back. */
const char *mistake_text(const struct mistake *m, uint32_t at);
struct span mistake_span(const struct mistake *m, const char *from, const char *to);

#endif
