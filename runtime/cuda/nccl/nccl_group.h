/*
 * The processes of a communicator on GPUs, a rank each: what they tell one another while
 * it is set up. Never during a call.
 *
 * They meet by NCCL's unique id, and exchange bytes by its all-gather, through a
 * small buffer on each rank's GPU and a stream of their own.
 */
#ifndef CCS_RUNTIME_CUDA_NCCL_NCCL_GROUP_H
#define CCS_RUNTIME_CUDA_NCCL_NCCL_GROUP_H

#include "runtime/meet/group.h"
#include "runtime/cuda/nccl/nccl.h"

struct group;

/** Joins; returns when all `nranks` have. `n` and `d` must outlive the group. */
ccs_status group_join(struct group **g, const struct nccl *n, struct cuda *d, int nranks,
		      const struct ccs_unique_id *id, int rank);
/** NULL is fine. `abort`: without waiting for the others. */
void group_leave(struct group *g, bool abort);
/** NULL, once an exchange has failed. */
nccl_comm group_comm(const struct group *g);

/** Every process gives `each` bytes and gets those of all, in the order of ranks:
 *  all[size * each]. All must call it, in the same order. It waits for the others. */
ccs_status group_gather(struct group *g, const void *mine, void *all, size_t each);

/** The same, but CCS_ETIMEOUT after so many milliseconds; then the group is broken. 0: never. */
ccs_status group_gather_within(struct group *g, const void *mine, void *all, size_t each,
			       unsigned milliseconds);

/** What is put into the stream behind it comes after what was put into those of all processes
 *  before it. It does not wait. */
ccs_status group_barrier(struct group *g, cuda_stream stream);

/** Says how it went here, and learns how it went elsewhere: CCS_OK if it did on all;
 *  else `here`, with the text it had, or the first other's status, with its rank and
 *  its text. All must call it. */
ccs_status group_agree(struct group *g, ccs_status here);

/** An id of NCCL's, made by rank 0 and told to all that group_meet brings together; with
 *  `here` as there. If ranks turn out to share a GPU, all on this host, NCCL is told so
 *  (nccl_share_gpu): NCCL must not have been called yet. `gpu` may be NULL: unknown. */
ccs_status group_env_id(const struct nccl *n, const struct group_env *env,
			const struct cuda_uuid *gpu, struct ccs_unique_id *id, ccs_status here);

#endif
