/*
 * A communicator's part on a GPU: all its ranks live on one.
 *
 *   cuda_driver.c   calls of the driver
 *   cuda_kernels.c  the kernel for a call: from the module, the disk cache, or NVRTC
 *   cuda_tables.c   a plan's tables as kernels read them
 *   cuda_state.c    a plan on the GPU: tables, FIFOs, counters
 *   cuda_call.c     one call: protocol, tiles, replicas; streams; the launch
 *   cuda_comm.c     making and freeing; what an asynchronous call left behind
 *
 * The ranks' calls are gathered by run.c, as on the CPU: when the last rank has
 * called, one kernel is launched for all. From then on the host takes no part.
 * Everything is under world.lock.
 */
#ifndef CCS_RUNTIME_CUDA_COMM_H
#define CCS_RUNTIME_CUDA_COMM_H

#include "runtime/comm.h"
#include "runtime/cuda_driver.h"
#include "runtime/cuda_tables.h"
#include "runtime/kernel.h"

/* A module, by its bytes: the user may have freed the struct. */
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

/* A plan on the GPU, for one protocol. */
struct gpu_state {
	struct gpu_module_id id;
	uint32_t nranks, root;
	enum ccs_protocol protocol;
	uint32_t replicas;		/* that it has room for */
	size_t tile_bytes;		/* most bytes of a cell in a tile */
	struct cuda_tables tables;
	struct ccs_module *module;	/* held, for reports */
	struct ccs_dev_report *report;	/* pinned: kernels write to it */
	cuda_ptr memory;		/* tables, counters, FIFOs, stages */
	struct ccs_dev_call call;	/* with the pointers that stay */
	struct gpu_state *next;
};

/* Device memory that is kept till the end, because captured launches may name it. */
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

/* The ranks' pointers, where they are too many for a launch's arguments. */
#define GPU_MOST_ROWS 64u
struct gpu_rows {
	cuda_ptr p;
	bool captured;
	size_t bytes;
	struct gpu_rows *next;
	unsigned char copy[];
};

struct gpu_settings {
	int protocol;			/* CCS_PROTOCOL: enum ccs_protocol, or -1 */
	size_t ll_bytes;		/* CCS_LL_BYTES: LL up to this much of a rank's data */
	unsigned replicas;		/* CCS_REPLICAS; 0: by size */
	unsigned threads;		/* CCS_THREADS; 0: as many as fit */
	size_t tile_bytes;		/* CCS_TILE_BYTES; 0: by plan */
};

struct gpu {
	struct cuda cuda;
	struct gpu_settings settings;
	struct nvrtc nvrtc;		/* opened when first needed */
	struct gpu_kernel *kernels;
	struct gpu_state *states;
	struct gpu_block *blocks;
	struct gpu_rows *rows;
	struct gpu_room *aside, scratch;	/* aside: [nranks] */
	cuda_ptr abort;
	cuda_event fork, last;		/* `last`: behind the last call */
	cuda_stream stream;		/* of the last call, if it `ran` */
	bool ran;
	bool captured;			/* some call was, so that nothing may be freed */
};

struct gpu_module_id gpu_module_id(const struct ccs_module *m);

/** Memory that is freed with the communicator only. */
ccs_status gpu_keep(struct gpu *g, cuda_ptr *p, size_t bytes, const char *what);
/** The rows in device memory; kept, and found again by what they hold. */
ccs_status gpu_rows(struct gpu *g, const void *rows, size_t bytes, bool capturing, cuda_ptr *at);
/** At least that much; what was there before is not copied. */
ccs_status gpu_room(struct gpu *g, struct gpu_room *r, size_t bytes, const char *what);

/* ---- cuda_kernels.c ------------------------------------------------------------ */

ccs_status gpu_kernel_get(struct gpu *g, const struct ccs_module *m, const struct kernel_key *key,
			  struct gpu_kernel **kernel);

/* ---- cuda_state.c ---------------------------------------------------------------- */

/** The plan's state; made at first use, with room for `replicas`. */
ccs_status gpu_state_get(struct gpu *g, const struct call *c, enum ccs_protocol protocol,
			 uint32_t replicas, struct gpu_state **state);
void gpu_state_free(struct gpu *g, struct gpu_state *s);

/* ---- cuda_call.c ------------------------------------------------------------------- */

/** Launches a run that all ranks have joined. */
ccs_status gpu_run(struct world *w, struct run *r);

/* ---- cuda_comm.c ------------------------------------------------------------------- */

/** Looks for what a kernel has reported. If it has given up, the communicator dies,
 *  and the text says who waited where. Under world.lock. */
ccs_status gpu_check(struct world *w);

#endif
