/*
 * Lengths of `sized` chunks, for all sizes that a call can have.
 *
 * In: the current operation of a plan with size numbers (plan.h). Cells with one number are
 * equally long; cells with different numbers need not be. Out: a mistake, if a part of the
 * operation has another number than the cell that `len` names. (The `len` of both ends of a message
 * have one number: verify_plan.c.) A scratch cell has the number of the value stored last. O(cells).
 */
#include "runtime/plan/proof/prove_sweep.h"

/* The size number of the value in a cell of a rank. */
static uint32_t number_of(const struct prove_sweep *s, uint32_t rank, uint32_t cell)
{
	const struct ccs_plan *p = s->v->plan;

	if (cell < p->cells)
		return s->v->sizes[(uint64_t)rank * p->cells + cell];
	return s->scratch_size[(uint64_t)rank * p->scratch + (cell - p->cells)];
}

/* The size number that a rank's operation states for its j-th cell. */
static uint32_t stated_number(const struct prove_sweep *s, uint32_t rank, const struct ccs_op *o,
			      uint32_t j)
{
	return number_of(s, rank, o->flags & CCS_OP_LEN_SAME ? o->len : o->len + j);
}

static bool part_fits(const struct prove_sweep *s, const struct prove_step *t, uint32_t first,
		      const char *what)
{
	for (uint32_t j = 0; first != CCS_NONE && j < t->o->n; j++)
		if (number_of(s, t->rank, first + j) != stated_number(s, t->rank, t->o, j))
			return prove_wrong_at(s->p, t->row,
					      "%s %s, but `len` says that its size is that of %s",
					      what, prove_cell_text(s->p, first + j).s,
					      prove_cell_text(s->p, t->o->len).s);
	return true;
}

bool prove_sizes(struct prove_sweep *s, const struct prove_step *t)
{
	const struct ccs_op *o = t->o;
	uint32_t cells = s->v->plan->cells;

	if (!s->v->plan->sizes.n || !o->n)
		return true;
	if (!part_fits(s, t, o->a, "reads") || !part_fits(s, t, o->b, "reads"))
		return false;
	if (o->dst == CCS_NONE)
		return true;
	for (uint32_t j = 0; j < o->n; j++)
		if (o->dst + j >= cells)
			s->scratch_size[(uint64_t)t->rank * s->v->plan->scratch +
					(o->dst + j - cells)] = stated_number(s, t->rank, o, j);
	return part_fits(s, t, o->dst, "writes");
}
