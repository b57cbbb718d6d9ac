/*
 * The CUDA driver, opened at run time: one GPU of a communicator.
 *
 * Only libcuda.so.1, which comes with the GPU's driver, is used; nothing links it. Every function
 * leaves the calling thread's current context as it was. A failure names the call, its purpose,
 * and the driver's error.
 */
#ifndef CCS_RUNTIME_CUDA_DRIVER_DRIVER_H
#define CCS_RUNTIME_CUDA_DRIVER_DRIVER_H

#include "runtime/base/error.h"

#include <stdbool.h>

/* The types of the driver's ABI. */
typedef unsigned long long cuda_ptr;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;

/* A stream handle: the calling thread's default stream. */
#define CUDA_STREAM_PER_THREAD ((cuda_stream)2)

struct cuda_api;

struct cuda {
	void *handle;
	struct cuda_api *api;
	int device;
	void *context;	   /* the device's primary context */
	cuda_stream setup; /* for copies outside the user's streams */
	char name[96];
	int capability; /* 10 * major + minor */
	int sms;
	int driver; /* 1000 * major + 10 * minor: CUDA's version */
};

/** Opens GPU `device`. CCS_EUNSUPPORTED: no driver, no GPU, or one that lacks a feature;
 *  CCS_EINVAL: no such GPU. */
ccs_status cuda_open(struct cuda *d, int device);
void cuda_close(struct cuda *d);
/** In a forked child no call of the driver is possible, and the GPU's resources belong to the
 *  parent. After this cuda_enter fails, freeing does nothing, and cuda_close ends it. */
void cuda_forget(struct cuda *d);

/** Makes the GPU current for this thread until cuda_leave. Captures in other streams of the
 *  thread are not disturbed. */
ccs_status cuda_enter(struct cuda *d, int *mode);
void cuda_leave(struct cuda *d, int mode);

/* All functions below: between enter and leave. `what` names the memory in messages: "FIFOs". */

ccs_status cuda_alloc(struct cuda *d, cuda_ptr *p, size_t bytes, const char *what);
void cuda_free(struct cuda *d, cuda_ptr p);
/** Pinned, zeroed host memory that every GPU of this process can access (cuda_pinned). */
ccs_status cuda_alloc_host(struct cuda *d, void **host, size_t bytes, const char *what);
void cuda_free_host(struct cuda *d, void *host);
/** Synchronous. They wait for no stream of the user. */
ccs_status cuda_upload(struct cuda *d, cuda_ptr to, const void *from, size_t bytes,
		       const char *what);
ccs_status cuda_download(struct cuda *d, void *to, cuda_ptr from, size_t bytes, const char *what);
ccs_status cuda_zero(struct cuda *d, cuda_ptr p, size_t bytes, const char *what);

/** In stream order. */
ccs_status cuda_copy_async(struct cuda *d, cuda_ptr to, cuda_ptr from, size_t bytes, cuda_stream s,
			   const char *what);

ccs_status cuda_load(struct cuda *d, cuda_module *m, cuda_function *f, const void *cubin,
		     const char *function);
void cuda_unload(struct cuda *d, cuda_module m);
/** The number of blocks of that size that fit on one multiprocessor. */
ccs_status cuda_occupancy(struct cuda *d, int *blocks, cuda_function f, int threads, size_t shared);
ccs_status cuda_launch(struct cuda *d, cuda_function f, unsigned blocks, unsigned threads,
		       unsigned shared, cuda_stream s, void **params);

/** A stream that waits for no other stream. When it is freed, submitted work still completes. */
ccs_status cuda_stream_new(struct cuda *d, cuda_stream *s);
void cuda_stream_free(struct cuda *d, cuda_stream s);
ccs_status cuda_capturing(struct cuda *d, cuda_stream s, bool *capturing);
ccs_status cuda_event_new(struct cuda *d, cuda_event *e);
void cuda_event_free(struct cuda *d, cuda_event e);
/** Later work in `later` runs after the work now in `before`. */
ccs_status cuda_order(struct cuda *d, cuda_event e, cuda_stream before, cuda_stream later);
ccs_status cuda_record(struct cuda *d, cuda_event e, cuda_stream s);
ccs_status cuda_wait(struct cuda *d, cuda_event e, cuda_stream s);
/** Whether all work before the recording of `e` is done. Also returns an error that a kernel
 *  has left. */
ccs_status cuda_done(struct cuda *d, cuda_event e, bool *done);
/** Waits for that. */
ccs_status cuda_finish(struct cuda *d, cuda_event e);
ccs_status cuda_sync(struct cuda *d, cuda_stream s);
/** Whether the pointer is memory of this GPU (or managed, or pinned); else CCS_EINVAL. `name`
 *  is the caller's name for it. */
ccs_status cuda_check_pointer(struct cuda *d, const void *p, const char *name);

/* ---- share.c: memory of other GPUs, of other processes, of the host ------------- */

struct cuda_uuid {
	unsigned char bytes[16];
};
/* A handle of an allocation for other processes of this host. */
struct cuda_shared {
	unsigned char bytes[64];
};

/** The number of GPUs that this process sees, perhaps 0. Needs no open GPU. CCS_EUNSUPPORTED:
 *  no driver. */
ccs_status cuda_count(int *n);
ccs_status cuda_identity(struct cuda *d, struct cuda_uuid *id);
/** Whether this GPU can access the memory of that one: it is the same GPU, or is visible here
 *  and a peer. */
ccs_status cuda_reaches(struct cuda *d, const struct cuda_uuid *id, bool *reaches);
/** Gives it access to all memory of `peer`, opened by this process. May be repeated. */
ccs_status cuda_reach(struct cuda *d, const struct cuda *peer);
/** As cuda_alloc, but sharable: the memory is whole blocks of 2 MiB, as the driver maps whole
 *  blocks into another process. */
ccs_status cuda_alloc_shared(struct cuda *d, cuda_ptr *p, size_t bytes, const char *what);
/** A handle of cuda_alloc_shared's memory for another process; and its address there. A process
 *  cannot map its own. Unmap before the owner frees. */
ccs_status cuda_share(struct cuda *d, cuda_ptr p, struct cuda_shared *shared, const char *what);
ccs_status cuda_map(struct cuda *d, const struct cuda_shared *shared, cuda_ptr *p,
		    const char *what);
void cuda_unmap(struct cuda *d, cuda_ptr p);
/** Pins existing host memory (page-aligned), such as a shared segment, for every GPU of this
 *  process; and its address on this GPU. */
ccs_status cuda_pin(struct cuda *d, void *host, size_t bytes, const char *what);
ccs_status cuda_pinned(struct cuda *d, void *host, cuda_ptr *p, const char *what);
void cuda_unpin(struct cuda *d, void *host);

#endif
