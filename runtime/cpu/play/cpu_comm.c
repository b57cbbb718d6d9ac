/*
 * Communicators with all ranks in this process: making them, and their struct engine.
 * O(ranks).
 */
#include "runtime/cpu/core/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe(const struct world *w, char *text, size_t size)
{
	unsigned n = sched_threads(w);

	snprintf(text, size, "%d rank%s on the CPU, run by %u thread%s of this process", w->nranks,
		 w->nranks == 1 ? "" : "s", n, n == 1 ? "" : "s");
}

/* A forked process has no helper threads, and other threads may have waited for the condition
 * at the fork. */
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
		rank_free(e, e->ranks + r);
	free(e->ranks);
	sequences_free(e);
	laid_free(e->laid);
	free(e->helpers);
	free(e);
}

/* Opens a world with all ranks in this process. */
static ccs_status task_open(struct world *w)
{
	ccs_status s = cpu_open(w);

	if (!s && !post_enable(w))
		s = error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	return s;
}

static ccs_status branch(struct world *w, struct world *child, const struct branch *b)
{
	(void)b;
	child->engine = w->engine;
	return task_open(child);
}

static const struct watched_engine cpu_watched = { .moved = fibers_moved, .stuck = fibers_stuck };

static const struct engine cpu_engine = {
	.name = "tasks",
	.tiles = true,
	.traces = true,
	.host_code = true,
	.quick = { .at_once = cpu_at_once },
	.watched = &cpu_watched,
	.start = cpu_start,
	.halt = sched_halt,
	.wait = sched_wait,
	.branch = branch,
	.describe = describe,
	.free = cpu_free,
};

ccs_status cpu_open(struct world *w)
{
	const struct reduce_set *reduce = reduce_best();
	struct cpu *e;

	if (!reduce)
		return error_set(CCS_EINVAL,
				 "CCS_MAX_CPU_ISA is '%.100s'; use base, avx2 or avx512",
				 getenv("CCS_MAX_CPU_ISA"));
	e = aligned_alloc(CACHE_LINE, sizeof(*e));
	if (e) {
		memset(e, 0, sizeof(*e));
		e->ranks = calloc((size_t)w->nranks, sizeof(*e->ranks));
		e->laid = laid_new();
	}
	if (!e || !e->ranks || !e->laid || !world_cond_init(&e->work)) {
		free(e ? e->ranks : NULL);
		laid_free(e ? e->laid : NULL);
		free(e);
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	}
	e->world = w;
	e->reduce = reduce;
	e->cores = sched_cores();
	e->cache = host_cache();
	e->sequences.memory.fd = -1;
	w->state = e;
	return CCS_OK;
}

ccs_status ccs_comm_init_all(struct ccs_comm **comm, int nranks)
{
	ccs_status s = comm_new(comm, nranks);

	if (s)
		return s;
	comm[0]->world->engine = &cpu_engine;
	s = task_open(comm[0]->world);
	if (s)
		comm_drop(comm, nranks);
	return s;
}
