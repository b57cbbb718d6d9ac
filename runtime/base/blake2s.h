/*
 * BLAKE2s, RFC 7693: a hash of 32 bytes, and, with a key, a message authentication code.
 *
 * Not HMAC-SHA-256: a keyed BLAKE2s is one pass, and half of the code. Not from a library: the runtime
 * needs no other than C's.
 */
#ifndef CCS_RUNTIME_BASE_BLAKE2S_H
#define CCS_RUNTIME_BASE_BLAKE2S_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLAKE2S_BYTES 32u /* of a hash, and of a key at most */

struct blake2s {
	uint32_t h[8];
	uint64_t bytes; /* that were hashed, and those that wait: */
	unsigned char block[64];
	size_t held;
};

/** Begins a hash; with a key of 1 to 32 bytes a code that only those make that have the key. */
void blake2s_begin(struct blake2s *b, const void *key, size_t key_bytes);
void blake2s_add(struct blake2s *b, const void *data, size_t n);
void blake2s_end(struct blake2s *b, unsigned char out[BLAKE2S_BYTES]);
/** Compares two codes; how long that takes says nothing of where they differ. */
bool blake2s_same(const unsigned char x[BLAKE2S_BYTES], const unsigned char y[BLAKE2S_BYTES]);

#endif
