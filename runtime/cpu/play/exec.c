/*
 * The executor: a worker of a plan as a fiber, which can stop and continue.
 *
 * A fiber runs its operations in order, tile after tile. An operation needs its message, a free
 * slot, and enough progress of the workers that it waits for. If one is missing, the fiber sets
 * the flag of that event (of the FIFO or of the other fiber), checks again, and parks. A fiber
 * that publishes a message, a free slot or progress reads the flag afterwards and wakes the
 * waiter. All four accesses are sequentially consistent or separated by a fence, so at least one
 * side sees the other (Dekker's pattern). A wake-up between the second check and parking turns
 * RUNNING into NOTIFIED, and parking fails. A thread without other fibers may poll for a while
 * before it parks them (sched.c).
 *
 * O(1) an operation, plus its data.
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/core/cpu.h"

#include <stdlib.h>

static const struct ccs_op *next_op(const struct layout *l, const struct fiber *t)
{
	return l->view->ops + l->view->workers[t - l->fibers].op + t->op;
}

/* ---- waiting -----------------------------------------------------------------
 * With `flags`, the functions set the flag of the event that the fiber waits for. */

static bool has_message(const struct layout *l, uint32_t fifo, bool flags)
{
	if (fifo_has_message(l, fifo))
		return true;
	if (!flags)
		return false;
	atomic_store(&l->fifos[fifo].dst_waits, 1);
	return fifo_has_message(l, fifo);
}

static bool has_slot(const struct layout *l, uint32_t fifo, bool flags)
{
	if (fifo_has_slot(l, fifo))
		return true;
	if (!flags)
		return false;
	atomic_store(&l->fifos[fifo].src_waits, 1);
	return fifo_has_slot(l, fifo);
}

static bool has_waits(const struct layout *l, struct fiber *t, const struct ccs_op *o, bool flags)
{
	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_wait *w = l->view->waits + o->wait + i;
		struct fiber *other = l->fibers + w->worker;
		uint64_t need = t->tile * l->view->workers[w->worker].nops + w->ops;

		if (atomic_load_explicit(&other->done, memory_order_acquire) >= need)
			continue;
		if (!flags)
			return false;
		atomic_store(&t->watches, 1);
		atomic_store(&other->watched, 1);
		if (atomic_load(&other->done) < need)
			return false;
	}
	return true;
}

bool fiber_has_waits(const struct layout *l, struct fiber *t, const struct ccs_op *o)
{
	return has_waits(l, t, o, false);
}

static bool ready(const struct layout *l, struct fiber *t, const struct ccs_op *o, bool flags)
{
	return has_waits(l, t, o, flags) && (o->in == CCS_NONE || has_message(l, o->in, flags)) &&
	       (o->out == CCS_NONE || has_slot(l, o->out, flags));
}

/* ---- waking -------------------------------------------------------------------- */

static void wake(struct cpu *e, struct fiber *t)
{
	uint32_t s = atomic_load(&t->state);

	for (;;) {
		if (s == FIBER_PARKED) {
			if (!atomic_compare_exchange_weak(&t->state, &s, FIBER_QUEUED))
				continue;
			if (is_here(e, t->rank))
				sched_ready(e, t);
			else
				e->wire->wake(e, t);
			return;
		}
		if (s != FIBER_RUNNING ||
		    atomic_compare_exchange_weak(&t->state, &s, FIBER_NOTIFIED))
			return;
	}
}

static void wake_watchers(struct cpu *e, const struct layout *l, uint32_t rank)
{
	const struct ccs_rank *r = l->view->ranks + rank;

	for (uint32_t i = r[0].worker; i < r[1].worker; i++) {
		struct fiber *t = l->fibers + i;

		if (atomic_load(&t->watches) && atomic_exchange(&t->watches, 0))
			wake(e, t);
	}
}

/* Publishes the count to the other end, whose flag may be read afterwards. A plain store
 * queues behind the stores of the message to the same cache line. A sequentially consistent
 * store would first wait for them, and the receiver, which polls that line, might take the
 * line away in between. */
static void publish(_Atomic uint64_t *count, uint64_t to)
{
	atomic_store_explicit(count, to, memory_order_release);
	fence();
}

void fifo_wake(struct cpu *e, _Atomic uint32_t *waits, uint32_t worker)
{
	if (atomic_exchange(waits, 0))
		wake(e, e->layout.fibers + worker);
}

void fifo_filled(struct cpu *e, uint32_t fifo, uint64_t message)
{
	const struct layout *l = &e->layout;
	struct fifo *c = l->fifos + fifo;

	publish(&slot_line_of(l->slots + fifo, message)->there, l->first + message);
	if (atomic_load(&c->dst_waits))
		fifo_wake(e, &c->dst_waits, l->view->fifos[fifo].dst_worker);
}

void fifo_freed(struct cpu *e, uint32_t fifo, uint64_t tail)
{
	const struct layout *l = &e->layout;
	struct fifo *c = l->fifos + fifo;

	publish(&c->tail, tail);
	if (atomic_load(&c->src_waits))
		fifo_wake(e, &c->src_waits, l->view->fifos[fifo].src_worker);
}

static void sent(struct cpu *e, const struct layout *l, const struct ccs_op *o, size_t lo)
{
	struct fifo *c = l->fifos + o->out;
	uint64_t head = atomic_load_explicit(&c->head, memory_order_relaxed);

	atomic_store_explicit(&c->head, head + 1, memory_order_relaxed);
	fifo_filled(e, o->out, head);
	if (e->wire && e->wire->sent)
		e->wire->sent(e, o, lo);
}

static void received(struct cpu *e, const struct layout *l, uint32_t fifo)
{
	struct fifo *c = l->fifos + fifo;

	fifo_freed(e, fifo, atomic_load_explicit(&c->tail, memory_order_relaxed) + 1);
	if (e->wire && e->wire->received)
		e->wire->received(e, fifo);
}

static unsigned char *slot(const struct slots *s, const _Atomic uint64_t *count)
{
	return slot_of(s, atomic_load_explicit(count, memory_order_relaxed));
}

static void advanced(struct cpu *e, const struct layout *l, struct fiber *t, const struct ccs_op *o)
{
	uint64_t done = atomic_load_explicit(&t->done, memory_order_relaxed) + 1;

	if (!(o->flags & CCS_OP_AWAITED)) { /* no fiber waits for it */
		atomic_store_explicit(&t->done, done, memory_order_release);
		return;
	}
	atomic_store(&t->done, done);
	if (atomic_load(&t->watched) && atomic_exchange(&t->watched, 0))
		wake_watchers(e, l, t->rank);
}

static void lock(struct cpu *e)
{
	if (!e->wire || !e->wire->locked)
		pthread_mutex_lock(&e->world->lock);
}

static void unlock(struct cpu *e)
{
	if (!e->wire || !e->wire->locked)
		pthread_mutex_unlock(&e->world->lock);
}

/* ---- running -------------------------------------------------------------------- */

static void trace_rank_begin(struct cpu *e, uint32_t rank)
{
	struct traced *x = trace_run(e->world, e->layout.run, e->layout.ntiles);

	if (e->trace != x)
		e->trace = x;
	if (x)
		x->ranks[rank - (uint32_t)e->world->first].begin = clock_ns();
}

static void trace_rank_end(struct cpu *e, uint32_t rank)
{
	struct trace_time *x =
		e->trace ? e->trace->ranks + (rank - (uint32_t)e->world->first) : NULL;

	if (x)
		trace_note(x, x->begin, clock_ns(), 0, 0);
}

/* After the last event the run may end, and its layout may be reused. */
void rank_less(struct cpu *e, uint32_t rank)
{
	struct layout *l = &e->layout;

	if (!is_here(e, rank)) {
		e->wire->pulled(e, rank);
		return;
	}
	if (atomic_fetch_sub(&l->ranks[rank].left, 1) != 1)
		return;
	piece_after(l, rank, NULL);
	trace_rank_end(e, rank);
	lock(e);
	if (e->wire && e->wire->done)
		e->wire->done(e);
	run_rank_done(e->world, rank);
	unlock(e);
}

/* A rank of the current run, after one of its messages has come. */
static const struct rank_io *rank_io_of(struct cpu *e, uint32_t rank)
{
	if (!is_here(e, rank))
		e->wire->find(e, rank);
	return e->ranks + rank;
}

/* Finds where a receiving operation reads a held message: in the sender's cells; or, if the
 * memory of the sender's process cannot be read in place, in a copy in this process or in the
 * slot. */
static void find_held(struct cpu *e, const struct ccs_op *o, const struct ccs_op *from, size_t lo,
		      unsigned char *in, struct ends *ends)
{
	if (e->ranks[e->layout.view->fifos[o->in].src].foreign)
		ends->stored = e->wire->pull(e, o, from, lo, in);
	else
		ends->held = from;
}

/* Whether the sent message stays in cells of the rank, without a slot. */
static bool stays_in_cells(struct cpu *e, const struct fiber *t, const struct ccs_op *o, size_t lo)
{
	return is_held(e->ranks + t->rank, o) ||
	       (e->wire && e->wire->sends_cells && e->wire->sends_cells(e, o, lo));
}

/* Does the operation. False: another process has failed. */
static inline __attribute__((always_inline)) bool step(struct cpu *e, struct layout *l,
						       struct fiber *t, const struct ccs_op *o)
{
	size_t lo = (size_t)t->tile * l->tile;
	struct ends ends = { 0 };
	bool held = false;

	if (o->in != CCS_NONE) {
		const struct ccs_op *from = l->view->ops + l->prep->from[o - l->view->ops];
		unsigned char *in = slot(l->slots + o->in, &l->fifos[o->in].tail);

		ends.in = in;
		if (e->wire && e->wire->in_cells)
			ends.in = e->wire->in_cells(e, o->in, in);
		held = l->holds && is_held(rank_io_of(e, l->view->fifos[o->in].src), from);
		if (held && o->n)
			find_held(e, o, from, lo, in, &ends);
	}
	if (o->out != CCS_NONE && !stays_in_cells(e, t, o, lo))
		ends.out = slot(l->slots + o->out, &l->fifos[o->out].head);
	if (o->n)
		ops_do(e, t, o, lo, ends);
	if (held && e->wire && e->wire->failed(e))
		return false;
	if (o->out != CCS_NONE)
		sent(e, l, o, lo);
	if (o->in != CCS_NONE)
		received(e, l, o->in);
	if (held)
		rank_less(e, l->view->fifos[o->in].src);
	advanced(e, l, t, o);
	if (++t->op == l->view->workers[t - l->fibers].nops) {
		t->op = 0;
		t->tile++;
	}
	return true;
}

/* The same, with its times recorded. */
static RARE void traced_step(struct cpu *e, struct layout *l, struct fiber *t,
			     const struct ccs_op *o)
{
	struct trace_time *x = trace_at(e->trace, (uint64_t)(o - l->view->ops), t->tile);
	size_t bytes = x ? piece_bytes(l, t->rank, o, (size_t)t->tile * l->tile) : 0;
	uint64_t begin = clock_ns();

	if (step(e, l, t, o) && x)
		trace_note(x, begin, clock_ns(), bytes, 0);
}

static void push_workers(struct cpu *e, const struct layout *l, uint32_t rank)
{
	const struct ccs_rank *r = l->view->ranks + rank;

	for (uint32_t i = r[0].worker; i < r[1].worker; i++) {
		atomic_store_explicit(&l->fibers[i].state, FIBER_QUEUED, memory_order_release);
		sched_add(e, l->fibers + i);
	}
}

/* Begins a rank. The fiber that does it counts as one of the rank's, so that the rank cannot
 * end before it returns. */
static void begin(struct cpu *e, struct layout *l, uint32_t rank)
{
	piece_before(l, l->ranks + rank);
	lock(e);
	if (!atomic_load(&l->run->failed))
		push_workers(e, l, rank);
	unlock(e);
	rank_less(e, rank);
}

/* Parks a fiber that cannot continue. False: it was woken meanwhile. */
static bool park(struct fiber *t)
{
	uint32_t running = FIBER_RUNNING;

	if (atomic_compare_exchange_strong(&t->state, &running, FIBER_PARKED))
		return true;
	atomic_exchange(&t->state, FIBER_RUNNING); /* was NOTIFIED */
	return false;
}

bool fibers_wake_ready(struct cpu *e, uint32_t rank)
{
	const struct layout *l = &e->layout;
	const struct ccs_rank *r = l->view->ranks + rank;
	bool any = false;

	for (uint32_t i = r[0].worker; i < r[1].worker; i++) {
		struct fiber *t = l->fibers + i;

		if (atomic_load(&t->state) != FIBER_PARKED || !ready(l, t, next_op(l, t), false))
			continue;
		wake(e, t);
		any = true;
	}
	return any;
}

/* Runs a fiber until it waits, ends, or its run has failed. *any: it made progress. True, with
 * `polled`: it waits but is not parked, and must be run again. Otherwise it may no longer
 * exist. */
static inline __attribute__((always_inline)) bool
fiber_run_as(struct cpu *e, struct fiber *t, bool polled, bool *any, const bool traced)
{
	struct layout *l = &e->layout;
	uint32_t i = (uint32_t)(t - l->fibers), rank = t->rank;

	if (atomic_load(&l->run->failed))
		return false;
	/* a queued fiber belongs to this thread */
	if (atomic_load_explicit(&t->state, memory_order_relaxed) != FIBER_RUNNING)
		atomic_store_explicit(&t->state, FIBER_RUNNING, memory_order_relaxed);
	if (i >= l->nworkers) {
		begin(e, l, rank);
		return false;
	}
	while (l->view->workers[i].nops && t->tile < l->ntiles) {
		const struct ccs_op *o = next_op(l, t);

		if (atomic_load_explicit(&l->run->failed, memory_order_relaxed))
			return false;
		if (!ready(l, t, o, !polled)) {
			if (polled)
				return true;
			if (park(t))
				return false;
			continue;
		}
		if (traced)
			traced_step(e, l, t, o);
		else
			(void)step(e, l, t, o);
		*any = true;
	}
	atomic_store_explicit(&t->state, FIBER_FINISHED, memory_order_release);
	rank_less(e, rank);
	return false;
}

static RARE bool fiber_run_traced(struct cpu *e, struct fiber *t, bool polled, bool *any)
{
	return fiber_run_as(e, t, polled, any, true);
}

static bool fiber_run(struct cpu *e, struct fiber *t, bool polled, bool *any)
{
	return fiber_run_as(e, t, polled, any, false);
}

bool fibers_turn(struct cpu *e, struct fiber **turn, bool polled)
{
	struct fiber *t = *turn;
	bool any = false;

	*turn = NULL;
	while (t) {
		struct fiber *next = t->next;

		if (e->trace ? fiber_run_traced(e, t, polled, &any)
			     : fiber_run(e, t, polled, &any)) {
			t->next = *turn;
			*turn = t;
		}
		t = next;
	}
	return any;
}

/* Memory of at least `need` bytes for the rank, readable by other processes. */
static bool grow_aside(struct cpu *e, struct rank_io *io, size_t need)
{
	struct world *w = e->world;
	void *aside;

	if (need <= io->aside_bytes && io->aside)
		return true;
	if (world_alloc(w, need + 1, &aside))
		return false;
	rank_free(e, io);
	io->aside = aside;
	io->aside_bytes = need;
	return true;
}

void rank_free(struct cpu *e, struct rank_io *io)
{
	if (io->aside)
		world_release(e->world, io->aside, io->aside_bytes + 1);
	io->aside = NULL;
	io->aside_bytes = 0;
}

/* Sets the buffers that the rank reads and writes: the caller's; or separate memory, if the
 * rank would overwrite data before it is read, or has no output buffer (and the contract
 * promises nothing there). */
static bool place_buffers(struct cpu *e, struct rank_io *io, const struct call *c)
{
	struct placing where = call_placing(c, c->prep->ranks + c->comm->rank);
	const struct in_place *p = &c->prep->ranks[c->comm->rank].in_place;

	/* Messages may be stored as they arrive, before their operation is due. So the input
	 * must be copied first, unless nothing needs a copy. */
	if (e->wire && e->wire->in_cells && !p->ncopied)
		where.in_place = false;
	io->send = c->send;
	io->recv = c->recv;
	io->copy_aside = where.copy_aside && !(where.in_place && !p->ncopied);
	/* the notes of operations hold at any address of the buffers */
	io->partly = io->copy_aside && where.in_place && e->wire && !e->laid->nops;
	if (!io->copy_aside && !where.lacks)
		return true;
	if (!grow_aside(e, io, where.lacks ? c->recv_bytes : c->send_bytes))
		return false;
	if (where.lacks)
		io->recv = io->aside;
	else
		io->send = io->aside;
	return true;
}

ccs_status rank_place(struct cpu *e, struct call *c)
{
	struct rank_io *io = e->ranks + c->comm->rank;

	io->call = c;
	if (!place_buffers(e, io, c))
		return error_set(CCS_ENOMEM, "out of memory for a copy of the input");
	return CCS_OK;
}

ccs_status rank_start(struct cpu *e, uint32_t rank)
{
	struct layout *l = &e->layout;
	struct rank_io *io = l->ranks + rank;
	const struct ccs_rank *r = l->view->ranks + rank;
	uint32_t workers = r[1].worker - r[0].worker;
	ccs_status s = rank_place(e, l->run->seats[rank].call);
	uint64_t more;

	if (s)
		return s;
	trace_rank_begin(e, rank);
	if (e->wire)
		ops_place(e);
	io->holds = l->holds && (!e->wire || e->wire->holds(e, io));
	more = io->holds ? l->prep->ranks[rank].held * l->ntiles : 0;
	if (e->wire && e->wire->outgoing)
		more += e->wire->outgoing(e);
	if (workers && !io->copy_aside) {
		atomic_store(&io->left, workers + more);
		push_workers(e, l, rank);
		return CCS_OK;
	}
	atomic_store(&io->left, workers + more + 1);
	atomic_store(&l->fibers[l->nworkers + rank].state, FIBER_QUEUED);
	sched_add(e, l->fibers + l->nworkers + rank);
	return CCS_OK;
}

void rank_resume(struct cpu *e, uint32_t rank)
{
	struct layout *l = &e->layout;
	const struct ccs_rank *r = l->view->ranks + rank;
	uint64_t left = 1;

	e->trace = NULL; /* only fibers that rank_start starts are traced */
	for (uint32_t i = r[0].worker; i < r[1].worker; i++) {
		struct fiber *t = l->fibers + i;
		bool more = t->op < l->view->workers[i].nops;

		atomic_store(&t->done, t->op);
		atomic_store(&t->state, more ? FIBER_QUEUED : FIBER_FINISHED);
		if (!more)
			continue;
		left++;
		sched_add(e, t);
	}
	atomic_store(&l->ranks[rank].left, left);
	rank_less(e, rank);
}

/* ---- progress, and which rank waits for which ------------------------------------
 * Progress is a sum of counters that exist anyway, so fibers do no extra work. A stuck rank is
 * reported while no fiber runs and none is ready, so the states of all fibers are stable.
 * O(fibers). */

bool fibers_moved(const struct world *w, uint64_t *mark)
{
	const struct run *r = w->runs;
	const struct cpu *e = cpu_of(w);
	uint64_t sum = 0, before = *mark;

	if (r && r->started && !r->failed)
		for (uint32_t i = 0; i < e->layout.nworkers; i++)
			sum += atomic_load_explicit(&e->layout.fibers[i].done,
						    memory_order_relaxed);
	*mark = sum;
	return sum != before || e->running || e->first;
}

/* The event that the fiber's next operation waits for; BLOCKED_NOT if it is not parked. */
enum blocked { BLOCKED_NOT, BLOCKED_RECV, BLOCKED_SEND, BLOCKED_WORKER };

static enum blocked fiber_blocked(const struct layout *l, struct fiber *t)
{
	const struct ccs_op *o = next_op(l, t);

	/* the state of a fiber in another process is as last stored there */
	if (atomic_load(&t->state) != FIBER_PARKED || t->op >= l->view->workers[t - l->fibers].nops)
		return BLOCKED_NOT;
	if (!has_waits(l, t, o, false))
		return BLOCKED_WORKER;
	if (o->in != CCS_NONE && !has_message(l, o->in, false))
		return BLOCKED_RECV;
	return BLOCKED_SEND;
}

/* The fiber of the rank to report: preferably one that waits for another rank. */
static struct fiber *stuck_fiber(const struct layout *l, uint32_t rank, enum blocked *how)
{
	const struct ccs_rank *r = l->view->ranks + rank;
	struct fiber *found = NULL;

	*how = BLOCKED_NOT;
	for (uint32_t i = r[0].worker; i < r[1].worker; i++) {
		enum blocked b = fiber_blocked(l, l->fibers + i);

		if (b == BLOCKED_RECV || b == BLOCKED_SEND || (b == BLOCKED_WORKER && !found)) {
			*how = b;
			found = l->fibers + i;
		}
		if (b == BLOCKED_RECV || b == BLOCKED_SEND)
			break;
	}
	return found;
}

static void report_fiber(struct text *out, const struct layout *l, const struct fiber *t,
			 enum blocked how)
{
	const struct ccs_op *o = next_op(l, t);
	const struct ccs_module *m = l->run->params.module;

	text_add(out, "rank %u waits at %.200s:%u", t->rank, m->text + m->files[o->file].name,
		 o->line);
	switch (how) {
	case BLOCKED_RECV:
		text_add(out, " to receive from rank %u", l->view->fifos[o->in].src);
		break;
	case BLOCKED_SEND: text_add(out, " to send to rank %u", l->view->fifos[o->out].dst); break;
	case BLOCKED_WORKER: text_add(out, " for an operation of its own"); break;
	case BLOCKED_NOT: break;
	}
}

bool fibers_stuck(const struct world *w, int rank, struct text *t)
{
	const struct layout *l = &cpu_of(w)->layout;
	enum blocked how;
	struct fiber *fiber = stuck_fiber(l, (uint32_t)rank, &how);

	if (fiber)
		report_fiber(t, l, fiber, how);
	return fiber;
}
