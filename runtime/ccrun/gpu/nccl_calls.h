/*
 * NCCL, as ccrun measures it beside a module: its collectives, on communicators of ccrun's
 * own or those of the library. ccs.h gives its handle (ccs_nccl_library).
 *
 * A failure names the call and gives NCCL's own text (ncclGetErrorString, and
 * ncclGetLastError where it has one). O(1) a call, but for the collectives that are made of
 * sends and receives: O(ranks).
 */
#ifndef CCS_RUNTIME_CCRUN_GPU_NCCL_CALLS_H
#define CCS_RUNTIME_CCRUN_GPU_NCCL_CALLS_H

#include "runtime/ccrun/gpu/cuda_calls.h"

#include <stdbool.h>

enum { NCCL_IN_PROGRESS = 7 }; /* a result of its calls that is no error */
#define NCCL_SHARES_GPUS 23000 /* the first version whose ranks can share a GPU */

/* Its types, as its ABI has them; ccs_dtype, ccs_redop and ccs_unique_id are such, too. */
typedef struct ncclComm *nccl_comm;
typedef int nccl_op; /* ncclRedOp_t */

/* Result, function here, parameters, symbol. */
#define NCCL(ROW) \
	ROW(int, get_version, (int *), "ncclGetVersion") \
	ROW(const char *, error_string, (int), "ncclGetErrorString") \
	ROW(int, unique_id, (ccs_unique_id *), "ncclGetUniqueId") \
	ROW(int, init_rank, (nccl_comm *, int nranks, ccs_unique_id, int rank), \
	    "ncclCommInitRank") \
	ROW(int, destroy, (nccl_comm), "ncclCommDestroy") \
	ROW(int, abort, (nccl_comm), "ncclCommAbort") \
	ROW(int, async_error, (nccl_comm, int *), "ncclCommGetAsyncError") \
	ROW(int, group_start, (void), "ncclGroupStart") \
	ROW(int, group_end, (void), "ncclGroupEnd") \
	ROW(int, send, (const void *, size_t, int type, int peer, nccl_comm, cuda_stream), \
	    "ncclSend") \
	ROW(int, recv, (void *, size_t, int type, int peer, nccl_comm, cuda_stream), "ncclRecv") \
	ROW(int, all_reduce, \
	    (const void *, void *, size_t, int type, int op, nccl_comm, cuda_stream), \
	    "ncclAllReduce") \
	ROW(int, all_gather, (const void *, void *, size_t, int type, nccl_comm, cuda_stream), \
	    "ncclAllGather") \
	ROW(int, reduce_scatter, \
	    (const void *, void *, size_t, int type, int op, nccl_comm, cuda_stream), \
	    "ncclReduceScatter") \
	ROW(int, broadcast, \
	    (const void *, void *, size_t, int type, int root, nccl_comm, cuda_stream), \
	    "ncclBroadcast") \
	ROW(int, reduce, \
	    (const void *, void *, size_t, int type, int op, int root, nccl_comm, cuda_stream), \
	    "ncclReduce")

/* The same, since 2.11 and 2.13; NULL before. */
#define NCCL_NEWER(ROW) \
	ROW(int, premul, (nccl_op *, void *scalar, int type, int where, nccl_comm), \
	    "ncclRedOpCreatePreMulSum") \
	ROW(int, op_free, (nccl_op, nccl_comm), "ncclRedOpDestroy") \
	ROW(const char *, last_error, (nccl_comm), "ncclGetLastError")

struct nccl_calls {
#define MEMBER(result, name, parameters, symbol) result(*name) parameters;
	NCCL(MEMBER)
	NCCL_NEWER(MEMBER)
#undef MEMBER
};

struct nccl_library {
	struct nccl_calls calls;
	int version;	  /* 10000 * major + 100 * minor + patch */
	const char *path; /* where it is */
};

/** CCS_EUNSUPPORTED: there is none. */
ccs_status nccl_calls_open(struct nccl_library *n);
/** CCS_OK, or the status and text of a call's error. */
ccs_status nccl_calls_check(const struct nccl_library *n, int e, const char *call, nccl_comm comm);

/* The collective that a contract of the prelude names, as NCCL has it. */
struct nccl_job {
	const char *contract; /* "allreduce", "allgather", ... */
	const void *send;
	void *recv;
	size_t count; /* as ccs_run's */
	ccs_dtype type;
	nccl_op op;
	int root, rank, nranks;
	nccl_comm comm;
	cuda_stream stream;
};
/** Whether NCCL has it (all_to_all, gather and scatter: by grouped send and recv). */
bool nccl_calls_has(const char *contract);
/** In stream order, with the rank's GPU current. */
ccs_status nccl_calls_run(const struct nccl_library *n, const struct nccl_job *job);
/** ccs_redop has NCCL's numbers; premul-sum is made for a communicator. */
ccs_status nccl_calls_premul(const struct nccl_library *n, nccl_op *op, const void *scalar,
			     ccs_dtype type, nccl_comm comm);

#endif
