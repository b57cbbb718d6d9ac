/*
 * Inside the formatter: what fmt.c (lines) and fmt_tokens.c (tokens and the
 * spaces between them) share. Nobody else includes this.
 */
#ifndef CCS_LANG_FMT_H
#define CCS_LANG_FMT_H

#include "lang/lang.h"

enum fmt_kind { FMT_WORD, FMT_KEY, FMT_NUMBER, FMT_STRING, FMT_OP, FMT_COMMENT, FMT_END };

/* What a token is: a character, or one of these. */
enum fmt_id {
	FMT_RANGE = 256, FMT_ARROW, FMT_EQ, FMT_TWO, /* '..', '->', '==', other pairs */
	FMT_SCHEDULE, FMT_IMPLEMENTS, FMT_ON, FMT_WHERE, FMT_IMPORT, FMT_CONTRACT,
	FMT_ENSURES, FMT_PROC, FMT_FN, FMT_LET, FMT_TOPOLOGY, FMT_LINK, FMT_SCRATCH, FMT_IN,
	FMT_OUT, FMT_INOUT, FMT_SEND, FMT_RECV, FMT_REDUCE, FMT_COPY, FMT_INTO, FMT_TO,
	FMT_FROM, FMT_STEP, FMT_PAR, FMT_FOR, FMT_BY, FMT_IF, FMT_ELSE, FMT_WITHIN, FMT_GROUP,
	FMT_CHANNEL, FMT_ASSERT, FMT_SUM, FMT_SIZED, FMT_RANK, FMT_N, FMT_TRUE, FMT_FALSE
};

struct fmt_token {
	const char *s;
	uint32_t n;
	enum fmt_kind kind;
	int id;
	uint32_t newlines;	/* line ends before it */
	uint32_t match;		/* of a bracket: the other one */
	bool drop;		/* a `;` between statements */
	bool space;		/* a space before it, if it is not first in its line */
	bool start;		/* a statement, a declaration, or a part of a head starts here */
	bool head;		/* ... that part: one level further in */
	bool line_end;		/* a comment to the end of the line */
	bool body;		/* the '{' of a schedule's body */
};

struct fmt_tokens {
	struct fmt_token *v;	/* closed by FMT_END */
	uint32_t n, cap;	/* n without FMT_END */
};

/* Scans a text without syntax errors and fills in all fields. O(bytes). */
struct fmt_tokens fmt_tokens(struct arena *a, const struct source *src);

#endif
