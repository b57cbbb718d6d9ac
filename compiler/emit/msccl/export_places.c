/*
 * Maps the cells of a plan to chunks of input, output and scratch.
 *
 * In:  a plan. Out: the first chunk of every buffer, and of every scratch cell of each rank. The
 * file needs more scratch than the plan: for a buffer of which the contract asks nothing on a rank
 * (the caller may give none there: ncclReduce needs a receive buffer at its root alone), and a
 * stage for each worker, for values that have no other place.
 *
 * The input consists of the `in` and `inout` buffers in order, with their initial values; the
 * output of the `inout` and `out` buffers. A block of elements is cut into per_block chunks a
 * replica; chunk c of a replica's part is the c-th of that part. A scratch cell is as long as the
 * longest value that is ever stored there.
 */
#include "compiler/emit/msccl/export.h"

#define MOST_CHUNKS (1u << 24) /* of a buffer: more than the executors' offsets can reach */

/* ---- lengths ----------------------------------------------------------------------------- */

static uint32_t buffer_of(const struct msccl_export *x, uint32_t cell)
{
	uint32_t b = 0;

	while (cell - x->v->shapes[b].cell >= x->v->shapes[b].chunks * x->v->shapes[b].blocks)
		b++;
	return b;
}

uint32_t export_width(const struct msccl_export *x, const struct ccs_op *o, uint32_t j)
{
	uint32_t cell = o->flags & CCS_OP_LEN_SAME ? o->len : o->len + j;

	return x->per_block / x->v->shapes[buffer_of(x, cell)].chunks;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

static bool cut_block(struct msccl_export *x)
{
	uint64_t all = 1, blocks = 0;

	for (uint32_t b = 0; b < x->m->nbuffers && all <= MOST_CHUNKS; b++) {
		all = all / greatest_divisor(all, x->v->shapes[b].chunks) * x->v->shapes[b].chunks;
		blocks += x->v->shapes[b].blocks;
	}
	x->per_block = (uint32_t)all;
	if (all * blocks * x->replicas <= MOST_CHUNKS)
		return true;
	return export_refuse(x, "fewer chunks", "its buffers have more than %u chunks",
			     MOST_CHUNKS);
}

/* ---- buffers ------------------------------------------------------------------------------ */

static void place_buffers(struct msccl_export *x)
{
	x->input_at = ARENA_ARRAY(x->arena, uint32_t, x->m->nbuffers);
	x->output_at = ARENA_ARRAY(x->arena, uint32_t, x->m->nbuffers);
	for (uint32_t b = 0; b < x->m->nbuffers; b++) {
		uint32_t n = x->v->shapes[b].blocks * x->per_block * x->replicas;

		x->input_at[b] = x->ninput;
		x->output_at[b] = x->noutput;
		x->ninput += x->m->buffers[b].direction == CCS_OUT ? 0 : n;
		x->noutput += x->m->buffers[b].direction == CCS_IN ? 0 : n;
	}
}

/* Whether the contract promises nothing about the buffer's chunks on the rank. */
static bool unwanted(const struct msccl_export *x, uint32_t rank, uint32_t b)
{
	const struct ccs_shape *s = x->v->shapes + b;
	const uint32_t *expect = x->v->expect + (size_t)rank * x->v->plan->cells + s->cell;

	if (x->m->buffers[b].direction == CCS_IN)
		return false;
	for (uint32_t i = 0; i < s->chunks * s->blocks; i++)
		if (expect[i] != CCS_NONE)
			return false;
	return true;
}

static void place_unwanted(struct msccl_export *x, uint32_t rank)
{
	for (uint32_t b = 0; b < x->m->nbuffers; b++) {
		if (!unwanted(x, rank, b))
			continue;
		x->moved[(size_t)rank * x->m->nbuffers + b] = x->nscratch[rank];
		x->nscratch[rank] += x->v->shapes[b].blocks * x->per_block;
	}
}

/* ---- scratch ------------------------------------------------------------------------------ */

bool export_staged(const struct msccl_export *x, const struct ccs_op *o)
{
	bool split =
		o->in != CCS_NONE && o->out != CCS_NONE && x->receiver[o->in] != x->sender[o->out];

	if (o->flags & CCS_OP_SHIFTED)
		return true;
	if (o->dst != CCS_NONE || o->out == CCS_NONE)
		return false;
	/* no step receives and sends without storing, and none adds two chunks */
	return o->in != CCS_NONE ? split || o->a == CCS_NONE || o->b != CCS_NONE : o->b != CCS_NONE;
}

/* Makes scratch cells at least as long as the operation's values. */
static void widen(const struct msccl_export *x, uint32_t *width, const struct ccs_op *o,
		  uint32_t first)
{
	uint32_t cells = x->v->plan->cells;

	for (uint32_t j = 0; first != CCS_NONE && j < o->n; j++)
		if (first + j >= cells && width[first + j - cells] < export_width(x, o, j))
			width[first + j - cells] = export_width(x, o, j);
}

static void place_worker(struct msccl_export *x, uint32_t w, uint32_t *width)
{
	const struct ccs_worker *at = x->v->workers + w;
	uint32_t most = 0;

	for (uint32_t i = 0; i < at->nops; i++) {
		const struct ccs_op *o = x->v->ops + at->op + i;
		uint32_t n = 0;

		widen(x, width, o, o->a);
		widen(x, width, o, o->b);
		widen(x, width, o, o->dst);
		if (!export_staged(x, o))
			continue;
		for (uint32_t j = 0; j < o->n; j++)
			n += export_width(x, o, j);
		most = n > most ? n : most;
	}
	x->stage_at[w] = x->nscratch[at->rank];
	x->nscratch[at->rank] += most;
}

static void place_rank(struct msccl_export *x, uint32_t rank)
{
	uint32_t n = x->v->plan->scratch, *at = x->scratch_at + (size_t)rank * n;

	for (uint32_t w = x->v->ranks[rank].worker; w < x->v->ranks[rank + 1].worker; w++)
		place_worker(x, w, at);
	for (uint32_t t = 0; t < n; t++) {
		uint32_t width = at[t];

		at[t] = x->nscratch[rank];
		x->nscratch[rank] += width;
	}
	place_unwanted(x, rank);
}

bool export_places(struct msccl_export *x)
{
	const struct ccs_plan *p = x->v->plan;

	if (!cut_block(x))
		return false;
	place_buffers(x);
	x->nscratch = ARENA_ARRAY(x->arena, uint32_t, p->nranks);
	x->scratch_at = ARENA_ARRAY(x->arena, uint32_t, (size_t)p->nranks * p->scratch);
	x->stage_at = ARENA_ARRAY(x->arena, uint32_t, p->workers.n);
	x->moved = none_array(x->arena, (size_t)p->nranks * x->m->nbuffers);
	for (uint32_t r = 0; r < p->nranks; r++)
		place_rank(x, r);
	return true;
}

/* ---- places ------------------------------------------------------------------------------- */

struct export_at export_place(const struct msccl_export *x, uint32_t rank, uint32_t cell,
			      bool initial)
{
	const struct ccs_plan *p = x->v->plan;

	if (cell >= p->cells)
		return (struct export_at){
			EX_SCRATCH, x->scratch_at[(size_t)rank * p->scratch + cell - p->cells]
		};
	uint32_t b = buffer_of(x, cell);
	const struct ccs_shape *s = x->v->shapes + b;
	uint32_t block = (cell - s->cell) / s->chunks;
	uint32_t chunk = (cell - s->cell) % s->chunks * (x->per_block / s->chunks);
	uint32_t moved = x->moved[(size_t)rank * x->m->nbuffers + b];

	if (initial || x->m->buffers[b].direction == CCS_IN)
		return (struct export_at){
			EX_I, x->input_at[b] + block * x->per_block * x->replicas + chunk
		};
	if (moved != NONE)
		return (struct export_at){ EX_SCRATCH, moved + block * x->per_block + chunk };
	return (struct export_at){ EX_O,
				   x->output_at[b] + block * x->per_block * x->replicas + chunk };
}

struct export_at export_chunk(const struct msccl_export *x, uint32_t rank, const struct ccs_op *o,
			      uint32_t first, bool initial, uint32_t at)
{
	uint32_t j = 0;

	for (uint32_t width; at >= (width = export_width(x, o, j)); j++)
		at -= width;
	struct export_at place = export_place(x, rank, first + j, initial);

	place.chunk += at;
	return place;
}

bool export_twins(const struct msccl_export *x, uint32_t rank, struct export_at in,
		  struct export_at out)
{
	if (in.buffer != EX_I || out.buffer != EX_O)
		return false;
	if (x->ninput > x->noutput)
		return in.chunk == rank * x->noutput + out.chunk;
	return out.chunk == in.chunk + (x->ninput < x->noutput ? rank * x->ninput : 0);
}
