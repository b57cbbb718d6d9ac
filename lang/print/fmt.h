/*
 * Internal to the formatter: shared by fmt.c (lines) and fmt_tokens.c (tokens and the spaces
 * between them).
 */
#ifndef CCS_LANG_PRINT_FMT_H
#define CCS_LANG_PRINT_FMT_H

#include "lang/parse_support.h"
#include "lang/parse.h"

enum choice { UNDECIDED, ONE_LINE, MANY_LINES };

struct fmt_token {
	const char *s;
	uint32_t n;
	int id;		    /* as in the parser, or COMMENT; TOK_YYEOF: the end */
	uint32_t newlines;  /* line ends before it */
	uint32_t match;	    /* of a bracket: the other one */
	bool inside;	    /* of parentheses or brackets */
	bool drop;	    /* a `;` between statements */
	bool space;	    /* a space before it, unless it is the first on its line */
	bool start;	    /* a statement, a declaration, or a part of a head starts here */
	bool head;	    /* ... a part of a head: indented by one more level */
	bool line_end;	    /* a comment to the end of the line */
	bool body;	    /* the '{' of a schedule's body */
	bool attributes;    /* the '(' of a link's attributes: `link a -> b (bandwidth = 1)` */
	bool is_short;	    /* the '{' of a block that may stand on one line */
	enum choice choice; /* of a '{' */
};

struct fmt_tokens {
	struct fmt_token *v; /* closed by TOK_YYEOF */
	uint32_t n, cap;     /* n without TOK_YYEOF */
};

/* The tokens of a text without syntax errors, with all fields. O(bytes). */
struct fmt_tokens fmt_tokens(struct arena *a, const struct unit *u);

#endif
