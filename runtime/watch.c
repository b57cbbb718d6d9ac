/*
 * The watch over a communicator: whether anything moves, and if nothing has for
 * the timeout, a report of who waits for whom.
 *
 * Progress is a sum of counters, so that the tasks pay nothing for it. The
 * report is made while no task runs and none is ready, so that every task's
 * state is at rest. O(tasks).
 */
#include "runtime/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORTED 16	/* ranks that the text names; the rest are counted */

uint64_t watch_progress(const struct world *w)
{
	const struct run *r = w->runs;
	uint64_t sum = w->arrivals;

	if (r && r->started && !r->failed)
		for (uint32_t i = 0; i < w->layout.nworkers; i++)
			sum += atomic_load_explicit(&w->layout.tasks[i].done,
						    memory_order_relaxed);
	return sum;
}

/* The rank's task to report: one that waits for another rank, if any does. */
static struct task *stuck(struct layout *l, uint32_t rank, enum blocked *how)
{
	const struct ccs_rank *r = l->view->ranks + rank;
	struct task *found = NULL;

	*how = BLOCKED_NOT;
	for (uint32_t i = r[0].worker; i < r[1].worker; i++) {
		enum blocked b = task_blocked(l, l->tasks + i);

		if (b == BLOCKED_RECV || b == BLOCKED_SEND ||
		    (b == BLOCKED_WORKER && !found)) {
			*how = b;
			found = l->tasks + i;
		}
		if (b == BLOCKED_RECV || b == BLOCKED_SEND)
			break;
	}
	return found;
}

static void report_task(struct text *out, const struct layout *l, const struct task *t,
			enum blocked how)
{
	const struct ccs_op *o = l->view->ops + l->view->workers[t - l->tasks].op + t->op;
	const struct ccs_module *m = l->run->params.module;

	text_add(out, "rank %u waits at %.200s:%u", t->rank, m->text + m->files[o->file].name,
		 o->line);
	switch (how) {
	case BLOCKED_RECV:
		text_add(out, " to receive from rank %u", l->view->fifos[o->in].src);
		break;
	case BLOCKED_SEND:
		text_add(out, " to send to rank %u", l->view->fifos[o->out].dst);
		break;
	case BLOCKED_WORKER:
		text_add(out, " for an operation of its own");
		break;
	case BLOCKED_NOT:
		break;
	}
}

static void report(struct world *w, struct text *out)
{
	struct run *r = w->runs;
	int named = 0, more = 0;

	text_add(out, "no progress for %u ms", w->timeout);
	for (int i = 0; r && i < w->nranks; i++) {
		enum blocked how = BLOCKED_NOT;
		struct task *t = NULL;
		bool called = r->seats[i].called;

		if (r->seats[i].done)
			continue;
		if (called && r->started && !r->failed)
			t = stuck(&w->layout, (uint32_t)i, &how);
		if (called && !t)
			continue;
		if (named == REPORTED) {
			more++;
			continue;
		}
		text_add(out, "%s", named++ ? "; " : ": ");
		if (t)
			report_task(out, &w->layout, t, how);
		else
			text_add(out, "rank %d has not called", i);
	}
	if (more)
		text_add(out, "; and %d more ranks", more);
}

void watch_timeout(struct world *w)
{
	struct text out = { .len = 0 };

	report(w, &out);
	w->dead = true;
	w->dead_text = strdup(out.buf);
	for (struct run *r = w->runs; r; r = r->next)
		run_fail(w, r, CCS_ETIMEOUT, out.buf);
}
