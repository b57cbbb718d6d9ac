/*
 * A process's own operations, one after another in the plan's order.
 *
 * In: a run whose chunks are short, in one tile, so that nothing is held. While all that an
 * operation needs comes soon there is nothing to be gained by another order, and all that fibers
 * cost is saved: their states, and the counts by which they wait for one another. The other ranks'
 * processes need not do the same. When what is next does not come for a while, the fibers of all
 * workers go on from where the order was left.
 *
 * O(1) an operation, beside its data.
 */
#include "runtime/cpu/procs.h"
#include "runtime/plan/order.h"

#define LOOKS 8u /* at what an operation waits for, a round */

bool procs_order_may(const struct layout *l)
{
	return l->ahead > 1 && l->ntiles == 1 && l->prep->order;
}

ccs_status procs_order_begin(struct cpu *e, struct call *c)
{
	struct procs *p = e->procs;
	struct rank_io *io = e->ranks + e->world->first;
	ccs_status s = rank_place(e, c);

	if (s)
		return s;
	ops_place(e);
	io->holds = false;
	piece_before(&e->layout, io);
	p->ordered = 0;
	p->in_order = true;
	return CCS_OK;
}

/* The worker of an operation of the rank. */
static struct fiber *fiber_of(const struct layout *l, uint32_t rank, uint32_t row)
{
	uint32_t i = l->view->ranks[rank].worker;

	while (row - l->view->workers[i].op >= l->view->workers[i].nops)
		i++;
	return l->fibers + i;
}

static bool ready(const struct layout *l, const struct ccs_op *o)
{
	return (o->in == CCS_NONE || fifo_has_message(l, o->in)) &&
	       (o->out == CCS_NONE || fifo_has_slot(l, o->out));
}

static bool looked(const struct layout *l, const struct ccs_op *o)
{
	for (unsigned i = 0; i < LOOKS; i++)
		if (ready(l, o))
			return true;
	return false;
}

static bool comes(const struct cpu *e, const struct ccs_op *o, unsigned polls)
{
	if (ready(&e->layout, o))
		return true;
	for (unsigned i = 0; i < polls; i++)
		if (looked(&e->layout, o))
			return true;
		else if (!procs_pause(e->procs))
			break;
	return polls && ready(&e->layout, o);
}

bool procs_order_go(struct cpu *e, unsigned polls)
{
	const struct layout *l = &e->layout;
	struct procs *p = e->procs;
	uint32_t rank = (uint32_t)e->world->first;
	struct op_range own = plan_ops_of(l->view, rank);

	for (; p->ordered < own.n; p->ordered++) {
		uint32_t row = l->prep->order[own.first + p->ordered];
		const struct ccs_op *o = l->view->ops + row;

		if (!comes(e, o, polls))
			return false;
		rank_do(e, fiber_of(l, rank, row), o);
	}
	return true;
}

/* Those operations that were done are the first ones of each worker. */
void procs_order_leave(struct cpu *e)
{
	const struct layout *l = &e->layout;
	struct procs *p = e->procs;
	uint32_t rank = (uint32_t)e->world->first;
	const uint32_t *order = l->prep->order + plan_ops_of(l->view, rank).first;

	for (uint32_t i = 0; i < p->ordered; i++)
		fiber_of(l, rank, order[i])->op++;
	p->in_order = false;
	rank_resume(e, rank);
}
