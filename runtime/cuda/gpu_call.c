/*
 * One call on the GPUs: which kernels to launch, where, and in which order.
 *
 * In: a run that all ranks of this process have joined. Out: on each part one cooperative kernel,
 * in the stream of the part's first rank, after all earlier work of its ranks' streams, and before
 * all later work of these; the host does not wait. The first call of a plan, type, operator and
 * protocol prepares its resources (ready.c); later calls only fill in the arguments.
 *
 * Protocol and most replicas: as the call says; else by the size of a rank's larger buffer (of
 * the rank with most, where sizes differ), from the plan's table or the user's (choice.h). Where
 * that leaves replicas open: as many as pay for the longest chunk, and fit. Tiles: of one size, at
 * most the capacity of a slot, and small enough that the slots stay in the L2 cache (choice_tile).
 * All of it depends only on the call and on the parts' agreement, so all parts choose alike.
 *
 * Order. Calls of a communicator share FIFOs, so on each part the calls are serialized, in
 * whichever streams they are: by events, and, once a call was captured and may be replayed
 * concurrently with other calls, also by turns that kernels take (device/args.h). The first
 * capture waits for earlier launches, which take no turns: the only wait of the host.
 *
 * Either all parts launch or none. With several parts, the first call of a fit tests what every
 * part's driver accepts; with one part, the first captured or traced call does. If a driver still
 * refuses a launch after other parts have launched, these are stopped by the abort flag, and the
 * communicator is dead. O(ranks^2) a call, as the ranks' streams are compared.
 */
#include "runtime/base/divide.h"
#include "runtime/cuda/gpu_comm.h"

#include <stdlib.h>
#include <string.h>

#define WARP ((uint64_t)32)

struct launch {
	struct world *w;
	struct run *r;
	struct gpu *g;
	const struct call *c; /* the call, equal on all ranks */
	struct gpu_state *state;
	struct gpu_fit *fit;
	uint32_t channels; /* most that the choice allows; 0: choice_channels decides */
	uint32_t replicas, threads;
	uint64_t longest, tile, ntiles;
	bool entered; /* the only part's GPU stays entered */
};

/* ---- sizes ---------------------------------------------------------------------- */

/* The protocol and the most channels (0: choice_channels decides) for a call of that size,
 * unless the call sets them. */
static struct ccs_choice choose(const struct gpu *g, const struct call *c, size_t bytes)
{
	const struct choice_list *own = &g->settings.choices;
	struct ccs_choice choice =
		own->n ? *choice_find(own->rows, own->n, bytes)
		       : *choice_find(c->view->choices, c->view->plan->choices.n, bytes);

	if (c->how.protocol) {
		choice.protocol = c->how.protocol == CCS_RUN_LL ? CCS_LL : CCS_SIMPLE;
		choice.channels = c->how.channels;
	}
	return choice;
}

/* The most replicas that fit on the device and in the state. */
static uint32_t most_replicas(const struct launch *l)
{
	return l->fit->replicas < l->state->replicas ? l->fit->replicas : l->state->replicas;
}

static void choose_replicas(struct launch *l, size_t esize)
{
	uint32_t most = most_replicas(l);

	if (!l->channels)
		l->replicas = choice_channels(l->longest * esize, most);
	else
		l->replicas = l->channels < most ? l->channels : most;
}

/* device/args.h, Cuts: tile * ntiles * replicas >= the longest chunk, tiles in units
 * of 16 bytes. A plan that promises an order exchanges its messages without elements, too. */
static void choose_tile(struct launch *l, size_t esize)
{
	uint64_t bytes = l->state->tile_bytes, unit = 16 / esize;
	uint64_t most =
		(l->g->settings.tile_bytes ? bytes
					   : choice_tile(l->state->protocol, l->state->slot_cells,
							 l->replicas, bytes)) /
		esize;
	uint64_t part = ceil_div(l->longest, l->replicas);
	uint64_t tiles = ceil_div(part, most);

	tiles = tiles ? tiles : 1;
	l->tile = round_up(ceil_div(part, tiles), unit);
	l->tile = l->tile ? l->tile : unit;
	l->ntiles = ceil_div(l->longest, l->tile * l->replicas);
	if (!l->ntiles && l->c->view->plan->after.n)
		l->ntiles = 1;
}

/* With LL a thread moves 16 bytes of a message at a time: warps without any bytes are not
 * launched, as they would take part in each barrier. */
static void choose_threads(struct launch *l, size_t esize)
{
	uint64_t bytes = l->tile * esize * l->state->tables.max_cells;
	uint64_t threads = round_up(ceil_div(bytes, 16), WARP);

	l->threads = l->fit->threads;
	if (l->state->protocol == CCS_LL && !l->g->settings.threads && threads < l->threads)
		l->threads = (uint32_t)(threads > LL_THREADS ? threads : LL_THREADS);
}

static void choose_shape(struct launch *l)
{
	size_t esize = ccs_dtype_size(l->c->type);

	choose_replicas(l, esize);
	choose_tile(l, esize);
	choose_threads(l, esize);
}

/* ---- streams ----------------------------------------------------------------------- */

/* The next rank of the part, from `rank` on; nranks: none. */
static int next_rank(const struct launch *l, const struct gpu_part *p, int rank)
{
	while (rank < l->w->nranks && l->g->places.part_of[rank] != p->index)
		rank++;
	return rank;
}

static cuda_stream stream_of(const struct launch *l, int rank)
{
	return l->r->seats[rank].call->stream;
}

/* Whether a rank of the part before this one has the same stream. */
static bool seen(const struct launch *l, const struct gpu_part *p, int rank)
{
	for (int i = p->first; i < rank; i = next_rank(l, p, i + 1))
		if (stream_of(l, i) == stream_of(l, rank))
			return true;
	return false;
}

/* The launch is ordered after earlier work in all its ranks' streams, and after the last call. */
static ccs_status join_streams(const struct launch *l, struct gpu_part *p)
{
	ccs_status s = CCS_OK;
	int i = p->first;

	while ((i = next_rank(l, p, i + 1)) < l->w->nranks && !s)
		if (!seen(l, p, i))
			s = cuda_order(&p->cuda, p->fork, stream_of(l, i), p->now);
	/* also if it seems to be the last call's stream: the handle may have been reused for
	 * another stream */
	if (!s && !p->capturing && p->ran)
		s = cuda_wait(&p->cuda, p->last, p->now);
	return s;
}

/* Later work in all its ranks' streams is ordered after the launch. */
static ccs_status split_streams(const struct launch *l, struct gpu_part *p)
{
	cuda_event e = p->capturing ? p->fork : p->last;
	bool others = false;
	ccs_status s = CCS_OK;
	int i = p->first;

	while ((i = next_rank(l, p, i + 1)) < l->w->nranks)
		others |= !seen(l, p, i);
	if (!p->capturing || others)
		s = cuda_record(&p->cuda, e, p->now);
	i = p->first;
	while ((i = next_rank(l, p, i + 1)) < l->w->nranks && !s)
		if (!seen(l, p, i))
			s = cuda_wait(&p->cuda, e, stream_of(l, i));
	return s;
}

/* ---- the launches -------------------------------------------------------------------- */

static ccs_status one_captured(int captured, int other)
{
	return error_set(CCS_EINVAL,
			 "ccs_run: the stream of rank %d is captured, and that of rank "
			 "%d is not",
			 captured, other);
}

/* All streams must be captured, or none. Otherwise the driver would draw a stream into a
 * capture that it has no part in, or refuse a step after others were submitted.
 * cudaStreamPerThread means the calling thread's stream: that of the last rank's thread. */
static ccs_status look_at_streams(const struct launch *l, struct gpu_part *p)
{
	ccs_status s = CCS_OK;
	bool captured;

	p->now = stream_of(l, p->first);
	for (int i = p->first; i < l->w->nranks && !s; i = next_rank(l, p, i + 1)) {
		if (seen(l, p, i))
			continue;
		if (l->w->nlocal > 1 && stream_of(l, i) == CUDA_STREAM_PER_THREAD)
			return error_set(CCS_EINVAL,
					 "ccs_run: the stream of rank %d is cudaStreamPerThread, "
					 "which differs from thread to thread: create one",
					 i);
		s = cuda_capturing(&p->cuda, stream_of(l, i), &captured);
		if (!s && i > p->first && captured != p->capturing)
			return captured ? one_captured(i, p->first) : one_captured(p->first, i);
		p->capturing = captured;
	}
	return s;
}

/* The first capture waits for earlier launches without a turn: a replay might run concurrently
 * with them. */
static ccs_status first_capture(struct gpu_part *p)
{
	if (!p->capturing || p->captured)
		return CCS_OK;
	p->captured = true;
	return p->ran ? cuda_finish(&p->cuda, p->last) : CCS_OK;
}

/* The table of one rank if the part has only that rank: the ranks of other parts are not read. */
static ccs_status place_cells(const struct launch *l, struct gpu_part *p)
{
	bool alone = next_rank(l, p, p->first + 1) == l->w->nranks;

	return gpu_place_cells(l->r, p, alone ? (uint32_t)p->first : 0,
			       alone ? 1 : (uint32_t)l->w->nranks);
}

static ccs_status set_cut(const struct launch *l, struct gpu_part *p)
{
	p->args.tile = l->tile;
	p->args.ntiles = l->ntiles;
	p->args.replicas = l->replicas;
	return CCS_OK;
}

/* The kernels detect concurrent graphs of one capture (device/args.h). */
static ccs_status count_begins(const struct launch *l, struct gpu_part *p)
{
	cuda_ptr at = 0;
	ccs_status s = CCS_OK;

	if (p->capturing)
		s = gpu_begun(p, 1 + (size_t)p->args.nworkers * l->replicas, &at);
	p->args.begun = (uint64_t *)(uintptr_t)at;
	return s;
}

static ccs_status fill_arguments(const struct launch *l, struct gpu_part *p)
{
	const struct call *c = l->r->seats[p->first].call;
	uint64_t unit = 16 / ccs_dtype_size(c->type);
	ccs_status s = first_capture(p);

	if (s)
		return s;
	p->launched = false;
	p->args = l->state->parts[p - l->g->parts].call;
	set_cut(l, p);
	p->args.longest = round_up(l->longest, unit);
	cuda_tables_count(&p->args, c->count);
	p->args.limit = gpu_limit(l->w);
	p->args.ends = l->w->kernels_end;
	p->args.divide = c->reduces && !c->premul && c->op == CCS_AVG ? (uint32_t)l->w->nranks : 0;
	p->args.direct = gpu_direct(l->g, l->state->protocol);
	p->args.turn = p->captured ? (uint64_t *)(uintptr_t)p->turn : NULL;
	p->args.launch = p->captured ? ++p->launches : 0;
	s = count_begins(l, p);
	if (!s)
		s = gpu_place_ranks(l->w, l->r, l->state, p);
	return s ? s : place_cells(l, p);
}

static ccs_status submit(const struct launch *l, struct gpu_part *p)
{
	void *params[] = { &p->args };
	ccs_status s = join_streams(l, p);

	if (!s)
		s = gpu_copy_asides(l->w, l->r, p);
	if (!s)
		s = cuda_launch(&p->cuda, l->fit->function[p - l->g->parts],
				p->args.nworkers * l->replicas, l->threads, 0, p->now, params);
	if (s)
		return s;
	p->launched = true;
	p->ran |= !p->capturing;
	return split_streams(l, p);
}

/* Runs a step on each part, with its GPU entered. */
static ccs_status each(const struct launch *l,
		       ccs_status (*step)(const struct launch *, struct gpu_part *))
{
	ccs_status s = CCS_OK;
	int mode;

	for (uint32_t i = 0; i < l->g->nparts && !s; i++) {
		struct gpu_part *p = l->g->parts + i;

		if (l->entered)
			return step(l, p);
		s = cuda_enter(&p->cuda, &mode);
		if (s)
			return s;
		s = step(l, p);
		cuda_leave(&p->cuda, mode);
	}
	return s;
}

/* Whether launched kernels wait for one that was not launched. */
static bool others_wait(const struct gpu *g)
{
	bool launched = g->group != NULL;

	for (uint32_t i = 0; i < g->nparts; i++)
		launched |= g->parts[i].launched;
	return g->places.nparts > 1 && launched;
}

static ccs_status all_captured(const struct launch *l)
{
	const struct gpu_part *p = l->g->parts;

	for (uint32_t i = 1; i < l->g->nparts; i++)
		if (p[i].capturing != p->capturing)
			return p->capturing ? one_captured(p->first, p[i].first)
					    : one_captured(p[i].first, p->first);
	return CCS_OK;
}

/* ---- limits of the driver ------------------------------------------------------------- */

/* The driver reports residency for the multiprocessors of a whole GPU; under MPS, or in a green
 * context, the process may have fewer, and a launch is refused: then half as many channels are
 * tried, and after one channel, half as many threads. */
static bool fit_less(const struct launch *l, uint32_t replicas, uint32_t threads)
{
	if (replicas > 1)
		l->fit->replicas = replicas / 2;
	else if (!l->g->settings.threads && threads >= 2 * WARP)
		l->fit->threads = (uint32_t)round_up(threads / 2, WARP);
	else
		return false;
	return true;
}

/* Launches as many replicas as fit, without tiles: such a kernel waits for no other, and
 * leaves all counters unchanged. After each refusal, fewer. */
static ccs_status try_in(const struct launch *l, struct gpu_part *p, cuda_stream own)
{
	struct ccs_dev_call args = p->args;
	void *params[] = { &args };
	ccs_status s;

	args.ntiles = 0;
	args.begun = NULL;
	p->args.launch = args.turn ? ++p->launches : 0; /* the call takes the next turn */
	do {
		args.replicas = most_replicas(l);
		s = cuda_launch(&p->cuda, l->fit->function[p - l->g->parts],
				args.nworkers * args.replicas, l->fit->threads, 0, own, params);
	} while (s == CCS_EUNSUPPORTED && fit_less(l, args.replicas, l->fit->threads));
	return s;
}

/* In a separate stream, as the call's stream may be captured; before the call, after the last
 * one. */
static ccs_status try_part(const struct launch *l, struct gpu_part *p)
{
	cuda_stream own;
	ccs_status s = cuda_stream_new(&p->cuda, &own);

	if (!s && p->ran)
		s = cuda_wait(&p->cuda, p->last, own);
	if (!s)
		s = try_in(l, p, own);
	if (!s)
		s = cuda_record(&p->cuda, p->last, own);
	p->ran |= !s;
	cuda_stream_free(&p->cuda, own);
	return s;
}

/* Whether the fit is tested before the call launches: with several parts, as all must have the same
 * number of channels, and no part's kernel can be taken back; in a capture, as a driver may
 * refuse only the graph made of it; and for a trace, which has a place for each tile. */
static bool must_try(const struct launch *l)
{
	return !l->fit->tried && (l->g->places.nparts > 1 || l->g->parts->capturing || l->w->trace);
}

/* `filled`: the status of filling in the parts' arguments; all processes get it, too. */
static ccs_status try_all(struct launch *l, ccs_status filled)
{
	ccs_status s = filled ? filled : each(l, try_part);

	s = gpu_agree_least(l->g, s, &l->fit->replicas);
	if (!s)
		s = gpu_agree_least(l->g, s, &l->fit->threads);
	if (s)
		return s;
	l->fit->tried = true;
	choose_shape(l);
	return each(l, set_cut);
}

/* ---- all of it ------------------------------------------------------------------------- */

static ccs_status prepare(struct launch *l)
{
	const struct cells_call cells = call_cells(l->c);
	size_t esize = ccs_dtype_size(l->c->type), most;
	struct ccs_choice choice;
	ccs_status s = each(l, look_at_streams);

	if (!s)
		s = all_captured(l);
	if (!s)
		s = cells_most(&cells, &most);
	if (s)
		return s;
	choice = choose(l->g, l->c, most * esize);
	s = gpu_ready(l->g, l->c, (enum ccs_protocol)choice.protocol, &l->state, &l->fit);
	if (s)
		return s;
	l->longest = cells_longest(&cells);
	l->channels = choice.channels;
	choose_shape(l);
	s = each(l, fill_arguments);
	return must_try(l) ? try_all(l, s) : s;
}

static void keep_shape(const struct launch *l)
{
	struct ccs_run_shape *shape = &l->w->shape;

	*shape = (struct ccs_run_shape){
		.protocol = l->state->protocol == CCS_LL ? CCS_RUN_LL : CCS_RUN_SIMPLE,
		.channels = l->replicas,
		.threads = l->threads,
		.tile = l->tile,
		.tiles = l->ntiles,
		.slots = l->state->slot_cells * l->replicas * l->tile * ccs_dtype_size(l->c->type),
	};
	for (uint32_t i = 0; i < l->g->nparts; i++)
		shape->blocks += l->g->parts[i].args.nworkers * l->replicas;
}

/* A single part needs no trial except for captures: if its launch is refused, it launches less, now
 * and later. */
static bool takes_less(struct launch *l, ccs_status s)
{
	if (s != CCS_EUNSUPPORTED || l->g->places.nparts > 1 ||
	    !fit_less(l, l->replicas, l->threads))
		return false;
	choose_shape(l);
	return true;
}

static ccs_status trace(const struct launch *l)
{
	const struct gpu_traced how = {
		.view = l->c->view, .state = l->state, .fit = l->fit, .threads = l->threads
	};

	for (uint32_t i = 0; i < l->g->nparts; i++)
		if (l->g->parts[i].capturing)
			return error_set(
				CCS_EUNSUPPORTED,
				"ccs_run: the call is traced, and the stream of rank %d is "
				"captured: stop the trace before (ccs_trace_stop)",
				l->g->parts[i].first);
	return gpu_trace(l->w, l->r, how, l->longest);
}

static ccs_status run(struct launch *l)
{
	ccs_status s = prepare(l);

	if (!s && l->w->trace)
		s = trace(l);
	if (s)
		return s;
	s = each(l, submit);
	while (takes_less(l, s)) {
		each(l, set_cut);
		s = each(l, submit);
	}
	keep_shape(l);
	return s && others_wait(l->g) ? gpu_break(l->w, s) : s;
}

static ccs_status run_entered(struct world *w, struct run *r)
{
	struct gpu *g = gpu_of(w);
	struct launch l = { .w = w, .r = r, .g = g, .c = &r->params };
	ccs_status s;
	int mode;

	if (g->nparts > 1)
		return run(&l);
	s = cuda_enter(&g->parts->cuda, &mode);
	if (s)
		return s;
	l.entered = true;
	s = run(&l);
	cuda_leave(&g->parts->cuda, mode);
	return s;
}

ccs_status gpu_start(struct world *w, struct run *r, int rank)
{
	ccs_status s;

	(void)rank;
	if (r->arrived != w->nlocal)
		return CCS_OK;
	s = gpu_check(w);
	if (!s)
		s = run_entered(w, r);
	if (!s)
		run_all_done(w);
	return s;
}
