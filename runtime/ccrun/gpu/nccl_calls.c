/*
 * Calls of NCCL. See nccl_calls.h.
 */
#include "runtime/ccrun/gpu/nccl_calls.h"

#include <dlfcn.h>
#include <string.h>

/* Of nccl.h: ncclResult_t, and where a scalar is. */
enum { REMOTE_ERROR = 6 };
enum { SCALAR_OF_HOST = 1 };

#define SYMBOL(result, name, parameters, symbol) symbol,
static const char *const symbols[] = { NCCL(SYMBOL) NCCL_NEWER(SYMBOL) };
#define NSYMBOLS (sizeof(symbols) / sizeof(*symbols))
#define NEWER 3

ccs_status nccl_calls_check(const struct nccl_library *n, int e, const char *call, nccl_comm comm)
{
	const char *text, *last;

	if (!e)
		return CCS_OK;
	if (e == NCCL_IN_PROGRESS) /* no code here would wait for it */
		return ccs_error_set(CCS_EUNSUPPORTED,
				     "%s continues in the background: NCCL_COMM_BLOCKING=0 cannot "
				     "be used here",
				     call);
	text = n->calls.error_string(e);
	last = n->calls.last_error ? n->calls.last_error(comm) : NULL;
	return ccs_error_set(e == REMOTE_ERROR ? CCS_EABORTED : CCS_ESYSTEM,
			     "NCCL %d.%d.%d: %s failed: %s%s%s%s", n->version / 10000,
			     n->version / 100 % 100, n->version % 100, call,
			     text ? text : "an error without a name", last && *last ? " (" : "",
			     last && *last ? last : "", last && *last ? ")" : "");
}

ccs_status nccl_calls_open(struct nccl_library *n)
{
	void *functions[NSYMBOLS], *library;
	ccs_status s = ccs_nccl_library(&library);
	Dl_info where;
	int v;

	_Static_assert(sizeof(functions) == sizeof(n->calls), "a symbol for each function");
	for (size_t i = 0; i < NSYMBOLS && !s; i++) {
		functions[i] = dlsym(library, symbols[i]);
		if (!functions[i] && i + NEWER < NSYMBOLS)
			s = ccs_error_set(CCS_EUNSUPPORTED,
					  "this needs NCCL 2.7 or later: it has "
					  "no %s",
					  symbols[i]);
	}
	if (s)
		return s;
	/* a function's address from a void *, as POSIX has it */
	memcpy(&n->calls, functions, sizeof(functions));
	n->path = dladdr(functions[0], &where) ? where.dli_fname : "libnccl.so.2";
	s = nccl_calls_check(n, n->calls.get_version(&v), "ncclGetVersion", NULL);
	/* before 2.9 the number was 1000 * major + 100 * minor + patch */
	n->version = s ? 0 : v < 10000 ? v / 1000 * 10000 + v % 1000 : v;
	return s;
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

/* What contracts call them, and NCCL, where it has them as one call. */
static const struct {
	const char *contract, *call;
} collectives[NONE] = {
	[ALL_REDUCE] = { "allreduce", "ncclAllReduce" },
	[ALL_GATHER] = { "allgather", "ncclAllGather" },
	[REDUCE_SCATTER] = { "reduce_scatter", "ncclReduceScatter" },
	[BROADCAST] = { "broadcast", "ncclBroadcast" },
	[REDUCE] = { "reduce", "ncclReduce" },
	[GATHER] = { "gather", NULL },
	[SCATTER] = { "scatter", NULL },
	[ALL_TO_ALL] = { "all_to_all", NULL },
};

static enum collective collective_of(const char *contract)
{
	unsigned c = 0;

	while (c < NONE && strcmp(contract, collectives[c].contract))
		c++;
	return (enum collective)c;
}

bool nccl_calls_has(const char *contract)
{
	return collective_of(contract) != NONE;
}

/* A block, to the peer or from it. */
static ccs_status move(const struct nccl_library *n, const struct nccl_job *j, bool sends, int peer,
		       size_t block)
{
	size_t at = block * j->count * ccs_dtype_size(j->type);
	int type = (int)j->type, e;

	if (sends)
		e = n->calls.send((const char *)j->send + at, j->count, type, peer, j->comm,
				  j->stream);
	else
		e = n->calls.recv((char *)j->recv + at, j->count, type, peer, j->comm, j->stream);
	return nccl_calls_check(n, e, sends ? "ncclSend" : "ncclRecv", j->comm);
}

/* gather, scatter, all_to_all: what a rank sends and receives, all in one group. */
static ccs_status exchange(const struct nccl_library *n, enum collective c,
			   const struct nccl_job *j)
{
	bool roots = j->rank == j->root;
	ccs_status s = nccl_calls_check(n, n->calls.group_start(), "ncclGroupStart", NULL);

	if (s)
		return s;
	if (c != ALL_TO_ALL)
		s = move(n, j, c == GATHER, j->root, 0);
	for (int peer = 0; !s && peer < j->nranks; peer++) {
		if (c == ALL_TO_ALL || (c == SCATTER && roots))
			s = move(n, j, true, peer, (size_t)peer);
		if (!s && (c == ALL_TO_ALL || (c == GATHER && roots)))
			s = move(n, j, false, peer, (size_t)peer);
	}
	if (s) { /* NCCL closes the group with the same error */
		n->calls.group_end();
		return s;
	}
	return nccl_calls_check(n, n->calls.group_end(), "ncclGroupEnd", NULL);
}

ccs_status nccl_calls_run(const struct nccl_library *n, const struct nccl_job *j)
{
	const struct nccl_calls *f = &n->calls;
	enum collective c = collective_of(j->contract);
	int type = (int)j->type, e = 0;
	const void *from = j->send;
	cuda_stream s = j->stream;
	nccl_comm comm = j->comm;
	size_t count = j->count;
	void *to = j->recv;

	switch (c) {
	case ALL_REDUCE: e = f->all_reduce(from, to, count, type, j->op, comm, s); break;
	case ALL_GATHER: e = f->all_gather(from, to, count, type, comm, s); break;
	case REDUCE_SCATTER: e = f->reduce_scatter(from, to, count, type, j->op, comm, s); break;
	case BROADCAST: e = f->broadcast(from, to, count, type, j->root, comm, s); break;
	case REDUCE: e = f->reduce(from, to, count, type, j->op, j->root, comm, s); break;
	case GATHER:
	case SCATTER:
	case ALL_TO_ALL: return exchange(n, c, j);
	case NONE: return ccs_error_set(CCS_EUNSUPPORTED, "NCCL has no %s", j->contract);
	}
	return nccl_calls_check(n, e, collectives[c].call, comm);
}

ccs_status nccl_calls_premul(const struct nccl_library *n, nccl_op *op, const void *scalar,
			     ccs_dtype type, nccl_comm comm)
{
	union { /* NCCL reads it before it returns */
		long double align;
		unsigned char bytes[8];
	} copy = { 0 };

	if (!n->calls.premul || !n->calls.op_free)
		return ccs_error_set(CCS_EUNSUPPORTED, "NCCL before 2.11 has no premul-sum");
	memcpy(copy.bytes, scalar, ccs_dtype_size(type));
	return nccl_calls_check(n, n->calls.premul(op, copy.bytes, (int)type, SCALAR_OF_HOST, comm),
				"ncclRedOpCreatePreMulSum", comm);
}
