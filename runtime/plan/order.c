/*
 * An order of each rank's operations for an executor with one thread per rank, which does them
 * one after another and waits for each.
 *
 * In: a proved plan. Out: rows of `ops`, rank by rank. The lists come from one order of all
 * operations in which no operation waits, found by counting messages. So ranks that follow their
 * lists never wait in a cycle, with the plan's slots or more. The order proceeds in rounds: a
 * message sent in one round is received in the next, so a rank sends everything it can before it
 * waits. O(operations + rounds x (workers + FIFOs)).
 */
#include "runtime/plan/order.h"

#include <stdlib.h>
#include <string.h>

struct sweep {
	const struct plan_view *v;
	uint32_t slots;
	uint32_t *sent, *seen, *received; /* messages by FIFO; `seen`: sent in earlier rounds */
	uint32_t *done;			  /* operations by worker */
	uint32_t *order, *next;		  /* by rank: its next entry */
};

static bool ready(const struct sweep *s, const struct ccs_op *o)
{
	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_wait *w = s->v->waits + o->wait + i;

		if (s->done[w->worker] < w->ops)
			return false;
	}
	if (o->in != CCS_NONE && s->seen[o->in] == s->received[o->in])
		return false;
	return o->out == CCS_NONE || s->sent[o->out] - s->received[o->out] < s->slots;
}

/* Does all operations of the worker that need not wait. True if there was one. */
static bool go_on(struct sweep *s, uint32_t worker)
{
	const struct ccs_worker *w = s->v->workers + worker;
	uint32_t before = s->done[worker];

	for (; s->done[worker] < w->nops; s->done[worker]++) {
		uint32_t row = w->op + s->done[worker];
		const struct ccs_op *o = s->v->ops + row;

		if (!ready(s, o))
			break;
		if (o->in != CCS_NONE)
			s->received[o->in]++;
		if (o->out != CCS_NONE)
			s->sent[o->out]++;
		s->order[s->next[w->rank]++] = row;
	}
	return s->done[worker] != before;
}

/* False: not all operations can be done. */
static bool sweep(struct sweep *s)
{
	const struct ccs_plan *p = s->v->plan;
	size_t fifos = (size_t)p->fifos.n;
	uint64_t done = 0;

	for (bool moved = true; moved;) {
		moved = false;
		memcpy(s->seen, s->sent, fifos * sizeof(*s->seen));
		for (uint32_t i = 0; i < p->workers.n; i++)
			moved |= go_on(s, i);
	}
	for (uint32_t i = 0; i < p->workers.n; i++)
		done += s->done[i];
	return done == p->ops.n;
}

uint32_t *plan_order(const struct plan_view *v, uint32_t slots)
{
	size_t fifos = (size_t)v->plan->fifos.n, workers = (size_t)v->plan->workers.n;
	uint32_t *order = malloc(((size_t)v->plan->ops.n + 1) * sizeof(*order));
	uint32_t *counts = calloc(3 * fifos + workers + v->plan->nranks + 1, sizeof(*counts));
	struct sweep s = { .v = v, .slots = slots, .order = order };
	bool whole = false;

	if (order && counts) {
		s.sent = counts;
		s.seen = s.sent + fifos;
		s.received = s.seen + fifos;
		s.done = s.received + fifos;
		s.next = s.done + workers;
		for (uint32_t r = 0; r < v->plan->nranks; r++)
			s.next[r] = plan_ops_of(v, r).first;
		whole = sweep(&s);
	}
	free(counts);
	if (whole)
		return order;
	free(order);
	return NULL;
}
