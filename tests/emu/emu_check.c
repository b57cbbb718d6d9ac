/*
 * What a call must leave: every element as the contract has it, and every counter where
 * args.h says.
 */
#include "tests/emu/emu_host.h"

/* A cell's place, in elements from the buffers' starts, by plan.h. */
struct spot {
	size_t send, recv, len;
	bool out;
};

static struct spot find(const struct state *s, const struct job *j, uint32_t cell)
{
	size_t send = 0, recv = 0, count = j->call.count;

	for (uint32_t i = 0; i < s->m->nbuffers; i++) {
		const struct ccs_shape *h = s->v->shapes + i;
		uint32_t direction = s->m->buffers[i].direction;

		if (cell < h->cell + h->chunks * h->blocks) {
			size_t q = (count + h->chunks - 1) / h->chunks;
			size_t block = (cell - h->cell) / h->chunks * count;
			size_t from = (cell - h->cell) % h->chunks * q;
			from = from < count ? from : count;
			return (struct spot){ send + block + from, recv + block + from,
					      count - from < q ? count - from : q,
					      direction != CCS_IN };
		}
		send += direction != CCS_OUT ? h->blocks * count : 0;
		recv += direction != CCS_IN ? h->blocks * count : 0;
	}
	return (struct spot){ 0 };
}

static int64_t combined(int64_t x, int64_t y)
{
	switch (emu_op) {
	case CCS_PROD: return x * y;
	case CCS_MAX: return x > y ? x : y;
	case CCS_MIN: return x < y ? x : y;
	default: return x + y;
	}
}

static int64_t wanted(const struct state *s, const struct job *j, const struct ccs_sum *sum,
		      size_t i)
{
	int64_t x = 0;
	bool first = true, reduced = sum->reduced;

	for (;; sum++) {
		size_t at = find(s, j, sum->cell).send + i;

		for (uint32_t r = sum->first; r < sum->first + sum->n; r++)
			for (uint32_t k = 0; k < sum->times; k++) {
				int64_t v = job_value(r, at, j->number) *
					    (emu_op == CCS_DEV_PREMUL ? 2 : 1);
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
			if (j->recv[r][j->nrecv * s->esize + (size_t)g] != 0xa5) {
				printf("# rank %u wrote behind its buffer\n", r);
				return false;
			}
		for (uint32_t c = 0; c < p->cells; c++) {
			uint32_t row = s->v->expect[(size_t)r * p->cells + c];
			struct spot at = find(s, j, c);

			for (size_t i = 0; row != CCS_NONE && at.out && i < at.len; i++)
				if (!right(s, j, j->recv[r] + (at.recv + i) * s->esize,
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
