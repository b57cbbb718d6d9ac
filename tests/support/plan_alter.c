/* See plan_alter.h. What is altered stays inside its tables; whether it is still a good
 * form is for the loader to say. */
#include "tests/support/plan_alter.h"
#include "tests/support/plan_facts.h"

#include <stdlib.h>
#include <string.h>

struct altered {
	struct rng *g;
	struct ccs_module_head *h;
	struct ccs_plan *p;
	struct ccs_shape *shapes;
	struct ccs_worker *workers;
	struct ccs_op *ops;
	struct ccs_wait *waits;
	struct ccs_fifo *fifos;
	uint32_t *expect;
	struct ccs_sum *sums;
};

static void view(struct altered *v, struct rng *g, unsigned char *module)
{
	v->g = g;
	v->h = (void *)module;
	v->p = (struct ccs_plan *)(void *)(module + v->h->plans.at) +
	       rng_below(g, (int)v->h->plans.n);
	v->shapes = (void *)(module + v->p->shapes.at);
	v->workers = (void *)(module + v->p->workers.at);
	v->ops = (void *)(module + v->p->ops.at);
	v->waits = (void *)(module + v->p->waits.at);
	v->fifos = (void *)(module + v->p->fifos.at);
	v->expect = (void *)(module + v->p->expect.at);
	v->sums = (void *)(module + v->p->sums.at);
}

static uint32_t below(const struct altered *v, uint64_t n)
{
	return n ? (uint32_t)rng_below(v->g, (int)n) : 0;
}

/* Another number below n: mostly one more or less. */
static uint32_t other(const struct altered *v, uint32_t x, uint64_t n)
{
	switch (below(v, 3)) {
	case 0: return x + 1;
	case 1: return x - 1;
	default: return below(v, n);
	}
}

static struct ccs_worker *worker_of(const struct altered *v, const struct ccs_op *o)
{
	struct ccs_worker *w = v->workers;

	while ((uint32_t)(o - v->ops) - w->op >= w->nops)
		w++;
	return w;
}

/* ---- operations ------------------------------------------------------------------ */

/* Another FIFO of the worker's, or none, or one where there was none. */
static bool alter_end(const struct altered *v, struct ccs_op *o, bool in)
{
	uint32_t w = (uint32_t)(worker_of(v, o) - v->workers), *end = in ? &o->in : &o->out;

	if (*end != CCS_NONE && below(v, 4) == 0) {
		*end = CCS_NONE;
		return true;
	}
	for (uint32_t k = below(v, v->p->fifos.n), i = 0; i < v->p->fifos.n; i++, k++) {
		const struct ccs_fifo *f = v->fifos + k % v->p->fifos.n;

		if ((in ? f->dst_worker : f->src_worker) != w || *end == (uint32_t)(f - v->fifos))
			continue;
		*end = (uint32_t)(f - v->fifos);
		return true;
	}
	return false;
}

static uint32_t *some_part(const struct altered *v, struct ccs_op *o)
{
	uint32_t *const parts[] = { &o->a, &o->b, &o->dst };

	return parts[below(v, 3)];
}

static bool alter_part(const struct altered *v, struct ccs_op *o)
{
	uint32_t *part = some_part(v, o);

	*part = other(v, *part, (uint64_t)v->p->cells + v->p->scratch);
	if (part == &o->b && o->b != CCS_NONE && below(v, 2))
		o->flags |= CCS_OP_B_INITIAL;
	return true;
}

static bool lose_part(const struct altered *v, struct ccs_op *o)
{
	uint32_t *part = some_part(v, o);
	bool had = *part != CCS_NONE;

	*part = CCS_NONE;
	return had;
}

/* The operation that receives what `o` sends, or NULL. */
static struct ccs_op *receiver(const struct altered *v, const struct ccs_op *o)
{
	uint32_t k = 0;

	for (const struct ccs_op *x = v->ops; x < o; x++)
		k += x->out == o->out;
	for (uint64_t i = 0; i < v->p->ops.n; i++)
		if (v->ops[i].in == o->out && k-- == 0)
			return v->ops + i;
	return NULL;
}

/* A message is direct, or is not. */
static bool alter_direct(const struct altered *v, struct ccs_op *o, bool more)
{
	const struct ccs_op *to = o->out == CCS_NONE ? NULL : receiver(v, o);
	uint16_t had = o->flags;

	if (more && to && to->a == CCS_NONE && to->b == CCS_NONE && to->dst != CCS_NONE)
		o->flags = (o->flags | CCS_OP_DIRECT) & (uint16_t)~CCS_OP_READ;
	else if (!more)
		o->flags &= (uint16_t)~CCS_OP_DIRECT;
	return o->flags != had;
}

/* A message is held, or is not. */
static bool alter_held(struct ccs_op *o, bool more)
{
	uint16_t had = o->flags;

	if (more && o->out != CCS_NONE && o->n && ccs_plan_source(o) != CCS_NONE)
		o->flags |= CCS_OP_HELD;
	else if (!more)
		o->flags &= (uint16_t)~(CCS_OP_HELD | CCS_OP_READ);
	return o->flags != had;
}

/* A held message is read beside direct ones, and is none itself; or is not read. */
static bool alter_read(struct ccs_op *o, bool more)
{
	uint16_t had = o->flags;

	if (more && o->flags & CCS_OP_HELD)
		o->flags = (o->flags | CCS_OP_READ) & (uint16_t)~CCS_OP_DIRECT;
	else if (!more)
		o->flags &= (uint16_t)~CCS_OP_READ;
	return o->flags != had;
}

/* A direct message goes to other cells. */
static bool store_elsewhere(const struct altered *v, struct ccs_op *o)
{
	struct ccs_op *to = o->flags & CCS_OP_DIRECT ? receiver(v, o) : NULL;

	if (to)
		to->dst = other(v, to->dst, (uint64_t)v->p->cells + v->p->scratch);
	return to;
}

static void exchange(uint32_t *x, uint32_t *y)
{
	uint32_t t = *x;

	*x = *y;
	*y = t;
}

/* One field changes places with that of another operation of the worker. */
static bool exchange_fields(const struct altered *v, struct ccs_op *o)
{
	const struct ccs_worker *w = worker_of(v, o);
	struct ccs_op *x = v->ops + w->op + below(v, w->nops);
	uint32_t *const fields[][2] = {
		{ &o->in, &x->in },   { &o->out, &x->out }, { &o->a, &x->a },
		{ &o->dst, &x->dst }, { &o->len, &x->len },
	};
	uint32_t k = below(v, sizeof(fields) / sizeof(*fields));

	exchange(fields[k][0], fields[k][1]);
	return *fields[k][0] != *fields[k][1];
}

/* Rows of waits stand in the order of their operations. */
static bool put_waits_in_order(struct altered *v)
{
	struct ccs_wait *copy = malloc(v->p->waits.n * sizeof(*copy) + 1);
	uint32_t n = 0;

	if (!copy)
		abort();
	memcpy(copy, v->waits, v->p->waits.n * sizeof(*copy));
	for (uint64_t i = 0; i < v->p->ops.n; i++) {
		struct ccs_op *o = v->ops + i;

		for (uint32_t k = 0; k < o->nwaits; k++)
			v->waits[n + k] = copy[o->wait + k];
		o->wait = n;
		n += o->nwaits;
	}
	v->p->waits.n = n;
	free(copy);
	return true;
}

/* An operation changes places with the next one of its worker. */
static bool swap(struct altered *v, struct ccs_op *o)
{
	const struct ccs_worker *w = worker_of(v, o);
	struct ccs_op x = *o;

	if (o + 1 == v->ops + w->op + w->nops)
		return false;
	*o = o[1];
	o[1] = x;
	return put_waits_in_order(v);
}

/* Another operation is to receive the message, mostly the other of two of a FIFO. */
static bool alter_to(const struct altered *v, struct ccs_op *o)
{
	uint32_t had = o->to;

	for (uint32_t k = below(v, v->p->ops.n), i = 0; i < v->p->ops.n && had % 4; i++, k++) {
		struct ccs_op *x = v->ops + k % v->p->ops.n;

		if (x == o || o->out == CCS_NONE || x->out != o->out)
			continue;
		exchange(&o->to, &x->to);
		return true;
	}
	o->to = other(v, o->to, v->p->ops.n);
	return o->to != had;
}

static bool alter_fact(const struct altered *v, struct ccs_op *o, enum alteration a)
{
	uint32_t had = o->phase + o->level;

	switch ((int)a) {
	case ALTER_TO: return alter_to(v, o);
	case ALTER_AWAITED: o->flags ^= CCS_OP_AWAITED; return true;
	case ALTER_SHIFTED: o->flags ^= CCS_OP_SHIFTED; return true;
	case ALTER_FROM_CELLS: o->flags ^= CCS_OP_FROM_CELLS; return o->out != CCS_NONE;
	case ALTER_TO_CELLS: o->flags ^= CCS_OP_TO_CELLS; return o->in != CCS_NONE;
	case ALTER_PHASE: o->phase = other(v, o->phase, v->p->rounds); break;
	default: o->level = other(v, o->level, 3); break;
	}
	return had != o->phase + o->level;
}

static bool alter_this(struct altered *v, struct ccs_op *o, enum alteration a)
{
	switch ((int)a) {
	case ALTER_IN: return alter_end(v, o, true);
	case ALTER_OUT: return alter_end(v, o, false);
	case ALTER_PART: return alter_part(v, o);
	case ALTER_PART_GONE: return lose_part(v, o);
	case ALTER_INITIAL:
		o->flags ^= o->b != CCS_NONE && below(v, 2) ? CCS_OP_B_INITIAL : CCS_OP_A_INITIAL;
		return true;
	case ALTER_N: o->n = other(v, o->n, 4); return true;
	case ALTER_LEN: o->len = other(v, o->len, v->p->cells); return true;
	case ALTER_LEN_SAME: o->flags ^= CCS_OP_LEN_SAME; return true;
	case ALTER_STORE_ELSEWHERE: return store_elsewhere(v, o);
	case ALTER_EXCHANGE: return exchange_fields(v, o);
	case ALTER_SWAP: return swap(v, o);
	case ALTER_DIRECT_GONE: return alter_direct(v, o, false);
	case ALTER_DIRECT_MORE: return alter_direct(v, o, true);
	case ALTER_HELD_GONE: return alter_held(o, false);
	case ALTER_HELD_MORE: return alter_held(o, true);
	case ALTER_READ_GONE: return alter_read(o, false);
	case ALTER_READ_MORE: return alter_read(o, true);
	default: return alter_fact(v, o, a);
	}
}

/* The first of a few operations where there is something to alter. */
static bool alter_op(struct altered *v, enum alteration a)
{
	for (int tries = 0; tries < 20 && v->p->ops.n; tries++)
		if (alter_this(v, v->ops + below(v, v->p->ops.n), a))
			return true;
	return false;
}

/* ---- waits and workers ----------------------------------------------------------- */

static struct ccs_op *waiting_op(const struct altered *v)
{
	for (uint32_t i = 0, k = below(v, v->p->ops.n); i < v->p->ops.n; i++, k++)
		if (v->ops[k % v->p->ops.n].nwaits)
			return v->ops + k % v->p->ops.n;
	return NULL;
}

static bool lose_wait(struct altered *v, struct ccs_op *o)
{
	if (below(v, 2)) {
		v->waits[o->wait] = v->waits[o->wait + o->nwaits - 1];
		o->nwaits--;
	} else {
		o->nwaits--;
	}
	return put_waits_in_order(v);
}

/* All waits of one operation become another's of its rank. */
static bool move_waits(struct altered *v, struct ccs_op *o)
{
	struct ccs_op *to = v->ops + below(v, v->p->ops.n);

	if (to->nwaits || worker_of(v, to)->rank != worker_of(v, o)->rank)
		return false;
	to->wait = o->wait;
	to->nwaits = o->nwaits;
	o->nwaits = 0;
	return put_waits_in_order(v);
}

static bool alter_wait(struct altered *v, enum alteration a)
{
	struct ccs_op *o = waiting_op(v);
	struct ccs_wait *w = o ? v->waits + o->wait + below(v, o->nwaits) : NULL;

	if (!o)
		return false;
	switch ((int)a) {
	case ALTER_WAIT_GONE: return lose_wait(v, o);
	case ALTER_WAIT_WEAKER: w->ops = other(v, w->ops, v->workers[w->worker].nops); return true;
	case ALTER_WAIT_MOVED: return move_waits(v, o);
	default:
		w->worker = other(v, w->worker, v->p->workers.n);
		w->ops = 1 + below(v, 3);
		return true;
	}
}

/* A worker's last operation, or all, is the next one's of its rank; FIFOs follow. */
static bool alter_workers(const struct altered *v)
{
	uint32_t i = below(v, v->p->workers.n);
	struct ccs_worker *w = v->workers + i;
	uint32_t n = below(v, 2) ? 1 : w->nops;

	if (i + 1 >= v->p->workers.n || w[1].rank != w->rank || !w->nops)
		return false;
	w->nops -= n;
	w[1].op -= n;
	w[1].nops += n;
	for (uint64_t k = 0; k < v->p->fifos.n && !w->nops; k++) {
		v->fifos[k].src_worker += v->fifos[k].src_worker == i;
		v->fifos[k].dst_worker += v->fifos[k].dst_worker == i;
	}
	return true;
}

/* ---- the rest -------------------------------------------------------------------- */

static bool alter_fifo(const struct altered *v)
{
	struct ccs_fifo *f = v->fifos + below(v, v->p->fifos.n);

	if (!v->p->fifos.n)
		return false;
	if (below(v, 2))
		f->messages = other(v, f->messages, 4);
	else
		f->max_cells = other(v, f->max_cells, 4);
	return true;
}

static bool alter_plan(const struct altered *v)
{
	switch (below(v, 6)) {
	case 0: v->p->max_message = other(v, v->p->max_message, 4); return true;
	case 1: v->p->scratch = other(v, v->p->scratch, 6); return true;
	case 2: v->p->steps++; return true;
	case 3: v->p->rounds = other(v, v->p->rounds, 6); return true;
	case 4: v->workers[below(v, v->p->workers.n)].stage += 1 - below(v, 3); return true;
	default:
		v->p->root = other(v, v->p->root, v->p->nranks);
		return v->h->root_param != CCS_NONE;
	}
}

/* A block of n cells becomes n blocks of one, or the other way round. */
static bool alter_shapes(const struct altered *v)
{
	struct ccs_shape *s = v->shapes + below(v, v->h->buffers.n);
	uint32_t x;

	if (!v->h->buffers.n || s->chunks == s->blocks)
		return false;
	x = s->chunks;
	if (below(v, 2)) {
		s->chunks = s->blocks;
		s->blocks = x;
	} else if (s->blocks == 1) {
		s->blocks = v->p->nranks;
		s->chunks = x / v->p->nranks;
	} else {
		s->chunks *= s->blocks;
		s->blocks = 1;
	}
	return true;
}

static bool alter_sums(const struct altered *v)
{
	struct ccs_sum *s = v->sums + below(v, v->p->sums.n);

	if (!v->p->sums.n)
		return false;
	switch (below(v, 5)) {
	case 0: s->cell = other(v, s->cell, v->p->cells); return true;
	case 1: s->first = other(v, s->first, v->p->nranks); return true;
	case 2: s->n = other(v, s->n, v->p->nranks); return true;
	case 3: s->times = other(v, s->times, 3); return true;
	default: s->last = !s->last; return true;
	}
}

static bool alter_expect(const struct altered *v)
{
	uint32_t n = (uint32_t)v->p->expect.n, *x = v->expect + below(v, n);

	if (!n)
		return false;
	*x = below(v, 3) ? other(v, *x, v->p->sums.n) : v->expect[below(v, n)];
	return true;
}

/* What is a sum is none, and the flags say so; or the other way round. */
static bool alter_reduced(const struct altered *v)
{
	for (uint64_t i = 0; i < v->p->sums.n; i++)
		v->sums[i].reduced = !v->sums[i].reduced;
	if (v->h->flags & CCS_MODULE_MIXED)
		return true;
	v->h->flags ^= CCS_MODULE_REDUCES;
	return v->h->plans.n == 1;
}

static bool alter_after(const struct altered *v)
{
	struct ccs_after *a = (void *)((unsigned char *)v->h + v->p->after.at);

	if (!v->p->after.n)
		return false;
	a += below(v, v->p->after.n);
	switch (below(v, 3)) {
	case 0: a->rank = other(v, a->rank, v->p->nranks); return true;
	case 1: a->first = other(v, a->first, v->p->nranks); return true;
	default: a->n = other(v, a->n, v->p->nranks); return true;
	}
}

/* ---- all of it ------------------------------------------------------------------- */

const char *alteration_name(enum alteration a)
{
	static const char *const names[ALTERATIONS] = {
		[ALTER_IN] = "another FIFO to receive from",
		[ALTER_OUT] = "another FIFO to send on",
		[ALTER_PART] = "other cells",
		[ALTER_PART_GONE] = "a part less",
		[ALTER_INITIAL] = "a read of the other buffer",
		[ALTER_N] = "another number of cells",
		[ALTER_LEN] = "another length",
		[ALTER_LEN_SAME] = "lengths alike, or not",
		[ALTER_DIRECT_GONE] = "a direct message less",
		[ALTER_DIRECT_MORE] = "a direct message more",
		[ALTER_HELD_GONE] = "a held message less",
		[ALTER_HELD_MORE] = "a held message more",
		[ALTER_READ_GONE] = "a message less that is read in its cells beside direct ones",
		[ALTER_READ_MORE] = "a message more that is read in its cells beside direct ones",
		[ALTER_STORE_ELSEWHERE] = "a direct message elsewhere",
		[ALTER_EXCHANGE] = "fields exchanged",
		[ALTER_SWAP] = "operations swapped",
		[ALTER_TO] = "another receiver of a message",
		[ALTER_AWAITED] = "waited for, or not",
		[ALTER_SHIFTED] = "shifted, or not",
		[ALTER_FROM_CELLS] = "sent from cells, or not",
		[ALTER_TO_CELLS] = "received in cells, or not",
		[ALTER_PHASE] = "another phase",
		[ALTER_LEVEL] = "another level",
		[ALTER_WAIT_GONE] = "a wait less",
		[ALTER_WAIT_WEAKER] = "a wait for more or less",
		[ALTER_WAIT_OTHER] = "a wait for another worker",
		[ALTER_WAIT_MOVED] = "waits of another",
		[ALTER_WORKERS] = "operations of another worker",
		[ALTER_FIFO] = "other FIFO numbers",
		[ALTER_PLAN] = "other numbers of the plan",
		[ALTER_SHAPES] = "other shapes",
		[ALTER_DIRECTION] = "another direction",
		[ALTER_EXPECT] = "another value promised",
		[ALTER_SUMS] = "another contribution",
		[ALTER_SLOTS] = "FIFOs of another depth",
		[ALTER_EVEN] = "other counts admitted",
		[ALTER_REDUCED] = "sums that are none",
		[ALTER_AFTER] = "another order of ranks",
	};

	return names[a];
}

static bool alter_table(struct altered *v, enum alteration a)
{
	struct ccs_buffer *b = (void *)((unsigned char *)v->h + v->h->buffers.at);

	switch ((int)a) {
	case ALTER_WORKERS: return alter_workers(v);
	case ALTER_FIFO: return alter_fifo(v);
	case ALTER_PLAN: return alter_plan(v);
	case ALTER_SHAPES: return alter_shapes(v);
	case ALTER_DIRECTION:
		if (!v->h->buffers.n)
			return false;
		b += below(v, v->h->buffers.n);
		b->direction = (b->direction + 1 + below(v, 2)) % 3;
		return true;
	case ALTER_EXPECT: return alter_expect(v);
	case ALTER_SUMS: return alter_sums(v);
	case ALTER_SLOTS: v->h->slots = 1 + below(v, 8); return true;
	case ALTER_EVEN: v->h->flags ^= CCS_MODULE_EVEN_COUNTS; return true;
	case ALTER_AFTER: return alter_after(v);
	default: return alter_reduced(v);
	}
}

bool alter(struct rng *g, unsigned char *module, enum alteration a)
{
	struct altered v;
	struct facts_plan f;
	bool done;

	if (((struct ccs_module_head *)(void *)module)->plans.n == 0)
		return false;
	view(&v, g, module);
	if (a <= ALTER_LEVEL)
		done = alter_op(&v, a);
	else
		done = a <= ALTER_WAIT_MOVED ? alter_wait(&v, a) : alter_table(&v, a);
	f = (struct facts_plan){ v.p, v.workers, v.ops, v.waits, v.fifos };
	if (done && a <= ALTER_SWAP) /* what follows from it, too: else any part would do */
		plan_facts_fill(&f);
	else if (done && a > ALTER_LEVEL && a <= ALTER_WORKERS)
		plan_facts_fill(&f);
	return done;
}

void alter_mend(unsigned char *module)
{
	struct ccs_module_head *h = (void *)module;
	size_t from = offsetof(struct ccs_module_head, checksum) + sizeof(h->checksum);
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = from; i < h->size; i++)
		sum = (sum ^ module[i]) * 0x100000001b3u;
	h->checksum = sum;
}
