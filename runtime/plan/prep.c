/*
 * Facts of a plan for executors, computed once.
 *
 * In: a verified plan. Out: struct prep. One sweep over each rank's operations marks the cells
 * that are written; one over its cells makes ranges of the cells that keep their value, and of
 * sums; one finds held messages; one finds cells that are read again. O(cells of all operations +
 * nranks x cells x buffers), plus in_place.h and order.c.
 */
#include "runtime/plan/prep.h"
#include "runtime/plan/order.h"

#include <stdlib.h>
#include <string.h>

static bool range_add(struct prep *p, uint32_t *cap, uint32_t from, uint32_t cell)
{
	struct cell_range *last = p->nranges > from ? p->ranges + p->nranges - 1 : NULL;

	if (last && last->first + last->n == cell) {
		last->n++;
		return true;
	}
	if (p->nranges == *cap) {
		uint32_t more = *cap ? 2 * *cap : 64;
		struct cell_range *r = realloc(p->ranges, more * sizeof(*r));

		if (!r)
			return false;
		p->ranges = r;
		*cap = more;
	}
	p->ranges[p->nranges++] = (struct cell_range){ cell, 1 };
	return true;
}

static void sweep_op(struct prep_rank *rank, const struct plan_view *v, const struct ccs_op *o,
		     bool *written)
{
	const uint32_t part[3] = { o->a, o->b, o->dst };
	const bool initial[3] = { o->flags & CCS_OP_A_INITIAL, o->flags & CCS_OP_B_INITIAL, false };

	if (!o->n)
		return;
	for (int i = 0; i < 3; i++) {
		if (part[i] == CCS_NONE || part[i] >= v->plan->cells)
			continue; /* scratch, judged by the part's first cell */
		if (initial[i])
			rank->send = true;
		else
			rank->recv = true;
	}
	if (o->dst != CCS_NONE)
		for (uint32_t j = 0; j < o->n && o->dst + j < v->plan->cells; j++)
			written[o->dst + j] = true;
}

/* Makes the ranges of one rank. A cell of an `in` buffer has no final value. */
static bool sweep_cells(struct prep *p, const struct ccs_module *m, const struct plan_view *v,
			uint32_t r, const bool *written, uint32_t *cap)
{
	const uint32_t *expect = v->expect + (size_t)r * v->plan->cells;
	uint32_t from = p->nranges;

	p->ranks[r].keep = from;
	for (uint32_t c = 0; c < v->plan->cells; c++) {
		if (expect[c] == CCS_NONE || !module_cells_are(m, v, c, 1, CELL_FINAL))
			continue;
		p->ranks[r].wants = true;
		if (!written[c] && module_cells_are(m, v, c, 1, CELL_INITIAL)) {
			p->ranks[r].send = p->ranks[r].recv = true;
			if (!range_add(p, cap, from, c))
				return false;
		}
	}
	from = p->ranks[r].reduced = p->nranges;
	for (uint32_t c = 0; c < v->plan->cells; c++)
		if (expect[c] != CCS_NONE && v->sums[expect[c]].reduced &&
		    module_cells_are(m, v, c, 1, CELL_FINAL) && !range_add(p, cap, from, c))
			return false;
	return true;
}

static bool sweep(struct prep *p, const struct ccs_module *m, const struct plan_view *v,
		  bool *written)
{
	uint32_t cap = 0, nranks = v->plan->nranks;

	for (uint32_t r = 0; r < nranks; r++) {
		memset(written, 0, v->plan->cells * sizeof(*written));
		for (uint32_t w = v->ranks[r].worker; w < v->ranks[r + 1].worker; w++)
			for (uint32_t i = 0; i < v->workers[w].nops; i++)
				sweep_op(p->ranks + r, v, v->ops + v->workers[w].op + i, written);
		if (!sweep_cells(p, m, v, r, written, &cap))
			return false;
	}
	p->ranks[nranks].keep = p->ranks[nranks].reduced = p->nranges;
	return true;
}

static void sweep_messages(struct prep *p, const struct plan_view *v)
{
	memset(p->from, 0xff, v->plan->ops.n * sizeof(*p->from));
	for (uint32_t w = 0; w < v->plan->workers.n; w++) {
		const struct ccs_worker *x = v->workers + w;

		for (uint32_t i = x->op; i - x->op < x->nops; i++) {
			if (v->ops[i].to != CCS_NONE)
				p->from[v->ops[i].to] = i;
			p->ranks[x->rank].held += (v->ops[i].flags & CCS_OP_HELD) != 0;
		}
	}
}

/* Records a message that can be read where its sender holds it. A message without cells is not
 * read. */
static void sweep_receiver(struct prep *p, const struct plan_view *v, uint32_t i)
{
	const struct ccs_op *o = v->ops + i, *from;

	if (o->in == CCS_NONE || !o->n)
		return;
	from = v->ops + p->from[i];
	p->stored &= from->flags & CCS_OP_HELD && prep_only_stores(o);
	p->relayed |= from->dst != CCS_NONE || !(from->flags & CCS_OP_A_INITIAL);
}

static void sweep_receivers(struct prep *p, const struct plan_view *v)
{
	p->stored = true;
	for (uint32_t w = 0; w < v->plan->workers.n; w++)
		for (uint32_t i = 0; i < v->workers[w].nops; i++)
			sweep_receiver(p, v, v->workers[w].op + i);
}

/* Marks the stored cells that the operation reads: +1 at the first, -1 after the last. */
static void sweep_reads(const struct ccs_op *o, uint32_t *reads)
{
	if (o->a != CCS_NONE && !(o->flags & CCS_OP_A_INITIAL)) {
		reads[o->a]++;
		reads[o->a + o->n]--;
	}
	if (o->b != CCS_NONE && !(o->flags & CCS_OP_B_INITIAL)) {
		reads[o->b]++;
		reads[o->b + o->n]--;
	}
}

/* Sets `last` for the rank. `reads` becomes, by cell, the number of lower cells that are read. */
static void sweep_last(struct prep *p, const struct plan_view *v, uint32_t r, uint32_t *reads)
{
	const struct op_range own = plan_ops_of(v, r);
	size_t cells = (size_t)v->plan->cells + v->plan->scratch;
	uint32_t by = 0, before = 0;

	memset(reads, 0, (cells + 1) * sizeof(*reads));
	for (uint32_t i = own.first; i - own.first < own.n; i++)
		if (v->ops[i].n) /* without cells the numbers have no meaning */
			sweep_reads(v->ops + i, reads);
	for (size_t c = 0; c <= cells; c++) {
		by += reads[c];
		reads[c] = before;
		before += by > 0;
	}
	for (uint32_t i = own.first; i - own.first < own.n; i++) {
		const struct ccs_op *o = v->ops + i;

		p->last[i] = o->n && o->dst != CCS_NONE && reads[o->dst] == reads[o->dst + o->n];
	}
}

static bool sweep_lasts(struct prep *p, const struct plan_view *v)
{
	size_t cells = (size_t)v->plan->cells + v->plan->scratch;
	uint32_t *reads = malloc((cells + 1) * sizeof(*reads));

	for (uint32_t r = 0; reads && r < v->plan->nranks; r++)
		sweep_last(p, v, r, reads);
	free(reads);
	return reads;
}

void prep_free(struct prep *p)
{
	if (!p)
		return;
	for (uint32_t r = 0; r < p->nranks; r++)
		free(p->ranks[r].in_place.copied);
	free(p->ranks);
	free(p->ranges);
	free(p->from);
	free(p->order);
	free(p->last);
	free(p);
}

static struct prep *prep_make(const struct ccs_module *m, const struct plan_view *v)
{
	struct prep *p = calloc(1, sizeof(*p));
	bool *written = calloc((size_t)v->plan->cells + 1, sizeof(*written));
	bool ok = p && written;

	if (ok) {
		p->ranks = calloc((size_t)v->plan->nranks + 1, sizeof(*p->ranks));
		p->from = malloc((v->plan->ops.n + 1) * sizeof(*p->from));
		p->last = calloc(v->plan->ops.n + 1, sizeof(*p->last));
		ok = p->ranks && p->from && p->last && sweep(p, m, v, written) && sweep_lasts(p, v);
		p->nranks = p->ranks ? v->plan->nranks : 0;
		for (uint32_t r = 0; ok && r < p->nranks; r++)
			p->ranks[r].in_place = plan_in_place(m, v, r);
		if (ok) {
			sweep_messages(p, v);
			sweep_receivers(p, v);
			p->order = plan_order(v, m->head->slots);
		}
	}
	free(written);
	if (!ok) {
		prep_free(p);
		return NULL;
	}
	return p;
}

const struct prep *prep_get(struct ccs_module *m, struct plan_view *v)
{
	struct prep *none = NULL, *p = atomic_load(&v->prep);

	if (p)
		return p;
	p = prep_make(m, v);
	if (!p || atomic_compare_exchange_strong(&v->prep, &none, p))
		return p;
	prep_free(p); /* another thread was first */
	return none;
}
