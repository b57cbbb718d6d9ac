/*
 * The ranks' buffers on GPUs, beside those of the host that ccrun fills and checks; and
 * lanes: a stream on a GPU, with two events that keep the time.
 * On the CPU there is none of this.
 */
#ifndef CCS_RUNTIME_CCRUN_DEVICE_H
#define CCS_RUNTIME_CCRUN_DEVICE_H

#include "runtime/cuda/driver.h"

struct device;

struct lane {
	struct cuda *cuda;
	cuda_stream stream;
	cuda_event from, to;
	cuda_graph graph; /* NULL: none was captured */
};

struct lanes {
	struct lane *lane;
	int n;
	int *of; /* [rank]: its lane, or -1 */
};

/** For ranks [first, first + local) of `nranks`, rank r on cuda[r]. NULL: out of memory. */
struct device *device_open(struct cuda *const *cuda, int nranks, int first, int local);
void device_close(struct device *d);
/** Our lanes: one for each GPU of this process. */
struct lanes *device_lanes(struct device *d);
struct cuda *device_cuda(const struct device *d, int rank);

/** A buffer on its GPU for each one of the host: base[0..1][rank], `bytes` each. */
ccs_status device_alloc(struct device *d, unsigned char **const base[2], size_t bytes);
void device_free(struct device *d);
/** All to the GPUs, and back. */
ccs_status device_push(struct device *d);
ccs_status device_pull(struct device *d);
/** Where a place of a rank's host buffer is on its GPU. */
void *device_pointer(const struct device *d, int rank, const void *host);

/** One lane for each GPU, or `each`: for each rank. Close it in any case. */
ccs_status lanes_open(struct lanes *l, const struct device *d, bool each);
void lanes_close(struct lanes *l);
/** The rank's stream. */
cuda_stream lanes_stream(const struct lanes *l, int rank);
/** Waits until all lanes are done; `timeout` in seconds, 0: without limit. */
ccs_status lanes_wait(struct lanes *l, double timeout);

#endif
