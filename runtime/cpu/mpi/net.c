/*
 * Calls of ranks that are processes, by MPI: admitting, running, waiting. See net.h.
 *
 * O(ranks + FIFOs) a call, plus its operations.
 */
#include "runtime/cpu/mpi/net.h"
#include "runtime/base/clock.h"
#include "runtime/p2p.h"

#include <sched.h>
#include <unistd.h>

#define POLLS 100u  /* polls without progress, before a process yields, if each has a core */
#define NAPS 20000u /* ... and before it sleeps a little between polls */
#define NAP_US 50
#define CROWD_NS 500000u     /* off the core for so long: other programs use it; then ... */
#define CROWDED_NS 50000000u /* ... for so long it naps instead of yielding */
#define LOOKS 32	     /* polls that MPI may take to deliver a note that has arrived */
#define WATCHES 64u	     /* polls between two checks of notes and timeouts, ... */
#define WATCH_MS 5u	     /* ... or this time, on a busy machine */

/* ---- beginning ------------------------------------------------------------------------------ */

/* The other ranks announce their own calls. */
static ccs_status start(struct world *w, struct run *r, int rank)
{
	struct net *n = net_of(w);

	(void)rank;
	n->laid = n->admitted = false;
	for (int i = 0; i < w->nranks; i++)
		r->seats[i].done = i != w->first;
	return CCS_OK;
}

static ccs_status lay_out(struct world *w)
{
	struct cpu *e = cpu_of(w);
	struct net *n = e->net;
	bool other = !layout_is(&e->layout, &w->runs->params);
	ccs_status s = layout_make(e, w->runs);

	if (!s && other)
		s = net_lay_out(e);
	if (s)
		return s;
	n->laid = true;
	n->begun = w->runs->seq + 1;
	if (other)
		net_announce(w);
	return CCS_OK;
}

/* Begins the current call once every rank that it exchanges messages with makes the same. */
static void admit(struct world *w)
{
	struct cpu *e = cpu_of(w);
	struct net *n = e->net;
	ccs_status s = CCS_OK;

	if (!n->laid && !n->saying)
		s = lay_out(w);
	if (!s)
		net_hear(w);
	if (!s && n->laid && !n->answers && !w->dead) {
		n->admitted = true;
		s = rank_start(e, (uint32_t)w->first);
		if (!s)
			net_begin(e);
	}
	if (s)
		net_fail(w, s, error_thread()->text);
}

/* ---- running --------------------------------------------------------------------------------- */

static struct fiber *take_ready(struct cpu *e)
{
	struct fiber *t = e->own ? e->own : e->first;

	if (!t)
		return NULL;
	if (t == e->own) {
		e->own = t->next;
		return t;
	}
	e->first = t->next;
	if (!e->first)
		e->last = NULL;
	atomic_fetch_sub(&e->ready, 1);
	return t;
}

/* Runs each ready fiber, and moves messages, without the lock. True: there was progress. */
static bool run_fibers(struct cpu *e, const struct run *r)
{
	bool any = net_progress(e);
	struct fiber *t;

	while (e->world->runs == r && /* otherwise the run is over, and may be freed */
	       !atomic_load_explicit(&r->failed, memory_order_relaxed) && (t = take_ready(e))) {
		t->next = NULL;
		fibers_turn(e, &t, false);
		net_progress(e);
		any = true;
	}
	return any;
}

/* Continues the current call. True: there was progress. */
static bool step(struct world *w)
{
	struct cpu *e = cpu_of(w);
	const struct run *r = w->runs;
	bool any;

	if (w->dead)
		return net_end(w);
	if (!r)
		return false;
	if (!e->net->admitted)
		admit(w);
	if (!e->net->admitted || w->dead)
		return w->dead;
	pthread_mutex_unlock(&w->lock);
	any = run_fibers(e, r);
	pthread_mutex_lock(&w->lock);
	if (e->net->broken.len)
		net_fail(w, CCS_ESYSTEM, e->net->broken.buf);
	return any || w->runs != r;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* After sched_yield to a busy program a process waits milliseconds for its core; after a sleep
 * it gets the core at once. */
static void lend_core(struct net *n)
{
	uint64_t before = clock_ns(), after;

	sched_yield();
	after = clock_ns();
	if (after - before > CROWD_NS)
		atomic_store_explicit(&n->crowded, after + CROWDED_NS, memory_order_relaxed);
}

void net_rest(struct net *n, unsigned idle)
{
	if (idle < POLLS && n->spins)
		return;
	if (idle >= NAPS || clock_ns() < atomic_load_explicit(&n->crowded, memory_order_relaxed))
		usleep(NAP_US);
	else
		lend_core(n);
}

bool net_is_due(struct net *n, unsigned idle)
{
	uint64_t now = clock_ms();

	if (idle % WATCHES && now - n->heard_at < WATCH_MS)
		return false;
	n->heard_at = now;
	return true;
}

/* Also called while messages of ccs_send and ccs_recv move; then no thread rests. */
static void poll(struct world *w)
{
	struct net *n = net_of(w);

	pthread_mutex_lock(&w->lock);
	if (net_is_due(n, ++n->polls))
		net_hear(w);
	step(w);
	pthread_mutex_unlock(&w->lock);
}

static void watch(struct world *w, struct vigil *v)
{
	if (w->dead)
		return;
	run_watch(w, v);
	if (w->dead)
		net_tell(w, CCS_ETIMEOUT, world_why(w));
}

/* After `idle` polls without progress: checks timeouts and other ranks, and rests. */
static void rest(struct world *w, const struct call *calls, unsigned idle, struct vigil *v)
{
	if (!w->dead && net_is_due(net_of(w), idle)) {
		net_hear(w);
		watch(w, v);
	}
	pthread_mutex_unlock(&w->lock);
	run_poll_others(w, calls);
	if (w->p2p) /* messages of requests */
		p2p_poll(w);
	net_rest(net_of(w), idle);
	pthread_mutex_lock(&w->lock);
}

static void await_calls(struct world *w, struct call *calls, ccs_status *first)
{
	struct vigil v = { 0 };
	unsigned idle = 0;

	pthread_mutex_lock(&w->lock);
	while (calls) {
		if (calls->comm->world != w || run_call_over(w, calls, first))
			calls = calls->next;
		else if (step(w))
			idle = 0;
		else
			rest(w, calls, ++idle, &v);
	}
	if (w->dead) /* maybe before the call had begun: all other ranks must be notified */
		net_end_wait(w);
	pthread_mutex_unlock(&w->lock);
}

static bool moved(const struct world *w, uint64_t *mark)
{
	uint64_t before = *mark, operations = 0;

	fibers_moved(w, &operations);
	*mark = net_of(w)->through * UINT64_C(0x9e3779b97f4a7c15) + operations;
	return *mark != before;
}

static bool stuck(const struct world *w, int rank, struct text *t)
{
	const struct net *n = net_of(w);
	int other = 0;

	if (n->admitted)
		return fibers_stuck(w, rank, t) || net_stuck(cpu_of(w), t);
	while (other < w->nranks && !n->asked[other])
		other++;
	if (other == w->nranks)
		return false;
	text_add(t, "rank %d waits for rank %d to make the same call", rank, other);
	return true;
}

static ccs_status check(struct world *w)
{
	for (int i = 0; i < LOOKS; i++)
		net_hear(w);
	if (w->dead) /* other ranks may wait for this rank to receive their messages */
		net_end_wait(w);
	return world_alive(w);
}

static const struct watched_engine watched = { .moved = moved, .stuck = stuck };

static const struct processes_engine processes = {
	.gather = net_gather,
	.fail = net_abort,
	.members = net_members,
};

static const struct progress_engine progress = {
	.poll = poll,
	.carry = net_carry,
	.ask = net_ask,
	.answers = net_answers,
	.rest = net_rest_p2p,
};

const struct engine net_engine = {
	.name = "mpi",
	.tiles = true,
	.traces = true,
	.host_code = true,
	.lone = true,
	.watched = &watched,
	.processes = &processes,
	.progress = &progress,
	.start = start,
	.halt = net_halt,
	.wait = await_calls,
	.check = check,
	.branch = net_branch,
	.describe = net_describe,
	.free = net_free,
};
