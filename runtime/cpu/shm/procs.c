/*
 * Calls of ranks that are processes: posting, admitting, running, waiting. See procs.h.
 *
 * A call is done in the first of these ways that its state permits:
 *   procs_once_more  it equals the rank's last call, buffers included: it is posted, and done in
 *                    the plan's order
 *   procs_at_once    its layout is kept: likewise, after the buffers are placed
 *   a run            it is posted and admitted as soon as the other ranks permit; then done in the
 *                    plan's order, or by fibers
 * If it takes long in one of the first two, a run continues it. O(ranks) a call, plus its
 * operations.
 */
#include "runtime/cpu/shm/procs.h"
#include "runtime/base/clock.h"

#define SLEEP_MS 20 /* after this time, check that the other ranks are alive */
#define NAP_MS 1    /* the same, with several bells to wait for */

/* ---- posting and admitting ---------------------------------------------------------------- */

/* A rank that makes a different call than before announces it; the other ranks compare their own
 * calls up to that one. */
static void announce_other(struct procs_table *t, uint64_t call)
{
	uint64_t before = atomic_load(&t->others);

	while (before <= call && !atomic_compare_exchange_weak(&t->others, &before, call + 1))
		;
}

/* A rank that has posted a different call; NULL: none. Of any two ranks, at least the later
 * one sees it. */
static const struct procs_seat *odd_one(const struct world *w, uint64_t call)
{
	const struct procs *p = cpu_of(w)->procs;
	uint64_t at = call % PROCS_LAG;

	if (atomic_load(&p->table->others) <= call)
		return NULL;
	for (int i = 0; i < w->nranks; i++) {
		const struct procs_seat *s = p->table->seats + i;

		if (i != w->first && atomic_load(&s->begun) > call && s->key[at] != p->own->key[at])
			return s;
	}
	return NULL;
}

/* The name of the calls with that key, if it is among the recent ones that are kept; NULL if
 * not. */
static const struct call_name *name_of(const struct procs_seat *s, uint64_t key, uint64_t most)
{
	for (uint64_t i = 1; i <= most && i <= s->named; i++)
		if (s->name_key[(s->named - i) % PROCS_NAMES] == key)
			return s->name + (s->named - i) % PROCS_NAMES;
	return NULL;
}

/* Publishes the name of the call, for ranks whose calls differ. */
static void publish_name(struct procs_seat *own, const struct call *c, uint64_t key)
{
	uint64_t at = own->named % PROCS_NAMES;

	if (name_of(own, key, PROCS_LAG))
		return;
	run_name(c, c->comm->rank, own->name + at);
	own->name_key[at] = key;
	own->named++;
}

/* Fails if another rank has posted a different call. */
static void compare(struct world *w, uint64_t call)
{
	const struct procs_seat *s = odd_one(w, call), *own = cpu_of(w)->procs->own;
	uint64_t at = call % PROCS_LAG;

	if (!s)
		return;
	run_differ(name_of(own, own->key[at], PROCS_NAMES), name_of(s, s->key[at], PROCS_NAMES));
	procs_fail(w, CCS_EINVAL, error_thread()->text);
	procs_look(w);
}

/* Posts a call. False: another rank is too far behind. c may be NULL if the previous call had
 * that key. */
static bool post_call(struct world *w, const struct call *c, uint64_t seq, uint64_t key, bool other)
{
	struct procs *p = cpu_of(w)->procs;

	if (seq >= PROCS_LAG && !procs_all_finished(w, seq - PROCS_LAG + 1))
		return false;
	if (!seq || p->own->key[(seq - 1) % PROCS_LAG] != key)
		publish_name(p->own, c, key);
	p->own->key[seq % PROCS_LAG] = key;
	if (other)
		announce_other(p->table, seq);
	atomic_store_explicit(&p->own->begun, seq + 1, memory_order_release);
	return true;
}

/* The call differs from the previous one: changes to its layout, or to memory for a new one. */
static void change(struct world *w, const struct run *r)
{
	struct cpu *e = cpu_of(w);
	struct procs_layout *at = procs_layouts_find(e, &r->params);
	ccs_status s = CCS_OK;

	if (at)
		procs_layouts_use(e, at, r->seq);
	else
		s = procs_layouts_clear(e, &r->params, r->seq);
	if (s) {
		procs_fail(w, s, error_thread()->text);
		procs_look(w);
	}
}

/* Posts the current run's call, and provides its layout. False: not yet possible. */
static bool post(struct world *w)
{
	struct run *r = w->runs;
	bool other;

	if (!procs_choose(w, &r->params))
		return false;
	other = !layout_is(&cpu_of(w)->layout, &r->params);
	if (!post_call(w, &r->params, r->seq, procs_key(&r->params), other))
		return false;
	procs_chosen(cpu_of(w)->procs, r->seq);
	if (other)
		change(w, r);
	fence();
	compare(w, r->seq);
	return true;
}

/* Lays the posted call out, if its memory is free, and starts the rank. False: not yet possible, or
 * it failed. */
static bool admit(struct world *w)
{
	struct cpu *e = cpu_of(w);
	struct procs *p = e->procs;
	struct run *r = w->runs;
	struct procs_call *c = p->own->call + r->seq % PROCS_LAG;
	ccs_status s;

	if (!layout_is(&e->layout, &r->params) && !procs_all_finished(w, p->current->used))
		return false;
	s = layout_make(e, r);
	e->layout.stream = p->way == WAY_STREAMED ? e->reduce->stream : NULL;
	if (!s)
		s = procs_order_may(&e->layout) && !w->trace
			    ? procs_order_begin(e, r->seats[w->first].call)
			    : rank_start(e, (uint32_t)w->first);
	if (s) {
		procs_fail(w, s, error_thread()->text);
		procs_look(w);
		return false;
	}
	if (e->layout.holds)
		procs_tell(e, c);
	return true;
}

static void finish(struct cpu *e, uint64_t call)
{
	atomic_store_explicit(&e->procs->own->finished, call + 1, memory_order_release);
	procs_fence(e->procs);
	procs_ring_sleepers(e->world);
}

static void done(struct cpu *e)
{
	uint64_t call = e->layout.run->seq;

	procs_timed(e->procs);
	compare(e->world, call);
	if (!e->world->dead && !procs_failed(e))
		finish(e, call);
}

/* ---- requests of the executor --------------------------------------------------------------- */

static void wake(struct cpu *e, struct fiber *t)
{
	struct procs_seat *s = e->procs->table->seats + t->rank;
	uint32_t first = atomic_load(&s->inbox);

	do
		t->behind = first;
	while (!atomic_compare_exchange_weak(&s->inbox, &first,
					     (uint32_t)(t - e->layout.fibers) + 1));
	procs_ring(s);
}

static void pulled(struct cpu *e, uint32_t rank)
{
	struct procs_seat *s = e->procs->table->seats + rank;

	atomic_fetch_add(&s->pulled, 1);
	procs_ring(s);
}

const struct wire procs_wire = {
	.locked = true,
	.ahead = PROCS_LAG,
	.held = PROCS_HELD,
	.wake = wake,
	.done = done,
	.holds = procs_holds,
	.find = procs_find,
	.pull = procs_pull,
	.pulled = pulled,
	.failed = procs_failed,
};

/* ---- running --------------------------------------------------------------------------------- */

static void turn_add(struct procs *p, struct fiber *t)
{
	t->next = p->turn;
	p->turn = t;
}

/* Takes the ready fibers of a rank that begins. True: there were some. */
static bool turn_ready(struct cpu *e)
{
	if (!e->first)
		return false;
	while (e->first) {
		struct fiber *t = e->first;

		e->first = t->next;
		turn_add(e->procs, t);
	}
	e->last = NULL;
	atomic_store(&e->ready, 0);
	return true;
}

/* Collects the fibers that other ranks made ready, and counts the messages that they pulled. */
static bool collect(struct cpu *e)
{
	struct procs *p = e->procs;
	uint64_t pulled = atomic_load_explicit(&p->own->pulled, memory_order_acquire);
	bool any = p->pulled != pulled;
	uint32_t i = 0;

	if (atomic_load_explicit(&p->own->inbox, memory_order_relaxed))
		i = atomic_exchange(&p->own->inbox, 0);
	while (i && i <= e->layout.nworkers) { /* if calls differ, a number may be out of range */
		struct fiber *t = e->layout.fibers + i - 1;

		i = t->behind;
		turn_add(e->procs, t);
		any = true;
	}
	for (; p->pulled != pulled; p->pulled++)
		rank_less(e, (uint32_t)e->world->first);
	return any;
}

/* Runs each fiber once. True: one has made progress. */
static bool run_all(struct cpu *e, bool polled)
{
	bool any = fibers_turn(e, &e->procs->turn, polled);

	for (; e->own; any = true) {
		struct fiber *t = e->own;

		e->own = t->next;
		turn_add(e->procs, t);
	}
	return turn_ready(e) || any;
}

/* Continues while there is progress, and for the given number of rounds after it. Then all
 * fibers are parked. */
static void run_fibers(struct cpu *e, const struct run *r, unsigned polls)
{
	unsigned idle = 0;
	bool any = true;

	while (!atomic_load_explicit(&r->failed, memory_order_relaxed) && (any || idle <= polls)) {
		any = collect(e);
		if (e->world->runs == r)
			any |= run_all(e, idle < polls);
		if (e->world->runs != r) /* the run is over */
			return;
		idle = any ? 0 : idle + 1;
		if (idle && idle <= polls && !procs_pause(e->procs))
			idle = polls; /* one more round, to park the fibers */
	}
}

/* ---- without a run --------------------------------------------------------------------------- */

/* Whether all ranks make the same calls as before, or, as far as they have begun it, the same
 * as this one. With a fence between beginning and checking, of two ranks with different calls
 * at least one sees the other. */
static bool all_well(const struct world *w, uint64_t call)
{
	return !odd_one(w, call) &&
	       !atomic_load_explicit(&cpu_of(w)->procs->table->failed, memory_order_acquire);
}

/* Whether the call has the layout of the previous one. If so, it is kept with the calls like
 * it. */
static bool is_laid_out(struct cpu *e, const struct call *c)
{
	struct kept *kept = c->like ? &c->like->kept : NULL;

	if (kept && kept->id && kept->id == e->layout.id)
		return true;
	if (!layout_is(&e->layout, c))
		return false;
	layout_take(e, c);
	if (kept)
		kept->id = e->layout.id;
	return true;
}

/* Whether there is a layout, and the call has nothing to wait for. A traced call counts as a
 * run. */
static bool may_begin(const struct world *w)
{
	return !w->dead && !w->runs && !w->trace && !cpu_of(w)->failed;
}

/* Posts a call equal to the previous one. */
static bool post_again(struct world *w, uint64_t seq)
{
	struct procs *p = cpu_of(w)->procs;

	if (!post_call(w, NULL, seq, p->own->key[(seq - 1) % PROCS_LAG], false))
		return false;
	if (p->light)
		fence(); /* as it waits for nothing before it stores data */
	return all_well(w, seq);
}

/* Posts a call equal to an earlier one with a stored layout, and switches to that layout. */
static bool post_kept(struct world *w, const struct call *c, uint64_t seq)
{
	struct cpu *e = cpu_of(w);
	struct procs_layout *at = procs_layouts_find(e, c);

	if (!at || !procs_order_may(&at->layout) || !post_call(w, c, seq, at->key, true))
		return false;
	procs_layouts_use(e, at, seq);
	fence();
	return is_laid_out(e, c) && all_well(w, seq);
}

/* Posts a call equal to an earlier one, and begins its operations. */
static bool begin_at_once(struct world *w, struct call *c)
{
	struct cpu *e = cpu_of(w);
	uint64_t seq = c->comm->seq;

	if (!may_begin(w))
		return false;
	if (!is_laid_out(e, c))
		return post_kept(w, c, seq) && !procs_order_begin(e, c);
	if (!procs_order_listed(e->procs, &e->layout) && !procs_order_may(&e->layout))
		return false;
	return post_again(w, seq) && !procs_order_begin(e, c);
}

/* The call takes longer, or something is wrong: a run continues it. */
static void make_run(struct world *w, struct call *c)
{
	struct cpu *e = cpu_of(w);

	run_join(w, c);
	if (!w->runs) {
		procs_fail(w, CCS_ENOMEM, "out of memory for a call");
		procs_look(w);
		return;
	}
	e->procs->posted = e->procs->admitted = true;
	layout_go_on(e, w->runs);
	e->ranks[w->first].call = c;
}

/* Continues a call that has begun without a run. True: it is over. */
static bool go_at_once(struct world *w, struct ccs_comm *comm)
{
	struct cpu *e = cpu_of(w);

	if (!procs_order_go(e, procs_polls(e->procs)) || !all_well(w, comm->seq))
		return false;
	procs_order_end(e);
	finish(e, comm->seq++);
	atomic_store_explicit(&w->arrivals, w->arrivals + 2, memory_order_relaxed);
	return true;
}

bool procs_once_more(struct ccs_comm *comm, const struct kept *kept, const void *send,
		     const void *recv)
{
	struct world *w = comm->world;
	struct cpu *e = cpu_of(w);
	const bool threads = w->p2p; /* otherwise the handle's only thread is here */
	bool over;

	if (threads)
		pthread_mutex_lock(&w->lock);
	over = may_begin(w) && kept->id == e->layout.id && post_again(w, comm->seq) &&
	       procs_order_again(e, send, recv) && go_at_once(w, comm);
	if (threads)
		pthread_mutex_unlock(&w->lock);
	return over;
}

/* A call that procs_once_more has begun continues as a run. */
bool procs_at_once(struct world *w, struct call *c, ccs_status *first)
{
	bool begun, over = false;

	if (c->next || c->sizes) /* one of several calls; or all ranks must compare sizes */
		return false;
	pthread_mutex_lock(&w->lock);
	begun = may_begin(w) && cpu_of(w)->procs->in_order;
	if (!begun) {
		begun = begin_at_once(w, c);
		over = begun && go_at_once(w, c->comm);
	}
	if (begun && !over)
		make_run(w, c);
	pthread_mutex_unlock(&w->lock);
	if (begun && !over)
		procs_wait(w, c, first);
	return begun;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Posts and admits the current call, as far as the other ranks permit. */
static bool begun(struct world *w, unsigned polls)
{
	struct procs *p = cpu_of(w)->procs;

	if (!p->posted && atomic_load(&p->table->failed))
		procs_look(w);
	for (unsigned i = 0; i <= polls && !w->dead; i++) {
		if (!p->posted && procs_tried(w))
			p->posted = post(w);
		if (p->posted && !p->admitted && !w->dead)
			p->admitted = admit(w);
		if (p->admitted)
			return true;
		if (i < polls && !procs_pause(p))
			break;
	}
	return false;
}

/* Continues the current call. True: it is over. */
static bool step(struct world *w, unsigned polls)
{
	struct cpu *e = cpu_of(w);
	const struct run *r = w->runs;

	if (!r || w->dead || !begun(w, polls))
		return w->dead;
	if (e->procs->in_order) {
		procs_order_go(e, polls);
		procs_order_leave(e);
		if (w->runs != r)
			return true;
	}
	turn_ready(e);
	run_fibers(e, r, polls);
	return w->runs != r;
}

void procs_poll(struct world *w)
{
	pthread_mutex_lock(&w->lock);
	step(w, 0);
	pthread_mutex_unlock(&w->lock);
}

/* The longest sleep, in ms: as the program's idle function says, because it has other work; or
 * SLEEP_MS. */
static unsigned longest_nap(struct world *w)
{
	unsigned ms;

	if (!w->idle)
		return SLEEP_MS;
	pthread_mutex_unlock(&w->lock);
	ms = w->idle(w->idle_of);
	pthread_mutex_lock(&w->lock);
	return ms < SLEEP_MS ? ms : SLEEP_MS;
}

/* Whether something has arrived without a wake-up, because its writer looked for sleepers
 * without a fence. */
static bool has_news(struct world *w)
{
	struct cpu *e = cpu_of(w);
	const struct procs *p = e->procs;
	const bool posted = p->posted, admitted = p->admitted;

	if (!p->light || !w->runs || w->dead)
		return false;
	procs_barrier(p);
	if (!admitted)
		return begun(w, 0) || p->posted != posted;
	return fibers_wake_ready(e, (uint32_t)w->first);
}

/* Sleeps without work, then checks the other ranks. */
static void doze(struct world *w, const struct call *calls, unsigned ms, struct vigil *v)
{
	struct procs *p = cpu_of(w)->procs;
	uint32_t heard = procs_lie_down(p);

	if (!step(w, 0) && !has_news(w)) {
		pthread_mutex_unlock(&w->lock);
		procs_sleep(p, heard, run_poll_others(w, calls) ? NAP_MS : ms);
		pthread_mutex_lock(&w->lock);
	}
	procs_get_up(p);
	if (p->posted && w->runs && !w->dead)
		compare(w, w->runs->seq);
	procs_look(w);
	run_watch(w, v);
	procs_tell_death(w);
}

void procs_wait(struct world *w, struct call *calls, ccs_status *first)
{
	struct vigil v = { 0 };
	unsigned ms;

	pthread_mutex_lock(&w->lock);
	while (calls) {
		if (calls->comm->world != w || run_call_over(w, calls, first)) {
			calls = calls->next;
		} else if (!step(w, procs_polls(cpu_of(w)->procs))) {
			ms = longest_nap(w);
			if (ms)
				doze(w, calls, ms, &v);
		}
	}
	procs_tell_death(w);
	pthread_mutex_unlock(&w->lock);
}

bool procs_moved(const struct world *w, uint64_t *mark)
{
	const struct procs_table *t = cpu_of(w)->procs->table;
	uint64_t calls = 0, before = *mark, operations = 0;
	struct run *r = w->runs;

	for (int i = 0; i < w->nranks; i++) {
		uint64_t posted = atomic_load(&t->seats[i].begun);
		uint64_t finished = atomic_load(&t->seats[i].finished);

		calls += posted + finished;
		if (r && i != w->first) { /* for the report, if nothing moves */
			r->seats[i].called = posted > r->seq;
			r->seats[i].done = finished > r->seq;
		}
	}
	fibers_moved(w, &operations); /* of the previous call, until this one is admitted */
	*mark = calls * UINT64_C(0x9e3779b97f4a7c15) + operations;
	return *mark != before;
}

enum whereabouts procs_whereabouts(const struct world *w, int rank, struct text *t)
{
	const struct procs_seat *s = cpu_of(w)->procs->table->seats + rank;

	if (procs_stands_still(w, rank)) {
		procs_tell_still(w, rank, t);
		return WHERE_STILL;
	}
	return atomic_load(&s->begun) > atomic_load(&s->finished) &&
			       atomic_load(&s->begun) <= w->runs->seq
		       ? WHERE_BEFORE
		       : WHERE_IN_TURN;
}

bool procs_stuck(const struct world *w, int rank, struct text *t)
{
	if (cpu_of(w)->procs->admitted)
		return fibers_stuck(w, rank, t);
	if (rank == w->first)
		text_add(t, "rank %d waits for other ranks to finish an earlier call", rank);
	return rank == w->first;
}
