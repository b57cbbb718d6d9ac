/*
 * Messages between ranks on the GPUs of one process. See p2p.h.
 *
 * When both calls have met, a copy is submitted to the receiver's stream. The copy runs after the
 * work already in the sender's stream, and later work in the sender's stream runs after the copy.
 * Then the calls are over, like a call of a module that is in its stream. Each event belongs to
 * the GPU of the stream that it is recorded in. O(1).
 */
#include "runtime/cuda/gpu_comm.h"
#include "runtime/p2p.h"

/* An end of the message. */
struct end {
	const struct transfer *m;
	struct cuda *cuda;
	cuda_stream stream;
	cuda_event e; /* recorded in its stream */
	int mode;
};

static ccs_status enter(struct end *x)
{
	return cuda_enter(x->cuda, &x->mode);
}

static void leave(struct end *x)
{
	cuda_leave(x->cuda, x->mode);
}

/* Records an event after all work now in its stream. */
static ccs_status mark(struct end *x)
{
	ccs_status s = cuda_event_new(x->cuda, &x->e);

	return s ? s : cuda_record(x->cuda, x->e, x->stream);
}

/* Another thread than the caller's may submit the copy. */
static ccs_status check_stream(const struct end *x)
{
	return x->stream != CUDA_STREAM_PER_THREAD
		       ? CCS_OK
		       : error_set(CCS_EINVAL,
				   "the stream of rank %d is cudaStreamPerThread, which differs "
				   "from thread to thread: create one",
				   x->m->comm->rank);
}

static ccs_status begin(struct end *from)
{
	ccs_status s = check_stream(from);

	if (!s)
		s = enter(from);
	if (s)
		return s;
	s = cuda_check_pointer(from->cuda, from->m->at, "sendbuff");
	if (!s)
		s = mark(from);
	leave(from);
	return s;
}

static ccs_status copy(struct end *to, const struct end *from)
{
	ccs_status s = check_stream(to);

	if (!s)
		s = enter(to);
	if (s)
		return s;
	s = cuda_check_pointer(to->cuda, to->m->at, "recvbuff");
	if (!s)
		s = cuda_wait(to->cuda, from->e, to->stream);
	if (!s)
		s = cuda_copy_async(to->cuda, (cuda_ptr)(uintptr_t)to->m->at,
				    (cuda_ptr)(uintptr_t)from->m->at, to->m->bytes, to->stream,
				    "a message");
	if (!s)
		s = mark(to);
	leave(to);
	return s;
}

static ccs_status end(struct end *from, const struct end *to)
{
	ccs_status s = enter(from);

	if (s)
		return s;
	s = cuda_wait(from->cuda, to->e, from->stream);
	leave(from);
	return s;
}

static void drop(struct end *x)
{
	if (!x->e || enter(x))
		return;
	cuda_event_free(x->cuda, x->e);
	leave(x);
}

static struct end end_of(const struct world *w, const struct transfer *m)
{
	return (struct end){ .m = m, .cuda = gpu_cuda_of(w, m->comm->rank), .stream = m->stream };
}

void gpu_deliver(struct world *w, struct transfer *m)
{
	struct transfer *other = m->queue->twin->first;
	struct end from = end_of(w, m), to = end_of(w, other);
	struct text why = { .len = 0 };
	ccs_status s = m->bytes ? begin(&from) : CCS_OK;

	if (!s && m->bytes)
		s = copy(&to, &from);
	if (!s && m->bytes)
		s = end(&from, &to);
	if (s)
		text_add(&why, "a message from rank %d to rank %d: %s", m->comm->rank, m->peer,
			 error_thread()->text);
	drop(&from);
	drop(&to);
	p2p_over(w, m, s, why.buf);
	p2p_over(w, other, s, why.buf);
}
