/*
 * The words of the language, one row each; scanner, parser, formatter and messages read
 * them here, and so do the language server and the grammars for editors
 * (editors/fill.c). parse.y gives each its token: "send" is TOK_SEND.
 */
#ifndef CCS_LANG_KEYWORDS_H
#define CCS_LANG_KEYWORDS_H

#include <stdbool.h>
#include <stddef.h>

/* What can begin with a word. */
enum starts { NOTHING, DECLARATION, STATEMENT };

/* What a word is, for those who colour a text. */
enum word_class {
	WORD_DECLARATION, /* schedule, proc: what a file is made of */
	WORD_CLAUSE,	  /* implements, on: parts of a head */
	WORD_OPERATION,	  /* send, copy: what moves data */
	WORD_BLOCK,	  /* step, for: has a block */
	WORD_DEFINITION,  /* let, scratch: gives a name, or says something of one */
	WORD_DIRECTION,	  /* in, out, inout: of a buffer; in: of a loop */
	WORD_PREPOSITION, /* to, from */
	WORD_CONSTANT,	  /* rank, true */
	WORD_FUNCTION,	  /* sum, min */
	WORD_PLACE,	  /* column: a word only in its place, and else a name */
	WORD_CLASSES
};

struct word {
	const char *text;
	int token; /* 0: the scanner takes it for a name */
	enum starts starts;
	enum word_class class;
	const char *usage; /* how it is written */
	const char *about; /* what it means, in a line: ccs(5) says more */
};

/** All words that are reserved; their number in *n. */
const struct word *keyword_words(size_t *n);
/** Names that mean something here, in the order of enum builtin from BUILTIN_MIN. */
const struct word *keyword_builtins(size_t *n);
/** Names that mean something in one place only. */
const struct word *keyword_places(size_t *n);
/** The row of a word of any of the three, of `n` bytes, or NULL. */
const struct word *keyword_find(const char *s, size_t n);
/** "operation": what fill.c calls the class. */
const char *keyword_class_name(enum word_class class);

/** The token of a word, or 0 if it is a name. O(words that begin so). */
int keyword_token(const char *s, size_t n);
/** What can begin with the token, or its text. */
enum starts keyword_starts(int token);
enum starts keyword_text_starts(const char *text);
/** How long the word at `s` is; and whether it is one of these, which have spaces between them. */
size_t word_length(const char *s);
bool word_is_one_of(const char *s, const char *words);

/** What to write for a call of another library, by the name at its beginning; or NULL. (lang/foreign.c) */
const char *foreign_help(const char *name);
/** Whether it is a message, of the call's first argument, to or from its fourth: `send`, `to`. */
bool foreign_message(const char *name, const char **verb, const char **word);

#endif
