/*
 * Calls of NCCL. See nccl.h. O(1) each, but for the collectives that are made of sends
 * and receives: O(ranks).
 *
 * In: what nccl.h says. Out: a status, and NCCL's own text. The numbers of types and
 * operators, and the struct of a unique id, are NCCL's ABI; ccs.h has the same (plan/types.h).
 */
#include "runtime/cuda/nccl.h"

#include "runtime/base/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of nccl.h: ncclResult_t, and where a scalar is. */
enum { INVALID_ARGUMENT = 4, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS };
enum { SCALAR_OF_HOST = 1 };

_Static_assert(sizeof(struct ccs_unique_id) == 128, "an ncclUniqueId");

struct nccl_api {
	int (*version)(int *);
	const char *(*error_string)(int);
	int (*unique_id)(struct ccs_unique_id *);
	int (*init_rank)(nccl_comm *, int nranks, struct ccs_unique_id, int rank);
	int (*destroy)(nccl_comm);
	int (*abort)(nccl_comm);
	int (*async_error)(nccl_comm, int *);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*send)(const void *, size_t, int type, int peer, nccl_comm, cuda_stream);
	int (*recv)(void *, size_t, int type, int peer, nccl_comm, cuda_stream);
	int (*all_reduce)(const void *, void *, size_t, int type, int op, nccl_comm, cuda_stream);
	int (*all_gather)(const void *, void *, size_t, int type, nccl_comm, cuda_stream);
	int (*reduce_scatter)(const void *, void *, size_t, int type, int op, nccl_comm,
			      cuda_stream);
	int (*broadcast)(const void *, void *, size_t, int type, int root, nccl_comm, cuda_stream);
	int (*reduce)(const void *, void *, size_t, int type, int op, int root, nccl_comm,
		      cuda_stream);
	/* since 2.11 and 2.13 */
	int (*premul)(nccl_op *, void *scalar, int type, int where, nccl_comm);
	int (*op_free)(nccl_op, nccl_comm);
	const char *(*last_error)(nccl_comm);
};

static const char *const symbols[] = {
	"ncclGetVersion",
	"ncclGetErrorString",
	"ncclGetUniqueId",
	"ncclCommInitRank",
	"ncclCommDestroy",
	"ncclCommAbort",
	"ncclCommGetAsyncError",
	"ncclGroupStart",
	"ncclGroupEnd",
	"ncclSend",
	"ncclRecv",
	"ncclAllReduce",
	"ncclAllGather",
	"ncclReduceScatter",
	"ncclBroadcast",
	"ncclReduce",
	"ncclRedOpCreatePreMulSum",
	"ncclRedOpDestroy",
	"ncclGetLastError",
};
#define OPTIONAL 3
#define NSYMBOLS (sizeof(symbols) / sizeof(*symbols))
_Static_assert(sizeof(struct nccl_api) == NSYMBOLS * sizeof(void *),
	       "one symbol for each function, in the same order");

/* ---- errors --------------------------------------------------------------------- */

static ccs_status status_of(int e)
{
	if (e == INVALID_ARGUMENT)
		return CCS_EINVAL;
	if (e == INVALID_USAGE || e == IN_PROGRESS)
		return CCS_EUNSUPPORTED;
	return e == REMOTE_ERROR ? CCS_EABORTED : CCS_ESYSTEM;
}

/* CCS_OK, or the status and text of a call's error. */
static ccs_status check(const struct nccl *n, int e, const char *call, nccl_comm comm)
{
	const char *text, *last;

	if (!e)
		return CCS_OK;
	if (e == IN_PROGRESS) /* nobody here would wait for it */
		return error_set(CCS_EUNSUPPORTED,
				 "%s goes on in the background: "
				 "NCCL_COMM_BLOCKING=0 cannot be used here",
				 call);
	text = n->api->error_string(e);
	last = n->api->last_error ? n->api->last_error(comm) : NULL;
	return error_set(status_of(e), "NCCL %d.%d.%d: %s failed: %s%s%s%s", n->version / 10000,
			 n->version / 100 % 100, n->version % 100, call,
			 text ? text : "an error without a name", last && *last ? " (" : "",
			 last && *last ? last : "", last && *last ? ")" : "");
}

/* ---- opening ---------------------------------------------------------------------- */

/* Before 2.9 the number was 1000 * major + 100 * minor + patch. */
static int full_version(int v)
{
	return v < 10000 ? v / 1000 * 10000 + v % 1000 : v;
}

ccs_status nccl_open(struct nccl *n)
{
	static const char *const names[] = { "libnccl.so.2", NULL };
	static const struct library_search search = {
		.variable = "CCS_NCCL",
		.names = names,
		.missing = "there is no libnccl.so.2 (it comes with NVIDIA's packages, or by "
			   "`pip install nvidia-nccl-cu13`",
	};
	char why[700];
	int e;

	*n = (struct nccl){ 0 };
	n->library = library_open(&search, n->path, sizeof(n->path), why, sizeof(why));
	if (!n->library)
		return error_set(CCS_EUNSUPPORTED, "this needs NCCL: %s", why);
	n->api = calloc(1, sizeof(*n->api));
	if (!n->api)
		return error_set(CCS_ENOMEM, "out of memory");
	if (!library_functions(n->library, n->path, symbols, NSYMBOLS, OPTIONAL, n->api, why,
			       sizeof(why))) {
		nccl_close(n);
		return error_set(CCS_EUNSUPPORTED, "this needs NCCL 2.7 or later: %s", why);
	}
	e = n->api->version(&n->version);
	if (e) {
		ccs_status s = check(n, e, "ncclGetVersion", NULL);

		nccl_close(n);
		return s;
	}
	n->version = full_version(n->version);
	return CCS_OK;
}

/* The library stays mapped: its threads and its allocations are its own. */
void nccl_close(struct nccl *n)
{
	free(n->api);
	n->api = NULL;
	n->library = NULL;
}

/* ---- communicators ------------------------------------------------------------------ */

ccs_status nccl_unique_id(const struct nccl *n, struct ccs_unique_id *id)
{
	return check(n, n->api->unique_id(id), "ncclGetUniqueId", NULL);
}

ccs_status nccl_join(const struct nccl *n, nccl_comm *comm, int nranks,
		     const struct ccs_unique_id *id, int rank)
{
	ccs_status s =
		check(n, n->api->init_rank(comm, nranks, *id, rank), "ncclCommInitRank", NULL);

	if (s)
		*comm = NULL;
	return s;
}

ccs_status nccl_share_gpu(const struct nccl *n, int rank)
{
	/* each channel takes blocks of the GPU from every rank */
	static const struct {
		bool can;		  /* of versions whose ranks can share a GPU */
		const char *name, *value; /* NULL: the rank's own */
	} settings[] = {
		{ true, "NCCL_MULTI_RANK_GPU_ENABLE", "1" },
		{ false, "NCCL_HOSTID", NULL },
		{ false, "NCCL_NET", "Socket" },
		{ false, "NCCL_SOCKET_IFNAME", "lo" },
		{ false, "NCCL_MAX_NCHANNELS", "2" },
	};
	char own[32];

	snprintf(own, sizeof(own), "ccs-rank-%d", rank);
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		const char *value = settings[i].value ? settings[i].value : own;

		if (settings[i].can == (n->version >= NCCL_SHARES_GPUS) &&
		    setenv(settings[i].name, value, 0))
			return error_set(CCS_ENOMEM, "out of memory");
	}
	return CCS_OK;
}

void nccl_leave(const struct nccl *n, nccl_comm comm, bool abort)
{
	if (comm && abort)
		n->api->abort(comm);
	else if (comm)
		n->api->destroy(comm);
}

ccs_status nccl_check(const struct nccl *n, nccl_comm comm)
{
	int e = 0;
	ccs_status s = check(n, n->api->async_error(comm, &e), "ncclCommGetAsyncError", comm);

	return s || !e || e == IN_PROGRESS ? s : check(n, e, "an earlier call", comm);
}

ccs_status nccl_group_start(const struct nccl *n)
{
	return check(n, n->api->group_start(), "ncclGroupStart", NULL);
}

ccs_status nccl_group_end(const struct nccl *n)
{
	return check(n, n->api->group_end(), "ncclGroupEnd", NULL);
}

ccs_status nccl_send(const struct nccl *n, const void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s)
{
	return check(n, n->api->send(p, count, (int)type, peer, comm, s), "ncclSend", comm);
}

ccs_status nccl_recv(const struct nccl *n, void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s)
{
	return check(n, n->api->recv(p, count, (int)type, peer, comm, s), "ncclRecv", comm);
}

ccs_status nccl_all_gather(const struct nccl *n, const void *send, void *recv, size_t count,
			   ccs_dtype type, nccl_comm comm, cuda_stream s)
{
	return check(n, n->api->all_gather(send, recv, count, (int)type, comm, s), "ncclAllGather",
		     comm);
}

/* ---- collectives ------------------------------------------------------------------------ */

enum collective {
	ALL_REDUCE,
	ALL_GATHER,
	REDUCE_SCATTER,
	BROADCAST,
	REDUCE,
	GATHER,
	SCATTER,
	ALL_TO_ALL,
	NONE
};

static enum collective collective_of(const char *contract)
{
	static const char *const names[NONE] = {
		"allreduce", "allgather", "reduce_scatter", "broadcast",
		"reduce",    "gather",	  "scatter",	    "all_to_all",
	};
	unsigned c = 0;

	while (c < NONE && strcmp(contract, names[c]))
		c++;
	return (enum collective)c;
}

bool nccl_has(const char *contract)
{
	return collective_of(contract) != NONE;
}

/* A block of each rank to or from `peers` [from, to). */
struct blocks {
	const struct nccl_job *job;
	nccl_comm comm;
	cuda_stream stream;
	size_t bytes; /* of a block */
};

static ccs_status send_block(const struct nccl *n, const struct blocks *b, int peer, int block)
{
	return nccl_send(n, (const char *)b->job->send + (size_t)block * b->bytes, b->job->count,
			 b->job->type, peer, b->comm, b->stream);
}

static ccs_status recv_block(const struct nccl *n, const struct blocks *b, int peer, int block)
{
	return nccl_recv(n, (char *)b->job->recv + (size_t)block * b->bytes, b->job->count,
			 b->job->type, peer, b->comm, b->stream);
}

/* gather, scatter, all_to_all: what a rank sends and receives, all in one group. */
static ccs_status exchange(const struct nccl *n, enum collective c, const struct blocks *b,
			   int rank, int nranks)
{
	int root = b->job->root;
	ccs_status s = nccl_group_start(n);

	if (s)
		return s;
	if (c == GATHER)
		s = send_block(n, b, root, 0);
	if (c == SCATTER)
		s = recv_block(n, b, root, 0);
	for (int peer = 0; !s && peer < nranks; peer++) {
		if (c == ALL_TO_ALL || (c == SCATTER && rank == root))
			s = send_block(n, b, peer, peer);
		if (!s && (c == ALL_TO_ALL || (c == GATHER && rank == root)))
			s = recv_block(n, b, peer, peer);
	}
	if (s) { /* NCCL closes the group with the same error */
		n->api->group_end();
		return s;
	}
	return nccl_group_end(n);
}

ccs_status nccl_run(const struct nccl *n, const struct nccl_job *job, int rank, int nranks,
		    nccl_comm comm, cuda_stream s)
{
	const struct blocks b = { job, comm, s, job->count * ccs_dtype_size(job->type) };
	enum collective c = collective_of(job->contract);
	int type = (int)job->type;

	switch (c) {
	case ALL_REDUCE:
		return check(n,
			     n->api->all_reduce(job->send, job->recv, job->count, type, job->op,
						comm, s),
			     "ncclAllReduce", comm);
	case ALL_GATHER:
		return nccl_all_gather(n, job->send, job->recv, job->count, job->type, comm, s);
	case REDUCE_SCATTER:
		return check(n,
			     n->api->reduce_scatter(job->send, job->recv, job->count, type, job->op,
						    comm, s),
			     "ncclReduceScatter", comm);
	case BROADCAST:
		return check(n,
			     n->api->broadcast(job->send, job->recv, job->count, type, job->root,
					       comm, s),
			     "ncclBroadcast", comm);
	case REDUCE:
		return check(n,
			     n->api->reduce(job->send, job->recv, job->count, type, job->op,
					    job->root, comm, s),
			     "ncclReduce", comm);
	case GATHER:
	case SCATTER:
	case ALL_TO_ALL: return exchange(n, c, &b, rank, nranks);
	case NONE: break;
	}
	return error_set(CCS_EUNSUPPORTED, "NCCL has no %s", job->contract);
}

ccs_status nccl_premul(const struct nccl *n, nccl_op *op, const void *scalar, ccs_dtype type,
		       nccl_comm comm)
{
	union { /* NCCL reads it before it returns */
		long double align;
		unsigned char bytes[8];
	} copy = { 0 };

	if (!n->api->premul || !n->api->op_free)
		return error_set(CCS_EUNSUPPORTED, "NCCL before 2.11 has no premul-sum");
	memcpy(copy.bytes, scalar, ccs_dtype_size(type));
	return check(n, n->api->premul(op, copy.bytes, (int)type, SCALAR_OF_HOST, comm),
		     "ncclRedOpCreatePreMulSum", comm);
}

void nccl_op_free(const struct nccl *n, nccl_op op, nccl_comm comm)
{
	if (op >= CCS_NREDOPS)
		n->api->op_free(op, comm);
}
