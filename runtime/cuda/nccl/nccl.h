/*
 * NCCL, opened at run time: used by the processes of a communicator to meet, and by the engine
 * between hosts.
 *
 * Keeps no static storage. A failure names the call and gives NCCL's text (ncclGetErrorString,
 * and ncclGetLastError if available).
 */
#ifndef CCS_RUNTIME_CUDA_NCCL_NCCL_H
#define CCS_RUNTIME_CUDA_NCCL_NCCL_H

#include "runtime/cuda/driver/driver.h"
#include "runtime/base/error.h"

#include <stdbool.h>

#define NCCL_SHARES_GPUS 23000 /* the first version whose ranks can share a GPU */

struct nccl_api; /* its function table */
typedef struct ncclComm *nccl_comm;

struct nccl {
	void *handle;
	struct nccl_api *api;
	int version;	/* 10000 * major + 100 * minor + patch */
	char path[512]; /* as it was opened */
};

/** Searches libnccl: at $CCS_NCCL only, if set (a path; "none": as if there were none); else
 *  where the loader does, and in the directories of CUDA and of Python (wheels nvidia-nccl-cu13
 *  and nvidia-nccl-cu12). CCS_EUNSUPPORTED. */
ccs_status nccl_open(struct nccl *n);
void nccl_close(struct nccl *n);

ccs_status nccl_unique_id(const struct nccl *n, struct ccs_unique_id *id);
/** Joins as one rank, on the current context's GPU. Returns when all have joined. */
ccs_status nccl_join(const struct nccl *n, nccl_comm *comm, int nranks,
		     const struct ccs_unique_id *id, int rank);
/** Lets ranks share a GPU, by NCCL's environment variables; all ranks must be on this host.
 *  Before 2.30 each process must pretend to be a host, so that all messages use sockets: slow,
 *  only for comparing results. From 2.30 NCCL supports it. Every process calls it with its
 *  rank, before any other call of NCCL but nccl_open. Variables that the user has set stay. It
 *  changes the environment, so no other thread may run yet. */
ccs_status nccl_share_gpu(const struct nccl *n, int rank);
/** ncclCommDestroy; `abort`: ncclCommAbort, which does not wait for other ranks. NULL is
 *  allowed. */
void nccl_leave(const struct nccl *n, nccl_comm comm, bool abort);
/** The asynchronous error, if any. */
ccs_status nccl_check(const struct nccl *n, nccl_comm comm);

ccs_status nccl_group_start(const struct nccl *n);
/** Ends a group, also one in which a call has failed (`s`): the first failure counts. */
ccs_status nccl_group_end(const struct nccl *n, ccs_status s);

/* In stream order. Counts are in elements of `type`; ccs_dtype has NCCL's numbers. Inside a
 * group, call with the rank's GPU current. */
ccs_status nccl_send(const struct nccl *n, const void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s);
ccs_status nccl_recv(const struct nccl *n, void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s);
ccs_status nccl_all_gather(const struct nccl *n, const void *send, void *recv, size_t count,
			   ccs_dtype type, nccl_comm comm, cuda_stream s);

#endif
