/*
 * Waits between steps: depid, deps, hasdep.
 *
 * In:  the steps of each rank, in an order in which they can run. Out: for each step, its waits for
 * earlier steps of other blocks that touch the same chunks, one of the two writing; the steps that
 * are waited for; and the step's number in the file. Before a step there is a `nop` for each wait
 * but the last, which the step has itself (executors count wrong if it has none).
 *
 * If the file is also right in place, a chunk of the input and its twin in the output count as one.
 *
 * A wait that follows from others is left out. As in vector clocks (check/clocks.h), each step
 * knows how many steps of every block have finished when it begins. The latest steps are considered
 * first, so that few waits remain.
 *
 * The executors join consecutive reductions into the same chunks, with the count of the last one.
 * Where that would be wrong, the first is marked as waited for, which keeps them apart.
 *
 * O(chunks of all steps + waits * blocks of the rank).
 */
#include "compiler/emit/msccl/export.h"

#include <stdlib.h>

/* A chunk of the rank. */
struct touched {
	uint32_t writer;  /* row of the order, or NONE */
	uint32_t readers; /* since then: row of `readers`, or NONE */
};

struct reader {
	uint32_t row, next;
};

struct waiting {
	struct msccl_export *x;
	uint32_t rank, row;	/* the step: row of the order */
	uint32_t base;		/* rows of the rank begin here; */
	uint32_t nblocks;	/* its blocks */
	struct touched *chunks; /* input, output, scratch */
	struct reader *readers;
	uint32_t nreaders, capreaders;
	uint32_t *
		known; /* by row and block: steps of the block that have finished when the row's has */
	uint32_t *last;	 /* by block: its last row, or NONE */
	uint32_t *found; /* rows for which the current step must wait */
	uint32_t nfound, capfound;
};

static const struct export_step *step_of(const struct waiting *k, uint32_t row)
{
	const struct export_wait *at = k->x->order + row;

	return k->x->blocks[at->block].steps + at->step;
}

static struct touched *chunk_at(const struct waiting *k, struct export_at at)
{
	const uint32_t from[] = { 0, k->x->ninput, k->x->ninput + k->x->noutput };

	return k->chunks + from[at.buffer] + at.chunk;
}

/* The same chunk of the other buffer, in place. False: there is none. */
static bool twin_of(const struct waiting *k, struct export_at *at)
{
	const struct msccl_export *x = k->x;
	uint32_t most = at->buffer == EX_I ? x->noutput : x->ninput;
	uint32_t own = at->buffer == EX_I ? x->ninput : x->noutput;

	if (!x->in_place || at->buffer == EX_SCRATCH)
		return false;
	at->buffer = at->buffer == EX_I ? EX_O : EX_I;
	if (own < most)
		at->chunk += k->rank * own;
	else if (own > most)
		at->chunk -= k->rank * most; /* wraps around for a chunk before the part */
	return at->chunk < most;
}

/* ---- earlier steps that touch the same chunks -------------------------------------------- */

static void find_row(struct waiting *k, uint32_t row)
{
	if (row != NONE && k->x->order[row].block != k->x->order[k->row].block)
		ARENA_PUSH(k->x->arena, k->found, k->nfound, k->capfound) = row;
}

static void find_at(struct waiting *k, struct export_at at, bool writes)
{
	const struct touched *c = chunk_at(k, at);

	find_row(k, c->writer);
	for (uint32_t i = writes ? c->readers : NONE; i != NONE; i = k->readers[i].next)
		find_row(k, k->readers[i].row);
}

static void find_chunk(struct waiting *k, struct export_at at, bool writes)
{
	find_at(k, at, writes);
	if (twin_of(k, &at))
		find_at(k, at, writes);
}

static void note_chunk(struct waiting *k, struct export_at at, bool writes)
{
	struct touched *c = chunk_at(k, at);

	if (writes) {
		*c = (struct touched){ k->row, NONE };
		return;
	}
	ARENA_PUSH(k->x->arena, k->readers, k->nreaders, k->capreaders) =
		(struct reader){ k->row, c->readers };
	c->readers = k->nreaders - 1;
}

/* Calls `use` for each chunk of the step, those that it reads first. */
static void each_chunk(struct waiting *k, void (*use)(struct waiting *, struct export_at, bool))
{
	const struct export_step *s = step_of(k, k->row);
	const struct export_does *does = export_does(s->type);

	for (uint32_t j = 0; j < s->n; j++) {
		if (does->reads)
			use(k, (struct export_at){ s->src.buffer, s->src.chunk + j }, false);
		if (does->writes)
			use(k, (struct export_at){ s->dst.buffer, s->dst.chunk + j }, true);
	}
}

/* ---- waits ------------------------------------------------------------------------------- */

static uint32_t *known_by(const struct waiting *k, uint32_t row)
{
	return k->known + (size_t)(row - k->base) * k->nblocks;
}

static int compare_latest(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

/* Adds a wait for the row's step, unless it is known to have finished. */
static void wait_for(struct waiting *k, uint32_t row)
{
	struct msccl_export *x = k->x;
	struct export_wait at = x->order[row];
	uint32_t *mine = known_by(k, k->row), *its = known_by(k, row);
	struct export_block *b = x->blocks + at.block;

	if (mine[at.block - x->first[k->rank]] > at.step)
		return;
	ARENA_PUSH(x->arena, x->waits, x->nwaits, x->capwaits) = at;
	b->steps[at.step].awaited = b->awaited = true;
	for (uint32_t i = 0; i < k->nblocks; i++)
		mine[i] = its[i] > mine[i] ? its[i] : mine[i];
}

static void wait_row(struct waiting *k)
{
	struct msccl_export *x = k->x;
	struct export_wait at = x->order[k->row];
	struct export_step *s = x->blocks[at.block].steps + at.step;
	uint32_t own = at.block - x->first[k->rank], *mine = known_by(k, k->row);

	if (k->last[own] != NONE)
		memcpy(mine, known_by(k, k->last[own]), k->nblocks * sizeof(*mine));
	k->last[own] = k->row;
	k->nfound = 0;
	each_chunk(k, find_chunk);
	each_chunk(k, note_chunk);
	if (k->nfound)
		qsort(k->found, k->nfound, sizeof(*k->found), compare_latest);
	s->wait = x->nwaits;
	for (uint32_t i = 0; i < k->nfound; i++)
		wait_for(k, k->found[i]);
	s->nwaits = x->nwaits - s->wait;
	mine[own] = at.step + 1;
}

/* ---- numbers, and reductions that executors would join -------------------------------------- */

static bool overlap(const struct export_step *s)
{
	/* input and output may be one */
	return (s->src.buffer == EX_SCRATCH) == (s->dst.buffer == EX_SCRATCH);
}

/* Whether the executors would wrongly join two reductions. */
static bool joined(const struct export_step *s, const struct export_step *next)
{
	return s->type == EX_RE && next->type == EX_RE && export_same(s->dst, next->dst) &&
	       s->src.buffer == next->src.buffer && !next->nwaits &&
	       (s->n != next->n || (s->n > 1 && overlap(s)));
}

static void number_steps(struct export_block *b)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < b->nsteps; i++) {
		number += b->steps[i].nwaits > 1 ? b->steps[i].nwaits - 1 : 0;
		b->steps[i].number = number++;
		if (i && joined(b->steps + i - 1, b->steps + i))
			b->steps[i - 1].awaited = true;
	}
}

void export_waits(struct msccl_export *x)
{
	struct waiting k = { .x = x };

	for (; k.rank < x->v->plan->nranks; k.rank++) {
		size_t chunks = (size_t)x->ninput + x->noutput + x->nscratch[k.rank], rows;

		k.base = x->order_at[k.rank];
		rows = x->order_at[k.rank + 1] - k.base;
		k.nblocks = x->first[k.rank + 1] - x->first[k.rank];
		k.chunks = memset(arena_grow(x->c->scratch, NULL, 0, chunks * sizeof(*k.chunks)),
				  0xff, chunks * sizeof(*k.chunks));
		k.known = ARENA_ARRAY(x->c->scratch, uint32_t, rows *k.nblocks);
		k.last = none_array(x->c->scratch, k.nblocks);
		k.nreaders = 0;
		for (k.row = k.base; k.row < k.base + rows; k.row++)
			wait_row(&k);
		arena_free(x->c->scratch);
		for (uint32_t b = x->first[k.rank]; b < x->first[k.rank + 1]; b++)
			number_steps(x->blocks + b);
	}
}
