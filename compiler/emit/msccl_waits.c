/*
 * What steps wait for: depid, deps, hasdep.
 *
 * In:  steps with the step of their worker before them, if that is in another block, and the
 * operations that they need. Out: for each, waits for steps of other blocks of its rank, one a
 * block, without those that follow from its block's earlier steps; which steps are waited for; and
 * each step's number in the file, where it stands behind a `nop` for each wait but one (the
 * executors take the last from the step itself, and lose count if it has none).
 *
 * The executors join reductions into the same chunks that follow one another, and give all of
 * them the last one's count. So where that would be wrong the first is marked as waited for,
 * which keeps them apart. O(steps + waits + blocks of a rank squared).
 */
#include "compiler/emit/msccl_export.h"

struct waiting {
	struct msccl_export *x;
	uint32_t block;
	uint32_t *known; /* by block of the rank: how many of its steps have been waited for */
	uint32_t from;	 /* this step's rows of waits */
	uint32_t nsteps; /* looked at */
	uint32_t *seen;	 /* by operation: the step that needs it; */
	uint32_t *stack; /* such operations, still to be looked at */
	uint32_t nstack;
};

static void add_wait(struct waiting *k, struct export_wait at)
{
	struct msccl_export *x = k->x;
	uint32_t *known = k->known + (at.block - x->first[x->blocks[at.block].rank]);

	if (at.block == k->block || *known > at.step)
		return;
	*known = at.step + 1;
	for (uint32_t i = k->from; i < x->nwaits; i++)
		if (x->waits[i].block == at.block) {
			x->waits[i].step = at.step;
			return;
		}
	ARENA_PUSH(x->arena, x->waits, x->nwaits, x->capwaits) = at;
}

/* Once a step. */
static void add_need(struct waiting *k, uint32_t row)
{
	if (k->seen[row] == k->nsteps)
		return;
	k->seen[row] = k->nsteps;
	k->stack[k->nstack++] = row;
}

/* What the ends of operations mean: those without a step stand for what they need. */
static void resolve(struct waiting *k, uint32_t need, uint32_t n)
{
	const struct msccl_export *x = k->x;

	for (uint32_t i = need; i < need + n; i++)
		add_need(k, x->needs[i]);
	while (k->nstack) {
		const struct export_mark *m = x->marks + k->stack[--k->nstack];

		if (m->last.block != NONE)
			add_wait(k, m->last);
		for (uint32_t i = m->need; i < m->need + m->nneeds; i++)
			add_need(k, x->needs[i]);
	}
}

static void note_waits(struct waiting *k, struct export_step *s)
{
	k->from = k->x->nwaits;
	if (s->before.block != NONE)
		add_wait(k, s->before);
	k->nsteps++;
	resolve(k, s->need, s->nneeds);
	s->wait = k->from;
	s->nwaits = k->x->nwaits - k->from;
	for (uint32_t i = k->from; i < k->x->nwaits; i++) {
		const struct export_wait *at = k->x->waits + i;

		k->x->blocks[at->block].steps[at->step].awaited = true;
		k->x->blocks[at->block].awaited = true;
	}
}

static bool overlap(const struct export_step *s)
{
	/* input and output may be one */
	return (s->src.buffer == EX_SCRATCH) == (s->dst.buffer == EX_SCRATCH);
}

/* Whether the executors would join two reductions that are not to be. */
static bool joined(const struct export_step *s, const struct export_step *next)
{
	return s->type == EX_RE && next->type == EX_RE && export_same(s->dst, next->dst) &&
	       s->src.buffer == next->src.buffer && !next->nwaits &&
	       (s->n != next->n || (s->n > 1 && overlap(s)));
}

void export_waits(struct msccl_export *x)
{
	struct waiting k = { .x = x };

	k.known = ARENA_ARRAY(x->arena, uint32_t, x->nblocks);
	k.seen = ARENA_ARRAY(x->arena, uint32_t, x->v->plan->ops.n);
	k.stack = ARENA_ARRAY(x->arena, uint32_t, x->v->plan->ops.n);
	for (uint32_t r = 0; r < x->v->plan->nranks; r++) {
		uint32_t n = x->first[r + 1] - x->first[r];

		for (k.block = x->first[r]; k.block < x->first[r + 1]; k.block++) {
			struct export_block *b = x->blocks + k.block;
			uint32_t number = 0;

			memset(k.known, 0, n * sizeof(*k.known));
			for (uint32_t i = 0; i < b->nsteps; i++) {
				note_waits(&k, b->steps + i);
				number += b->steps[i].nwaits > 1 ? b->steps[i].nwaits - 1 : 0;
				b->steps[i].number = number++;
				if (i && joined(b->steps + i - 1, b->steps + i))
					b->steps[i - 1].awaited = true;
			}
		}
	}
}
