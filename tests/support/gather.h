/*
 * What ranks gather, whatever they gather it by.
 */
#ifndef TESTS_SUPPORT_GATHER_H
#define TESTS_SUPPORT_GATHER_H

#include "runtime/ccs.h"

#include <stdbool.h>
#include <stddef.h>

/* Gathers `each` bytes of every rank: `mine` of this one, all of them, by rank, to `all`. */
typedef ccs_status gather_call(void *of, const void *mine, void *all, size_t each);

/** Whether that brings each of `n` ranks' bytes to its place, and writes nothing behind them. */
bool gathers(gather_call *call, void *of, int rank, int n, size_t each);

#endif
