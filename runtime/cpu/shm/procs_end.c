/*
 * Bells and ends: how processes wake one another, and how they see that one has failed or ended.
 *
 * A bell is a counter. A process reads it, says that it sleeps, looks once more for work, and then
 * sleeps while the counter is unchanged (futex(2)); a ring in between ends the sleep at once. The
 * first failure is written in the table once, before the flag that all processes look at.
 * O(ranks) a check.
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/shm/procs.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/futex.h, which some C libraries lack. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };

/* Of linux/membarrier.h, likewise. */
enum { BARRIER = 1 << 1, BARRIER_JOIN = 1 << 2 };

#define AWAY_NS 1000000u /* off the core for so long: other programs compute there */
#define CROWDED 64u	 /* number of waits for which the process then sleeps at once */
#define STILL_MS 200u	 /* without a poll for so long: the process does not run */
#define WRITING_US 10000 /* most time to write the reason of a failure */

/* ---- membarrier ----------------------------------------------------------------------------- */

static bool barrier(int command)
{
#ifdef SYS_membarrier
	return !syscall(SYS_membarrier, command, 0, 0);
#else
	(void)command;
	return false;
#endif
}

bool procs_barriers_join(void)
{
	return barrier(BARRIER_JOIN) && barrier(BARRIER);
}

void procs_barrier(const struct procs *p)
{
	if (p->light)
		barrier(BARRIER);
}

/* ---- bells ------------------------------------------------------------------------------ */

static long futex(_Atomic uint32_t *at, int op, uint32_t value, const struct timespec *limit)
{
	return syscall(SYS_futex, at, op, value, limit, NULL, 0);
}

void procs_futex_wait(_Atomic uint32_t *at, uint32_t was, unsigned ms)
{
	const struct timespec limit = { 0, (long)ms * 1000000 };

	futex(at, FUTEX_WAIT, was, &limit);
}

void procs_futex_wake(_Atomic uint32_t *at)
{
	futex(at, FUTEX_WAKE, INT_MAX, NULL);
}

void procs_ring(struct procs_seat *s)
{
	if (!atomic_load(&s->asleep))
		return;
	atomic_fetch_add(&s->bell, 1);
	procs_futex_wake(&s->bell);
}

bool procs_pause(struct procs *p)
{
	uint64_t before;

	if (p->spins)
		return true;
	before = clock_ns();
	sched_yield();
	if (clock_ns() - before < AWAY_NS)
		return true;
	p->crowded = CROWDED;
	return false;
}

uint32_t procs_lie_down(struct procs *p)
{
	uint32_t heard = atomic_load(&p->own->bell);

	p->crowded -= p->crowded > 0;
	atomic_store_explicit(&p->own->awake, clock_ms(), memory_order_relaxed);
	atomic_fetch_add(&p->table->sleepers, 1);
	atomic_store(&p->own->asleep, 1);
	return heard;
}

void procs_sleep(struct procs *p, uint32_t heard, unsigned ms)
{
	procs_futex_wait(&p->own->bell, heard, ms);
}

void procs_get_up(struct procs *p)
{
	atomic_store(&p->own->asleep, 0);
	atomic_fetch_sub(&p->table->sleepers, 1);
}

static void ring_all(const struct world *w)
{
	struct procs *p = cpu_of(w)->procs;

	for (int i = 0; i < w->nranks; i++)
		procs_ring(p->table->seats + i);
}

void procs_ring_sleepers(const struct world *w)
{
	if (atomic_load(&cpu_of(w)->procs->table->sleepers))
		ring_all(w);
}

/* ---- failures --------------------------------------------------------------------------- */

/* Waits until the process that began to write the reason has finished. One that takes too long
 * was killed. */
static bool written(const struct procs_table *t)
{
	for (int us = 0; us < WRITING_US && !atomic_load(&t->failed); us += 100)
		usleep(100);
	return atomic_load(&t->failed);
}

void procs_fail(struct world *w, ccs_status s, const char *text)
{
	struct procs_table *t = cpu_of(w)->procs->table;

	if (atomic_load(&t->failed) || (atomic_exchange(&t->failing, 1) && written(t)))
		return;
	t->status = s;
	snprintf(t->text, sizeof(t->text), "%s", text);
	atomic_store(&t->failed, 1);
	ring_all(w);
}

void procs_tell_death(struct world *w)
{
	if (w->dead)
		procs_fail(w, w->died ? w->died : CCS_ETIMEOUT, world_why(w));
}

/* ---- ends ------------------------------------------------------------------------------- */

void procs_watch(struct procs *p, int rank)
{
	p->ends[rank] = (int)syscall(SYS_pidfd_open, p->table->seats[rank].pid, 0);
}

bool procs_ended(const struct procs *p, int rank)
{
	struct pollfd end = { .fd = p->ends[rank], .events = POLLIN };

	if (end.fd >= 0)
		return poll(&end, 1, 0) > 0;
	return kill(p->table->seats[rank].pid, 0) && errno == ESRCH;
}

bool procs_stands_still(const struct world *w, int rank)
{
	const struct procs_seat *s = cpu_of(w)->procs->table->seats + rank;
	uint64_t limit = w->timeout / 2 > STILL_MS ? w->timeout / 2 : STILL_MS;
	uint64_t awake = atomic_load(&s->awake);
	bool calls = atomic_load(&s->begun) > atomic_load(&s->finished);
	bool tells = atomic_load(&s->told) > atomic_load(&s->heard);

	return rank != w->first && (calls || tells) && awake + limit < clock_ms();
}

void procs_tell_still(const struct world *w, int rank, struct text *t)
{
	text_add(t,
		 "rank %d (process %d) makes no progress in its call: it is stopped, or gets no "
		 "core",
		 rank, cpu_of(w)->procs->table->seats[rank].pid);
}

/* Whether the rank has finished everything that this rank may wait for. Its posted messages
 * can still be read. */
static bool has_finished(const struct procs *p, const struct procs_seat *s)
{
	uint64_t told = atomic_load(&p->own->told);
	bool reads = atomic_load(&p->own->heard) < told;

	return atomic_load(&s->finished) >= atomic_load(&p->own->begun) &&
	       atomic_load(reads ? &s->told : &s->heard) >= told;
}

const char *procs_gone(const struct world *w, int rank)
{
	const struct procs *p = cpu_of(w)->procs;

	if (rank == w->first)
		return NULL;
	if (atomic_load(&p->table->seats[rank].state) == SEAT_LEFT)
		return "has freed its communicator";
	return procs_ended(p, rank) ? "has ended" : NULL;
}

/* A process that cannot finish any more; -1: none. A process that has ended is preferred to
 * one that has freed its communicator: its end may be the cause. */
static int missing_rank(const struct world *w, const char **how)
{
	const struct procs *p = cpu_of(w)->procs;
	int left = -1;

	for (int i = 0; i < w->nranks; i++) {
		const struct procs_seat *s = p->table->seats + i;
		const char *gone = procs_gone(w, i);
		bool freed = atomic_load(&s->state) == SEAT_LEFT;

		if (!gone || has_finished(p, s) || (freed && left >= 0))
			continue;
		left = i;
		*how = gone;
		if (!freed)
			break;
	}
	return left;
}

void procs_look(struct world *w)
{
	struct procs_table *t = cpu_of(w)->procs->table;
	struct text why = { .len = 0 };
	const char *how;
	int gone;

	if (w->dead)
		return;
	gone = atomic_load(&t->failed) ? -1 : missing_rank(w, &how);
	if (gone >= 0) {
		text_add(&why, "rank %d (process %d) %s", gone, t->seats[gone].pid, how);
		procs_fail(w, CCS_EABORTED, why.buf);
	}
	if (atomic_load(&t->failed))
		run_fail_all(w, (ccs_status)t->status, t->text);
}

bool procs_failed(struct cpu *e)
{
	if (!atomic_load(&e->procs->table->failed))
		return false;
	procs_look(e->world);
	return true;
}

/* Reads the other ranks' seats only if p->finished is too old. */
bool procs_all_finished(const struct world *w, uint64_t calls)
{
	struct procs *p = cpu_of(w)->procs;
	uint64_t least = UINT64_MAX;

	if (p->finished >= calls)
		return true;
	for (int i = 0; i < w->nranks; i++) {
		uint64_t n =
			atomic_load_explicit(&p->table->seats[i].finished, memory_order_acquire);

		least = n < least ? n : least;
	}
	p->finished = least;
	return least >= calls;
}
