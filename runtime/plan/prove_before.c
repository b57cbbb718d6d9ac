/*
 * Whether one operation is over before another begins, in every run.
 *
 * In: questions, and an order in which all operations can be done. Out: whether all of
 * them hold, or one that does not. Exact: x is over before y begins in every run, with
 * FIFOs of any depth, just if a path leads from x to y: from an operation to the next one
 * of its worker, to those that wait for it, and (with `messages`) to the one that receives
 * what it sends. Room in a FIFO puts nothing before anything: it would hold for one depth
 * only.
 *
 * One sweep over the order answers for up to 64 of the workers that the x belong to. Each
 * worker carries a row: how many operations of each of the 64 are known to be over. What a
 * message or a finished operation tells is the row of that moment: rows are shared until
 * somebody changes them, and given back when nobody needs them. Without `messages` no
 * rank knows of another, so each has 64 workers of its own in one sweep.
 *
 * O(questions * log + sweeps * (operations + waits)), 64 numbers at a time.
 */
#include "runtime/plan/prove_parts.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 64u

/* Row 0 knows of nothing. */
struct row {
	uint32_t done[COLUMNS];
};

/* What is known when something is over: by itself it is operation `done` of its worker. */
struct told {
	uint32_t row, worker, done;
	uint32_t next; /* of the FIFO's messages */
};

struct sweeps {
	struct prove *p;
	const struct plan_view *v;
	bool messages;
	struct prove_question *q;
	uint64_t n, from, end; /* all; this sweep's */
	uint32_t *column;      /* [workers], or CCS_NONE: nobody asks about it */
	uint32_t base;	       /* this sweep has columns base .. base + COLUMNS - 1 */
	uint32_t *done;	       /* [workers]: operations */
	uint32_t *row;	       /* [workers] */
	uint64_t *asked;       /* [workers]: its next question */
	uint32_t *watched;     /* [ops + 1]: where the waits for an operation begin ... */
	uint32_t *waits;       /* ... here: rows of `waits`, by whom they wait for */
	uint32_t *snapshot;    /* [waits]: the row that the operation left */
	struct told *told;     /* messages on their way; [0] is none */
	uint64_t ntold, captold;
	uint32_t free_told;
	uint32_t *first, *last; /* [fifos] */
	struct row *rows;
	uint32_t *owners; /* of rows; free: the next free row */
	uint64_t nrows, caprows, capowners;
	uint32_t free_row;
	const struct prove_question *open;
};

/* ---- columns --------------------------------------------------------------------- */

/* By sweep, then by the operation that is asked about. */
static int by_sweep(const void *x, const void *y)
{
	const struct prove_question *a = x, *b = y;

	if (a->column / COLUMNS != b->column / COLUMNS)
		return a->column / COLUMNS < b->column / COLUMNS ? -1 : 1;
	return a->y < b->y ? -1 : a->y > b->y;
}

/* Numbers the workers that questions are about; without messages, in each rank anew. */
static void number_columns(struct sweeps *s)
{
	uint64_t workers = s->v->plan->workers.n;
	uint32_t n = 0, rank = CCS_NONE;

	memset(s->column, 0xff, workers * sizeof(*s->column));
	for (uint64_t i = 0; i < s->n; i++) {
		s->q[i].column = prove_worker(s->p, s->q[i].x);
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

/* The waits for each operation. */
static void sort_waits(struct sweeps *s)
{
	uint64_t nops = s->v->plan->ops.n, nwaits = s->v->plan->waits.n;

	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t i = 0; i < nwaits; i++) {
			const struct ccs_wait *w = s->v->waits + i;
			uint32_t *at = s->watched + s->v->workers[w->worker].op + w->ops - 1;

			if (pass)
				s->waits[(*at)++] = (uint32_t)i;
			else
				at[1]++;
		}
		for (uint64_t i = 1; !pass && i <= nops; i++)
			s->watched[i] += s->watched[i - 1];
	}
	for (uint64_t i = nops; i > 0; i--)
		s->watched[i] = s->watched[i - 1];
	s->watched[0] = 0;
}

/* ---- rows ------------------------------------------------------------------------ */

static void let_row(struct sweeps *s, uint32_t row)
{
	if (row && !--s->owners[row]) {
		s->owners[row] = s->free_row;
		s->free_row = row;
	}
}

static uint32_t own_row(struct sweeps *s, uint32_t row)
{
	if (row)
		s->owners[row]++;
	return row;
}

/* 0: no memory. */
static uint32_t new_row(struct sweeps *s)
{
	uint32_t row = s->free_row;
	struct row *rows;
	uint32_t *owners;

	if (row) {
		s->free_row = s->owners[row];
	} else {
		rows = prove_grow(s->p, s->rows, &s->caprows, s->nrows + 1, sizeof(*rows));
		s->rows = rows ? rows : s->rows;
		owners = prove_grow(s->p, s->owners, &s->capowners, s->nrows + 1, sizeof(*owners));
		s->owners = owners ? owners : s->owners;
		if (!rows || !owners)
			return 0;
		row = (uint32_t)s->nrows++;
	}
	s->owners[row] = 1;
	return row;
}

/* A row that worker w alone has, with what it knew: 0: no memory. */
static uint32_t private_row(struct sweeps *s, uint32_t w)
{
	uint32_t row = s->row[w], own;

	if (row && s->owners[row] == 1)
		return row;
	own = new_row(s);
	if (!own)
		return 0;
	s->rows[own] = s->rows[row];
	let_row(s, row);
	return s->row[w] = own;
}

/* Worker w learns what the row knows. */
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

/* ... and that `done` operations of another worker are over. */
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

static bool begin_op(struct sweeps *s, uint32_t w, const struct ccs_op *o)
{
	for (uint32_t i = o->wait; i - o->wait < o->nwaits; i++) {
		const struct ccs_wait *x = s->v->waits + i;

		if (!learn(s, w, s->snapshot[i], x->worker, x->ops))
			return false;
		let_row(s, s->snapshot[i]);
	}
	if (s->messages && o->in != CCS_NONE) {
		uint32_t i = s->first[o->in];
		struct told t = s->told[i];

		if (!learn(s, w, t.row, t.worker, t.done))
			return false;
		let_row(s, t.row);
		s->first[o->in] = t.next;
		s->told[i].next = s->free_told;
		s->free_told = i;
	}
	return true;
}

static bool tell(struct sweeps *s, uint32_t w, uint32_t fifo)
{
	uint32_t i = s->free_told;
	struct told *more;

	if (i) {
		s->free_told = s->told[i].next;
	} else {
		more = prove_grow(s->p, s->told, &s->captold, s->ntold + 1, sizeof(*more));
		if (!more)
			return false;
		s->told = more;
		i = (uint32_t)s->ntold++;
	}
	s->told[i] = (struct told){ own_row(s, s->row[w]), w, s->done[w], 0 };
	if (s->first[fifo])
		s->told[s->last[fifo]].next = i;
	else
		s->first[fifo] = i;
	s->last[fifo] = i;
	return true;
}

static bool end_op(struct sweeps *s, uint32_t w, uint32_t row, const struct ccs_op *o)
{
	s->done[w]++;
	for (uint32_t i = s->watched[row]; i < s->watched[row + 1]; i++)
		s->snapshot[s->waits[i]] = own_row(s, s->row[w]);
	if (s->messages && o->out != CCS_NONE && !tell(s, w, o->out))
		return false;
	if (s->done[w] == s->v->workers[w].nops) {
		let_row(s, s->row[w]);
		s->row[w] = 0;
	}
	return true;
}

/* The questions whether something is over before this operation of worker w begins. */
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

/* The first of its questions about an operation from `row` on. */
static uint64_t first_question(const struct sweeps *s, uint32_t row)
{
	uint64_t low = s->from, high = s->end;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (s->q[middle].y < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool sweep(struct sweeps *s)
{
	const struct plan_view *v = s->v;

	for (uint32_t w = 0; w < v->plan->workers.n; w++) {
		s->done[w] = s->row[w] = 0;
		s->asked[w] = first_question(s, v->workers[w].op);
	}
	for (uint64_t i = 0; i < v->plan->ops.n; i++) {
		uint32_t w = s->p->order[i], row = v->workers[w].op + s->done[w];
		const struct ccs_op *o = v->ops + row;

		if (!begin_op(s, w, o) || !answer(s, w, row) || !end_op(s, w, row, o))
			return false;
	}
	return true;
}

static bool allocate(struct sweeps *s)
{
	const struct ccs_plan *plan = s->v->plan;
	struct prove *p = s->p;

	s->column = prove_rows(p, plan->workers.n, sizeof(*s->column));
	s->done = prove_rows(p, plan->workers.n, sizeof(*s->done));
	s->row = prove_rows(p, plan->workers.n, sizeof(*s->row));
	s->asked = prove_rows(p, plan->workers.n, sizeof(*s->asked));
	s->watched = prove_rows(p, plan->ops.n + 1, sizeof(*s->watched));
	s->waits = prove_rows(p, plan->waits.n, sizeof(*s->waits));
	s->snapshot = prove_rows(p, plan->waits.n, sizeof(*s->snapshot));
	s->first = prove_rows(p, plan->fifos.n, sizeof(*s->first));
	s->last = prove_rows(p, plan->fifos.n, sizeof(*s->last));
	s->told = prove_grow(p, NULL, &s->captold, 1, sizeof(*s->told));
	s->rows = prove_grow(p, NULL, &s->caprows, 1, sizeof(*s->rows));
	s->owners = prove_grow(p, NULL, &s->capowners, 1, sizeof(*s->owners));
	if (p->status)
		return false;
	memset(s->rows, 0, sizeof(*s->rows));
	s->nrows = s->ntold = 1;
	return true;
}

static void let_go(struct sweeps *s)
{
	void *const all[] = { s->column,   s->done,  s->row,  s->asked, s->watched, s->waits,
			      s->snapshot, s->first, s->last, s->told,	s->rows,    s->owners };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		prove_drop(s->p, all[i]);
}

bool prove_before(struct prove *p, struct prove_question *q, uint64_t n, bool messages,
		  const struct prove_question **open)
{
	struct sweeps s = { .p = p, .v = p->v, .messages = messages, .q = q, .n = n };
	bool right = allocate(&s);

	if (right) {
		number_columns(&s);
		sort_waits(&s);
	}
	for (; right && s.from < n; s.from = s.end) {
		s.base = q[s.from].column / COLUMNS * COLUMNS;
		for (s.end = s.from; s.end < n && q[s.end].column - s.base < COLUMNS;)
			s.end++;
		right = sweep(&s);
	}
	let_go(&s);
	*open = s.open;
	return right;
}
