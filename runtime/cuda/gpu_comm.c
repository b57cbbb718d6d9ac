/*
 * Communicators on the GPUs of one process: making them, and freeing all.
 *
 * The ranks on one GPU are a part, with one context, one set of kernels and one memory. Several
 * parts also share a flag in host memory that stops them all. (Several processes: ranks.c.)
 * O(ranks^2).
 */
#include "runtime/cuda/gpu_comm.h"

#include <stdlib.h>

/* ---- freeing ------------------------------------------------------------------------------ */

static void finish(struct gpu *g)
{
	int mode;

	for (uint32_t i = 0; i < g->nparts; i++) {
		struct gpu_part *p = g->parts + i;

		if (!p->ran || cuda_enter(&p->cuda, &mode))
			continue;
		cuda_finish(&p->cuda, p->last);
		cuda_leave(&p->cuda, mode);
	}
}

static void part_free(struct gpu *g, struct gpu_part *p)
{
	bool entered;
	int mode;

	entered = p->cuda.context && !cuda_enter(&p->cuda, &mode);
	if (entered || g->forked) {
		while (p->kernels) {
			struct gpu_kernel *next = p->kernels->next;

			cuda_unload(&p->cuda, p->kernels->module);
			free(p->kernels);
			p->kernels = next;
		}
		gpu_memory_free(p);
		cuda_event_free(&p->cuda, p->fork);
		cuda_event_free(&p->cuda, p->last);
	}
	if (entered)
		cuda_leave(&p->cuda, mode);
	free(p->aside);
}

void gpu_free(struct world *w)
{
	struct gpu *g = gpu_of(w);

	if (!g)
		return;
	g->forked = !origin_here(&w->origin);
	for (uint32_t i = 0; i < g->nparts && g->forked; i++)
		cuda_forget(&g->parts[i].cuda);
	finish(g);
	if (!g->forked) /* other processes wait for the parent, not for its child */
		gpu_end(w);
	while (g->states) {
		struct gpu_state *next = g->states->next;

		gpu_state_free(g, g->states);
		g->states = next;
	}
	if (g->parts)
		gpu_segment_free(g, &g->control);
	for (uint32_t i = 0; i < g->nparts; i++)
		part_free(g, g->parts + i);
	group_leave(g->group, w->dead || g->stranded);
	for (uint32_t i = 0; i < g->nparts; i++)
		cuda_close(&g->parts[i].cuda);
	nccl_close(&g->nccl);
	nvrtc_close(&g->nvrtc);
	places_free(&g->places);
	free(g->parts);
	free(g);
}

/* ---- the engine ------------------------------------------------------------------------- */

static ccs_status open_all(struct world *w, const int *devices);

/* A child of a split, on the parent's GPUs. If its ranks are processes, they are on one host
 * as the parent's are. */
static ccs_status branch(struct world *w, struct world *child, const struct branch *b)
{
	int *devices;
	ccs_status s;

	if (!child)
		return CCS_OK;
	child->engine = &cuda_engine;
	if (gpu_of(w)->group) {
		child->state = calloc(1, sizeof(struct gpu)); /* freed with the world */
		return child->state ? gpu_branch_rank(w, child, b)
				    : error_set(CCS_ENOMEM, "out of memory for a communicator");
	}
	devices = calloc((size_t)child->nranks, sizeof(*devices));
	if (!devices)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", child->nranks);
	for (int i = 0; i < child->nranks; i++)
		devices[i] = gpu_device(w, b->ranks[i]);
	s = open_all(child, devices);
	free(devices);
	return s;
}

const struct processes_engine gpu_processes = { .gather = gpu_gather, .invite = gpu_invite };

const struct gpus_engine gpu_gpus = {
	.deliver = gpu_deliver,
	.exchange = gpu_exchange,
	.barrier = gpu_barrier,
	.device = gpu_device,
	.nccl = gpu_nccl,
	.traced = gpu_traced,
	.waits = gpu_waits,
};

const struct engine cuda_engine = {
	.name = "cuda",
	.processes = &gpu_processes,
	.gpus = &gpu_gpus,
	.traces = true,
	.protocols = true,
	.start = gpu_start,
	.wait = run_wait,
	.check = gpu_check_all,
	.branch = branch,
	.describe = gpu_describe,
	.free = gpu_free,
};

/* ---- making ---------------------------------------------------------------------------------- */

/* Finds which GPUs can access each other's memory. */
static ccs_status find_reach(struct gpu *g)
{
	uint32_t n = g->nparts;
	ccs_status s = CCS_OK;
	struct cuda_uuid id;
	int mode;

	for (uint32_t i = 0; i < n * n && !s; i++) {
		struct gpu_part *from = g->parts + i / n, *to = g->parts + i % n;

		if (from == to || g->settings.apart)
			continue;
		s = cuda_identity(&to->cuda, &id);
		if (!s)
			s = cuda_enter(&from->cuda, &mode);
		if (s)
			return s;
		s = cuda_reaches(&from->cuda, &id, g->places.reach + i);
		cuda_leave(&from->cuda, mode);
	}
	return s;
}

static ccs_status open_all(struct world *w, const int *devices)
{
	struct gpu *g = calloc(1, sizeof(*g));
	uint32_t n = (uint32_t)w->nranks;
	ccs_status s;

	w->engine = &cuda_engine;
	w->state = g; /* freed with the world, in any state */
	if (!g || !places_make(&g->places, n, devices))
		return error_set(CCS_ENOMEM, "out of memory for %u ranks", n);
	g->parts = calloc(g->places.nparts, sizeof(*g->parts));
	if (!g->parts)
		return error_set(CCS_ENOMEM, "out of memory for %u ranks", n);
	s = gpu_settings_read(&g->settings);
	for (uint32_t r = 0; r < n && !s; r++)
		if (g->places.part_of[r] == g->nparts) /* parts are numbered by their first rank */
			s = gpu_part_open(g, g->parts + g->nparts++, g->places.part_of[r],
					  devices[r]);
	if (!s)
		s = gpu_not_blocking(g);
	if (!s && g->nparts > 1)
		s = find_reach(g);
	return s ? s : gpu_control_make(g);
}

/* Ranks in blocks over `n` GPUs, from `first` on. */
static ccs_status open_spread(struct world *w, int first, int n)
{
	int *devices = calloc((size_t)w->nranks, sizeof(*devices));
	ccs_status s;

	if (!devices)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	for (int i = 0; i < w->nranks; i++)
		devices[i] = first + (int)((long long)i * n / w->nranks);
	s = open_all(w, devices);
	free(devices);
	return s;
}

/* Opens at least one GPU, so that a failure gets its error text. */
static ccs_status open_over_all(struct world *w)
{
	int n = 0;
	ccs_status s = cuda_count(&n);

	n = n < 1 ? 1 : n < w->nranks ? n : w->nranks;
	return s ? s : open_spread(w, 0, n);
}

ccs_status ccs_comm_init_devices(struct ccs_comm **comm, int nranks, const int *devices)
{
	ccs_status s = comm_new(comm, nranks);

	if (s)
		return s;
	s = devices ? open_all(comm[0]->world, devices) : open_over_all(comm[0]->world);
	if (s)
		comm_drop(comm, nranks);
	return s;
}

ccs_status ccs_comm_init_cuda(struct ccs_comm **comm, int nranks, int device)
{
	ccs_status s = comm_new(comm, nranks);

	if (s)
		return s;
	s = open_spread(comm[0]->world, device, 1);
	if (s)
		comm_drop(comm, nranks);
	return s;
}
