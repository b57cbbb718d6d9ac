/*
 * Runs a call that ccs takes over from MPI: finds its data, and runs it.
 *
 * In: MPI's arguments. Out: the same results, and MPI's error. Buffers are passed on without a
 * copy; in place means in place. Elements with holes, and unaligned elements, are packed into a
 * buffer of ours before the call, and unpacked after it. O(bytes) at most.
 */
#include "runtime/preload/preload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The data of this rank on one side of the call. */
struct side {
	void *at; /* the buffer that ccs gets */
	const void *buffer;
	MPI_Datatype type;
	MPI_Count n; /* elements, in all blocks */
	bool own;    /* `at` is a buffer of ours */
	bool drops;  /* ccs computes it, but the program does not want it */
};

struct sides {
	struct side in, out; /* n is 0 on a side without data on this rank */
};

/* ---- MPI's arguments ------------------------------------------------------------------------- */

static struct side sent(const struct job *j, int blocks)
{
	return (struct side){ .buffer = j->send,
			      .type = j->send_type,
			      .n = j->send_count * blocks };
}

static struct side received(const struct job *j, int blocks)
{
	return (struct side){ .buffer = j->recv,
			      .type = j->recv_type,
			      .n = j->recv_count * blocks };
}

/* The rank's own block of the receive buffer. */
static struct side own_block(const struct job *j, int rank)
{
	struct side s = received(j, 1);

	s.buffer = type_at(j->recv, j->recv_type, j->recv_count * rank);
	return s;
}

/* MPI_IN_PLACE replaces the input, but in a scatter the root's output. */
static struct sides sides_of(const struct held *h, const struct job *j)
{
	const bool root = h->rank == j->root, in_place = j->send == MPI_IN_PLACE;
	const int n = h->size;
	struct sides s = { 0 };

	switch (j->what) {
	case ALLREDUCE:
	case REDUCE:
		s.in = in_place ? received(j, 1) : sent(j, 1);
		s.out = j->what == ALLREDUCE || root ? received(j, 1) : s.out;
		break;
	case REDUCE_SCATTER_BLOCK:
		s.in = in_place ? received(j, n) : sent(j, n);
		s.out = received(j, 1);
		break;
	case ALLGATHER:
	case GATHER:
		s.in = in_place ? own_block(j, h->rank) : sent(j, 1);
		s.out = j->what == ALLGATHER || root ? received(j, n) : s.out;
		break;
	case BROADCAST: s.in = s.out = received(j, 1); break;
	case ALLTOALL:
		s.in = in_place ? received(j, n) : sent(j, n);
		s.out = received(j, n);
		break;
	case SCATTER:
		s.in = root ? sent(j, n) : s.in;
		s.out = j->recv == MPI_IN_PLACE ? sent(j, 1) : received(j, 1);
		s.out.drops = j->recv == MPI_IN_PLACE;
		break;
	case BARRIER:
	case COLLECTIVES: break;
	}
	return s;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* The most elements that one call of MPI packs. */
static MPI_Count piece_of(const struct side *s, MPI_Count from, size_t each)
{
	MPI_Count most = (MPI_Count)(INT_MAX / (each ? each : 1));

	return s->n - from < most ? s->n - from : most;
}

/* False: MPI's packed form differs from the elements' size. */
static bool copy(const struct side *s, bool unpack)
{
	size_t each = 0, done = 0;
	bool ok = type_bytes(s->type, 1, &each) && each <= INT_MAX;

	for (MPI_Count from = 0, n; ok && from < s->n; from += n) {
		void *elements = type_at(s->buffer, s->type, from);
		char *bytes = (char *)s->at + done;
		int at = 0, room;

		n = piece_of(s, from, each);
		room = (int)((size_t)n * each);
		ok = !(unpack ? PMPI_Unpack(bytes, room, &at, elements, (int)n, s->type,
					    MPI_COMM_SELF)
			      : PMPI_Pack(elements, (int)n, s->type, bytes, room, &at,
					  MPI_COMM_SELF)) &&
		     at == room;
		done += (size_t)room;
	}
	return ok;
}

/* Whether ccs can use the program's buffer directly. */
static bool suits(const struct side *s, ccs_dtype type)
{
	return !s->drops && (uintptr_t)s->buffer % ccs_dtype_size(type) == 0 &&
	       type_is_plain(s->type);
}

static ccs_status place(struct side *s, ccs_dtype type)
{
	size_t bytes;

	if (!s->n || suits(s, type)) {
		s->at = s->n ? (void *)(uintptr_t)s->buffer : NULL;
		return CCS_OK;
	}
	s->own = true;
	s->at = type_bytes(s->type, s->n, &bytes) ? malloc(bytes + !bytes) : NULL;
	return s->at ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory for packing a message");
}

static ccs_status pack(const struct side *s)
{
	if (!s->own || copy(s, false))
		return CCS_OK;
	return ccs_error_set(CCS_EUNSUPPORTED, "MPI does not pack the message");
}

static ccs_status unpack(const struct side *s)
{
	if (!s->own || s->drops || copy(s, true))
		return CCS_OK;
	return ccs_error_set(CCS_EUNSUPPORTED, "MPI does not unpack the message");
}

/* ---- running --------------------------------------------------------------------------------- */

static ccs_status call(const struct held *h, const struct job *j, const struct order *o,
		       const void *in, void *out)
{
	return ccs_run_with(o->entry->module, &o->entry->options, in, out, o->count, o->type, o->op,
			    j->root, h->ccs, NULL);
}

/* Whether the rank's own block appears in the send and in the receive arguments. */
static bool gives_itself(const struct held *h, const struct job *j)
{
	if (j->send == MPI_IN_PLACE || j->recv == MPI_IN_PLACE)
		return false;
	return j->what == ALLGATHER || j->what == ALLTOALL ||
	       ((j->what == GATHER || j->what == SCATTER) && h->rank == j->root);
}

/* MPI requires both descriptions of a rank's own block to have the same size. ccs uses only
 * one of them, and would overrun the other buffer if it were shorter. */
static ccs_status check_own_block(const struct held *h, const struct job *j)
{
	size_t sent = 0, received = 0;

	if (!gives_itself(h, j) ||
	    (type_bytes(j->send_type, j->send_count, &sent) &&
	     type_bytes(j->recv_type, j->recv_count, &received) && sent == received))
		return CCS_OK;
	return ccs_error_set(CCS_EINVAL,
			     "this rank's own block has %zu bytes where it is sent, and %zu where "
			     "it is received",
			     sent, received);
}

/* MPI has one buffer: input at the root, output at all other ranks. */
static ccs_status broadcast(struct held *h, const struct job *j, const struct order *o,
			    struct sides *s)
{
	const bool root = h->rank == j->root;
	ccs_status e = place(&s->in, o->type);

	if (!e && root)
		e = pack(&s->in);
	if (!e)
		e = call(h, j, o, s->in.at, s->in.at);
	return !e && !root ? unpack(&s->in) : e;
}

static ccs_status run(struct held *h, const struct job *j, const struct order *o, struct sides *s)
{
	ccs_status e;

	if (j->what == BROADCAST)
		return broadcast(h, j, o, s);
	e = check_own_block(h, j);
	if (!e)
		e = place(&s->in, o->type);
	if (!e)
		e = place(&s->out, o->type);
	if (!e)
		e = pack(&s->in);
	if (!e)
		e = call(h, j, o, s->in.at, s->out.at);
	return e ? e : unpack(&s->out);
}

/* ---- again ----------------------------------------------------------------------------------- */

static bool in_place(const struct job *j)
{
	return j->send == MPI_IN_PLACE;
}

static bool is_like(const struct known *k, const struct job *j)
{
	const struct job *was = &k->job;

	return k->call && was->what == j->what && j->recv != MPI_IN_PLACE &&
	       was->recv_count == j->recv_count && was->send_count == j->send_count &&
	       was->recv_type == j->recv_type && was->send_type == j->send_type &&
	       was->op == j->op && was->root == j->root && k->in_place == in_place(j);
}

/* Replaces approximately the least recently used record. */
static void remember(struct held *h, const struct job *j, const struct order *o,
		     const struct sides *s)
{
	struct known *k;

	if (s->in.own || s->out.own)
		return;
	h->newest = (h->newest + 1) % KNOWN;
	k = h->known + h->newest;
	ccs_call_free(k->call);
	*k = (struct known){
		.job = *j,
		.in_place = in_place(j),
		.order = *o,
		.has_in = s->in.n != 0,
		.has_out = s->out.n != 0,
		.in_recv = j->what == BROADCAST || in_place(j),
		.aligned = ccs_dtype_size(o->type) - 1, /* sizes are powers of two */
	};
	if (k->in_recv && k->has_in)
		k->in_at = (const char *)s->in.buffer - (const char *)j->recv;
	/* without memory for it, the next call like this one is decided anew */
	ccs_prepare(&k->call, o->entry->module, &o->entry->options, s->in.at,
		    j->what == BROADCAST ? s->in.at : s->out.at, o->count, o->type, o->op, j->root,
		    h->ccs, NULL);
}

static struct known *find_known(struct held *h, const struct job *j)
{
	for (unsigned i = 0; i < KNOWN; i++) {
		unsigned at = (h->newest + i) % KNOWN;

		if (is_like(h->known + at, j)) {
			h->newest = at;
			return h->known + at;
		}
	}
	return NULL;
}

/* Ends this rank's communicator, so that the other ranks see the failure. */
static void fail(struct held *h, const struct job *j, const struct order *o)
{
	fprintf(stderr, "libccs-mpi: rank %d of %d: %s by %s: %s\n", h->rank, h->size,
		collective_name(j->what), o->entry->label, ccs_error());
	fflush(stderr);
	h->meeting = FAILED;
	held_end_ccs(h);
}

static int over(struct held *h, const struct job *j, const struct order *o, ccs_status e)
{
	if (!e)
		return MPI_SUCCESS;
	fail(h, j, o);
	PMPI_Comm_call_errhandler(h->comm, MPI_ERR_OTHER);
	return MPI_ERR_OTHER;
}

int job_run(struct held *h, const struct job *j, const struct order *o)
{
	struct sides s = sides_of(h, j);
	ccs_status e;

	h->rounds = 0;
	if (h->meeting == FAILED)
		e = ccs_error_set(CCS_EABORTED, "an earlier call has failed");
	else
		e = run(h, j, o, &s);
	if (!e)
		remember(h, j, o, &s);
	if (s.in.own)
		free(s.in.at);
	if (s.out.own)
		free(s.out.at);
	return over(h, j, o, e);
}

bool job_again(struct held *h, const struct job *j, int *e)
{
	const struct known *k = h->meeting == MET ? find_known(h, j) : NULL;
	const char *in;
	char *out;

	if (!k)
		return false;
	in = k->in_recv ? (const char *)j->recv + k->in_at : j->send;
	out = k->has_out ? j->recv : NULL;
	in = k->has_in ? in : NULL;
	if (((uintptr_t)in | (uintptr_t)out) & k->aligned)
		return false;
	entry_count(k->order.entry, h);
	h->rounds = 0;
	h->entry = k->order.entry;
	*e = over(h, j, &k->order, ccs_start_at(k->call, in, out));
	return true;
}
