/*
 * The order of the operations that touch a cell.
 *
 * A read must come after the last write of the cell; a write after the last write and after all
 * reads since. Nearly all such orders are immediate: both operations are of one worker, or the
 * worker of the later one has waited for the earlier one itself. The rest are collected and
 * answered together (prove_before.c).
 *
 * Direct messages. While a message is on its way its sender may write the receiver's cell. So all
 * earlier operations of the receiver's rank on the cell must be over when the sending operation
 * begins. (Later operations on the cell come after the receive, which comes after the message.)
 * Only the last ones are checked; the earlier ones are before them. One argument, from values,
 * answers nearly all: the receiver's rank first sent its initial value of the cell by x, or after
 * x in x's worker, and by no other worker; the message that comes now contains this value; so x
 * is over. Without it a ring of N ranks has N * N questions about paths of length N.
 *
 * Held messages. The operation that receives one reads its sender's cells, so a later write of
 * these cells must begin after the receiving operation is over. That operation is noted as a
 * reader, of another rank, when the message is sent. The same argument answers nearly all such
 * orders: the stored value contains the reader's initial value of the cell, which was sent by the
 * reading operation, or after it in its worker. A copy of an initial value to its own cell does
 * not disturb readers of this value.
 *
 * Direct reads. Such a message is held; moreover, a direct message that is written to its cells
 * must not begin before the held message has been read: the same question, about the operation
 * that sends the direct message. If that operation is the reader, it must send to exactly the
 * cells that it reads.
 *
 * O(cells touched + waits), plus the searches.
 */
#include "runtime/plan/proof/prove_sweep.h"

#define PROVE_KIND (PROVE_INITIAL | PROVE_READ)
#define MOST_ASKED ((uint64_t)1 << 20) /* the most that are collected before a search */

/* ---- questions ------------------------------------------------------------------- */

static bool unordered(const struct prove_sweep *s, const struct prove_question *q)
{
	struct prove_text cell = prove_cell_text(s->p, q->cell), x = prove_op_text(s->p, q->x);

	return prove_wrong_at(s->p, q->y,
			      "it and %s both access %s, and one writes it, but neither the order "
			      "of workers nor a wait puts one before the other",
			      x.s, cell.s);
}

static bool not_free(const struct prove_sweep *s, const struct prove_question *q)
{
	struct prove_text cell = prove_cell_text(s->p, q->cell), x = prove_op_text(s->p, q->x);
	uint32_t rank = prove_rank(s->p, q->x);

	return prove_wrong_at(s->p, q->y,
			      "its message is written to %s of rank %u as soon as it "
			      "is sent, but rank %u, %s may still use that cell then",
			      cell.s, rank, rank, x.s);
}

static bool not_held(const struct prove_sweep *s, const struct prove_question *q)
{
	struct prove_text cell = prove_cell_text(s->p, q->cell), x = prove_op_text(s->p, q->x);
	uint32_t rank = prove_rank(s->p, q->x);

	return prove_wrong_at(
		s->p, q->y,
		"it writes %s, or sends there, but rank %u, %s may still read a message there",
		cell.s, rank, x.s);
}

static bool answer(struct prove_sweep *s, struct prove_asked *a)
{
	const struct prove_question *open = NULL;
	uint64_t n = a->n;

	a->n = 0;
	if (!n || prove_before(s->p, a->q, n, a->messages, &open))
		return true;
	if (!open)
		return false;
	if (!a->messages)
		return unordered(s, open);
	return a == &s->held ? not_held(s, open) : not_free(s, open);
}

bool prove_answers(struct prove_sweep *s)
{
	return answer(s, &s->order) && answer(s, &s->direct) && answer(s, &s->held);
}

/* Adds a question. An operation on many cells repeats the same one, which is added once. */
static bool ask(struct prove_sweep *s, struct prove_asked *a, struct prove_question q)
{
	const struct prove_question *last = a->n ? a->q + a->n - 1 : NULL;

	if (last && last->x == q.x && last->y == q.y)
		return true;
	if (a->n == MOST_ASKED && !answer(s, a))
		return false;
	if (!prove_grow(s->p, &a->q, &a->cap, a->n + 1, sizeof(q)))
		return false;
	a->q[a->n++] = q;
	if (a->messages)
		s->p->facts->asked_direct++;
	else
		s->p->facts->asked++;
	return true;
}

static bool is_worker(const struct ccs_worker *w, uint32_t row)
{
	return row - w->op < w->nops;
}

/* Whether x, an operation of the same rank that came earlier in the sweep, is ordered before
 * `t`; asks if unknown. */
static bool is_before(struct prove_sweep *s, const struct prove_step *t, uint32_t x, uint32_t cell)
{
	const struct prove_waited *waited = s->waited + (size_t)t->worker * PROVE_WAITED;

	if (is_worker(s->v->workers + t->worker, x))
		return true;
	for (uint32_t i = 0; i < PROVE_WAITED; i++)
		if (x - waited[i].first < waited[i].done)
			return true;
	return ask(s, &s->order, (struct prove_question){ .x = x, .y = t->row, .cell = cell });
}

/* Whether the value proves that x, of that rank, is over: it contains a value that left the
 * rank no earlier than x. */
static bool is_behind(const struct prove_sweep *s, struct prove_value value, uint32_t rank,
		      uint32_t x, uint32_t cell)
{
	uint32_t left = prove_cell(s, rank, cell)->left - 1;

	return left < PROVE_MANY - 1 && left >= x &&
	       (left == x || is_worker(s->v->workers + s->p->worker[x], left)) &&
	       prove_value_has(&s->values, value, rank, cell);
}

/* Whether x is over when the direct message begins that stores `value` in the cell. */
static bool is_over(struct prove_sweep *s, const struct prove_step *t, uint32_t x, uint32_t cell,
		    struct prove_value value)
{
	return is_behind(s, value, t->rank, x, cell) ||
	       ask(s, &s->direct, (struct prove_question){ .x = x, .y = t->sender, .cell = cell });
}

/* Whether operation x receives a message in cells and sends its direct message to the same
 * cells of the rank of `t`. */
static bool is_exchange(const struct prove_sweep *s, const struct prove_step *t, uint32_t x)
{
	return x == t->sender && ccs_plan_source(s->v->ops + s->p->sender[x]) == t->o->dst;
}

/* Whether x, of another rank, has read its message in the cell when operation y begins. y
 * stores `value` there, or sends it there directly. */
static bool is_read(struct prove_sweep *s, uint32_t y, uint32_t x, uint32_t cell,
		    struct prove_value value)
{
	uint32_t rank = prove_rank(s->p, x);

	return (x != y && is_behind(s, value, rank, x, cell)) ||
	       ask(s, &s->held, (struct prove_question){ .x = x, .y = y, .cell = cell });
}

/* ---- waits and messages ---------------------------------------------------------- */

/* Records that worker w knows that another worker has done operations row .. row + done - 1.
 * Without room it is forgotten: orders that need it are then asked. */
static void remember(struct prove_sweep *s, uint32_t w, uint32_t row, uint32_t done)
{
	struct prove_waited *x = s->waited + (size_t)w * PROVE_WAITED, *end = x + PROVE_WAITED;

	while (x < end && x->done && x->first != row)
		x++;
	if (x < end)
		*x = (struct prove_waited){ row, x->done > done ? x->done : done };
}

void prove_waits(struct prove_sweep *s, const struct prove_step *t)
{
	for (uint32_t i = 0; i < t->o->nwaits; i++) {
		const struct ccs_wait *w = s->v->waits + t->o->wait + i;

		remember(s, t->worker, s->v->workers[w->worker].op, w->ops);
	}
}

void prove_leaves(struct prove_sweep *s, const struct prove_step *t, struct prove_value value)
{
	uint32_t cell = CCS_NONE;

	while ((cell = prove_value_next(&s->values, value, t->rank, cell + 1)) != CCS_NONE) {
		struct prove_cell *c = prove_cell(s, t->rank, cell);

		if (!c->left && !s->input[cell])
			c->left = t->row + 1;
		else if (c->left && !is_worker(s->v->workers + t->worker, c->left - 1))
			c->left = PROVE_MANY;
	}
}

/* ---- cells ----------------------------------------------------------------------- */

/* Adds a reader. It replaces earlier readers of its worker with the same kind (PROVE_KIND). */
static bool add_reader(struct prove_sweep *s, uint32_t worker, uint32_t row, uint32_t kind,
		       struct prove_cell *c)
{
	uint32_t *head = &c->readers, unit, reader = (row + 1) | kind;

	if (*head & PROVE_LIST)
		head = s->values.units[*head & ~PROVE_LIST].word;
	if (!*head || ((*head & PROVE_KIND) == kind &&
		       is_worker(s->v->workers + worker, (*head & ~PROVE_KIND) - 1))) {
		*head = *head > reader ? *head : reader;
		return true;
	}
	unit = prove_values_take(&s->values, 1);
	if (!unit)
		return false;
	s->values.units[unit].word[0] = reader;
	s->values.units[unit].word[1] = c->readers;
	c->readers = PROVE_LIST | unit;
	return true;
}

bool prove_reads(struct prove_sweep *s, const struct prove_step *t, uint32_t cell)
{
	struct prove_cell *c = prove_cell(s, t->rank, cell);

	return (!c->write || is_before(s, t, c->write - 1, cell)) &&
	       add_reader(s, t->worker, t->row, 0, c);
}

bool prove_holds(struct prove_sweep *s, const struct prove_step *t)
{
	uint32_t source = ccs_plan_source(t->o), worker = s->v->fifos[t->o->out].dst_worker;
	bool initial = t->o->dst == CCS_NONE && t->o->flags & CCS_OP_A_INITIAL;
	uint32_t kind =
		(initial ? PROVE_INITIAL : 0) | (t->o->flags & CCS_OP_READ ? PROVE_READ : 0);

	for (uint32_t j = 0; j < t->o->n; j++)
		if (!(initial && s->input[source + j]) &&
		    !add_reader(s, worker, t->o->to, kind, prove_cell(s, t->rank, source + j)))
			return false;
	return true;
}

/* Removes a reader from the list: its row + 1, and its kind. */
static uint32_t take_reader(struct prove_sweep *s, struct prove_cell *c)
{
	uint32_t unit = c->readers & ~PROVE_LIST, reader = c->readers;

	c->readers = 0;
	if (reader & PROVE_LIST) {
		reader = s->values.units[unit].word[0];
		c->readers = s->values.units[unit].word[1];
		prove_values_give(&s->values, unit, 1);
	}
	return reader;
}

static bool is_rank(const struct prove_sweep *s, uint32_t rank, uint32_t row)
{
	const struct ccs_rank *r = s->v->ranks + rank;
	const struct ccs_worker *first = s->v->workers + r[0].worker;
	const struct ccs_worker *last = s->v->workers + r[1].worker - 1;

	return row >= first->op && row < last->op + last->nops;
}

/* Whether the operation copies an initial value to its own cell, which changes nothing in
 * place. */
static bool is_kept(const struct ccs_op *o)
{
	return o->in == CCS_NONE && o->b == CCS_NONE && o->a == o->dst &&
	       o->flags & CCS_OP_A_INITIAL;
}

static bool follows(struct prove_sweep *s, const struct prove_step *t, uint32_t x, uint32_t cell,
		    struct prove_value value)
{
	return is_before(s, t, x, cell) && (!t->direct || is_over(s, t, x, cell, value));
}

bool prove_writes(struct prove_sweep *s, const struct prove_step *t, uint32_t cell,
		  struct prove_value value)
{
	struct prove_cell *c = prove_cell(s, t->rank, cell), held = { .readers = 0 };
	bool right = true, kept = is_kept(t->o), read = false;

	while (c->readers && right) {
		uint32_t reader = take_reader(s, c), kind = reader & PROVE_KIND;
		uint32_t x = (reader & ~PROVE_KIND) - 1;
		uint32_t y = t->direct && kind & PROVE_READ ? t->sender : t->row;

		if (is_rank(s, t->rank, x)) {
			right = follows(s, t, x, cell, value);
			read = true;
		} else if (kept && kind & PROVE_INITIAL) {
			right = add_reader(s, s->p->worker[x], x, kind, &held);
		} else if (x != y || !is_exchange(s, t, x)) {
			right = is_read(s, y, x, cell, value);
		}
	}
	if (right && c->write && !read) /* a reader comes after the write, so its order is enough */
		right = follows(s, t, c->write - 1, cell, value);
	c->readers = held.readers;
	c->write = t->row + 1;
	return right;
}
