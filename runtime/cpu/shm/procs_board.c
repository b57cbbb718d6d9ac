/*
 * Gathers bytes of all processes between calls: each writes its board, and when all have, reads
 * the boards of all. A board is overwritten only when all ranks have read the bytes before. So a
 * gather that succeeds in one process does so in all. O(ranks x bytes).
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/shm/procs.h"

#include <string.h>

#define BOARD_MS 20 /* after this time, check that the other ranks are alive */

/* The first rank that has not told (or heard) n times; -1: all have. */
static int first_late(const struct world *w, bool told, uint64_t n)
{
	const struct procs_seat *s = cpu_of(w)->procs->table->seats;

	for (int i = 0; i < w->nranks; i++)
		if (atomic_load(told ? &s[i].told : &s[i].heard) < n)
			return i;
	return -1;
}

/* The same, polling for a while: most ranks come soon. */
static int still_late(const struct world *w, bool told, uint64_t n)
{
	struct procs *p = cpu_of(w)->procs;
	int i = first_late(w, told, n);

	for (unsigned polls = procs_polls(p); i >= 0 && polls && procs_pause(p); polls--)
		i = first_late(w, told, n);
	return i;
}

/* Names the missing rank. One that stands still comes first, as the missing rank may wait for
 * it. */
static void tell_late(const struct world *w, int late, struct text *t)
{
	for (int i = 0; i < w->nranks; i++)
		if (procs_stands_still(w, i)) {
			procs_tell_still(w, i, t);
			return;
		}
	world_tell_late(w, late, t);
}

/* Waits until all have told (or heard) n times. If they have, that is success for all of them
 * alike, whatever failed meanwhile. */
static ccs_status await(struct world *w, bool told, uint64_t n)
{
	struct procs *p = cpu_of(w)->procs;
	uint64_t end = w->timeout ? clock_ms() + w->timeout : UINT64_MAX;
	ccs_status s = world_alive(w);
	struct text why = { .len = 0 };
	int i;

	if (s)
		return s;
	i = still_late(w, told, n);
	for (; i >= 0 && !w->dead; i = first_late(w, told, n)) {
		uint32_t bell = procs_lie_down(p);

		if (first_late(w, told, n) >= 0) {
			pthread_mutex_unlock(&w->lock);
			procs_sleep(p, bell, BOARD_MS);
			pthread_mutex_lock(&w->lock);
		}
		procs_get_up(p);
		if (clock_ms() >= end) {
			end = UINT64_MAX;
			tell_late(w, i, &why);
			if (!run_is_late(w, why.buf))
				procs_fail(w, CCS_ETIMEOUT, why.buf);
		}
		procs_look(w);
	}
	return i < 0 ? CCS_OK : error_set((ccs_status)p->table->status, "%s", p->table->text);
}

/* Shows at most one board of bytes, and waits for the boards of all. */
static ccs_status show_board(struct world *w, const void *mine, size_t bytes)
{
	struct procs *p = cpu_of(w)->procs;
	uint64_t n = atomic_load(&p->own->told) + 1;
	ccs_status s = await(w, false, n - 1);

	if (s)
		return s;
	memcpy(p->own->board, mine, bytes);
	atomic_store(&p->own->told, n);
	procs_ring_sleepers(w);
	return await(w, true, n);
}

static void mark_heard(struct world *w)
{
	struct procs_seat *own = cpu_of(w)->procs->own;

	atomic_store(&own->heard, atomic_load(&own->told));
	procs_ring_sleepers(w);
}

ccs_status procs_gather(struct world *w, const void *mine, void *all, size_t bytes)
{
	const struct procs_seat *seats = cpu_of(w)->procs->table->seats;
	ccs_status s = world_alive(w);

	for (size_t at = 0; at < bytes && !s; at += PROCS_BOARD) {
		size_t n = bytes - at < PROCS_BOARD ? bytes - at : PROCS_BOARD;

		s = show_board(w, (const unsigned char *)mine + at, n);
		for (int i = 0; i < w->nranks && !s; i++)
			memcpy((unsigned char *)all + (size_t)i * bytes + at, seats[i].board, n);
		if (!s)
			mark_heard(w);
	}
	return s;
}
