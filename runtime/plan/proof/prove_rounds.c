/*
 * Whether the rounds of a plan between hosts give the same results: plan.h, Rounds.
 *
 * In: a plan with proved messages and values, and an order in which all operations can run. Out:
 * yes, or an operation with a wrong time, or a message that is not free to be in place.
 * Operations that touch one cell have the same order in every run (prove_touch.c), so each must
 * come after the last of those before it. If it comes immediately after, no plan can do with
 * fewer rounds.
 *
 * Between hosts a rank's cells are read and written at phases and, by messages in place, at
 * rounds; round p is before phase p. A message sent from cells is read at the round after its
 * operation's phase, so the next write to these cells must be later. A message received in cells
 * is written at its round, so its operation may wait for nothing else.
 *
 * Not proved: that every message that could be in place is.
 *
 * O(cells of all operations + nranks * cells), and 24 bytes for each of these cells.
 */
#include "runtime/plan/proof/prove_parts.h"

/* Times as numbers: round p is 2 * p * LEVELS, phase p with its level (2 * p + 1) * LEVELS +
 * level. */
#define LEVELS ((uint64_t)1 << 32)

/* The last uses of a cell. */
struct use {
	uint64_t written; /* time of the last write */
	uint64_t read;	  /* last read by an operation */
	uint64_t sent;	  /* ... by a message, at a round */
};

struct times {
	struct prove *p;
	const struct plan_view *v;
	uint32_t width;
	struct use *uses; /* [nranks * width] */
	uint32_t rounds;
};

static uint64_t most(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

static uint64_t begin_of(const struct ccs_op *o)
{
	return (2 * (uint64_t)o->phase + 1) * LEVELS + o->level;
}

static uint64_t over(const struct ccs_op *o)
{
	return begin_of(o) + 1 + (o->flags & CCS_OP_SHIFTED ? 1 : 0);
}

/* The time of the message that it sends. */
static uint64_t round_of(const struct ccs_op *o)
{
	return (2 * (uint64_t)o->phase + 2) * LEVELS;
}

/* The time of the message that it receives; 0: none, or not sent. */
static uint64_t arrival_of(const struct times *t, uint32_t row)
{
	const struct ccs_op *o = t->v->ops + row;

	return o->in != CCS_NONE && (o->n || t->v->plan->after.n)
		       ? round_of(t->v->ops + t->p->sender[row])
		       : 0;
}

static struct use *use_of(const struct times *t, uint32_t w, uint32_t cell)
{
	return t->uses + (size_t)t->v->workers[w].rank * t->width + cell;
}

/* The first time at which the operation can be done. */
static uint64_t first_time(const struct times *t, uint32_t w, uint32_t row)
{
	const struct ccs_op *o = t->v->ops + row;
	uint64_t first = LEVELS;

	first = most(first, arrival_of(t, row) + LEVELS);
	if (t->v->plan->after.n) {
		if (row > t->v->workers[w].op)
			first = most(first, over(o - 1));
		for (uint32_t i = o->wait; i - o->wait < o->nwaits; i++) {
			const struct ccs_wait *x = t->v->waits + i;

			first = most(first,
				     over(t->v->ops + t->v->workers[x->worker].op + x->ops - 1));
		}
	}
	for (uint32_t j = 0; j < o->n; j++) {
		if (o->a != CCS_NONE)
			first = most(first, use_of(t, w, o->a + j)->written);
		if (o->b != CCS_NONE)
			first = most(first, use_of(t, w, o->b + j)->written);
		if (o->dst != CCS_NONE)
			first = most(first, most(use_of(t, w, o->dst + j)->written,
						 use_of(t, w, o->dst + j)->read));
	}
	return first;
}

/* A message may be received in cells only if its operation waits for nothing else, and
 * everything that was sent from these cells went in an earlier round. */
static bool check_writes(const struct times *t, uint32_t w, uint32_t row)
{
	const struct ccs_op *o = t->v->ops + row;
	bool early = o->flags & CCS_OP_TO_CELLS;
	uint64_t at = early ? arrival_of(t, row) : begin_of(o);

	if (early && begin_of(o) != at + LEVELS)
		return prove_wrong_at(t->p, row,
				      "between hosts its message is received in its cells at round "
				      "%u, before they are free",
				      (uint32_t)(at / LEVELS / 2));
	for (uint32_t j = 0; o->dst != CCS_NONE && j < o->n; j++) {
		struct use *u = use_of(t, w, o->dst + j);

		if (u->sent >= at)
			return prove_wrong_at(t->p, row,
					      "writes cells from which, between hosts, a message "
					      "goes in round %u",
					      (uint32_t)(u->sent / LEVELS / 2));
		*u = (struct use){ .written = over(o) };
	}
	return true;
}

static void note_reads(const struct times *t, uint32_t w, const struct ccs_op *o, uint32_t first)
{
	for (uint32_t j = 0; first != CCS_NONE && j < o->n; j++) {
		struct use *u = use_of(t, w, first + j);

		u->read = most(u->read, begin_of(o) + 1);
	}
}

static bool check_send(struct times *t, uint32_t w, const struct ccs_op *o)
{
	uint32_t from = o->dst != CCS_NONE ? o->dst : o->a;
	const struct ccs_op *to = t->v->ops + o->to;

	if (!o->n && !t->v->plan->after.n)
		return true;
	t->rounds = t->rounds > o->phase ? t->rounds : o->phase + 1;
	if (o->n != 1 && !(o->flags & CCS_OP_FROM_CELLS) != !(to->flags & CCS_OP_TO_CELLS))
		return prove_wrong_at(t->p, (uint32_t)(o - t->v->ops),
				      "between hosts its message of %u cells is in place on one "
				      "side only",
				      o->n);
	for (uint32_t j = 0; o->flags & CCS_OP_FROM_CELLS && j < o->n; j++) {
		struct use *u = use_of(t, w, from + j);

		u->sent = most(u->sent, round_of(o));
	}
	return true;
}

static bool run_op(struct times *t, uint32_t row)
{
	const struct ccs_op *o = t->v->ops + row;
	uint32_t w = t->p->worker[row];
	uint64_t first = first_time(t, w, row);

	if (begin_of(o) != first)
		return prove_wrong_at(t->p, row,
				      "between hosts it is done in phase %u, level %u, but can be "
				      "from phase %u, level %u on",
				      o->phase, o->level, (uint32_t)(first / LEVELS / 2),
				      (uint32_t)first);
	note_reads(t, w, o, o->a);
	note_reads(t, w, o, o->b);
	return check_writes(t, w, row) && (o->out == CCS_NONE || check_send(t, w, o));
}

bool prove_rounds(struct prove *p)
{
	const struct ccs_plan *plan = p->v->plan;
	struct times t = { .p = p, .v = p->v, .width = plan->cells + plan->scratch };
	const struct prove_block *before = p->blocks;
	bool right = true;

	t.uses = prove_rows(p, (uint64_t)plan->nranks * t.width, sizeof(*t.uses));
	if (p->status)
		return false;
	for (uint64_t i = 0; right && i < plan->ops.n; i++)
		right = run_op(&t, p->order[i]);
	if (right && t.rounds != plan->rounds)
		right = prove_wrong(p, "between hosts it has %u rounds by its row, but needs %u",
				    plan->rounds, t.rounds);
	prove_drop_since(p, before);
	return right;
}
