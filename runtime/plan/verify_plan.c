/*
 * Checks one plan: its shapes, ranks, workers, operations, waits, FIFOs, the
 * expected results, and the protocols. What is accepted cannot lead a reader out of
 * a table or an executor out of a buffer; each row of operations and waits belongs to one
 * worker and one operation; each end of a FIFO has one owner, and a direct message goes
 * where its receiver stores it. O(rows x buffers).
 */
#include "runtime/plan/load.h"

#include "runtime/plan/choice.h"

#include <stdlib.h>

static const char *check_shapes(const struct ccs_module *m, const struct plan_view *v)
{
	const struct ccs_plan *p = v->plan;
	uint64_t cell = 0;

	if (p->shapes.n != m->nbuffers)
		return "it has not one shape a buffer";
	if ((uint64_t)p->cells + p->scratch >= CCS_NONE)
		return "it has too many cells";
	for (uint32_t i = 0; i < m->nbuffers; i++) {
		const struct ccs_shape *s = v->shapes + i;

		if (!s->blocks || !s->chunks || s->cell != cell)
			return "a buffer's shape is wrong";
		cell += (uint64_t)s->chunks * s->blocks;
		if (cell > p->cells)
			return "its buffers have more cells than it says";
	}
	return cell == p->cells ? NULL : "its buffers have fewer cells than it says";
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
		nops += v->workers[w].nops;
	}
	return nops == p->ops.n ? NULL : "its workers have not all of its operations";
}

static const char *check_fifos(const struct plan_view *v)
{
	const struct ccs_plan *p = v->plan;

	for (uint64_t i = 0; i < p->fifos.n; i++) {
		const struct ccs_fifo *f = v->fifos + i;

		if (f->src_worker >= p->workers.n || f->dst_worker >= p->workers.n ||
		    v->workers[f->src_worker].rank != f->src ||
		    v->workers[f->dst_worker].rank != f->dst)
			return "an end of a FIFO has no owner";
		if (f->src == f->dst)
			return "a FIFO leads from a rank to itself";
		if (f->max_cells > p->cells + p->scratch)
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

/* The operation's waits follow those of the operation before it. */
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
		    w->ops < 1 || w->ops > v->workers[w->worker].nops)
			return false;
	}
	return true;
}

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
	return o->file < m->head->files.n ? NULL : "an operation's file is wrong";
}

static const char *check_ops(const struct ccs_module *m, const struct plan_view *v)
{
	uint64_t nwaits = 0;

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
		return "it has not one expected value a cell";
	for (uint64_t i = 0; i < n; i++) {
		uint32_t row = v->expect[i];

		if (row == CCS_NONE)
			continue;
		if (row >= p->sums.n)
			return "an expected value lies outside the table";
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

/* A FIFO's receives, in the order of its messages, and how many sends were seen. */
struct ends {
	const struct ccs_op **receives;
	uint64_t nreceives, nsends;
};

/* Sorts the receives by FIFO; `room` has a place for each. */
static void sort_receives(const struct plan_view *v, struct ends *ends, const struct ccs_op **room)
{
	const struct ccs_plan *p = v->plan;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t w = 0; w < p->workers.n; w++) {
			for (uint32_t i = 0; i < v->workers[w].nops; i++) {
				const struct ccs_op *o = v->ops + v->workers[w].op + i;

				if (o->in == CCS_NONE)
					continue;
				if (pass)
					ends[o->in].receives[ends[o->in].nreceives] = o;
				ends[o->in].nreceives++;
			}
		}
		for (uint64_t f = 0; !pass && f < p->fifos.n; f++) {
			ends[f].receives = room;
			room += ends[f].nreceives;
			ends[f].nreceives = 0;
		}
	}
}

/* `remote` is where the message's receiver stores it, unchanged and whole. */
static const char *check_remote(const struct plan_view *v, struct ends *ends)
{
	for (uint32_t w = 0; w < v->plan->workers.n; w++) {
		for (uint32_t i = 0; i < v->workers[w].nops; i++) {
			const struct ccs_op *o = v->ops + v->workers[w].op + i, *r;
			struct ends *e = o->out == CCS_NONE ? NULL : &ends[o->out];
			uint64_t k = e ? e->nsends++ : 0;

			if (o->remote == CCS_NONE)
				continue;
			r = e && k < e->nreceives ? e->receives[k] : NULL;
			if (!r || r->a != CCS_NONE || r->b != CCS_NONE || r->dst != o->remote ||
			    r->n != o->n)
				return "a remote cell is not where the receiver stores the message";
		}
	}
	return NULL;
}

/* False: no memory. */
static bool check_ends(const struct plan_view *v, const char **wrong)
{
	struct ends *ends = calloc((size_t)v->plan->fifos.n + 1, sizeof(*ends));
	const struct ccs_op **room = calloc((size_t)v->plan->ops.n + 1, sizeof(*room));
	bool good = ends && room;

	if (good) {
		sort_receives(v, ends, room);
		*wrong = check_remote(v, ends);
	}
	free(ends);
	free(room);
	return good;
}

bool plan_verify(const struct ccs_module *m, const struct plan_view *v, const char **wrong)
{
	*wrong = check_shapes(m, v);
	if (!*wrong)
		*wrong = check_workers(v);
	if (!*wrong)
		*wrong = check_fifos(v);
	if (!*wrong)
		*wrong = check_ops(m, v);
	if (!*wrong)
		*wrong = check_expect(m, v);
	if (!*wrong)
		*wrong = check_after(v);
	if (!*wrong)
		*wrong = check_choices(v);
	return *wrong || check_ends(v, wrong);
}
