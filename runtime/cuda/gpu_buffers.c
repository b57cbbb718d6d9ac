/*
 * The addresses of the ranks' data in one call: the callers' buffers; memory of ours, if input
 * and output overlap otherwise than in place, or if there is no output buffer; and scratch. Also
 * the addresses of cells that are not blocks of equal chunks: a table that is kept and found
 * again by later calls.
 *
 * A captured launch may be replayed concurrently with later calls. Kernels take turns, but the
 * copy of an input is made before its kernel has the turn. So a captured call that needs such a
 * copy gets separate memory, kept until the end. O(ranks) a call; with such a table O(ranks x
 * cells).
 */
#include "runtime/cuda/gpu_comm.h"

#include <stdlib.h>
#include <string.h>

static ccs_status aside(struct gpu_part *p, uint32_t rank, size_t bytes, bool own)
{
	struct gpu_room fresh = { 0 }; /* only for this call: the next call takes another */
	ccs_status s;

	if (!own)
		return gpu_room(p, p->aside + rank, bytes, "a copy of the input");
	s = gpu_keep(p, &fresh.p, bytes, "a copy of the input");
	if (!s)
		p->aside[rank] = fresh;
	return s;
}

ccs_status gpu_place_rank(const struct run *r, struct gpu_part *p, uint32_t rank,
			  struct ccs_dev_rank *to)
{
	const struct call *c = r->seats[rank].call;
	struct placing where = call_placing(c, c->prep->ranks + rank);
	ccs_status s = CCS_OK;

	to->send = c->send;
	to->recv = c->recv;
	to->factors = c->how.factors;
	memcpy(&to->scalar, c->scalar, sizeof(to->scalar));
	if (c->send && c->send_bytes)
		s = cuda_check_pointer(&p->cuda, c->send, "sendbuff");
	if (!s && c->recv && c->recv_bytes)
		s = cuda_check_pointer(&p->cuda, c->recv, "recvbuff");
	if (!s && c->how.factors && c->send_bytes)
		s = cuda_check_pointer(&p->cuda, c->how.factors, "factors");
	if (!s && (where.copy_aside || where.lacks))
		s = aside(p, rank, where.lacks ? c->recv_bytes : c->send_bytes,
			  p->capturing && where.copy_aside);
	if (s)
		return s;
	if (where.lacks)
		to->recv = (unsigned char *)(uintptr_t)p->aside[rank].p;
	else if (where.copy_aside)
		to->send = (const unsigned char *)(uintptr_t)p->aside[rank].p;
	return CCS_OK;
}

static bool lives_here(const struct world *w, const struct gpu_part *p, uint32_t rank)
{
	return gpu_of(w)->places.part_of[rank] == p->index;
}

static ccs_status place_scratch(const struct world *w, const struct run *r,
				const struct gpu_state *s, struct gpu_part *p,
				struct ccs_dev_rank *rows)
{
	uint64_t cell = p->args.longest * ccs_dtype_size(r->params.type), each, all, n = 0;
	uint32_t nranks = (uint32_t)w->nranks;
	ccs_status rc;

	if (!s->tables.scratch)
		return CCS_OK;
	for (uint32_t i = 0; i < nranks; i++)
		n += lives_here(w, p, i);
	if (__builtin_mul_overflow(cell, (uint64_t)s->tables.scratch, &each) ||
	    __builtin_mul_overflow(each, n, &all) || all > PTRDIFF_MAX)
		return error_set(CCS_ENOMEM, "the scratch of %s is larger than any memory",
				 ccs_module_schedule(r->params.module));
	rc = gpu_room(p, &p->scratch, (size_t)all, "scratch");
	n = 0;
	for (uint32_t i = 0; i < nranks && !rc; i++)
		if (lives_here(w, p, i))
			rows[i].scratch = (unsigned char *)(uintptr_t)(p->scratch.p + n++ * each);
	return rc;
}

/* Puts the pointers into the arguments; or, if there are many, into kept memory, because other
 * calls may still read those of theirs. */
ccs_status gpu_place_ranks(const struct world *w, struct run *r, const struct gpu_state *s,
			   struct gpu_part *p)
{
	uint32_t n = (uint32_t)w->nranks;
	size_t bytes = n * sizeof(struct ccs_dev_rank);
	struct ccs_dev_rank *rows = calloc(n, sizeof(*rows));
	ccs_status rc = CCS_OK;
	cuda_ptr far;

	if (!rows)
		return error_set(CCS_ENOMEM, "out of memory for a call");
	for (uint32_t i = 0; i < n && !rc; i++)
		if (lives_here(w, p, i))
			rc = gpu_place_rank(r, p, i, rows + i);
	if (!rc)
		rc = place_scratch(w, r, s, p, rows);
	if (!rc && n <= CCS_DEV_RANKS) {
		memcpy(p->args.ranks, rows, bytes);
	} else if (!rc) {
		rc = gpu_rows(p, rows, bytes, "the ranks' pointers", &far);
		p->args.far_ranks = (const struct ccs_dev_rank *)(uintptr_t)far;
	}
	free(rows);
	return rc;
}

/* Kernels read the table in the host's format. */
#define SAME(a, b) (offsetof(struct cell_at, a) == offsetof(struct ccs_dev_place, b))
_Static_assert(sizeof(struct cell_at) == sizeof(struct ccs_dev_place) && SAME(send, send) &&
		       SAME(recv, recv) && SAME(len, len) && SAME(row, row) && SAME(apart, apart),
	       "a cell_at is a ccs_dev_place");

ccs_status gpu_place_cells(const struct run *r, struct gpu_part *p, uint32_t rank, uint32_t nranks)
{
	const struct cells_call c = call_cells(&r->params);
	const struct ccs_plan *plan = c.view->plan;
	size_t each = (size_t)plan->cells + plan->scratch, n = c.sizes ? nranks : 1;
	struct cell_at *at;
	cuda_ptr to;
	ccs_status s;

	if (!cells_laid_out(c.module))
		return CCS_OK;
	at = calloc(n * each + 1, sizeof(*at));
	if (!at)
		return error_set(CCS_ENOMEM, "out of memory for where chunks lie");
	for (uint32_t i = 0; i < n; i++)
		cells_place(&c, rank + i, (size_t)p->args.longest, at + i * each);
	s = gpu_rows(p, at, (n * each + 1) * sizeof(*at), "where chunks lie", &to);
	free(at);
	if (s)
		return s;
	p->args.places = (const struct ccs_dev_place *)(uintptr_t)to;
	p->args.rank_places = n > 1 ? each : 0;
	return CCS_OK;
}

ccs_status gpu_copy_asides(const struct world *w, const struct run *r, struct gpu_part *p)
{
	ccs_status s = CCS_OK;

	for (uint32_t i = 0; i < (uint32_t)w->nranks && !s; i++) {
		const struct call *c = r->seats[i].call;

		if (lives_here(w, p, i) && call_placing(c, c->prep->ranks + i).copy_aside)
			s = cuda_copy_async(&p->cuda, p->aside[i].p, (cuda_ptr)(uintptr_t)c->send,
					    c->send_bytes, p->now, "sendbuff");
	}
	return s;
}
