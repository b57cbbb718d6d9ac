/*
 * Communicators on the GPUs of one process: making them, and freeing all.
 *
 * The ranks on one GPU are a part, with one context, one set of kernels and one memory. Several
 * parts also share a flag in host memory that stops them all. (Several processes: ranks.c.)
 * O(ranks^2).
 */
#include "runtime/cuda/gpu_comm.h"

#include <stdlib.h>
#include <string.h>

/* A part's flags: turns, then the flag that stops it. */
#define TURN_BYTES (2 * sizeof(uint64_t))
#define FLAGS_BYTES (TURN_BYTES + sizeof(uint32_t))

/* ---- settings ---------------------------------------------------------------------------- */

static size_t number_of(const char *variable, size_t otherwise)
{
	const char *text = getenv(variable);
	char *end;
	unsigned long long n;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	n = strtoull(text, &end, 10);
	return *end ? otherwise : (size_t)n;
}

ccs_status gpu_settings_read(struct gpu_settings *o)
{
	const char *protocols = getenv("CCS_PROTOCOLS");
	char why[200];

	*o = (struct gpu_settings){
		.threads = (unsigned)number_of("CCS_THREADS", 0),
		.tile_bytes = number_of("CCS_TILE_BYTES", 0),
		.indirect = !number_of("CCS_DIRECT", 1),
		.bulk = number_of("CCS_BULK", 0) != 0,
		.apart = number_of("CCS_P2P_DISABLE", 0) != 0,
	};
	if (protocols && *protocols && !choice_read(&o->choices, protocols, why, sizeof(why)))
		return error_set(CCS_EINVAL, "CCS_PROTOCOLS is '%.200s': %s", protocols, why);
	if (o->threads && (o->threads % 32 || o->threads > CCS_THREADS))
		return error_set(CCS_EINVAL, "CCS_THREADS is %u; use a multiple of 32 up to %u",
				 o->threads, CCS_THREADS);
	if (o->tile_bytes > (size_t)1 << 30)
		return error_set(CCS_EINVAL, "CCS_TILE_BYTES is more than 1 GiB");
	return CCS_OK;
}

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

/* The error if a setting asks for something that this GPU cannot do. */
static ccs_status settings_fit(const struct gpu_settings *o, const struct cuda *d)
{
	if (!o->bulk || d->capability >= KERNEL_BULK_CAPABILITY)
		return CCS_OK;
	return error_set(CCS_EUNSUPPORTED,
			 "CCS_BULK is set: bulk copies need a GPU of sm_%d or later, and %s is "
			 "sm_%d: unset it",
			 KERNEL_BULK_CAPABILITY, d->name, d->capability);
}

ccs_status gpu_part_open(struct gpu *g, struct gpu_part *p, uint32_t index, int device)
{
	ccs_status s = cuda_open(&p->cuda, device);
	int mode;

	if (!s)
		s = settings_fit(&g->settings, &p->cuda);
	p->index = index;
	while ((uint32_t)p->first < g->places.nranks && g->places.part_of[p->first] != index)
		p->first++;
	p->aside = calloc(g->places.nranks, sizeof(*p->aside));
	if (!s && !p->aside)
		s = error_set(CCS_ENOMEM, "out of memory for %u ranks", g->places.nranks);
	if (!s)
		s = cuda_enter(&p->cuda, &mode);
	if (s)
		return s;
	s = cuda_event_new(&p->cuda, &p->fork);
	if (!s)
		s = cuda_event_new(&p->cuda, &p->last);
	if (!s)
		s = gpu_keep(p, &p->turn, FLAGS_BYTES, "flags");
	if (!s)
		s = cuda_zero(&p->cuda, p->turn, FLAGS_BYTES, "flags");
	p->abort = p->turn + TURN_BYTES;
	cuda_leave(&p->cuda, mode);
	return s;
}

ccs_status gpu_control_make(struct gpu *g)
{
	ccs_status s;

	if (g->places.nparts == 1 || places_hosts(&g->places) > 1)
		return CCS_OK; /* a single part polls its own memory */
	s = gpu_segment_make(g, &g->control, sizeof(struct gpu_control), "flags");
	for (uint32_t i = 0; i < g->nparts && !s; i++)
		g->parts[i].abort = g->control.seen[i] + offsetof(struct gpu_control, abort);
	return s;
}

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

/* CUDA_LAUNCH_BLOCKING: with it a launch would never return. */
static ccs_status not_blocking(const struct gpu *g)
{
	if (g->nparts < 2 || !number_of("CUDA_LAUNCH_BLOCKING", 0))
		return CCS_OK;
	return error_set(
		CCS_EUNSUPPORTED,
		"CUDA_LAUNCH_BLOCKING is set, so a launch returns when its kernel has ended, but "
		"kernels on several GPUs of a process wait for one another: unset it, or use one "
		"process per GPU");
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
		s = not_blocking(g);
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
