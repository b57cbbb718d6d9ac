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
/** Whether a declaration of a file, or a statement, can begin with the token or its text. */
bool keyword_starts_declaration(int token);
bool keyword_starts_statement(int token);
bool keyword_text_starts_statement(const char *text);

#endif
