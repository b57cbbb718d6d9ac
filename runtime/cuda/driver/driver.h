/*
 * The CUDA driver, opened at run time: one GPU as a communicator sees it.
 *
 * Only libcuda.so.1 is used, which comes with the GPU's driver; nothing links it.
 * Every function here leaves the calling thread's current context as it was. A
 * failure names the call, what it was for, and the driver's own error.
 */
#ifndef CCS_RUNTIME_CUDA_DRIVER_DRIVER_H
#define CCS_RUNTIME_CUDA_DRIVER_DRIVER_H

#include "runtime/base/error.h"

#include <stdbool.h>

/* The driver's types, as its ABI has them. */
typedef unsigned long long cuda_ptr;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;

/* As a handle: the calling thread's own default stream. */
#define CUDA_STREAM_PER_THREAD ((cuda_stream)2)

struct cuda_api;

struct cuda {
	void *handle;
	struct cuda_api *api;
	int device;
	void *context;	   /* the device's primary one */
	cuda_stream setup; /* for copies outside the user's streams */
	char name[96];
	int capability; /* 10 * major + minor */
	int sms;
	int driver; /* 1000 * major + 10 * minor: CUDA's version */
};

/** Opens GPU `device`. CCS_EUNSUPPORTED: no driver, no GPU, or one that cannot do
 *  it; CCS_EINVAL: no such GPU. */
ccs_status cuda_open(struct cuda *d, int device);
void cuda_close(struct cuda *d);
/** In a process that was forked from the one that opened it: no call of the driver's is
 *  possible, and what there was on the GPU is the other's. From then on cuda_enter fails,
 *  and what frees does nothing; cuda_close ends it. */
void cuda_forget(struct cuda *d);

/** Makes the GPU current for this thread, until cuda_leave. Captures that are going
 *  on in other streams of the thread are not disturbed by what follows. */
ccs_status cuda_enter(struct cuda *d, int *mode);
void cuda_leave(struct cuda *d, int mode);

/* All below: between enter and leave. `what` is for messages: "FIFOs". */

ccs_status cuda_alloc(struct cuda *d, cuda_ptr *p, size_t bytes, const char *what);
void cuda_free(struct cuda *d, cuda_ptr p);
/** Pinned memory of the host, which every GPU of this process can write to (cuda_pinned).
 *  Zeroed. */
ccs_status cuda_alloc_host(struct cuda *d, void **host, size_t bytes, const char *what);
void cuda_free_host(struct cuda *d, void *host);
/** Both are done when they return; they wait for no stream of the user's. */
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
/** Blocks of that size that fit on one multiprocessor at a time. */
ccs_status cuda_occupancy(struct cuda *d, int *blocks, cuda_function f, int threads, size_t shared);
ccs_status cuda_launch(struct cuda *d, cuda_function f, unsigned blocks, unsigned threads,
		       unsigned shared, cuda_stream s, void **params);

/** A stream that waits for no other one. What is in it when it is freed is done still. */
ccs_status cuda_stream_new(struct cuda *d, cuda_stream *s);
void cuda_stream_free(struct cuda *d, cuda_stream s);
ccs_status cuda_capturing(struct cuda *d, cuda_stream s, bool *capturing);
ccs_status cuda_event_new(struct cuda *d, cuda_event *e);
void cuda_event_free(struct cuda *d, cuda_event e);
/** What is put into `later` from now on runs after what is in `before` now. */
ccs_status cuda_order(struct cuda *d, cuda_event e, cuda_stream before, cuda_stream later);
ccs_status cuda_record(struct cuda *d, cuda_event e, cuda_stream s);
ccs_status cuda_wait(struct cuda *d, cuda_event e, cuda_stream s);
/** Whether all that was in the stream when `e` was recorded is done. An error that
 *  a kernel left shows here. */
ccs_status cuda_done(struct cuda *d, cuda_event e, bool *done);
/** Waits until it is. */
ccs_status cuda_finish(struct cuda *d, cuda_event e);
ccs_status cuda_sync(struct cuda *d, cuda_stream s);
/** Whether the pointer is memory of this GPU (or managed, or pinned): CCS_EINVAL, if
 *  not. `name` is what the caller calls it. */
ccs_status cuda_check_pointer(struct cuda *d, const void *p, const char *name);

/* ---- share.c: memory of other GPUs, of other processes, of the host ------------- */

struct cuda_uuid {
	unsigned char bytes[16];
};
/* Names an allocation to another process of this host. */
struct cuda_shared {
	unsigned char bytes[64];
};

/** How many GPUs this process sees: perhaps 0. Needs no open GPU. CCS_EUNSUPPORTED: no
 *  driver. */
ccs_status cuda_count(int *n);
ccs_status cuda_identity(struct cuda *d, struct cuda_uuid *id);
/** Whether this GPU can be given access to the memory of that one: it is this one, or
 *  is visible here and a peer. */
ccs_status cuda_reaches(struct cuda *d, const struct cuda_uuid *id, bool *reaches);
/** Gives it access to all memory of `peer`, opened by this process. Again is fine. */
ccs_status cuda_reach(struct cuda *d, const struct cuda *peer);
/** As cuda_alloc, but memory that can be shared: nothing else lies in the blocks of
 *  2 MiB that the driver maps into another process. */
ccs_status cuda_alloc_shared(struct cuda *d, cuda_ptr *p, size_t bytes, const char *what);
/** Memory of cuda_alloc_shared, from its beginning, for another process; and its address
 *  there. A process cannot map what is its own. Unmap before the owner frees. */
ccs_status cuda_share(struct cuda *d, cuda_ptr p, struct cuda_shared *shared, const char *what);
ccs_status cuda_map(struct cuda *d, const struct cuda_shared *shared, cuda_ptr *p,
		    const char *what);
void cuda_unmap(struct cuda *d, cuda_ptr p);
/** Pins memory of the host that there is, a shared segment for instance (page-aligned),
 *  for every GPU of this process; and its address on this one. */
ccs_status cuda_pin(struct cuda *d, void *host, size_t bytes, const char *what);
ccs_status cuda_pinned(struct cuda *d, void *host, cuda_ptr *p, const char *what);
void cuda_unpin(struct cuda *d, void *host);

#endif
