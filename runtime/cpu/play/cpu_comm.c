/*
 * Communicators whose ranks are threads of this process: making them, and the engine's row.
 * O(ranks).
 */
#include "runtime/cpu/core/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Starts the ranks whose threads wait for the end of their calls. The other ranks start when
 * their threads wait. */
static ccs_status start_waiting(struct cpu *e, struct run *r)
{
	ccs_status s = e->known ? layout_make(e, r) : CCS_OK;

	if (!s && e->layout.parallel)
		sched_start(e);
	for (int i = 0; i < e->world->nranks && !s; i++)
		if (r->seats[i].call && r->seats[i].call->waits)
			s = rank_start(e, (uint32_t)i);
	return s;
}

void cpu_played(struct cpu *e)
{
	struct run *r = e->world->runs;

	sequence_played(e);
	for (int i = 0; i < e->world->nranks; i++)
		post_keep(r->seats[i].call,
			  (struct kept){ e->known, e->known->id, e->known->mail });
	run_all_done(e->world);
}

/* If all ranks have called, does the run here and now. */
static ccs_status gathered(struct cpu *e, struct run *r)
{
	enum sequence_how how;
	ccs_status s = CCS_OK;

	if (r->arrived < e->world->nranks)
		return CCS_OK;
	for (int i = 0; i < e->world->nranks && !s; i++)
		s = rank_place(e, r->seats[i].call);
	if (!s && !e->known)
		e->known = sequence_find(e);
	how = s ? SEQUENCE_NOT : sequence_begin(e, e->known);
	if (how == SEQUENCE_DONE)
		cpu_played(e);
	if (how == SEQUENCE_PLAYS)
		sched_start(e);
	/* set last: threads that look for the end of their calls read it */
	e->mode = how == SEQUENCE_PLAYS ? RUN_PLAYS : RUN_FIBERS;
	return how == SEQUENCE_NOT && !s ? start_waiting(e, r) : s;
}

static ccs_status begin(struct world *w, struct run *r)
{
	struct cpu *e = cpu_of(w);
	ccs_status s;

	if (!e->limit) {
		e->limit = sched_threads(w);
		post_limit(w, e->limit);
	}
	e->known = sequence_known(e, &r->params);
	s = e->known && !w->trace ? CCS_OK : layout_make(e, r);
	if (s)
		return s;
	e->mode = e->known || sequence_may(e) ? RUN_GATHERS : RUN_FIBERS;
	return e->mode == RUN_GATHERS ? gathered(e, r) : start_waiting(e, r);
}

static ccs_status join(struct world *w, struct run *r, int rank)
{
	struct cpu *e = cpu_of(w);

	if (e->mode == RUN_GATHERS)
		return gathered(e, r);
	/* a rank starts when its thread waits, or now if its thread waits already */
	return e->mode == RUN_FIBERS && r->seats[rank].call->waits ? rank_start(e, (uint32_t)rank)
								   : CCS_OK;
}

static ccs_status start(struct world *w, struct run *r, int rank)
{
	return rank == RUN_BEGINS ? begin(w, r) : join(w, r, rank);
}

static bool again(struct world *w, struct kept kept, const struct meeting *m)
{
	struct sequence *q = kept.of;

	return q->id == kept.id && sequence_again(cpu_of(w), q, m);
}

static bool at_once(struct world *w, struct call *calls, ccs_status *first)
{
	(void)w;
	(void)first; /* a posted call does not fail */
	return post_calls(calls, again);
}

void cpu_wait(struct cpu *e, struct call *calls)
{
	struct world *w = e->world;
	ccs_status s = CCS_OK;

	for (struct call *c = calls; c; c = c->next) {
		if (c->comm->world != w || c->waits || call_is_over(c))
			continue;
		c->waits = true;
		if (c->run == w->runs && c->run && c->run->started && !c->run->failed &&
		    e->mode == RUN_FIBERS)
			s = rank_start(e, (uint32_t)c->comm->rank);
		if (s)
			run_fail(w, w->runs, s, error_thread()->text);
	}
}

bool cpu_begin(struct cpu *e)
{
	struct run *r = e->world->runs;
	ccs_status s;

	if (e->mode != RUN_GATHERS || !r || !r->started || r->failed)
		return false;
	e->mode = RUN_FIBERS;
	s = start_waiting(e, r);
	if (s)
		run_fail(e->world, r, s, error_thread()->text);
	return true;
}

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
	.quick = { .at_once = at_once },
	.watched = &cpu_watched,
	.start = start,
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
