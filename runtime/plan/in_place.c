/*
 * In-place calls: the contract has one `in` and one `out` buffer, and the caller passes one
 * buffer for both.
 *
 * The overlap is MPI's. A buffer of several blocks contains the other buffer as the rank's own
 * block: an allgather's input is a block of its output, a reduce-scatter's output a block of its
 * input. Buffers of equal size begin together. So an input cell overlaps exactly one output cell,
 * its twin, or none.
 *
 * An initial value is safe if no operation writes its twin; or the only writes copy the value
 * itself there; or every operation that reads it comes before the first write by the order of
 * workers and waits, or is that write, which reads each element before it writes it. A held
 * message may be read late, so a value that is read there is not safe.
 *
 * If all values are safe, nothing is copied. Otherwise every value that is read for anything else
 * than a copy to its twin is copied aside before the call; the copies to twins then do nothing.
 */
#include "runtime/plan/in_place.h"

#include <stdlib.h>

/* An initial value: the first operation that writes its twin, and its uses. */
struct value {
	uint32_t row, worker; /* CCS_NONE: no operation writes the twin */
	bool stays, moves;    /* it is copied to its twin; it has other uses */
};

struct twins {
	const struct plan_view *v;
	const struct ccs_shape *in, *out;
	int32_t blocks; /* from the output's start to the input's */
	struct value *values;
	uint32_t n; /* input cells: entries of `values` */
	bool unsafe;
};

/* The input cell, from 0, that overlaps this output cell; CCS_NONE: none. */
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

/* Whether cell j of the operation copies an initial value to its twin, which changes nothing
 * in place. */
static bool copies_to_twin(const struct twins *t, const struct ccs_op *o, uint32_t j)
{
	return o->in == CCS_NONE && o->b == CCS_NONE && o->a != CCS_NONE &&
	       o->flags & CCS_OP_A_INITIAL && o->a + j - t->in->cell == twin_of(t, o->dst + j);
}

static void note_writes(struct twins *t, uint32_t worker, uint32_t row)
{
	const struct ccs_op *o = t->v->ops + row;

	for (uint32_t j = 0; o->dst != CCS_NONE && j < o->n; j++) {
		uint32_t x = twin_of(t, o->dst + j);

		if (x == CCS_NONE || copies_to_twin(t, o, j))
			continue;
		if (t->values[x].row == CCS_NONE) {
			t->values[x].row = row;
			t->values[x].worker = worker;
		}
		t->unsafe |= t->values[x].worker != worker; /* two workers write it, in no order */
	}
}

/* Whether the operation is over when the writer begins. */
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

/* Whether the operation reads cell j's value before its twin is written, element by element. */
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

/* Records that the operation reads initial values from that cell on. */
static void note_reads(struct twins *t, uint32_t worker, uint32_t row, uint32_t cell)
{
	const struct ccs_op *o = t->v->ops + row;

	for (uint32_t j = 0; j < o->n && cell + j - t->in->cell < t->n; j++) {
		struct value *x = t->values + (cell + j - t->in->cell);

		t->unsafe |= !reads_in_time(t, worker, row, j, x);
		if (o->dst != CCS_NONE && copies_to_twin(t, o, j))
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

/* False: no memory, or a twin is written and copied to. */
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

/* False: the contract does not have one buffer of each kind. */
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
