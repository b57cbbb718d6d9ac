/*
 * Who touches a cell before whom.
 *
 * An operation that reads a cell must come after the last that wrote it; one that writes
 * it, after that and all that have read it since. Nearly all such orders are plain: both are
 * of one worker, or that of the later one has waited for the earlier one itself. The others
 * are gathered and answered together (prove_before.c).
 *
 * Direct messages. While one is on its way its sender may write the receiver's cell, so
 * all that the receiver's rank did with the cell before must be over when the sending
 * operation begins. (What it does with it later comes after the receive, and that after
 * the message.) Of these, too, only the last ones are asked for; the rest is before
 * them. One argument answers nearly all, and follows from values: if the receiver's rank
 * first sent its initial value of the cell by x, or after x in x's worker, and by no other
 * worker, and what now comes has this value in it, then x is over. Without it a ring of N
 * ranks has N * N questions about paths as long as N.
 *
 * O(cells touched + waits), beside the answers.
 */
#include "runtime/plan/prove_sweep.h"

#define MOST_ASKED ((uint64_t)1 << 20) /* gathered at a time */

/* ---- questions ------------------------------------------------------------------- */

static bool unordered(const struct prove_sweep *s, const struct prove_question *q)
{
	struct prove_text cell = prove_cell_text(s->p, q->cell), x = prove_op_text(s->p, q->x);

	return prove_wrong_at(s->p, q->y,
			      "it and %s both touch %s, and one writes it, but neither "
			      "the order of workers nor a wait puts one before the other",
			      x.s, cell.s);
}

static bool not_free(const struct prove_sweep *s, const struct prove_question *q)
{
	struct prove_text cell = prove_cell_text(s->p, q->cell), x = prove_op_text(s->p, q->x);
	uint32_t rank = s->v->workers[prove_worker(s->p, q->x)].rank;

	return prove_wrong_at(s->p, q->y,
			      "its message is written to %s of rank %u as soon as it "
			      "is sent, but rank %u, %s may still use that cell then",
			      cell.s, rank, rank, x.s);
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
	return a->messages ? not_free(s, open) : unordered(s, open);
}

bool prove_answers(struct prove_sweep *s)
{
	return answer(s, &s->order) && answer(s, &s->direct);
}

/* An operation of many cells asks the same again and again. */
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

/* x is a row of the same rank, looked at before. */
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

/* Whether x is over when the direct message begins that leaves `value` in the cell. */
static bool is_over(struct prove_sweep *s, const struct prove_step *t, uint32_t x, uint32_t cell,
		    struct prove_value value)
{
	uint32_t left = prove_cell(s, t->rank, cell)->left - 1;

	if (left < PROVE_MANY - 1 && left >= x &&
	    (left == x || is_worker(s->v->workers + prove_worker(s->p, x), left)) &&
	    prove_value_has(&s->values, value, t->rank, cell))
		return true;
	return ask(s, &s->direct, (struct prove_question){ .x = x, .y = t->sender, .cell = cell });
}

/* ---- waits and messages ---------------------------------------------------------- */

/* Worker w knows that another has done operations row .. row + done - 1. */
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

/* Adds a reader; it stands for earlier ones of its worker. */
static bool add_reader(struct prove_sweep *s, const struct prove_step *t, struct prove_cell *c)
{
	uint32_t *head = &c->readers, unit;

	if (*head & PROVE_LIST)
		head = s->values.units[*head & ~PROVE_LIST].word;
	if (!*head || is_worker(s->v->workers + t->worker, *head - 1)) {
		*head = t->row + 1;
		return true;
	}
	unit = prove_values_take(&s->values, 1);
	if (!unit)
		return false;
	s->values.units[unit].word[0] = t->row + 1;
	s->values.units[unit].word[1] = c->readers;
	c->readers = PROVE_LIST | unit;
	return true;
}

bool prove_reads(struct prove_sweep *s, const struct prove_step *t, uint32_t cell)
{
	struct prove_cell *c = prove_cell(s, t->rank, cell);

	return (!c->write || is_before(s, t, c->write - 1, cell)) && add_reader(s, t, c);
}

static bool follows(struct prove_sweep *s, const struct prove_step *t, uint32_t x, uint32_t cell,
		    struct prove_value value)
{
	return is_before(s, t, x, cell) && (!t->direct || is_over(s, t, x, cell, value));
}

bool prove_writes(struct prove_sweep *s, const struct prove_step *t, uint32_t cell,
		  struct prove_value value)
{
	struct prove_cell *c = prove_cell(s, t->rank, cell);
	bool right = true;

	if (c->write && !c->readers)
		right = follows(s, t, c->write - 1, cell, value);
	while (c->readers && right) {
		uint32_t unit = c->readers & ~PROVE_LIST, reader = c->readers;

		c->readers = 0;
		if (reader & PROVE_LIST) {
			reader = s->values.units[unit].word[0];
			c->readers = s->values.units[unit].word[1];
			prove_values_give(&s->values, unit, 1);
		}
		right = follows(s, t, reader - 1, cell, value);
	}
	c->write = t->row + 1;
	return right;
}
