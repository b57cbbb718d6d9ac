/*
 * The processes of a communicator on GPUs, a rank each: exchange of bytes while it is set up.
 * Never used during a call.
 *
 * They meet by NCCL's unique id, and exchange bytes by its all-gather, through a small buffer on
 * each rank's GPU, in a separate stream.
 */
#ifndef CCS_RUNTIME_CUDA_NCCL_NCCL_GROUP_H
#define CCS_RUNTIME_CUDA_NCCL_NCCL_GROUP_H

#include "runtime/meet/group.h"
#include "runtime/cuda/nccl/nccl.h"

struct group;

/** Joins. Returns when all `nranks` have joined. `n` and `d` must outlive the group. */
ccs_status group_join(struct group **g, const struct nccl *n, struct cuda *d, int nranks,
		      const struct ccs_unique_id *id, int rank);
/** NULL is allowed. `abort`: without waiting for the other ranks. */
void group_leave(struct group *g, bool abort);
/** NULL after an exchange has failed. */
nccl_comm group_comm(const struct group *g);

/** Collective, in the same order on all: each process gives `each` bytes and gets those of all
 *  ranks in order, all[size * each]. Waits for the other processes. */
ccs_status group_gather(struct group *g, const void *mine, void *all, size_t each);

/** The same with a limit: CCS_ETIMEOUT after that many milliseconds (0: none); then the group
 *  is broken. */
ccs_status group_gather_within(struct group *g, const void *mine, void *all, size_t each,
			       unsigned milliseconds);

/** Later work in the stream runs after all earlier work in the streams of all processes. The
 *  host does not wait. */
ccs_status group_barrier(struct group *g, cuda_stream stream);

/** Collective: CCS_OK if `here` is CCS_OK on all ranks. Otherwise `here` with its text, or the
 *  status of the first other rank that failed, with its number and text. */
ccs_status group_agree(struct group *g, ccs_status here);

/** An NCCL id, made by rank 0 and sent to all ranks that group_meet brings together; `here` as
 *  there. If ranks share a GPU, all on this host, NCCL is configured for that (nccl_share_gpu),
 *  so NCCL must not have been called yet. `gpu` may be NULL: unknown. */
ccs_status group_env_id(const struct nccl *n, const struct group_env *env,
			const struct cuda_uuid *gpu, struct ccs_unique_id *id, ccs_status here);

#endif
