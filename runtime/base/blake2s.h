/*
 * BLAKE2s, RFC 7693: a hash of 32 bytes and, with a key, a message authentication code.
 *
 * A keyed BLAKE2s takes one pass and half the code of HMAC-SHA-256. The runtime depends on no
 * library but C's, so the code is here.
 */
#ifndef CCS_RUNTIME_BASE_BLAKE2S_H
#define CCS_RUNTIME_BASE_BLAKE2S_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLAKE2S_BYTES 32u /* length of a hash, and of the longest key */

struct blake2s {
	uint32_t h[8];
	uint64_t bytes; /* hashed so far, and in `block`: */
	unsigned char block[64];
	size_t held;
};

/** Begins a hash. With a key of 1 to 32 bytes, a code that cannot be made without the key. */
void blake2s_begin(struct blake2s *b, const void *key, size_t key_bytes);
void blake2s_add(struct blake2s *b, const void *data, size_t n);
void blake2s_end(struct blake2s *b, unsigned char out[BLAKE2S_BYTES]);
/** Compares two codes in a time that does not depend on where they differ. */
bool blake2s_same(const unsigned char x[BLAKE2S_BYTES], const unsigned char y[BLAKE2S_BYTES]);

#endif
