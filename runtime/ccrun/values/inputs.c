/*
 * Inputs: see inputs.h. O(elements).
 */
#include "runtime/ccrun/values/inputs.h"
#include "runtime/ccrun/values/fill.h"

#include <math.h>
#include <string.h>

double check_exact_up_to(const struct check *c)
{
	return ldexp(1, c->format.mantissa + 1);
}

struct maker maker_of(const struct check *c)
{
	double terms = c->chooses ? 1 : c->of.nranks;
	double most;

	if (c->op == OP_PREMUL)
		terms *= 2;
	most = floor(check_exact_up_to(c) / terms);
	return (struct maker){ c->op, (uint64_t)(most < 1000 ? most : 1000),
			       (uint64_t)ceil(terms / check_exact_up_to(c)) };
}

static double make_float(const struct maker *m, uint64_t rank, uint64_t at)
{
	uint64_t h = element_hash(at * 65537 + rank);

	if (m->op == CCS_PROD) {
		/* few factors other than +-1, evenly up and down */
		int e = rank < 8 ? (int)((element_hash(at) % 3 + rank) % 3) - 1 : 0;

		return h & 1 ? ldexp(1, e) : -ldexp(1, e);
	}
	if (m->largest)
		return (double)(int64_t)(h % (2 * m->largest + 1)) - (double)m->largest;
	if ((element_hash(at) + rank) % m->every)
		return 0;
	return h & 1 ? 1 : -1;
}

static uint64_t make_bits(uint64_t rank, uint64_t at)
{
	return element_hash(at * 65537 + rank + 1);
}

void inputs_bits(const struct check *c, uint32_t rank, uint64_t at, size_t n, uint64_t *bits)
{
	unsigned char p[8] = { 0 };

	if (!c->fill) {
		for (size_t i = 0; i < n; i++)
			bits[i] = make_bits(rank, at + i);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		element_put(c, p, fill_number(c, rank, at + i));
		bits[i] = element_bits(p, c->format.size);
	}
}

double input_float(const struct check *c, const struct maker *m, uint32_t rank, uint64_t at)
{
	return c->fill ? (double)fill_number(c, rank, at) : make_float(m, rank, at);
}

/* The rank's elements [at, at + n), of at most BLOCK. */
static void make(const struct check *c, const struct maker *m, uint32_t rank, uint64_t at, size_t n,
		 unsigned char *p)
{
	uint64_t bits[BLOCK];

	if (check_is_float(c)) {
		for (size_t i = 0; i < n; i++)
			element_put_float(c, p + i * c->format.size,
					  input_float(c, m, rank, at + i));
		return;
	}
	inputs_bits(c, rank, at, n, bits);
	elements_put_bits(p, c->format.size, bits, n);
}

void check_scalar(const struct check *c, unsigned char scalar[8])
{
	uint64_t three = 3;

	memset(scalar, 0, 8);
	if (c->format.mantissa)
		element_put_float(c, scalar, 2);
	else
		memcpy(scalar, &three, c->format.size);
}

void check_fill(const struct check *c, uint32_t rank, void *send, size_t n)
{
	const struct maker m = maker_of(c);
	size_t now;

	for (size_t at = 0; at < n; at += now) {
		now = n - at < BLOCK ? n - at : BLOCK;
		make(c, &m, rank, at, now, (unsigned char *)send + at * c->format.size);
	}
}

/* Of n elements, how many are not the same. */
static size_t count_different(const unsigned char *a, const unsigned char *b, size_t n,
			      size_t esize)
{
	size_t different = 0;

	if (!memcmp(a, b, n * esize))
		return 0;
	for (size_t i = 0; i < n; i++)
		different += memcmp(a + i * esize, b + i * esize, esize) != 0;
	return different;
}

size_t check_input(const struct check *c, uint32_t rank, const void *send, size_t n)
{
	const struct maker m = maker_of(c);
	size_t esize = c->format.size, wrong = 0, now;
	unsigned char want[BLOCK * sizeof(uint64_t)];

	for (size_t at = 0; at < n; at += now) {
		now = n - at < BLOCK ? n - at : BLOCK;
		make(c, &m, rank, at, now, want);
		wrong +=
			count_different((const unsigned char *)send + at * esize, want, now, esize);
	}
	return wrong;
}
