/*
 * One operation on symbolic values.
 *
 * In: its row; message, cells and FIFO are as after all earlier operations. Out: its effect on
 * cells and messages, or a mistake: a read of an empty cell; a read of an overwritten initial
 * value (in place the cell is the send buffer); a message for another operation; parts of unequal
 * length.
 *
 * Lengths. A chunk has a class: how its block is cut, and its place in the block. Two chunks of
 * one class are equally long for every count. Two of different classes differ for some count, but
 * those with the same cut are equally long for counts that it divides. A value keeps the class of
 * its chunk, also in scratch, where cells are as long as the longest. An operation's `len` must
 * be of that class, because sender and receiver each pack a message by their own `len`.
 *
 * O(cells + contributions of their values).
 */
#include "runtime/plan/proof/prove_sweep.h"

/* ---- lengths --------------------------------------------------------------------- */

/* Whether both classes are equally long for all counts that can be run. */
static bool same_length(const struct prove_sweep *s, uint32_t x, uint32_t y)
{
	if (x == y || x == PROVE_UNKNOWN || y == PROVE_UNKNOWN)
		return true;
	if (s->lengths[x].cut != s->lengths[y].cut ||
	    !(s->p->m->head->flags & CCS_MODULE_EVEN_COUNTS))
		return false;
	s->p->facts->uneven = true;
	return true;
}

static bool wrong_length(const struct prove_sweep *s, const struct prove_step *t, uint32_t x,
			 uint32_t y, const char *what)
{
	struct prove_text a = prove_cell_text(s->p, s->lengths[x].cell);
	struct prove_text b = prove_cell_text(s->p, s->lengths[y].cell);

	return prove_wrong_at(s->p, t->row,
			      "%s: one is as long as %s, the other as %s, which differ "
			      "for %s counts",
			      what, a.s, b.s,
			      s->lengths[x].cut == s->lengths[y].cut ? "some" : "most");
}

static bool check_lengths(const struct prove_sweep *s, const struct prove_step *t)
{
	const struct ccs_op *o = t->o;

	for (uint32_t j = 0; j < o->n; j++) {
		uint32_t said = s->length[o->flags & CCS_OP_LEN_SAME ? o->len : o->len + j];
		uint32_t is = s->length[s->value[j].cell];

		if (!same_length(s, said, is))
			return wrong_length(s, t, said, is, "its `len` is not its value's");
	}
	return true;
}

/* ---- messages -------------------------------------------------------------------- */

/* Units of the pool for the values of a message. */
static uint32_t block_size(uint32_t n)
{
	return n / 2 + n % 2;
}

static bool receive(struct prove_sweep *s, struct prove_step *t)
{
	uint32_t n = t->o->n, block;
	const struct ccs_op *from;

	t->sender = s->p->sender[t->row];
	from = s->v->ops + t->sender;
	block = s->sent[t->sender];
	t->direct = from->flags & CCS_OP_DIRECT;
	if (from->to != t->row) /* else both ends have as many cells: verify_plan.c */
		return prove_wrong_at(s->p, t->row,
				      "receives what rank %u, %s sends to a different operation",
				      s->v->fifos[t->o->in].src, prove_op_text(s->p, t->sender).s);
	for (uint32_t j = 0; j < n; j++)
		s->value[j] = s->values.units[block + j / 2].value[j % 2];
	if (n)
		prove_values_give(&s->values, block, block_size(n));
	return true;
}

/* Moves the values into the message. */
static bool send(struct prove_sweep *s, const struct prove_step *t)
{
	uint32_t n = t->o->n, block = n ? prove_values_take(&s->values, block_size(n)) : 0;

	if (n && !block)
		return false;
	for (uint32_t j = 0; j < n; j++) {
		prove_leaves(s, t, s->value[j]);
		s->values.units[block + j / 2].value[j % 2] = s->value[j];
	}
	s->sent[t->row] = block;
	return !(t->o->flags & CCS_OP_HELD) || prove_holds(s, t);
}

/* ---- cells ----------------------------------------------------------------------- */

/* The value that the operation reads in a cell; false: a mistake. */
static bool read_cell(struct prove_sweep *s, const struct prove_step *t, uint32_t cell,
		      bool initial, struct prove_value *x)
{
	const struct prove_cell *c = prove_cell(s, t->rank, cell);
	bool written = c->value.set != SET_NONE;

	*x = initial ? prove_value_initial(t->rank, cell) : c->value;
	if (initial && s->input[cell])
		return true;
	if (!prove_reads(s, t, cell))
		return false;
	if (!initial && !written)
		return prove_wrong_at(s->p, t->row, "reads %s before it has a value",
				      prove_cell_text(s->p, cell).s);
	if (initial && written && (!prove_value_same(c->value, *x) || s->scaled))
		return prove_wrong_at(s->p, t->row,
				      "reads the initial value of %s, which in place "
				      "was overwritten",
				      prove_cell_text(s->p, cell).s);
	return true;
}

/* Combines cells from `first` on into the operation's values; the first part sets them. */
static bool add_cells(struct prove_sweep *s, const struct prove_step *t, uint32_t first,
		      bool initial, bool begins)
{
	for (uint32_t j = 0; j < t->o->n; j++) {
		uint32_t is, length;
		struct prove_value x;

		if (!read_cell(s, t, first + j, initial, &x))
			return false;
		prove_value_own(&s->values, x);
		if (begins) {
			s->value[j] = x;
			continue;
		}
		is = s->length[s->value[j].cell];
		length = s->length[x.cell];
		if (!same_length(s, is, length))
			return wrong_length(s, t, is, length,
					    "combines values of different lengths");
		s->value[j] = prove_value_add(&s->values, s->value[j], x);
		if (s->value[j].set == SET_NONE)
			return false;
	}
	return true;
}

/* Stores the values in cells, which then share their ownership. */
static bool store(struct prove_sweep *s, const struct prove_step *t)
{
	for (uint32_t j = 0; j < t->o->n; j++) {
		uint32_t cell = t->o->dst + j, is = s->length[s->value[j].cell];
		struct prove_cell *c = prove_cell(s, t->rank, cell);
		struct prove_value x = s->value[j];

		if (!prove_writes(s, t, cell, x))
			return false;
		if (cell < s->v->plan->cells && !same_length(s, s->length[cell], is))
			return wrong_length(s, t, s->length[cell], is,
					    "stores a value in a cell of a different length");
		prove_value_own(&s->values, x);
		prove_value_drop(&s->values, c->value);
		c->value = x;
	}
	return true;
}

bool prove_step(struct prove_sweep *s, uint32_t row)
{
	const struct ccs_op *o = s->v->ops + row;
	struct prove_step t = {
		.worker = s->p->worker[row], .rank = prove_rank(s->p, row), .row = row, .o = o
	};

	prove_waits(s, &t);
	if ((o->in != CCS_NONE && !receive(s, &t)) ||
	    (o->a != CCS_NONE &&
	     !add_cells(s, &t, o->a, o->flags & CCS_OP_A_INITIAL, o->in == CCS_NONE)) ||
	    (o->b != CCS_NONE && !add_cells(s, &t, o->b, o->flags & CCS_OP_B_INITIAL,
					    o->in == CCS_NONE && o->a == CCS_NONE)) ||
	    !check_lengths(s, &t) || !prove_sizes(s, &t) || (o->dst != CCS_NONE && !store(s, &t)))
		return false;
	if (o->out != CCS_NONE)
		return send(s, &t);
	for (uint32_t j = 0; j < o->n; j++)
		prove_value_drop(&s->values, s->value[j]);
	return true;
}
