/*
 * The times of a traced call's operations on GPUs (trace.h).
 *
 * In: a call that is to be launched, by kernels that record times (device/times.h). Out: the same
 * times in the trace, by the host's clock. Each part has memory for them, which is read when the
 * call is over: at the next traced call, or when the trace stops.
 *
 * The clocks. All blocks of a GPU read one clock (%globaltimer). Its offset from the host's clock
 * is found before each call by Cristian's algorithm (1989): the kernel is launched LOOKS times
 * without tiles and records its beginning; the shortest launch is assumed to have begun in its
 * middle. So times of one GPU are as exact as its clock, and times of two GPUs differ by at most
 * half of such a launch, some microseconds.
 *
 * O(operations x tiles).
 */
#include "runtime/base/clock.h"
#include "runtime/cuda/gpu_comm.h"
#include "runtime/plan/cells.h"
#include "runtime/plan/order.h"
#include "runtime/trace/trace.h"

#include <stdlib.h>

#define LOOKS 8

static const char what[] = "a trace's times";

static const struct ccs_dev_worker *worker_of(const struct gpu_state *s, uint32_t worker)
{
	return (const struct ccs_dev_worker *)(const void *)(s->tables.bytes + s->tables.workers) +
	       worker;
}

/* ---- before the launch ----------------------------------------------------------------- */

/* Elements of its message in the tile that begins at `lo`. */
static uint64_t elements(const struct ccs_op *o, const struct cell_at *at, uint64_t lo,
			 uint64_t tile)
{
	uint64_t n = 0;

	for (uint32_t j = 0; j < o->n; j++) {
		uint64_t len = at[o->flags & CCS_OP_LEN_SAME ? o->len : o->len + j].len;

		len = len > lo ? len - lo : 0;
		n += len < tile ? len : tile;
	}
	return n;
}

/* Records for each operation of this process's ranks, in each tile, its bytes and its replica. */
static ccs_status note_sizes(const struct world *w, const struct run *r, struct traced *x,
			     size_t longest)
{
	const struct ccs_dev_call *a = &gpu_of(w)->parts->args;
	const struct cells_call cells = call_cells(&r->params);
	const struct plan_view *v = cells.view;
	struct cell_at *at = calloc((size_t)v->plan->cells + v->plan->scratch + 1, sizeof(*at));

	if (!at)
		return error_set(CCS_ENOMEM, "out of memory for a trace");
	for (uint32_t rank = (uint32_t)w->first; rank < (uint32_t)(w->first + w->nlocal); rank++) {
		const struct op_range ops = plan_ops_of(v, rank);

		cells_place(&cells, rank, longest, at);
		for (uint64_t row = ops.first; row < ops.first + ops.n; row++)
			for (uint64_t tile = 0; tile < x->tiles; tile++) {
				struct trace_time *to = trace_at(x, row, tile);

				to->bytes = elements(v->ops + row, at, tile * a->tile, a->tile) *
					    r->params.esize;
				to->thread = (uint32_t)(tile % a->replicas);
			}
	}
	free(at);
	return CCS_OK;
}

/* The range of rows of the part's operations. */
static void find_rows(const struct gpu_state *s, struct ccs_dev_call *a)
{
	uint64_t end = 0;

	a->trace.first = UINT64_MAX;
	for (uint32_t i = 0; i < a->nworkers; i++) {
		const struct ccs_dev_worker *d = worker_of(s, a->worker0 + i);

		a->trace.first = d->op < a->trace.first ? d->op : a->trace.first;
		end = d->op + d->nops > end ? d->op + d->nops : end;
	}
	a->trace.ops = end - a->trace.first;
}

/* Zeroed memory for times on the part: of blocks, then of operations. */
static ccs_status make_room(struct gpu_part *p, const struct gpu_state *s, uint64_t tiles)
{
	struct ccs_dev_call *a = &p->args;
	size_t blocks = (size_t)a->nworkers * a->replicas, n, bytes;
	ccs_status rc;

	find_rows(s, a);
	if (__builtin_mul_overflow(a->trace.ops, tiles, &n) ||
	    __builtin_add_overflow(n, blocks, &n) ||
	    __builtin_mul_overflow(n, sizeof(struct ccs_dev_time), &bytes))
		return error_set(CCS_ENOMEM, "out of memory for %s", what);
	rc = gpu_room(p, &p->times, bytes, what);
	if (!rc)
		rc = cuda_zero(&p->cuda, p->times.p, bytes, what);
	a->trace.tiles = tiles;
	a->trace.blocks = (struct ccs_dev_time *)(uintptr_t)p->times.p;
	a->trace.times = a->trace.blocks + blocks;
	return rc;
}

/* Launches the kernel without tiles. Sets *ahead, the offset of the GPU's clock, if this took
 * less than *least ns. */
static ccs_status look_at_clock(struct gpu_part *p, cuda_function f, uint32_t threads,
				cuda_stream own, uint64_t *least, uint64_t *ahead)
{
	struct ccs_dev_call args = p->args;
	struct ccs_dev_time block;
	void *params[] = { &args };
	uint64_t from = clock_ns(), end;
	ccs_status s;

	args.ntiles = 0;
	args.begun = NULL;
	args.trace.tiles = 0;
	args.launch = args.turn ? p->launches++ : 0; /* the call takes the next turn */
	p->args.launch = args.turn ? p->launches : 0;
	s = cuda_launch(&p->cuda, f, args.nworkers * args.replicas, threads, 0, own, params);
	if (!s)
		s = cuda_sync(&p->cuda, own);
	end = clock_ns();
	if (!s && end - from < *least) {
		s = cuda_download(&p->cuda, &block, p->times.p, sizeof(block), what);
		*least = end - from;
		*ahead = block.begin - (from + (end - from) / 2);
	}
	return s;
}

/* Runs after the last call, and leaves its counters unchanged. */
static ccs_status find_clock(struct gpu_part *p, cuda_function f, uint32_t threads,
			     _Atomic uint64_t *error)
{
	uint64_t least = UINT64_MAX;
	cuda_stream own;
	ccs_status s = cuda_stream_new(&p->cuda, &own);

	if (!s && p->ran)
		s = cuda_finish(&p->cuda, p->last);
	for (int i = 0; i < LOOKS && !s; i++)
		s = look_at_clock(p, f, threads, own, &least, &p->ahead);
	if (!s && least / 2 + 1 > atomic_load(error))
		atomic_store(error, least / 2 + 1);
	cuda_stream_free(&p->cuda, own);
	return s;
}

ccs_status gpu_trace(struct world *w, struct run *r, struct gpu_traced how, size_t longest)
{
	struct gpu *g = gpu_of(w);
	struct traced *x = trace_run(w, r, g->parts->args.ntiles * g->parts->args.replicas);
	ccs_status s = x ? note_sizes(w, r, x, longest) : CCS_OK;
	int mode;

	for (uint32_t i = 0; i < g->nparts && x && !s; i++) {
		struct gpu_part *p = g->parts + i;

		s = cuda_enter(&p->cuda, &mode);
		if (s)
			break;
		s = make_room(p, how.state, x->tiles);
		if (!s)
			s = find_clock(p, how.fit->function[i], how.threads, &w->trace->own->error);
		cuda_leave(&p->cuda, mode);
	}
	how.to = s ? NULL : x;
	g->traced = how;
	return s;
}

/* ---- after the call ----------------------------------------------------------------------- */

/* The times recorded by the part's GPU. */
struct noted {
	const struct gpu_part *p;
	struct ccs_dev_time *blocks, *times;
};

static uint64_t here(const struct noted *n, uint64_t time)
{
	return time - n->p->ahead;
}

/* An operation with a stage has two consecutive rows. */
static void note_worker(const struct gpu_traced *how, const struct noted *n, uint32_t worker,
			const struct ccs_dev_worker *d)
{
	const struct ccs_worker *from = how->view->workers + worker;
	const struct ccs_dev_trace *a = &n->p->args.trace;

	for (uint64_t tile = 0; tile < a->tiles; tile++) {
		const struct ccs_dev_time *row = n->times + tile * a->ops + (d->op - a->first);

		for (uint32_t i = 0; i < from->nops; i++, row++) {
			struct trace_time *to = trace_at(how->to, from->op + i, tile);
			uint64_t begin = row->begin;

			if (how->view->ops[from->op + i].flags & CCS_OP_SHIFTED)
				row++;
			if (row->end)
				trace_note(to, here(n, begin), here(n, row->end), to->bytes,
					   to->thread);
		}
	}
}

/* A rank's call lasts from the first beginning of one of its blocks to the last end. */
static void note_rank(const struct noted *n, uint32_t first, uint32_t workers,
		      struct trace_time *to)
{
	const struct ccs_dev_call *a = &n->p->args;
	const struct ccs_dev_time *b = n->blocks + (size_t)(first - a->worker0) * a->replicas;
	uint64_t begin = b->begin, end = b->end;

	for (uint32_t i = 1; i < workers * a->replicas; i++) {
		begin = b[i].begin < begin ? b[i].begin : begin;
		end = !end || !b[i].end ? 0 : b[i].end > end ? b[i].end : end;
	}
	to->begin = begin ? here(n, begin) : 0;
	if (end)
		trace_note(to, to->begin, here(n, end), 0, 0);
}

static void note_part(const struct world *w, const struct gpu_traced *how, const struct noted *n)
{
	const uint32_t *part_of = gpu_of(w)->places.part_of;
	const struct plan_view *v = how->view;

	for (uint32_t r = (uint32_t)w->first; r < (uint32_t)(w->first + w->nlocal); r++) {
		uint32_t first = how->state->tables.first_worker[r];
		uint32_t workers = v->ranks[r + 1].worker - v->ranks[r].worker;

		if (part_of[r] != n->p->index)
			continue;
		note_rank(n, first, workers ? workers : 1,
			  how->to->ranks + (r - (uint32_t)w->first));
		for (uint32_t i = 0; i < workers; i++)
			note_worker(how, n, v->ranks[r].worker + i,
				    worker_of(how->state, first + i));
	}
}

static ccs_status read_part(const struct world *w, const struct gpu_traced *how, struct gpu_part *p)
{
	const struct ccs_dev_trace *a = &p->args.trace;
	size_t blocks = (size_t)p->args.nworkers * p->args.replicas, n = blocks + a->tiles * a->ops;
	struct noted noted = { .p = p, .blocks = calloc(n + 1, sizeof(*noted.blocks)) };
	ccs_status s = cuda_finish(&p->cuda, p->last);

	if (!noted.blocks)
		s = error_set(CCS_ENOMEM, "out of memory for %s", what);
	if (!s)
		s = cuda_download(&p->cuda, noted.blocks, p->times.p, n * sizeof(*noted.blocks),
				  what);
	noted.times = noted.blocks + blocks;
	if (!s)
		note_part(w, how, &noted);
	free(noted.blocks);
	return s;
}

ccs_status gpu_traced(struct world *w)
{
	struct gpu *g = gpu_of(w);
	const struct gpu_traced how = g->traced;
	ccs_status s = CCS_OK;
	int mode;

	g->traced.to = NULL;
	for (uint32_t i = 0; i < g->nparts && how.to && !s; i++) {
		s = cuda_enter(&g->parts[i].cuda, &mode);
		if (s)
			break;
		s = read_part(w, &how, g->parts + i);
		cuda_leave(&g->parts[i].cuda, mode);
	}
	return s;
}
