/*
 * The ranks' buffers of a row: their sizes, addresses, inputs, and expected results.
 *
 * Every rank has two allocations of the same size, with some guarded bytes after the end. Out of
 * place they are its send and its receive buffer. In place follows NCCL: a rank's part of the
 * gathered or scattered buffer, if that has a block for each rank, else the same pointer, all in
 * the second allocation. O(bytes).
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"
#include "runtime/ccrun/values/chunk_sizes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUARD 64    /* bytes behind a buffer */
#define POISON 0xff /* NaN in all float types */

bool buffers_open(struct bench *b)
{
	size_t n = (size_t)b->at->ranks;

	b->base[0] = calloc(n, sizeof(*b->base[0]));
	b->base[1] = calloc(n, sizeof(*b->base[1]));
	b->send = calloc(n, sizeof(*b->send));
	b->recv = calloc(n, sizeof(*b->recv));
	b->call_send = calloc(n, sizeof(*b->call_send));
	b->call_recv = calloc(n, sizeof(*b->call_recv));
	return b->base[0] && b->base[1] && b->send && b->recv && b->call_send && b->call_recv;
}

void buffers_close(struct bench *b)
{
	free(b->base[0]);
	free(b->base[1]);
	free(b->send);
	free(b->recv);
	free(b->call_send);
	free(b->call_recv);
}

/* ---- sizes ------------------------------------------------------------------------- */

/* The blocks of `count` elements in all buffers of a kind; *n: the number of buffers,
 * including `sized` ones. */
static uint32_t blocks_of(const struct row *r, bool recv, uint32_t *n)
{
	const struct check *c = &r->check;
	uint32_t blocks = 0;

	*n = 0;
	for (int i = 0; i < c->nbuffers; i++) {
		if (c->buffers[i].direction == (recv ? CCS_IN : CCS_OUT))
			continue;
		blocks += c->buffers[i].sized ? 0 : c->buffers[i].blocks;
		++*n;
	}
	return blocks;
}

/* Whether some buffers are `by column` and others are not: then their chunks must be equally
 * long. */
static bool has_both(const struct check *c)
{
	bool columns = false, others = false;

	for (int i = 0; i < c->nbuffers; i++) {
		columns |= c->buffers[i].by_column;
		others |= !c->buffers[i].by_column && !c->buffers[i].sized &&
			  c->buffers[i].chunks > 1;
	}
	return columns && others;
}

/* Sets the sizes of chunks of `sized` buffers, in addition to blocks of `count`; chunks without
 * a size from the user share `most` elements in all. */
static ccs_status size_chunks(const struct bench *b, struct check *c, size_t most)
{
	if (!c->sizes)
		return CCS_OK;
	if (b->o->sizes)
		return sizes_compute(c, b->o->sizes, PTRDIFF_MAX / 16);
	sizes_draw(c, most);
	return CCS_OK;
}

/* Bytes of the rank's send or receive buffer. */
static size_t bytes_of(const struct row *r, uint32_t rank, bool recv)
{
	return sizes_elements(&r->check, rank, recv) * ccs_dtype_size(r->check.type);
}

/* Finds the largest send buffer and receive buffer of all ranks. */
static void measure_buffers(struct row *r)
{
	r->send = r->recv = 0;
	for (uint32_t i = 0; i < (uint32_t)r->check.of.nranks; i++) {
		size_t send = bytes_of(r, i, false), recv = bytes_of(r, i, true);

		r->send = send > r->send ? send : r->send;
		r->recv = recv > r->recv ? recv : r->recv;
	}
	r->base = r->send > r->recv ? r->send : r->recv;
	r->size = r->base;
}

ccs_status buffers_size(const struct bench *b, struct row *r, size_t size)
{
	struct check *c = &r->check;
	uint32_t n, in = blocks_of(r, false, &n), out = blocks_of(r, true, &n);
	size_t esize = ccs_dtype_size(c->type), units = in > out ? in : out;
	size_t send = 0, recv = 0;
	ccs_status s;

	c->count = units ? size / esize / (units + (c->sizes != NULL)) : 0;
	c->count -= c->rows ? c->count % c->rows : 0;
	for (int i = 0; (b->has.even_counts || has_both(c)) && i < c->nbuffers;) {
		size_t chunks = (c->rows ? c->rows : 1) * c->buffers[i].chunks;

		if (!chunks || c->buffers[i].sized || c->count % chunks == 0) {
			i++;
			continue;
		}
		c->count -= c->count % chunks; /* reduce to a count that all chunks divide */
		i = 0;
	}
	if (c->sizes)
		s = size_chunks(b, c, size / esize - units * c->count);
	else
		s = ccs_module_elements(c->module, c->of.nranks, c->count, &send, &recv);
	if (!s)
		measure_buffers(r);
	return s;
}

/* ---- memory --------------------------------------------------------------------------- */

void buffers_free(struct bench *b)
{
	if (b->at->device)
		device_free(b->at->device);
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < b->at->ranks; i++) {
			if (b->at->device)
				free(b->base[side][i]);
			else
				ccs_mem_free(b->at->comm[b->at->first], b->base[side][i]);
			b->base[side][i] = NULL;
		}
	}
}

ccs_status buffers_alloc(struct bench *b, const struct row *r)
{
	double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	const struct home *at = b->at;
	bool fits = 2.0 * at->local * (double)r->base <= 0.9 * have;
	void *p;

	for (int k = 0; k < 2 * at->local && fits; k++) {
		fits = at->device ? !posix_memalign(&p, 4096, r->base + GUARD)
				  : !ccs_mem_alloc(at->comm[at->first], r->base + GUARD, &p);
		if (fits)
			b->base[k & 1][at->first + k / 2] = p;
	}
	if (!fits)
		return ccs_error_set(CCS_ENOMEM,
				     "size %zu needs two buffers of %zu bytes for each of "
				     "%d ranks: more than this machine's memory",
				     r->size, r->base, at->local);
	return at->device ? device_alloc(at->device, b->base, r->base + GUARD) : CCS_OK;
}

bool buffers_place(struct bench *b, const struct row *r, bool in_place)
{
	uint32_t ns, nr;
	uint32_t in = blocks_of(r, false, &ns), out = blocks_of(r, true, &nr);
	size_t block = r->check.count * ccs_dtype_size(r->check.type);
	const struct home *at = b->at;
	uint32_t n = (uint32_t)at->ranks;

	if (in_place && (ns != 1 || nr != 1 || (r->check.sizes && r->check.nbuffers > 1)))
		return false;
	for (int i = at->first; i < at->first + at->local; i++) {
		size_t mine = (size_t)i * block;

		b->send[i] = b->base[in_place][i];
		b->recv[i] = b->base[1][i];
		if (in_place) {
			b->send[i] = b->base[1][i] + (in == 1 && out == n ? mine : 0);
			b->recv[i] = b->base[1][i] + (in == n && out == 1 ? mine : 0);
		}
		b->call_send[i] = b->send[i];
		b->call_recv[i] = b->recv[i];
		if (at->device) {
			b->call_send[i] = device_pointer(at->device, i, b->send[i]);
			b->call_recv[i] = device_pointer(at->device, i, b->recv[i]);
		}
	}
	return true;
}

/* ---- what they hold -------------------------------------------------------------------- */

ccs_status buffers_fill(struct bench *b, const struct row *r, bool in_place)
{
	const struct home *at = b->at;

	for (int i = at->first; i < at->first + at->local; i++) {
		if (!in_place)
			memset(b->base[0][i], POISON, r->base + GUARD);
		memset(b->base[1][i], POISON, r->base + GUARD);
		check_fill(&r->check, (uint32_t)i, b->send[i],
			   sizes_elements(&r->check, (uint32_t)i, false));
	}
	return at->device ? device_copy(at->device, true) : CCS_OK;
}

/* Bytes written behind a buffer. */
static size_t overrun(const unsigned char *from, const unsigned char *to)
{
	size_t n = 0;

	for (; from < to; from++)
		n += *from != POISON;
	return n;
}

ccs_status buffers_check(struct bench *b, const struct row *r, bool in_place, struct result *result)
{
	const struct home *at = b->at;
	ccs_status s = at->device ? device_copy(at->device, false) : CCS_OK;

	if (s)
		return s;
	*result->text = '\0';
	result->wrong = check_outputs(&r->check, b->recv, result->text, sizeof(result->text));
	for (int i = at->first; i < at->first + at->local; i++) {
		size_t n = in_place ? 0 : sizes_elements(&r->check, (uint32_t)i, false);
		size_t inputs = check_input(&r->check, (uint32_t)i, b->send[i], n);
		size_t used = in_place ? r->base : bytes_of(r, (uint32_t)i, true);
		size_t behind = overrun(b->base[1][i] + used, b->base[1][i] + r->base + GUARD);

		if (inputs && !*result->text)
			snprintf(result->text, sizeof(result->text), "rank %d changed its sendbuff",
				 i);
		if (behind && !*result->text)
			snprintf(result->text, sizeof(result->text),
				 "rank %d wrote beyond its recvbuff", i);
		result->wrong += inputs + behind;
	}
	return CCS_OK;
}
