/*
 * The table of the language's words, one row each. Scanner, parser, formatter, messages, the
 * language server and the grammars for editors (editors/fill.c) all use it. The tokens are declared
 * in parse.y: "send" is TOK_SEND.
 */
#ifndef CCS_LANG_KEYWORDS_H
#define CCS_LANG_KEYWORDS_H

#include <stdbool.h>
#include <stddef.h>

/* What can begin with a word. */
enum starts { NOTHING, DECLARATION, STATEMENT };

/* The class of a word, for syntax highlighting. */
enum word_class {
	WORD_DECLARATION, /* schedule, proc: parts of a file */
	WORD_CLAUSE,	  /* implements, on: parts of a head */
	WORD_OPERATION,	  /* send, copy: moves data */
	WORD_BLOCK,	  /* step, for: has a block */
	WORD_DEFINITION,  /* let, scratch: defines a name, or states a property */
	WORD_DIRECTION,	  /* in, out, inout: of a buffer; in: of a loop */
	WORD_PREPOSITION, /* to, from */
	WORD_CONSTANT,	  /* rank, true */
	WORD_FUNCTION,	  /* sum, min */
	WORD_PLACE,	  /* column: special in one place only, elsewhere a name */
	WORD_CLASSES
};

struct word {
	const char *text;
	int token; /* 0: to the scanner it is a name; of a place: its token there */
	enum starts starts;
	enum word_class class;
	const char *usage; /* its syntax */
	const char *about; /* its meaning, in one line; ccs(5) has the details */
};

/** All words that are reserved; their number in *n. */
const struct word *keyword_words(size_t *n);
/** Predefined names, in the order of enum builtin from BUILTIN_MIN on. */
const struct word *keyword_builtins(size_t *n);
/** Names with a meaning in one place only. */
const struct word *keyword_places(size_t *n);
/** The row of a word of `n` bytes in any of the three tables, or NULL. */
const struct word *keyword_find(const char *s, size_t n);
/** The name of the class in fill.c: "operation". */
const char *keyword_class_name(enum word_class class);

/** The token of a word, or 0 if it is a name. O(words with its first letter). */
int keyword_token(const char *s, size_t n);
/** What can begin with the token, or its text. */
enum starts keyword_starts(int token);
enum starts keyword_text_starts(const char *text);
/** The length of the word at `s`; and whether the word is in a list that is separated by spaces. */
size_t word_length(const char *s);
bool word_is_one_of(const char *s, const char *words);

/** The equivalent of another library's call, by its name; or NULL. (lang/foreign.c) */
const char *foreign_help(const char *name);
/** Whether the call is a message with its first argument to or from its fourth: `send`, `to`. */
bool foreign_message(const char *name, const char **verb, const char **word);

#endif
