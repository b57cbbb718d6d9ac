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
 *
 * If all are, nothing is copied. Else all are that are read otherwise than to be copied to their
 * twins: those copies have nothing to do then.
 */
#include "runtime/plan/in_place.h"

#include <stdlib.h>

/* An initial value: who writes its twin first; what else becomes of it. */
struct value {
	uint32_t row, worker; /* CCS_NONE: nobody */
	bool stays, moves;    /* it is copied to its twin; it is read otherwise */
};

struct twins {
	const struct plan_view *v;
	const struct ccs_shape *in, *out;
	int32_t blocks; /* of the output before the input's first */
	struct value *values;
	uint32_t n; /* of them: the input's cells */
	bool unsafe;
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

static void note_writes(struct twins *t, uint32_t worker, uint32_t row)
{
	const struct ccs_op *o = t->v->ops + row;

	for (uint32_t j = 0; o->dst != CCS_NONE && j < o->n; j++) {
		uint32_t x = twin_of(t, o->dst + j);

		if (x == CCS_NONE || stays(t, o, j))
			continue;
		if (t->values[x].row == CCS_NONE) {
			t->values[x].row = row;
			t->values[x].worker = worker;
		}
		t->unsafe |= t->values[x].worker != worker; /* side by side */
	}
}

/* Whether the operation is done when the writer begins. */
static bool before(const struct plan_view *v, uint32_t worker, uint32_t row, const struct value *w)
{
	uint32_t ops = row - v->workers[worker].op + 1;

	if (worker == w->worker)
		return row < w->row;
	for (uint32_t i = v->workers[w->worker].op; i <= w->row; i++)
		for (uint32_t k = 0; k < v->ops[i].nwaits; k++) {
			const struct ccs_wait *x = v->waits + v->ops[i].wait + k;

			if (x->worker == worker && x->ops >= ops)
				return true;
		}
	return false;
}

/* Whether element by element the operation reads cell j's value before its twin is written. */
static bool reads_in_time(const struct twins *t, uint32_t worker, uint32_t row, uint32_t j,
			  const struct value *x)
{
	const struct ccs_op *o = t->v->ops + row;

	if (x->row == CCS_NONE)
		return true;
	if (o->flags & CCS_OP_HELD && o->dst == CCS_NONE)
		return false;
	if (row == x->row)
		return o->dst != CCS_NONE && twin_of(t, o->dst + j) == x - t->values;
	return before(t->v, worker, row, x);
}

/* The operation reads initial values from that cell on. */
static void note_reads(struct twins *t, uint32_t worker, uint32_t row, uint32_t cell)
{
	const struct ccs_op *o = t->v->ops + row;

	for (uint32_t j = 0; j < o->n && cell + j - t->in->cell < t->n; j++) {
		struct value *x = t->values + (cell + j - t->in->cell);

		t->unsafe |= !reads_in_time(t, worker, row, j, x);
		if (o->dst != CCS_NONE && stays(t, o, j))
			x->stays = true;
		else
			x->moves = true;
	}
}

static void sweep(struct twins *t, uint32_t rank)
{
	const struct ccs_rank *r = t->v->ranks + rank;
	const struct ccs_worker *all = t->v->workers;

	for (uint32_t w = r[0].worker; w < r[1].worker; w++)
		for (uint32_t i = 0; i < all[w].nops; i++)
			note_writes(t, w, all[w].op + i);
	for (uint32_t w = r[0].worker; w < r[1].worker; w++)
		for (uint32_t row = all[w].op; row < all[w].op + all[w].nops; row++) {
			const struct ccs_op *o = t->v->ops + row;

			if (o->a != CCS_NONE && o->flags & CCS_OP_A_INITIAL)
				note_reads(t, w, row, o->a);
			if (o->b != CCS_NONE && o->flags & CCS_OP_B_INITIAL)
				note_reads(t, w, row, o->b);
		}
}

/* False: there is no memory, or a twin is both written and copied to. */
static bool list_copies(const struct twins *t, struct in_place *where)
{
	struct cell_range *last = where->copied = malloc((t->n / 2 + 1) * sizeof(*last));

	for (uint32_t x = 0; x < t->n && last; x++) {
		const struct value *is = t->values + x;
		uint32_t cell = t->in->cell + x;

		if (is->stays && is->row != CCS_NONE)
			return false;
		if (!is->moves)
			continue;
		if (where->ncopied && last->first + last->n == cell) {
			last->n++;
			continue;
		}
		last = where->copied + where->ncopied++;
		*last = (struct cell_range){ cell, 1 };
	}
	return last;
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
	struct in_place where = { .known = false };

	if (!find_buffers(m, &t))
		return where;
	if (t.in->blocks == 1 && t.out->blocks > 1)
		where.blocks = (int32_t)rank;
	if (t.in->blocks > 1 && t.out->blocks == 1)
		where.blocks = -(int32_t)rank;
	t.blocks = where.blocks;
	t.n = t.in->blocks * t.in->chunks;
	t.values = malloc((t.n + 1) * sizeof(*t.values));
	if (!t.values)
		return where;
	for (uint32_t x = 0; x < t.n; x++)
		t.values[x] = (struct value){ CCS_NONE, CCS_NONE, false, false };
	sweep(&t, rank);
	where.known = !t.unsafe || list_copies(&t, &where);
	free(t.values);
	return where;
}
