/*
 * A part of a communicator: its GPU, the settings of the environment, and the flag that stops its
 * kernels. O(1).
 */
#include "runtime/cuda/gpu_comm.h"

#include <stdlib.h>
#include <string.h>

/* A part's flags: turns, then the flag that stops it. */
#define TURN_BYTES (2 * sizeof(uint64_t))
#define FLAGS_BYTES (TURN_BYTES + sizeof(uint32_t))

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

ccs_status gpu_part_open(struct gpu *g, struct gpu_part *p, uint32_t index, int device)
{
	ccs_status s = cuda_open(&p->cuda, device);
	int mode;

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

ccs_status gpu_not_blocking(const struct gpu *g)
{
	if (g->nparts < 2 || !number_of("CUDA_LAUNCH_BLOCKING", 0))
		return CCS_OK;
	return error_set(
		CCS_EUNSUPPORTED,
		"CUDA_LAUNCH_BLOCKING is set, so a launch returns when its kernel has ended, but "
		"kernels on several GPUs of a process wait for one another: unset it, or use one "
		"process per GPU");
}
