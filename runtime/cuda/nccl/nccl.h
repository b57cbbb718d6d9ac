/*
 * NCCL, opened at run time: to meet the other processes of a communicator, and as the
 * engine between hosts.
 *
 * Nothing is kept in static storage. A failure names the call and gives NCCL's own
 * text (ncclGetErrorString, and ncclGetLastError where it has one).
 */
#ifndef CCS_RUNTIME_CUDA_NCCL_NCCL_H
#define CCS_RUNTIME_CUDA_NCCL_NCCL_H

#include "runtime/cuda/driver/driver.h"
#include "runtime/base/error.h"

#include <stdbool.h>

#define NCCL_SHARES_GPUS 23000 /* the first version whose ranks can share a GPU */

struct nccl_api; /* its functions */
typedef struct ncclComm *nccl_comm;

struct nccl {
	void *handle;
	struct nccl_api *api;
	int version;	/* 10000 * major + 100 * minor + patch */
	char path[512]; /* as it was opened */
};

/** Looks for libnccl: in $CCS_NCCL alone if that is set (a path; "none": as if there
 *  were none); else where the loader looks, in CUDA's own directories, and in Python's
 *  (the wheels nvidia-nccl-cu13 and nvidia-nccl-cu12). CCS_EUNSUPPORTED. */
ccs_status nccl_open(struct nccl *n);
void nccl_close(struct nccl *n);

ccs_status nccl_unique_id(const struct nccl *n, struct ccs_unique_id *id);
/** Joins as one rank, on the current context's GPU; returns when all have. */
ccs_status nccl_join(const struct nccl *n, nccl_comm *comm, int nranks,
		     const struct ccs_unique_id *id, int rank);
/** Lets ranks share a GPU, by what NCCL reads from the environment; all ranks on this
 *  host. Before 2.30 each process must pass for a host of its own, so that all goes by
 *  sockets: slow, and for comparing results only. From 2.30 NCCL can do it. To be called
 *  by every process with its rank, before any other call of NCCL but nccl_open; what the
 *  user has set stays. It changes the environment: no other thread may run yet. */
ccs_status nccl_share_gpu(const struct nccl *n, int rank);
/** ncclCommDestroy; `abort`: ncclCommAbort, which waits for nobody. NULL is fine. */
void nccl_leave(const struct nccl *n, nccl_comm comm, bool abort);
/** What has happened asynchronously. */
ccs_status nccl_check(const struct nccl *n, nccl_comm comm);

ccs_status nccl_group_start(const struct nccl *n);
ccs_status nccl_group_end(const struct nccl *n);

/* In stream order. Counts are in elements of `type`; ccs_dtype has NCCL's numbers.
 * One of a group must be called with the rank's GPU current. */
ccs_status nccl_send(const struct nccl *n, const void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s);
ccs_status nccl_recv(const struct nccl *n, void *p, size_t count, ccs_dtype type, int peer,
		     nccl_comm comm, cuda_stream s);
ccs_status nccl_all_gather(const struct nccl *n, const void *send, void *recv, size_t count,
			   ccs_dtype type, nccl_comm comm, cuda_stream s);

#endif
