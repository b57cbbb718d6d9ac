/*
 * Schedules with one mistake, or none: a random change of a text.
 *
 * A number, an operator, a name, `rank`, `N`, `R`, or the kind of an operation becomes another; or
 * a line with an operation is left out, doubled, or made to depend on the rank.
 */
#ifndef TESTS_SUPPORT_TEXT_ALTER_H
#define TESTS_SUPPORT_TEXT_ALTER_H

#include "tests/support/rng.h"

enum { MOST_TEXT = 1 << 14 };

/** Changes a text, in room for MOST_TEXT bytes, once. */
void text_alter(struct rng *g, char *text);

#endif
