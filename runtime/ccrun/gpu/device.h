/*
 * The ranks' buffers on GPUs, which mirror the host buffers that ccrun fills and checks; and
 * lanes: a stream on a GPU with two events that measure time. Not used on the CPU.
 */
#ifndef CCS_RUNTIME_CCRUN_GPU_DEVICE_H
#define CCS_RUNTIME_CCRUN_GPU_DEVICE_H

#include "runtime/ccrun/gpu/cuda_calls.h"

#include <stdbool.h>

struct home;

/* A GPU with its primary context, which CUDA's runtime and the library use, too. */
struct gpu {
	const struct driver *driver;
	int number;	   /* its number, from ccs_comm_device */
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
	struct gpu *gpus; /* the open GPUs */
	struct gpu **of;  /* [rank] */
	int ngpus;
	const struct home *at;
	unsigned char **base[2]; /* of the host */
	cuda_ptr *dev[2];
	size_t bytes;
	struct lanes lanes; /* one for each GPU of this process */
};

/** For this process's ranks, each on its communicator's GPU. Close it in any case. */
ccs_status device_open(struct device **d, const struct home *at);
void device_close(struct device *d);

/** Makes that GPU current for the thread's calls of CUDA and NCCL. */
ccs_status device_use(const struct gpu *g);

/** Allocates a buffer on the GPU for each host buffer base[0..1][rank], `bytes` each. */
ccs_status device_alloc(struct device *d, unsigned char **const base[2], size_t bytes);
void device_free(struct device *d);
/** Copies all buffers to the GPUs, or back. */
ccs_status device_copy(struct device *d, bool push);
/** The GPU address for an address in a rank's host buffer. */
void *device_pointer(const struct device *d, int rank, const void *host);

/** One lane for each GPU, or `each`: for each rank. Close it in any case. */
ccs_status lanes_open(struct lanes *l, const struct device *d, bool each);
void lanes_close(struct lanes *l);
/** The rank's stream. */
cuda_stream lanes_stream(const struct lanes *l, int rank);
/** Starts the time in all lanes; stops it, and waits until they are done (`timeout` in seconds,
 *  0: no limit). */
ccs_status lanes_start(struct lanes *l);
ccs_status lanes_wait(struct lanes *l, double timeout);
/** The time between start and wait, of the slowest lane. */
ccs_status lanes_elapsed(struct lanes *l, double *us);

#endif
