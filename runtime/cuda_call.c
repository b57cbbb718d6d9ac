/*
 * One call on the GPU: what to launch, where, and after what.
 *
 * In: a run that all ranks have joined. Out: one cooperative kernel in the stream of
 * rank 0, after all that was in the ranks' streams, and before all that follows in
 * them; nothing is waited for. The first call of a plan, type, operator and protocol
 * makes what it needs; later ones only fill in the arguments.
 *
 * Protocol: LL where a rank's larger buffer has at most 64 KiB, else Simple.
 * Threads: 512 a block, or fewer where the plan's workers would not be resident
 * together. Replicas: one for each 64 KiB of the longest chunk, as many as fit.
 * Tiles: of one size, at most what a slot holds.
 *
 * Order. Calls of a communicator share FIFOs, so that one follows the other, whatever
 * their streams. In a capture that holds for the calls of one graph; a graph that
 * runs beside other calls of its communicator is the caller's to order.
 * O(ranks).
 */
#include "runtime/cuda_comm.h"

#include <stdlib.h>
#include <string.h>

#define REPLICA_BYTES ((uint64_t)64 << 10)
#define MOST_REPLICAS 64u
#define LEAST_THREADS 32u

struct launch {
	struct world *w;
	struct run *r;
	struct gpu *g;
	const struct call *c;		/* what all ranks agree on */
	enum ccs_protocol protocol;
	struct gpu_kernel *kernel;
	struct gpu_state *state;
	unsigned threads;
	uint32_t replicas;
	uint32_t nworkers;
	uint64_t longest;
	cuda_stream stream;
	bool capturing;
	struct ccs_dev_call args;
};

/* ---- sizes ---------------------------------------------------------------------- */

static enum ccs_protocol choose_protocol(const struct gpu *g, const struct call *c)
{
	size_t bytes = c->send_bytes > c->recv_bytes ? c->send_bytes : c->recv_bytes;

	if (g->settings.protocol >= 0)
		return (enum ccs_protocol)g->settings.protocol;
	return bytes <= g->settings.ll_bytes ? CCS_LL : CCS_SIMPLE;
}

/* Workers as cuda_tables_make counts them: a rank has at least one. */
static uint32_t count_workers(const struct plan_view *v)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < v->plan->nranks; r++) {
		uint32_t has = v->ranks[r + 1].worker - v->ranks[r].worker;

		n += has ? has : 1;
	}
	return n;
}

/* ccs(5) 7, E0501: blocks that wait for one another must all be resident. */
static ccs_status does_not_fit(const struct launch *l, unsigned threads, uint64_t fit)
{
	return error_set(CCS_EUNSUPPORTED, "E0501: %s for %d ranks needs %u blocks that are "
			 "resident together, one for each worker of the plan, and %s holds %llu "
			 "(%d multiprocessors, blocks of %u threads): use fewer ranks, or a "
			 "schedule with fewer links", ccs_module_schedule(l->c->module),
			 l->w->nranks, l->nworkers, l->g->cuda.name, (unsigned long long)fit,
			 l->g->cuda.sms, threads);
}

/* The most threads a block with which all workers fit; and how many replicas do. */
static ccs_status choose_threads(struct launch *l)
{
	unsigned threads = l->g->settings.threads ? l->g->settings.threads : CCS_THREADS;
	uint64_t fit;
	ccs_status s;
	int blocks;

	for (;; threads /= 2) {
		s = cuda_occupancy(&l->g->cuda, &blocks, l->kernel->function, (int)threads, 0);
		if (s)
			return s;
		fit = (uint64_t)(blocks > 0 ? blocks : 0) * (uint64_t)l->g->cuda.sms;
		if (fit >= l->nworkers)
			break;
		if (l->g->settings.threads || threads / 2 < LEAST_THREADS)
			return does_not_fit(l, threads, fit);
	}
	l->threads = threads;
	fit /= l->nworkers;
	l->replicas = fit < MOST_REPLICAS ? (uint32_t)fit : MOST_REPLICAS;
	return CCS_OK;
}

static void choose_replicas(struct launch *l, size_t esize)
{
	uint64_t want = l->longest * esize / REPLICA_BYTES + 1;

	if (l->g->settings.replicas)
		want = l->g->settings.replicas;
	if (l->replicas > l->state->replicas)
		l->replicas = l->state->replicas;
	if (want < l->replicas)
		l->replicas = (uint32_t)want;
}

static uint64_t ceil_div(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return ceil_div(n, to) * to;
}

/* device/args.h, Cuts: tile * ntiles * replicas >= the longest chunk, tiles in units
 * of 16 bytes. */
static void choose_tile(struct launch *l, size_t esize)
{
	uint64_t unit = 16 / esize, most = l->state->tile_bytes / esize;
	uint64_t part = ceil_div(l->longest, l->replicas);
	uint64_t tiles = ceil_div(part, most);

	tiles = tiles ? tiles : 1;
	l->args.tile = round_up(ceil_div(part, tiles), unit);
	l->args.tile = l->args.tile ? l->args.tile : unit;
	l->args.ntiles = ceil_div(l->longest, l->args.tile * l->replicas);
	l->args.longest = round_up(l->longest, unit);
}

/* ---- buffers --------------------------------------------------------------------- */

static ccs_status place_rank(struct launch *l, uint32_t rank, struct ccs_dev_rank *to)
{
	const struct call *c = l->r->seats[rank].call;
	struct placing p = call_placing(c, c->prep->ranks + rank);
	struct cuda *d = &l->g->cuda;
	struct gpu_room *room = l->g->aside + rank;
	ccs_status s = CCS_OK;

	to->send = c->send;
	to->recv = c->recv;
	if (c->send && c->send_bytes)
		s = cuda_check_pointer(d, c->send, "sendbuff");
	if (!s && c->recv && c->recv_bytes)
		s = cuda_check_pointer(d, c->recv, "recvbuff");
	if (!s && (p.copy_aside || p.lacks))
		s = gpu_room(l->g, room, p.lacks ? c->recv_bytes : c->send_bytes,
			     "a copy of the input");
	if (s)
		return s;
	if (p.lacks)
		to->recv = (unsigned char *)(uintptr_t)room->p;
	else if (p.copy_aside)
		to->send = (const unsigned char *)(uintptr_t)room->p;
	return CCS_OK;
}

static ccs_status place_scratch(struct launch *l, size_t esize, struct ccs_dev_rank *rows)
{
	uint64_t cell = l->args.longest * esize, each, all;
	uint32_t cells = l->state->tables.scratch, n = (uint32_t)l->w->nranks;
	ccs_status s;

	if (!cells)
		return CCS_OK;
	if (__builtin_mul_overflow(cell, (uint64_t)cells, &each) ||
	    __builtin_mul_overflow(each, (uint64_t)n, &all) || all > PTRDIFF_MAX)
		return error_set(CCS_ENOMEM, "the scratch of %s is larger than any memory",
				 ccs_module_schedule(l->c->module));
	s = gpu_room(l->g, &l->g->scratch, (size_t)all, "scratch");
	for (uint32_t r = 0; r < n && !s; r++)
		rows[r].scratch = (unsigned char *)(uintptr_t)(l->g->scratch.p + r * each);
	return s;
}

/* The ranks' pointers: in the arguments, or, where they are many, in memory that is
 * kept, since this call is not the only one that may read them. */
static ccs_status place_ranks(struct launch *l, size_t esize)
{
	uint32_t n = (uint32_t)l->w->nranks;
	size_t bytes = n * sizeof(struct ccs_dev_rank);
	struct ccs_dev_rank *rows = calloc(n, sizeof(*rows));
	ccs_status s = CCS_OK;
	cuda_ptr far;

	if (!rows)
		return error_set(CCS_ENOMEM, "out of memory for a call");
	for (uint32_t r = 0; r < n && !s; r++)
		s = place_rank(l, r, rows + r);
	if (!s)
		s = place_scratch(l, esize, rows);
	if (!s && n <= CCS_DEV_RANKS) {
		memcpy(l->args.ranks, rows, bytes);
	} else if (!s) {
		s = gpu_rows(l->g, rows, bytes, l->capturing, &far);
		l->args.far_ranks = (const struct ccs_dev_rank *)(uintptr_t)far;
	}
	free(rows);
	return s;
}

/* Inputs that overlap their outputs are read from a copy. */
static ccs_status copy_asides(struct launch *l)
{
	ccs_status s = CCS_OK;

	for (int i = 0; i < l->w->nranks && !s; i++) {
		const struct call *c = l->r->seats[i].call;

		if (call_placing(c, c->prep->ranks + i).copy_aside)
			s = cuda_copy_async(&l->g->cuda, l->g->aside[i].p,
					    (cuda_ptr)(uintptr_t)c->send, c->send_bytes, l->stream,
					    "sendbuff");
	}
	return s;
}

/* ---- streams ----------------------------------------------------------------------- */

static cuda_stream stream_of(const struct launch *l, int rank)
{
	return l->r->seats[rank].call->stream;
}

/* Whether a rank before this one has the same stream. */
static bool seen(const struct launch *l, int rank)
{
	for (int i = 0; i < rank; i++)
		if (stream_of(l, i) == stream_of(l, rank))
			return true;
	return false;
}

/* The launch comes after what is in all ranks' streams, and after the last call. */
static ccs_status join_streams(struct launch *l)
{
	ccs_status s = CCS_OK;

	for (int i = 1; i < l->w->nranks && !s; i++)
		if (!seen(l, i))
			s = cuda_order(&l->g->cuda, l->g->fork, stream_of(l, i), l->stream);
	if (!s && !l->capturing && l->g->ran && l->g->stream != l->stream)
		s = cuda_wait(&l->g->cuda, l->g->last, l->stream);
	return s;
}

static ccs_status split_streams(struct launch *l)
{
	cuda_event e = l->capturing ? l->g->fork : l->g->last;
	bool others = false;
	ccs_status s = CCS_OK;

	for (int i = 1; i < l->w->nranks; i++)
		others |= !seen(l, i);
	if (!l->capturing || others)
		s = cuda_record(&l->g->cuda, e, l->stream);
	for (int i = 1; i < l->w->nranks && !s; i++)
		if (!seen(l, i))
			s = cuda_wait(&l->g->cuda, e, stream_of(l, i));
	return s;
}

/* ---- the launch ---------------------------------------------------------------------- */

static ccs_status same_scalars(const struct launch *l)
{
	for (int i = 1; l->c->premul && i < l->w->nranks; i++)
		if (memcmp(l->r->seats[i].call->scalar, l->c->scalar, sizeof(l->c->scalar)))
			return error_set(CCS_EUNSUPPORTED, "on a GPU all ranks' scalars must be "
					 "the same, and those of ranks %d and %d differ",
					 l->r->first_rank, i);
	return CCS_OK;
}

static ccs_status prepare(struct launch *l)
{
	const struct call *c = l->c;
	uint32_t op = c->premul ? KERNEL_PREMUL : (uint32_t)c->op;
	struct kernel_key key = kernel_key_of(c->module->head->flags, c->type, op, l->protocol);
	ccs_status s = gpu_kernel_get(l->g, c->module, &key, &l->kernel);

	if (!s)
		s = choose_threads(l);
	if (!s)
		s = gpu_state_get(l->g, c, l->protocol, l->replicas, &l->state);
	return s;
}

static ccs_status fill(struct launch *l)
{
	const struct call *c = l->c;
	size_t esize = ccs_dtype_size(c->type);

	choose_replicas(l, esize);
	l->args = l->state->call;
	choose_tile(l, esize);
	l->args.count = c->count;
	l->args.replicas = l->replicas;
	l->args.limit = (uint64_t)l->w->timeout * 1000000;
	l->args.divide = c->reduces && !c->premul && c->op == CCS_AVG ? (uint32_t)l->w->nranks : 0;
	memcpy(&l->args.scalar, c->scalar, sizeof(l->args.scalar));
	l->args.abort = (uint32_t *)(uintptr_t)l->g->abort;
	return place_ranks(l, esize);
}

static ccs_status submit(struct launch *l)
{
	void *params[] = { &l->args };
	struct gpu *g = l->g;
	ccs_status s = join_streams(l);

	if (!s)
		s = copy_asides(l);
	if (!s)
		s = cuda_launch(&g->cuda, l->kernel->function, l->nworkers * l->replicas,
				l->threads, 0, l->stream, params);
	if (s)
		return s;
	if (!l->capturing) {
		g->ran = true;
		g->stream = l->stream;
	}
	return split_streams(l);
}

ccs_status gpu_run(struct world *w, struct run *r)
{
	struct launch l = { .w = w, .r = r, .g = w->gpu, .c = &r->params };
	struct gpu *g = w->gpu;
	ccs_status s;
	int mode;

	l.longest = cuda_longest(l.c->module, l.c->view, l.c->count);
	l.stream = stream_of(&l, 0);
	l.protocol = choose_protocol(g, l.c);
	l.nworkers = count_workers(l.c->view);
	s = same_scalars(&l);
	if (!s)
		s = cuda_enter(&g->cuda, &mode);
	if (s)
		return s;
	s = cuda_capturing(&g->cuda, l.stream, &l.capturing);
	g->captured |= l.capturing;
	if (!s)
		s = prepare(&l);
	if (!s)
		s = fill(&l);
	if (!s)
		s = submit(&l);
	cuda_leave(&g->cuda, mode);
	return s;
}
