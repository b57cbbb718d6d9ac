/*
 * The ranks' buffers on a GPU, beside those of the host that ccrun fills and checks.
 * On the CPU there is none of this.
 */
#ifndef CCS_RUNTIME_CCRUN_DEVICE_H
#define CCS_RUNTIME_CCRUN_DEVICE_H

#include "runtime/ccs.h"

#include <stdbool.h>
#include <stdio.h>

struct device;

/** For communicators of ccs_comm_init_cuda; NULL: out of memory. */
struct device *device_open(struct ccs_comm **comm, int nranks);
void device_close(struct device *d);
void device_print(const struct device *d, FILE *out);

/** A buffer on the GPU for each one of the host: base[0..1][rank], `bytes` each. */
ccs_status device_alloc(struct device *d, unsigned char **const base[2], size_t bytes);
void device_free(struct device *d);
/** All to the GPU, and back. */
ccs_status device_push(struct device *d);
ccs_status device_pull(struct device *d);
/** Where a place of a host buffer is on the GPU. */
void *device_pointer(const struct device *d, const void *host);
/** Waits for all calls; what they left behind. */
ccs_status device_wait(struct device *d);

/** --against nccl: what keeps NCCL from running beside the module; exit status 4. */
int device_against_nccl(int nranks, FILE *err);

#endif
