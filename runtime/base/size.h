/*
 * Sizes in text: 512, 64K, 16M, 1G (powers of 1024).
 *
 * Independent of the rest of the runtime, so that ccc uses it too.
 */
#ifndef CCS_RUNTIME_BASE_SIZE_H
#define CCS_RUNTIME_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Reads digits and an optional unit, and moves *s past them. Returns NULL; or the mistake, and
 *  *s stays. O(digits). */
const char *size_read(const char **s, uint64_t *bytes);

/** Reads a number from 1 to `most`, without a unit, and moves *s past it. */
bool size_read_number(const char **s, uint64_t most, uint64_t *n);

#define SIZE_TEXT 24 /* bytes of the longest text, with its NUL */

/** The size in the largest unit that divides it. */
void size_text(char text[SIZE_TEXT], uint64_t bytes);

#endif
