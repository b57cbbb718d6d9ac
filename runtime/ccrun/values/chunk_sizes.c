/*
 * Lengths of the chunks of `sized` buffers: see sizes.h.
 */
#include "runtime/ccrun/values/chunk_sizes.h"

#include "runtime/ccrun/values/elements.h"
#include "runtime/ccrun/values/expression.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS = 1000 };

/* ---- chunks ------------------------------------------------------------------------------- */

static uint32_t chunks_of(const struct ccs_buffer_info *b)
{
	return b->chunks * b->blocks;
}

/* The index of a `sized` chunk among the rank's. */
static uint32_t place_of(const struct check *c, uint32_t chunk)
{
	uint32_t k = 0;

	for (int i = 0; i < c->nbuffers; i++) {
		const struct ccs_buffer_info *b = c->buffers + i;

		if (chunk >= b->first && chunk - b->first < chunks_of(b))
			return k + (chunk - b->first);
		k += b->sized ? chunks_of(b) : 0;
	}
	return k;
}

const size_t *sizes_of(const struct check *c, uint32_t rank)
{
	return c->sizes ? c->sizes->of + (size_t)rank * c->sizes->n : NULL;
}

size_t sizes_find(const struct check *c, uint32_t rank, uint32_t chunk, size_t *at)
{
	size_t k = (size_t)rank * c->sizes->n + place_of(c, chunk);

	*at = c->sizes->at[k];
	return c->sizes->of[k];
}

/* ---- their numbers -------------------------------------------------------------------------- */

/* Reads the size numbers of a buffer's chunks on a rank, with the first at index k. Chunks
 * with initial values are named first. */
static ccs_status read_numbers(const struct check *c, uint32_t rank,
			       const struct ccs_buffer_info *b, size_t k)
{
	struct sizes *s = c->sizes;
	ccs_status rc = CCS_OK;

	for (uint32_t i = 0; i < chunks_of(b) && !rc; i++, k++)
		rc = ccs_module_size_number(c->module, c->plan, (int)rank, b->first + i,
					    s->number + k);
	return rc;
}

/* Sets the first chunk of each number, in buffers that are read, or in others. */
static void name_first(const struct check *c, bool read)
{
	struct sizes *s = c->sizes;

	for (uint32_t r = 0; r < (uint32_t)c->of.nranks; r++)
		for (int i = 0; i < c->nbuffers; i++) {
			const struct ccs_buffer_info *b = c->buffers + i;
			size_t k = (size_t)r * s->n + place_of(c, b->first);

			if (!b->sized || (b->direction != CCS_OUT) != read)
				continue;
			for (uint32_t j = 0; j < chunks_of(b); j++, k++)
				if (s->named[s->number[k]] == UINT32_MAX)
					s->named[s->number[k]] = (uint32_t)k;
		}
}

ccs_status sizes_open(struct check *c)
{
	size_t n = 0, ranks = (size_t)c->of.nranks;
	ccs_status rc = CCS_OK;
	struct sizes *s;

	for (int i = 0; i < c->nbuffers; i++)
		n += c->buffers[i].sized ? chunks_of(c->buffers + i) : 0;
	if (!n)
		return CCS_OK;
	s = c->sizes = calloc(1, sizeof(*s));
	if (s) {
		s->n = (uint32_t)n;
		s->number = calloc(ranks * n, sizeof(*s->number));
		s->named = malloc(ranks * c->of.chunks * sizeof(*s->named));
		s->of = calloc(ranks * n, sizeof(*s->of));
		s->at = calloc(ranks * n, sizeof(*s->at));
	}
	if (!s || !s->number || !s->named || !s->of || !s->at)
		return ccs_error_set(CCS_ENOMEM, "out of memory for the sizes of chunks");
	memset(s->named, 0xff, ranks * c->of.chunks * sizeof(*s->named));
	for (uint32_t r = 0; r < (uint32_t)ranks && !rc; r++)
		for (int i = 0; i < c->nbuffers && !rc; i++)
			if (c->buffers[i].sized)
				rc = read_numbers(c, r, c->buffers + i,
						  r * n + place_of(c, c->buffers[i].first));
	if (!rc) {
		name_first(c, true);
		name_first(c, false);
	}
	return rc;
}

void sizes_close(struct check *c)
{
	struct sizes *s = c->sizes;

	if (s) {
		free(s->number);
		free(s->named);
		free(s->of);
		free(s->at);
	}
	free(s);
	c->sizes = NULL;
}

/* ---- lengths -------------------------------------------------------------------------------- */

/* Sets the start of each chunk. Returns the most elements of a rank's buffers of a kind;
 * SIZE_MAX: overflow. */
static size_t place_all(const struct check *c)
{
	struct sizes *s = c->sizes;
	size_t most = 0;

	for (uint32_t r = 0; r < (uint32_t)c->of.nranks; r++) {
		size_t kinds[2] = { 0 };

		for (int i = 0; i < c->nbuffers; i++) {
			const struct ccs_buffer_info *b = c->buffers + i;
			size_t k = (size_t)r * s->n + place_of(c, b->first), sum = 0;

			for (uint32_t j = 0; b->sized && j < chunks_of(b); j++, k++) {
				s->at[k] = sum;
				if (__builtin_add_overflow(sum, s->of[k], &sum))
					return SIZE_MAX;
			}
			for (int kind = 0; kind < 2; kind++)
				if (b->direction != (kind ? CCS_IN : CCS_OUT) &&
				    __builtin_add_overflow(kinds[kind], sum, kinds + kind))
					return SIZE_MAX;
		}
		most = kinds[0] > most ? kinds[0] : most;
		most = kinds[1] > most ? kinds[1] : most;
	}
	return most;
}

void sizes_draw(struct check *c, size_t most)
{
	struct sizes *s = c->sizes;
	size_t n = (size_t)c->of.nranks * s->n, all;

	for (size_t k = 0; k < n; k++) {
		uint64_t h = element_hash(s->number[k] + 1);

		s->of[k] = h % 6 ? h / 6 % (WEIGHTS + 1) : 0;
	}
	all = place_all(c);
	for (size_t k = 0; k < n && all; k++) /* most * of / all, without overflow */
		s->of[k] = most / all * s->of[k] + most % all * s->of[k] / all;
	(void)place_all(c);
}

/* Computes the length of one number. */
static ccs_status compute(const struct check *c, struct formula *f, uint32_t named, size_t *size)
{
	uint32_t rank = named / c->sizes->n, index = named % c->sizes->n;
	int64_t value;
	ccs_status s = expression_value(c, f, rank, index, &value);

	if (!s && value < 0)
		s = expression_refuse(f,
				      "%" PRId64 " (rank %u, index %u) is not a number of elements",
				      value, rank, index);
	*size = s ? 0 : (size_t)value;
	return s;
}

ccs_status sizes_compute(struct check *c, struct formula *f, size_t most)
{
	struct sizes *s = c->sizes;
	ccs_status rc = CCS_OK;

	for (size_t k = 0; k < (size_t)c->of.nranks * s->n && !rc; k++)
		rc = compute(c, f, s->named[s->number[k]], s->of + k);
	if (!rc && place_all(c) > most)
		rc = expression_refuse(f, "a rank's buffers would exceed any memory");
	return rc;
}

size_t sizes_buffer(const struct check *c, uint32_t rank, const struct ccs_buffer_info *b)
{
	size_t at, len;

	if (!b->sized)
		return b->blocks * c->count;
	len = sizes_find(c, rank, b->first + b->chunks * b->blocks - 1, &at);
	return at + len;
}

size_t sizes_elements(const struct check *c, uint32_t rank, bool recv)
{
	size_t n = 0;

	for (int i = 0; i < c->nbuffers; i++)
		if (c->buffers[i].direction != (recv ? CCS_IN : CCS_OUT))
			n += sizes_buffer(c, rank, c->buffers + i);
	return n;
}
