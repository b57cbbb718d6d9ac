/*
 * Messages between ranks on GPUs that are processes, by NCCL's own send and receive. See p2p.h.
 *
 * In: the messages of a group, of one communicator or several. Out: all messages are in their
 * streams, as one group of NCCL's, so that they progress together. The calls are then over,
 * whether or not their peers have called, as with NCCL. A message without elements is not sent. A
 * message must be as long as its receiver expects: NCCL does not compare.
 *
 * If one message cannot be submitted, the whole group fails. If that is found before NCCL is
 * called, nothing else happens; otherwise other ranks may wait for messages that never come, and
 * the communicators fail. O(messages x communicators).
 */
#include "runtime/cuda/gpu_comm.h"
#include "runtime/p2p.h"

static struct gpu_part *part_of(const struct transfer *m)
{
	return gpu_of(m->comm->world)->parts; /* its only rank */
}

/* The world with the next higher address; NULL: none. All threads lock worlds in this order,
 * so they cannot deadlock. */
static struct world *next_world(const struct transfer *list, const struct world *after)
{
	struct world *next = NULL;

	for (; list; list = list->behind) {
		struct world *w = list->comm->world;

		if ((uintptr_t)w > (uintptr_t)after && (!next || (uintptr_t)w < (uintptr_t)next))
			next = w;
	}
	return next;
}

static ccs_status check_world(struct world *w)
{
	ccs_status s = w->engine->check(w);

	if (!s && !group_comm(gpu_of(w)->group))
		s = error_set(CCS_EABORTED, "the processes of the communicator have lost their "
					    "connection, since an earlier error");
	return s;
}

/* Locks all of them. Returns the first failure of one. */
static ccs_status lock_worlds(const struct transfer *list)
{
	ccs_status s = CCS_OK;

	for (struct world *w = next_world(list, NULL); w; w = next_world(list, w)) {
		pthread_mutex_lock(&w->lock);
		if (!s)
			s = check_world(w);
	}
	return s;
}

/* Unlocks. If `broken`, the failure `s` ends all of the communicators. */
static void unlock_worlds(const struct transfer *list, ccs_status s, bool broken)
{
	for (struct world *w = next_world(list, NULL); w; w = next_world(list, w)) {
		if (broken)
			gpu_break(w, s);
		pthread_mutex_unlock(&w->lock);
	}
}

static ccs_status check_pointers(const struct transfer *list)
{
	ccs_status s = CCS_OK;
	int mode;

	for (const struct transfer *m = list; m && !s; m = m->behind) {
		struct cuda *d = &part_of(m)->cuda;

		if (!m->bytes)
			continue;
		s = cuda_enter(d, &mode);
		if (s)
			return s;
		s = cuda_check_pointer(d, m->at, m->sends ? "sendbuff" : "recvbuff");
		cuda_leave(d, mode);
	}
	return s;
}

static ccs_status put_one(const struct transfer *m)
{
	const struct gpu *g = gpu_of(m->comm->world);
	nccl_comm comm = group_comm(g->group);
	ccs_status s;
	int mode;

	s = cuda_enter(&g->parts->cuda, &mode);
	if (s)
		return s;
	if (m->sends)
		s = nccl_send(&g->nccl, m->at, m->count, m->type, m->peer, comm, m->stream);
	else
		s = nccl_recv(&g->nccl, m->at, m->count, m->type, m->peer, comm, m->stream);
	cuda_leave(&g->parts->cuda, mode);
	return s;
}

/* With a GPU entered. */
static ccs_status put_group(const struct nccl *n, const struct transfer *list, bool *begun)
{
	ccs_status s = nccl_group_start(n);

	if (s)
		return s;
	*begun = true;
	for (const struct transfer *m = list; m && !s; m = m->behind)
		if (m->bytes)
			s = put_one(m);
	return nccl_group_end(n, s);
}

static ccs_status put_all(const struct transfer *list, bool *begun)
{
	const struct transfer *first = list;
	ccs_status s = check_pointers(list);
	int mode;

	while (first && !first->bytes)
		first = first->behind;
	if (s || !first)
		return s;
	s = cuda_enter(&part_of(first)->cuda, &mode);
	if (s)
		return s;
	s = put_group(&gpu_of(first->comm->world)->nccl, list, begun);
	cuda_leave(&part_of(first)->cuda, mode);
	return s;
}

ccs_status gpu_exchange(struct transfer *list)
{
	bool begun = false;
	ccs_status s = lock_worlds(list);

	if (!s)
		s = put_all(list, &begun);
	unlock_worlds(list, s, s && begun);
	return s;
}
