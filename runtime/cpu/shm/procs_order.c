/*
 * A process's own operations, one after another in the plan's order.
 *
 * In: a call with short chunks in one tile, so that no message is held. While everything that an
 * operation needs comes soon, another order gains nothing, and the cost of fibers is saved: their
 * states, and the counts by which they wait for one another. Other ranks' processes may use
 * fibers. If the next operation has to wait for long, the fibers of all workers continue from
 * there.
 *
 * Programs repeat calls, so the operations are listed once for each layout, with the FIFOs and
 * slots that each uses, and the rank's buffers are set once while they stay the same. Whether the
 * other end of a message sleeps, a check that may cost a fence, is checked late: before this
 * process waits for long itself, and at the end, for all operations so far. (Not later: when the
 * rank has finished the call, others may lay out another.)
 *
 * Messages of some KiB are stored through the caches or past them (piece.c), whichever is faster.
 * Each rank finds that alone for each layout: of every PERIOD calls the first TRIES are done in
 * one way, then as many in the other. The least time of the latter half of each counts, when
 * slots are in the state that the way leaves them in. For a rank that sends last the time until
 * its next such call counts, because its call ends before the message is read. 8 KiB took 1.0 us
 * through the caches and 1.2 past them between near cores, and 4.2 and 1.4 between distant ones.
 *
 * O(1) an operation, plus its data.
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/shm/procs.h"
#include "runtime/plan/order.h"

#include <stdlib.h>

#define LOOKS 8u		/* polls of the awaited event in one round */
#define ASKED ((size_t)2 << 10) /* bytes of a slot from which the way of storing matters */
#define TRIES 8u
#define PERIOD 4000u

bool procs_order_may(const struct layout *l)
{
	return l->ahead > 1 && l->ntiles == 1 && l->prep->order;
}

/* ---- the list ------------------------------------------------------------------------------- */

static bool make_room(struct procs_order *list, uint32_t n)
{
	struct procs_op *more = n > list->room ? realloc(list->ops, n * sizeof(*more)) : list->ops;

	if (n > list->room && !more)
		return false;
	list->ops = more;
	list->room = n > list->room ? n : list->room;
	return true;
}

static struct fiber *fiber_of(const struct layout *l, uint32_t rank, uint32_t row)
{
	uint32_t i = l->view->ranks[rank].worker;

	while (row - l->view->workers[i].op >= l->view->workers[i].nops)
		i++;
	return l->fibers + i;
}

static struct procs_op list_op(const struct layout *l, uint32_t rank, uint32_t row)
{
	const struct ccs_op *o = l->view->ops + row;
	struct procs_op x = { .op = o, .fiber = fiber_of(l, rank, row) };

	if (o->in != CCS_NONE) {
		x.in = l->fifos + o->in;
		x.from = l->slots + o->in;
	}
	if (o->out != CCS_NONE) {
		x.out = l->fifos + o->out;
		x.to = l->slots + o->out;
	}
	return x;
}

/* Whether some slot is long enough, and the machine has stores past the caches. */
static bool asks(const struct cpu *e, const struct procs_order *list)
{
	bool any = false;

	for (uint32_t i = 0; i < list->n; i++)
		any |= list->ops[i].to && list->ops[i].to->bytes >= ASKED;
	return any && e->cached && e->reduce->stream;
}

/* O(operations x workers) of the rank. False: no memory. */
static bool make_list(struct cpu *e)
{
	const struct layout *l = &e->layout;
	struct procs_order *list = &e->procs->current->order;
	uint32_t rank = (uint32_t)e->world->first;
	struct op_range own = plan_ops_of(l->view, rank);

	list->of = 0;
	if (!make_room(list, own.n))
		return false;
	for (uint32_t i = 0; i < own.n; i++)
		list->ops[i] = list_op(l, rank, l->prep->order[own.first + i]);
	list->n = own.n;
	list->of = l->id;
	list->placed = false;
	list->ends = piece_has_after(l, rank);
	list->manner = (struct procs_manner){
		.asked = asks(e, list),
		.ahead = list->n && !list->ops[list->n - 1].in,
	};
	return true;
}

static ccs_status place_rank(struct cpu *e, struct call *c)
{
	struct procs_order *list = &e->procs->current->order;
	ccs_status s = rank_place(e, c);

	list->placed = !s;
	list->send = c->send;
	list->recv = c->recv;
	if (!s)
		ops_place(e);
	return s;
}

/* ---- how messages are stored ----------------------------------------------------------------- */

/* Records the time of the last call, if it was part of a trial. */
static void manner_took(struct procs_manner *m, uint64_t now)
{
	uint32_t call = m->calls - 1;
	uint64_t *least = m->least + (call >= TRIES), ns = now - m->begun;

	if (call % TRIES >= TRIES / 2 && ns < *least)
		*least = ns;
}

static void manner_begin(struct cpu *e, struct procs_manner *m)
{
	uint64_t now = m->begun || m->calls == PERIOD || !m->calls ? clock_ns() : 0;
	uint32_t call;

	if (m->ahead && m->begun)
		manner_took(m, now);
	call = m->calls++;
	if (call == 2 * TRIES)
		m->streams = m->least[1] < m->least[0];
	if (call == PERIOD) {
		m->calls = 1;
		call = 0;
	}
	if (!call)
		m->least[0] = m->least[1] = UINT64_MAX;
	m->begun = call < 2 * TRIES ? now : 0;
	e->layout.stream = (m->begun ? call >= TRIES : m->streams) ? e->reduce->stream : NULL;
}

static void manner_end(struct procs_manner *m)
{
	if (m->begun && !m->ahead)
		manner_took(m, clock_ns());
}

/* ---- doing it ------------------------------------------------------------------------------- */

ccs_status procs_order_begin(struct cpu *e, struct call *c)
{
	struct procs *p = e->procs;
	struct procs_order *list = &p->current->order;
	struct rank_io *io = e->ranks + e->world->first;
	ccs_status s = CCS_OK;

	if (!procs_order_listed(e->procs, &e->layout) && !make_list(e))
		return error_set(CCS_ENOMEM, "out of memory for a list of operations");
	if (!list->placed || c->send != list->send || c->recv != list->recv)
		s = place_rank(e, c);
	if (s)
		return s;
	io->call = c;
	io->holds = false;
	if (io->copy_aside)
		piece_before(&e->layout, io);
	list->done = list->told = 0;
	p->in_order = true;
	if (list->manner.asked)
		manner_begin(e, &list->manner);
	return CCS_OK;
}

bool procs_order_again(struct cpu *e, const void *send, const void *recv)
{
	struct procs_order *list = &e->procs->current->order;
	struct rank_io *io = e->ranks + e->world->first;

	if (!procs_order_listed(e->procs, &e->layout) || !list->placed || send != list->send ||
	    recv != list->recv || io->copy_aside)
		return false;
	io->call = NULL; /* there is none to report */
	list->done = list->told = 0;
	e->procs->in_order = true;
	if (list->manner.asked)
		manner_begin(e, &list->manner);
	return true;
}

static inline bool ready(const struct layout *l, const struct procs_op *x)
{
	return (!x->in || slots_have_message(l, x->in, x->from)) &&
	       (!x->out || slots_have_room(x->out, x->to));
}

static bool poll_op(const struct layout *l, const struct procs_op *x)
{
	for (unsigned i = 0; i < LOOKS; i++)
		if (ready(l, x))
			return true;
	return false;
}

/* Wakes sleeping fibers of other processes: a message is there, or was received. */
static void wake_ends(struct cpu *e, const struct procs_op *x)
{
	const struct ccs_fifo *fifos = e->layout.view->fifos;

	if (x->out && atomic_load(&x->out->dst_waits))
		fifo_wake(e, &x->out->dst_waits, fifos[x->op->out].dst_worker);
	if (x->in && atomic_load(&x->in->src_waits))
		fifo_wake(e, &x->in->src_waits, fifos[x->op->in].src_worker);
}

/* The same for all operations so far. */
static void wake_all_ends(struct cpu *e)
{
	struct procs_order *list = &e->procs->current->order;

	procs_fence(e->procs);
	for (; list->told < list->done; list->told++)
		wake_ends(e, list->ops + list->told);
}

/* Polls for the operation's message and slot. False: they have not come. */
static bool await_op(struct cpu *e, const struct procs_op *x, unsigned polls)
{
	for (unsigned i = 0; i < polls; i++) {
		if (poll_op(&e->layout, x))
			return true;
		if (!i)
			wake_all_ends(e);
		if (!procs_pause(e->procs))
			break;
	}
	return polls && ready(&e->layout, x);
}

/* Publishes at both ends, by message numbers, what was sent and received. */
static void publish_send(const struct layout *l, const struct procs_op *x)
{
	uint64_t head = atomic_load_explicit(&x->out->head, memory_order_relaxed);

	atomic_store_explicit(&x->out->head, head + 1, memory_order_relaxed);
	atomic_store_explicit(&slot_line_of(x->to, head)->there, l->first + head,
			      memory_order_release);
}

static void publish_receive(const struct procs_op *x)
{
	uint64_t tail = atomic_load_explicit(&x->in->tail, memory_order_relaxed);

	atomic_store_explicit(&x->in->tail, tail + 1, memory_order_release);
}

/* Does an operation that need not wait. */
static void do_op(struct cpu *e, const struct procs_op *x)
{
	struct ends ends = { 0 };

	if (x->in)
		ends.in =
			slot_of(x->from, atomic_load_explicit(&x->in->tail, memory_order_relaxed));
	if (x->out)
		ends.out =
			slot_of(x->to, atomic_load_explicit(&x->out->head, memory_order_relaxed));
	if (x->op->n)
		ops_do(e, x->fiber, x->op, 0, ends);
	if (x->out)
		publish_send(&e->layout, x);
	if (x->in)
		publish_receive(x);
}

bool procs_order_go(struct cpu *e, unsigned polls)
{
	struct procs_order *list = &e->procs->current->order;

	for (; list->done < list->n; list->done++) {
		const struct procs_op *x = list->ops + list->done;

		if (!ready(&e->layout, x) && !await_op(e, x, polls))
			break;
		do_op(e, x);
	}
	wake_all_ends(e);
	return list->done == list->n;
}

void procs_order_end(struct cpu *e)
{
	struct procs_order *list = &e->procs->current->order;

	if (list->ends)
		piece_after(&e->layout, (uint32_t)e->world->first, NULL);
	e->procs->in_order = false;
	if (list->manner.asked)
		manner_end(&list->manner);
}

/* The operations that were done are the first ones of each worker. */
void procs_order_leave(struct cpu *e)
{
	struct procs_order *list = &e->procs->current->order;

	for (uint32_t i = 0; i < list->done; i++)
		list->ops[i].fiber->op++;
	e->procs->in_order = false;
	rank_resume(e, (uint32_t)e->world->first);
}
