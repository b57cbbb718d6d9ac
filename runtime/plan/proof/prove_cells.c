/*
 * Runs all operations on symbolic values, in an order in which they can run, and compares the
 * final cells.
 *
 * In: a plan that ends, and p->order. Any such order is sufficient: if two operations of a rank
 * touch one cell, and one of them writes it, their order is proved to be the same in every run
 * (prove_touch.c).
 *
 * The cells of an inout are in a separate send buffer, or are the send buffer's. So only a read
 * of the initial value finds one there, and only until the cell is written. A cell that no
 * operation writes ends with its initial value: executors copy it.
 *
 * O(cells of all operations + contributions combined + nranks * cells).
 */
#include "runtime/plan/proof/prove_sweep.h"

#include <string.h>

/* ---- before ---------------------------------------------------------------------- */

/* Classes of lengths. Buffers that are cut alike share them: place i has class base + i. */
static uint32_t class_base(const struct prove_sweep *s, uint32_t buffer, uint32_t *classes)
{
	const struct ccs_buffer *b = s->p->m->buffers;

	for (uint32_t i = 0; i < buffer; i++)
		if (!b[i].sized && s->v->shapes[i].blocks &&
		    s->v->shapes[i].chunks == s->v->shapes[buffer].chunks)
			return s->length[s->v->shapes[i].cell];
	*classes += s->v->shapes[buffer].chunks;
	return *classes - s->v->shapes[buffer].chunks;
}

static void classify(struct prove_sweep *s)
{
	uint32_t classes = PROVE_UNKNOWN + 1;

	for (uint32_t i = 0; i < s->p->m->nbuffers; i++) {
		const struct ccs_shape *shape = s->v->shapes + i;
		uint32_t n = shape->chunks * shape->blocks, cut = classes, base;

		if (!n || s->p->m->buffers[i].sized)
			continue;
		base = class_base(s, i, &classes);
		for (uint32_t j = 0; j < n; j++)
			s->length[shape->cell + j] = base + j % shape->chunks;
		for (uint32_t j = 0; base == cut && j < shape->chunks; j++)
			s->lengths[base + j] = (struct prove_length){ cut, shape->cell + j };
	}
}

static void find_inputs(struct prove_sweep *s)
{
	for (uint32_t i = 0; i < s->p->m->nbuffers; i++) {
		const struct ccs_shape *shape = s->v->shapes + i;

		if (s->p->m->buffers[i].direction == CCS_IN)
			memset(s->input + shape->cell, 1, (size_t)shape->chunks * shape->blocks);
	}
}

static bool begin(struct prove_sweep *s)
{
	const struct ccs_plan *plan = s->v->plan;

	s->width = plan->cells + plan->scratch;
	if (plan->ops.n >= PROVE_READ - 1) {
		prove_no_memory(s->p);
		return false;
	}
	s->cells = prove_rows(s->p, (uint64_t)plan->nranks * s->width, sizeof(*s->cells));
	s->lengths = prove_rows(s->p, (uint64_t)plan->cells + 1, sizeof(*s->lengths));
	s->length = prove_rows(s->p, plan->cells, sizeof(*s->length));
	s->input = prove_rows(s->p, plan->cells, sizeof(*s->input));
	s->waited = prove_rows(s->p, plan->workers.n, PROVE_WAITED * sizeof(*s->waited));
	s->sent = prove_rows(s->p, plan->ops.n, sizeof(*s->sent));
	s->value = prove_rows(s->p, prove_most_cells(s->v), sizeof(*s->value));
	if (plan->sizes.n)
		s->scratch_size = prove_rows(s->p, (uint64_t)plan->nranks * plan->scratch,
					     sizeof(*s->scratch_size));
	if (s->p->status)
		return false;
	classify(s);
	find_inputs(s);
	return prove_values_init(&s->values, s->p);
}

/* ---- after ----------------------------------------------------------------------- */

/* The final contents of a cell; none: earlier contents of the receive buffer. */
static struct prove_value final_value(const struct prove_sweep *s, uint32_t rank, uint32_t cell)
{
	struct prove_value v = prove_cell(s, rank, cell)->value;

	if (v.set == SET_NONE && module_cells_are(s->p->m, s->v, cell, 1, CELL_INITIAL))
		v = prove_value_initial(rank, cell);
	return v;
}

static bool compare(const struct prove_sweep *s, uint32_t rank, uint32_t cell, uint32_t row,
		    struct prove_value promised)
{
	struct prove_value is = final_value(s, rank, cell);

	if (promised.set == SET_NONE)
		return prove_wrong(s->p,
				   "rank %u: %s is promised to be a sum without contributions, "
				   "which no value is",
				   rank, prove_cell_text(s->p, cell).s);
	if (!prove_value_same(is, promised)) {
		struct prove_text a = prove_value_text(&s->values, is);
		struct prove_text b = prove_value_text(&s->values, promised);

		return prove_wrong(s->p, "rank %u: %s ends with %s; the promised value is %s", rank,
				   prove_cell_text(s->p, cell).s, a.s, b.s);
	}
	if (s->v->sums[row].reduced || promised.set & SET_SINGLE)
		return true;
	return prove_wrong(s->p,
			   "rank %u: the promised value of %s is a sum, but the module does "
			   "not say so",
			   rank, prove_cell_text(s->p, cell).s);
}

/* Promises by their rows of `sums`, which cells share. */
struct promise {
	struct prove_value value;
	bool known;
};

static bool ends_right(struct prove_sweep *s, struct promise *promised)
{
	uint32_t cells = s->v->plan->cells;

	for (uint32_t r = 0; r < s->v->plan->nranks; r++)
		for (uint32_t c = 0; c < cells; c++) {
			uint32_t row = s->v->expect[(uint64_t)r * cells + c];

			if (row == CCS_NONE)
				continue;
			if (!promised[row].known &&
			    !prove_value_promised(&s->values, row, &promised[row].value))
				return false;
			promised[row].known = true;
			s->p->facts->promised++;
			if (!compare(s, r, c, row, promised[row].value))
				return false;
		}
	return true;
}

bool prove_cells(struct prove *p)
{
	struct prove_sweep s = { .p = p,
				 .v = p->v,
				 .direct.messages = true,
				 .held.messages = true,
				 .scaled = (p->m->head->flags &
					    (CCS_MODULE_REDUCES | CCS_MODULE_MIXED)) ==
					   CCS_MODULE_REDUCES };
	const struct prove_block *before = p->blocks;
	struct promise *promised;

	if (!begin(&s))
		return false;
	for (uint64_t i = 0; i < p->v->plan->ops.n; i++)
		if (!prove_step(&s, p->order[i]))
			return false;
	if (!prove_answers(&s))
		return false;
	promised = prove_rows(p, p->v->plan->sums.n, sizeof(*promised));
	if (!promised || !ends_right(&s, promised))
		return false;
	prove_drop_since(p, before);
	return true;
}
