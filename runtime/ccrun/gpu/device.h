/*
 * The ranks' buffers on GPUs, beside those of the host that ccrun fills and checks; and
 * lanes: a stream on a GPU, with two events that keep the time.
 * On the CPU there is none of this.
 */
#ifndef CCS_RUNTIME_CCRUN_GPU_DEVICE_H
#define CCS_RUNTIME_CCRUN_GPU_DEVICE_H

#include "runtime/ccrun/gpu/cuda_calls.h"

#include <stdbool.h>

struct home;

/* A GPU, by its primary context, in which CUDA's runtime and the library work, too. */
struct gpu {
	const struct driver *driver;
	int number;	   /* of ccs_comm_device */
	void *context;	   /* NULL: not opened */
	cuda_stream setup; /* for copies of buffers */
	char name[96];
};

struct lane {
	struct gpu *gpu;
	cuda_stream stream;
	cuda_event from, to;
	cuda_graph graph; /* NULL: none was captured */
};

struct lanes {
	struct lane *lane;
	int n;
	int *of; /* [rank]: its lane, or -1 */
};

struct device {
	struct driver driver;
	struct gpu *gpus; /* as many as are open */
	struct gpu **of;  /* [rank] */
	int ngpus;
	const struct home *at;
	unsigned char **base[2]; /* the host's */
	cuda_ptr *dev[2];
	size_t bytes;
	struct lanes lanes; /* ours: one for each GPU of this process */
};

/** For this process's ranks, each on its communicator's GPU. Close it in any case. */
ccs_status device_open(struct device **d, const struct home *at);
void device_close(struct device *d);

/** From here on the thread's calls of CUDA and NCCL are about that GPU. */
ccs_status device_use(const struct gpu *g);

/** A buffer on its GPU for each one of the host: base[0..1][rank], `bytes` each. */
ccs_status device_alloc(struct device *d, unsigned char **const base[2], size_t bytes);
void device_free(struct device *d);
/** All to the GPUs, or back. */
ccs_status device_copy(struct device *d, bool push);
/** Where a place of a rank's host buffer is on its GPU. */
void *device_pointer(const struct device *d, int rank, const void *host);

/** One lane for each GPU, or `each`: for each rank. Close it in any case. */
ccs_status lanes_open(struct lanes *l, const struct device *d, bool each);
void lanes_close(struct lanes *l);
/** The rank's stream. */
cuda_stream lanes_stream(const struct lanes *l, int rank);
/** Begins to keep the time in all lanes; ... ends it, and waits until they are done. `timeout`
 *  in seconds, 0: without limit. */
ccs_status lanes_start(struct lanes *l);
ccs_status lanes_wait(struct lanes *l, double timeout);
/** Between start and wait; of the longest lane. */
ccs_status lanes_elapsed(struct lanes *l, double *us);

#endif
