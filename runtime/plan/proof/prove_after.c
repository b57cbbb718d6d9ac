/*
 * Whether each rank ends after the ranks that the plan names have begun: plan.h, ccs_after.
 *
 * In: an order in which all operations can run. Out: yes, or a rank that may end too early.
 * Knowledge of begun ranks spreads along the happens-before relation (Lamport 1978): from an
 * operation to the next one of its worker, to the operations that wait for it, and to the
 * operation that receives its message. A worker knows its rank from the start. An operation sends
 * the ranks that it knew when it began, with those of its received message.
 *
 * Sets of ranks are 64-bit words, one pass for each 64 ranks: O(operations + waits) a pass, and 8
 * bytes an operation.
 */
#include "runtime/plan/proof/prove_parts.h"

struct begun {
	struct prove *p;
	const struct plan_view *v;
	uint32_t base;	  /* this pass: bit i is rank base + i */
	uint64_t *known;  /* [workers] */
	uint64_t *behind; /* [ops]: known when it is over and sent with its message */
	uint64_t *end;	  /* [ranks] */
};

static uint64_t bit_of(const struct begun *b, uint32_t rank)
{
	return rank - b->base < 64 ? (uint64_t)1 << (rank - b->base) : 0;
}

static void set_out(struct begun *b)
{
	const struct ccs_plan *plan = b->v->plan;

	for (uint64_t w = 0; w < plan->workers.n; w++)
		b->known[w] = bit_of(b, b->v->workers[w].rank);
	for (uint32_t r = 0; r < plan->nranks; r++)
		b->end[r] = bit_of(b, r);
}

static void run_op(struct begun *b, uint32_t row)
{
	const struct ccs_op *o = b->v->ops + row;
	uint32_t w = b->p->worker[row];
	uint64_t known = b->known[w];

	for (uint32_t i = o->wait; i - o->wait < o->nwaits; i++) {
		const struct ccs_wait *x = b->v->waits + i;

		known |= b->behind[b->v->workers[x->worker].op + x->ops - 1];
	}
	if (o->in != CCS_NONE)
		known |= b->behind[b->p->sender[row]];
	b->known[w] = b->behind[row] = known;
	b->end[b->v->workers[w].rank] |= known;
}

static bool check(const struct begun *b)
{
	for (uint64_t i = 0; i < b->v->plan->after.n; i++) {
		const struct ccs_after *a = b->v->after + i;

		for (uint32_t q = a->first; q - a->first < a->n; q++)
			if (bit_of(b, q) & ~b->end[a->rank])
				return prove_wrong(
					b->p,
					"rank %u may end before rank %u has begun, which "
					"the plan forbids",
					a->rank, q);
	}
	return true;
}

bool prove_after(struct prove *p)
{
	const struct ccs_plan *plan = p->v->plan;
	struct begun b = { .p = p, .v = p->v };
	bool right = true;

	if (!plan->after.n)
		return true;
	b.known = prove_rows(p, plan->workers.n, sizeof(*b.known));
	b.behind = prove_rows(p, plan->ops.n, sizeof(*b.behind));
	b.end = prove_rows(p, plan->nranks, sizeof(*b.end));
	if (p->status)
		return false;
	for (; right && b.base < plan->nranks; b.base += 64) {
		set_out(&b);
		for (uint64_t i = 0; i < plan->ops.n; i++)
			run_op(&b, p->order[i]);
		right = check(&b);
	}
	return right;
}
