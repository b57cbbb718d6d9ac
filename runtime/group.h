/*
 * The processes of a communicator, a rank each: how they find one another, and what
 * they tell one another while it is set up. Never during a call.
 *
 * They meet by NCCL's unique id, and exchange bytes by its all-gather, through a
 * small buffer on each rank's GPU and a stream of their own.
 */
#ifndef CCS_RUNTIME_GROUP_H
#define CCS_RUNTIME_GROUP_H

#include "runtime/nccl.h"

struct group;

/** Joins; returns when all `nranks` have. `n` and `d` must outlive the group. */
ccs_status group_join(struct group **g, const struct nccl *n, struct cuda *d, int nranks,
		      const struct ccs_unique_id *id, int rank);
/** NULL is fine. `abort`: without waiting for the others. */
void group_leave(struct group *g, bool abort);
int group_rank(const struct group *g);
int group_size(const struct group *g);
nccl_comm group_comm(const struct group *g);
const struct nccl *group_nccl(const struct group *g);

/** Every process gives `each` bytes and gets those of all, in the order of ranks:
 *  all[size * each]. All must call it, in the same order. It waits for the others. */
ccs_status group_gather(struct group *g, const void *mine, void *all, size_t each);

/** Says how it went here, and learns how it went elsewhere: CCS_OK if it did on all;
 *  else `here`, with the text it had, or the first other's status, with its rank and
 *  its text. All must call it. */
ccs_status group_agree(struct group *g, ccs_status here);

/* What the launcher has put into the environment. */
struct group_env {
	int rank, nranks, local_rank, local_nranks;
	const char *launcher;	/* "torchrun" (also: any that sets RANK), "mpirun", "srun" */
	char address[256];	/* HOST:PORT where rank 0 listens */
};

/** Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ... (torchrun), OMPI_COMM_WORLD_RANK
 *  ... (Open MPI), PMI_RANK ... (MPICH) or SLURM_PROCID ...; the address is
 *  $CCS_RENDEZVOUS if set. False: none of them is there. A set that contradicts itself:
 *  *s = CCS_EINVAL, with the variable in the text. */
bool group_env_read(struct group_env *env, ccs_status *s);
/** An id of NCCL's, made by rank 0 and fetched by the others from env->address. Returns
 *  when all have come; it is an error if one has not in $CCS_RENDEZVOUS_SECONDS (300).
 *  If ranks turn out to share a GPU, all on this host, NCCL is told so
 *  (nccl_share_gpu): NCCL must not have been called yet. `gpu` may be NULL: unknown. */
ccs_status group_env_id(const struct nccl *n, const struct group_env *env,
			const struct cuda_uuid *gpu, struct ccs_unique_id *id);

#endif
