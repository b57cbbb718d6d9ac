/*
 * Edits of a schedule's text that undo mistakes which people make: text_cure.c tries them.
 */
#ifndef CCS_COMPILER_TEXT_EDITS_H
#define CCS_COMPILER_TEXT_EDITS_H

#include "compiler/session.h"

/* What an edit of a contract gives up. */
#define TEXT_OTHER_PROMISE ", but changes what the contract promises"

/* Edits that two mistakes of one kind need together: `<=` in two guards, an index in a send and in a
 * receive. */
enum kin {
	ALONE,
	RELATION,
	UP,
	DOWN,
	SIGN,
	ROOT,
	TIMES,
	WRAP,
	GUARD,
	SHIFTED_ROOT,
	POWER,
	TURN,
	KEYWORD,
	LEAST,
	BLOCK,
	ORDER,
	PRECEDENCE,
	LOCAL,
	TABLE,
	END
};

/* How an expression is used. */
enum role { PEER, INDEX, RANGE_END, OTHER };

/* How far an edit is from the text: the nearest one that is right is offered. SWAPPED: another name,
 * operator or buffer; LIMITED: for fewer N; DIVIDED: a loop as two; ELSEWHERE: another root,
 * topology or promise; LAST: for one N. */
enum far { CHANGED, SWAPPED, GUARDED, ADDED, LEFT_OUT, LIMITED, DIVIDED, ELSEWHERE, LAST };

struct edit {
	struct span span;
	const char *text;	 /* in its place */
	struct span shown;	 /* the expression or statement around it */
	const char *what;	 /* the edit in words; NULL: `text` in place of `shown` */
	const char *but;	 /* the loss, for the message; "": none */
	const struct stmt *stmt; /* of the edit; or NULL */
	enum kin kin;
	enum role role;
	enum far far;
};

/* Texts that occur, each once. */
struct pieces {
	const char *v[12];
	uint32_t n;
};

struct edits {
	/* In. */
	struct session *s;
	const struct decl *schedule;
	struct source *source; /* of the main file */
	uint32_t nranks;       /* with which it is wrong */
	uint32_t first;	       /* of the reports */
	int code;	       /* of the report that is printed first */
	bool in_one_place; /* its notes are at its place: a deadlock of ranks that do the same */
	/* Out. */
	struct edit *v;
	uint32_t n, cap;
	/* Of the statement and expression that are visited. */
	const struct stmt *up;		/* the `if` whose block the statement is in; or NULL */
	const struct stmt *stmt;	/* the statement; NULL: none */
	const struct stmt *before;	/* the one before it in its block; or NULL */
	const char *peer;		/* the text of the operation's peer, or NULL */
	const struct symbol *scope[32]; /* numbers and buffers, the innermost last */
	uint32_t nscope;
	bool in_group; /* the statement is within a group */
	enum role role;
	enum far least;		/* edits are not nearer than this */
	const char *but;	/* what they give up */
	struct span outer;	/* the whole expression, with the text shown around it */
	const struct expr *top; /* the whole expression */
	const struct stmt *ops[12];
	uint32_t nops;				   /* near ones */
	struct pieces conditions, peers, channels; /* of the schedule */
	const struct symbol *few; /* the variable of a loop of few trips, the last that was seen */
};

/** Fills in x->v: edits at the places of the reports come first. */
void text_edits(struct edits *x);

/** The text of a place in the main file, in the arena of the session. */
const char *text_of(struct edits *x, struct span span);
/** Adds the edit of a loop and the next into one, if they have one range. */
void text_merge_loops(struct edits *x, const struct stmt *s);
/** Line end and indentation of the line of a place. */
const char *text_new_line(struct edits *x, uint32_t at);
/** Whether a place is in the main file. */
bool text_is_here(const struct edits *x, struct span span);
/** The text from `from.lo` to `from.hi` with edits in it, which are in the order of the text. */
const char *text_edited(struct edits *x, const struct edit *const *v, uint32_t n, struct span from);
/** "line 4", "lines 4 and 5" or "lines 4 to 6"; without `word` the numbers alone */
const char *text_lines(struct session *s, struct span span, bool word);
/** The beginning of a text, for a message: its first line at most. */
const char *text_clipped(struct edits *x, const char *text);

#endif
