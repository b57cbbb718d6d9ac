/*
 * Kernels that were compiled before, on disk: $CCS_CACHE_DIR (empty: no cache), or
 * ccs below $XDG_CACHE_HOME or ~/.cache. It may be emptied at any time. It has at most
 * $CCS_CACHE_SIZE bytes (256M, if that is no size): what was not used for the longest
 * time goes first.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_CACHE_H
#define CCS_RUNTIME_BASE_LOAD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names an entry by all that its bytes depend on. */
struct cache_key {
	uint64_t hash[2];
};

struct cache_key cache_key_of(const void *const *parts, const size_t *lengths, size_t n);

/** The entry's bytes, malloc'ed and with a NUL behind them; NULL: there is none that
 *  is whole and that this user wrote. One that is damaged is removed. */
void *cache_read(const struct cache_key *key, size_t *len);

/** Stores an entry, whole or not at all, and removes others beyond the limit. A cache that
 *  cannot be written is no error. O(bytes + entries). */
void cache_write(const struct cache_key *key, const void *data, size_t len);

#endif
