/*
 * Which protocol a call on GPUs takes, and on how many channels, by its size:
 * tables of struct ccs_choice (plan.h), and their text.
 *
 *     64K:ll,16M:simple/8,simple
 *
 * reads: up to 64 KiB a rank LL, up to 16 MiB Simple on at most 8 channels, beyond
 * that Simple on as many as pay. ccc writes such a table into each plan
 * (--protocols); $CCS_PROTOCOLS overrides it when a communicator is made. It knows
 * nothing of the rest of the runtime, so that ccc uses it too.
 */
#ifndef CCS_RUNTIME_PLAN_CHOICE_H
#define CCS_RUNTIME_PLAN_CHOICE_H

#include "runtime/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define CHOICE_MOST 16u
#define CHOICE_CHANNELS 65535u /* the most of a row */

struct choice_list {
	struct ccs_choice rows[CHOICE_MOST];
	uint32_t n;
};

/** Reads a table: sizes (K, M, G: powers of 1024) ascend, and only the last row is
 *  without one. False: `why` names the place and what could stand there. */
bool choice_read(struct choice_list *list, const char *text, char *why, size_t size);
/** The table's text; cut to `size`. */
void choice_text(const struct ccs_choice *rows, uint64_t n, char *text, size_t size);
/** The row for a call of `bytes` a rank. `n` > 0. */
const struct ccs_choice *choice_find(const struct ccs_choice *rows, uint64_t n, uint64_t bytes);

#endif
