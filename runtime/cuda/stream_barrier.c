/*
 * A barrier of the ranks' streams: later work in any of the streams runs after all earlier work
 * in all of them. The host does not wait.
 *
 * In one process all streams meet in the first rank's, by events: it waits for all, then all wait
 * for it. Among processes NCCL gathers in each stream; its kernel ends on no rank before it has
 * begun on all. It can be captured where NCCL's calls can. O(ranks).
 */
#include "runtime/cuda/gpu_comm.h"

static struct gpu_part *part_of(struct gpu *g, int rank)
{
	return g->parts + g->places.part_of[rank];
}

/* Later work in `to` runs after the work now in `before`, of the same part or another. */
static ccs_status follow(struct gpu_part *p, cuda_stream before, struct gpu_part *to,
			 cuda_stream later)
{
	ccs_status s;
	int mode;

	s = cuda_enter(&p->cuda, &mode);
	if (s)
		return s;
	s = cuda_record(&p->cuda, p->fork, before);
	cuda_leave(&p->cuda, mode);
	if (!s)
		s = cuda_enter(&to->cuda, &mode);
	if (s)
		return s;
	s = cuda_wait(&to->cuda, p->fork, later);
	cuda_leave(&to->cuda, mode);
	return s;
}

static ccs_status is_captured(struct gpu_part *p, cuda_stream stream, bool *captured)
{
	int mode;
	ccs_status s = cuda_enter(&p->cuda, &mode);

	if (s)
		return s;
	s = cuda_capturing(&p->cuda, stream, captured);
	cuda_leave(&p->cuda, mode);
	return s;
}

/* All streams must be captured, or none. Otherwise one would be drawn into a capture that it
 * has no part in. */
static ccs_status compare_streams(struct world *w, void *const *streams)
{
	bool first, other;
	ccs_status s = is_captured(part_of(gpu_of(w), 0), streams[0], &first);

	for (int r = 1; r < w->nranks && !s; r++) {
		s = is_captured(part_of(gpu_of(w), r), streams[r], &other);
		if (!s && other != first)
			s = error_set(CCS_EINVAL,
				      "ccs_barrier: the stream of rank %d is captured, and that "
				      "of rank %d is not",
				      first ? 0 : r, first ? r : 0);
	}
	return s;
}

static ccs_status meet(struct world *w, void *const *streams)
{
	struct gpu *g = gpu_of(w);
	struct gpu_part *hub = part_of(g, 0);
	ccs_status s = compare_streams(w, streams);

	for (int r = 1; r < w->nranks && !s; r++)
		s = follow(part_of(g, r), streams[r], hub, streams[0]);
	for (int r = 1; r < w->nranks && !s; r++)
		s = follow(hub, streams[0], part_of(g, r), streams[r]);
	return s;
}

ccs_status gpu_barrier(struct world *w, void *const *streams)
{
	struct gpu *g = gpu_of(w);
	ccs_status s = gpu_check(w);

	if (s)
		return s;
	return g->group ? group_barrier(g->group, streams[0]) : meet(w, streams);
}
