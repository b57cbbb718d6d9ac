/*
 * CUDA's driver, as far as ccrun calls it itself: for its buffers, streams, times and graphs.
 *
 * They are not the library's business: whoever uses it with GPUs has CUDA for them. So ccs.h
 * gives ccrun, which links no CUDA, the driver's handle, and not twenty calls that would say
 * CUDA's once more. O(1) each, but for making a graph: O(what was captured).
 *
 * All calls are about the current context, if they are about one. A failure names the call,
 * what it was for, and the driver's own error.
 */
#ifndef CCS_RUNTIME_CCRUN_GPU_CUDA_CALLS_H
#define CCS_RUNTIME_CCRUN_GPU_CUDA_CALLS_H

#include "runtime/ccs.h"

/* The driver's types, as its ABI has them. */
typedef unsigned long long cuda_ptr;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUgraph_st *cuda_template;
typedef struct CUgraphExec_st *cuda_graph; /* ready to be launched */

enum { DRIVER_NOT_READY = 600 }; /* of a query */

/* Function here, parameters, symbol. */
#define DRIVER(ROW) \
	ROW(error_name, (int, const char **), "cuGetErrorName") \
	ROW(error_string, (int, const char **), "cuGetErrorString") \
	ROW(device_name, (char *, int, int), "cuDeviceGetName") \
	ROW(retain, (void **, int), "cuDevicePrimaryCtxRetain") \
	ROW(release, (int), "cuDevicePrimaryCtxRelease_v2") \
	ROW(use, (void *), "cuCtxSetCurrent") \
	ROW(alloc, (cuda_ptr *, size_t), "cuMemAlloc_v2") \
	ROW(free, (cuda_ptr), "cuMemFree_v2") \
	ROW(upload, (cuda_ptr, const void *, size_t, cuda_stream), "cuMemcpyHtoDAsync_v2") \
	ROW(download, (void *, cuda_ptr, size_t, cuda_stream), "cuMemcpyDtoHAsync_v2") \
	ROW(copy, (cuda_ptr, cuda_ptr, size_t, cuda_stream), "cuMemcpyDtoDAsync_v2") \
	ROW(stream_new, (cuda_stream *, unsigned), "cuStreamCreate") \
	ROW(stream_free, (cuda_stream), "cuStreamDestroy_v2") \
	ROW(stream_sync, (cuda_stream), "cuStreamSynchronize") \
	ROW(event_new, (cuda_event *, unsigned), "cuEventCreate") \
	ROW(event_free, (cuda_event), "cuEventDestroy_v2") \
	ROW(event_record, (cuda_event, cuda_stream), "cuEventRecord") \
	ROW(event_query, (cuda_event), "cuEventQuery") \
	ROW(event_sync, (cuda_event), "cuEventSynchronize")

/* The same; an old driver lacks them, and they are NULL then. */
#define DRIVER_NEWER(ROW) \
	ROW(uuid, (void *, int), "cuDeviceGetUuid") \
	ROW(elapsed, (float *, cuda_event, cuda_event), "cuEventElapsedTime") \
	ROW(capture_begin, (cuda_stream, int), "cuStreamBeginCapture_v2") \
	ROW(capture_end, (cuda_stream, cuda_template *), "cuStreamEndCapture") \
	ROW(instantiate, (cuda_graph *, cuda_template, unsigned long long), \
	    "cuGraphInstantiateWithFlags") \
	ROW(template_free, (cuda_template), "cuGraphDestroy") \
	ROW(graph_launch, (cuda_graph, cuda_stream), "cuGraphLaunch") \
	ROW(graph_free, (cuda_graph), "cuGraphExecDestroy")

struct driver {
#define MEMBER(name, parameters, symbol) int(*name) parameters;
	DRIVER(MEMBER)
	DRIVER_NEWER(MEMBER)
#undef MEMBER
};

/** Looks all functions up. CCS_EUNSUPPORTED: there is no driver, or it is too old. */
ccs_status driver_open(struct driver *d);
/** CCS_OK, or the status and text of a call's error. The format is of what it was for. */
ccs_status driver_check(const struct driver *d, int e, const char *call, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/** What names a GPU in every process. */
ccs_status driver_identity(const struct driver *d, int device, unsigned char id[16]);
/** A stream that waits for no other; NULL in failure, as with what follows. To free NULL is
 *  fine, with these too. */
ccs_status driver_stream_new(const struct driver *d, cuda_stream *s);
void driver_stream_free(const struct driver *d, cuda_stream s);
/** An event that keeps the time. */
ccs_status driver_timer_new(const struct driver *d, cuda_event *e);
void driver_timer_free(const struct driver *d, cuda_event e);
/** From one timer to another, both recorded and done. */
ccs_status driver_elapsed(const struct driver *d, cuda_event from, cuda_event to, double *us);
/** What the thread puts into the stream from now on is captured ... */
ccs_status driver_capture_begin(const struct driver *d, cuda_stream s);
/** ... and made a graph. In failure too the stream captures no more. */
ccs_status driver_capture_end(const struct driver *d, cuda_stream s, cuda_graph *g);
ccs_status driver_graph_launch(const struct driver *d, cuda_graph g, cuda_stream s);
void driver_graph_free(const struct driver *d, cuda_graph g);

#endif
