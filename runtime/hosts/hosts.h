/*
 * The engine between hosts. A plan's messages go by NCCL's grouped send and receive, round by
 * round (plan.h, Rounds). Between rounds, the kernels of cuda/ do the rank's local work: one
 * launch for each level of a phase, with a stage in global memory in place of FIFOs.
 *
 *   rounds_rank.c  one rank's part of a plan's rounds
 *   plan.c         what the first call of a plan sets up
 *   hosts_call.c   a call
 *   hosts_comm.c   making a communicator of several processes, on one host or several; the struct
 *                  engine
 *
 * No kernel waits for another kernel. So a launch may have as few blocks as fit, and a rank that
 * does not call cannot hang a kernel: the other ranks wait in NCCL.
 */
#ifndef CCS_RUNTIME_HOSTS_HOSTS_H
#define CCS_RUNTIME_HOSTS_HOSTS_H

#include "runtime/cuda/gpu_comm.h"
#include "runtime/hosts/rounds_rank.h"

/* Bytes of a message for each replica of a row. A launch already has many messages, so few are
 * needed. */
#define REPLICA_BYTES ((uint64_t)64 << 10)

/* A plan with one kernel, as this rank runs it. */
struct hosts_plan {
	struct gpu_module_id id;
	uint32_t nranks, root;
	struct kernel_key key;
	cuda_function function;
	unsigned threads;
	uint32_t blocks;   /* of one launch, at most */
	uint32_t replicas; /* at most; like slot_bytes, the same on all ranks */
	size_t slot_bytes; /* of a cell in the stage, at most */
	struct rounds_rank rank;
	struct cell_at *at;	  /* [cells and scratch], set anew by each call */
	bool keeps;		  /* some cells keep their value and must be copied */
	bool reduces;		  /* some cells are sums, which CCS_AVG divides */
	struct ccs_dev_call call; /* the pointers that do not change; without posts */
	const struct ccs_dev_post *posts;
	struct hosts_plan *next;
};

/* Calls follow one another, so all plans share one set of buffers. */
struct hosts_memory {
	struct gpu_room stage, scratch;
	struct gpu_room lines;	/* counters of a launch's blocks, never read */
	struct gpu_room tokens; /* one byte to send and one to receive: messages that only order */
};

/* A communicator's state. */
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

/* The engine's functions, see engine.h. */
ccs_status hosts_start(struct world *w, struct run *r, int rank);
ccs_status hosts_check(struct world *w);
void hosts_end(struct world *w);

/** Finds a call's plan. At first use all ranks set it up together and check that they make the
 *  same call. No GPU may be entered. */
ccs_status hosts_plan_get(struct world *w, const struct call *c, struct hosts_plan **plan);
/** Memory for the plan's stage and counters. The GPU must be entered. */
ccs_status hosts_room(struct gpu_part *p, const struct hosts_plan *h, struct hosts_memory *m);
void hosts_plans_free(struct hosts_plan *h);

#endif
