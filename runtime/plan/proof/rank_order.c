/*
 * The order of ranks in the values that a plan combines: see rank_order.h.
 *
 * Does all operations in an order in which they can run (prove_run.c), on values that are only
 * their lowest and highest rank. A proved plan combines each contribution once, so these two
 * decide whether one value is below another. O(operations' cells).
 */
#include "runtime/plan/rank_order.h"

#include "runtime/base/error.h"
#include "runtime/plan/proof/prove_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lowest and highest rank in a value. */
struct span {
	uint32_t low, high;
};

struct sweep {
	struct prove p;
	struct rank_order *to;
	uint32_t width;	    /* cells of a rank, including scratch */
	struct span *cells; /* [nranks * width] */
	struct span **sent; /* [ops.n]: messages on the way */
	struct span *value; /* values of the current operation's cells */
};

static bool begin(struct sweep *s)
{
	const struct plan_view *v = s->p.v;
	const struct ccs_plan *plan = v->plan;

	s->width = plan->cells + plan->scratch;
	s->cells = prove_rows(&s->p, (uint64_t)plan->nranks * s->width, sizeof(*s->cells));
	s->sent = prove_rows(&s->p, plan->ops.n, sizeof(*s->sent));
	s->value = prove_rows(&s->p, prove_most_cells(v), sizeof(*s->value));
	for (uint64_t i = 0; s->cells && i < (uint64_t)plan->nranks * s->width; i++)
		s->cells[i].low = s->cells[i].high = (uint32_t)(i / s->width);
	return !s->p.status;
}

/* "ranks 0 and 2", "rank 1". The value need not contain the ranks in between. */
static const char *span_text(struct span x, char *text, size_t size)
{
	if (x.low == x.high)
		snprintf(text, size, "rank %u", x.low);
	else
		snprintf(text, size, "ranks %u and %u", x.low, x.high);
	return text;
}

static bool refuse(struct sweep *s, uint32_t row, const char *what)
{
	const struct ccs_op *o = s->p.v->ops + row;

	snprintf(s->to->why, sizeof(s->to->why),
		 "%s does not combine in rank order: in line %u of %s rank %u combines %s",
		 ccs_module_schedule(s->p.m), o->line, s->p.m->text + s->p.m->files[o->file].name,
		 prove_rank(&s->p, row), what);
	return false;
}

static bool refuse_mixed(struct sweep *s, uint32_t row, struct span x, struct span y)
{
	char one[40], other[40], what[160];

	snprintf(what, sizeof(what),
		 "values from %s with values from %s, and neither set is below the other",
		 span_text(x, one, sizeof(one)), span_text(y, other, sizeof(other)));
	return refuse(s, row, what);
}

/* Combines `with` into the operation's value of cell j. All cells of the operation must have
 * the same order of operands. */
static bool add(struct sweep *s, uint32_t row, uint32_t j, struct span with, unsigned char turn)
{
	unsigned char *turned = s->to->turned + row, mine;
	struct span *x = s->value + j;

	if (x->high >= with.low && with.high >= x->low)
		return refuse_mixed(s, row, *x, with);
	mine = with.high < x->low ? turn : 0;
	if (j && (*turned & turn) != mine)
		return refuse(
			s, row,
			"several chunks at once, some with lower ranks first, some with higher "
			"ranks first");
	*turned |= mine;
	x->low = with.low < x->low ? with.low : x->low;
	x->high = with.high > x->high ? with.high : x->high;
	return true;
}

/* Combines the cells from `first` on, the operand number `nth`, into the operation's values. */
static bool add_cells(struct sweep *s, uint32_t rank, uint32_t row, uint32_t first, bool initial,
		      unsigned nth)
{
	for (uint32_t j = 0; j < s->p.v->ops[row].n; j++) {
		struct span x = initial ? (struct span){ rank, rank }
					: s->cells[(size_t)rank * s->width + first + j];

		if (!nth)
			s->value[j] = x;
		else if (!add(s, row, j, x, nth == 1 ? RANK_ORDER_FIRST : RANK_ORDER_SECOND))
			return false;
	}
	return true;
}

static void receive(struct sweep *s, uint32_t row)
{
	struct span **from = s->sent + s->p.sender[row];

	memcpy(s->value, *from, s->p.v->ops[row].n * sizeof(*s->value));
	prove_drop(&s->p, *from);
	*from = NULL;
}

static bool send(struct sweep *s, uint32_t row)
{
	uint32_t n = s->p.v->ops[row].n;

	s->sent[row] = prove_rows(&s->p, n, sizeof(**s->sent));
	if (s->sent[row])
		memcpy(s->sent[row], s->value, n * sizeof(*s->value));
	return s->sent[row] != NULL;
}

static bool step(struct sweep *s, uint32_t row)
{
	const struct ccs_op *o = s->p.v->ops + row;
	uint32_t rank = prove_rank(&s->p, row);
	unsigned n = 0;

	if (o->in != CCS_NONE && o->n)
		receive(s, row);
	n += o->in != CCS_NONE;
	if (o->a != CCS_NONE && !add_cells(s, rank, row, o->a, o->flags & CCS_OP_A_INITIAL, n++))
		return false;
	if (o->b != CCS_NONE && !add_cells(s, rank, row, o->b, o->flags & CCS_OP_B_INITIAL, n))
		return false;
	if (o->dst != CCS_NONE && o->n)
		memcpy(s->cells + (size_t)rank * s->width + o->dst, s->value,
		       o->n * sizeof(*s->value));
	return o->out == CCS_NONE || !o->n || send(s, row);
}

/* Finds the order. If there is none, that is no failure: `turned` stays NULL. */
static ccs_status find(const struct ccs_module *m, const struct plan_view *v, struct rank_order *to)
{
	struct prove_facts facts = { 0 };
	struct sweep s = { .p = { .m = m, .v = v, .facts = &facts, .limit = UINT64_MAX },
			   .to = to };
	bool ordered = prove_run(&s.p) && begin(&s);
	ccs_status status;

	for (uint64_t i = 0; i < v->plan->ops.n && ordered; i++)
		ordered = step(&s, s.p.order[i]);
	status = s.p.status;
	prove_drop_since(&s.p, NULL);
	if (!ordered) {
		free(to->turned);
		to->turned = NULL;
	}
	return status;
}

static ccs_status make(const struct ccs_module *m, const struct plan_view *v,
		       struct rank_order **out)
{
	struct rank_order *r = calloc(1, sizeof(*r));
	ccs_status s;

	if (r)
		r->turned = calloc((size_t)v->plan->ops.n + 1, sizeof(*r->turned));
	if (!r || !r->turned) {
		rank_order_free(r);
		return error_set(CCS_ENOMEM, "out of memory for a plan's rank order");
	}
	s = find(m, v, r);
	if (s)
		rank_order_free(r);
	else
		*out = r;
	return s;
}

ccs_status rank_order_get(const struct ccs_module *m, struct plan_view *v,
			  const struct rank_order **out)
{
	struct rank_order *none = NULL, *r = atomic_load(&v->rank_order);
	ccs_status s = r ? CCS_OK : make(m, v, &r);

	if (s)
		return s;
	if (atomic_load(&v->rank_order) != r &&
	    !atomic_compare_exchange_strong(&v->rank_order, &none, r)) {
		rank_order_free(r); /* another thread was first */
		r = none;
	}
	*out = r;
	if (r->turned)
		return CCS_OK;
	return error_set(CCS_EUNSUPPORTED,
			 "%s: use a commutative operator, or a schedule that keeps the order, such "
			 "as fixed_order_allreduce",
			 r->why);
}
