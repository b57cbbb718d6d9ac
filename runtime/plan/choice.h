/*
 * Which protocol a call on GPUs takes, and on how many channels, by its size:
 * tables of struct ccs_choice (plan.h), and their text.
 *
 *     64K:ll,16M:simple/8,simple
 *
 * reads: up to 64 KiB a rank LL, up to 16 MiB Simple on at most 8 channels, beyond that Simple,
 * with the number of channels of choice_channels. ccc writes such a table into each plan
 * (--protocols); $CCS_PROTOCOLS overrides it when a communicator is made. Also the cut of a call
 * (channels, slots, tiles), by rules that calls share with the model of ccc (protocols.c). It
 * does not depend on the rest of the runtime, so that ccc can use it.
 */
#ifndef CCS_RUNTIME_PLAN_CHOICE_H
#define CCS_RUNTIME_PLAN_CHOICE_H

#include "runtime/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define CHOICE_MOST 16u
#define CHOICE_CHANNELS 65535u	  /* the most of a row */
#define SWEEP_BYTES 4096u	  /* of a block: 256 threads of 16 */
#define CHANNEL_BYTES SWEEP_BYTES /* of the longest chunk */
#define LL_THREADS 64u		  /* of a block, at least: some wait while the rest move data */
#define MOST_CHANNELS 64u	  /* of a plan: there is no memory for more */
/* Of slots in the L2 cache: of an H100's 50 MB, some of which callers' buffers pass through. */
#define CACHED_BYTES ((uint64_t)30000000)

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
/** The channels for a longest chunk of `chunk` bytes: one for each CHANNEL_BYTES of it, from 1 to
 *  `most`, which are resident. Calls, and the model that chooses their protocol (protocols.c),
 *  share this rule. */
static inline uint32_t choice_channels(uint64_t chunk, uint32_t most)
{
	uint64_t pay = chunk / CHANNEL_BYTES + (chunk % CHANNEL_BYTES != 0);

	return pay < 1 ? 1 : pay < most ? (uint32_t)pay : most;
}

/** The most bytes of a cell in a slot that a call may need: 128 KiB (LL: 8 KiB, which take 16 of
 *  the slot), less if messages have too many cells for a slot of 256 KiB. */
uint64_t choice_most_tile(enum ccs_protocol protocol, uint32_t max_cells);

/* The messages of a plan's FIFOs, which decide the number of slots with LL. */
struct choice_depth {
	uint32_t messages; /* most of a FIFO, among the FIFOs with few */
	bool many;	   /* some FIFO has more than these */
};
void choice_count(struct choice_depth *d, uint32_t messages);
/** The slots of each FIFO: a power of two that is at least `checked`, the slots that the plan was
 *  checked with. With LL also as many as a FIFO has messages, where they are not many: then, in a
 *  call of one tile, no block waits for a slot or announces a free one, and needs no fence or
 *  barrier for it (device/wait.h). But no more than that where all ranks are in one launch: calls
 *  go through all slots in turn, and unneeded slots would only take room in the L2 cache. A
 *  sender with a slot for each message of a tile waits for messages of earlier tiles alone. */
uint32_t choice_slots(enum ccs_protocol protocol, uint32_t checked, const struct choice_depth *d,
		      bool one_launch);

/** The most bytes of a tile, at most `most`, in whole units of 16: if a GPU has slots of `cells`
 *  cells (with LL counted twice) for each of `channels` channels, short enough that the slots
 *  stay in its L2 cache, so that messages are not written to memory and read back. But with
 *  Simple not less than 64 KiB: below that the waits of a step cost more than the memory does
 *  (measured on an H200: a ring of 8 ranks with 32 MiB each takes 337 us in tiles of 16 KiB, 264
 *  in 64 KiB, 300 in 128 KiB). With LL, where slots of the smallest block do not stay in the
 *  cache, it is `most`. */
uint64_t choice_tile(enum ccs_protocol protocol, uint64_t cells, uint32_t channels, uint64_t most);

#endif
