/*
 * The protocol and the number of channels of a call on GPUs, by its size: tables of struct
 * ccs_choice (plan.h), and their text.
 *
 *     64K:ll,16M:simple/8,simple
 *
 * means: up to 64 KiB a rank LL; up to 16 MiB Simple on at most 8 channels; beyond that Simple,
 * with the channels of choice_channels. ccc writes such a table into each plan (--protocols);
 * $CCS_PROTOCOLS replaces it when a communicator is made. The cut of a call into channels, slots
 * and tiles is here too, because calls and the model of ccc (protocols.c) must use the same
 * rules. LL and Simple are NCCL's protocols: LL sends a flag with each 8 bytes of data, Simple
 * announces a whole message by a counter.
 *
 * Independent of the rest of the runtime, so that ccc can use it.
 */
#ifndef CCS_RUNTIME_PLAN_CHOICE_H
#define CCS_RUNTIME_PLAN_CHOICE_H

#include "runtime/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define CHOICE_MOST 16u
#define CHOICE_CHANNELS 65535u	  /* the most in a row */
#define SWEEP_BYTES 4096u	  /* one sweep of a block: 256 threads of 16 bytes */
#define CHANNEL_BYTES SWEEP_BYTES /* bytes of the longest chunk for each channel */
#define LL_THREADS 64u		  /* least threads of a block: some wait while the rest move data */
#define MOST_CHANNELS 64u	  /* most channels of a plan; memory does not allow more */
/* Slots that stay in the L2 cache: 50 MB on an H100, less what the callers' buffers displace. */
#define CACHED_BYTES ((uint64_t)30000000)

struct choice_list {
	struct ccs_choice rows[CHOICE_MOST];
	uint32_t n;
};

/** Reads a table. Sizes (K, M, G: powers of 1024) ascend, and only the last row has none.
 *  False: `why` has the place and the words that may stand there. */
bool choice_read(struct choice_list *list, const char *text, char *why, size_t size);
/** Writes the table's text, cut to `size`. */
void choice_text(const struct ccs_choice *rows, uint64_t n, char *text, size_t size);
/** The row for a call of `bytes` a rank. `n` > 0. */
const struct ccs_choice *choice_find(const struct ccs_choice *rows, uint64_t n, uint64_t bytes);
/** The channels for a longest chunk of `chunk` bytes: one for each CHANNEL_BYTES, from 1 to
 *  `most`, the number that can be resident. Calls and the model that chooses their protocol
 *  (protocols.c) share this rule. */
static inline uint32_t choice_channels(uint64_t chunk, uint32_t most)
{
	uint64_t pay = chunk / CHANNEL_BYTES + (chunk % CHANNEL_BYTES != 0);

	return pay < 1 ? 1 : pay < most ? (uint32_t)pay : most;
}

/** The most bytes of a cell in a slot: 128 KiB (LL: 8 KiB, which take 16 KiB of the slot), less
 *  if a message has too many cells for a slot of 256 KiB. */
uint64_t choice_most_tile(enum ccs_protocol protocol, uint32_t max_cells);

/* The messages of a plan's FIFOs, which determine the number of slots with LL. */
struct choice_depth {
	uint32_t messages; /* the most in a FIFO, of the FIFOs with few */
	bool many;	   /* some FIFO has more than a few */
};
void choice_count(struct choice_depth *d, uint32_t messages);
/** The slots of each FIFO: a power of two, at least `checked`, the number that the plan was
 *  checked with; or enough for all messages of a tile.
 *
 *  With LL at least the messages of a FIFO, if they are few. Then in a call of one tile no block
 *  waits for a slot or announces a free one, which saves a fence or barrier (device/wait.h). A
 *  sender with a slot for each message of a tile waits only for messages of earlier tiles. No more
 *  slots than that, even if `checked` is more, if all ranks are in one launch and no FIFO has many
 *  messages: calls use all slots in turn, and more slots would only occupy the L2 cache. */
uint32_t choice_slots(enum ccs_protocol protocol, uint32_t checked, const struct choice_depth *d,
		      bool one_launch);

/** The bytes of a tile: at most `most`, a multiple of 16, small enough that the slots of the
 *  GPU stay in its L2 cache. Then messages are not written to memory and read back. A GPU has
 *  slots of `cells` cells (with LL counted twice) for each of `channels` channels.
 *
 *  With Simple at least 64 KiB: below that the waits of a step cost more than memory does.
 *  Measured on an H200, a ring of 8 ranks with 32 MiB each: 337 us with tiles of 16 KiB, 264
 *  with 64 KiB, 300 with 128 KiB. With LL, if the slots of the smallest block exceed the cache,
 *  it is `most`. */
uint64_t choice_tile(enum ccs_protocol protocol, uint64_t cells, uint32_t channels, uint64_t most);

/* Tiles of the CPU engine, unless its caches or wires ask for others (runtime/cpu/core/layout.c). */
#define CPU_TILE_BYTES ((uint64_t)32 << 10)
#define CPU_SLOT_BYTES ((uint64_t)256 << 10)

/** The bytes of a cell's tile: `bytes`; less if messages have many cells, so that a slot stays within
 *  `slot` bytes, but at least 512; and less if all slots, of `weight` cells, would exceed 256 MiB, but at
 *  least 64. */
uint64_t choice_slotted_tile(uint64_t bytes, uint64_t slot, uint32_t max_cells, uint64_t weight);

#endif
