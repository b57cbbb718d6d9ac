/*
 * The queue of ready tasks, and the threads that serve it.
 *
 * Threads are those of the communicator (helpers: one a core this process may
 * use, less one, and no more than ranks; made at the first run that is large
 * enough to need them), and every thread inside a call. At most `limit` tasks
 * run at a time. A thread that finds nothing spins for a few microseconds and
 * then sleeps. Whoever adds a task wakes a sleeper only in runs that are worth
 * it: a small one is done by its callers alone, as waking costs more.
 *
 * No wake-up is lost: a thread looks at the queue under the lock before it
 * sleeps, and one that leaves wakes another if tasks remain.
 */
#include "runtime/comm.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define SPINS 200u
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

void sched_limit(struct world *w)
{
	unsigned n = w->threads ? w->threads : cores(), most = (unsigned)w->nranks;

	n = n < most ? n : most;
	w->limit = n < MOST_THREADS ? n : MOST_THREADS;
}

static void wake_one(struct world *w)
{
	if (w->idle_helpers)
		pthread_cond_signal(&w->work);
	else if (w->idle_calls)
		pthread_cond_signal(&w->calls);
}

void sched_push(struct world *w, struct task *t)
{
	t->next = NULL;
	if (w->first)
		w->last->next = t;
	else
		w->first = t;
	w->last = t;
	atomic_fetch_add(&w->ready, 1);
	if (w->layout.parallel && w->running < w->limit)
		wake_one(w);
}

static struct task *pop(struct world *w)
{
	struct task *t = w->first;

	if (!t || w->running >= w->limit)
		return NULL;
	w->first = t->next;
	if (!w->first)
		w->last = NULL;
	atomic_fetch_sub(&w->ready, 1);
	return t;
}

void sched_wake_calls(struct world *w)
{
	if (w->idle_calls)
		pthread_cond_broadcast(&w->calls);
}

/* Runs one task; the lock is held before and after. */
static void serve(struct world *w, struct task *t)
{
	w->running++;
	pthread_mutex_unlock(&w->lock);
	task_run(w, t);
	pthread_mutex_lock(&w->lock);
	w->running--;
	if (!w->running && w->runs && atomic_load(&w->runs->failed)) {
		run_retire(w);
		sched_wake_calls(w);
	}
}

/* Waits a little for a task without the lock. */
static void spin(struct world *w)
{
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < SPINS && !atomic_load_explicit(&w->ready, memory_order_relaxed);
	     i++)
		relax();
	pthread_mutex_lock(&w->lock);
}

static void *helper(void *arg)
{
	struct world *w = arg;
	bool spun = false;

	pthread_mutex_lock(&w->lock);
	while (!atomic_load(&w->stop)) {
		struct task *t = pop(w);

		if (t) {
			serve(w, t);
			spun = false;
		} else if (!spun) {
			spin(w);
			spun = true;
		} else {
			w->idle_helpers++;
			pthread_cond_wait(&w->work, &w->lock);
			w->idle_helpers--;
			spun = false;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

void sched_start(struct world *w)
{
	unsigned want = w->limit - 1;

	if (w->helpers_tried)
		return;
	w->helpers_tried = true;
	w->helpers = calloc(want + 1, sizeof(*w->helpers));
	if (!w->helpers)
		return;		/* the callers do it alone */
	while (w->nhelpers < want &&
	       !pthread_create(w->helpers + w->nhelpers, NULL, helper, w))
		w->nhelpers++;
}

void sched_stop(struct world *w)
{
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->stop, true);
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < w->nhelpers; i++)
		pthread_join(w->helpers[i], NULL);
}

/* ---- threads inside a call ------------------------------------------------------- */

/* What a sleeping caller remembers to see whether anything still moves. */
struct vigil {
	uint64_t progress;
	struct timespec since;
	bool set;
};

static int64_t ms_since(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - t->tv_sec) * 1000 + (now.tv_nsec - t->tv_nsec) / 1000000;
}

static struct timespec later(int64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* Notes progress; after `timeout` ms without any the communicator dies. */
static void look(struct world *w, struct vigil *v)
{
	uint64_t now = watch_progress(w);

	if (!v->set || now != v->progress || w->running || w->first) {
		v->set = true;
		v->progress = now;
		clock_gettime(CLOCK_MONOTONIC, &v->since);
	} else if (w->timeout && ms_since(&v->since) >= w->timeout) {
		watch_timeout(w);
	}
}

/* Sleeps until something happens, or an eighth of the timeout has passed. */
static void nap(struct world *w, struct vigil *v)
{
	int64_t slice = w->timeout / 8 + 1;
	struct timespec until = later(w->timeout ? slice : 3600000);
	int rc;

	if (!v->set)
		look(w, v);
	w->idle_calls++;
	rc = pthread_cond_timedwait(&w->calls, &w->lock, &until);
	w->idle_calls--;
	if (rc == ETIMEDOUT)
		look(w, v);
}

void sched_wait(struct world *w, struct call *calls, ccs_status *first)
{
	struct vigil v = { 0 };
	struct task *t;
	bool spun = false;

	pthread_mutex_lock(&w->lock);
	while (calls) {
		if (calls->comm->world != w || run_call_over(w, calls, first)) {
			calls = calls->next;
		} else if ((t = pop(w))) {
			serve(w, t);
			spun = false;
		} else if (!spun) {
			spin(w);
			spun = true;
		} else {
			nap(w, &v);
			spun = false;
		}
	}
	if (w->first)
		wake_one(w);
	pthread_mutex_unlock(&w->lock);
}
