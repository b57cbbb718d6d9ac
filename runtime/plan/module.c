/*
 * Queries on an open module and on element types: ccs.h has the result of each call.
 *
 * In: a module that verify.c has checked, and numbers from the caller, which are checked here.
 * Out: copies; no state is kept. O(1) unless ccs.h says otherwise.
 */
#include "runtime/plan/load.h"

#include "runtime/base/divide.h"
#include "runtime/base/error.h"
#include "runtime/plan/prep.h"
#include "runtime/plan/rank_order.h"
#include "runtime/plan/types.h"

#include <stdlib.h>
#include <string.h>

void module_ref(struct ccs_module *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

void ccs_module_free(struct ccs_module *m)
{
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < m->nplans; i++) {
		prep_free(m->plans[i].prep);
		rank_order_free(m->plans[i].rank_order);
	}
	free(m->plans);
	free(m->owned);
	free(m);
}

const char *ccs_module_schedule(const struct ccs_module *m)
{
	return m ? m->text + m->head->schedule : "";
}

const char *ccs_module_contract(const struct ccs_module *m)
{
	return m ? m->text + m->head->contract : "";
}

int ccs_module_rooted(const struct ccs_module *m)
{
	return m && m->head->root_param != CCS_NONE;
}

/* The first plan that is not less than (nranks, root). */
static size_t lower_bound(const struct ccs_module *m, uint32_t nranks, uint32_t root)
{
	size_t lo = 0, hi = m->nplans;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct ccs_plan *p = m->plans[mid].plan;

		if (p->nranks < nranks || (p->nranks == nranks && p->root < root))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct plan_view *module_plan(const struct ccs_module *m, int nranks, int root)
{
	uint32_t want = ccs_module_rooted(m) ? (uint32_t)root : CCS_NONE;
	size_t i;

	if (nranks < 1 || (ccs_module_rooted(m) && root < 0))
		return NULL;
	i = lower_bound(m, (uint32_t)nranks, want);
	if (i == m->nplans || m->plans[i].plan->nranks != (uint32_t)nranks ||
	    m->plans[i].plan->root != want)
		return NULL;
	return &m->plans[i];
}

/* The first plan for that number of ranks, or NULL. */
static const struct plan_view *first_for(const struct ccs_module *m, int nranks)
{
	size_t i = nranks < 1 ? m->nplans : lower_bound(m, (uint32_t)nranks, 0);

	return i < m->nplans && m->plans[i].plan->nranks == (uint32_t)nranks ? m->plans + i : NULL;
}

double ccs_bus_factor(const char *collective, int nranks)
{
	static const struct {
		const char *name;
		double times;
	} known[] = {
		{ "allreduce", 2 },  { "allgather", 1 }, { "reduce_scatter", 1 },
		{ "all_to_all", 1 }, { "gather", 1 },	 { "scatter", 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && collective; i++)
		if (!strcmp(collective, known[i].name))
			return known[i].times * (nranks - 1) / nranks;
	return 1;
}

int ccs_module_has(const struct ccs_module *m, int nranks)
{
	return m && first_for(m, nranks);
}

/* Sums the n chunks of a `sized` buffer. False: too many elements. */
static bool add_sizes(const size_t *sizes, size_t n, size_t *sum)
{
	bool over = false;

	*sum = 0;
	for (size_t i = 0; i < n; i++)
		over |= __builtin_add_overflow(*sum, sizes[i], sum);
	return !over;
}

ccs_status module_sizes(const struct ccs_module *m, const struct plan_view *v, size_t count,
			const size_t *sizes, size_t *send, size_t *recv)
{
	size_t s = 0, r = 0;

	for (uint32_t i = 0; i < m->nbuffers; i++) {
		size_t n, chunks = (size_t)v->shapes[i].chunks * v->shapes[i].blocks;
		bool over = __builtin_mul_overflow((size_t)v->shapes[i].blocks, count, &n);

		if (m->buffers[i].sized) {
			over = !add_sizes(sizes, chunks, &n);
			sizes += chunks;
		}
		if (m->buffers[i].direction != CCS_OUT)
			over |= __builtin_add_overflow(s, n, &s);
		if (m->buffers[i].direction != CCS_IN)
			over |= __builtin_add_overflow(r, n, &r);
		if (over || s > PTRDIFF_MAX || r > PTRDIFF_MAX)
			return error_set(CCS_EINVAL,
					 "count %zu is too large: the buffers would exceed memory",
					 count);
	}
	*send = s;
	*recv = r;
	return CCS_OK;
}

uint64_t module_longest(const struct ccs_module *m, const struct plan_view *v, uint64_t count,
			uint64_t rows)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < m->nbuffers; i++) {
		if (m->buffers[i].sized)
			continue;
		uint64_t n = m->buffers[i].by_column && rows ? rows : 1;
		uint64_t len = ceil_div(count / n, v->shapes[i].chunks) * n;

		longest = len > longest ? len : longest;
	}
	return longest;
}

ccs_status ccs_module_elements(const struct ccs_module *m, int nranks, size_t count, size_t *send,
			       size_t *recv)
{
	const struct plan_view *v;

	if (!m || !send || !recv)
		return error_set(CCS_EINVAL, "ccs_module_elements: an argument is NULL");
	v = first_for(m, nranks);
	if (!v)
		return error_set(CCS_ENOPLAN, "%s has no plan for %d rank%s",
				 ccs_module_schedule(m), nranks, nranks == 1 ? "" : "s");
	if (m->head->flags & CCS_MODULE_SIZED)
		return error_set(
			CCS_EUNSUPPORTED,
			"%s has a `sized` buffer: its number of elements is the sum of the "
			"sizes of a call",
			ccs_module_schedule(m));
	return module_sizes(m, v, count, NULL, send, recv);
}

/* ---- by numbers ----------------------------------------------------------------------- */

static ccs_status is_null(const char *call)
{
	return error_set(CCS_EINVAL, "%s: an argument is NULL", call);
}

/* The error for a number out of range: there are `n` things, from 0. */
static ccs_status no_such(const char *call, const char *thing, long long number, uint64_t n)
{
	return error_set(CCS_EINVAL,
			 "%s: there is no %s %lld: they are numbered from 0, and there "
			 "are %llu",
			 call, thing, number, (unsigned long long)n);
}

/* The plan of that number, or NULL and an error. */
static const struct plan_view *plan_of(const struct ccs_module *m, int plan, const void *out,
				       const char *call, ccs_status *s)
{
	*s = CCS_OK;
	if (!m || !out)
		*s = is_null(call);
	else if (plan < 0 || (size_t)plan >= m->nplans)
		*s = no_such(call, "plan", plan, m->nplans);
	return *s ? NULL : m->plans + plan;
}

ccs_status ccs_module_describe(const struct ccs_module *m, struct ccs_module_info *info)
{
	uint32_t flags;

	if (!m || !info)
		return is_null("ccs_module_describe");
	flags = m->head->flags;
	*info = (struct ccs_module_info){
		.plans = (int)m->nplans,
		.buffers = (int)m->nbuffers,
		.slots = m->head->slots,
		.reduces = (flags & CCS_MODULE_REDUCES) != 0,
		.averages = (flags & CCS_MODULE_REDUCES) && !(flags & CCS_MODULE_MIXED),
		.even_counts = (flags & CCS_MODULE_EVEN_COUNTS) != 0,
		.by_column = (flags & CCS_MODULE_BY_COLUMN) != 0,
		.sized = (flags & CCS_MODULE_SIZED) != 0,
	};
	return CCS_OK;
}

int ccs_module_find(const struct ccs_module *m, int nranks, int root)
{
	const struct plan_view *v = m ? module_plan(m, nranks, root) : NULL;

	return v ? (int)(v - m->plans) : -1;
}

ccs_status ccs_module_plan(const struct ccs_module *m, int plan, struct ccs_plan_info *info)
{
	ccs_status s;
	const struct plan_view *v = plan_of(m, plan, info, "ccs_module_plan", &s);

	if (!v)
		return s;
	*info = (struct ccs_plan_info){
		.nranks = (int)v->plan->nranks,
		.root = v->plan->root == CCS_NONE ? -1 : (int)v->plan->root,
		.chunks = v->plan->cells,
		.orders = (uint32_t)v->plan->after.n,
		.steps = v->plan->steps,
		.operations = v->plan->ops.n,
	};
	return CCS_OK;
}

ccs_status ccs_module_buffer(const struct ccs_module *m, int plan, int buffer,
			     struct ccs_buffer_info *info)
{
	static const char call[] = "ccs_module_buffer";
	ccs_status s;
	const struct plan_view *v = plan_of(m, plan, info, call, &s);
	const struct ccs_buffer *b;

	if (!v)
		return s;
	if (buffer < 0 || (uint32_t)buffer >= m->nbuffers)
		return no_such(call, "buffer", buffer, m->nbuffers);
	b = m->buffers + buffer;
	*info = (struct ccs_buffer_info){
		.name = m->text + b->name,
		.direction = (ccs_direction)b->direction,
		.blocks = v->shapes[buffer].blocks,
		.chunks = v->shapes[buffer].chunks,
		.first = v->shapes[buffer].cell,
		.by_column = b->by_column != 0,
		.sized = b->sized != 0,
	};
	return CCS_OK;
}

/* Checks that the rank exists, and that it has the chunk. */
static ccs_status check_chunk(const struct plan_view *v, const char *call, int rank, uint32_t chunk)
{
	if (rank < 0 || (uint32_t)rank >= v->plan->nranks)
		return no_such(call, "rank", rank, v->plan->nranks);
	return chunk < v->plan->cells ? CCS_OK : no_such(call, "chunk", chunk, v->plan->cells);
}

ccs_status ccs_module_size_number(const struct ccs_module *m, int plan, int rank, uint32_t chunk,
				  uint32_t *number)
{
	static const char call[] = "ccs_module_size_number";
	ccs_status s;
	const struct plan_view *v = plan_of(m, plan, number, call, &s);

	if (v)
		s = check_chunk(v, call, rank, chunk);
	if (s)
		return s;
	*number = v->plan->sizes.n ? v->sizes[(size_t)rank * v->plan->cells + chunk] : CCS_NONE;
	return *number != CCS_NONE ? CCS_OK
				   : error_set(CCS_EINVAL, "%s: chunk %u of %s is not `sized`",
					       call, chunk, ccs_module_schedule(m));
}

ccs_status ccs_module_expects(const struct ccs_module *m, int plan, int rank, uint32_t chunk,
			      struct ccs_term *terms, size_t room, size_t *n)
{
	static const char call[] = "ccs_module_expects";
	const struct ccs_sum *sum;
	ccs_status s;
	const struct plan_view *v = plan_of(m, plan, terms || !room ? n : NULL, call, &s);
	uint32_t row;

	if (v)
		s = check_chunk(v, call, rank, chunk);
	if (s)
		return s;
	*n = 0;
	row = v->expect[(size_t)rank * v->plan->cells + chunk];
	if (row == CCS_NONE || !module_cells_are(m, v, chunk, 1, CELL_FINAL))
		return CCS_OK;
	for (sum = v->sums + row;; sum++) {
		if (*n < room)
			terms[*n] = (struct ccs_term){ sum->cell, sum->first, sum->n, sum->times };
		++*n;
		if (sum->last)
			return CCS_OK;
	}
}

ccs_status ccs_module_after(const struct ccs_module *m, int plan, uint32_t order,
			    struct ccs_order *after)
{
	static const char call[] = "ccs_module_after";
	ccs_status s;
	const struct plan_view *v = plan_of(m, plan, after, call, &s);
	const struct ccs_after *a;

	if (!v)
		return s;
	if (order >= v->plan->after.n)
		return no_such(call, "order", order, v->plan->after.n);
	a = v->after + order;
	*after = (struct ccs_order){ a->rank, a->first, a->n };
	return CCS_OK;
}

static uint64_t cell_elements(const struct ccs_module *m, const struct plan_view *v, uint32_t cell,
			      uint64_t count)
{
	const struct ccs_shape *x = v->shapes;
	uint64_t q, from;

	while (x + 1 < v->shapes + m->nbuffers && cell >= x[1].cell)
		x++;
	q = ceil_div(count, x->chunks);
	from = (cell - x->cell) % x->chunks * q;
	return from >= count ? 0 : count - from < q ? count - from : q;
}

ccs_status ccs_module_moved(const struct ccs_module *m, int plan, size_t count, uint64_t *elements)
{
	ccs_status s;
	const struct plan_view *v = plan_of(m, plan, elements, "ccs_module_moved", &s);
	uint64_t sum = 0;
	bool over = count > PTRDIFF_MAX;

	if (!v)
		return s;
	if (m->head->flags & CCS_MODULE_SIZED)
		return error_set(CCS_EUNSUPPORTED,
				 "%s has a `sized` buffer: the sizes of a call give the length of "
				 "its messages",
				 ccs_module_schedule(m));
	for (uint64_t i = 0; i < v->plan->ops.n && !over; i++) {
		const struct ccs_op *o = v->ops + i;

		for (uint32_t j = 0; o->out != CCS_NONE && j < o->n && !over; j++) {
			uint32_t cell = o->len + (o->flags & CCS_OP_LEN_SAME ? 0 : j);

			over = __builtin_add_overflow(sum, cell_elements(m, v, cell, count), &sum);
		}
	}
	*elements = sum;
	return over ? error_set(CCS_EINVAL, "ccs_module_moved: count %zu is too large", count)
		    : CCS_OK;
}

ccs_status ccs_dtype_describe(ccs_dtype t, struct ccs_dtype_info *info)
{
	const struct ccs_dtype_info *f = type_fact(t);

	if (!info)
		return is_null("ccs_dtype_describe");
	if (!f)
		return no_such("ccs_dtype_describe", "element type", (int)t, CCS_NDTYPES);
	*info = *f;
	return CCS_OK;
}

ccs_status ccs_redop_describe(ccs_redop op, struct ccs_redop_info *info)
{
	const char *name = ccs_redop_name(op);

	if (!info)
		return is_null("ccs_redop_describe");
	if (!name)
		return no_such("ccs_redop_describe", "operator", (int)op, CCS_NREDOPS);
	*info = (struct ccs_redop_info){ name, op_fact((int)op)->chooses, op_fact((int)op)->nccl,
					 op_fact((int)op)->bits };
	return CCS_OK;
}
