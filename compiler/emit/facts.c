/*
 * Derived facts of a plan, which save the executors an analysis at load time.
 *
 * In:  a plan's rows, with messages matched, and the lowered program from which they came. Out:
 * flags of operations that overwrite cells that they have yet to read, and of those for which
 * another worker waits; for runs between hosts (runtime/plan/plan.h, Rounds), the time of each
 * operation, and the messages that need no copy.
 *
 * Rounds need one walk over the operations, each after those for which it waits; the walk keeps,
 * for every cell, the earliest time of the next read and write. A second walk, backwards, finds
 * messages that can be sent from their cells. A plan without races has one order of conflicting
 * operations, so the result does not depend on the order of the walk.
 */
#include "compiler/emit/module_bytes.h"

#include <string.h>

/* A time: phase, level. In one number, so that the next level is one more. */
#define TIME(phase) ((uint64_t)(phase) << 32)

struct maker {
	const struct plan_view *v;
	struct ccs_plan *plan;
	const struct program *p;
	struct ccs_op *ops;
	bool even, ordered;	/* the plan promises an order of ranks */
	uint32_t width;		/* cells of a rank */
	uint64_t *read, *write; /* [nranks * width]: the first time at which it can be read;
				   ... at which it can be written */
	uint32_t *from;		/* [ops]: the rank that sends its message, or CCS_NONE */
	uint32_t *order;	/* [ops]: their workers, in the order of the walk */
	uint32_t *done;		/* [workers]: its operations so far */
	uint32_t walked;
};

static void later(uint64_t *time, uint64_t than)
{
	*time = *time > than ? *time : than;
}

/* When an operation is over. */
static uint64_t end_of(const struct ccs_op *o)
{
	return TIME(o->phase) + o->level + (o->flags & CCS_OP_SHIFTED ? 2 : 1);
}

static uint64_t *cell_of(const struct maker *k, uint64_t *table, uint32_t w, uint32_t cell)
{
	return table + (size_t)k->v->workers[w].rank * k->width + cell;
}

/* ---- operations by themselves --------------------------------------------------------- */

static bool overlaps(uint32_t x, uint32_t dst, uint32_t n)
{
	return x != CCS_NONE && x != dst && (x > dst ? x - dst : dst - x) < n;
}

static void note_shifted(const struct plan_view *v, struct ccs_worker *workers, struct ccs_op *ops)
{
	for (uint32_t w = 0; w < v->plan->workers.n; w++)
		for (uint32_t i = 0; i < workers[w].nops; i++) {
			struct ccs_op *o = ops + workers[w].op + i;

			if (o->dst == CCS_NONE ||
			    !(overlaps(o->a, o->dst, o->n) || overlaps(o->b, o->dst, o->n)))
				continue;
			o->flags |= CCS_OP_SHIFTED;
			if (o->n > workers[w].stage)
				workers[w].stage = o->n;
		}
}

static void note_awaited(const struct plan_view *v, struct ccs_op *ops)
{
	for (uint64_t i = 0; i < v->plan->waits.n; i++) {
		const struct ccs_wait *x = v->waits + i;

		ops[v->workers[x->worker].op + x->ops - 1].flags |= CCS_OP_AWAITED;
	}
}

/* ---- forwards ------------------------------------------------------------------------- */

/* The time when its message has arrived; 0: it has none, or one without cells. */
static uint64_t message_at(const struct maker *k, const struct ccs_op *o)
{
	uint32_t row = k->from[o - k->ops];

	if (row == CCS_NONE || !ccs_plan_goes(k->v->plan, k->ops + row))
		return 0;
	return TIME(k->ops[row].phase + 1);
}

/* Whether its cells are as long as its message. Each end names the length by a chunk of its own; in
 * `sized` buffers different chunks may have equal lengths. The sender's chunk counts. */
static bool holds_message(const struct maker *k, const struct ccs_op *o)
{
	uint32_t row = k->from[o - k->ops];

	return row != CCS_NONE && plan_whole(k->v, k->even, k->ops + row, o->dst);
}

/* For a plan that promises an order of ranks, in which messages without cells count. */
static void keep_order(const struct maker *k, uint32_t w, const struct ccs_op *o, uint64_t *t)
{
	if (o > k->ops + k->v->workers[w].op)
		later(t, end_of(o - 1));
	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_wait *x = k->v->waits + o->wait + i;

		later(t, end_of(k->ops + k->v->workers[x->worker].op + x->ops - 1));
	}
}

/* The earliest time of the operation, by its message and the cells of its rank. */
static uint64_t time_of(const struct maker *k, uint32_t w, const struct ccs_op *o)
{
	uint64_t t = message_at(k, o);

	if (k->ordered)
		keep_order(k, w, o, &t);
	for (uint32_t j = 0; j < o->n; j++) {
		if (o->a != CCS_NONE)
			later(&t, *cell_of(k, k->read, w, o->a + j));
		if (o->b != CCS_NONE)
			later(&t, *cell_of(k, k->read, w, o->b + j));
		if (o->dst != CCS_NONE)
			later(&t, *cell_of(k, k->write, w, o->dst + j));
	}
	return t;
}

static void note_time(const struct maker *k, uint32_t w, const struct ccs_op *o, uint64_t t)
{
	for (uint32_t j = 0; j < o->n; j++) {
		if (o->a != CCS_NONE)
			later(cell_of(k, k->write, w, o->a + j), t + 1);
		if (o->b != CCS_NONE)
			later(cell_of(k, k->write, w, o->b + j), t + 1);
	}
	for (uint32_t j = 0; j < o->n && o->dst != CCS_NONE; j++) {
		later(cell_of(k, k->read, w, o->dst + j), end_of(o));
		later(cell_of(k, k->write, w, o->dst + j), end_of(o));
	}
}

/* Visits operations in the order of the deadlock check: sends when they start, all others when they
 * finish. */
static void walk_op(void *arg, uint32_t w, uint32_t row, uint32_t n, bool starts)
{
	struct maker *k = arg;
	const struct op *from = &k->p->tasks[w].ops[row];

	(void)n; /* a lowered wave has one operation */
	if (op_kind(from) == OP_WAIT || starts != (op_out(from) != NONE))
		return;
	struct ccs_op *o = k->ops + k->v->workers[w].op + k->done[w]++;
	uint64_t t = time_of(k, w, o);

	o->phase = (uint32_t)(t >> 32);
	o->level = (uint32_t)t;
	note_time(k, w, o, t);
	if (o->n && o->in != CCS_NONE && o->a == CCS_NONE && o->b == CCS_NONE &&
	    o->dst != CCS_NONE && t == message_at(k, o) && holds_message(k, o))
		o->flags |= CCS_OP_TO_CELLS;
	if (ccs_plan_goes(k->plan, o) && k->plan->rounds <= o->phase)
		k->plan->rounds = o->phase + 1;
	k->order[k->walked++] = w;
}

/* ---- backwards: messages that are sent from their cells ---------------------------------- */

/* Phases and rounds on one time line: phase 0 is 2, round 1 is 3, phase 1 is 4, ... 0: never. */
static uint64_t phase_at(uint32_t phase)
{
	return 2 * (uint64_t)phase + 2;
}

static uint64_t round_at(uint32_t round)
{
	return 2 * (uint64_t)round + 1;
}

/* k->write is now the time of a cell's next write. A receive that could be in place is assumed to
 * be: it has priority over a send from the same cells. */
static void find_sources(struct maker *k)
{
	memset(k->write, 0, (size_t)k->v->plan->nranks * k->width * sizeof(*k->write));
	while (k->walked) {
		uint32_t w = k->order[--k->walked];
		struct ccs_op *o = k->ops + k->v->workers[w].op + --k->done[w];
		uint32_t from = ccs_plan_source(o);
		uint64_t own = o->flags & CCS_OP_TO_CELLS ? round_at(o->phase) : phase_at(o->phase);
		bool free = o->out != CCS_NONE && o->n && from != CCS_NONE &&
			    plan_whole(k->v, k->even, o, from);

		for (uint32_t j = 0; free && j < o->n; j++) {
			uint64_t next = *cell_of(k, k->write, w, from + j);

			free = !next || next > round_at(o->phase + 1);
		}
		if (free)
			o->flags |= CCS_OP_FROM_CELLS;
		for (uint32_t j = 0; o->dst != CCS_NONE && j < o->n; j++)
			*cell_of(k, k->write, w, o->dst + j) = own;
	}
	for (uint64_t i = 0; i < k->v->plan->ops.n; i++) {
		struct ccs_op *o = k->ops + i, *to = k->ops + o->to;

		if (o->out == CCS_NONE || o->n == 1 ||
		    (o->flags & CCS_OP_FROM_CELLS && to->flags & CCS_OP_TO_CELLS))
			continue;
		o->flags &= (uint16_t)~CCS_OP_FROM_CELLS;
		to->flags &= (uint16_t)~CCS_OP_TO_CELLS;
	}
}

/* ---- all of it --------------------------------------------------------------------------- */

static void set_out(struct maker *k, struct arena *a, struct facts_room *room)
{
	const struct ccs_plan *p = k->v->plan;
	size_t cells = (size_t)p->nranks * k->width, workers = (size_t)p->workers.n;
	size_t size = 16 * cells + 8 * (size_t)p->ops.n + 4 * workers + 1; /* not 0 */

	if (room->size < size) {
		room->p = arena_grow(a, room->p, room->size, size);
		room->size = size;
	}
	memset(room->p, 0, size);
	k->read = room->p;
	k->write = k->read + cells;
	k->from = (uint32_t *)(k->write + cells);
	k->order = k->from + p->ops.n;
	k->done = k->order + p->ops.n;
	for (uint64_t i = 0; i < p->ops.n; i++)
		k->from[i] = CCS_NONE;
	for (uint32_t i = 0; i < p->ops.n; i++)
		if (k->ops[i].out != CCS_NONE && k->ops[i].to < p->ops.n)
			k->from[k->ops[i].to] = i;
}

void facts_fill(struct arena *a, struct facts_room *room, const struct plan_view *v,
		struct ccs_plan *plan, struct ccs_worker *workers, struct ccs_op *ops,
		const struct lowered *l, bool even)
{
	struct maker k = { .v = v,
			   .plan = plan,
			   .p = l->program,
			   .ops = ops,
			   .even = even,
			   .ordered = plan->after.n > 0,
			   .width = plan->cells + plan->scratch };

	note_shifted(v, workers, ops);
	note_awaited(v, ops);
	set_out(&k, a, room);
	order_walk(&l->order, l->program, a, walk_op, &k);
	find_sources(&k);
}
