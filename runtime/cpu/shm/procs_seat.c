/*
 * Takes a seat in the table, and waits until all are taken. See procs.h. O(ranks) a check.
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/shm/procs.h"

#include <stdlib.h>
#include <unistd.h>

#define SETTLE_MS 1000 /* additional time, to hear of a rank that does not settle */

/* Polls without progress before a process sleeps, if each rank has a core. If ranks share cores,
 * polls that each end with a yield. */
#define POLLS 2000u
#define YIELDS 100u

static void fill_seat(struct procs *p)
{
	struct procs_seat *own = p->own;

	procs_permit(p);
	own->probe = (uint64_t)(uintptr_t)&p->token;
	host_cores_read(&own->cores);
	own->barriers = procs_barriers_join();
	atomic_store(&own->state, SEAT_TAKEN);
}

/* The first empty seat; -1: all are taken. */
static int empty_seat(const struct world *w)
{
	const struct procs *p = cpu_of(w)->procs;

	for (int i = 0; i < w->nranks; i++)
		if (atomic_load(&p->table->seats[i].state) == SEAT_EMPTY)
			return i;
	return -1;
}

/* Whether each rank has taken its seat, or ended. */
static bool settled(const struct world *w)
{
	const struct procs *p = cpu_of(w)->procs;

	for (int i = 0; i < w->nranks; i++)
		if (atomic_load(&p->table->seats[i].state) == SEAT_EMPTY && !procs_ended(p, i))
			return false;
	return true;
}

void procs_settle(const struct world *w)
{
	uint64_t end = clock_ms() + SETTLE_MS;

	while (!w->first && clock_ms() < end && !settled(w) && !procs_files_give(w))
		;
}

/* Rank i will not take its seat. Rank 0's process records that for ranks that are still to
 * come. */
static ccs_status no_seat(struct world *w, int i, bool ended)
{
	struct procs *p = cpu_of(w)->procs;
	ccs_status s = ended ? CCS_EABORTED : CCS_ETIMEOUT;
	struct text why = { .len = 0 };

	text_add(&why, "rank %d (process %d) ", i, p->table->seats[i].pid);
	if (ended)
		text_add(&why, "has ended");
	else
		text_add(&why,
			 "has met the other ranks, but has not attached its memory within %u "
			 "ms",
			 p->patience);
	procs_fail(w, s, why.buf);
	procs_settle(w);
	return error_set((ccs_status)p->table->status, "%s", p->table->text);
}

/* Rank 0 cannot give the other ranks the shared memory that they have come for. */
static ccs_status give_up(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;

	procs_fail(w, CCS_ESYSTEM, error_thread()->text);
	return error_set((ccs_status)p->table->status, "%s", p->table->text);
}

/* A rank with an ended process; -1: none. */
static int ended_rank(const struct world *w)
{
	const struct procs *p = cpu_of(w)->procs;

	for (int i = 0; i < w->nranks; i++)
		if (i != w->first && procs_ended(p, i))
			return i;
	return -1;
}

/* No rank goes on, or leaves, before all seats are taken. So if a rank ended while a seat was
 * empty, that is the reason. */
static ccs_status await_all(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	uint64_t begun = clock_ms();

	for (;;) {
		int gone = ended_rank(w), empty = empty_seat(w);
		bool late = p->patience && clock_ms() - begun >= p->patience;

		if (empty < 0)
			return CCS_OK;
		if (gone >= 0 || late || atomic_load(&p->table->failed))
			return no_seat(w, gone >= 0 ? gone : empty, gone >= 0);
		if (w->first)
			usleep(100);
		else if (procs_files_give(w))
			return give_up(w);
	}
}

static void watch_ends(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;

	for (int i = 0; i < w->nranks; i++)
		if (i != w->first)
			procs_watch(p, i);
}

/* Whether the processes together may use as many cores as there are processes. */
static bool has_cores(const struct world *w)
{
	struct host_cores all = { { 0 } };

	for (int i = 0; i < w->nranks; i++)
		host_cores_add(&all, &cpu_of(w)->procs->table->seats[i].cores);
	return host_cores_count(&all) >= w->nranks;
}

static bool has_barriers(const struct world *w)
{
	bool all = true;

	for (int i = 0; i < w->nranks; i++)
		all &= cpu_of(w)->procs->table->seats[i].barriers;
	return all;
}

ccs_status procs_take_seat(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	ccs_status s;

	p->own = p->table->seats + w->first;
	watch_ends(w);
	fill_seat(p);
	s = await_all(w);
	if (s)
		return s;
	procs_door_close(p);
	p->spins = has_cores(w);
	p->light = p->spins && has_barriers(w);
	p->polls = p->spins ? POLLS : YIELDS;
	cpu_of(w)->cached = p->spins;
	procs_try_reading(w);
	return CCS_OK;
}
