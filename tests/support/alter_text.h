/*
 * Texts of schedules that are altered a little: numbers, operators, names, `rank`, kinds of
 * operations, lines. Most of what comes out is wrong, on all ranks or on some only.
 */
#ifndef TESTS_SUPPORT_ALTER_TEXT_H
#define TESTS_SUPPORT_ALTER_TEXT_H

#include "tests/support/rng.h"

enum { ALTER_ROOM = 1 << 14 };

/** Alters one thing; `text` has room for ALTER_ROOM bytes, and nothing that would need more is
 *  done. */
void alter_text(struct rng *g, char *text);

#endif
