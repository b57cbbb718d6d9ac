/*
 * The engine on GPUs.
 *
 *   driver/           calls of the driver; its errors, and their cures
 *   nccl/             calls of NCCL; the processes of a communicator: joining, exchanging bytes
 *   kernels.c         the kernel for a call: from the module, the disk cache, or NVRTC
 *   tables.c          a plan's tables in the kernels' format
 *   place.c           the GPU of each rank, and the memory of each FIFO; no CUDA calls
 *   memory.c          memory that a GPU keeps, and memory that all GPUs share
 *   state.c           a plan on the GPUs: tables, FIFOs, counters
 *   ready.c           preparations for the first call of a plan, by all processes together
 *   gpu_buffers.c     the addresses of the ranks' data, in one call
 *   gpu_call.c        one call: protocol, tiles, replicas; streams; the launches
 *   times.c           times of a traced call's operations
 *   stream_barrier.c  a barrier of streams
 *   gpu_p2p.c         messages between two ranks of one process
 *   exchange.c        ... between ranks that are processes
 *   reports.c         failures of asynchronous calls; descriptions in words
 *   part.c            one part: its settings, its GPU, its flags
 *   agree.c           agreement of all processes on a status
 *   gpu_comm.c        making and freeing, in one process; the struct engine
 *   ranks.c           meeting and parting of processes
 *
 * The engine between hosts (hosts/hosts.h) uses all of this except gpu_call.c, state.c and times.c,
 * and of ready.c only gpu_same_call and gpu_measure.
 *
 * A *part* is one GPU of one process, with the ranks on it. Each part launches a kernel for its
 * workers. Either one process has all parts of the communicator; or each process has one part
 * with a single rank. All processes number parts alike, by the first rank of each.
 *
 * run.c gathers the ranks' calls, as on the CPU: when the last rank of this process has called,
 * its kernels are launched. After that the host has no part in the call. Everything is under
 * world.lock.
 */
#ifndef CCS_RUNTIME_CUDA_GPU_COMM_H
#define CCS_RUNTIME_CUDA_GPU_COMM_H

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/nccl/nccl.h"
#include "runtime/cuda/nccl/nccl_group.h"
#include "runtime/cuda/place.h"
#include "runtime/cuda/tables.h"
#include "runtime/plan/choice.h"
#include "runtime/plan/kernel.h"
#include "runtime/comm.h"

/* Identifies a module by its bytes: the user may have freed the struct. */
struct gpu_module_id {
	uint64_t size, checksum;
};

/* A loaded kernel. */
struct gpu_kernel {
	struct gpu_module_id id;
	struct kernel_key key;
	cuda_module module;
	cuda_function function;
	struct gpu_kernel *next;
};

/* Pinned, zeroed host memory that all parts see: private to one process, or a segment that the
 * processes of a host share. */
struct gpu_segment {
	unsigned char *host;
	size_t bytes;
	bool shared, pinned; /* between processes; pinned after its allocation (cuda_pin) */
	cuda_ptr *seen;	     /* [parts of this process]: its address on each GPU */
};

/* A plan on one GPU. */
struct gpu_state_part {
	cuda_ptr memory;	  /* tables, counters, FIFOs, stages */
	cuda_ptr *seen;		  /* [parts of all]: their memory, as addressed by this one; 0:
				     none */
	struct ccs_dev_call call; /* the pointers that do not change */
};

/* The launch parameters of a kernel for a state, equal on all parts. */
struct gpu_fit {
	struct kernel_key key;
	uint32_t threads;  /* of a block */
	uint32_t replicas; /* that fit, on every part */
	bool tried;	   /* ... and the drivers have accepted them: gpu_call.c */
	struct gpu_fit *next;
	cuda_function function[]; /* [parts of this process] */
};

/* A plan on the GPUs, for one protocol. */
struct gpu_state {
	struct gpu_module_id id;
	uint32_t nranks, root;
	enum ccs_protocol protocol;
	uint32_t replicas;   /* that it has room for */
	size_t tile_bytes;   /* most bytes of a cell in a tile */
	uint64_t slot_cells; /* of a replica, on the part with most; with LL each counts twice */
	struct cuda_tables tables;
	struct place_map map;
	struct ccs_module *module;    /* kept alive, for reports */
	struct gpu_segment segment;   /* reports; FIFOs between parts that do not meet */
	struct gpu_state_part *parts; /* [parts of this process] */
	cuda_ptr *seen;		      /* addresses of all parts' memory */
	struct gpu_fit *fits;
	struct gpu_state *next;
};

/* Device memory that is kept until the end, because captured launches may use it. */
struct gpu_block {
	cuda_ptr p;
	size_t bytes;
	struct gpu_block *next;
};

/* Memory that grows: the newest block. */
struct gpu_room {
	cuda_ptr p;
	size_t bytes;
};

/* Rows of the current call in device memory: the ranks' pointers, if too many for a launch's
 * arguments; the addresses of cells. */
#define GPU_MOST_ROWS 64u
struct gpu_rows {
	cuda_ptr p;
	bool captured;
	size_t bytes;
	struct gpu_rows *next;
	unsigned char copy[];
};

/* Settings from the environment, read once; all processes must have the same. */
struct gpu_settings {
	struct choice_list choices; /* CCS_PROTOCOLS; empty: the plan's */
	unsigned threads;	    /* CCS_THREADS; 0: as many as fit */
	size_t tile_bytes;	    /* CCS_TILE_BYTES; 0: by plan */
	bool indirect;		    /* CCS_DIRECT=0 */
	bool apart;		    /* CCS_P2P_DISABLE=1: all messages through host memory */
};

/* One GPU of this process. */
struct gpu_part {
	uint32_t index; /* its number in the communicator */
	int first;	/* its first rank */
	struct cuda cuda;
	struct gpu_kernel *kernels;
	struct gpu_block *blocks;
	struct gpu_rows *rows;
	struct gpu_room *aside, scratch; /* aside: [nranks] */
	cuda_ptr abort, turn;		 /* addresses on this GPU: device/args.h */
	cuda_event fork,
		last;  /* `fork`: orders streams, then reused; `last`: recorded after each call */
	bool ran;      /* some call ran outside captures */
	bool captured; /* some call was captured, so nothing may be freed */
	uint32_t launches;     /* launches that take turns */
	struct gpu_room begun; /* counters of captured launches (device/args.h); the unused rest */
	struct gpu_room times; /* of the newest traced call; ... */
	uint64_t ahead;	       /* GPU clock minus host clock, ns, modulo 2^64 */
	/* the current call */
	struct ccs_dev_call args;
	cuda_stream now;
	bool capturing, launched;
};

/* A traced call, with times that are still on the GPUs. */
struct gpu_traced {
	struct traced *to; /* NULL: none */
	const struct plan_view *view;
	const struct gpu_state *state;
	const struct gpu_fit *fit;
	uint32_t threads;
};

/* The struct at world.state, or at its start. */
struct gpu {
	struct gpu_settings settings;
	struct nvrtc nvrtc;	/* opened when first needed */
	struct nccl nccl;	/* likewise; open if there is a group */
	struct group *group;	/* the processes; NULL: only this one */
	struct places places;	/* of all parts of the communicator */
	struct gpu_part *parts; /* of this process */
	uint32_t nparts;
	struct gpu_traced traced;
	struct gpu_state *states;
	struct gpu_segment control; /* with several parts: struct gpu_control */
	uint64_t token;		    /* part of the names of the processes' segments ... */
	uint32_t segments;	    /* ... and how many were made */
	bool stranded;		    /* other processes may still use this one's memory, which is
				       not freed */
	bool forked;		    /* this is a forked child: everything belongs to the parent */
};

static inline struct gpu *gpu_of(const struct world *w)
{
	return w->state;
}

/* ns after which a waiting kernel reports; 0: never. */
static inline uint64_t gpu_limit(const struct world *w)
{
	return (uint64_t)w->timeout * 1000000;
}

/* The memory that all parts share, besides FIFOs. */
struct gpu_control {
	uint32_t abort;	      /* see device/args.h */
	uint32_t ended;	      /* processes that no longer use other processes' memory */
	uint32_t taken, told; /* a host thread has given up; the reason is written */
	int32_t rank;
	char why[500];
};

/* Whether messages go directly where they may: device/args.h. */
static inline bool gpu_direct(const struct gpu *g, enum ccs_protocol protocol)
{
	return protocol == CCS_SIMPLE && !g->settings.indirect;
}

/* The kernel of a call. */
static inline struct kernel_key gpu_key(const struct call *c, enum ccs_protocol protocol)
{
	uint32_t op = c->premul ? KERNEL_PREMUL : (uint32_t)c->op;
	struct kernel_key key = kernel_key_of(c->module->head->flags, c->type, op, protocol);

	key.trace = c->comm->world->trace != NULL;
	return key;
}

struct gpu_module_id gpu_module_id(const struct ccs_module *m);
bool gpu_same_module(struct gpu_module_id a, struct gpu_module_id b);

/* ---- memory.c; with the part's GPU entered ---------------------------------- */

/** Memory that is freed only with the communicator. */
ccs_status gpu_keep(struct gpu_part *p, cuda_ptr *at, size_t bytes, const char *what);
/** Puts rows of the current call into device memory. Kept, and found again by contents. */
ccs_status gpu_rows(struct gpu_part *p, const void *rows, size_t bytes, const char *what,
		    cuda_ptr *at);
/** Grows the memory to at least that size, without copying its contents. */
ccs_status gpu_room(struct gpu_part *p, struct gpu_room *r, size_t bytes, const char *what);
/** `n` zero words for a captured launch, kept until the end. */
ccs_status gpu_begun(struct gpu_part *p, size_t n, cuda_ptr *at);
void gpu_memory_free(struct gpu_part *p);

/** Memory that all parts see. Collective among processes. No GPU may be entered. */
ccs_status gpu_segment_make(struct gpu *g, struct gpu_segment *m, size_t bytes, const char *what);
void gpu_segment_free(struct gpu *g, struct gpu_segment *m);

/* ---- kernels.c ------------------------------------------------------------ */

/** The kernel on that part; its GPU is entered. */
ccs_status gpu_kernel_get(struct gpu *g, struct gpu_part *p, const struct ccs_module *m,
			  const struct kernel_key *key, struct gpu_kernel **kernel);

/* ---- state.c ---------------------------------------------------------------- */

/** Makes a plan's state with room for `replicas`. Collective among processes. */
ccs_status gpu_state_make(struct gpu *g, const struct call *c, enum ccs_protocol protocol,
			  uint32_t replicas, struct gpu_state **state);
void gpu_state_free(struct gpu *g, struct gpu_state *s);
/** Unmaps other processes' memory in all states. */
void gpu_state_unmap(struct gpu *g);

/* ---- ready.c ---------------------------------------------------------------- */

/** Checks that all processes make the same call. Collective. No GPU may be entered. */
ccs_status gpu_same_call(struct gpu *g, const struct call *c);
/** The number of blocks of the kernel that are resident on the part. The part's GPU must be
 *  entered. */
ccs_status gpu_measure(const struct gpu *g, struct gpu_part *p, const struct gpu_kernel *k,
		       struct place_room *r);
/** The state of a call's plan, and the launch parameters of its kernel; made at first use, when
 *  the processes also check that they make the same call. */
ccs_status gpu_ready(struct gpu *g, const struct call *c, enum ccs_protocol protocol,
		     struct gpu_state **state, struct gpu_fit **fit);

/* ---- gpu_buffers.c -------------------------------------------------------------- */

/** The caller's buffers of one rank, or their substitutes. */
ccs_status gpu_place_rank(const struct run *r, struct gpu_part *p, uint32_t rank,
			  struct ccs_dev_rank *to);
/** Fills in the pointers of the part's ranks, with the part's GPU entered. */
ccs_status gpu_place_ranks(const struct world *w, struct run *r, const struct gpu_state *s,
			   struct gpu_part *p);
/** Sets the addresses of cells of `nranks` ranks from `rank` on, for kernels that use them. */
ccs_status gpu_place_cells(const struct run *r, struct gpu_part *p, uint32_t rank, uint32_t nranks);
/** Submits to the part's stream all work that must precede the launch. */
ccs_status gpu_copy_asides(const struct world *w, const struct run *r, struct gpu_part *p);

/* ---- gpu_call.c ------------------------------------------------------------------- */

/** If all ranks of this process have joined the run, launches it; then the ranks are done. */
ccs_status gpu_start(struct world *w, struct run *r, int rank);

/* ---- times.c ------------------------------------------------------------------ */

/** The run about to be launched is traced; the parts' arguments are set. `longest`: most
 *  elements of a chunk. */
ccs_status gpu_trace(struct world *w, struct run *r, struct gpu_traced how, size_t longest);
/** See engine.h. */
ccs_status gpu_traced(struct world *w);

/* ---- gpu_p2p.c: see engine.h ------------------------------------------------------- */

struct transfer;
void gpu_deliver(struct world *w, struct transfer *m);

/* ---- exchange.c: see engine.h --------------------------------------------------- */

ccs_status gpu_exchange(struct transfer *list);

/* ---- agree.c ---------------------------------------------------------------- */

/** Agrees on a status: the first failure of any process; CCS_OK at once if there is no group. */
ccs_status gpu_agree(struct gpu *g, ccs_status here);
/** The same; without a failure, `n` becomes the least of all. */
ccs_status gpu_agree_least(struct gpu *g, ccs_status here, uint32_t *n);

/* ---- ranks.c ---------------------------------------------------------------- */

/** Opens the GPU of one rank of several processes, and meets the other ranks. After a failure
 *  gpu_free frees the part that was opened. */
ccs_status gpu_open_rank(struct world *w, const ccs_unique_id *id, int rank, int device);
/** See engine.h: makes the NCCL id by which the child's processes meet, if there are several. */
ccs_status gpu_invite(struct world *w, struct world *child, struct branch *b);
/** Joins as a rank of the child, by the invitation, on the parent's GPU. */
ccs_status gpu_branch_rank(struct world *w, struct world *child, const struct branch *b);
/** Waits, for a limited time, until no process uses this one's memory. */
void gpu_end(struct world *w);

/* ---- stream_barrier.c -------------------------------------------------------------- */

/** See engine.h. */
ccs_status gpu_barrier(struct world *w, void *const *streams);

/* ---- gpu_comm.c ------------------------------------------------------------------- */

/** For engines with a struct gpu at the beginning of world.state. */
extern const struct processes_engine gpu_processes;
extern const struct gpus_engine gpu_gpus;
extern const struct engine cuda_engine;
/** An engine's `free`: frees everything in struct gpu, and `w->state`, of any size. NULL is
 *  allowed. */
void gpu_free(struct world *w);

/* ---- part.c ------------------------------------------------------------------- */

/** Reads the environment. CCS_EINVAL names the variable. */
ccs_status gpu_settings_read(struct gpu_settings *o);
/** Opens part `part` on that GPU, after the places are set. */
ccs_status gpu_part_open(struct gpu *g, struct gpu_part *p, uint32_t index, int device);
/** Makes the data that all parts share, after all are open. */
ccs_status gpu_control_make(struct gpu *g);
/** Checks that CUDA_LAUNCH_BLOCKING, with which a launch would never return, is not set. */
ccs_status gpu_not_blocking(const struct gpu *g);

/* ---- reports.c ------------------------------------------------------------------ */

/** The GPU of a rank of this process; NULL for a rank of another process. */
struct cuda *gpu_cuda_of(const struct world *w, int rank);
/* Entries of struct engine for engines with a struct gpu. */
void gpu_waits(struct world *w, struct text *t);
ccs_status gpu_gather(struct world *w, const void *mine, void *all, size_t bytes);
int gpu_device(const struct world *w, int rank);
void *gpu_nccl(const struct world *w);
/** For people: "8 ranks on one GPU, NVIDIA H200 (compute capability 9.0, CUDA 13.0)",
 *  "8 ranks on 4 GPUs, ...", "8 processes on 2 hosts, NVIDIA H200 (...), over NCCL 2.28.3". */
void gpu_describe(const struct world *w, char *text, size_t size);

/** Checks for a report of a kernel, or of another process. If one has given up, the
 *  communicator dies, and the text says which rank waited where. Under world.lock. */
ccs_status gpu_check(struct world *w);
/** The same, and checks whether the last call's kernels have failed. */
ccs_status gpu_check_all(struct world *w);
/** Only the latter. */
ccs_status gpu_check_last(struct world *w);
/** The communicator dies with that text; returns `s`. */
ccs_status gpu_die(struct world *w, ccs_status s, const char *text);
/** The same with the text of this thread's last failure; waiting kernels are stopped. */
ccs_status gpu_break(struct world *w, ccs_status s);

#endif
