/*
 * What all processes of a communicator agree on. O(processes).
 */
#include "runtime/cuda/gpu_comm.h"

#include <stdlib.h>

ccs_status gpu_agree(struct gpu *g, ccs_status here)
{
	return g->group ? group_agree(g->group, here) : here;
}

ccs_status gpu_agree_least(struct gpu *g, ccs_status here, uint32_t *n)
{
	uint32_t *all;
	ccs_status s = here;

	if (!g->group)
		return here;
	all = calloc(g->places.nparts, sizeof(*all));
	if (!s && !all)
		s = error_set(CCS_ENOMEM, "out of memory for a call");
	s = gpu_agree(g, s);
	if (!s)
		s = group_gather(g->group, n, all, sizeof(*n));
	for (uint32_t i = 0; i < g->places.nparts && !s; i++)
		*n = all[i] < *n ? all[i] : *n;
	free(all);
	return s;
}
