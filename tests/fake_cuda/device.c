/*
 * Devices, their primary contexts, and which reaches which. See fake.h.
 */
#include "tests/fake_cuda/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local int stack[16], depth, mode;

int need_context(const char *name)
{
	if (!fake.started)
		illegal("%s before cuInit", name);
	if (!depth)
		illegal("%s without a current context", name);
	return stack[depth - 1];
}

/* ---- which there are ----------------------------------------------------------------- */

/* The i-th number of CUDA_VISIBLE_DEVICES, or -1. */
static int chosen(const char *list, int i)
{
	while (i-- && list)
		list = (list = strchr(list, ',')) ? list + 1 : NULL;
	return list && *list >= '0' && *list <= '9' ? atoi(list) : -1;
}

int visible(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	int n = number("FAKE_CUDA_GPUS", 1), seen = 0;

	if (n > DEVICES)
		illegal("FAKE_CUDA_GPUS is more than %d", DEVICES);
	if (!list)
		return n;
	while (chosen(list, seen) >= 0 && chosen(list, seen) < n)
		seen++;
	return seen;
}

int physical(int device)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	return list ? chosen(list, device) : device;
}

int visible_as(int which)
{
	for (int i = 0; i < visible(); i++)
		if (physical(i) == which)
			return i;
	return -1;
}

bool peers(int a, int b)
{
	const char *s = getenv("FAKE_CUDA_PEERS");

	return a != b && !(s && !strcmp(s, "none"));
}

EXPORT int cuInit(unsigned flags)
{
	ENTER("cuInit");
	if (flags)
		illegal("cuInit with flags");
	if (!visible())
		return NO_DEVICE;
	fake.started = (int)getpid();
	return 0;
}

/* Functions that only NVIDIA's own libraries know; NVRTC asks for some, and calls this unseen. */
EXPORT int cuGetExportTable(const void **table, const void *id)
{
	(void)id;
	*table = NULL;
	return NOT_FOUND;
}

EXPORT int cuDriverGetVersion(int *v)
{
	ENTER("cuDriverGetVersion");
	*v = number("FAKE_CUDA_VERSION", 13000);
	return 0;
}

EXPORT int cuGetErrorName(int e, const char **s)
{
	*s = e == NO_MEMORY	      ? "CUDA_ERROR_OUT_OF_MEMORY"
	     : e == NO_DEVICE	      ? "CUDA_ERROR_NO_DEVICE"
	     : e == MAPPING_FAILED    ? "CUDA_ERROR_MAP_FAILED"
	     : e == PEER_UNSUPPORTED  ? "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"
	     : e == CAPTURE_ISOLATION ? "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
				      : "CUDA_ERROR_FAKE";
	return 0;
}

EXPORT int cuGetErrorString(int e, const char **s)
{
	*s = e == NO_MEMORY ? "out of memory" : "as the test asked for";
	return 0;
}

EXPORT int cuDeviceGetCount(int *n)
{
	ENTER("cuDeviceGetCount");
	*n = visible();
	return 0;
}

EXPORT int cuDeviceGet(int *d, int i)
{
	ENTER("cuDeviceGet");
	*d = i;
	return i >= 0 && i < visible() ? 0 : BAD_DEVICE;
}

EXPORT int cuDeviceGetName(char *s, int n, int d)
{
	ENTER("cuDeviceGetName");
	snprintf(s, (size_t)n, "Fake GPU %d", physical(d));
	return 0;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char *id, int d)
{
	ENTER("cuDeviceGetUuid_v2");
	if (d < 0 || d >= visible())
		return BAD_DEVICE;
	memset(id, 0, 16);
	memcpy(id, "FAKE GPU", 8);
	id[15] = (unsigned char)(physical(d) + 1);
	return 0;
}

EXPORT int cuDeviceGetAttribute(int *v, int what, int d)
{
	int capability = number("FAKE_CUDA_CAPABILITY", 90);

	ENTER("cuDeviceGetAttribute");
	if (d < 0 || d >= visible())
		return BAD_DEVICE;
	switch (what) {
	case 16: *v = number("FAKE_CUDA_SMS", 132); return 0;
	case 75: *v = capability / 10; return 0;
	case 76: *v = capability % 10; return 0;
	case 95: *v = 1; return 0;
	default: return BAD_VALUE;
	}
}

/* ---- contexts ---------------------------------------------------------------------------- */

static int device_of(const void *context, const char *name)
{
	for (int i = 0; i < DEVICES; i++)
		if (context == fake.devices + i && fake.devices[i].retained)
			return i;
	illegal("%s: %p is no context that is retained", name, context);
}

EXPORT int cuDevicePrimaryCtxRetain(void **c, int d)
{
	ENTER("cuDevicePrimaryCtxRetain");
	if (!fake.started)
		illegal("cuDevicePrimaryCtxRetain before cuInit");
	if (d < 0 || d >= visible())
		return BAD_DEVICE;
	lock();
	fake.devices[d].retained++;
	unlock();
	*c = fake.devices + d;
	return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int d)
{
	ENTER("cuDevicePrimaryCtxRelease_v2");
	lock();
	if (--fake.devices[d].retained < 0)
		illegal("the context of device %d is released twice", d);
	if (!fake.devices[d].retained) {
		drain_device(d);
		report_leaks(d);
		memset(fake.devices[d].reaches, 0, sizeof(fake.devices[d].reaches));
	}
	unlock();
	return 0;
}

EXPORT int cuCtxPushCurrent_v2(void *c)
{
	ENTER("cuCtxPushCurrent_v2");
	if (depth == (int)(sizeof(stack) / sizeof(*stack)))
		illegal("contexts are pushed and never popped");
	stack[depth++] = device_of(c, "cuCtxPushCurrent");
	return 0;
}

EXPORT int cuCtxSetCurrent(void *c)
{
	ENTER("cuCtxSetCurrent");
	depth += !depth;
	stack[depth - 1] = device_of(c, "cuCtxSetCurrent");
	return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **c)
{
	if (!depth)
		illegal("a context is popped that was not pushed");
	*c = fake.devices + stack[--depth];
	return 0;
}

EXPORT int cuCtxGetDevice(int *d) /* for tests/fake_nccl */
{
	ENTER("cuCtxGetDevice");
	if (!depth)
		return BAD_CONTEXT;
	*d = stack[depth - 1];
	return 0;
}

EXPORT int cuThreadExchangeStreamCaptureMode(int *m)
{
	int old = mode;

	ENTER("cuThreadExchangeStreamCaptureMode");
	mode = *m;
	*m = old;
	return 0;
}

int unsafe(const char *name)
{
	int e;

	need_context(name);
	lock();
	e = capture_forbids(mode);
	unlock();
	return e;
}

/* ---- peers -------------------------------------------------------------------------------- */

EXPORT int cuDeviceCanAccessPeer(int *can, int d, int other)
{
	ENTER("cuDeviceCanAccessPeer");
	if (d < 0 || d >= visible() || other < 0 || other >= visible())
		return BAD_DEVICE;
	*can = peers(d, other);
	return 0;
}

EXPORT int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
	int d, other, e = 0;

	ENTER("cuCtxEnablePeerAccess");
	d = need_context("cuCtxEnablePeerAccess");
	other = device_of(context, "cuCtxEnablePeerAccess");
	if (flags)
		illegal("cuCtxEnablePeerAccess with flags");
	if (other == d)
		return BAD_DEVICE;
	if (!peers(d, other))
		return PEER_UNSUPPORTED;
	lock();
	if (fake.devices[d].reaches[other])
		e = PEER_ALREADY;
	fake.devices[d].reaches[other] = true;
	unlock();
	return e;
}
