/*
 * Shared by the scanner, the parser and the constructors of the tree.
 *
 * A struct parse is the state of parsing one file. Between the scanner (scan.l) and the parser
 * (parse.y) is the token stream (tokens.c): it counts open blocks and nesting, and after a syntax
 * error drops tokens up to a place where parsing can resume. ast.c makes the nodes.
 *
 * A circle of files: bison's parser requests a token from the token stream, and this from flex's
 * scanner. The token stream reports the mistakes of all three, as it knows which ones are
 * consequences of earlier ones. A fix of a mistake is tried by parsing the text again (trial.c,
 * imports.c).
 */
#ifndef CCS_LANG_PARSE_SUPPORT_H
#define CCS_LANG_PARSE_SUPPORT_H

#include "lang/lang.h"

/* Deepest nesting of parentheses, blocks and trees. Recursion over a tree needs
 * well under 1 KiB of stack a level, so it stays far from the usual 8 MiB. */
#define MAX_DEPTH 1000

/* After this number of syntax errors, the rest of a file is not read. */
#define MAX_SYNTAX_ERRORS 100

/* The place up to which tokens are dropped after a syntax error (tokens.c). */
enum skip {
	SKIP_NONE,
	SKIP_STMT,    /* to a statement, or the end of the block */
	SKIP_PAR,     /* to the next block of a par, or the par's end */
	SKIP_HEAD,    /* to the body of a declaration, or the next declaration */
	SKIP_ENSURES, /* to the next ensures, or the next declaration */
	SKIP_DECL     /* to the next declaration */
};

struct open_brace {
	uint32_t at;	 /* offset of '{' */
	uint32_t indent; /* column of the first word of its line */
};

/* A fix that has not been tried yet. */
struct untried {
	struct diag *diag;
	struct span span;
	const char *text;
	uint32_t reached; /* the offset of the last token */
};

struct parse {
	struct front *front;
	struct arena *arena;
	struct module *module;
	struct unit *unit;
	struct source *source;
	void *scanner;
	uint32_t nerrors;
	bool stopped; /* gave up: no more tokens, no more reports */
	struct untried *fixes;
	uint32_t nfixes, capfixes;

	/* the token stream */
	enum skip skip;
	struct lexeme queued; /* token to deliver after `closing` virtual '}', 0: none */
	uint32_t closing;
	bool at_end;	     /* the queued token is the end of the file */
	bool is_virtual;     /* the last token was not in the text */
	bool line_first;     /* the last token was the first on its line */
	bool after_arrow;    /* after the -> of a link, or `cost`: '(' may open attributes */
	uint32_t mute;	     /* tokens for which errors are not reported */
	bool quiet;	     /* tokens are being skipped: mistakes in them are not reported */
	bool bad_bytes;	     /* there were bytes that are no token before the next token */
	uint32_t bad_string; /* offset of the last string with a mistake in it */
	uint32_t parens;     /* open ( and [ */
	struct open_brace *braces;
	uint32_t nbraces, capbraces;
	uint32_t suspect; /* offset of a '{' that probably lacks its '}', or 0 */

	/* for messages */
	struct lexeme last, previous, before; /* the last three tokens of the parser */
	int head, statement; /* the first keywords of the declaration and of the statement before
				   the last token, or 0 */

	/* consequences of reported mistakes, which are not reported */
	uint32_t mute_until;	/* all mistakes before this offset */
	uint32_t missing_close; /* number of blocks without `}` */
	uint32_t extra_close;	/* number of `}` without a block */
	bool no_braces;		/* there was a block without braces, so an `else` may lack its if */
};

/* ---- the token stream (tokens.c) ------------------------------------------ */

/** Reports an E0101 and counts it. NULL: not reported (after giving up, or twice). */
struct diag *parse_error(struct parse *ps, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Adds help to the report `g` (NULL: does nothing); and, if `text` is not NULL, a fix that puts it
 *  in place of `span`, which is tried after the file was parsed (trial.c). */
void parse_cure(struct parse *ps, struct diag *g, const char *help, struct span span,
		const char *text);

/** Reports once that `what` is deeper than MAX_DEPTH, and gives up the file. */
void parse_too_deep(struct parse *ps, struct span span);

/** Makes the text after the last token readable (scan.l). */
void parse_show_text(struct parse *ps);
/** Keeps a token, or a COMMENT, for the formatter. */
void parse_keep(struct parse *ps, int token, struct span span);
/* The token of a word that is one at the begin of a statement only; 0: it is a name here. */
int parse_statement_word(const struct parse *ps, const char *s, size_t n);

/** Reports the unexpected token `got` where one of `names` was expected (names as in parse.y;
 *  syntax.c). */
void parse_unexpected(struct parse *ps, struct span span, const char *got, const char *const *names,
		      int n);

/** After a syntax error, with the parser's lookahead (or none): drops tokens up to one at which
 *  `mode` can resume. True: the parser must drop the lookahead. */
bool parse_resync(struct parse *ps, enum skip mode, int lookahead);

/** The value of a literal; reports a malformed one and returns something valid. */
int64_t parse_int(struct parse *ps, const char *s, size_t n, struct span span, bool *min);
double parse_float(struct parse *ps, const char *s, size_t n, struct span span);
/** The bytes of a string literal (with its opening quote, `n` without the closing one). */
const char *parse_string(struct parse *ps, const char *s, size_t n, struct span span);

/** Reports a character at s that the language does not have, with help. Returns its length in
 *  bytes; *token: the token that it stands for, 0: a space, or unknown (chars.c). */
size_t parse_foreign(struct parse *ps, const char *s, size_t n, struct span span, int *token);
/** Reports a text in wrong quotes. Returns the text in the quotes. */
const char *parse_quoted(struct parse *ps, const char *s, size_t n, size_t quote, struct span span);
/** Reports `#`, `.` and other stray characters. Returns the number of bytes to skip. */
size_t parse_stray(struct parse *ps, const char *s, struct span span);

/** The first 40 bytes of a token, for messages. */
const char *parse_clip(struct parse *ps, const char *s, size_t n);

/* ---- files (imports.c) -------------------------------------------------------- */

/** Parses a file, without trying the fixes of its mistakes. */
struct unit *parse_once(struct front *f, struct module *m, struct source *src, struct parse *ps);

/** An empty module, in f->arena. */
struct module *lang_module(struct front *f);

/* ---- fixes (trial.c) ---------------------------------------------------------- */

/** Tries ps->fixes, and adds each that helps to its diagnostic. O(bytes) each, for a few. */
void parse_try_fixes(struct parse *ps);

/* ---- lists in semantic values ------------------------------------------------ */

#define LIST_OF(type) \
	struct type##_list { \
		struct type *first, *last; \
	}
LIST_OF(stmt);
LIST_OF(arg);
LIST_OF(binding);
LIST_OF(param);
LIST_OF(buffer_def);
LIST_OF(ensures);
struct expr_list {
	struct expr *first, *last;
	uint32_t n;
};
struct symbol_list {
	struct symbol **v;
	uint32_t n, cap;
};

/* The three expressions of a loop: from..to by step. Of a group: first, count,
 * stride, or only the first: a table. */
struct range {
	struct expr *lo, *hi, *by;
};

/* [chunks], or [blocks][chunks]; both NULL: no brackets. */
struct counts {
	struct expr *blocks, *chunks;
};

/* A name with arguments, as after `on`; name.name == NULL: none. */
struct applied {
	struct ident name;
	struct expr_list args;
};

/* Appends one node to a list value. */
#define LIST_APPEND(list, node) \
	((list).last = *((list).last ? &(list).last->next : &(list).first) = (node))

/* ---- constructors (ast.c), one a grammar action ------------------------------- */

/** An expression with these fields. If it is too deep, reports it and returns a leaf. */
struct expr *ast_expr(struct parse *ps, struct expr fields);
/** chunk@rank, where `chunk` must be an E_ENTRY: E0101 */
struct expr *ast_initial(struct parse *ps, struct span span, struct expr *chunk, struct expr *rank);
/** sum(var in ..: body), with `over` lo and hi or a table; `body` must be an E_TERM: E0101 */
struct expr *ast_sum(struct parse *ps, struct ident var, struct term over, struct expr *body);

struct arg *ast_arg(struct parse *ps, struct expr *e, struct span span);
struct binding *ast_param(struct parse *ps, struct span span, struct ident name,
			  struct expr *value);

/** A statement with these fields. If it is too deep, reports it and leaves it out. */
struct stmt *ast_stmt(struct parse *ps, struct stmt fields);
struct stmt *ast_let(struct parse *ps, struct span span, struct ident name, struct expr *e);
/** for name in table { body }, with `par` S_PAR_FOR; `table`: its name, or [..]. It becomes
 *      for i in 0..len(table) { let name = table[i] body }
 *  where `i` has no name in the text, and neither has [..], to which a `let` before it gives one. The last
 *  statement is the loop. */
struct stmt_list ast_over(struct parse *ps, struct span span, enum stmt_kind kind,
			  struct ident name, struct expr *table, struct stmt *body);
/* switch name[count]; NULL: without one */
struct stmt *ast_switch(struct parse *ps, struct span span, struct ident name, struct expr *count);
struct stmt *ast_fn(struct parse *ps, struct span span, struct ident name,
		    struct symbol_list params, struct expr *body);

struct buffer_def *ast_buffer(struct parse *ps, struct span span, enum direction dir,
			      struct ident name, struct counts counts);
struct buffer_def *ast_by_column(struct parse *ps, struct buffer_def *b, struct ident word,
				 uint32_t hi);
struct buffer_def *ast_sized(struct parse *ps, struct buffer_def *b, struct span span,
			     struct ident table, struct expr *size_a, struct expr *size_b);

/** after(var in lo..hi); another name than `after` is E0101 */
struct term *ast_after(struct parse *ps, struct span span, struct ident name, struct ident var,
		       struct expr *lo, struct expr *hi);
/** cond: equation. If it is not an equation of a chunk with a term: E0101, and NULL. */
struct ensures *ast_ensures(struct parse *ps, struct span span, struct expr *cond,
			    struct expr *equation);

/** Appends a declaration with these fields to the unit. */
void ast_decl(struct parse *ps, struct decl fields);
/** A file's let or fn. */
void ast_define(struct parse *ps, enum decl_kind kind, struct stmt *s);
/** A fn with this text and the parameters front.formula. */
void ast_formula(struct parse *ps, struct expr *body);
/** `head` ends at the ')'. Without clauses, the lets after it belong to the file. */
void ast_contract(struct parse *ps, struct decl contract, struct span head, struct stmt *lets);

/** Reports statements that are not allowed where they are: E0101 (statements.c). */
void ast_check_body(struct parse *ps, const struct decl *d);

#endif
