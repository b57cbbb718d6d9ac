/*
 * Checks one plan: shapes, ranks, workers, operations, waits, FIFOs, expected results, and
 * protocols.
 *
 * An accepted plan cannot lead a reader out of a table or an executor out of a buffer. Each row
 * of operations belongs to one worker, each row of waits to one operation, each end of a FIFO to
 * one worker. A sending operation moves as many cells as its receiver stores, with the same
 * lengths, so a receiver that reads a held message in place reads no further than its sender
 * does. Numbers that follow from others (the receiver of a message, its round) are checked by the
 * prover, prove.h. O((rows + cells of all operations) x buffers).
 */
#include "runtime/plan/load.h"

#include "runtime/base/error.h"
#include "runtime/plan/choice.h"

static const char *check_shapes(const struct ccs_module *m, const struct plan_view *v)
{
	const struct ccs_plan *p = v->plan;
	uint64_t cell = 0;

	if (p->shapes.n != m->nbuffers)
		return "it does not have one shape per buffer";
	if ((uint64_t)p->cells + p->scratch >= CCS_NONE)
		return "it has too many cells";
	for (uint32_t i = 0; i < m->nbuffers; i++) {
		const struct ccs_shape *s = v->shapes + i;

		if (!s->blocks || !s->chunks || s->cell != cell)
			return "a buffer's shape is wrong";
		cell += (uint64_t)s->chunks * s->blocks;
		if (cell > p->cells)
			return "its buffers have more cells than it states";
	}
	return cell == p->cells ? NULL : "its buffers have fewer cells than it states";
}

static const char *check_workers(const struct plan_view *v)
{
	const struct ccs_plan *p = v->plan;
	uint64_t nops = 0;

	if (p->ranks.n != (uint64_t)p->nranks + 1 || v->ranks[0].worker != 0 ||
	    v->ranks[p->nranks].worker != p->workers.n)
		return "its ranks are wrong";
	for (uint32_t r = 0; r < p->nranks; r++) {
		if (v->ranks[r].worker > v->ranks[r + 1].worker ||
		    v->ranks[r + 1].worker > p->workers.n)
			return "its ranks are wrong";
		for (uint32_t w = v->ranks[r].worker; w < v->ranks[r + 1].worker; w++)
			if (v->workers[w].rank != r)
				return "a worker has the wrong rank";
	}
	for (uint64_t w = 0; w < p->workers.n; w++) {
		if (v->workers[w].op != nops)
			return "its workers' operations do not follow one another";
		if (v->workers[w].stage > p->cells + p->scratch)
			return "a worker's stage is too large";
		nops += v->workers[w].nops;
	}
	return nops == p->ops.n ? NULL : "its workers do not have all of its operations";
}

static const char *check_fifos(const struct plan_view *v)
{
	const struct ccs_plan *p = v->plan;

	if (p->max_message > p->cells + p->scratch)
		return "its messages are too large";
	for (uint64_t i = 0; i < p->fifos.n; i++) {
		const struct ccs_fifo *f = v->fifos + i;

		if (f->src_worker >= p->workers.n || f->dst_worker >= p->workers.n ||
		    v->workers[f->src_worker].rank != f->src ||
		    v->workers[f->dst_worker].rank != f->dst)
			return "an end of a FIFO has no owner";
		if (f->src == f->dst)
			return "a FIFO leads from a rank to itself";
		if (f->max_cells > p->max_message)
			return "a FIFO's messages are too large";
	}
	return NULL;
}

bool module_cells_are(const struct ccs_module *m, const struct plan_view *v, uint32_t first,
		      uint32_t n, enum cell_use use)
{
	for (uint32_t i = 0; i < m->nbuffers; i++) {
		uint64_t lo = v->shapes[i].cell;
		uint64_t hi = lo + (uint64_t)v->shapes[i].chunks * v->shapes[i].blocks;

		if ((uint64_t)first + n <= lo || first >= hi)
			continue;
		if (m->buffers[i].direction == (use == CELL_INITIAL ? CCS_OUT : CCS_IN))
			return false;
	}
	return true;
}

/* A part of an operation: absent, or n cells of the right kind. */
static bool part_ok(const struct ccs_module *m, const struct plan_view *v, uint32_t first,
		    uint32_t n, bool initial)
{
	uint64_t all = (uint64_t)v->plan->cells + (initial ? 0 : v->plan->scratch);

	if (first == CCS_NONE || n == 0)
		return true;
	return (uint64_t)first + n <= all &&
	       module_cells_are(m, v, first, n, initial ? CELL_INITIAL : CELL_FINAL);
}

static bool ends_ok(const struct plan_view *v, const struct ccs_op *o, uint32_t worker)
{
	uint64_t nfifos = v->plan->fifos.n;

	if (o->in != CCS_NONE && (o->in >= nfifos || v->fifos[o->in].dst_worker != worker ||
				  o->n > v->fifos[o->in].max_cells))
		return false;
	return o->out == CCS_NONE || (o->out < nfifos && v->fifos[o->out].src_worker == worker &&
				      o->n <= v->fifos[o->out].max_cells);
}

/* The operation's rows of waits follow those of the previous operation. */
static bool waits_ok(const struct plan_view *v, const struct ccs_op *o, uint32_t rank,
		     uint64_t *nwaits)
{
	if (o->nwaits && o->wait != *nwaits)
		return false;
	*nwaits += o->nwaits;
	if (*nwaits > v->plan->waits.n)
		return false;
	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_wait *w = v->waits + o->wait + i;

		if (w->worker >= v->plan->workers.n || v->workers[w->worker].rank != rank ||
		    w->ops < 1 || w->ops > v->workers[w->worker].nops ||
		    !(v->ops[v->workers[w->worker].op + w->ops - 1].flags & CCS_OP_AWAITED))
			return false;
	}
	return true;
}

/* ---- what follows from the rest ------------------------------------------------------ */

static const struct ccs_shape *shape_of(const struct plan_view *v, uint32_t cell)
{
	const struct ccs_shape *s = v->shapes;

	while (cell - s->cell >= (uint64_t)s->chunks * s->blocks)
		s++;
	return s;
}

/* Whether two cells of buffers are equally long for every allowed count. */
static bool same_length(const struct plan_view *v, bool even, uint32_t x, uint32_t y)
{
	const struct ccs_shape *s = shape_of(v, x), *t = shape_of(v, y);

	return x == y || (s->chunks == t->chunks &&
			  (even || (x - s->cell) % s->chunks == (y - t->cell) % t->chunks));
}

bool plan_whole(const struct plan_view *v, bool even, const struct ccs_op *o, uint32_t cell)
{
	uint32_t cells = v->plan->cells;

	if (cell >= cells || !o->n)
		return o->n == 1; /* a scratch cell has room for any length */
	if ((uint64_t)cell + o->n > cells || shape_of(v, cell) != shape_of(v, cell + o->n - 1))
		return false;
	for (uint32_t j = 0; j < o->n; j++)
		if (!same_length(v, even, o->flags & CCS_OP_LEN_SAME ? o->len : o->len + j,
				 cell + j))
			return false;
	return true;
}

static bool overlaps(uint32_t x, uint32_t dst, uint32_t n)
{
	return x != CCS_NONE && x != dst && x < (uint64_t)dst + n && dst < (uint64_t)x + n;
}

static bool shifted(const struct ccs_op *o)
{
	return o->dst != CCS_NONE && (overlaps(o->a, o->dst, o->n) || overlaps(o->b, o->dst, o->n));
}

static bool stores_as_it_comes(const struct ccs_op *o)
{
	return o->in != CCS_NONE && o->a == CCS_NONE && o->b == CCS_NONE && o->dst != CCS_NONE;
}

/* Checks that the two ends of a message agree; `o` sends it. */
static const char *check_message(const struct ccs_module *m, const struct plan_view *v,
				 const struct ccs_op *o)
{
	bool even = m->head->flags & CCS_MODULE_EVEN_COUNTS;
	uint32_t from = ccs_plan_source(o);
	const struct ccs_op *to;

	if (o->to >= v->plan->ops.n || v->ops[o->to].in != o->out)
		return "a message's receiver does not receive it";
	to = v->ops + o->to;
	if (to->n != o->n)
		return "a message has a different number of cells than its receiver takes";
	if (o->flags & CCS_OP_DIRECT && !stores_as_it_comes(to))
		return "a direct message is not stored as it arrives";
	if (o->flags & CCS_OP_HELD && (from == CCS_NONE || !o->n))
		return "a held message is in no cells";
	if (o->flags & CCS_OP_READ && (o->flags & (CCS_OP_HELD | CCS_OP_DIRECT)) != CCS_OP_HELD)
		return "a message is read in place, but is not held, or is direct";
	if ((o->flags & CCS_OP_FROM_CELLS && (from == CCS_NONE || !plan_whole(v, even, o, from))) ||
	    (to->flags & CCS_OP_TO_CELLS && !plan_whole(v, even, o, to->dst)))
		return "a message between hosts is not in cells that can hold it";
	if (ccs_plan_goes(v->plan, o) && o->phase >= v->plan->rounds)
		return "a message between hosts has no round";
	return NULL;
}

static const char *check_facts(const struct ccs_module *m, const struct plan_view *v,
			       const struct ccs_op *o, uint32_t worker)
{
	if (!(o->flags & CCS_OP_SHIFTED) == shifted(o))
		return "an operation that writes a cell before reading it does not say so";
	if (o->flags & CCS_OP_SHIFTED && o->n > v->workers[worker].stage)
		return "a shifted operation has no stage";
	if (o->flags & CCS_OP_TO_CELLS && !(o->n && stores_as_it_comes(o)))
		return "a message between hosts is not stored as it arrives";
	if (o->phase > v->plan->rounds)
		return "an operation comes after all rounds";
	if (o->out != CCS_NONE)
		return check_message(m, v, o);
	if (o->to != CCS_NONE ||
	    o->flags & (CCS_OP_DIRECT | CCS_OP_FROM_CELLS | CCS_OP_HELD | CCS_OP_READ))
		return "an operation that sends nothing has a receiver";
	return NULL;
}

/* ---- operations ---------------------------------------------------------------------- */

static const char *check_op(const struct ccs_module *m, const struct plan_view *v,
			    const struct ccs_op *o, uint32_t worker, uint64_t *nwaits)
{
	if (!ends_ok(v, o, worker))
		return "an operation uses a FIFO that is not its worker's";
	if (o->in == CCS_NONE && o->a == CCS_NONE && o->b == CCS_NONE)
		return "an operation has no source";
	if (!part_ok(m, v, o->a, o->n, o->flags & CCS_OP_A_INITIAL) ||
	    !part_ok(m, v, o->b, o->n, o->flags & CCS_OP_B_INITIAL) ||
	    !part_ok(m, v, o->dst, o->n, false))
		return "an operation's cells are wrong";
	if (o->n && (uint64_t)o->len + (o->flags & CCS_OP_LEN_SAME ? 1 : o->n) > v->plan->cells)
		return "an operation's length is wrong";
	if (!waits_ok(v, o, v->workers[worker].rank, nwaits))
		return "an operation's wait is wrong";
	if (o->file >= m->head->files.n)
		return "an operation's file is wrong";
	return check_facts(m, v, o, worker);
}

static const char *check_ops(const struct ccs_module *m, const struct plan_view *v)
{
	uint64_t nwaits = 0;

	if (v->plan->reserved || v->plan->rounds > v->plan->ops.n)
		return "it has more rounds than operations";
	for (uint32_t w = 0; w < v->plan->workers.n; w++) {
		for (uint32_t i = 0; i < v->workers[w].nops; i++) {
			const char *wrong =
				check_op(m, v, v->ops + v->workers[w].op + i, w, &nwaits);

			if (wrong)
				return wrong;
		}
	}
	return nwaits == v->plan->waits.n ? NULL : "it has waits of no operation";
}

static const char *check_expect(const struct ccs_module *m, const struct plan_view *v)
{
	const struct ccs_plan *p = v->plan;
	uint64_t n = (uint64_t)p->nranks * p->cells;

	if (p->expect.n != n)
		return "it does not have one expected value per cell";
	for (uint64_t i = 0; i < n; i++) {
		uint32_t row = v->expect[i];

		if (row == CCS_NONE)
			continue;
		if (row >= p->sums.n)
			return "an expected value is outside the table";
		if (row && !v->sums[row - 1].last)
			return "an expected value begins inside another";
	}
	if (p->sums.n && !v->sums[p->sums.n - 1].last)
		return "its last expected value has no end";
	for (uint64_t i = 0; i < p->sums.n; i++) {
		const struct ccs_sum *s = v->sums + i;

		if (s->cell >= p->cells || (uint64_t)s->first + s->n > p->nranks ||
		    !module_cells_are(m, v, s->cell, 1, CELL_INITIAL))
			return "a contribution is wrong";
	}
	return NULL;
}

static const char *check_after(const struct plan_view *v)
{
	const struct ccs_plan *p = v->plan;

	for (uint64_t i = 0; i < p->after.n; i++) {
		const struct ccs_after *a = v->after + i;

		if (a->rank >= p->nranks || !a->n || (uint64_t)a->first + a->n > p->nranks)
			return "an order of ranks is wrong";
	}
	return NULL;
}

/* Each cell of a `sized` buffer has a number, and no other cell has. */
static const char *check_sizes(const struct ccs_module *m, const struct plan_view *v)
{
	uint64_t n = (uint64_t)v->plan->nranks * v->plan->cells;

	if (v->plan->sizes.n != (m->head->flags & CCS_MODULE_SIZED ? n : 0))
		return "it does not have one size per cell";
	for (uint64_t i = 0; i < v->plan->sizes.n; i++) {
		uint32_t cell = (uint32_t)(i % v->plan->cells);
		bool sized = m->buffers[shape_of(v, cell) - v->shapes].sized;

		if (sized ? v->sizes[i] >= n : v->sizes[i] != CCS_NONE)
			return "a cell's size is wrong";
	}
	return NULL;
}

/* ---- lengths of messages ------------------------------------------------------------- */

/* The cell that gives the length of the operation's j-th cell. */
static uint32_t length_cell(const struct ccs_op *o, uint32_t j)
{
	return o->flags & CCS_OP_LEN_SAME ? o->len : o->len + j;
}

/* The number of a cell's size; CCS_NONE: not `sized`. */
static uint32_t size_number(const struct plan_view *v, uint32_t rank, uint32_t cell)
{
	return v->plan->sizes.n ? v->sizes[(uint64_t)rank * v->plan->cells + cell] : CCS_NONE;
}

/* Whether the j-th cells of both ends are equally long in every call. */
static bool ends_alike(const struct plan_view *v, bool even, const struct ccs_op *o, uint32_t j)
{
	const struct ccs_fifo *f = v->fifos + o->out;
	uint32_t x = length_cell(o, j), y = length_cell(v->ops + o->to, j);
	uint32_t sent = size_number(v, f->src, x), wanted = size_number(v, f->dst, y);

	return sent == wanted && (sent != CCS_NONE || same_length(v, even, x, y));
}

static void add_cell(struct text *t, const struct ccs_module *m, const struct plan_view *v,
		     uint32_t cell)
{
	const struct ccs_shape *s = shape_of(v, cell);

	text_add(t, "%.100s[%u]", m->text + m->buffers[s - v->shapes].name, cell - s->cell);
}

static const char *differ(const struct ccs_module *m, const struct plan_view *v,
			  const struct ccs_op *o, uint32_t j, struct text *who)
{
	const struct ccs_op *to = v->ops + o->to;

	text_add(who, ": rank %u sends, in line %u, a message with the length of its ",
		 v->fifos[o->out].src, o->line);
	add_cell(who, m, v, length_cell(o, j));
	text_add(who, ", and rank %u receives, in line %u, one with the length of its ",
		 v->fifos[o->out].dst, to->line);
	add_cell(who, m, v, length_cell(to, j));
	return "the two ends of a message differ in length";
}

/* Lengths of messages. Both ends are known to have the same number of cells. */
static const char *check_lengths(const struct ccs_module *m, const struct plan_view *v,
				 struct text *who)
{
	bool even = m->head->flags & CCS_MODULE_EVEN_COUNTS;

	for (uint64_t i = 0; i < v->plan->ops.n; i++) {
		const struct ccs_op *o = v->ops + i;

		for (uint32_t j = 0; o->out != CCS_NONE && j < o->n; j++)
			if (!ends_alike(v, even, o, j))
				return differ(m, v, o, j, who);
	}
	return NULL;
}

static const char *check_choices(const struct plan_view *v)
{
	uint64_t n = v->plan->choices.n;

	if (n < 1 || n > CHOICE_MOST || v->choices[n - 1].bytes != UINT64_MAX)
		return "its table of protocols has no end";
	for (uint64_t i = 0; i < n; i++) {
		if (v->choices[i].protocol >= CCS_NPROTOCOLS)
			return "it asks for an unknown protocol";
		if (i && v->choices[i].bytes <= v->choices[i - 1].bytes)
			return "its table of protocols is not in order";
	}
	return NULL;
}

const char *plan_verify(const struct ccs_module *m, const struct plan_view *v, struct text *who)
{
	const char *wrong = check_shapes(m, v);

	if (!wrong)
		wrong = check_workers(v);
	if (!wrong)
		wrong = check_fifos(v);
	if (!wrong)
		wrong = check_ops(m, v);
	if (!wrong)
		wrong = check_expect(m, v);
	if (!wrong)
		wrong = check_after(v);
	if (!wrong)
		wrong = check_sizes(m, v);
	if (!wrong)
		wrong = check_lengths(m, v, who);
	return wrong ? wrong : check_choices(v);
}
