/*
 * What a call must leave: every element as the contract has it, and every counter where
 * args.h says.
 */
#include "tests/emu/emu_host.h"

/* Where the elements of a cell begin, in the buffers' elements, and how they lie there, by plan.h:
 * counted from the buffers' beginnings, and not by what kernels are told. */
struct spot {
	size_t send, recv, len;
	size_t row, apart; /* of columns; row 0: none */
	bool out;
};

/* How long a `sized` cell of the rank is. */
static size_t size_of(const struct state *s, const struct job *j, uint32_t rank, uint32_t cell)
{
	const size_t *own = j->sizes->of + (size_t)rank * j->sizes->n;

	for (uint32_t c = 0; c < cell; c++)
		own += s->v->sizes[(size_t)rank * s->v->plan->cells + c] != CCS_NONE;
	return *own;
}

static struct spot find_sized(const struct state *s, const struct job *j, uint32_t rank,
			      uint32_t first, uint32_t cell)
{
	struct spot at = { .len = size_of(s, j, rank, cell) };

	for (; first < cell; first++)
		at.send += size_of(s, j, rank, first);
	return at;
}

/* In its buffer. */
static struct spot find_part(const struct state *s, const struct job *j, uint32_t buffer,
			     uint32_t at)
{
	const struct ccs_shape *h = s->v->shapes + buffer;
	size_t rows = s->m->buffers[buffer].by_column && j->rows ? j->rows : 1;
	size_t wide = j->call.count / rows, q = (wide + h->chunks - 1) / h->chunks;
	size_t from = at % h->chunks * q < wide ? at % h->chunks * q : wide;
	size_t len = wide - from < q ? wide - from : q;

	return (struct spot){ .send = at / h->chunks * wide + from,
			      .len = len * rows,
			      .row = s->m->buffers[buffer].by_column ? len : 0,
			      .apart = wide * h->blocks };
}

static size_t buffer_elements(const struct state *s, const struct job *j, uint32_t rank,
			      uint32_t buffer)
{
	const struct ccs_shape *h = s->v->shapes + buffer;
	size_t sum = 0;

	if (!s->m->buffers[buffer].sized)
		return h->blocks * j->call.count;
	for (uint32_t c = h->cell; c < h->cell + h->chunks * h->blocks; c++)
		sum += size_of(s, j, rank, c);
	return sum;
}

static struct spot find(const struct state *s, const struct job *j, uint32_t rank, uint32_t cell)
{
	size_t send = 0, recv = 0;

	for (uint32_t i = 0; i < s->m->nbuffers; i++) {
		const struct ccs_shape *h = s->v->shapes + i;
		uint32_t direction = s->m->buffers[i].direction;
		struct spot at;

		if (cell < h->cell + h->chunks * h->blocks) {
			at = s->m->buffers[i].sized ? find_sized(s, j, rank, h->cell, cell)
						    : find_part(s, j, i, cell - h->cell);
			at.recv = at.send + recv;
			at.send += send;
			at.out = direction != CCS_IN;
			return at;
		}
		send += direction != CCS_OUT ? buffer_elements(s, j, rank, i) : 0;
		recv += direction != CCS_IN ? buffer_elements(s, j, rank, i) : 0;
	}
	return (struct spot){ 0 };
}

/* Where its element i is, from its first. */
static size_t element(const struct spot *at, size_t i)
{
	return at->row ? i / at->row * at->apart + i % at->row : i;
}

static int64_t combined(int64_t x, int64_t y)
{
	switch (op_of_number((uint32_t)emu_op)) {
	case CCS_PROD: return x * y;
	case CCS_MAX: return x > y ? x : y;
	case CCS_MIN: return x < y ? x : y;
	case CCS_BAND: return x & y;
	case CCS_BOR: return x | y;
	case CCS_BXOR: return x ^ y;
	default: return x + y;
	}
}

static int64_t wanted(const struct state *s, const struct job *j, const struct ccs_sum *sum,
		      size_t i)
{
	int64_t x = 0;
	bool first = true, reduced = sum->reduced;

	for (;; sum++) {
		for (uint32_t r = sum->first; r < sum->first + sum->n; r++)
			for (uint32_t k = 0; k < sum->times; k++) {
				struct spot from = find(s, j, r, sum->cell);
				size_t at = from.send + element(&from, i);
				int64_t v = job_value(r, at, j->number) *
					    (emu_op == CCS_DEV_PREMUL ? job_factor(j, r, at) : 1);
				x = first ? v : combined(x, v);
				first = false;
			}
		if (sum->last)
			break;
	}
	return j->call.divide && reduced && emu_type != CCS_FLOAT32 ? x / j->call.divide : x;
}

/* float32 averages are compared as quotients. */
static bool right(const struct state *s, const struct job *j, const uint8_t *p, int64_t want,
		  bool reduced)
{
	uint8_t bytes[8];
	float f;

	write_element(bytes, want);
	if (emu_type == CCS_FLOAT32 && j->call.divide && reduced) {
		f = (float)want / (float)j->call.divide;
		memcpy(bytes, &f, 4);
	}
	return !memcmp(p, bytes, s->esize);
}

bool job_right(const struct state *s, const struct job *j)
{
	const struct ccs_plan *p = s->v->plan;

	for (uint32_t r = 0; r < p->nranks; r++) {
		for (int g = 0; g < GUARD; g++)
			if (j->recv[r][j->nrecv[r] * s->esize + (size_t)g] != 0xa5) {
				printf("# rank %u wrote behind its buffer\n", r);
				return false;
			}
		for (uint32_t c = 0; c < p->cells; c++) {
			uint32_t row = s->v->expect[(size_t)r * p->cells + c];
			struct spot at = find(s, j, r, c);

			for (size_t i = 0; row != CCS_NONE && at.out && i < at.len; i++)
				if (!right(s, j,
					   j->recv[r] + (at.recv + element(&at, i)) * s->esize,
					   wanted(s, j, s->v->sums + row, i),
					   s->v->sums[row].reduced)) {
					printf("# rank %u, cell %u, element %zu is wrong\n", r, c,
					       i);
					return false;
				}
		}
	}
	return true;
}

static uint32_t part_of_worker(const struct state *s, uint32_t worker)
{
	uint32_t part = 0;

	while (worker >= s->tables.part_worker[part + 1])
		part++;
	return part;
}

/* Every counter stands where the contract of args.h says. */
bool counters_right(const struct state *s)
{
	for (uint32_t r = 0; r < s->replicas_max; r++) {
		uint64_t epoch = s->part->epoch[((size_t)s->part->worker0 * s->replicas_max + r) *
						CCS_DEV_LINE];

		for (uint32_t w = 0; w < s->tables.nworkers; w++) {
			size_t at = ((size_t)w * s->replicas_max + r) * CCS_DEV_LINE;
			const struct ccs_dev_call *c = s->part + part_of_worker(s, w);

			if (c->epoch[at] != epoch || c->done[at] != epoch * c->workers[w].count)
				return false;
		}
		for (uint32_t i = 0; i < s->tables.nfifos; i++) {
			const struct ccs_dev_fifo *f = s->part->fifos + i;

			if (f->head[r * CCS_DEV_LINE] != epoch * f->messages ||
			    f->tail[r * CCS_DEV_LINE] != epoch * f->messages)
				return false;
		}
	}
	return !s->turn[0] && !s->turn[1];
}
