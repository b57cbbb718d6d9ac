/*
 * BLAKE2s: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code". See
 * blake2s.h.
 *
 * Names are those of the RFC: h, v, m, t, f, G. Ten rounds for each block of 64 bytes. The last
 * block is marked; it is empty only if the whole input is. O(bytes).
 */
#include "runtime/base/blake2s.h"

#include <string.h>

/* Section 2.6: the initial values of SHA-256. */
static const uint32_t iv[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

/* Section 2.7. */
static const unsigned char sigma[10][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static uint32_t rotated(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

/* Section 3.1. */
static void mix(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d, uint32_t x, uint32_t y)
{
	*a += *b + x;
	*d = rotated(*d ^ *a, 16);
	*c += *d;
	*b = rotated(*b ^ *c, 12);
	*a += *b + y;
	*d = rotated(*d ^ *a, 8);
	*c += *d;
	*b = rotated(*b ^ *c, 7);
}

/* Section 3.2. */
static void compress(struct blake2s *b, bool last)
{
	uint32_t v[16], m[16];

	for (int i = 0; i < 16; i++) {
		const unsigned char *p = b->block + 4 * i;

		m[i] = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	}
	memcpy(v, b->h, sizeof(b->h));
	memcpy(v + 8, iv, sizeof(iv));
	v[12] ^= (uint32_t)b->bytes;
	v[13] ^= (uint32_t)(b->bytes >> 32);
	if (last)
		v[14] = ~v[14];
	for (int r = 0; r < 10; r++)
		for (int i = 0; i < 8; i++) { /* four columns, then four diagonals */
			int turn = i / 4;

			mix(v + i % 4, v + 4 + (i + turn) % 4, v + 8 + (i + 2 * turn) % 4,
			    v + 12 + (i + 3 * turn) % 4, m[sigma[r][2 * i]],
			    m[sigma[r][2 * i + 1]]);
		}
	for (int i = 0; i < 8; i++)
		b->h[i] ^= v[i] ^ v[i + 8];
}

void blake2s_begin(struct blake2s *b, const void *key, size_t key_bytes)
{
	*b = (struct blake2s){ .bytes = 0 };
	memcpy(b->h, iv, sizeof(iv));
	b->h[0] ^= 0x01010000u ^ (uint32_t)key_bytes << 8 ^ BLAKE2S_BYTES;
	if (!key_bytes)
		return;
	memcpy(b->block, key, key_bytes); /* the key fills the first block, padded with zeros */
	b->held = sizeof(b->block);
}

void blake2s_add(struct blake2s *b, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n) {
		size_t room = sizeof(b->block) - b->held, k = n < room ? n : room;

		if (!room) { /* more follows: this block is not the last */
			b->bytes += b->held;
			compress(b, false);
			b->held = 0;
			continue;
		}
		memcpy(b->block + b->held, p, k);
		b->held += k;
		p += k;
		n -= k;
	}
}

void blake2s_end(struct blake2s *b, unsigned char out[BLAKE2S_BYTES])
{
	memset(b->block + b->held, 0, sizeof(b->block) - b->held);
	b->bytes += b->held;
	compress(b, true);
	for (unsigned i = 0; i < BLAKE2S_BYTES; i++)
		out[i] = (unsigned char)(b->h[i / 4] >> 8 * (i % 4));
	memset(b, 0, sizeof(*b));
}

bool blake2s_same(const unsigned char x[BLAKE2S_BYTES], const unsigned char y[BLAKE2S_BYTES])
{
	unsigned differ = 0;

	for (unsigned i = 0; i < BLAKE2S_BYTES; i++)
		differ |= (unsigned)(x[i] ^ y[i]);
	return !differ;
}
