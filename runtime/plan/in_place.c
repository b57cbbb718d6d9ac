/*
 * In place: a contract has one `in` and one `out` buffer, and the caller gives one buffer for both.
 *
 * One of several blocks is the rank's own, and lies in the other's place: an allgather's input is
 * its block of the output, a reduce-scatter's output its block of the input. Else both begin
 * together. So each block of the one is exactly a block of the other, or of none, and a chunk of
 * the input has at most one twin in the output.
 *
 * The initial value of a chunk is safe if no operation writes its twin; or only copies that value
 * there; or all that read it come before, in the orders of workers and waits, or are the operation
 * itself, element by element. A message that is held there may be read at any time.
 */
#include "runtime/plan/in_place.h"

#include <stdlib.h>
#include <string.h>

/* Who writes the twin of a cell first. */
struct writer {
	uint32_t row, worker; /* CCS_NONE: nobody */
};

struct twins {
	const struct plan_view *v;
	const struct ccs_shape *in, *out;
	int32_t blocks;	      /* of the output before the input's first */
	struct writer *first; /* by cell of the input */
};

/* The cell of the input, from 0, whose twin that is; CCS_NONE: it has none. */
static uint32_t twin_of(const struct twins *t, uint32_t cell)
{
	uint32_t at = cell - t->out->cell, chunks = t->out->chunks;
	int64_t block;

	if (at >= t->out->blocks * chunks)
		return CCS_NONE;
	block = (int64_t)(at / chunks) - t->blocks;
	if (block < 0 || block >= t->in->blocks)
		return CCS_NONE;
	return (uint32_t)block * chunks + at % chunks;
}

/* Whether cell j of the operation is an initial value that is copied to its twin: then the one is
 * as good as the other. */
static bool stays(const struct twins *t, const struct ccs_op *o, uint32_t j)
{
	return o->in == CCS_NONE && o->b == CCS_NONE && o->a != CCS_NONE &&
	       o->flags & CCS_OP_A_INITIAL && o->a + j - t->in->cell == twin_of(t, o->dst + j);
}

/* False: workers side by side write the same. */
static bool note_writes(const struct twins *t, uint32_t worker, uint32_t row)
{
	const struct ccs_op *o = t->v->ops + row;

	for (uint32_t j = 0; o->dst != CCS_NONE && j < o->n; j++) {
		uint32_t x = twin_of(t, o->dst + j);

		if (x == CCS_NONE || stays(t, o, j))
			continue;
		if (t->first[x].row == CCS_NONE)
			t->first[x] = (struct writer){ row, worker };
		else if (t->first[x].worker != worker)
			return false;
	}
	return true;
}

/* Whether the operation is done when the writer begins. */
static bool before(const struct plan_view *v, uint32_t worker, uint32_t row, struct writer w)
{
	uint32_t ops = row - v->workers[worker].op + 1;

	if (worker == w.worker)
		return row < w.row;
	for (uint32_t i = v->workers[w.worker].op; i <= w.row; i++)
		for (uint32_t k = 0; k < v->ops[i].nwaits; k++) {
			const struct ccs_wait *x = v->waits + v->ops[i].wait + k;

			if (x->worker == worker && x->ops >= ops)
				return true;
		}
	return false;
}

/* The operation reads initial values from that cell on. */
static bool check_reads(const struct twins *t, uint32_t worker, uint32_t row, uint32_t cell)
{
	const struct ccs_op *o = t->v->ops + row;

	for (uint32_t j = 0; j < o->n; j++) {
		uint32_t x = cell + j - t->in->cell;

		if (x >= t->in->blocks * t->in->chunks || t->first[x].row == CCS_NONE)
			continue;
		if (o->flags & CCS_OP_HELD && o->dst == CCS_NONE)
			return false;
		if (row == t->first[x].row ? twin_of(t, o->dst + j) != x
					   : !before(t->v, worker, row, t->first[x]))
			return false;
	}
	return true;
}

static bool is_safe(const struct twins *t, uint32_t rank)
{
	const struct ccs_rank *r = t->v->ranks + rank;

	for (uint32_t w = r[0].worker; w < r[1].worker; w++)
		for (uint32_t i = 0; i < t->v->workers[w].nops; i++)
			if (!note_writes(t, w, t->v->workers[w].op + i))
				return false;
	for (uint32_t w = r[0].worker; w < r[1].worker; w++)
		for (uint32_t i = 0; i < t->v->workers[w].nops; i++) {
			uint32_t row = t->v->workers[w].op + i;
			const struct ccs_op *o = t->v->ops + row;

			if ((o->a != CCS_NONE && o->flags & CCS_OP_A_INITIAL &&
			     !check_reads(t, w, row, o->a)) ||
			    (o->b != CCS_NONE && o->flags & CCS_OP_B_INITIAL &&
			     !check_reads(t, w, row, o->b)))
				return false;
		}
	return true;
}

/* False: the contract has not one buffer of each. */
static bool find_buffers(const struct ccs_module *m, struct twins *t)
{
	if (m->nbuffers != 2 || m->buffers[0].direction == m->buffers[1].direction)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		if (m->buffers[i].direction == CCS_IN)
			t->in = t->v->shapes + i;
		if (m->buffers[i].direction == CCS_OUT)
			t->out = t->v->shapes + i;
	}
	return t->in && t->out && t->in->chunks == t->out->chunks;
}

struct in_place plan_in_place(const struct ccs_module *m, const struct plan_view *v, uint32_t rank)
{
	struct twins t = { .v = v };
	struct in_place where = { false, 0 };
	size_t bytes;

	if (!find_buffers(m, &t))
		return where;
	if (t.in->blocks == 1 && t.out->blocks > 1)
		where.blocks = (int32_t)rank;
	if (t.in->blocks > 1 && t.out->blocks == 1)
		where.blocks = -(int32_t)rank;
	t.blocks = where.blocks;
	bytes = (size_t)t.in->blocks * t.in->chunks * sizeof(*t.first);
	t.first = malloc(bytes + 1);
	if (!t.first)
		return where;
	memset(t.first, 0xff, bytes);
	where.safe = is_safe(&t, rank);
	free(t.first);
	return where;
}
