/*
 * Internal to the report of syntax errors (syntax.c, habits_*.c): recognizes the syntax of other
 * languages, such as `x = 1` or `for (int i = 0; ...)`, and adds the equivalent in this one.
 *
 * In: the unexpected token, the text around it, and the tokens that are allowed there. Out: a
 * message, help, and perhaps a fix. Each function knows some habits, and returns whether one
 * applies.
 */
#ifndef CCS_LANG_HABITS_H
#define CCS_LANG_HABITS_H

#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"

/* An unexpected token. Names of tokens are as in parse.y: words, or 'c'. */
struct mistake {
	struct parse *ps;
	struct span span;
	const char *got;	  /* its name */
	const char *at;		  /* its text, up to the end of the source */
	const char *const *names; /* the tokens that are allowed here */
	int n;

	/* set by a habit: */
	struct span place;   /* the place to report, or lo == 0: the token's */
	const char *message; /* or NULL: "unexpected X, expected Y" */
	const char *help;    /* or NULL */
	struct span where;   /* a fix: `text` in its place ... */
	const char *text;    /* ... or NULL */
	const char *mute;    /* mistakes up to here are consequences; or NULL */
};

/* Each knows some habits; false: none applies. */
bool habit_statement(struct mistake *m); /* a statement's first word */
bool habit_operation(struct mistake *m); /* send, recv, reduce, copy */
bool habit_loop(struct mistake *m);	 /* for, and blocks */
bool habit_expression(struct mistake *m);
bool habit_head(struct mistake *m); /* declarations */

/* The fix: `text` in place of from..to. */
void cure_fix(struct mistake *m, const char *from, const char *to, const char *text);
/* These add help; help and a fix; help and a fix in place of the token. All return true. */
bool cure_help(struct mistake *m, const char *help);
bool cure_both(struct mistake *m, const char *help, const char *from, const char *to,
	       const char *text);
bool cure_token(struct mistake *m, const char *help, const char *text);
/* Suggests the nearest of `n` words in place of the one at `word`; false: none is near. */
bool cure_near(struct mistake *m, const char *word, const char *const *words, size_t n);

/* ---- the allowed tokens, and the one found ------------------------------------- */

bool mistake_may(const struct mistake *m, const char *name);
bool mistake_got(const struct mistake *m, const char *name);
/* Whether a statement, a declaration, an expression, an operator is allowed here. */
bool mistake_may_statement(const struct mistake *m);
bool mistake_may_declare(const struct mistake *m);
bool mistake_may_operand(const struct mistake *m);
bool mistake_may_operator(const struct mistake *m);
/* Whether the token found can begin an expression. */
bool mistake_got_operand(const struct mistake *m);

/* ---- text (habits_text.c): a source ends in NULs, which stop all of these ---------- */

/* A copy of from..to. */
const char *text_piece(const struct mistake *m, const char *from, const char *to);
/* The place after spaces; and the place before the spaces that end at `to`. */
const char *text_skip(const char *s);
const char *text_trim(const char *from, const char *to);
const char *text_word_end(const char *s);
/* The bracket that closes the one at s, on the same line, or NULL. */
const char *text_closing(const char *s);
/* The first of the characters `any` in from..to outside brackets, or NULL. */
const char *text_find(const char *from, const char *to, const char *any);
/* The place after the `}` that closes the block at s, or NULL. */
const char *text_block_end(const char *s);
/* The begin of the line of s, in a text. */
const char *text_line_begin(const char *s, const char *text);
/* The end of the line of s, without a comment and trailing spaces. */
const char *text_line_end(const char *s);

/* From an offset to the text, and back. */
const char *mistake_text(const struct mistake *m, uint32_t at);
struct span mistake_span(const struct mistake *m, const char *from, const char *to);

#endif
