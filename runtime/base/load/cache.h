/*
 * The disk cache of compiled kernels: in $CCS_CACHE_DIR (empty: no cache), or in ccs below
 * $XDG_CACHE_HOME or ~/.cache. It may be emptied at any time. Above $CCS_CACHE_SIZE bytes
 * (default 256M) the least recently used entries are removed.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_CACHE_H
#define CCS_RUNTIME_BASE_LOAD_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* A hash of everything that an entry's bytes depend on. */
struct cache_key {
	uint64_t hash[2];
};

/** The key of the parts' bytes and lengths. O(bytes). */
struct cache_key cache_key_of(const void *const *parts, const size_t *lengths, size_t n);

/** The entry's bytes, malloc'ed, with a NUL after them. NULL: no whole entry that this user
 *  wrote. A damaged one is removed. */
void *cache_read(const struct cache_key *key, size_t *len);

/** Stores an entry, completely or not at all, and removes others beyond the limit. A cache that
 *  cannot be written is no error. O(bytes + entries). */
void cache_write(const struct cache_key *key, const void *data, size_t len);

#endif
