/*
 * The driver's functions as driver.c and share.c call them, and its errors (errors.c). Private to
 * these; other code uses driver.h.
 *
 * Functions are looked up with their version suffixes: these names are the driver's stable ABI. A
 * function that only some features need may be missing; its pointer is NULL then, and those
 * features report it (cuda_has).
 */
#ifndef CCS_RUNTIME_CUDA_DRIVER_API_H
#define CCS_RUNTIME_CUDA_DRIVER_API_H

#include "runtime/base/load/library.h"
#include "runtime/cuda/driver/driver.h"

#define CUDA(ROW) \
	ROW(int, init, (unsigned), "cuInit") \
	ROW(int, version, (int *), "cuDriverGetVersion") \
	ROW(int, error_name, (int, const char **), "cuGetErrorName") \
	ROW(int, error_string, (int, const char **), "cuGetErrorString") \
	ROW(int, device_count, (int *), "cuDeviceGetCount") \
	ROW(int, device_get, (int *, int), "cuDeviceGet") \
	ROW(int, device_name, (char *, int, int), "cuDeviceGetName") \
	ROW(int, device_attribute, (int *, int, int), "cuDeviceGetAttribute") \
	ROW(int, retain, (void **, int), "cuDevicePrimaryCtxRetain") \
	ROW(int, release, (int), "cuDevicePrimaryCtxRelease_v2") \
	ROW(int, push, (void *), "cuCtxPushCurrent_v2") \
	ROW(int, pop, (void **), "cuCtxPopCurrent_v2") \
	ROW(int, exchange_mode, (int *), "cuThreadExchangeStreamCaptureMode") \
	ROW(int, alloc, (cuda_ptr *, size_t), "cuMemAlloc_v2") \
	ROW(int, free, (cuda_ptr), "cuMemFree_v2") \
	ROW(int, host_alloc, (void **, size_t, unsigned), "cuMemHostAlloc") \
	ROW(int, host_free, (void *), "cuMemFreeHost") \
	ROW(int, host_pointer, (cuda_ptr *, void *, unsigned), "cuMemHostGetDevicePointer_v2") \
	ROW(int, upload, (cuda_ptr, const void *, size_t, cuda_stream), "cuMemcpyHtoDAsync_v2") \
	ROW(int, download, (void *, cuda_ptr, size_t, cuda_stream), "cuMemcpyDtoHAsync_v2") \
	ROW(int, copy, (cuda_ptr, cuda_ptr, size_t, cuda_stream), "cuMemcpyDtoDAsync_v2") \
	ROW(int, set, (cuda_ptr, unsigned char, size_t, cuda_stream), "cuMemsetD8Async") \
	ROW(int, load, (cuda_module *, const void *), "cuModuleLoadData") \
	ROW(int, unload, (cuda_module), "cuModuleUnload") \
	ROW(int, function, (cuda_function *, cuda_module, const char *), "cuModuleGetFunction") \
	ROW(int, occupancy, (int *, cuda_function, int, size_t), \
	    "cuOccupancyMaxActiveBlocksPerMultiprocessor") \
	ROW(int, launch, \
	    (cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	     cuda_stream, void **), \
	    "cuLaunchCooperativeKernel") \
	ROW(int, stream_new, (cuda_stream *, unsigned), "cuStreamCreate") \
	ROW(int, stream_free, (cuda_stream), "cuStreamDestroy_v2") \
	ROW(int, stream_sync, (cuda_stream), "cuStreamSynchronize") \
	ROW(int, stream_capturing, (cuda_stream, int *), "cuStreamIsCapturing") \
	ROW(int, stream_wait, (cuda_stream, cuda_event, unsigned), "cuStreamWaitEvent") \
	ROW(int, event_new, (cuda_event *, unsigned), "cuEventCreate") \
	ROW(int, event_free, (cuda_event), "cuEventDestroy_v2") \
	ROW(int, event_record, (cuda_event, cuda_stream), "cuEventRecord") \
	ROW(int, event_query, (cuda_event), "cuEventQuery") \
	ROW(int, event_sync, (cuda_event), "cuEventSynchronize") \
	ROW(int, pointer_attributes, (unsigned, const int *, void **, cuda_ptr), \
	    "cuPointerGetAttributes")

/* For several GPUs or processes; and functions of newer drivers. */
#define CUDA_WANTED(ROW) \
	ROW(int, uuid, (struct cuda_uuid *, int), "cuDeviceGetUuid_v2") \
	ROW(int, can_access, (int *, int, int), "cuDeviceCanAccessPeer") \
	ROW(int, enable_access, (void *, unsigned), "cuCtxEnablePeerAccess") \
	ROW(int, address_range, (cuda_ptr *, size_t *, cuda_ptr), "cuMemGetAddressRange_v2") \
	ROW(int, ipc_get, (struct cuda_shared *, cuda_ptr), "cuIpcGetMemHandle") \
	ROW(int, ipc_open, (cuda_ptr *, struct cuda_shared, unsigned), "cuIpcOpenMemHandle_v2") \
	ROW(int, ipc_close, (cuda_ptr), "cuIpcCloseMemHandle") \
	ROW(int, pin, (void *, size_t, unsigned), "cuMemHostRegister_v2") \
	ROW(int, unpin, (void *), "cuMemHostUnregister") \
	ROW(int, function_load, (cuda_function), "cuFuncLoad")

struct cuda_api {
	CUDA(LIBRARY_MEMBER)
	CUDA_WANTED(LIBRARY_MEMBER)
};

enum { CUDA_STREAM_NON_BLOCKING = 1, CUDA_PORTABLE_MAPPED = 3, CUDA_NO_DEVICE = 100 };

/* ---- errors.c ---- */

/** CCS_OK, or the status and text of a driver call's error, with the cure if one is known. The
 *  format says what the call was for. */
ccs_status cuda_check(const struct cuda *d, int e, const char *call, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/** CCS_OK if the function exists, else CCS_EUNSUPPORTED, naming it. */
ccs_status cuda_has(bool there, const char *call, const char *what);

#endif
