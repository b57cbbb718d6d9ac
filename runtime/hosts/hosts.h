/*
 * The engine between hosts: a plan's messages go by NCCL's grouped send and receive,
 * round by round (plan.h, Rounds); what a rank does with them in between is done by the same
 * kernels as everywhere, a launch a level of a phase, with a stage in the place of FIFOs.
 *
 *   rounds_rank.c  one rank's part of a plan's rounds
 *   plan.c         what the first call of a plan needs
 *   hosts_call.c   a call; the engine's row
 *   hosts_comm.c   making a communicator of several processes, on one host or several
 *
 * No kernel waits for another, so there is nothing to be resident together, and nothing to be
 * stuck: a rank that does not call leaves the other ranks in NCCL.
 */
#ifndef CCS_RUNTIME_HOSTS_HOSTS_H
#define CCS_RUNTIME_HOSTS_HOSTS_H

#include "runtime/cuda/gpu_comm.h"
#include "runtime/hosts/rounds_rank.h"

/* Bytes of a message's part for which another replica pays: a launch has many messages. */
#define REPLICA_BYTES ((uint64_t)64 << 10)

/* A plan with one kernel, as this rank runs it. */
struct hosts_plan {
	struct gpu_module_id id;
	uint32_t nranks, root;
	struct kernel_key key;
	cuda_function function;
	unsigned threads;
	uint32_t blocks;   /* of one launch, at most */
	uint32_t replicas; /* at most; all ranks have the same, as below: */
	size_t slot_bytes; /* of a cell in the stage, at most */
	struct rounds_rank rank;
	struct cell_at *at;	  /* [cells and scratch], in the call that is made */
	bool keeps;		  /* cells that keep their value are to be copied */
	bool reduces;		  /* cells are sums, to be divided by CCS_AVG */
	struct ccs_dev_call call; /* pointers that stay; its posts are empty */
	const struct ccs_dev_post *posts;
	struct hosts_plan *next;
};

/* Calls follow one another: memory of one for all plans. */
struct hosts_memory {
	struct gpu_room stage, scratch;
	struct gpu_room lines;	/* counters of a launch's blocks, which are never read */
	struct gpu_room tokens; /* a byte to send, and a byte to receive into:
					   messages of which only the order counts */
};

/* A communicator's. */
struct hosts {
	struct gpu gpu; /* first: code of cuda/ finds it in world.state */
	struct hosts_plan *plans;
	struct hosts_memory memory;
};

static inline struct hosts *hosts_of(const struct world *w)
{
	return w->state;
}

extern const struct engine hosts_engine;

/* See engine.h. */
ccs_status hosts_start(struct world *w, struct run *r, int rank);
ccs_status hosts_check(struct world *w);
void hosts_end(struct world *w);

/** Finds a call's plan; made at first use, when all ranks see to it that they make the
 *  same call. With no GPU entered. */
ccs_status hosts_plan_get(struct world *w, const struct call *c, struct hosts_plan **plan);
/** Memory for the plan's stage and counters; with the GPU entered. */
ccs_status hosts_room(struct gpu_part *p, const struct hosts_plan *h, struct hosts_memory *m);
void hosts_plans_free(struct hosts_plan *h);

#endif
