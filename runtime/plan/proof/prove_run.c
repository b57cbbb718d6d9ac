/*
 * Finds an order in which all operations of a plan can run, or a deadlock.
 *
 * In: a plan of good form. Out: p->worker, p->order and p->sender; or a mistake: a number that a FIFO or the
 * plan states is wrong, or the plan does not end.
 *
 * The rule of executors: an operation starts when its waits hold, its message is there, and a
 * slot of its FIFO is free. A FIFO has one sending and one receiving worker, so an operation that
 * can start stays able to start, whatever other workers do (a Kahn process network: results do not
 * depend on timing). So one run decides for all, and more slots never hurt. FIFOs end empty, and
 * waits count the operations of a tile, so repeating this run for each tile is a run of the whole
 * call.
 *
 * O(operations + waits): waiting workers are listed with the operation that they wait for.
 */
#include "runtime/plan/proof/prove_parts.h"

#include <stdio.h>

/* The reason why a worker waits. */
enum reason { RUNS, MESSAGE, SLOT, WORKER };

struct runner {
	struct prove *p;
	const struct plan_view *v;
	uint32_t *done;	       /* [workers]: operations done */
	unsigned char *reason; /* [workers]: enum reason */
	uint32_t *what;	       /* [workers]: the FIFO, or the row of `waits` */
	uint32_t *sent, *got;  /* [fifos] */
	uint32_t *waiter;      /* [ops]: 1 + a worker that waits for it, or 0 */
	uint32_t *next;	       /* [workers]: 1 + the next worker that waits for the same
			          operation */
	uint32_t *queue;       /* workers that can continue: a ring buffer, each worker at most
			          once */
	uint32_t head, queued, ran;
};

/* ---- numbers --------------------------------------------------------------------- */

/* Counts the messages of each FIFO, sent and received, and the most cells of one. */
static void count_messages(struct prove *p, uint32_t *sent, uint32_t *got, uint32_t *most)
{
	const struct plan_view *v = p->v;

	for (uint64_t i = 0; i < v->plan->ops.n; i++) {
		const struct ccs_op *o = v->ops + i;

		if (o->in != CCS_NONE)
			got[o->in]++;
		if (o->out == CCS_NONE)
			continue;
		sent[o->out]++;
		p->facts->messages++;
		p->facts->direct += (o->flags & CCS_OP_DIRECT) != 0;
		if (o->n > most[o->out])
			most[o->out] = o->n;
	}
}

static bool check_numbers(struct prove *p, const uint32_t *sent, const uint32_t *got,
			  const uint32_t *most)
{
	const struct plan_view *v = p->v;
	uint32_t largest = 0;

	for (uint32_t i = 0; i < v->plan->fifos.n; i++) {
		const struct ccs_fifo *f = v->fifos + i;

		if (sent[i] != got[i] || sent[i] != f->messages)
			return prove_wrong(p,
					   "FIFO %u, from rank %u to rank %u, has %u messages by "
					   "its row, but %u are sent and %u received",
					   i, f->src, f->dst, f->messages, sent[i], got[i]);
		if (most[i] != f->max_cells)
			return prove_wrong(p,
					   "FIFO %u, from rank %u to rank %u, has messages of up "
					   "to %u cells by its row, but the largest has %u",
					   i, f->src, f->dst, f->max_cells, most[i]);
		largest = most[i] > largest ? most[i] : largest;
	}
	if (largest != v->plan->max_message)
		return prove_wrong(p,
				   "messages have up to %u cells by the plan's row, but the "
				   "largest has %u",
				   v->plan->max_message, largest);
	return true;
}

static bool numbers(struct prove *p)
{
	uint64_t n = p->v->plan->fifos.n;
	uint32_t *sent = prove_rows(p, n, sizeof(*sent));
	uint32_t *got = prove_rows(p, n, sizeof(*got));
	uint32_t *most = prove_rows(p, n, sizeof(*most));

	if (!sent || !got || !most)
		return false;
	count_messages(p, sent, got, most);
	return check_numbers(p, sent, got, most);
}

static void find_workers(struct prove *p)
{
	for (uint32_t w = 0; w < p->v->plan->workers.n; w++)
		for (uint32_t i = 0; i < p->v->workers[w].nops; i++)
			p->worker[p->v->workers[w].op + i] = w;
}

/* The k-th message of a FIFO is received by the k-th operation that receives from it. */
static bool find_senders(struct prove *p)
{
	const struct plan_view *v = p->v;
	uint32_t *rows = prove_rows(p, p->facts->messages, sizeof(*rows)), at = 0;
	uint32_t *next = prove_rows(p, v->plan->fifos.n, sizeof(*next));

	if (!rows || !next)
		return false;
	for (uint64_t f = 0; f < v->plan->fifos.n; f++) {
		next[f] = at;
		at += v->fifos[f].messages;
	}
	for (uint32_t i = 0; i < v->plan->ops.n; i++)
		if (v->ops[i].out != CCS_NONE)
			rows[next[v->ops[i].out]++] = i;
	for (uint64_t i = v->plan->ops.n; i-- > 0;)
		if (v->ops[i].in != CCS_NONE)
			p->sender[i] = rows[--next[v->ops[i].in]];
	return true;
}

/* ---- one run --------------------------------------------------------------------- */

static void push(struct runner *r, uint32_t w)
{
	uint64_t n = r->v->plan->workers.n;

	r->reason[w] = RUNS;
	r->queue[((uint64_t)r->head + r->queued++) % n] = w;
}

static uint32_t pop(struct runner *r)
{
	uint32_t w = r->queue[r->head];

	r->head = r->head + 1 == r->v->plan->workers.n ? 0 : r->head + 1;
	r->queued--;
	return w;
}

static bool stops(struct runner *r, uint32_t w, enum reason reason, uint32_t what)
{
	r->reason[w] = (unsigned char)reason;
	r->what[w] = what;
	return true;
}

/* Whether the worker's next operation must wait. If so, the worker is listed at the event that
 * it waits for. */
static bool must_wait(struct runner *r, uint32_t w, const struct ccs_op *o)
{
	for (uint32_t i = o->wait; i - o->wait < o->nwaits; i++) {
		const struct ccs_wait *x = r->v->waits + i;
		uint32_t row = r->v->workers[x->worker].op + x->ops - 1;

		if (r->done[x->worker] >= x->ops)
			continue;
		r->next[w] = r->waiter[row];
		r->waiter[row] = w + 1;
		return stops(r, w, WORKER, i);
	}
	if (o->in != CCS_NONE && r->sent[o->in] == r->got[o->in])
		return stops(r, w, MESSAGE, o->in);
	if (o->out != CCS_NONE && r->sent[o->out] - r->got[o->out] >= r->p->m->head->slots)
		return stops(r, w, SLOT, o->out);
	return false;
}

static void wake(struct runner *r, uint32_t w, enum reason reason, uint32_t what)
{
	if (r->reason[w] == reason && r->what[w] == what)
		push(r, w);
}

static void do_op(struct runner *r, uint32_t w, uint32_t row)
{
	const struct ccs_op *o = r->v->ops + row;

	r->p->order[r->ran++] = row;
	r->done[w]++;
	if (o->in != CCS_NONE) {
		r->got[o->in]++;
		wake(r, r->v->fifos[o->in].src_worker, SLOT, o->in);
	}
	if (o->out != CCS_NONE) {
		r->sent[o->out]++;
		wake(r, r->v->fifos[o->out].dst_worker, MESSAGE, o->out);
	}
	for (uint32_t i = r->waiter[row]; i; i = r->next[i - 1])
		push(r, i - 1);
}

static void run(struct runner *r)
{
	for (uint32_t w = 0; w < r->v->plan->workers.n; w++)
		push(r, w);
	while (r->queued) {
		uint32_t w = pop(r);
		const struct ccs_worker *k = r->v->workers + w;

		while (r->done[w] < k->nops && !must_wait(r, w, r->v->ops + k->op + r->done[w]))
			do_op(r, w, k->op + r->done[w]);
	}
}

/* ---- a deadlock ------------------------------------------------------------------ */

/* The worker that a waiting worker waits for. It is waiting, too: FIFOs have as many sends as
 * receives, and no wait is for more operations than exist. */
static uint32_t awaited(const struct runner *r, uint32_t w)
{
	if (r->reason[w] == WORKER)
		return r->v->waits[r->what[w]].worker;
	return r->reason[w] == SLOT ? r->v->fifos[r->what[w]].dst_worker
				    : r->v->fifos[r->what[w]].src_worker;
}

/* The lowest worker on a cycle of waiting workers, and the cycle's length. */
static uint32_t find_cycle(const struct runner *r, uint32_t *length)
{
	uint32_t w = 0, least;

	while (r->done[w] == r->v->workers[w].nops)
		w++;
	for (uint64_t i = 0; i < r->v->plan->workers.n; i++)
		w = awaited(r, w);
	least = w;
	*length = 1;
	for (uint32_t x = awaited(r, w); x != w; x = awaited(r, x), ++*length)
		least = x < least ? x : least;
	return least;
}

static bool deadlock(const struct runner *r)
{
	uint32_t length, w = find_cycle(r, &length), what = r->what[w];
	const struct plan_view *v = r->v;
	struct prove_text t;

	if (r->reason[w] == MESSAGE)
		snprintf(t.s, sizeof(t.s), "a message from rank %u", v->fifos[what].src);
	else if (r->reason[w] == SLOT)
		snprintf(t.s, sizeof(t.s), "a free slot towards rank %u", v->fifos[what].dst);
	else
		t = prove_op_text(r->p,
				  v->workers[v->waits[what].worker].op + v->waits[what].ops - 1);
	return prove_wrong_at(r->p, v->workers[w].op + r->done[w],
			      "waits forever for %s: a deadlock of %u workers with %u slots", t.s,
			      length, r->p->m->head->slots);
}

/* ---- all of it ------------------------------------------------------------------- */

static bool allocate(struct runner *r)
{
	const struct ccs_plan *plan = r->v->plan;

	r->done = prove_rows(r->p, plan->workers.n, sizeof(*r->done));
	r->reason = prove_rows(r->p, plan->workers.n, sizeof(*r->reason));
	r->what = prove_rows(r->p, plan->workers.n, sizeof(*r->what));
	r->sent = prove_rows(r->p, plan->fifos.n, sizeof(*r->sent));
	r->got = prove_rows(r->p, plan->fifos.n, sizeof(*r->got));
	r->waiter = prove_rows(r->p, plan->ops.n, sizeof(*r->waiter));
	r->next = prove_rows(r->p, plan->workers.n, sizeof(*r->next));
	r->queue = prove_rows(r->p, plan->workers.n, sizeof(*r->queue));
	return r->p->status == CCS_OK;
}

bool prove_run(struct prove *p)
{
	struct runner r = { .p = p, .v = p->v };
	const struct prove_block *before;
	bool right;

	p->worker = prove_rows(p, p->v->plan->ops.n, sizeof(*p->worker));
	p->order = prove_rows(p, p->v->plan->ops.n, sizeof(*p->order));
	p->sender = prove_rows(p, p->v->plan->ops.n, sizeof(*p->sender));
	before = p->blocks;
	if (p->worker)
		find_workers(p);
	right = !p->status && numbers(p) && find_senders(p);
	prove_drop_since(p, before);
	right = right && allocate(&r);
	if (right) {
		run(&r);
		right = r.ran == p->v->plan->ops.n || deadlock(&r);
	}
	prove_drop_since(p, before);
	return right;
}
