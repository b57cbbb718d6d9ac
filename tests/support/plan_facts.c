/* See plan_facts.h. */
#include "tests/support/plan_facts.h"

#include <stdlib.h>
#include <string.h>

/* A plan under way. Rows of operations. */
struct work {
	const struct facts_plan *f;
	uint32_t n;
	uint32_t *from;	 /* who sends its message, or CCS_NONE */
	uint32_t *order; /* one in which all can be done */
	uint32_t *rank;
};

static void *rows(size_t n, size_t size)
{
	void *v = calloc(n + 1, size);

	if (!v)
		abort();
	return v;
}

static uint32_t worker_of(const struct facts_plan *f, uint32_t row)
{
	uint32_t w = 0;

	while (row - f->workers[w].op >= f->workers[w].nops)
		w++;
	return w;
}

/* ---- who receives what, and an order ---------------------------------------------------- */

/* The k-th send of each FIFO meets its k-th receive. */
static bool pair(struct work *k)
{
	uint32_t sends = 0, receives = 0;

	for (uint32_t i = 0; i < k->n; i++)
		k->from[i] = CCS_NONE;
	for (uint32_t i = 0; i < k->n; i++) {
		struct ccs_op *o = k->f->ops + i;
		uint32_t before = 0, to = 0;

		receives += o->in != CCS_NONE;
		sends += o->out != CCS_NONE;
		for (uint32_t j = 0; j < i; j++)
			before += k->f->ops[j].out == o->out;
		while (to < k->n && (k->f->ops[to].in != o->out || before--))
			to++;
		if (o->out != CCS_NONE && to == k->n)
			return false;
		if (o->out != CCS_NONE)
			k->from[to] = i;
	}
	return sends == receives;
}

static bool ready(const struct work *k, uint32_t row, const bool *done)
{
	const struct ccs_op *o = k->f->ops + row;

	for (uint32_t i = o->wait; i - o->wait < o->nwaits; i++) {
		const struct ccs_worker *w = k->f->workers + k->f->waits[i].worker;

		if (k->f->waits[i].worker >= k->f->p->workers.n || !k->f->waits[i].ops ||
		    k->f->waits[i].ops > w->nops || !done[w->op + k->f->waits[i].ops - 1])
			return false;
	}
	return o->in == CCS_NONE || done[k->from[row]];
}

static bool put_in_order(struct work *k)
{
	bool *done = rows(k->n, sizeof(*done)), more = true;
	uint32_t n = 0;

	while (more) {
		more = false;
		for (uint32_t w = 0; w < k->f->p->workers.n; w++) {
			const struct ccs_worker *x = k->f->workers + w;

			for (uint32_t i = x->op; i - x->op < x->nops; i++) {
				if (done[i])
					continue;
				if (!ready(k, i, done))
					break;
				done[i] = more = true;
				k->rank[i] = x->rank;
				k->order[n++] = i;
			}
		}
	}
	free(done);
	return n == k->n;
}

static bool begin(struct work *k, const struct facts_plan *f)
{
	*k = (struct work){ .f = f, .n = (uint32_t)f->p->ops.n };
	k->from = rows(k->n, sizeof(*k->from));
	k->order = rows(k->n, sizeof(*k->order));
	k->rank = rows(k->n, sizeof(*k->rank));
	return pair(k) && put_in_order(k);
}

static void end(struct work *k)
{
	free(k->from);
	free(k->order);
	free(k->rank);
}

/* ---- between hosts ---------------------------------------------------------------------- */

static bool meet(uint32_t x, uint32_t y, uint32_t xn, uint32_t yn)
{
	return x != CCS_NONE && y != CCS_NONE && xn && yn && x < y + yn && y < x + xn;
}

static bool is_shifted(const struct ccs_op *o)
{
	return (o->a != o->dst && meet(o->a, o->dst, o->n, o->n)) ||
	       (o->b != o->dst && meet(o->b, o->dst, o->n, o->n));
}

struct moment {
	uint64_t phase, level;
};

static struct moment latest(struct moment x, struct moment y)
{
	return x.phase > y.phase || (x.phase == y.phase && x.level > y.level) ? x : y;
}

static struct moment moment_of(const struct ccs_op *o, uint64_t levels)
{
	return (struct moment){ o->phase, o->level + levels };
}

static bool goes(const struct work *k, const struct ccs_op *o)
{
	return o->out != CCS_NONE && (o->n || k->f->p->after.n);
}

/* The first moment for the i-th of the order, after those before it. */
static struct moment moment(const struct work *k, uint32_t i)
{
	const struct ccs_op *ops = k->f->ops, *o = ops + k->order[i];
	const struct ccs_worker *w = k->f->workers + worker_of(k->f, k->order[i]);
	struct moment t = { 0, 0 };

	if (o->in != CCS_NONE && goes(k, ops + k->from[o - ops]))
		t.phase = (uint64_t)ops[k->from[o - ops]].phase + 1;
	for (uint32_t j = 0; j < i; j++) {
		const struct ccs_op *x = ops + k->order[j];
		bool waited = x + 1 == o && (uint32_t)(x - ops) - w->op < w->nops;

		for (uint32_t q = o->wait; q - o->wait < o->nwaits; q++)
			waited |= x == ops + k->f->workers[k->f->waits[q].worker].op +
					       k->f->waits[q].ops - 1;
		if (waited && k->f->p->after.n)
			t = latest(t, moment_of(x, 1 + is_shifted(x)));
		if (k->rank[x - ops] != k->rank[o - ops])
			continue;
		if (meet(x->dst, o->a, x->n, o->n) || meet(x->dst, o->b, x->n, o->n) ||
		    meet(x->dst, o->dst, x->n, o->n))
			t = latest(t, moment_of(x, 1 + is_shifted(x)));
		else if (meet(x->a, o->dst, x->n, o->n) || meet(x->b, o->dst, x->n, o->n))
			t = latest(t, moment_of(x, 1));
	}
	return t;
}

/* Nobody writes the message's cells before it goes. */
static bool stays(const struct work *k, uint32_t i)
{
	const struct ccs_op *o = k->f->ops + k->order[i];

	for (uint32_t j = i + 1; j < k->n; j++) {
		const struct ccs_op *x = k->f->ops + k->order[j];
		uint32_t cell = o->dst != CCS_NONE ? o->dst : o->a;

		if (k->rank[k->order[j]] == k->rank[k->order[i]] &&
		    meet(x->dst, cell, x->n, o->n) &&
		    x->phase <= o->phase + (x->flags & CCS_OP_TO_CELLS ? 1u : 0u))
			return false;
	}
	return true;
}

static bool in_place_right(const struct work *k, uint32_t i)
{
	const struct ccs_op *o = k->f->ops + k->order[i];
	uint32_t from = k->from[k->order[i]];

	if (o->flags & CCS_OP_TO_CELLS && (o->level || o->phase != k->f->ops[from].phase + 1))
		return false;
	if (o->out != CCS_NONE && o->n != 1 &&
	    !(o->flags & CCS_OP_FROM_CELLS) != !(k->f->ops[o->to].flags & CCS_OP_TO_CELLS))
		return false;
	return !(o->flags & CCS_OP_FROM_CELLS) || stays(k, i);
}

/* ---- both ------------------------------------------------------------------------------- */

bool plan_facts_fill(struct facts_plan *f)
{
	struct work k;
	bool right = begin(&k, f);

	for (uint32_t w = 0; w < f->p->workers.n && right; w++)
		f->workers[w].stage = 0;
	f->p->rounds = right ? 0 : f->p->rounds;
	for (uint32_t i = 0; i < k.n && right; i++) {
		f->ops[i].flags &= CCS_OP_A_INITIAL | CCS_OP_B_INITIAL | CCS_OP_LEN_SAME |
				   CCS_OP_DIRECT | CCS_OP_HELD | CCS_OP_READ;
		f->ops[i].to = CCS_NONE;
	}
	for (uint32_t i = 0; i < k.n && right; i++) {
		struct ccs_op *o = f->ops + k.order[i];
		struct ccs_worker *w = f->workers + worker_of(f, k.order[i]);
		struct moment t = moment(&k, i);

		o->phase = (uint32_t)t.phase;
		o->level = (uint32_t)t.level;
		o->flags |= is_shifted(o) ? CCS_OP_SHIFTED : 0;
		w->stage = is_shifted(o) && o->n > w->stage ? o->n : w->stage;
		f->p->rounds =
			goes(&k, o) && o->phase >= f->p->rounds ? o->phase + 1 : f->p->rounds;
		if (o->in != CCS_NONE)
			f->ops[k.from[k.order[i]]].to = k.order[i];
		for (uint32_t q = o->wait; q - o->wait < o->nwaits; q++)
			f->ops[f->workers[f->waits[q].worker].op + f->waits[q].ops - 1].flags |=
				CCS_OP_AWAITED;
	}
	end(&k);
	return right;
}

bool plan_facts_hold(const struct ccs_module *m, size_t i)
{
	const struct plan_view *v = &m->plans[i];
	struct ccs_plan plan = *v->plan, was = plan;
	struct facts_plan f = { .p = &plan, .waits = v->waits, .fifos = v->fifos };
	struct work k;
	bool right;

	f.ops = rows(plan.ops.n, sizeof(*f.ops));
	f.workers = rows(plan.workers.n, sizeof(*f.workers));
	memcpy(f.ops, v->ops, plan.ops.n * sizeof(*f.ops));
	memcpy(f.workers, v->workers, plan.workers.n * sizeof(*f.workers));
	right = plan_facts_fill(&f) && plan.rounds == was.rounds;
	for (uint32_t r = 0; r < plan.ops.n && right; r++) {
		const struct ccs_op *o = v->ops + r, *x = f.ops + r;

		right = o->to == x->to && o->phase == x->phase && o->level == x->level &&
			!(x->flags & ~o->flags);
	}
	memcpy(f.ops, v->ops, plan.ops.n * sizeof(*f.ops));
	right = begin(&k, &f) && right;
	for (uint32_t r = 0; r < k.n && right; r++)
		right = in_place_right(&k, r);
	end(&k);
	free(f.ops);
	free(f.workers);
	return right;
}
