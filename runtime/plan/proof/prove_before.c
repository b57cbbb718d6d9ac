/*
 * Whether one operation is over before another begins, in every run.
 *
 * In: questions "x before y?", and an order in which all operations can run. Out: whether all
 * hold, or one that does not. Exact: x is over before y begins in every run, with FIFOs of any
 * depth, if and only if a path leads from x to y (happens-before, Lamport 1978): from an
 * operation to the next one of its worker, to those that wait for it, and (with `messages`) to
 * the one that receives its message. A free slot in a FIFO gives no edge: it would hold for one
 * depth only.
 *
 * The idea: vector clocks (Fidge, Mattern 1988), 64 components at a time. One sweep over the
 * order answers for up to 64 of the workers that have an x. Each worker has a clock: of each of
 * the 64, how many operations are known to be over. A finished operation passes the clock of that
 * moment to its successors; clocks ("rows") are shared until one is changed, and freed after the
 * last use. Without `messages` no rank knows of another, so every rank uses its own 64 components
 * in the same sweep.
 *
 * O(questions * log + sweeps * (operations + waits)), 64 numbers at a time.
 */
#include "runtime/plan/proof/prove_parts.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 64u

/* Row 0 is the empty clock. */
struct row {
	uint32_t owners; /* in a free row: the next free row */
	uint32_t done[COLUMNS];
};

struct sweeps {
	struct prove *p;
	const struct plan_view *v;
	bool messages;
	struct prove_question *q;
	uint64_t n, from, end; /* all questions; those of this sweep */
	uint32_t *column;      /* [workers], or CCS_NONE: no question is about it */
	uint32_t base;	       /* this sweep has columns base .. base + COLUMNS - 1 */
	uint32_t *row;	       /* [workers] */
	uint64_t *asked;       /* [workers]: its next question */
	uint32_t *known;       /* [ops]: the row that an operation left, until ... */
	uint32_t *hearers;     /* [ops]: ... this number of successors have read it */
	struct row *rows;
	uint64_t nrows, caprows;
	uint32_t free_row;
	const struct prove_question *open;
};

/* ---- columns --------------------------------------------------------------------- */

/* By sweep, then by y. */
static int by_sweep(const void *x, const void *y)
{
	const struct prove_question *a = x, *b = y;

	if (a->column / COLUMNS != b->column / COLUMNS)
		return a->column / COLUMNS < b->column / COLUMNS ? -1 : 1;
	return a->y < b->y ? -1 : a->y > b->y;
}

/* Numbers the workers that have an x; without messages, each rank starts from 0. */
static void number_columns(struct sweeps *s)
{
	uint64_t workers = s->v->plan->workers.n;
	uint32_t n = 0, rank = CCS_NONE;

	memset(s->column, 0xff, workers * sizeof(*s->column));
	for (uint64_t i = 0; i < s->n; i++) {
		s->q[i].column = s->p->worker[s->q[i].x];
		s->q[i].done = s->q[i].x - s->v->workers[s->q[i].column].op + 1;
		s->column[s->q[i].column] = 0;
	}
	for (uint64_t w = 0; w < workers; w++) {
		if (!s->messages && s->v->workers[w].rank != rank)
			n = 0;
		rank = s->v->workers[w].rank;
		if (s->column[w] != CCS_NONE)
			s->column[w] = n++;
	}
	for (uint64_t i = 0; i < s->n; i++)
		s->q[i].column = s->column[s->q[i].column];
	qsort(s->q, s->n, sizeof(*s->q), by_sweep);
}

static uint32_t awaited(const struct sweeps *s, const struct ccs_wait *x)
{
	return s->v->workers[x->worker].op + x->ops - 1;
}

/* Counts the operations that wait for an operation or receive its message. */
static void count_hearers(struct sweeps *s)
{
	const struct ccs_plan *plan = s->v->plan;

	for (uint64_t i = 0; i < plan->ops.n; i++)
		s->hearers[i] = s->messages && s->v->ops[i].out != CCS_NONE;
	for (uint64_t i = 0; i < plan->waits.n; i++)
		s->hearers[awaited(s, s->v->waits + i)]++;
}

/* ---- rows ------------------------------------------------------------------------ */

static void let_row(struct sweeps *s, uint32_t row)
{
	if (row && !--s->rows[row].owners) {
		s->rows[row].owners = s->free_row;
		s->free_row = row;
	}
}

static uint32_t own_row(struct sweeps *s, uint32_t row)
{
	if (row)
		s->rows[row].owners++;
	return row;
}

/* A row that only worker w uses, with the contents of its row. 0: no memory. */
static uint32_t private_row(struct sweeps *s, uint32_t w)
{
	uint32_t row = s->row[w], own = s->free_row;

	if (row && s->rows[row].owners == 1)
		return row;
	if (own)
		s->free_row = s->rows[own].owners;
	else if (prove_grow(s->p, &s->rows, &s->caprows, s->nrows + 1, sizeof(*s->rows)))
		own = (uint32_t)s->nrows++;
	else
		return 0;
	s->rows[own] = s->rows[row];
	s->rows[own].owners = 1;
	let_row(s, row);
	return s->row[w] = own;
}

/* Merges a row into worker w's: the maximum of each component. */
static bool learn_row(struct sweeps *s, uint32_t w, uint32_t from)
{
	const uint32_t *x = s->rows[from].done, *y = s->rows[s->row[w]].done;
	uint32_t *to, news = 0, own;

	for (uint32_t i = 0; i < COLUMNS && x != y; i++)
		news |= x[i] > y[i];
	if (!news)
		return true;
	own = private_row(s, w);
	if (!own)
		return false;
	x = s->rows[from].done;
	to = s->rows[own].done;
	for (uint32_t i = 0; i < COLUMNS; i++)
		to[i] = to[i] > x[i] ? to[i] : x[i];
	return true;
}

/* Merges a row, and records that `done` operations of another worker are over. */
static bool learn(struct sweeps *s, uint32_t w, uint32_t from, uint32_t other, uint32_t done)
{
	uint32_t column = s->column[other] - s->base, own;

	if (!learn_row(s, w, from))
		return false;
	if (s->column[other] == CCS_NONE || column >= COLUMNS ||
	    s->rows[s->row[w]].done[column] >= done)
		return true;
	own = private_row(s, w);
	if (own)
		s->rows[own].done[column] = done;
	return own != 0;
}

/* ---- one operation --------------------------------------------------------------- */

/* Worker w learns that another worker's operation is over. */
static bool learn_end(struct sweeps *s, uint32_t w, uint32_t other, uint32_t row)
{
	if (!learn(s, w, s->known[row], other, row - s->v->workers[other].op + 1))
		return false;
	if (!--s->hearers[row])
		let_row(s, s->known[row]);
	return true;
}

static bool begin_op(struct sweeps *s, uint32_t w, uint32_t row, const struct ccs_op *o)
{
	for (uint32_t i = o->wait; i - o->wait < o->nwaits; i++) {
		const struct ccs_wait *x = s->v->waits + i;

		if (!learn_end(s, w, x->worker, awaited(s, x)))
			return false;
	}
	return !s->messages || o->in == CCS_NONE ||
	       learn_end(s, w, s->v->fifos[o->in].src_worker, s->p->sender[row]);
}

static void end_op(struct sweeps *s, uint32_t w, uint32_t row)
{
	if (s->hearers[row])
		s->known[row] = own_row(s, s->row[w]);
	if (row + 1 - s->v->workers[w].op == s->v->workers[w].nops) {
		let_row(s, s->row[w]);
		s->row[w] = 0;
	}
}

/* Answers the questions about y, the operation that worker w begins now. */
static bool answer(struct sweeps *s, uint32_t w, uint32_t row)
{
	const struct ccs_worker *own = s->v->workers + w;

	for (; s->asked[w] < s->end && s->q[s->asked[w]].y == row; s->asked[w]++) {
		const struct prove_question *q = s->q + s->asked[w];

		if (s->rows[s->row[w]].done[q->column - s->base] >= q->done ||
		    (q->x - own->op < own->nops && q->x < row))
			continue;
		s->open = q;
		return false;
	}
	return true;
}

/* ---- sweeps ---------------------------------------------------------------------- */

static bool sweep(struct sweeps *s)
{
	const struct plan_view *v = s->v;
	uint64_t asked = s->from;

	count_hearers(s);
	for (uint32_t w = 0; w < v->plan->workers.n; w++) {
		s->row[w] = 0;
		while (asked < s->end && s->q[asked].y < v->workers[w].op)
			asked++;
		s->asked[w] = asked;
	}
	for (uint64_t i = 0; i < v->plan->ops.n; i++) {
		uint32_t row = s->p->order[i], w = s->p->worker[row];

		if (!begin_op(s, w, row, v->ops + row) || !answer(s, w, row))
			return false;
		end_op(s, w, row);
	}
	return true;
}

static bool allocate(struct sweeps *s)
{
	const struct ccs_plan *plan = s->v->plan;
	struct prove *p = s->p;

	s->column = prove_rows(p, plan->workers.n, sizeof(*s->column));
	s->row = prove_rows(p, plan->workers.n, sizeof(*s->row));
	s->asked = prove_rows(p, plan->workers.n, sizeof(*s->asked));
	s->known = prove_rows(p, plan->ops.n, sizeof(*s->known));
	s->hearers = prove_rows(p, plan->ops.n, sizeof(*s->hearers));
	prove_grow(p, &s->rows, &s->caprows, 1, sizeof(*s->rows));
	if (p->status)
		return false;
	memset(s->rows, 0, sizeof(*s->rows));
	s->nrows = 1;
	return true;
}

bool prove_before(struct prove *p, struct prove_question *q, uint64_t n, bool messages,
		  const struct prove_question **open)
{
	struct sweeps s = { .p = p, .v = p->v, .messages = messages, .q = q, .n = n };
	const struct prove_block *before = p->blocks;
	bool right = allocate(&s);

	if (right)
		number_columns(&s);
	for (; right && s.from < n; s.from = s.end) {
		s.base = q[s.from].column / COLUMNS * COLUMNS;
		for (s.end = s.from; s.end < n && q[s.end].column - s.base < COLUMNS;)
			s.end++;
		right = sweep(&s);
	}
	prove_drop_since(p, before);
	*open = s.open;
	return right;
}
