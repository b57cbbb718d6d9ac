/*
 * A stand-in for libcuda.so.1: "device" memory is the host's, kernels are run by an
 * interpreter of the launch contract (run.c), and every call is checked: that it is
 * legal now, that its arguments name live things, that nothing is left at the end.
 * What is illegal ends the process with a line "fake_cuda: ILLEGAL: ...".
 *
 * The environment steers it:
 *   FAKE_CUDA_FAIL=NAME:K:CODE  the K-th call of NAME fails with CODE
 *   FAKE_CUDA_LOG=FILE          a line a call
 *   FAKE_CUDA_GPUS, FAKE_CUDA_SMS, FAKE_CUDA_BLOCKS (of 512 threads on a
 *   multiprocessor), FAKE_CUDA_CAPABILITY (90)
 *   FAKE_CUDA_STUCK=1           kernels give up, as if rank 1 had stopped
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "runtime/device/args.h"

#include <stdbool.h>
#include <stddef.h>

void illegal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** That [p, p + n) lies inside one live allocation. */
void check_memory(const void *p, size_t n, const char *what);

/* What a loaded kernel computes. */
struct fake_kernel {
	unsigned type, op, protocol;
};

/** Runs a launch to its end. */
void fake_run(const struct ccs_dev_call *c, const struct fake_kernel *k, unsigned blocks);

#endif
