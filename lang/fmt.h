/*
 * Inside the formatter: what fmt.c (lines) and fmt_tokens.c (tokens and the
 * spaces between them) share. Nobody else includes this.
 */
#ifndef CCS_LANG_FMT_H
#define CCS_LANG_FMT_H

#include "lang/parse_support.h"
#include "lang/parse.h"

enum fmt_kind { FMT_WORD, FMT_KEY, FMT_NUMBER, FMT_STRING, FMT_OP, FMT_COMMENT, FMT_END };

struct fmt_token {
	const char *s;
	uint32_t n;
	enum fmt_kind kind;
	int id;		   /* TOK_..., or a character; 0: a name, number, string or comment */
	uint32_t newlines; /* line ends before it */
	uint32_t match;	   /* of a bracket: the other one */
	bool inside;	   /* of parentheses or brackets */
	bool drop;	   /* a `;` between statements */
	bool space;	   /* a space before it, if it is not first in its line */
	bool start;	   /* a statement, a declaration, or a part of a head starts here */
	bool head;	   /* ... that part: one level further in */
	bool line_end;	   /* a comment to the end of the line */
	bool body;	   /* the '{' of a schedule's body */
	bool attributes;   /* the '(' of a link's attributes: `link a -> b (bandwidth = 1)` */
};

struct fmt_tokens {
	struct fmt_token *v; /* closed by FMT_END */
	uint32_t n, cap;     /* n without FMT_END */
};

/* The tokens of a text without syntax errors, with all fields. O(bytes). */
struct fmt_tokens fmt_tokens(struct arena *a, const struct unit *u);

#endif
