/*
 * Calls of NCCL. See nccl.h. O(1) each.
 *
 * In: as in nccl.h. Out: a status, and NCCL's own text. The numbers of types (plan/rows.h) and
 * the struct of a unique id are NCCL's ABI.
 */
#include "runtime/cuda/nccl/nccl.h"

#include "runtime/base/load/library.h"
#include "runtime/plan/types.h"

#include <stdio.h>
#include <stdlib.h>

/* Of nccl.h: ncclResult_t. */
enum { INVALID_ARGUMENT = 4, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS };

_Static_assert(sizeof(struct ccs_unique_id) == 128, "an ncclUniqueId");

/* The last one exists since 2.13. */
#define NCCL(ROW) \
	ROW(int, version, (int *), "ncclGetVersion") \
	ROW(const char *, error_string, (int), "ncclGetErrorString") \
	ROW(int, unique_id, (struct ccs_unique_id *), "ncclGetUniqueId") \
	ROW(int, init_rank, (nccl_comm *, int nranks, struct ccs_unique_id, int rank), \
	    "ncclCommInitRank") \
	ROW(int, destroy, (nccl_comm), "ncclCommDestroy") \
	ROW(int, abort, (nccl_comm), "ncclCommAbort") \
	ROW(int, async_error, (nccl_comm, int *), "ncclCommGetAsyncError") \
	ROW(int, group_start, (void), "ncclGroupStart") \
	ROW(int, group_end, (void), "ncclGroupEnd") \
	ROW(int, send, (const void *, size_t, int type, int peer, nccl_comm, cuda_stream), \
	    "ncclSend") \
	ROW(int, recv, (void *, size_t, int type, int peer, nccl_comm, cuda_stream), "ncclRecv") \
	ROW(int, all_gather, (const void *, void *, size_t, int type, nccl_comm, cuda_stream), \
	    "ncclAllGather") \
	ROW(const char *, last_error, (nccl_comm), "ncclGetLastError")
#define OPTIONAL 1

struct nccl_api {
	NCCL(LIBRARY_MEMBER)
};
static const char *const symbols[] = { NCCL(LIBRARY_SYMBOL) };
#define NSYMBOLS (sizeof(symbols) / sizeof(*symbols))

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
	if (e == IN_PROGRESS) /* no communicator here is nonblocking */
		return error_set(CCS_EUNSUPPORTED,
				 "%s continues in the background: NCCL_COMM_BLOCKING=0 cannot be "
				 "used here",
				 call);
	text = n->api->error_string(e);
	last = n->api->last_error ? n->api->last_error(comm) : NULL;
	return error_set(status_of(e), "NCCL %d.%d.%d: %s failed: %s%s%s%s", n->version / 10000,
			 n->version / 100 % 100, n->version % 100, call,
			 text ? text : "an error without a name", last && *last ? " (" : "",
			 last && *last ? last : "", last && *last ? ")" : "");
}

/* ---- opening ---------------------------------------------------------------------- */

static ccs_status open_library(struct nccl *n)
{
	static const char *const names[] = { "libnccl.so.2", NULL };
	static const struct library_search search = {
		.variable = "CCS_NCCL",
		.names = names,
		.missing = "there is no libnccl.so.2 (it comes with NVIDIA's packages, or by "
			   "`pip install nvidia-nccl-cu13`",
	};
	char why[700];

	*n = (struct nccl){ 0 };
	n->handle = library_open(&search, n->path, sizeof(n->path), why, sizeof(why));
	return n->handle ? CCS_OK : error_set(CCS_EUNSUPPORTED, "this needs NCCL: %s", why);
}

ccs_status ccs_nccl_library(void **library)
{
	struct nccl n;
	ccs_status s = library ? open_library(&n)
			       : error_set(CCS_EINVAL, "ccs_nccl_library: library is NULL");

	if (library)
		*library = s ? NULL : n.handle;
	return s;
}

ccs_status nccl_open(struct nccl *n)
{
	ccs_status s = open_library(n);
	char why[700];

	if (s)
		return s;
	n->api = calloc(1, sizeof(*n->api));
	if (!n->api)
		return error_set(CCS_ENOMEM, "out of memory");
	if (!library_functions(n->handle, n->path, symbols, NSYMBOLS, OPTIONAL, n->api, why,
			       sizeof(why)))
		s = error_set(CCS_EUNSUPPORTED, "this needs NCCL 2.7 or later: %s", why);
	else
		s = check(n, n->api->version(&n->version), "ncclGetVersion", NULL);
	if (s)
		nccl_close(n);
	if (n->version < 10000) /* before 2.9 it was 1000 * major + 100 * minor + patch */
		n->version = n->version / 1000 * 10000 + n->version % 1000;
	return s;
}

/* The library stays mapped: it may have threads and allocations. */
void nccl_close(struct nccl *n)
{
	free(n->api);
	n->api = NULL;
	n->handle = NULL;
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
	/* each channel of every rank occupies blocks of the shared GPU */
	static const struct {
		bool can;		  /* of versions in which ranks can share a GPU */
		const char *name, *value; /* NULL: the rank's number */
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

ccs_status nccl_group_end(const struct nccl *n, ccs_status s)
{
	struct thread_state first = *error_thread();
	ccs_status end = check(n, n->api->group_end(), "ncclGroupEnd", NULL);

	if (s)
		*error_thread() = first;
	return s ? s : end;
}

/* Types that NCCL lacks are moved as bytes. */
static int moved_as(ccs_dtype type, size_t *count)
{
	int number = type_fact(type)->nccl;

	if (number < 0)
		*count *= ccs_dtype_size(type);
	return number < 0 ? CCS_UINT8 : number;
}

ccs_status nccl_send(const struct nccl *n, const void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s)
{
	int as = moved_as(type, &count);

	return check(n, n->api->send(p, count, as, peer, comm, s), "ncclSend", comm);
}

ccs_status nccl_recv(const struct nccl *n, void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s)
{
	int as = moved_as(type, &count);

	return check(n, n->api->recv(p, count, as, peer, comm, s), "ncclRecv", comm);
}

ccs_status nccl_all_gather(const struct nccl *n, const void *send, void *recv, size_t count,
			   ccs_dtype type, nccl_comm comm, cuda_stream s)
{
	return check(n, n->api->all_gather(send, recv, count, (int)type, comm, s), "ncclAllGather",
		     comm);
}
