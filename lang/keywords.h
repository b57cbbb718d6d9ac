/*
 * The words of the language, one row each; scanner, parser, formatter and messages read
 * them here. parse.y gives each its token: "send" is TOK_SEND.
 */
#ifndef CCS_LANG_KEYWORDS_H
#define CCS_LANG_KEYWORDS_H

#include <stdbool.h>
#include <stddef.h>

/** The token of a word, or 0 if it is a name. O(words that begin so). */
int keyword_token(const char *s, size_t n);
/** What can begin with the token, or its text. */
enum starts { NOTHING, DECLARATION, STATEMENT };
enum starts keyword_starts(int token);
enum starts keyword_text_starts(const char *text);
/** How long the word at `s` is; and whether it is one of these, which have spaces between them. */
size_t word_length(const char *s);
bool word_is_one_of(const char *s, const char *words);

#endif
