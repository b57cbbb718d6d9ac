/*
 * A plan as rounds: when each operation is done, and in which round each message goes.
 *
 * In: a verified plan. Out: struct rounds (rounds.h says what it means). One walk over
 * the operations, in an order in which each comes after what it waits for; it notes for
 * every cell before when it may not be read or written again. A second one, backwards,
 * finds the messages that can be sent from where they are.
 * O(cells of all operations + messages * log + nranks * cells).
 */
#include "runtime/plan/rounds.h"

#include "runtime/base/error.h"
#include "runtime/plan/prep.h"

#include <stdlib.h>
#include <string.h>

/* A time: phase, level. In one number, so that the next level is one more. */
#define TIME(phase) ((uint64_t)(phase) << 32)

/* In one row: phase 0 is at 2, round 1 at 3, phase 1 at 4, ... 0: never. */
static uint64_t phase_at(uint32_t phase)
{
	return 2 * (uint64_t)phase + 2;
}

static uint64_t round_at(uint32_t round)
{
	return 2 * (uint64_t)round + 1;
}

struct maker {
	struct rounds *r;
	const struct ccs_module *m;
	const struct plan_view *v;
	bool ordered;		 /* the plan promises an order of ranks */
	uint32_t width;		 /* cells of a rank */
	uint32_t *base;		 /* [workers + 1]: events of a worker */
	uint32_t *done;		 /* [workers]: its operations, so far */
	bool *pending;		 /* [workers]: it is on the stack */
	uint32_t *stack, *until; /* workers that others wait for; ... to do so many */
	uint32_t *order;	 /* events, as walked */
	uint32_t walked;
	uint32_t *message;	/* [fifos + 1]: its first message */
	uint32_t *count;	/* [fifos] */
	uint64_t *read, *write; /* [nranks * width]: the first time at which it can be read;
				   ... at which it can be written */
};

static ccs_status wrong(const struct maker *k, const char *what)
{
	return error_set(CCS_EFILE, "the plan of %s for %u ranks %s: compile the schedule again",
			 ccs_module_schedule(k->m), k->v->plan->nranks, what);
}

static const struct ccs_op *op_of(const struct maker *k, const struct rounds_event *e)
{
	return k->v->ops + e->op;
}

static uint64_t *cell_of(const struct maker *k, uint64_t *table, uint32_t rank, uint32_t cell)
{
	return table + (size_t)rank * k->width + cell;
}

/* ---- events and messages ------------------------------------------------------------- */

static ccs_status number_messages(struct maker *k)
{
	const struct ccs_plan *p = k->v->plan;
	uint64_t n = 0;

	for (uint64_t i = 0; i < p->fifos.n; i++) {
		k->message[i] = (uint32_t)n;
		n += k->v->fifos[i].messages;
		if (n > p->ops.n)
			return wrong(k, "has messages that nobody sends");
	}
	k->r->nmessages = (uint32_t)n;
	k->r->messages = calloc(n + 1, sizeof(*k->r->messages));
	if (!k->r->messages)
		return error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	for (uint32_t i = 0, x = 0; i < p->fifos.n; i++)
		for (uint32_t j = 0; j < k->v->fifos[i].messages; j++)
			k->r->messages[x++] = (struct rounds_message){
				.fifo = i, .seq = j, .sends = CCS_NONE, .receives = CCS_NONE
			};
	return CCS_OK;
}

/* The next message of the FIFO; CCS_NONE: there are no more. */
static uint32_t next_message(struct maker *k, uint32_t fifo)
{
	if (k->count[fifo] == k->v->fifos[fifo].messages)
		return CCS_NONE;
	return k->message[fifo] + k->count[fifo]++;
}

static bool match(struct maker *k, bool sends)
{
	for (uint32_t i = 0; i < k->r->nevents; i++) {
		struct rounds_event *e = k->r->events + i;
		uint32_t fifo = sends ? op_of(k, e)->out : op_of(k, e)->in, x;

		if (fifo == CCS_NONE)
			continue;
		x = next_message(k, fifo);
		if (x == CCS_NONE)
			return false;
		if (sends) {
			e->out = x;
			k->r->messages[x].sends = i;
		} else {
			e->in = x;
			k->r->messages[x].receives = i;
		}
	}
	for (uint64_t i = 0; i < k->v->plan->fifos.n; i++)
		if (k->count[i] != k->v->fifos[i].messages)
			return false;
	memset(k->count, 0, k->v->plan->fifos.n * sizeof(*k->count));
	return true;
}

static ccs_status make_events(struct maker *k)
{
	const struct plan_view *v = k->v;
	uint32_t n = 0;

	for (uint32_t r = 0; r < v->plan->nranks; r++) {
		k->r->first[r] = n;
		for (uint32_t w = v->ranks[r].worker; w < v->ranks[r + 1].worker; w++) {
			k->base[w] = n;
			for (uint32_t i = 0; i < v->workers[w].nops; i++)
				k->r->events[n++] =
					(struct rounds_event){ .op = v->workers[w].op + i,
							       .rank = r,
							       .in = CCS_NONE,
							       .out = CCS_NONE };
		}
	}
	k->r->first[v->plan->nranks] = k->base[v->plan->workers.n] = n;
	k->r->nevents = n;
	if (!match(k, true) || !match(k, false))
		return wrong(k, "has messages that nobody sends, or nobody receives");
	return CCS_OK;
}

/* ---- lengths ------------------------------------------------------------------------- */

static const struct ccs_shape *shape_of(const struct maker *k, uint32_t cell)
{
	const struct ccs_shape *s = k->v->shapes;

	while (cell - s->cell >= (uint64_t)s->chunks * s->blocks)
		s++;
	return s;
}

static uint32_t len_of(const struct ccs_op *o, uint32_t j)
{
	return o->flags & CCS_OP_LEN_SAME ? o->len : o->len + j;
}

/* Whether two cells of buffers are equally long for every count that can be run. */
static bool same_length(const struct maker *k, uint32_t x, uint32_t y)
{
	const struct ccs_shape *s = shape_of(k, x), *t = shape_of(k, y);

	return x == y ||
	       (s->chunks == t->chunks && ((x - s->cell) % s->chunks == (y - t->cell) % t->chunks ||
					   k->m->head->flags & CCS_MODULE_EVEN_COUNTS));
}

static bool same_lengths(const struct maker *k, const struct ccs_op *x, const struct ccs_op *y)
{
	for (uint32_t j = 0; j < x->n; j++)
		if (!same_length(k, len_of(x, j), len_of(y, j)))
			return false;
	return true;
}

/* Whether the operation's value, n cells from `cell`, lies there without a gap. */
static bool whole(const struct maker *k, const struct ccs_op *o, uint32_t cell)
{
	uint32_t cells = k->v->plan->cells;

	if (cell >= cells)
		return o->n == 1; /* scratch is as long as any cell */
	if (cell + o->n > cells || shape_of(k, cell) != shape_of(k, cell + o->n - 1))
		return false;
	for (uint32_t j = 0; j < o->n; j++)
		if (!same_length(k, len_of(o, j), cell + j))
			return false;
	return true;
}

/* ---- times ------------------------------------------------------------------------------ */

static void later(uint64_t *time, uint64_t than)
{
	*time = *time > than ? *time : than;
}

/* When an event is over. One that writes what it has yet to read takes two levels. */
static uint64_t end_of(const struct maker *k, const struct rounds_event *e)
{
	return TIME(e->phase) + e->level + 1 + prep_shifted(op_of(k, e));
}

/* The plan promises an order, to which messages without cells may belong: the event comes
 * after what its worker does before it, and after what it waits for. */
static void keep_order(const struct maker *k, uint32_t w, const struct rounds_event *e, uint64_t *t)
{
	const struct ccs_op *o = op_of(k, e);

	if (e > k->r->events + k->base[w])
		later(t, end_of(k, e - 1));
	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_wait *x = k->v->waits + o->wait + i;

		if (x->ops)
			later(t, end_of(k, k->r->events + k->base[x->worker] + x->ops - 1));
	}
}

/* When the event can be, by its message and its rank's cells. */
static uint64_t time_of(const struct maker *k, uint32_t w, const struct rounds_event *e)
{
	const struct ccs_op *o = op_of(k, e);
	uint64_t t = 0;

	if (e->in != CCS_NONE)
		t = TIME(k->r->messages[e->in].round);
	if (k->ordered)
		keep_order(k, w, e, &t);
	for (uint32_t j = 0; j < o->n; j++) {
		if (o->a != CCS_NONE)
			later(&t, *cell_of(k, k->read, e->rank, o->a + j));
		if (o->b != CCS_NONE)
			later(&t, *cell_of(k, k->read, e->rank, o->b + j));
		if (o->dst != CCS_NONE)
			later(&t, *cell_of(k, k->write, e->rank, o->dst + j));
	}
	return t;
}

static void note_time(struct maker *k, const struct rounds_event *e, uint64_t t)
{
	const struct ccs_op *o = op_of(k, e);
	uint64_t end = end_of(k, e);

	for (uint32_t j = 0; j < o->n; j++) {
		if (o->a != CCS_NONE)
			later(cell_of(k, k->write, e->rank, o->a + j), t + 1);
		if (o->b != CCS_NONE)
			later(cell_of(k, k->write, e->rank, o->b + j), t + 1);
	}
	for (uint32_t j = 0; j < o->n && o->dst != CCS_NONE; j++) {
		later(cell_of(k, k->read, e->rank, o->dst + j), end);
		later(cell_of(k, k->write, e->rank, o->dst + j), end);
	}
}

static ccs_status walk_event(struct maker *k, uint32_t w)
{
	uint32_t index = k->base[w] + k->done[w]++;
	struct rounds_event *e = k->r->events + index;
	const struct ccs_op *o = op_of(k, e);
	uint64_t t = time_of(k, w, e);

	e->phase = (uint32_t)(t >> 32);
	e->level = (uint32_t)t;
	note_time(k, e, t);
	if (e->in != CCS_NONE) {
		struct rounds_message *x = k->r->messages + e->in;
		const struct ccs_op *from = op_of(k, k->r->events + x->sends);

		if (from->n != o->n || !same_lengths(k, from, o))
			return wrong(k, "has a message that its receiver takes for another");
		x->to_cells = o->n && o->a == CCS_NONE && o->b == CCS_NONE && o->dst != CCS_NONE &&
			      t == TIME(x->round) && whole(k, o, o->dst);
	}
	if (e->out != CCS_NONE && (o->n || k->ordered)) {
		k->r->messages[e->out].round = e->phase + 1;
		if (e->phase + 1 > k->r->nrounds)
			k->r->nrounds = e->phase + 1;
	}
	k->order[k->walked++] = index;
	return CCS_OK;
}

/* The worker that must go on before the next operation of worker w can be looked at, and
 * how far. False: none. */
static bool waits_for(const struct maker *k, uint32_t w, uint32_t *worker, uint32_t *ops)
{
	const struct rounds_event *e = k->r->events + k->base[w] + k->done[w];
	const struct ccs_op *o = op_of(k, e);

	for (uint32_t i = 0; i < o->nwaits; i++) {
		*worker = k->v->waits[o->wait + i].worker;
		*ops = k->v->waits[o->wait + i].ops;
		if (k->done[*worker] < *ops)
			return true;
	}
	if (e->in == CCS_NONE)
		return false;
	*worker = k->v->fifos[o->in].src_worker;
	*ops = k->r->messages[e->in].sends - k->base[*worker] + 1;
	return k->done[*worker] < *ops;
}

/* Walks a worker to its end, and before each operation what it waits for. */
static ccs_status walk_worker(struct maker *k, uint32_t w)
{
	uint32_t depth = 1, other, ops;
	ccs_status s = CCS_OK;

	k->stack[0] = w;
	k->until[0] = k->base[w + 1] - k->base[w];
	k->pending[w] = true;
	while (depth && !s) {
		w = k->stack[depth - 1];
		if (k->done[w] >= k->until[depth - 1]) {
			k->pending[w] = false;
			depth--;
		} else if (!waits_for(k, w, &other, &ops)) {
			s = walk_event(k, w);
		} else if (k->pending[other]) {
			s = wrong(k, "waits for itself");
		} else {
			k->pending[other] = true;
			k->stack[depth] = other;
			k->until[depth++] = ops;
		}
	}
	return s;
}

/* ---- in place --------------------------------------------------------------------------- */

uint32_t rounds_source(const struct rounds *r, const struct ccs_op *o, bool *initial)
{
	*initial = o->dst == CCS_NONE && o->flags & CCS_OP_A_INITIAL;
	if (o->dst != CCS_NONE)
		return o->dst;
	return o->in != CCS_NONE || o->b != CCS_NONE || (*initial && r->premul) ? CCS_NONE : o->a;
}

/* Backwards: k->write is now when a cell is next written, as phase_at counts.
 * Receives that could be in place count as such: a send rather yields to them. */
static void find_sources(struct maker *k)
{
	memset(k->write, 0, (size_t)k->v->plan->nranks * k->width * sizeof(*k->write));
	while (k->walked) {
		const struct rounds_event *e = k->r->events + k->order[--k->walked];
		const struct ccs_op *o = op_of(k, e);
		uint64_t own = phase_at(e->phase);
		bool initial, ok;
		uint32_t from = rounds_source(k->r, o, &initial);

		if (e->in != CCS_NONE && k->r->messages[e->in].to_cells)
			own = round_at(k->r->messages[e->in].round);
		ok = e->out != CCS_NONE && o->n && from != CCS_NONE && whole(k, o, from);
		for (uint32_t j = 0; ok && j < o->n; j++) {
			uint64_t next = *cell_of(k, k->write, e->rank, from + j);

			ok = !next || next > round_at(e->phase + 1);
		}
		if (e->out != CCS_NONE)
			k->r->messages[e->out].from_cells = ok;
		for (uint32_t j = 0; o->dst != CCS_NONE && j < o->n; j++)
			*cell_of(k, k->write, e->rank, o->dst + j) = own;
	}
	for (uint32_t i = 0; i < k->r->nmessages; i++) {
		struct rounds_message *x = k->r->messages + i;

		if (op_of(k, k->r->events + x->sends)->n != 1)
			x->from_cells = x->to_cells = x->from_cells && x->to_cells;
	}
}

/* ---- all of it --------------------------------------------------------------------------- */

static int by_round(const void *x, const void *y)
{
	const struct rounds_message *a = x, *b = y;

	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	if (a->fifo != b->fifo)
		return a->fifo < b->fifo ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static ccs_status sort(struct maker *k)
{
	struct rounds *r = k->r;
	uint32_t row = 0;

	r->begin = calloc((size_t)r->nrounds + 2, sizeof(*r->begin));
	if (!r->begin)
		return error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	qsort(r->messages, r->nmessages, sizeof(*r->messages), by_round);
	for (uint32_t i = 0; i < r->nmessages; i++) {
		r->events[r->messages[i].sends].out = i;
		r->events[r->messages[i].receives].in = i;
	}
	for (uint32_t i = 0; i <= r->nrounds + 1; i++) {
		while (row < r->nmessages && r->messages[row].round < i)
			row++;
		r->begin[i] = row;
	}
	return CCS_OK;
}

static void *rows(uint64_t n, size_t size, bool *ok)
{
	void *p = calloc(n + 1, size);

	*ok = *ok && p;
	return p;
}

static bool allocate(struct maker *k)
{
	const struct ccs_plan *p = k->v->plan;
	bool ok = true;

	k->width = p->cells + p->scratch;
	k->base = rows(p->workers.n, sizeof(*k->base), &ok);
	k->done = rows(p->workers.n, sizeof(*k->done), &ok);
	k->pending = rows(p->workers.n, sizeof(*k->pending), &ok);
	k->stack = rows(p->workers.n, sizeof(*k->stack), &ok);
	k->until = rows(p->workers.n, sizeof(*k->until), &ok);
	k->order = rows(p->ops.n, sizeof(*k->order), &ok);
	k->message = rows(p->fifos.n, sizeof(*k->message), &ok);
	k->count = rows(p->fifos.n, sizeof(*k->count), &ok);
	k->read = rows((uint64_t)p->nranks * k->width, sizeof(*k->read), &ok);
	k->write = rows((uint64_t)p->nranks * k->width, sizeof(*k->write), &ok);
	k->r->events = rows(p->ops.n, sizeof(*k->r->events), &ok);
	k->r->first = rows(p->nranks, sizeof(*k->r->first), &ok);
	return ok;
}

static void let_go(struct maker *k)
{
	free(k->base);
	free(k->done);
	free(k->pending);
	free(k->stack);
	free(k->until);
	free(k->order);
	free(k->message);
	free(k->count);
	free(k->read);
	free(k->write);
}

ccs_status rounds_make(struct rounds *r, const struct ccs_module *m, const struct plan_view *v,
		       bool premul)
{
	struct maker k = { .r = r, .m = m, .v = v, .ordered = v->plan->after.n > 0 };
	ccs_status s;

	*r = (struct rounds){ .premul = premul };
	s = allocate(&k) ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	if (!s)
		s = number_messages(&k);
	if (!s)
		s = make_events(&k);
	for (uint32_t w = 0; !s && w < v->plan->workers.n; w++)
		s = walk_worker(&k, w);
	if (!s) {
		find_sources(&k);
		s = sort(&k);
	}
	let_go(&k);
	if (s)
		rounds_free(r);
	return s;
}

void rounds_free(struct rounds *r)
{
	free(r->messages);
	free(r->begin);
	free(r->events);
	free(r->first);
	*r = (struct rounds){ 0 };
}
