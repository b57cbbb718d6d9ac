/*
 * A program on a buffer `in` and one `out`, which may be one memory, made of one on `inout` and
 * `out`.
 */
#ifndef CCS_TESTS_IN_AND_OUT_H
#define CCS_TESTS_IN_AND_OUT_H

#include "tests/support/rng.h"

/**
 * The text of a random program on `inout NAME[n], out b[n]` becomes that of one on `in a[2n],
 * out NAME[2n]`: b follows in NAME, which begins as a copy of a half of a, by chance of that where b
 * is; and what is read of NAME before anything was written there is read of a, mostly. So in
 * place chunks of a are overwritten that are still to be read. It does the same as before. Frees
 * `text`; the result is to be freed.
 */
char *in_and_out(struct rng *g, char *text, const char *name, int chunks);

#endif
