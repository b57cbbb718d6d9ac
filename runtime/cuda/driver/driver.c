/*
 * Calls of the CUDA driver. See driver.h. O(1) each.
 */
#include "runtime/cuda/driver/api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of cuda.h: the values that are used. */
enum { NOT_INITIALIZED = 3, NOT_READY = 600 };
enum { ATTRIBUTE_SMS = 16, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76, ATTRIBUTE_COOPERATIVE = 95 };
enum { POINTER_MEMORY_TYPE = 2, POINTER_MANAGED = 8, POINTER_DEVICE = 9 };
enum { MEMORY_DEVICE = 2 };
enum { CAPTURE_RELAXED = 2, EVENT_NO_TIMING = 2 };

static const char *const symbols[] = { CUDA(LIBRARY_SYMBOL) CUDA_WANTED(LIBRARY_SYMBOL) };
#define NSYMBOLS (sizeof(symbols) / sizeof(*symbols))
#define NWANTED ((sizeof(struct cuda_api) - offsetof(struct cuda_api, uuid)) / sizeof(void *))

/* ---- opening ---------------------------------------------------------------------- */

static ccs_status open_library(void **library)
{
	static const char *const names[] = {
		"libcuda.so.1",
		"/usr/lib/wsl/lib/libcuda.so.1",
		"/usr/local/nvidia/lib64/libcuda.so.1",
	};
	char why[300] = "";

	*library = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !*library; i++) {
		/* RTLD_NODELETE: the library's threads may be running in it */
		*library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		if (!*library && !i)
			snprintf(why, sizeof(why), "%s", dlerror());
	}
	if (*library)
		return CCS_OK;
	return error_set(CCS_EUNSUPPORTED,
			 "running on a GPU needs NVIDIA's driver, and libcuda.so.1 cannot be "
			 "opened: %s",
			 why);
}

ccs_status ccs_cuda_library(void **library)
{
	return library ? open_library(library)
		       : error_set(CCS_EINVAL, "ccs_cuda_library: library is NULL");
}

static ccs_status load_library(struct cuda *d)
{
	static const char *const older_uuid = "cuDeviceGetUuid";
	ccs_status s = open_library(&d->handle);
	char why[100];

	if (s)
		return s;
	d->api = calloc(1, sizeof(*d->api));
	if (!d->api)
		return error_set(CCS_ENOMEM, "out of memory");
	if (!library_functions(d->handle, "libcuda.so.1", symbols, NSYMBOLS, NWANTED, d->api, why,
			       sizeof(why)))
		return error_set(CCS_EUNSUPPORTED, "NVIDIA's driver is too old: %s", why);
	if (!d->api->uuid) /* before CUDA 11.4 */
		library_functions(d->handle, "", &older_uuid, 1, 1, &d->api->uuid, why,
				  sizeof(why));
	return CCS_OK;
}

static ccs_status no_gpu(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	if (visible)
		return error_set(CCS_EUNSUPPORTED,
				 "NVIDIA's driver is installed, but it finds no GPU, because "
				 "CUDA_VISIBLE_DEVICES is \"%.200s\": unset it, or name a GPU that "
				 "`nvidia-smi -L` shows",
				 visible);
	return error_set(
		CCS_EUNSUPPORTED,
		"NVIDIA's driver is installed, but it finds no GPU: if `nvidia-smi -L` shows one, "
		"it may be in MIG mode without an instance, or a container may lack its device "
		"files (/dev/nvidia*)");
}

/* *e: cuInit's error. */
static ccs_status start_driver(struct cuda *d, int *e)
{
	*e = d->api->init(0);
	if (*e == NOT_INITIALIZED) /* cuInit gives this error only in a forked child */
		return error_set(CCS_ESYSTEM,
				 "this process was forked from a process that had already used a "
				 "GPU, and CUDA does not work here: fork before the first use, or "
				 "execute a new program");
	if (*e == CUDA_NO_DEVICE)
		return no_gpu();
	return cuda_check(d, *e, "cuInit", "starting NVIDIA's driver");
}

static ccs_status find_device(struct cuda *d, int device)
{
	int count = 0, major = 0, minor = 0, cooperative = 0, e;
	const struct {
		int *to, attribute;
	} asked[] = {
		{ &d->sms, ATTRIBUTE_SMS },
		{ &major, ATTRIBUTE_MAJOR },
		{ &minor, ATTRIBUTE_MINOR },
		{ &cooperative, ATTRIBUTE_COOPERATIVE },
	};
	ccs_status s = start_driver(d, &e);

	if (!s)
		s = cuda_check(d, d->api->version(&d->driver), "cuDriverGetVersion", "GPUs");
	if (!s)
		s = cuda_check(d, d->api->device_count(&count), "cuDeviceGetCount", "GPUs");
	if (s)
		return s;
	if (!count)
		return no_gpu();
	if (device < 0 || device >= count)
		return error_set(CCS_EINVAL, "there is no GPU %d: GPUs are 0 to %d", device,
				 count - 1);
	s = cuda_check(d, d->api->device_get(&d->device, device), "cuDeviceGet", "GPU %d", device);
	if (!s)
		s = cuda_check(d, d->api->device_name(d->name, (int)sizeof(d->name), d->device),
			       "cuDeviceGetName", "GPU %d", device);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked) && !s; i++)
		s = cuda_check(d,
			       d->api->device_attribute(asked[i].to, asked[i].attribute, d->device),
			       "cuDeviceGetAttribute", "GPU %d", device);
	d->name[sizeof(d->name) - 1] = '\0';
	d->capability = 10 * major + minor;
	if (!s && (!cooperative || d->capability < 70))
		return error_set(CCS_EUNSUPPORTED,
				 "GPU %d (%s, compute capability %d.%d) cannot "
				 "keep all blocks of a kernel resident together",
				 device, d->name, major, minor);
	return s;
}

ccs_status cuda_count(int *n)
{
	struct cuda d = { 0 };
	ccs_status s = load_library(&d);
	int e = 0;

	*n = 0;
	if (!s)
		s = start_driver(&d, &e);
	if (!s)
		s = cuda_check(&d, d.api->device_count(n), "cuDeviceGetCount", "GPUs");
	cuda_close(&d);
	return e == CUDA_NO_DEVICE ? CCS_OK : s;
}

ccs_status cuda_open(struct cuda *d, int device)
{
	ccs_status s;
	int mode;

	*d = (struct cuda){ 0 };
	s = load_library(d);
	if (!s)
		s = find_device(d, device);
	if (!s) {
		s = cuda_check(d, d->api->retain(&d->context, d->device),
			       "cuDevicePrimaryCtxRetain", "GPU %d (%s)", device, d->name);
		if (s)
			d->context = NULL;
	}
	if (!s) {
		s = cuda_enter(d, &mode);
		if (!s) {
			s = cuda_stream_new(d, &d->setup);
			cuda_leave(d, mode);
		}
	}
	if (s)
		cuda_close(d);
	return s;
}

void cuda_close(struct cuda *d)
{
	if (d->setup) {
		bool entered = d->api->push(d->context) == 0;

		cuda_stream_free(d, d->setup);
		if (entered)
			cuda_leave(d, -1);
	}
	if (d->context)
		d->api->release(d->device);
	free(d->api);
	if (d->handle)
		dlclose(d->handle);
	*d = (struct cuda){ 0 };
}

void cuda_forget(struct cuda *d)
{
	free(d->api);
	d->api = NULL;
	d->context = NULL;
	d->setup = NULL;
}

ccs_status cuda_enter(struct cuda *d, int *mode)
{
	ccs_status s = d->api ? cuda_check(d, d->api->push(d->context), "cuCtxPushCurrent",
					   "GPU %s", d->name)
			      : error_set(CCS_EABORTED, "the GPU was opened by another process");

	if (s)
		return s;
	*mode = CAPTURE_RELAXED;
	s = cuda_check(d, d->api->exchange_mode(mode), "cuThreadExchangeStreamCaptureMode",
		       "GPU %s", d->name);
	if (s) {
		void *popped;

		d->api->pop(&popped);
	}
	return s;
}

void cuda_leave(struct cuda *d, int mode)
{
	void *popped;

	if (mode >= 0)
		d->api->exchange_mode(&mode);
	d->api->pop(&popped);
}

/* ---- memory ------------------------------------------------------------------------- */

ccs_status cuda_alloc(struct cuda *d, cuda_ptr *p, size_t bytes, const char *what)
{
	ccs_status s = cuda_check(d, d->api->alloc(p, bytes ? bytes : 1), "cuMemAlloc",
				  "%zu bytes on %s for %s", bytes, d->name, what);

	if (s)
		*p = 0;
	return s;
}

void cuda_free(struct cuda *d, cuda_ptr p)
{
	if (p && d->api)
		d->api->free(p);
}

ccs_status cuda_alloc_host(struct cuda *d, void **host, size_t bytes, const char *what)
{
	ccs_status s =
		cuda_check(d, d->api->host_alloc(host, bytes, CUDA_PORTABLE_MAPPED),
			   "cuMemHostAlloc", "%zu bytes of pinned memory for %s", bytes, what);

	if (s)
		*host = NULL;
	else
		memset(*host, 0, bytes);
	return s;
}

void cuda_free_host(struct cuda *d, void *host)
{
	if (host)
		d->api->host_free(host);
}

ccs_status cuda_upload(struct cuda *d, cuda_ptr to, const void *from, size_t bytes,
		       const char *what)
{
	ccs_status s;

	if (!bytes)
		return CCS_OK;
	s = cuda_check(d, d->api->upload(to, from, bytes, d->setup), "cuMemcpyHtoDAsync",
		       "%zu bytes of %s to %s", bytes, what, d->name);
	return s ? s : cuda_sync(d, d->setup);
}

ccs_status cuda_download(struct cuda *d, void *to, cuda_ptr from, size_t bytes, const char *what)
{
	ccs_status s;

	if (!bytes)
		return CCS_OK;
	s = cuda_check(d, d->api->download(to, from, bytes, d->setup), "cuMemcpyDtoHAsync",
		       "%zu bytes of %s from %s", bytes, what, d->name);
	return s ? s : cuda_sync(d, d->setup);
}

ccs_status cuda_zero(struct cuda *d, cuda_ptr p, size_t bytes, const char *what)
{
	ccs_status s;

	if (!bytes)
		return CCS_OK;
	s = cuda_check(d, d->api->set(p, 0, bytes, d->setup), "cuMemsetD8Async", "%zu bytes of %s",
		       bytes, what);
	return s ? s : cuda_sync(d, d->setup);
}

ccs_status cuda_copy_async(struct cuda *d, cuda_ptr to, cuda_ptr from, size_t bytes, cuda_stream s,
			   const char *what)
{
	return bytes ? cuda_check(d, d->api->copy(to, from, bytes, s), "cuMemcpyDtoDAsync",
				  "%zu bytes of %s", bytes, what)
		     : CCS_OK;
}

ccs_status cuda_check_pointer(struct cuda *d, const void *p, const char *name)
{
	static const int asked[] = { POINTER_MEMORY_TYPE, POINTER_DEVICE, POINTER_MANAGED };
	unsigned type = 0, managed = 0; /* managed memory may be on any device */
	int device = -1;
	void *to[] = { &type, &device, &managed };

	if (d->api->pointer_attributes(sizeof(asked) / sizeof(*asked), asked, to, (uintptr_t)p) ||
	    !type)
		return error_set(CCS_EINVAL,
				 "%s is not memory that a GPU can access: allocate it with "
				 "cudaMalloc",
				 name);
	if (type == MEMORY_DEVICE && device != d->device && !managed)
		return error_set(CCS_EINVAL,
				 "%s is memory of GPU %d, but the communicator is on "
				 "GPU %d",
				 name, device, d->device);
	return CCS_OK;
}

/* ---- kernels ---------------------------------------------------------------------------- */

ccs_status cuda_load(struct cuda *d, cuda_module *m, cuda_function *f, const void *cubin,
		     const char *function)
{
	ccs_status s = cuda_check(d, d->api->load(m, cubin), "cuModuleLoadData",
				  "loading a kernel on %s", d->name);

	if (s) {
		*m = NULL;
		return s;
	}
	s = cuda_check(d, d->api->function(f, *m, function), "cuModuleGetFunction", "the kernel %s",
		       function);
	/* otherwise the first launch may load it, and wait for kernels that wait for that
	 * launch */
	if (!s && d->api->function_load)
		s = cuda_check(d, d->api->function_load(*f), "cuFuncLoad", "the kernel %s",
			       function);
	if (s) {
		cuda_unload(d, *m);
		*m = NULL;
	}
	return s;
}

void cuda_unload(struct cuda *d, cuda_module m)
{
	if (m && d->api)
		d->api->unload(m);
}

ccs_status cuda_occupancy(struct cuda *d, int *blocks, cuda_function f, int threads, size_t shared)
{
	return cuda_check(d, d->api->occupancy(blocks, f, threads, shared),
			  "cuOccupancyMaxActiveBlocksPerMultiprocessor", "blocks of %d threads",
			  threads);
}

ccs_status cuda_launch(struct cuda *d, cuda_function f, unsigned blocks, unsigned threads,
		       unsigned shared, cuda_stream s, void **params)
{
	return cuda_check(d, d->api->launch(f, blocks, 1, 1, threads, 1, 1, shared, s, params),
			  "cuLaunchCooperativeKernel", "%u blocks of %u threads on %s", blocks,
			  threads, d->name);
}

/* ---- streams ------------------------------------------------------------------------------ */

ccs_status cuda_stream_new(struct cuda *d, cuda_stream *s)
{
	ccs_status rc = cuda_check(d, d->api->stream_new(s, CUDA_STREAM_NON_BLOCKING),
				   "cuStreamCreate", "a stream");

	if (rc)
		*s = NULL;
	return rc;
}

void cuda_stream_free(struct cuda *d, cuda_stream s)
{
	if (s && d->api)
		d->api->stream_free(s);
}

ccs_status cuda_capturing(struct cuda *d, cuda_stream s, bool *capturing)
{
	int status = 0;
	ccs_status rc = cuda_check(d, d->api->stream_capturing(s, &status), "cuStreamIsCapturing",
				   "the stream");

	*capturing = status != 0;
	return rc;
}

ccs_status cuda_event_new(struct cuda *d, cuda_event *e)
{
	ccs_status s =
		cuda_check(d, d->api->event_new(e, EVENT_NO_TIMING), "cuEventCreate", "an event");

	if (s)
		*e = NULL;
	return s;
}

void cuda_event_free(struct cuda *d, cuda_event e)
{
	if (e && d->api)
		d->api->event_free(e);
}

ccs_status cuda_record(struct cuda *d, cuda_event e, cuda_stream s)
{
	return cuda_check(d, d->api->event_record(e, s), "cuEventRecord", "the stream");
}

ccs_status cuda_wait(struct cuda *d, cuda_event e, cuda_stream s)
{
	return cuda_check(d, d->api->stream_wait(s, e, 0), "cuStreamWaitEvent", "the stream");
}

ccs_status cuda_order(struct cuda *d, cuda_event e, cuda_stream before, cuda_stream later)
{
	ccs_status s = cuda_record(d, e, before);

	return s ? s : cuda_wait(d, e, later);
}

ccs_status cuda_done(struct cuda *d, cuda_event e, bool *done)
{
	int rc = d->api->event_query(e);

	*done = rc != NOT_READY;
	return rc == NOT_READY ? CCS_OK : cuda_check(d, rc, "cuEventQuery", "an earlier call");
}

ccs_status cuda_finish(struct cuda *d, cuda_event e)
{
	return cuda_check(d, d->api->event_sync(e), "cuEventSynchronize", "an earlier call");
}

ccs_status cuda_sync(struct cuda *d, cuda_stream s)
{
	return cuda_check(d, d->api->stream_sync(s), "cuStreamSynchronize", "the stream");
}
