/*
 * The queue of ready fibers, and the threads that serve it.
 *
 * Threads are those of the communicator (helpers: one a core this process may
 * use, less one, and no more than ranks; made at the first run that is large
 * enough to need them), and every thread inside a call. At most `limit` fibers
 * run at a time. A thread that finds nothing spins for some 50 microseconds, if that
 * leaves the running ones their cores, and then sleeps. Whoever adds a fiber that no spinning
 * thread will take wakes a sleeper, but only in runs that are worth it: a small one is done by
 * its callers alone, as waking costs more; there one thread at a time runs fibers, and those
 * that it makes ready need no lock.
 *
 * No wake-up is lost: a thread looks at the queue under the lock before it
 * sleeps, and one that leaves wakes another if fibers remain.
 */
#include "runtime/cpu/cpu.h"

#include <sched.h>
#include <stdlib.h>

#define SPINS 1000u
#define MOST_THREADS 1024u

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static unsigned cores(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	n = CPU_COUNT(&set);
	return n > 0 ? (unsigned)n : 1;
}

unsigned sched_threads(const struct world *w)
{
	unsigned n = w->threads ? w->threads : cores(), most = (unsigned)w->nranks;

	n = n < most ? n : most;
	return n < MOST_THREADS ? n : MOST_THREADS;
}

/* Callers first: they have nothing else to do. */
static void wake_one(struct cpu *e)
{
	if (e->world->idle_calls)
		pthread_cond_signal(&e->world->calls);
	else if (e->idle_helpers)
		pthread_cond_signal(&e->work);
}

void sched_push(struct cpu *e, struct fiber *t)
{
	t->next = NULL;
	if (e->first)
		e->last->next = t;
	else
		e->first = t;
	e->last = t;
	if (atomic_fetch_add(&e->ready, 1) >= e->spinning && e->layout.parallel &&
	    e->running < e->limit)
		wake_one(e);
}

void sched_ready(struct cpu *e, struct fiber *t)
{
	if (!e->layout.parallel) {
		t->next = e->own;
		e->own = t;
		return;
	}
	pthread_mutex_lock(&e->world->lock);
	sched_push(e, t);
	pthread_mutex_unlock(&e->world->lock);
}

static struct fiber *pop(struct cpu *e)
{
	struct fiber *t = e->first;

	if (!t || e->running >= (e->layout.parallel ? e->limit : 1))
		return NULL;
	e->first = t->next;
	if (!e->first)
		e->last = NULL;
	atomic_fetch_sub(&e->ready, 1);
	return t;
}

bool sched_halt(struct world *w)
{
	struct cpu *e = cpu_of(w);

	e->failed = true;
	e->first = e->last = NULL;
	atomic_store(&e->ready, 0);
	return !e->running;
}

/* Runs one fiber; the lock is held before and after. */
static void serve(struct cpu *e, struct fiber *t)
{
	e->running++;
	pthread_mutex_unlock(&e->world->lock);
	fiber_run(e, t, false);
	while (e->own) {
		t = e->own;
		e->own = t->next;
		fiber_run(e, t, false);
	}
	pthread_mutex_lock(&e->world->lock);
	e->running--;
	if (!e->running && e->world->runs && atomic_load(&e->world->runs->failed)) {
		run_retire(e->world);
		run_wake(e->world);
	}
}

/* Waits a little, without the lock, for a fiber, or for a call to come or to end. False: in
 * vain, or there is no core to spin on. */
static bool spin(struct cpu *e)
{
	struct world *w = e->world;
	uint64_t arrivals = atomic_load_explicit(&w->arrivals, memory_order_relaxed);
	bool parallel = e->layout.parallel; /* else whoever runs fibers takes all there are */
	bool news = false;

	if (e->running + e->spinning >= e->limit)
		return false;
	e->spinning++;
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < SPINS && !news; i++) {
		relax();
		news = (parallel && atomic_load_explicit(&e->ready, memory_order_relaxed)) ||
		       atomic_load_explicit(&w->arrivals, memory_order_relaxed) != arrivals;
	}
	pthread_mutex_lock(&w->lock);
	e->spinning--;
	return news;
}

/* Runs a fiber that is ready, or looks for one a little while longer: true, and the thread is to
 * look again. False: it has done both in vain; *spun is the thread's own. */
static bool take(struct cpu *e, bool *spun)
{
	struct fiber *t = pop(e);

	if (!t && *spun) {
		*spun = false;
		return false;
	}
	if (t)
		serve(e, t);
	*spun = !t && !spin(e);
	return true;
}

static void *helper(void *arg)
{
	struct cpu *e = arg;
	bool spun = false;

	pthread_mutex_lock(&e->world->lock);
	while (!atomic_load(&e->stop)) {
		if (take(e, &spun))
			continue;
		e->idle_helpers++;
		pthread_cond_wait(&e->work, &e->world->lock);
		e->idle_helpers--;
	}
	pthread_mutex_unlock(&e->world->lock);
	return NULL;
}

void sched_start(struct cpu *e)
{
	unsigned want = e->limit - 1;

	if (e->helpers_tried)
		return;
	e->helpers_tried = true;
	e->helpers = calloc(want + 1, sizeof(*e->helpers));
	if (!e->helpers)
		return; /* the callers do it alone */
	while (e->nhelpers < want && !pthread_create(e->helpers + e->nhelpers, NULL, helper, e))
		e->nhelpers++;
}

void sched_stop(struct cpu *e)
{
	pthread_mutex_lock(&e->world->lock);
	atomic_store(&e->stop, true);
	pthread_cond_broadcast(&e->work);
	pthread_mutex_unlock(&e->world->lock);
	for (unsigned i = 0; i < e->nhelpers; i++)
		pthread_join(e->helpers[i], NULL);
}

/* ---- threads inside a call ------------------------------------------------------- */

void sched_wait(struct world *w, struct call *calls, ccs_status *first)
{
	struct cpu *e = cpu_of(w);
	struct vigil v = { 0 };
	bool spun = false;

	pthread_mutex_lock(&w->lock);
	while (calls) {
		if (calls->comm->world != w || run_call_over(w, calls, first))
			calls = calls->next;
		else if (!take(e, &spun))
			run_nap(w, &v);
	}
	if (e->first)
		wake_one(e);
	pthread_mutex_unlock(&w->lock);
}
