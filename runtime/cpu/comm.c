/*
 * Communicators on this machine's cores: making them, and the engine's row. O(ranks).
 */
#include "runtime/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>

static ccs_status start(struct world *w, struct run *r)
{
	struct cpu *e = cpu_of(w);
	ccs_status s;

	if (!e->limit)
		e->limit = sched_threads(w);
	s = layout_make(e, r);
	if (!s && e->layout.parallel)
		sched_start(e);
	for (int i = 0; i < w->nranks && !s; i++)
		if (r->seats[i].called)
			s = rank_start(e, (uint32_t)i);
	return s;
}

static ccs_status join(struct world *w, struct run *r, int rank)
{
	(void)r;
	return rank_start(cpu_of(w), (uint32_t)rank);
}

static void describe(const struct world *w, char *text, size_t size)
{
	unsigned n = sched_threads(w);

	snprintf(text, size, "%d rank%s on the CPU, run by %u thread%s of this process", w->nranks,
		 w->nranks == 1 ? "" : "s", n, n == 1 ? "" : "s");
}

/* In a forked process the threads are missing, and others may wait for the condition. */
void cpu_free(struct world *w)
{
	struct cpu *e = cpu_of(w);

	if (!e)
		return;
	if (origin_here(&w->origin)) {
		sched_stop(e);
		pthread_cond_destroy(&e->work);
	}
	for (int r = 0; r < w->nranks; r++)
		free(e->ranks[r].aside);
	free(e->ranks);
	cpu_arena_free(&e->fibers);
	cpu_arena_free(&e->fifos);
	cpu_arena_free(&e->lines);
	cpu_arena_free(&e->slots);
	cpu_arena_free(&e->cells);
	cpu_arena_free(&e->data);
	free(e->helpers);
	free(e);
}

static const struct engine cpu_engine = {
	.name = "tasks",
	.tiles = true,
	.start = start,
	.join = join,
	.halt = sched_halt,
	.wait = sched_wait,
	.moved = fibers_moved,
	.stuck = fibers_stuck,
	.describe = describe,
	.free = cpu_free,
};

ccs_status cpu_open(struct world *w)
{
	struct cpu *e = calloc(1, sizeof(*e));

	if (e)
		e->ranks = calloc((size_t)w->nranks, sizeof(*e->ranks));
	if (!e || !e->ranks || !world_cond_init(&e->work)) {
		free(e ? e->ranks : NULL);
		free(e);
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	}
	e->world = w;
	e->fifos.fd = e->lines.fd = e->fibers.fd = e->slots.fd = e->cells.fd = e->data.fd = -1;
	w->state = e;
	return CCS_OK;
}

ccs_status ccs_comm_init_all(struct ccs_comm **comm, int nranks)
{
	ccs_status s = comm_new(comm, nranks);

	if (s)
		return s;
	comm[0]->world->engine = &cpu_engine;
	s = cpu_open(comm[0]->world);
	if (s)
		comm_drop(comm, nranks);
	return s;
}
