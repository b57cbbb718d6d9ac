/*
 * Posting: how the ranks of one process meet for a run that is like one before, without the lock.
 *
 * Each rank has a post, in which its thread leaves the call's buffers; then it adds the rank to the
 * word of those that have come. Who finds that all others have, does the run there and then, by
 * what the engine has kept of one like it (engine.h, `again`), or lets all of them share it; it
 * tells the others so. A small call costs the few cache lines that go from core to core, and no
 * sleep: the word and the posts lie side by side, and each thread waits for a line of its own.
 *
 * Whatever else happens is run.c's: a call that is not like one of the rank's last, or that the
 * engine has kept nothing of; a rank for which nobody wants to wait awake any longer. Then posting
 * is closed, under world.lock: the calls that were posted join their run as others do, and their
 * threads are told to wait for its end in the engine. It is open again when no run is left. So no
 * run is in run.c's list while posting is open.
 *
 * The word has a bit for each rank, one for each thread (that of the first of its ranks), and one
 * that says whether it is closed; who adds to a closed one has not posted. Whoever does the run
 * empties the word before it tells anybody: a thread that sees it closed or emptied knows whether
 * it will be woken. O(ranks) a run.
 */
#include "runtime/comm.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define RANKS (((uint64_t)1 << MOST_POSTED) - 1)
#define CLOSED ((uint64_t)1 << 63)

enum { POST_WAITS, POST_OVER, POST_SHARED, POST_JOINED };

/* What a thread is told, by the first of its ranks. */
struct told {
	_Alignas(CACHE_LINE) _Atomic uint32_t state;
};

struct posts {
	_Alignas(CACHE_LINE) _Atomic uint64_t come;
	struct post of[MOST_POSTED];
	struct call *call[MOST_POSTED];
	unsigned threads; /* most that may be awake */
	struct told told[MOST_POSTED];
};

bool post_enable(struct world *w)
{
	if (w->nranks > MOST_POSTED)
		return true; /* all calls are run.c's */
	w->posts = aligned_alloc(CACHE_LINE, sizeof(*w->posts));
	if (!w->posts)
		return false;
	memset(w->posts, 0, sizeof(*w->posts));
	atomic_init(&w->posts->come, CLOSED);
	return true;
}

void post_limit(struct world *w, unsigned threads)
{
	if (w->posts)
		w->posts->threads = threads;
}

void post_keep(struct call *c, struct kept kept)
{
	struct checked *like = call_checked(c);

	if (like)
		like->kept = kept;
}

static uint64_t bit(const struct call *c)
{
	return (uint64_t)1 << c->comm->rank;
}

/* The ranks of calls that may be posted together; 0: these may not. */
static uint64_t ranks_of(const struct call *calls)
{
	const struct world *w = calls->comm->world;
	uint64_t ranks = 0;

	for (const struct call *c = calls; c; c = c->next) {
		struct placing where;

		if (!c->like || !c->like->kept.id || c->comm->world != w || ranks & bit(c))
			return 0;
		where = call_placing(c, c->prep->ranks + c->comm->rank);
		if (where.copy_aside || where.lacks)
			return 0;
		ranks |= bit(c);
	}
	return ranks;
}

static void leave(struct posts *all, struct call *calls)
{
	int first = calls->comm->rank;

	atomic_store_explicit(&all->told[first].state, POST_WAITS, memory_order_relaxed);
	for (struct call *c = calls; c; c = c->next) {
		all->of[c->comm->rank] = (struct post){ c->like->kept.id, c->send, c->recv };
		all->call[c->comm->rank] = c;
	}
}

static uint64_t all_ranks(const struct world *w)
{
	return RANKS >> (MOST_POSTED - w->nranks);
}

static uint64_t threads_of(uint64_t come)
{
	return come >> MOST_POSTED & RANKS;
}

static void tell(struct world *w, uint64_t threads, uint32_t state)
{
	for (int r = 0; r < w->nranks; r++)
		if (threads >> r & 1)
			atomic_store_explicit(&w->posts->told[r].state, state,
					      memory_order_release);
}

/* ---- closing ---------------------------------------------------------------------------- */

/* Those that have come join their run. Under world.lock. */
static void convert(struct world *w, uint64_t come)
{
	for (int r = 0; r < w->nranks; r++)
		if (come >> r & 1)
			run_join(w, w->posts->call[r]);
	tell(w, threads_of(come), POST_JOINED);
	pthread_cond_broadcast(&w->calls);
}

void post_close(struct world *w)
{
	uint64_t come;

	if (!w->posts)
		return;
	come = atomic_fetch_or(&w->posts->come, CLOSED);
	if (!(come & CLOSED) && (come & RANKS) != all_ranks(w)) /* else the run is being done */
		convert(w, come);
}

void post_open(struct world *w)
{
	if (w->posts && !w->dead)
		atomic_store(&w->posts->come, 0);
}

/* ---- posting ---------------------------------------------------------------------------- */

static uint32_t told(const struct posts *all, int first)
{
	return atomic_load_explicit(&all->told[first].state, memory_order_acquire);
}

/* Until the thread is told. Under world.lock. */
static void nap(struct world *w, int first)
{
	struct posts *all = w->posts;
	uint64_t own = (uint64_t)1 << first;

	while (told(all, first) == POST_WAITS) {
		if (atomic_load(&all->come) & own)
			post_close(w);
		if (told(all, first) != POST_WAITS)
			return;
		if (atomic_load(&all->come) & own) {
			/* closed, with this rank in it: whoever empties it sees that */
			pthread_cond_wait(&w->calls, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock); /* emptied: it is about to be told */
		sched_yield();
		pthread_mutex_lock(&w->lock);
	}
}

/* One of so many threads that have come waits for the others, awake if there is a core for it. */
static uint32_t await(struct world *w, int first, unsigned threads)
{
	unsigned spins = threads < w->posts->threads ? SPINS : 0;

	while (told(w->posts, first) == POST_WAITS && spins--)
		relax();
	if (told(w->posts, first) == POST_WAITS) {
		pthread_mutex_lock(&w->lock);
		nap(w, first);
		pthread_mutex_unlock(&w->lock);
	}
	return told(w->posts, first);
}

/* All have come, with so many threads: does the run, or begins to. */
static enum again run(struct world *w, const struct checked *like, unsigned threads)
{
	const struct post *posts = w->posts->of;

	for (int r = 0; r < w->nranks; r++)
		if (posts[r].kept != like->kept.id)
			return AGAIN_NOT;
	return w->engine->again(w, like->kept, posts, threads);
}

/* The other threads go on, and may soon post again. */
static void release(struct world *w, uint64_t others, uint32_t state)
{
	uint64_t come = atomic_exchange(&w->posts->come, 0);

	tell(w, others, state);
	if (!(come & CLOSED))
		return;
	pthread_mutex_lock(&w->lock);
	pthread_cond_broadcast(&w->calls);
	pthread_mutex_unlock(&w->lock);
}

/* Of the thread that came last. */
static uint32_t do_run(struct world *w, const struct call *calls, uint64_t come)
{
	uint64_t threads = threads_of(come), others = threads & ~bit(calls);

	switch (run(w, calls->like, (unsigned)__builtin_popcountll(threads))) {
	case AGAIN_DONE: release(w, others, POST_OVER); return POST_OVER;
	case AGAIN_SHARED: release(w, others, POST_SHARED); return POST_SHARED;
	case AGAIN_NOT: break;
	}
	pthread_mutex_lock(&w->lock);
	atomic_fetch_or(&w->posts->come, CLOSED);
	convert(w, come);
	pthread_mutex_unlock(&w->lock);
	return POST_JOINED;
}

enum posted post_calls(struct call *calls)
{
	struct world *w = calls->comm->world;
	struct posts *all = w->posts;
	uint64_t come, mine;
	uint32_t state;

	if (!all || atomic_load_explicit(&all->come, memory_order_relaxed) & CLOSED)
		return POSTED_NOT;
	mine = ranks_of(calls);
	if (!mine)
		return POSTED_NOT;
	leave(all, calls);
	mine |= bit(calls) << MOST_POSTED;
	come = atomic_fetch_add(&all->come, mine);
	if (come & CLOSED)
		return POSTED_NOT;
	come |= mine;
	if ((come & RANKS) == all_ranks(w))
		state = do_run(w, calls, come);
	else
		state = await(w, calls->comm->rank,
			      (unsigned)__builtin_popcountll(threads_of(come)));
	if (state == POST_JOINED)
		return POSTED_JOINED;
	if (state == POST_SHARED)
		w->engine->share(w);
	for (struct call *c = calls; c; c = c->next)
		c->comm->seq++;
	return POSTED_OVER;
}
