/*
 * Our own declarations of what NVIDIA's libraries have, beside the headers of CUDA and NCCL
 * that are installed: each function's name with its version, how its arguments are passed,
 * numbers, sizes; and whether a library has these names. The stand-ins (fake_cuda,
 * fake_nccl) are written after the same declarations, and agree with any mistake in them.
 *
 * Compiled once for each file of the runtime that has such declarations, with ABI_FILE that
 * file, and ABI_DRIVER, ABI_NCCL, ABI_NVRTC, or for ccrun's, ABI_CCRUN_DRIVER or
 * ABI_CCRUN_NCCL; as C++, whose types can be taken apart.
 * usage: abi_test [LIBRARY]
 */
#if defined(ABI_DRIVER) || defined(ABI_CCRUN_DRIVER)
#include <cuda.h>
#elif defined(ABI_NCCL) || defined(ABI_CCRUN_NCCL)
#include <nccl.h>
#else
#include <nvrtc.h>
#endif

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <type_traits>

#define _Static_assert static_assert
extern "C" {
#include ABI_FILE
#if defined(ABI_DRIVER)
#include "runtime/cuda/driver/share.c"
#include "runtime/cuda/driver/errors.c"
#endif
}

/* How a value is passed: numbers and enums alike, pointers, bytes. */
template <class T> constexpr int kind()
{
	return std::is_pointer_v<T> ? 1 : std::is_integral_v<T> || std::is_enum_v<T> ? 2 :
	       std::is_floating_point_v<T> ? 3 : std::is_void_v<T> ? 4 : 5;
}

template <class T> constexpr size_t bytes()
{
	if constexpr (std::is_void_v<T>)
		return 0;
	else
		return sizeof(T) * 64 + alignof(T);
}

/* What a pointer is to: not compared where one side does not know it, or has its own name
 * for it; but numbers that are written through it are as wide. */
template <class T> constexpr size_t target()
{
	using U = std::remove_cv_t<std::remove_pointer_t<T>>;

	if constexpr (std::is_integral_v<U> || std::is_enum_v<U> || std::is_floating_point_v<U>)
		return sizeof(U);
	else if constexpr (std::is_pointer_v<U>)
		return sizeof(void *);
	else
		return 0;
}

template <class A, class B> constexpr bool same()
{
	if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>)
		return !target<A>() || !target<B>() || target<A>() == target<B>();
	else
		return kind<A>() == kind<B>() && bytes<A>() == bytes<B>();
}

template <class A, class B> struct alike : std::false_type {};
template <class R, class... A, class Q, class... B> struct alike<R (*)(A...), Q (*)(B...)> {
	static constexpr bool all()
	{
		if constexpr (sizeof...(A) == sizeof...(B))
			return same<R, Q>() && (same<A, B>() && ...);
		else
			return false;
	}
	static constexpr bool value = all();
};

static int failed;

static void says(bool holds, const char *what, const char *why)
{
	printf("%sok - %s%s%s\n", holds ? "" : "not ", what, holds ? "" : ": ", holds ? "" : why);
	failed |= !holds;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)	/* with the version that the header adds */

/* A function: its place in the table, the name that is looked up, its type. */
#define CALL(table, member, names, real)                                                        \
	do {                                                                                    \
		const size_t at = offsetof(table, member) / sizeof(void *);                     \
		says(alike<decltype(table::member), decltype(&real)>::value, #real,             \
		     "its arguments are not passed so");                                        \
		says(is_name(names[at], TEXT(real)), #real " by its name", TEXT(real));         \
		seen++;                                                                         \
	} while (0)
#define SAME(ours, theirs)                                                                      \
	says((long long)(ours) == (long long)(theirs), #ours " is " #theirs, "it is not")

[[maybe_unused]] static bool is_name(const char *ours, const char *real)
{
	size_t n = strlen(ours);

	if (!strcmp(ours, real))
		return true;
#if defined(ABI_CCRUN_DRIVER) /* looked up with _v2, too */
	for (size_t i = NEWER; i < NSYMBOLS; i++)
		if (ours == symbols[i])
			return !strncmp(ours, real, n) && !strcmp(real + n, "_v2");
#endif
	return false;
}

#if defined(ABI_DRIVER)
static void check_numbers()
{
	SAME(OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
	SAME(STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
	SAME(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
	SAME(NO_BINARY, CUDA_ERROR_NO_BINARY_FOR_GPU);
	SAME(PEER_UNSUPPORTED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	SAME(NOT_READY, CUDA_ERROR_NOT_READY);
	SAME(NEWER_DRIVER, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
	SAME(DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
	SAME(ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE);
	SAME(NVLINK_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE);
	SAME(JIT_DISABLED, CUDA_ERROR_JIT_COMPILATION_DISABLED);
	SAME(OPERATING_SYSTEM, CUDA_ERROR_OPERATING_SYSTEM);
	SAME(SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY);
	SAME(DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	SAME(NOT_COMPATIBLE, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
	SAME(MPS_FIRST, CUDA_ERROR_MPS_CONNECTION_FAILED);
	SAME(MPS_LAST, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED);
	SAME(UNKNOWN, CUDA_ERROR_UNKNOWN);
	SAME(INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
	SAME(INVALID_PTX, CUDA_ERROR_INVALID_PTX);
	SAME(NO_JIT, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
	SAME(NEW_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	SAME(TOO_LARGE, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	SAME(CAPTURE_FIRST, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	SAME(CAPTURE_LAST, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	SAME(ATTRIBUTE_SMS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	SAME(ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	SAME(ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	SAME(ATTRIBUTE_COOPERATIVE, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
	SAME(PEER_ALREADY, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	SAME(LAZY_PEER, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	SAME(POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
	SAME(POINTER_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
	SAME(POINTER_DEVICE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
	SAME(MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
	SAME(CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
	SAME(EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
	SAME(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
	SAME(CUDA_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);
	SAME(CUDA_PORTABLE_MAPPED, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	SAME(CUDA_PORTABLE_MAPPED, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	SAME(sizeof(struct cuda_uuid), sizeof(CUuuid));
	SAME(sizeof(struct cuda_shared), sizeof(CUipcMemHandle));
	SAME(sizeof(cuda_ptr), sizeof(CUdeviceptr));
}

#define C(member, real) CALL(cuda_api, member, symbols, real)

static void check_calls(size_t *n)
{
	size_t seen = 0;

	C(init, cuInit);
	C(version, cuDriverGetVersion);
	C(error_name, cuGetErrorName);
	C(error_string, cuGetErrorString);
	C(device_count, cuDeviceGetCount);
	C(device_get, cuDeviceGet);
	C(device_name, cuDeviceGetName);
	C(device_attribute, cuDeviceGetAttribute);
	C(retain, cuDevicePrimaryCtxRetain);
	C(release, cuDevicePrimaryCtxRelease);
	C(push, cuCtxPushCurrent);
	C(pop, cuCtxPopCurrent);
	C(exchange_mode, cuThreadExchangeStreamCaptureMode);
	C(alloc, cuMemAlloc);
	C(free, cuMemFree);
	C(host_alloc, cuMemHostAlloc);
	C(host_free, cuMemFreeHost);
	C(host_pointer, cuMemHostGetDevicePointer);
	C(upload, cuMemcpyHtoDAsync);
	C(download, cuMemcpyDtoHAsync);
	C(copy, cuMemcpyDtoDAsync);
	C(set, cuMemsetD8Async);
	C(load, cuModuleLoadData);
	C(unload, cuModuleUnload);
	C(function, cuModuleGetFunction);
	C(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor);
	C(launch, cuLaunchCooperativeKernel);
	C(stream_new, cuStreamCreate);
	C(stream_free, cuStreamDestroy);
	C(stream_sync, cuStreamSynchronize);
	C(stream_capturing, cuStreamIsCapturing);
	C(stream_wait, cuStreamWaitEvent);
	C(event_new, cuEventCreate);
	C(event_free, cuEventDestroy);
	C(event_record, cuEventRecord);
	C(event_query, cuEventQuery);
	C(event_sync, cuEventSynchronize);
	C(pointer_attributes, cuPointerGetAttributes);
#if CUDA_VERSION >= 11040 /* an older header has the older of two */
	C(uuid, cuDeviceGetUuid);
#else
	seen++;
#endif
	C(can_access, cuDeviceCanAccessPeer);
	C(enable_access, cuCtxEnablePeerAccess);
	C(address_range, cuMemGetAddressRange);
	C(ipc_get, cuIpcGetMemHandle);
	C(ipc_open, cuIpcOpenMemHandle);
	C(ipc_close, cuIpcCloseMemHandle);
	C(pin, cuMemHostRegister);
	C(unpin, cuMemHostUnregister);
#if CUDA_VERSION >= 12040
	C(function_load, cuFuncLoad);
#else
	seen++;
#endif
	*n = seen;
}

static void check()
{
	size_t n;

	check_numbers();
	check_calls(&n);
	SAME(n, NSYMBOLS);	/* none is left out */
}
#elif defined(ABI_NCCL)
#define C(member, real) CALL(nccl_api, member, symbols, real)

static void check()
{
	size_t seen = 0;

	SAME(INVALID_ARGUMENT, ncclInvalidArgument);
	SAME(INVALID_USAGE, ncclInvalidUsage);
	SAME(REMOTE_ERROR, ncclRemoteError);
	SAME(IN_PROGRESS, ncclInProgress);
	SAME(sizeof(ccs_unique_id), sizeof(ncclUniqueId));
	SAME(alignof(ccs_unique_id), alignof(ncclUniqueId));
	SAME(CCS_INT8, ncclInt8);
	SAME(CCS_UINT8, ncclUint8);
	SAME(CCS_INT32, ncclInt32);
	SAME(CCS_UINT32, ncclUint32);
	SAME(CCS_INT64, ncclInt64);
	SAME(CCS_UINT64, ncclUint64);
	SAME(CCS_FLOAT16, ncclFloat16);
	SAME(CCS_FLOAT32, ncclFloat32);
	SAME(CCS_FLOAT64, ncclFloat64);
	SAME(CCS_BFLOAT16, ncclBfloat16);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
	SAME(CCS_FLOAT8E4M3, ncclFloat8e4m3);
	SAME(CCS_FLOAT8E5M2, ncclFloat8e5m2);
#endif
	C(version, ncclGetVersion);
	C(error_string, ncclGetErrorString);
	C(unique_id, ncclGetUniqueId);
	C(init_rank, ncclCommInitRank);
	C(destroy, ncclCommDestroy);
	C(abort, ncclCommAbort);
	C(async_error, ncclCommGetAsyncError);
	C(group_start, ncclGroupStart);
	C(group_end, ncclGroupEnd);
	C(send, ncclSend);
	C(recv, ncclRecv);
	C(all_gather, ncclAllGather);
	C(last_error, ncclGetLastError);
	SAME(seen, NSYMBOLS);
}
#elif defined(ABI_CCRUN_NCCL)
#define C(member, real) CALL(nccl_calls, member, symbols, real)

static void check()
{
	size_t seen = 0;

	SAME(NCCL_IN_PROGRESS, ncclInProgress);
	SAME(REMOTE_ERROR, ncclRemoteError);
	SAME(SCALAR_OF_HOST, ncclScalarHostImmediate);
	SAME(CCS_SUM, ncclSum);
	SAME(CCS_PROD, ncclProd);
	SAME(CCS_MAX, ncclMax);
	SAME(CCS_MIN, ncclMin);
	SAME(CCS_AVG, ncclAvg);
	int own = 0;
	for (int op = 0; op < CCS_NREDOPS; op++) {
		ccs_redop_info info;
		own += ccs_redop_describe((ccs_redop)op, &info) == CCS_OK && info.nccl >= 0;
	}
	SAME(own, ncclNumOps);
	C(get_version, ncclGetVersion);
	C(error_string, ncclGetErrorString);
	C(unique_id, ncclGetUniqueId);
	C(init_rank, ncclCommInitRank);
	C(destroy, ncclCommDestroy);
	C(abort, ncclCommAbort);
	C(async_error, ncclCommGetAsyncError);
	C(group_start, ncclGroupStart);
	C(group_end, ncclGroupEnd);
	C(send, ncclSend);
	C(recv, ncclRecv);
	C(all_reduce, ncclAllReduce);
	C(all_gather, ncclAllGather);
	C(reduce_scatter, ncclReduceScatter);
	C(broadcast, ncclBroadcast);
	C(reduce, ncclReduce);
	C(premul, ncclRedOpCreatePreMulSum);
	C(op_free, ncclRedOpDestroy);
	C(last_error, ncclGetLastError);
	SAME(seen, NSYMBOLS);
}
#elif defined(ABI_CCRUN_DRIVER)
#define C(member, real) CALL(driver, member, symbols, real)
static void check()
{
	size_t seen = 0;

	SAME(OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
	SAME(CAPTURE_FIRST, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	SAME(CAPTURE_LAST, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	SAME(CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
	SAME(STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
	SAME(DRIVER_NOT_READY, CUDA_ERROR_NOT_READY);
	SAME(sizeof(cuda_ptr), sizeof(CUdeviceptr));
	C(error_name, cuGetErrorName);
	C(error_string, cuGetErrorString);
	C(device_name, cuDeviceGetName);
	C(retain, cuDevicePrimaryCtxRetain);
	C(release, cuDevicePrimaryCtxRelease);
	C(use, cuCtxSetCurrent);
	C(alloc, cuMemAlloc);
	C(free, cuMemFree);
	C(upload, cuMemcpyHtoDAsync);
	C(download, cuMemcpyDtoHAsync);
	C(copy, cuMemcpyDtoDAsync);
	C(stream_new, cuStreamCreate);
	C(stream_free, cuStreamDestroy);
	C(stream_sync, cuStreamSynchronize);
	C(event_new, cuEventCreate);
	C(event_free, cuEventDestroy);
	C(event_record, cuEventRecord);
	C(event_query, cuEventQuery);
	C(event_sync, cuEventSynchronize);
	SAME(seen, NEWER); /* none is left out */
	C(uuid, cuDeviceGetUuid);
	C(elapsed, cuEventElapsedTime);
	C(capture_begin, cuStreamBeginCapture);
	C(capture_end, cuStreamEndCapture);
	C(instantiate, cuGraphInstantiateWithFlags);
	C(template_free, cuGraphDestroy);
	C(graph_launch, cuGraphLaunch);
	C(graph_free, cuGraphExecDestroy);
	SAME(seen, NSYMBOLS);
}
#else
#define C(member, real) CALL(nvrtc_api, member, symbols, real)

static void check()
{
	size_t seen = 0;

	C(error_string, nvrtcGetErrorString);
	C(version, nvrtcVersion);
	C(num_archs, nvrtcGetNumSupportedArchs);
	C(archs, nvrtcGetSupportedArchs);
	C(create, nvrtcCreateProgram);
	C(destroy, nvrtcDestroyProgram);
	C(compile, nvrtcCompileProgram);
	C(log_size, nvrtcGetProgramLogSize);
	C(log, nvrtcGetProgramLog);
	C(cubin_size, nvrtcGetCUBINSize);
	C(cubin, nvrtcGetCUBIN);
	C(ptx_size, nvrtcGetPTXSize);
	C(ptx, nvrtcGetPTX);
	SAME(seen, NSYMBOLS);
}
#endif

/* A library that may be older than the header need not have what is looked up last. */
static void look_into(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	says(library != nullptr, path, "it cannot be opened");
	for (size_t i = 0; library && i < NSYMBOLS; i++)
		says(dlsym(library, symbols[i]) != nullptr, symbols[i], "the library lacks it");
#if defined(ABI_CCRUN_DRIVER)
	for (size_t i = NEWER; library && i < NSYMBOLS; i++)
		says(dlsym(library, symbols[i]) != nullptr, symbols[i], "the library lacks it");
#endif
}

int main(int argc, char **argv)
{
	check();
	if (argc > 1)
		look_into(argv[1]);
	return failed;
}
