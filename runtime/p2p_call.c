/*
 * ccs_send and ccs_recv: their arguments. See p2p.h.
 *
 * As with calls of modules, a wrong argument fails alone, before anything is posted, and in a group
 * it is the group's failure. O(1), plus the message.
 */
#include "runtime/request.h"

#include <stdlib.h>

static ccs_status check_comm(const struct transfer *m, const char *call)
{
	const struct engine *e;
	ccs_status s;

	if (!m->comm)
		return error_set(CCS_EINVAL, "%s: the communicator is NULL", call);
	s = world_here(m->comm->world);
	if (s)
		return s;
	e = m->comm->world->engine;
	if ((m->tag || m->any) && (e->gpus || (e->progress && !e->progress->next)))
		return error_set(
			CCS_EUNSUPPORTED,
			"%s: messages have no tags here, and a receive must name its peer: "
			"tags are for ranks that are tasks, or processes of a host, on the "
			"CPU",
			call);
	if (m->stream && !e->gpus)
		return error_set(CCS_EINVAL, "%s: stream must be NULL on the CPU", call);
	return CCS_OK;
}

static ccs_status check_peer(const struct transfer *m, bool grouped, const char *call)
{
	int rank = m->comm->rank, n = m->comm->world->nranks;

	if (m->tag < 0)
		return error_set(CCS_EINVAL, "%s: rank %d: tag %d is negative", call, rank, m->tag);
	if (m->any)
		return CCS_OK;
	if (m->peer < 0 || m->peer >= n)
		return error_set(CCS_EINVAL, "%s: rank %d: peer %d is not in the range 0 to %d",
				 call, rank, m->peer, n - 1);
	if (m->peer == rank && !grouped)
		return error_set(CCS_EINVAL,
				 "%s: rank %d is its own peer, and would wait for itself: put "
				 "its send and its receive into one group",
				 call, rank);
	return CCS_OK;
}

static ccs_status check_buffer(struct transfer *m, const char *call)
{
	size_t esize = ccs_dtype_size(m->type);

	if (!esize)
		return error_set(CCS_EINVAL, "%s: %d is not an element type", call, (int)m->type);
	if (__builtin_mul_overflow(m->count, esize, &m->bytes) || m->bytes > PTRDIFF_MAX)
		return error_set(CCS_EINVAL,
				 "%s: count %zu is too large: the buffer would exceed memory", call,
				 m->count);
	if (!m->at && m->bytes)
		return error_set(CCS_EINVAL, "%s: the buffer is NULL", call);
	if (m->bytes && (uintptr_t)m->at % esize)
		return error_set(CCS_EINVAL,
				 "%s: the buffer is not aligned to its elements' %zu bytes", call,
				 esize);
	return CCS_OK;
}

static ccs_status check(struct transfer *m, bool grouped, const char *call)
{
	ccs_status s = check_comm(m, call);

	if (!s)
		s = check_peer(m, grouped, call);
	return s ? s : check_buffer(m, call);
}

static ccs_status submit(struct transfer *m, const char *call)
{
	struct thread_state *t = error_thread();
	ccs_status s = t->failed; /* in a group the first error wins */

	if (!s)
		s = check(m, t->depth > 0, call);
	if (t->depth && !s)
		return group_record_message(t, m);
	if (t->depth)
		t->failed = s;
	if (!s)
		s = p2p_post(m);
	if (s)
		return s;
	p2p_wait(m, &s);
	free(m->text);
	return s;
}

ccs_status ccs_send_tagged(const void *sendbuff, size_t count, ccs_dtype type, int peer, int tag,
			   struct ccs_comm *comm, void *stream)
{
	struct transfer m = { .comm = comm,
			      .peer = peer,
			      .tag = tag,
			      .sends = true,
			      .at = (unsigned char *)(uintptr_t)sendbuff, /* it is only read */
			      .count = count,
			      .type = type,
			      .stream = stream };

	return submit(&m, "ccs_send");
}

static ccs_status receive(void *recvbuff, size_t count, ccs_dtype type, int peer, bool any, int tag,
			  int *source, struct ccs_comm *comm, void *stream)
{
	struct transfer m = { .comm = comm,
			      .peer = peer,
			      .any = any,
			      .tag = tag,
			      .source = source,
			      .at = recvbuff,
			      .count = count,
			      .type = type,
			      .stream = stream };

	return submit(&m, "ccs_recv");
}

ccs_status ccs_recv_tagged(void *recvbuff, size_t count, ccs_dtype type, int peer, int tag,
			   int *source, struct ccs_comm *comm, void *stream)
{
	return receive(recvbuff, count, type, peer, peer == CCS_ANY_SOURCE, tag, source, comm,
		       stream);
}

ccs_status ccs_send(const void *sendbuff, size_t count, ccs_dtype type, int peer,
		    struct ccs_comm *comm, void *stream)
{
	return ccs_send_tagged(sendbuff, count, type, peer, 0, comm, stream);
}

ccs_status ccs_recv(void *recvbuff, size_t count, ccs_dtype type, int peer, struct ccs_comm *comm,
		    void *stream)
{
	return receive(recvbuff, count, type, peer, false, 0, NULL, comm, stream);
}
