/*
 * What moves in the current run, and who waits for whom.
 *
 * Progress is a sum of counters, so that the fibers pay nothing for it. A rank that is stuck
 * is told while no fiber runs and none is ready, so that every fiber's state is at rest.
 * O(fibers).
 */
#include "runtime/cpu/cpu.h"

bool watch_moved(const struct world *w, uint64_t *mark)
{
	const struct run *r = w->runs;
	const struct cpu *e = cpu_of(w);
	uint64_t sum = 0, before = *mark;

	if (r && r->started && !r->failed)
		for (uint32_t i = 0; i < e->layout.nworkers; i++)
			sum += atomic_load_explicit(&e->layout.fibers[i].done,
						    memory_order_relaxed);
	*mark = sum;
	return sum != before || e->running || e->first;
}

/* The rank's fiber to report: one that waits for another rank, if any does. */
static struct fiber *stuck_fiber(const struct layout *l, uint32_t rank, enum blocked *how)
{
	const struct ccs_rank *r = l->view->ranks + rank;
	struct fiber *found = NULL;

	*how = BLOCKED_NOT;
	for (uint32_t i = r[0].worker; i < r[1].worker; i++) {
		enum blocked b = fiber_blocked(l, l->fibers + i);

		if (b == BLOCKED_RECV || b == BLOCKED_SEND || (b == BLOCKED_WORKER && !found)) {
			*how = b;
			found = l->fibers + i;
		}
		if (b == BLOCKED_RECV || b == BLOCKED_SEND)
			break;
	}
	return found;
}

static void report_fiber(struct text *out, const struct layout *l, const struct fiber *t,
			 enum blocked how)
{
	const struct ccs_op *o = l->view->ops + l->view->workers[t - l->fibers].op + t->op;
	const struct ccs_module *m = l->run->params.module;

	text_add(out, "rank %u waits at %.200s:%u", t->rank, m->text + m->files[o->file].name,
		 o->line);
	switch (how) {
	case BLOCKED_RECV:
		text_add(out, " to receive from rank %u", l->view->fifos[o->in].src);
		break;
	case BLOCKED_SEND: text_add(out, " to send to rank %u", l->view->fifos[o->out].dst); break;
	case BLOCKED_WORKER: text_add(out, " for an operation of its own"); break;
	case BLOCKED_NOT: break;
	}
}

bool watch_stuck(const struct world *w, int rank, struct text *t)
{
	const struct layout *l = &cpu_of(w)->layout;
	enum blocked how;
	struct fiber *fiber = stuck_fiber(l, (uint32_t)rank, &how);

	if (fiber)
		report_fiber(t, l, fiber, how);
	return fiber;
}
