/*
 * Runs a file on numbers, as the executors run it.
 *
 * In:  all steps of a replica; the slots of a FIFO, and whether a message is one chunk or all
 * chunks of a step. Out: whether all steps finish, and whether the promised chunks have the right
 * values.
 *
 * Every chunk, with or without an input, begins with a different random number of 64 bits, and
 * reducing adds modulo 2^64. If a chunk ends with the right sum, it has the right multiset of
 * contributions, except with probability 2^-64 (random fingerprints: Freivalds, MFCS 1979). Blocks
 * run in turn, each as far as it can. A block waits only for messages and steps, so the order of
 * the turns does not change the result. O(chunks of all steps), times the turns: about as many as
 * steps on the longest path.
 */
#include "compiler/emit/msccl/export.h"

/* A FIFO: the values of all chunks that were ever sent. */
struct pipe {
	uint64_t *values;
	uint32_t sent, received;  /* chunks */
	uint32_t messages, taken; /* messages */
};

struct runner {
	const struct msccl_export *x;
	struct arena *arena;
	bool in_place, single;
	uint32_t slots;
	struct pipe *pipes;
	uint64_t *input, *output, *scratch; /* [nranks * ...] */
	uint32_t most_scratch;
	uint32_t *step, *chunk; /* by block: its position */
};

/* ---- numbers ------------------------------------------------------------------------------ */

static uint64_t mixed(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
	v = (v ^ v >> 27) * 0x94d049bb133111ebu;
	return v ^ v >> 31;
}

static uint64_t initial_value(uint32_t rank, uint32_t chunk)
{
	return mixed(((uint64_t)rank << 32 | chunk) + 0x9e3779b97f4a7c15u);
}

/* In place, the input is part of the output, or the output of the input. */
static uint64_t *chunk_at(const struct runner *r, uint32_t rank, struct export_at at)
{
	const struct msccl_export *x = r->x;
	int64_t chunk = at.chunk;

	if (at.buffer == EX_SCRATCH)
		return r->scratch + (size_t)rank * r->most_scratch + chunk;
	if (r->in_place && x->ninput > x->noutput) {
		chunk += at.buffer == EX_O ? (int64_t)rank * x->noutput : 0;
		return r->input + (size_t)rank * x->ninput + chunk;
	}
	if (r->in_place && x->ninput < x->noutput && at.buffer == EX_I)
		return r->output + (size_t)rank * x->noutput + rank * x->ninput + chunk;
	if (at.buffer == EX_I && !r->in_place)
		return r->input + (size_t)rank * x->ninput + chunk;
	return r->output + (size_t)rank * x->noutput + chunk;
}

static void fill(struct runner *r)
{
	const struct msccl_export *x = r->x;
	size_t nranks = x->v->plan->nranks;

	for (uint32_t i = 0; i < nranks; i++)
		r->most_scratch =
			x->nscratch[i] > r->most_scratch ? x->nscratch[i] : r->most_scratch;
	r->input = ARENA_ARRAY(r->arena, uint64_t, nranks * x->ninput);
	r->output = ARENA_ARRAY(r->arena, uint64_t, nranks * x->noutput);
	r->scratch = ARENA_ARRAY(r->arena, uint64_t, nranks * r->most_scratch);
	for (size_t i = 0; i < nranks * x->ninput; i++)
		r->input[i] = mixed(~i);
	for (size_t i = 0; i < nranks * x->noutput; i++)
		r->output[i] = mixed(~i ^ 0x5555555555555555u);
	for (size_t i = 0; i < nranks * r->most_scratch; i++)
		r->scratch[i] = mixed(~i ^ 0x3333333333333333u);
	for (uint32_t rank = 0; rank < nranks; rank++)
		for (uint32_t c = 0; c < x->ninput; c++)
			*chunk_at(r, rank, (struct export_at){ EX_I, c }) = initial_value(rank, c);
}

/* ---- steps -------------------------------------------------------------------------------- */

static bool waits_over(const struct runner *r, const struct export_step *s)
{
	for (uint32_t i = s->wait; i < s->wait + s->nwaits; i++)
		if (r->step[r->x->waits[i].block] <= r->x->waits[i].step)
			return false;
	return true;
}

/* Runs one chunk of a step. */
static void move_chunk(struct runner *r, const struct export_block *b, const struct export_step *s,
		       uint32_t j)
{
	const struct export_does *does = export_does(s->type);
	struct export_at src = s->src, dst = s->dst;
	uint64_t v = 0;

	src.chunk += j;
	dst.chunk += j;
	if (does->receives) {
		struct pipe *p = r->pipes + b->in;
		v += p->values[p->received++];
	}
	if (does->reads)
		v += *chunk_at(r, b->rank, src);
	if (s->type == EX_RE)
		v += *chunk_at(r, b->rank, dst);
	if (does->writes)
		*chunk_at(r, b->rank, dst) = v;
	if (does->sends) {
		struct pipe *p = r->pipes + b->out;
		p->values[p->sent++] = v;
	}
}

/* Runs the next message of a step, or all of a step without messages; false: it must wait. */
static bool run_message(struct runner *r, uint32_t block, const struct export_step *s)
{
	const struct export_block *b = r->x->blocks + block;
	const struct export_does *does = export_does(s->type);
	uint32_t n = r->single ? 1 : s->n;

	if (r->chunk[block] == 0 && !waits_over(r, s))
		return false;
	if (does->receives && r->pipes[b->in].taken == r->pipes[b->in].messages)
		return false;
	if (does->sends && r->pipes[b->out].messages - r->pipes[b->out].taken >= r->slots)
		return false;
	for (uint32_t j = r->chunk[block]; j < r->chunk[block] + n; j++)
		move_chunk(r, b, s, j);
	if (does->receives)
		r->pipes[b->in].taken++;
	if (does->sends)
		r->pipes[b->out].messages++;
	r->chunk[block] += n;
	return true;
}

/* Runs a block as far as it can; returns whether it got any further. */
static bool run_block(struct runner *r, uint32_t block)
{
	const struct export_block *b = r->x->blocks + block;
	bool any = false;

	while (r->step[block] < b->nsteps) {
		const struct export_step *s = b->steps + r->step[block];

		if (!run_message(r, block, s))
			break;
		any = true;
		if (r->chunk[block] == s->n) {
			r->chunk[block] = 0;
			r->step[block]++;
		}
	}
	return any;
}

/* Whether all blocks end. */
static bool run_all(struct runner *r)
{
	bool any = true, ended = true;

	while (any) {
		any = false;
		for (uint32_t b = 0; b < r->x->nblocks; b++)
			any |= run_block(r, b);
	}
	for (uint32_t b = 0; b < r->x->nblocks; b++)
		ended &= r->step[b] == r->x->blocks[b].nsteps;
	return ended;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* The promised final value of chunk j of a cell. */
static uint64_t promised(const struct msccl_export *x, const struct ccs_sum *sum, uint32_t j)
{
	uint64_t v = 0;

	for (;; sum++) {
		for (uint32_t q = sum->first; q < sum->first + sum->n; q++) {
			struct export_at at = export_place(x, q, sum->cell, true);

			v += sum->times * initial_value(q, at.chunk + j);
		}
		if (sum->last)
			return v;
	}
}

static bool right_cell(const struct runner *r, uint32_t rank, uint32_t cell)
{
	const struct msccl_export *x = r->x;
	uint32_t row = x->v->expect[(size_t)rank * x->v->plan->cells + cell];
	struct ccs_op of = { .len = cell };

	if (row == CCS_NONE)
		return true;
	for (uint32_t j = 0; j < export_width(x, &of, 0); j++) {
		struct export_at at = export_place(x, rank, cell, false);

		at.chunk += j;
		if (*chunk_at(r, rank, at) != promised(x, x->v->sums + row, j))
			return false;
	}
	return true;
}

static void open_pipes(struct runner *r)
{
	const struct msccl_export *x = r->x;

	r->pipes = ARENA_ARRAY(r->arena, struct pipe, x->v->plan->fifos.n);
	for (uint32_t b = 0; b < x->nblocks; b++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < x->blocks[b].nsteps; i++)
			if (export_does(x->blocks[b].steps[i].type)->sends)
				n += x->blocks[b].steps[i].n;
		if (n)
			r->pipes[x->blocks[b].out].values = ARENA_ARRAY(r->arena, uint64_t, n);
	}
}

bool export_run(const struct msccl_export *x, bool in_place, uint32_t slots, bool single,
		bool *ends)
{
	struct runner r = { .x = x,
			    .arena = x->c->scratch,
			    .in_place = in_place,
			    .single = single,
			    .slots = slots };
	bool right = true;

	open_pipes(&r);
	fill(&r);
	r.step = ARENA_ARRAY(r.arena, uint32_t, x->nblocks);
	r.chunk = ARENA_ARRAY(r.arena, uint32_t, x->nblocks);
	*ends = run_all(&r);
	for (uint32_t rank = 0; rank < x->v->plan->nranks && *ends; rank++)
		for (uint32_t c = 0; c < x->v->plan->cells; c++)
			right &= right_cell(&r, rank, c);
	arena_free(r.arena);
	return right && *ends;
}
