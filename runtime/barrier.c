/*
 * ccs_barrier: a rendezvous without further work, if calls of ranks are over when they return. On
 * GPUs the ranks' streams meet (engine.h). O(ranks).
 */
#include "runtime/rendezvous.h"

#include <stdlib.h>

static ccs_status meet_here(struct world *w, struct attendee *const *of)
{
	void **streams;
	ccs_status s;

	if (!w->engine->gpus)
		return CCS_OK;
	streams = calloc((size_t)w->nranks, sizeof(*streams));
	if (!streams)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	for (int r = 0; r < w->nranks; r++)
		streams[r] = of[r]->stream;
	s = w->engine->gpus->barrier(w, streams);
	free(streams);
	return s;
}

/* All processes have come; or, on GPUs, makes the streams meet. */
static ccs_status meet_apart(struct world *w, struct attendee *a, const struct proposal *all)
{
	(void)all;
	return w->engine->gpus ? w->engine->gpus->barrier(w, &a->stream) : CCS_OK;
}

static bool in_streams(const struct world *w)
{
	return w->engine->gpus != NULL;
}

ccs_status ccs_barrier(struct ccs_comm *comm, void *stream)
{
	static const struct rendezvous_way way = { meet_here, meet_apart, in_streams };
	struct attendee a = { .comm = comm, .way = &way, .stream = stream };
	struct thread_state *t = error_thread();
	ccs_status s = t->failed;

	if (s)
		return s;
	if (!comm)
		s = error_set(CCS_EINVAL, "ccs_barrier: the communicator is NULL");
	else
		s = world_here(comm->world);
	if (!s && stream && !comm->world->engine->gpus)
		s = error_set(CCS_EINVAL, "ccs_barrier: stream must be NULL on the CPU");
	if (s) {
		t->failed = t->depth ? s : CCS_OK;
		return s;
	}
	a.own = proposal_of(MEET_BARRIER, NULL, 0);
	return rendezvous_submit(&a);
}
