/*
 * The driver's functions that libccs calls, as libcuda.so.1. See fake.h.
 *
 * Streams run at once, in the order of the calls; what would have been unordered on a
 * GPU is found with vector clocks: a launch must come after the last launch with the
 * same flags (one communicator's), by stream order and events alone.
 */
#include "tests/fake_cuda/fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define STREAMS 64
#define OBJECTS 4096
#define CAPTURED 64

typedef unsigned long long ptr;

enum kind { FREE, DEVICE, HOST, STREAM, EVENT, MODULE };
static const char *const kinds[] = { "", "device memory", "host memory", "stream", "event",
				     "module" };

struct clock {
	unsigned long at[STREAMS];
};

struct object {
	enum kind kind;
	char *p;
	size_t bytes;
	int stream;			/* STREAM: its number, from 1 */
	struct clock clock;		/* EVENT */
	bool recorded, in_capture;	/* EVENT */
	struct fake_kernel kernel;	/* MODULE */
};

struct launch {
	struct fake_kernel kernel;
	struct ccs_dev_call call;
	unsigned blocks;
};

struct stream_state {
	struct clock clock;
	bool used, capturing;
};

static struct {
	pthread_mutex_t lock;
	bool started;
	int retained;
	struct object objects[OBJECTS];
	struct stream_state streams[STREAMS];
	const uint32_t *last_comm;
	int last_stream;
	unsigned long last_tick;
	struct launch captured[CAPTURED];
	int ncaptured, capturing;
	unsigned long launches;
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local int current, mode;
static char context;

void illegal(const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "fake_cuda: ILLEGAL: ");
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	abort();
}

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
	const char *path = getenv("FAKE_CUDA_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	va_list ap;

	if (!f)
		return;
	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
	fputc('\n', f);
	fclose(f);
}

/* Whether the call is to fail, with which error. Calls are counted while the plan is
 * set, from when it was first set. */
static int fails(const char *name)
{
	static char plan[128];
	static int calls;
	const char *now = getenv("FAKE_CUDA_FAIL");
	size_t n = strlen(name);
	int k, code;

	note("%s", name);
	if (!now)
		return 0;
	if (strcmp(now, plan)) {
		snprintf(plan, sizeof(plan), "%s", now);
		calls = 0;
	}
	if (strncmp(plan, name, n) || sscanf(plan + n, ":%d:%d", &k, &code) != 2)
		return 0;
	return ++calls == k ? code : 0;
}

#define ENTER(name) \
	do { \
		int failure_ = fails(name); \
		if (failure_) \
			return failure_; \
	} while (0)

static void need_context(const char *name)
{
	if (!fake.started)
		illegal("%s before cuInit", name);
	if (!current)
		illegal("%s without a current context", name);
}

static struct object *add(enum kind kind, void *p, size_t bytes)
{
	for (int i = 0; i < OBJECTS; i++) {
		if (fake.objects[i].kind != FREE)
			continue;
		fake.objects[i] = (struct object){ .kind = kind, .p = p, .bytes = bytes };
		return fake.objects + i;
	}
	illegal("more than %d objects", OBJECTS);
}

static struct object *find(enum kind kind, const void *p, const char *name)
{
	for (int i = 0; i < OBJECTS; i++)
		if (fake.objects[i].kind == kind && fake.objects[i].p == p)
			return fake.objects + i;
	illegal("%s: %p is no live %s", name, p, kinds[kind]);
}

void check_memory(const void *p, size_t n, const char *what)
{
	for (int i = 0; i < OBJECTS; i++) {
		const struct object *o = fake.objects + i;

		if ((o->kind == DEVICE || o->kind == HOST) && (const char *)p >= o->p &&
		    (const char *)p + n <= o->p + o->bytes)
			return;
	}
	illegal("%s: %zu bytes at %p are in no live allocation", what, n, p);
}

static struct stream_state *stream(const void *p, const char *name)
{
	return p ? fake.streams + find(STREAM, p, name)->stream : fake.streams;
}

static unsigned long tick(struct stream_state *s)
{
	return ++s->clock.at[s - fake.streams];
}

static void merge(struct clock *to, const struct clock *from)
{
	for (int i = 0; i < STREAMS; i++)
		if (to->at[i] < from->at[i])
			to->at[i] = from->at[i];
}

/* ---- devices and contexts ---------------------------------------------------------- */

static int number(const char *variable, int otherwise)
{
	const char *s = getenv(variable);

	return s ? atoi(s) : otherwise;
}

EXPORT int cuInit(unsigned flags)
{
	ENTER("cuInit");
	if (flags)
		illegal("cuInit with flags");
	fake.started = true;
	return 0;
}

EXPORT int cuDriverGetVersion(int *v)
{
	ENTER("cuDriverGetVersion");
	*v = 13000;
	return 0;
}

EXPORT int cuGetErrorName(int e, const char **s)
{
	*s = e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : e == 100 ? "CUDA_ERROR_NO_DEVICE" :
	     e == 905 ? "CUDA_ERROR_STREAM_CAPTURE_ISOLATION" : "CUDA_ERROR_FAKE";
	return 0;
}

EXPORT int cuGetErrorString(int e, const char **s)
{
	*s = e == 2 ? "out of memory" : "as the test asked for";
	return 0;
}

EXPORT int cuDeviceGetCount(int *n)
{
	ENTER("cuDeviceGetCount");
	*n = number("FAKE_CUDA_GPUS", 1);
	return 0;
}

EXPORT int cuDeviceGet(int *d, int i)
{
	ENTER("cuDeviceGet");
	*d = i;
	return 0;
}

EXPORT int cuDeviceGetName(char *s, int n, int d)
{
	ENTER("cuDeviceGetName");
	snprintf(s, (size_t)n, "Fake GPU %d", d);
	return 0;
}

EXPORT int cuDeviceGetAttribute(int *v, int what, int d)
{
	int capability = number("FAKE_CUDA_CAPABILITY", 90);

	ENTER("cuDeviceGetAttribute");
	(void)d;
	switch (what) {
	case 16:
		*v = number("FAKE_CUDA_SMS", 132);
		return 0;
	case 75:
		*v = capability / 10;
		return 0;
	case 76:
		*v = capability % 10;
		return 0;
	case 95:
		*v = 1;
		return 0;
	default:
		return 1;
	}
}

EXPORT int cuDevicePrimaryCtxRetain(void **c, int d)
{
	ENTER("cuDevicePrimaryCtxRetain");
	(void)d;
	fake.retained++;
	*c = &context;
	return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int d)
{
	ENTER("cuDevicePrimaryCtxRelease_v2");
	(void)d;
	if (--fake.retained < 0)
		illegal("a context is released twice");
	if (fake.retained)
		return 0;
	for (int i = 0; i < OBJECTS; i++)
		if (fake.objects[i].kind != FREE)
			fprintf(stderr, "fake_cuda: LEAK: %s of %zu bytes\n",
				kinds[fake.objects[i].kind], fake.objects[i].bytes);
	return 0;
}

EXPORT int cuCtxPushCurrent_v2(void *c)
{
	ENTER("cuCtxPushCurrent_v2");
	if (c != &context || !fake.retained)
		illegal("a context that is not retained is pushed");
	current++;
	return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **c)
{
	*c = &context;
	if (--current < 0)
		illegal("a context is popped that was not pushed");
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

/* While a stream captures, what is not relaxed may only be done in relaxed mode. */
static int unsafe(const char *name)
{
	need_context(name);
	return fake.capturing && mode != 2 ? 900 : 0;
}

/* ---- memory --------------------------------------------------------------------------- */

EXPORT int cuMemAlloc_v2(ptr *p, size_t n)
{
	void *m;

	ENTER("cuMemAlloc_v2");
	if (unsafe("cuMemAlloc"))
		return 900;
	if (!n)
		return 1;
	if (posix_memalign(&m, 256, n))
		return 2;
	memset(m, 0xa5, n);		/* nobody may count on zeros */
	pthread_mutex_lock(&fake.lock);
	add(DEVICE, m, n);
	pthread_mutex_unlock(&fake.lock);
	*p = (uintptr_t)m;
	return 0;
}

static void drop(enum kind kind, void *p, const char *name)
{
	pthread_mutex_lock(&fake.lock);
	find(kind, p, name)->kind = FREE;
	pthread_mutex_unlock(&fake.lock);
}

EXPORT int cuMemFree_v2(ptr p)
{
	ENTER("cuMemFree_v2");
	if (unsafe("cuMemFree"))
		return 900;
	for (int i = 0; i < fake.ncaptured; i++)
		if ((ptr)(uintptr_t)fake.captured[i].call.abort == p && fake.capturing)
			illegal("memory of a captured launch is freed");
	drop(DEVICE, (void *)(uintptr_t)p, "cuMemFree");
	free((void *)(uintptr_t)p);
	return 0;
}

EXPORT int cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	ENTER("cuMemHostAlloc");
	if (unsafe("cuMemHostAlloc"))
		return 900;
	if (!(flags & 2))
		illegal("host memory that is not mapped");
	*p = malloc(n);
	memset(*p, 0xa5, n);
	pthread_mutex_lock(&fake.lock);
	add(HOST, *p, n);
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

EXPORT int cuMemFreeHost(void *p)
{
	ENTER("cuMemFreeHost");
	if (unsafe("cuMemFreeHost"))
		return 900;
	drop(HOST, p, "cuMemFreeHost");
	free(p);
	return 0;
}

EXPORT int cuMemHostGetDevicePointer_v2(ptr *d, void *p, unsigned flags)
{
	ENTER("cuMemHostGetDevicePointer_v2");
	(void)flags;
	find(HOST, p, "cuMemHostGetDevicePointer");
	*d = (uintptr_t)p;
	return 0;
}

EXPORT int cuMemcpyHtoDAsync_v2(ptr to, const void *from, size_t n, void *s)
{
	ENTER("cuMemcpyHtoDAsync_v2");
	need_context("cuMemcpyHtoDAsync");
	tick(stream(s, "cuMemcpyHtoDAsync"));
	check_memory((void *)(uintptr_t)to, n, "cuMemcpyHtoDAsync");
	memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, ptr from, size_t n, void *s)
{
	ENTER("cuMemcpyDtoHAsync_v2");
	need_context("cuMemcpyDtoHAsync");
	tick(stream(s, "cuMemcpyDtoHAsync"));
	check_memory((void *)(uintptr_t)from, n, "cuMemcpyDtoHAsync");
	memcpy(to, (void *)(uintptr_t)from, n);
	return 0;
}

EXPORT int cuMemcpyDtoDAsync_v2(ptr to, ptr from, size_t n, void *s)
{
	ENTER("cuMemcpyDtoDAsync_v2");
	need_context("cuMemcpyDtoDAsync");
	tick(stream(s, "cuMemcpyDtoDAsync"));
	check_memory((void *)(uintptr_t)to, n, "cuMemcpyDtoDAsync");
	check_memory((void *)(uintptr_t)from, n, "cuMemcpyDtoDAsync");
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
	return 0;
}

EXPORT int cuMemsetD8Async(ptr p, unsigned char v, size_t n, void *s)
{
	ENTER("cuMemsetD8Async");
	need_context("cuMemsetD8Async");
	tick(stream(s, "cuMemsetD8Async"));
	check_memory((void *)(uintptr_t)p, n, "cuMemsetD8Async");
	memset((void *)(uintptr_t)p, v, n);
	return 0;
}

EXPORT int cuPointerGetAttribute(void *v, int what, ptr p)
{
	ENTER("cuPointerGetAttribute");
	for (int i = 0; i < OBJECTS; i++) {
		const struct object *o = fake.objects + i;
		ptr from = (uintptr_t)o->p;

		if ((o->kind == DEVICE || o->kind == HOST) && p >= from && p <= from + o->bytes) {
			*(int *)v = what == 2 ? (o->kind == DEVICE ? 2 : 1) : 0;
			return 0;
		}
	}
	return 1;
}

/* ---- kernels ------------------------------------------------------------------------- */

/* What fake_nvrtc.c wrote; a real CUBIN counts as float32 sum, Simple. */
static void read_kernel(struct fake_kernel *k, const char *text)
{
	const char *s;

	*k = (struct fake_kernel){ .type = 7 };
	if (strncmp(text, "FAKE CUBIN", 10))
		return;
	if ((s = strstr(text, "-DCCS_TYPE=")))
		k->type = (unsigned)atoi(s + 11);
	if ((s = strstr(text, "-DCCS_OP=")))
		k->op = (unsigned)atoi(s + 9);
	if ((s = strstr(text, "-DCCS_PROTO=")))
		k->protocol = (unsigned)atoi(s + 12);
}

EXPORT int cuModuleLoadData(void **m, const void *image)
{
	struct object *o;

	ENTER("cuModuleLoadData");
	if (unsafe("cuModuleLoadData"))
		return 900;
	if (memcmp(image, "FAKE CUBIN", 10) && memcmp(image, "\177ELF", 4))
		return 300;
	*m = malloc(1);
	pthread_mutex_lock(&fake.lock);
	o = add(MODULE, *m, 1);
	read_kernel(&o->kernel, image);
	note("kernel type %u op %u protocol %u", o->kernel.type, o->kernel.op,
	     o->kernel.protocol);
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

EXPORT int cuModuleUnload(void *m)
{
	ENTER("cuModuleUnload");
	need_context("cuModuleUnload");
	drop(MODULE, m, "cuModuleUnload");
	free(m);
	return 0;
}

EXPORT int cuModuleGetFunction(void **f, void *m, const char *name)
{
	ENTER("cuModuleGetFunction");
	need_context("cuModuleGetFunction");
	if (strcmp(name, CCS_DEV_KERNEL))
		return 500;
	find(MODULE, m, "cuModuleGetFunction");
	*f = m;
	return 0;
}

static int blocks_per_sm(int threads)
{
	return number("FAKE_CUDA_BLOCKS", 2) * 512 / threads;
}

EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared)
{
	ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	need_context("cuOccupancy");
	find(MODULE, f, "cuOccupancy");
	(void)shared;
	*n = blocks_per_sm(threads);
	return 0;
}

static void check_order(struct stream_state *s, const uint32_t *comm)
{
	if (fake.last_comm == comm && fake.last_tick &&
	    s->clock.at[fake.last_stream] < fake.last_tick)
		illegal("a launch in stream %d is not ordered after the last one, in stream %d",
			(int)(s - fake.streams), fake.last_stream);
	fake.last_tick = tick(s);
	fake.last_comm = comm;
	fake.last_stream = (int)(s - fake.streams);
}

static void give_up(const struct ccs_dev_call *c)
{
	*c->report = (struct ccs_dev_report){
		.taken = 1, .kind = CCS_DEV_STUCK_RECV, .rank = 0, .worker = 0, .op = 1,
		.line = c->ops[0].line, .file = c->ops[0].file, .peer = 1, .need = 2, .have = 1,
	};
	*c->abort = 1;
}

EXPORT int cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
				     unsigned by, unsigned bz, unsigned shared, void *s,
				     void **params)
{
	const struct ccs_dev_call *c = params[0];
	struct stream_state *at = stream(s, "cuLaunchCooperativeKernel");
	struct fake_kernel k = find(MODULE, f, "cuLaunchCooperativeKernel")->kernel;

	ENTER("cuLaunchCooperativeKernel");
	need_context("cuLaunchCooperativeKernel");
	(void)shared;
	if (gy != 1 || gz != 1 || by != 1 || bz != 1 || bx % 32 || bx > CCS_THREADS)
		illegal("a launch of %u x %u x %u blocks of %u x %u x %u threads", gx, gy, gz, bx,
			by, bz);
	if (gx > (unsigned)(blocks_per_sm((int)bx) * number("FAKE_CUDA_SMS", 132)))
		return 720;
	note("launch blocks %u threads %u stream %d tile %llu ntiles %llu replicas %u type %u op %u "
	     "protocol %u%s", gx, bx, (int)(at - fake.streams), (unsigned long long)c->tile,
	     (unsigned long long)c->ntiles, c->replicas, k.type, k.op, k.protocol,
	     at->capturing ? " captured" : "");
	if (at->capturing) {
		if (fake.ncaptured == CAPTURED)
			illegal("more than %d captured launches", CAPTURED);
		tick(at);
		fake.captured[fake.ncaptured++] = (struct launch){ k, *c, gx };
		return 0;
	}
	check_order(at, c->abort);
	if (number("FAKE_CUDA_STUCK", 0))
		give_up(c);
	else
		fake_run(c, &k, gx);
	fake.launches++;
	return 0;
}

/* ---- streams ----------------------------------------------------------------------------- */

EXPORT int cuStreamCreate(void **s, unsigned flags)
{
	int i = 1;

	ENTER("cuStreamCreate");
	need_context("cuStreamCreate");
	(void)flags;
	pthread_mutex_lock(&fake.lock);
	while (i < STREAMS && fake.streams[i].used)
		i++;
	if (i == STREAMS)
		illegal("more than %d streams", STREAMS);
	fake.streams[i].used = true;
	*s = malloc(1);
	add(STREAM, *s, 1)->stream = i;
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

EXPORT int cuStreamDestroy_v2(void *s)
{
	ENTER("cuStreamDestroy_v2");
	need_context("cuStreamDestroy");
	stream(s, "cuStreamDestroy")->used = false;
	drop(STREAM, s, "cuStreamDestroy");
	free(s);
	return 0;
}

EXPORT int cuStreamSynchronize(void *s)
{
	ENTER("cuStreamSynchronize");
	need_context("cuStreamSynchronize");
	if (stream(s, "cuStreamSynchronize")->capturing)
		return 900;
	return 0;
}

EXPORT int cuStreamIsCapturing(void *s, int *status)
{
	ENTER("cuStreamIsCapturing");
	*status = stream(s, "cuStreamIsCapturing")->capturing;
	return 0;
}

EXPORT int cuStreamWaitEvent(void *s, void *e, unsigned flags)
{
	struct stream_state *at = stream(s, "cuStreamWaitEvent");
	struct object *o = find(EVENT, e, "cuStreamWaitEvent");

	ENTER("cuStreamWaitEvent");
	need_context("cuStreamWaitEvent");
	(void)flags;
	if (!o->recorded)
		return 0;
	if (at->capturing != o->in_capture) {
		if (at->capturing)
			return 905;
		at->capturing = true;	/* it joins the capture */
	}
	merge(&at->clock, &o->clock);
	return 0;
}

EXPORT int cuEventCreate(void **e, unsigned flags)
{
	ENTER("cuEventCreate");
	need_context("cuEventCreate");
	(void)flags;
	*e = malloc(1);
	pthread_mutex_lock(&fake.lock);
	add(EVENT, *e, 1);
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

EXPORT int cuEventDestroy_v2(void *e)
{
	ENTER("cuEventDestroy_v2");
	need_context("cuEventDestroy");
	drop(EVENT, e, "cuEventDestroy");
	free(e);
	return 0;
}

EXPORT int cuEventRecord(void *e, void *s)
{
	struct stream_state *at = stream(s, "cuEventRecord");
	struct object *o = find(EVENT, e, "cuEventRecord");

	ENTER("cuEventRecord");
	need_context("cuEventRecord");
	tick(at);
	o->clock = at->clock;
	o->recorded = true;
	o->in_capture = at->capturing;
	return 0;
}

EXPORT int cuEventQuery(void *e)
{
	ENTER("cuEventQuery");
	return find(EVENT, e, "cuEventQuery")->in_capture ? 907 : 0;
}

EXPORT int cuEventSynchronize(void *e)
{
	ENTER("cuEventSynchronize");
	return find(EVENT, e, "cuEventSynchronize")->in_capture ? 907 : 0;
}

/* ---- for tests -------------------------------------------------------------------------- */

EXPORT void fake_capture(void *s, int on)
{
	if (on) {
		fake.ncaptured = 0;
		fake.capturing = 1;
		stream(s, "fake_capture")->capturing = true;
		return;
	}
	fake.capturing = 0;
	for (int i = 0; i < STREAMS; i++)
		fake.streams[i].capturing = false;
}

/* Replays what was captured; returns how many launches that was. */
EXPORT int fake_replay(void)
{
	for (int i = 0; i < fake.ncaptured; i++)
		fake_run(&fake.captured[i].call, &fake.captured[i].kernel,
			 fake.captured[i].blocks);
	return fake.ncaptured;
}

/* Whether what comes into `later` runs after all that is in `before` now. */
EXPORT int fake_ordered(void *before, void *later)
{
	struct stream_state *a = stream(before, "fake_ordered"), *b = stream(later, "fake_ordered");

	return a == b || b->clock.at[a - fake.streams] >= a->clock.at[a - fake.streams];
}

/* Puts work into a stream. */
EXPORT void fake_work(void *s)
{
	tick(stream(s, "fake_work"));
}
