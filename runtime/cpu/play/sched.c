/*
 * The scheduler: beginning and ending runs; and the threads, which play a run's sequence, or run
 * ready fibers from the queue (queue.c).
 *
 * The threads are the communicator's helpers (one for each core of the process but one, at most one
 * for each rank, made at the first run large enough to need them) and every thread inside a call.
 * At most `limit` work at a time. A run that can be a sequence begins when its last rank calls. A
 * thread that waits for that spins for about 50 microseconds, if it has a core, and then begins
 * with the ranks that are there, as fibers.
 *
 * A thread takes a share of the ready fibers and runs them in turn. Before it parks waiting ones,
 * it polls them for the same time, unless others are ready. Adding a fiber that no spinning
 * thread will take wakes a sleeping thread, but only in large runs: in small ones waking costs
 * more than the work, so one calling thread at a time runs all fibers, and fibers that it makes
 * ready need no lock.
 *
 * No wake-up is lost: a thread checks the queue under the lock before it sleeps, and a thread
 * that stops working wakes another if fibers remain. O(1) a fiber that is taken; O(ranks) a run.
 */
#include "runtime/base/spin.h"
#include "runtime/cpu/core/cpu.h"

#include <sched.h>
#include <stdlib.h>

#define MOST_THREADS 1024u

unsigned sched_cores(void)
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
	unsigned n = w->threads ? w->threads : cpu_of(w)->cores, most = (unsigned)w->nranks;

	n = n < most ? n : most;
	return n < MOST_THREADS ? n : MOST_THREADS;
}

static struct fiber *take_first(struct cpu *e)
{
	struct fiber *t = e->first;

	e->first = t->next;
	if (!e->first)
		e->last = NULL;
	t->next = NULL;
	atomic_fetch_sub(&e->ready, 1);
	return t;
}

/* A thread's share of the ready fibers. NULL: none, or enough threads run some. */
static struct fiber *take_share(struct cpu *e)
{
	bool parallel = e->layout.parallel;
	uint32_t more = parallel ? (e->layout.nworkers - 1) / e->limit : 0;
	struct fiber *share, *last;

	if (!e->first || e->running >= (parallel ? e->limit : 1))
		return NULL;
	for (share = last = take_first(e); more && e->first; more--)
		last = last->next = take_first(e);
	return share;
}

bool sched_halt(struct world *w)
{
	struct cpu *e = cpu_of(w);

	e->failed = true;
	e->first = e->last = NULL;
	atomic_store(&e->ready, 0);
	sequence_stop(e);
	return !e->running;
}

/* Runs fibers in turn until each has ended or is parked. Without other fibers to run, polling
 * sees events sooner than a wake-up. */
static void run_share(struct cpu *e, struct fiber *share)
{
	unsigned idle = 0;

	while (share && idle < SPINS && e->layout.parallel) {
		bool any = fibers_turn(e, &share, true);

		if (!any && atomic_load_explicit(&e->ready, memory_order_relaxed))
			break;
		idle = any ? 0 : idle + 1;
		relax();
	}
	fibers_turn(e, &share, false);
}

static void played(struct cpu *e);

/* The thread stops working. The last one ends the run. That may be a thread that ran fibers of
 * an earlier run. */
static void stop_working(struct cpu *e)
{
	struct world *w = e->world;

	if (--e->running || !w->runs)
		return;
	if (atomic_load(&w->runs->failed)) {
		run_retire(w);
		run_wake(w);
	} else if (sequence_over(e)) {
		played(e);
		run_retire(w);
	}
}

/* Runs fibers; the lock is held before and after. */
static void serve(struct cpu *e, struct fiber *share)
{
	e->running++;
	sched_wake_for(e, 0);
	pthread_mutex_unlock(&e->world->lock);
	run_share(e, share);
	while (e->own) {
		share = e->own;
		e->own = NULL;
		fibers_turn(e, &share, false);
	}
	pthread_mutex_lock(&e->world->lock);
	stop_working(e);
}

/* Plays tiles while there are some. The run is over when the last thread stops. */
static void serve_playing(struct cpu *e)
{
	const struct sequence *q = e->playing.q;
	unsigned thread = e->playing.threads++;

	e->running++;
	if (e->running + e->spinning + atomic_load(&e->gatherers) < e->limit)
		sched_wake_one(e);
	pthread_mutex_unlock(&e->world->lock);
	sequence_play(e, q, thread);
	pthread_mutex_lock(&e->world->lock);
	stop_working(e);
}

/* Waits a little, without the lock, for a fiber, or for the end of the call (NULL: none).
 * False: neither came, or there is no core to spin on. */
static bool spin(struct cpu *e, const struct call *c)
{
	struct world *w = e->world;
	bool parallel = e->layout.parallel; /* otherwise one thread takes all fibers */
	bool news = false;

	if (e->running + e->spinning + atomic_load(&e->gatherers) >= e->limit)
		return false;
	e->spinning++;
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < SPINS && !news; i++) {
		relax();
		news = (parallel && atomic_load_explicit(&e->ready, memory_order_relaxed)) ||
		       (c && call_is_over(c));
	}
	pthread_mutex_lock(&w->lock);
	e->spinning--;
	return news;
}

/* Plays tiles or runs ready fibers; or spins for work, once. True: look again. False: sleep. *spun:
 * this thread has spun without finding work. */
static bool find_work(struct cpu *e, const struct call *c, bool *spun)
{
	struct fiber *share;

	if (e->running < e->limit && sequence_left(e)) {
		serve_playing(e);
		return true;
	}
	share = take_share(e);
	if (!share && *spun) {
		*spun = false;
		return false;
	}
	if (share)
		serve(e, share);
	*spun = !share && !spin(e, c);
	return true;
}

static void *helper(void *arg)
{
	struct cpu *e = arg;
	bool spun = false;

	pthread_mutex_lock(&e->world->lock);
	while (!atomic_load(&e->stop)) {
		if (find_work(e, NULL, &spun))
			continue;
		e->idle_helpers++;
		pthread_cond_wait(&e->work, &e->world->lock);
		e->idle_helpers--;
	}
	pthread_mutex_unlock(&e->world->lock);
	return NULL;
}

/* Starts the helper threads, once. */
static void start_helpers(struct cpu *e)
{
	unsigned want = e->limit - 1;

	if (e->helpers_tried)
		return;
	e->helpers_tried = true;
	e->helpers = calloc(want + 1, sizeof(*e->helpers));
	if (!e->helpers)
		return; /* the callers do all of it */
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

/* The first of the world's calls that is not over. */
static struct call *next_call(const struct world *w, struct call *calls)
{
	while (calls && (calls->comm->world != w || call_is_over(calls)))
		calls = calls->next;
	return calls;
}

/* A run that begins with the last rank's call ends soon after. So waits a little for both,
 * without the lock, if there is a core for it. Returns the first call that is not over. */
static struct call *gather(struct cpu *e, struct call *calls)
{
	unsigned spins = SPINS;

	calls = next_call(e->world, calls);
	if (!calls || atomic_load(&e->mode) != RUN_GATHERS)
		return calls;
	if (atomic_fetch_add(&e->gatherers, 1) + 1 >= e->limit)
		spins = 0;
	while (calls && spins-- &&
	       atomic_load_explicit(&e->mode, memory_order_relaxed) == RUN_GATHERS) {
		relax();
		calls = next_call(e->world, calls);
	}
	atomic_fetch_sub(&e->gatherers, 1);
	return calls;
}

/* ---- runs: how one begins, and ends ------------------------------------------------------- */

/* Starts the ranks whose threads wait for the end of their calls; the other ranks start when their
 * threads wait. */
static ccs_status start_waiting(struct cpu *e, struct run *r)
{
	ccs_status s = e->known ? layout_make(e, r) : CCS_OK;

	if (!s && e->layout.parallel)
		start_helpers(e);
	for (int i = 0; i < e->world->nranks && !s; i++)
		if (r->seats[i].call && r->seats[i].call->waits)
			s = rank_start(e, (uint32_t)i);
	return s;
}

/* The current run's sequence was played to its end: it is over, and kept. */
static void played(struct cpu *e)
{
	struct run *r = e->world->runs;

	sequence_played(e);
	for (int i = 0; i < e->world->nranks; i++)
		post_keep(r->seats[i].call,
			  (struct kept){ e->known, e->known->id, e->known->mail });
	run_all_done(e->world);
}

/* If all have called the run is done, here and now. */
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
		played(e);
	if (how == SEQUENCE_PLAYS)
		start_helpers(e);
	/* not before: threads look for their calls' ends until then */
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
	/* else it begins when its thread waits, or now, if another does */
	return e->mode == RUN_FIBERS && r->seats[rank].call->waits ? rank_start(e, (uint32_t)rank)
								   : CCS_OK;
}

ccs_status cpu_start(struct world *w, struct run *r, int rank)
{
	return rank == RUN_BEGINS ? begin(w, r) : join(w, r, rank);
}

static bool play_again(struct world *w, struct kept kept, const struct meeting *m)
{
	struct sequence *q = kept.of;

	return q->id == kept.id && sequence_again(cpu_of(w), q, m);
}

bool cpu_at_once(struct world *w, struct call *calls, ccs_status *first)
{
	(void)w;
	(void)first; /* a posted call does not fail */
	return post_calls(calls, play_again);
}

/* The thread waits for these calls now. */
static void wait_for(struct cpu *e, struct call *calls)
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

/* Ends the wait for ranks that have not called: the ranks that have called begin. False: they
 * have begun before. */
static bool begin_without(struct cpu *e)
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

void sched_wait(struct world *w, struct call *calls, ccs_status *first)
{
	struct cpu *e = cpu_of(w);
	struct vigil v = { 0 };
	bool spun = false;

	calls = gather(e, calls);
	if (!calls)
		return;
	pthread_mutex_lock(&w->lock);
	wait_for(e, calls);
	while (calls) {
		if (calls->comm->world != w || run_call_over(w, calls, first))
			calls = calls->next;
		else if (!find_work(e, calls, &spun) && !begin_without(e))
			run_nap(w, &v);
	}
	if (e->first)
		sched_wake_one(e);
	pthread_mutex_unlock(&w->lock);
}
